"""Answers to an address that several ask for: made once, kept for half a minute, never another reader's."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event
from typing import Any

import pytest
import time_machine
from django.test import Client

from catalog.models import CatalogVersion
from planner import kept_answers, services
from planner.kept_answers import KEPT_FOR, Keep
from tests.factories import AT
from tests.planner.factories import make_small_catalog

HX = {"HX-Request": "true"}
TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="(\w{64})"')


@pytest.fixture
def comparisons(db: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The workloads that were compared, one for each time."""
    seen: list[Any] = []
    compare = services.compare

    def counted(workload: Any, **rest: Any) -> Any:
        seen.append(workload)
        return compare(workload, **rest)

    monkeypatch.setattr(services, "compare", counted)
    with time_machine.travel(AT, tick=False):
        make_small_catalog()
        yield seen


def test_the_same_refinement_is_worked_out_once(comparisons: list[Any], client: Client) -> None:
    first = client.get("/workbench/?users=9", headers=HX)
    again = client.get("/workbench/?users=9", headers=HX)
    assert len(comparisons) == 1
    assert TOKEN.sub(b"", first.content) == TOKEN.sub(b"", again.content)
    assert first.headers["HX-Push-Url"] == again.headers["HX-Push-Url"]
    client.get("/workbench/?users=10", headers=HX)
    assert len(comparisons) == 2


def test_every_reader_gets_a_token_of_their_own(comparisons: list[Any]) -> None:
    one, two = Client(enforce_csrf_checks=True), Client(enforce_csrf_checks=True)
    tokens = [TOKEN.findall(each.get("/workbench/?users=9", headers=HX).content) for each in (one, two)]
    assert len(comparisons) == 1
    assert len(tokens[0]) == len(tokens[1]) == 1
    assert tokens[0] != tokens[1]
    for each, wanted in ((one, 302), (two, 302)):
        token = TOKEN.findall(each.get("/workbench/?users=9", headers=HX).content)[0].decode()
        posted = each.post("/language/", {"language": "en", "csrfmiddlewaretoken": token})
        assert posted.status_code == wanted
    stranger = one.post("/language/", {"language": "en", "csrfmiddlewaretoken": tokens[1][0].decode()})
    assert stranger.status_code == 403


def test_prices_that_changed_are_not_answered_from_before(comparisons: list[Any], client: Client) -> None:
    client.get("/workbench/?users=9", headers=HX)
    CatalogVersion.bump(AT)
    client.get("/workbench/?users=9", headers=HX)
    assert len(comparisons) == 2


def test_nothing_is_kept_longer_than_half_a_minute(comparisons: list[Any], client: Client) -> None:
    client.get("/workbench/?users=9", headers=HX)
    with time_machine.travel(AT + KEPT_FOR, tick=False):
        client.get("/workbench/?users=9", headers=HX)
    assert len(comparisons) == 1
    with time_machine.travel(AT + KEPT_FOR + timedelta(seconds=1), tick=False):
        client.get("/workbench/?users=9", headers=HX)
    assert len(comparisons) == 2


def test_another_language_is_another_answer(comparisons: list[Any], client: Client) -> None:
    english = client.get("/workbench/?users=9", headers=HX | {"Accept-Language": "en"})
    japanese = client.get("/workbench/?users=9", headers=HX | {"Accept-Language": "ja"})
    assert len(comparisons) == 2
    assert english.content != japanese.content


def test_a_refused_form_is_read_anew_each_time(comparisons: list[Any], client: Client) -> None:
    for _turn in range(2):
        response = client.get("/workbench/?users=none", headers=HX)
        assert response.headers["HX-Reswap"] == "none"
    assert comparisons == []
    assert not kept_answers.refined._made


def test_of_several_at_once_the_first_makes_it_and_the_others_wait() -> None:
    keep: Keep[int] = Keep(size=4)
    together, made = Barrier(4), []
    release = Event()

    def make() -> int:
        made.append(1)
        release.wait(5)
        return 42

    def ask() -> int | None:
        together.wait(5)
        return keep.get("question", AT, make)

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask) for _ in range(4)]
        while not made:
            pass
        release.set()
        assert [one.result(5) for one in asked] == [42] * 4
    assert made == [1]


def test_a_failure_of_the_first_is_not_that_of_the_others() -> None:
    keep: Keep[int] = Keep(size=4)

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        keep.get("question", AT, fail)
    assert keep.get("question", AT, lambda: 7) == 7


def test_what_was_asked_for_least_lately_goes_first() -> None:
    keep: Keep[int] = Keep(size=2)
    made: list[str] = []

    def ask(name: str) -> None:
        keep.get(name, AT, lambda: made.append(name) or 1)  # type: ignore[func-returns-value]

    for name in ("a", "b", "a", "c", "a", "b"):
        ask(name)
    assert made == ["a", "b", "c", "b"]
