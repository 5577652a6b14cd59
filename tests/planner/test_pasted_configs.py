"""Pasted configurations: one row a content, bounded, forgotten after 90 days."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from planner.models import CONFIG_BYTES_MAXIMUM, PastedConfig

pytestmark = pytest.mark.django_db

CONFIG = {"model_type": "llama", "hidden_size": 4096, "layers": [1, 2], "name": "見積"}


def test_the_same_content_in_another_order_is_one_row(at: datetime) -> None:
    first = PastedConfig.keep(CONFIG, at)
    second = PastedConfig.keep(dict(reversed(CONFIG.items())), at)
    assert first.digest == second.digest
    assert PastedConfig.objects.count() == 1
    assert PastedConfig.find(first.digest, at) == CONFIG


def test_what_is_too_long_is_not_kept(at: datetime) -> None:
    with pytest.raises(ValueError, match="bytes"):
        PastedConfig.keep({"a": "x" * CONFIG_BYTES_MAXIMUM}, at)
    assert not PastedConfig.objects.exists()


def test_an_unknown_digest_is_nothing(at: datetime) -> None:
    assert PastedConfig.find("0" * 64, at) is None


def test_a_configuration_is_forgotten_90_days_after_its_last_use(at: datetime) -> None:
    kept = PastedConfig.keep(CONFIG, at)
    assert PastedConfig.find(kept.digest, at + timedelta(days=89)) == CONFIG
    assert PastedConfig.find(kept.digest, at + timedelta(days=178)) == CONFIG
    assert PastedConfig.find(kept.digest, at + timedelta(days=178 + 91)) is None
    PastedConfig.keep({"other": 1}, at + timedelta(days=178 + 91))
    assert not PastedConfig.objects.filter(digest=kept.digest).exists()


def test_of_too_many_configurations_the_one_unused_for_longest_goes(
    monkeypatch: pytest.MonkeyPatch, at: datetime
) -> None:
    monkeypatch.setattr("planner.models.PASTED_CONFIGS_MAXIMUM", 3)
    kept = [PastedConfig.keep({"a": number}, at + timedelta(minutes=number)).digest for number in range(3)]
    PastedConfig.keep({"a": 0}, at + timedelta(minutes=9))
    newest = PastedConfig.keep({"a": 4}, at + timedelta(minutes=10)).digest
    assert set(PastedConfig.objects.values_list("digest", flat=True)) == {kept[0], kept[2], newest}
