"""A total in which a line is unknown reads "≥" wherever it is told: page, paper, comparison, checklist."""

from __future__ import annotations

import ast
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from planner import cautions, kinds, side_by_side
from planner.candidate_views import candidate_view
from planner.kinds.run_blocks import _smallest_block
from planner.sizing.results import Candidate, Comparison, FewerReplicas, SmallerMachine
from reports import checklist, checklist_words, diff_words
from reports.diff import Side, compare_workloads
from reports.models import Plan
from tests.reports.conftest import Crew
from tests.reports.factories import small_comparison

ROOT = Path(__file__).resolve().parents[2]
SUMS = frozenset({"total", "monthly", "run_cost", "job_cost"})
"""Names of amounts that sum lines of a bill."""
WHOLE = {
    ("planner/presenters.py", "found"): "the cheapest offer is told only where every line is known",
    ("planner/charts.py", "candidate"): "charts draw candidates whose prices are all known",
    ("planner/kinds/run_blocks.py", "cost"): "machine time alone, and the table says so",
    ("planner/figures.py", "amount"): "the one that sets the sign itself",
}


def names_in(node: ast.AST) -> set[str]:
    return {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def roots_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def test_no_code_tells_a_total_without_saying_whether_it_is_whole() -> None:
    found, used = [], set()
    for path in sorted((*(ROOT / "planner").rglob("*.py"), *(ROOT / "reports").rglob("*.py"))):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("money", "money_plain")):
                continue
            if not node.args or not names_in(node.args[0]) & SUMS:
                continue
            excuse = {(name, root) for root in roots_in(node.args[0])} & set(WHOLE)
            used |= excuse
            if not excuse:
                found.append(f"{name}:{node.lineno}")
    assert found == []
    assert len(used) >= 3, "the search still finds what it excuses"


def unknown_line(candidate: Candidate) -> Candidate:
    bill = candidate.monthly.model_copy(update={"complete": False, "missing": ("storage",)})
    return candidate.model_copy(update={"monthly": bill})


@pytest.fixture
def comparison(catalog: None) -> Comparison:
    return small_comparison()


@pytest.mark.parametrize(("complete", "said"), [(True, "$803.00"), (False, "≥ $803.00"), (None, "≥ $803.00")])
def test_the_month_with_fewer_replicas(comparison: Comparison, complete: bool | None, said: str) -> None:
    fewer = FewerReplicas(
        replicas=1, machines=1, target="tpot_s", asked=0.05, got=0.0512, total=Decimal("803.00"), currency="USD",
        complete=complete,
    )  # fmt: skip
    two = unknown_line(comparison.candidates[0]).model_copy(
        update={"replicas": 2, "replicas_set_by": "tpot_s", "fewer_replicas": fewer}
    )
    assert cautions.replicas_why(two).endswith(f"at most 50.0 ms, {said} a month.")


@pytest.mark.parametrize(("complete", "said"), [(True, "$5.79"), (False, "≥ $5.79"), (None, "≥ $5.79")])
def test_the_run_on_the_smallest_machine(comparison: Comparison, complete: bool | None, said: str) -> None:
    machine = SmallerMachine(
        change=None, value=None, accelerator="L4", gpu_count=1, machines=1, memory_bytes=1, needed_bytes=1,
        offer_id=1, run_hours=2.0, run_cost=Decimal("5.79"), currency="USD", micro_batch=1, accumulation=1,
        recompute="none", effective_batch=1, complete=complete,
    )  # fmt: skip
    block = _smallest_block(
        unknown_line(comparison.candidates[0]).model_copy(update={"smallest": (machine,)})
    )
    texts = [getattr(cell, "text", cell) for cell in block.rows[0][1]]
    assert texts[-1] == said


def pair(comparison: Comparison, *, cheap_known: bool, dear_known: bool) -> str:
    cheap = comparison.candidates[0]
    bill = cheap.monthly.model_copy(update={"total": cheap.monthly.total + Decimal("109.50")})
    dear = cheap.model_copy(update={"monthly": bill, "rank": 2})
    both = (cheap if cheap_known else unknown_line(cheap), dear if dear_known else unknown_line(dear))
    kind = kinds.of(comparison.kind)
    (said,) = side_by_side.why_dearer(kind, [candidate_view(kind, one, (), language="en") for one in both])
    return said


def test_a_difference_of_totals_says_what_of_them_is_known(comparison: Comparison) -> None:
    assert " costs $109.50 a month (" in pair(comparison, cheap_known=True, dear_known=True)
    assert " costs ≥ $109.50 a month (≥ " in pair(comparison, cheap_known=True, dear_known=False)
    assert " costs ≤ $109.50 a month (≤ " in pair(comparison, cheap_known=False, dear_known=True)
    neither = pair(comparison, cheap_known=False, dear_known=False)
    assert neither.endswith(
        "Both totals hold lines that are unknown: the difference is that of the known ones."
    )


def test_the_redundant_layout_of_the_checklist(comparison: Comparison) -> None:
    incomplete = comparison.model_copy(update={"candidates": (unknown_line(comparison.candidates[0]),)})
    for one, sign in ((comparison, "$"), (incomplete, "≥ $")):
        shown = checklist_words.view(checklist.Checklist(machine_availability=0.99), [("", one)])
        assert [each.monthly.startswith(sign) for each in shown.layouts] == [True, True]


def test_a_total_that_becomes_known_is_a_change_without_a_percentage(comparison: Comparison) -> None:
    def side(first: Candidate) -> Side:
        return Side(1, "", comparison.kind, comparison.model_copy(update={"candidates": (first,)}))

    first = comparison.candidates[0]
    (diff,) = compare_workloads([side(unknown_line(first))], [side(first)])
    (change,) = [each for each in diff.of("result") if each.path == ("monthly",)]
    line = diff_words.line(change)
    assert line.before == f"≥ {line.after}"
    assert line.change == ""


def test_the_plan_page_never_tells_an_incomplete_total_bare(
    plan: Plan, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = plan.versions.get().answers[0]
    found = Comparison.model_validate_json(row.comparison_text)
    fewer = FewerReplicas(
        replicas=1,
        machines=1,
        target="tpot_s",
        asked=0.05,
        got=0.06,
        total=Decimal("4321.98"),
        currency="USD",
    )
    update: dict[str, Any] = {"replicas": 2, "replicas_set_by": "tpot_s", "fewer_replicas": fewer}
    first = unknown_line(found.candidates[0]).model_copy(update=update)
    assert found.services is not None
    beside = found.services.model_copy(update={"complete": False})
    changes = {"candidates": (first, *found.candidates[1:]), "cheapest": None, "services": beside}
    made = found.model_copy(update=changes)
    monkeypatch.setattr("reports.sheets.read_comparison", lambda _row: made)
    for language in ("en", "ja"):
        page = crew.client("viewer").get(f"/plans/{plan.slug}/", headers={"accept-language": language})
        text = page.content.decode()
        assert text.count("$4,321.98") == text.count("≥ $4,321.98") == 1
        total = f"${first.monthly.total:,.2f}"
        assert text.count(total) == text.count(f"≥ {total}") >= 2
