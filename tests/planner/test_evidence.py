"""The page of evidence and the measurements beside a figure."""

from __future__ import annotations

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from planner import evidence, speed_constants
from planner.sizing.constants import Constants, Spread


@pytest.fixture(autouse=True)
def _unkept() -> None:
    evidence.evidence.cache_clear()


def test_the_shipped_ratios_hold_no_measured_value_and_name_every_source() -> None:
    rows = speed_constants.ratios()
    assert len(rows) > 5_000
    assert all(row.ratio > 0 and row.source and row.metric and row.regime for row in rows)
    assert not any(hasattr(row, name) for row in rows[:1] for name in ("measured", "predicted", "value"))


def test_errors_are_those_of_plain_arithmetic() -> None:
    chosen = [row for row in speed_constants.ratios() if row.metric == "tpot_ms" and row.fitted]
    ratio = np.array([row.ratio for row in chosen])
    found = next(errors for errors in evidence.evidence().sample if errors.metric == "tpot_ms")
    assert found.count == len(chosen)
    assert found.median == pytest.approx(float(np.median(np.abs(ratio - 1))))
    assert found.within_2x == pytest.approx(float(np.mean((ratio >= 0.5) & (ratio <= 2.0))))


def test_a_measurement_is_in_range_where_measured_over_predicted_lies_in_the_spread() -> None:
    rows = [row for row in speed_constants.ratios() if row.metric == "tpot_ms"][:40]
    regimes = {row.regime + ("_assumed" if row.assumed else "") for row in rows}

    def share(low: float, high: float) -> float:
        spreads = {name: Spread(low=low, high=high, count=1) for name in regimes}
        held = Constants(version="t", origin="t", constants=(), spreads=spreads)
        return evidence.summed_up(rows, held).whole[0].in_range

    assert share(1e-6, 1e6) == 1.0
    assert share(1e5, 1e6) == 0.0


def test_a_group_of_large_errors_is_named_as_one_not_to_trust() -> None:
    shown = evidence.evidence()
    assert shown.worst
    assert all(errors.median > 0.4 and errors.count >= 8 for _kind, errors in shown.worst)
    assert all(kind != "regime" for kind, _errors in shown.worst)


@pytest.mark.django_db
def test_the_page_states_what_the_file_says_and_lists_groups_of_a_metric(client: Client) -> None:
    address = reverse("planner:evidence")
    page = client.get(address).content.decode()
    pooled = evidence.evidence().pooled
    assert f"within {pooled.median * 100:.0f} %" in page
    assert "Decoding in a batch" in page
    chosen = client.get(address, {"metric": "ttft_ms"}).content.decode()
    assert "First token under load" in chosen
    assert "Decoding in a batch" not in chosen


@pytest.mark.django_db
def test_a_metric_that_does_not_exist_shows_the_first(client: Client) -> None:
    address = reverse("planner:evidence")
    assert client.get(address, {"metric": "nonsense"}).status_code == 200
