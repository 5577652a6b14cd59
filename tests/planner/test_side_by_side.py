"""Candidates side by side, and variants of a workload."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

import pytest
from django.http import QueryDict
from django.test import Client

from planner import kinds, services, side_by_side
from planner.candidate_views import CandidateView, candidate_view
from planner.forms import WorkbenchForm
from planner.kinds.frame import Kind
from planner.sizing.results import Candidate
from planner.sizing.workload import ServingWorkload
from planner.tray import TRAY_MAXIMUM, chosen, toggled
from tests.planner.factories import make_offer, make_small_catalog

pytestmark = pytest.mark.django_db
SERVING = kinds.of("llm_serving")


@pytest.fixture(autouse=True)
def catalog(db: None) -> Iterator[None]:
    services.forget()
    make_small_catalog()
    make_offer("H200-SXM", "3.80")
    yield
    services.forget()


def candidates(now: datetime) -> tuple[Candidate, ...]:
    return services.compare(ServingWorkload(), at=now).candidates


def views(found: tuple[Candidate, ...]) -> list[CandidateView]:
    return [candidate_view(SERVING, candidate, (), language="en") for candidate in found]


def form_of(query: str) -> WorkbenchForm:
    return WorkbenchForm.from_query(QueryDict(query))


@pytest.mark.parametrize(
    ("text", "tray"),
    [
        ("", []),
        ("3,1,3", [3, 1]),
        ("-7", [-7]),
        ("x", []),
        ("1," * 40, [1]),
        ("1,2,3,4,5,6,7,8", [1, 2, 3, 4, 5, 6]),
    ],
)
def test_the_tray_is_a_list_of_offers_each_once(text: str, tray: list[int]) -> None:
    assert chosen(form_of(f"tray={text}")) == tray


def test_an_offer_goes_into_the_tray_and_out_again() -> None:
    assert toggled([], 5) == "5"
    assert toggled([5, 6], 5) == "6"
    full = list(range(1, TRAY_MAXIMUM + 1))
    assert toggled(full, 99) == ",".join(str(number) for number in [*full[1:], 99])


def test_a_bad_tray_is_refused_and_the_screen_says_so() -> None:
    assert "tray" in form_of("tray=1;drop").errors
    assert form_of("tray=4,5").query_string() == "tray=4,5"


def test_rows_that_differ_are_told_from_those_that_do_not(now: datetime) -> None:
    found = candidates(now)[:3]
    rows = {row.column.key: row for row in side_by_side.rows(SERVING, found)}
    assert rows["accelerator"].differs
    assert not rows["hours"].differs
    assert len(rows["monthly"].cells) == 3
    assert "rank" not in rows


def test_a_dearer_candidate_is_explained_by_what_it_does_better(now: datetime) -> None:
    found = sorted(candidates(now), key=lambda c: c.monthly.total)
    cheap, dear = found[0], next(c for c in found if c.offer.accelerator == "H200-SXM")
    (said,) = side_by_side.why_dearer(SERVING, views((cheap, dear)))
    assert said.startswith("H200-SXM")
    assert "more than" in said
    assert re.search(r"TPOT [\d.]+ ms instead of", said)
    assert "GB/s of memory bandwidth" in said


def test_what_costs_more_and_does_nothing_better_is_called_so(now: datetime) -> None:
    cheap = candidates(now)[0]
    dear = cheap.model_copy(
        update={"monthly": cheap.monthly.model_copy(update={"total": cheap.monthly.total * 2})}
    )
    (said,) = side_by_side.why_dearer(SERVING, views((cheap, dear)))
    assert "nothing that is sized here speaks for it" in said
    assert side_by_side.why_dearer(SERVING, views((cheap,))) == []


def test_the_page_shows_the_tray_and_passes_over_what_is_gone(client: Client, now: datetime) -> None:
    first, second = (candidate.offer.offer_id for candidate in candidates(now)[:2])
    page = client.get(f"/workbench/compare/?tray={first},{second},999999").content.decode()
    assert page.count('<th scope="col"><a') == 2
    assert '<tr class="differs">' in page
    empty = client.get("/workbench/compare/")
    assert empty.status_code == 200
    assert "at least two candidates" in empty.content.decode()


def test_a_candidate_is_put_aside_in_the_table(client: Client, now: datetime) -> None:
    first = candidates(now)[0].offer.offer_id
    page = client.get("/workbench/").content.decode()
    assert f"?tray={first}#h-candidates" in page
    put = client.get(f"/workbench/?tray={first}").content.decode()
    assert "1 candidate put aside" in put
    assert "✓ compared" in put
    assert 'name="tray" value=' in put


@pytest.mark.parametrize("kind", [kind for kind in kinds.KINDS if kind.variants], ids=lambda kind: kind.key)
def test_every_variant_of_a_kind_is_an_accepted_question(kind: Kind) -> None:
    forms = [form_of(example.query) for example in kind.examples]
    for variant in kind.variants:
        changed = 0
        for form in forms:
            assert form.is_valid()
            texts = {key: text for _name, key, _default, text in form.state}
            changes: dict[str, str | None] = dict(variant.changes(texts))
            if not changes:
                continue
            changed += 1
            other = form_of(form.query_string(**changes))  # type: ignore[arg-type]
            assert other.is_valid(), (variant.key, other.errors)
            assert other.workload() != form.workload() or variant.key == "bf16"
        assert changed, variant.key


def test_a_variant_that_changes_nothing_is_not_offered(client: Client) -> None:
    page = client.get("/workbench/variants/").content.decode()
    assert "weights in FP8" in page
    assert "weights in BF16" not in page, "the checkpoint is stored so"


def test_variants_are_sized_again_here_and_on_the_market(client: Client, now: datetime) -> None:
    page = client.get("/workbench/variants/?variants=fp8,double").content.decode()
    assert page.count('<th scope="col"><a') == 3
    for text in ("as asked", "weights in FP8", "double load", "On the machine that is first then"):
        assert text in page
    assert re.search(r"−\d+ %", page), "narrower weights need less memory"
    assert "users_peak=64" in page


def test_a_question_that_nothing_answers_has_no_variants(client: Client) -> None:
    assert client.get("/workbench/variants/?include=H100-SXM5&in_max=100000000").status_code == 302
    nothing = client.get("/workbench/variants/?price_max=0.01")
    assert (nothing.status_code, nothing.headers["Location"]) == (302, "/workbench/?price_max=0.01")


def test_what_was_put_aside_stays_whatever_the_filter_and_says_why_it_is_outside(
    client: Client, now: datetime
) -> None:
    first = candidates(now)[0].offer
    other = next(each.offer for each in candidates(now) if each.offer.accelerator != first.accelerator)
    tray = f"tray={first.offer_id},{other.offer_id}"
    page = client.get(f"/workbench/compare/?{tray}&include={other.accelerator}")
    assert [view.it.offer.offer_id for view in page.context["views"]] == [first.offer_id, other.offer_id]
    assert page.content.decode().count("outside the present filters:") == 1
    assert "Choose at least two candidates" not in page.content.decode()
    assert "outside the present filters" not in client.get(f"/workbench/compare/?{tray}").content.decode()
    workbench = client.get(f"/workbench/?{tray}&include={other.accelerator}").content.decode()
    assert "2 candidates put aside" in workbench


def test_what_cannot_run_the_workload_is_not_compared_but_refused(client: Client, now: datetime) -> None:
    first, second = (each.offer.offer_id for each in candidates(now)[:2])
    page = client.get(f"/workbench/compare/?tray={first},{second}&model=Qwen/Qwen3-235B-A22B")
    assert len(page.context["views"]) + len(page.context["refused"]) == 2
    assert page.context["refused"]


def test_the_best_of_each_accelerator_is_its_first_in_the_whole_ranking(now: datetime) -> None:
    make_offer("L40S", "9.90", sku="dear")
    make_offer("H200-SXM", "9.90", sku="dearer")
    services.forget()
    whole = services.compare(ServingWorkload(), at=now, limit=200).candidates
    first: dict[str, Candidate] = {}
    for each in whole:
        first.setdefault(each.offer.accelerator, each)
    assert len(first) < len(whole), "some accelerator stands twice"
    found = services.compare(ServingWorkload(), at=now, limit=200, first_of_each=True)
    assert [(each.rank, each.offer.offer_id) for each in found.candidates] == [
        (each.rank, each.offer.offer_id) for each in first.values()
    ]
    assert found.candidates_total == len(whole)
    second = services.compare(ServingWorkload(), at=now, limit=1, offset=1, first_of_each=True).candidates
    assert [each.offer.offer_id for each in second] == [list(first.values())[1].offer.offer_id]


def test_the_table_shows_one_of_each_accelerator_on_request(client: Client) -> None:
    page = client.get("/workbench/?each=1")
    shown = [row.it.offer.accelerator for row in page.context["view"].rows]
    assert len(shown) == len(set(shown))
    assert 'name="each" value="1"' in page.content.decode(), "refining keeps it"


def test_variants_say_of_what_they_are(client: Client) -> None:
    page = client.get("/workbench/variants/?users_peak=48&in=2,000&variants=fp8").content.decode()
    for text in ("meta-llama/Llama-3.1-8B-Instruct", "48 requests", "2,000 tokens", "300 tokens"):
        assert f"<b>{text}</b>" in page


def test_variants_can_be_held_to_the_replicas_of_the_question(client: Client) -> None:
    query = "include=L40S&users_peak=400&users=100&in=4000&variants=int4"
    plain = client.get(f"/workbench/variants/?{query}").context["columns"]
    same = client.get(f"/workbench/variants/?{query}&same=1").context["columns"]
    assert plain[0].here.it.replicas == same[0].here.it.replicas
    assert plain[1].here.it.replicas < plain[0].here.it.replicas
    assert same[1].here.it.replicas == same[0].here.it.replicas


def test_variants_come_as_a_file(client: Client) -> None:
    answer = client.get("/workbench/variants.csv?variants=fp8,double")
    assert answer.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [row[0] for row in rows[1:]] == ["as_asked"] * 2 + ["fp8"] * 2 + ["double"] * 2
    assert [row[2] for row in rows[1:3]] == ["first_as_asked", "first_then"]
    assert all(len(row) == len(rows[0]) for row in rows)
    assert len(set(rows[0])) == len(rows[0]), "a name stands for one column"
    assert client.get("/workbench/variants.csv?price_max=0.01").status_code == 404


@pytest.mark.parametrize(("provider", "is_complete"), [("known", True), ("other", False)])
def test_the_file_of_variants_has_plain_numbers_and_says_whether_totals_are_complete(
    client: Client, provider: str, is_complete: bool
) -> None:
    make_offer("H200-SXM", "3.90", provider="other")
    query = f"users_peak=400&users=300&egress=500&providers={provider}&variants=fp8,long"
    page = client.get(f"/workbench/variants/?{query}")
    answer = client.get(f"/workbench/variants.csv?{query}")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    views = [view for column in page.context["columns"] for view in (column.here, column.then)]
    assert any(view and view.it.monthly.total >= 1000 for view in views), "figures with a separator"
    assert {view.it.monthly.complete for view in views if view} == {is_complete}
    for row, view in zip(rows, views, strict=True):
        if view is None:
            assert (row["status"], row["monthly"], row["complete"]) == ("nothing_fits", "", "")
        else:
            assert (row["status"], row["currency"]) == ("fits", "USD")
            assert Decimal(row["monthly"]) == view.it.monthly.total
            assert row["complete"] == ("true" if view.it.monthly.complete else "false")
            assert float(row["tpot_peak_ms_low"]) <= float(row["tpot_peak_ms"])
