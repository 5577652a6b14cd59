"""A sheet in words and texts, for the pages and for the paper: both read the same, so they cannot disagree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from catalog.source_words import said
from planner import assumption_words, kinds, wording
from planner.candidate_views import CandidateView, candidate_view
from planner.columns import Column
from planner.figures import money_known, significant
from planner.kinds import by_rate
from planner.kinds.frame import Block, Kind
from planner.presenters import answer
from planner.query_of import query_of
from planner.rejections import RejectedGroup
from planner.remedies import ReliefView
from planner.service_words import services_block
from planner.sizing.quantities import Assumption
from planner.sizing.results import Bill, Candidate, Comparison
from reports import checklist_words, words
from reports.checklist_words import ChecklistView
from reports.sheets import Sheet, SheetWorkload

ROWS_PER_PAGE = 50
QUOTED = 3
MONTHS_OF_TERM = 12


@dataclass(frozen=True)
class Fact:
    label: str
    text: str


@dataclass(frozen=True)
class SourceView:
    """Where prices came from, and between which days they were read."""

    source: str
    url: str
    dates: str
    count: int


@dataclass(frozen=True)
class AssumptionView:
    name: str
    value: str
    unit: str
    source: str


@dataclass(frozen=True)
class QuoteView:
    """One candidate in short, for page one."""

    row: CandidateView
    offer: str
    monthly: str
    term: str
    """Of twelve months; empty for what runs only once."""
    per_unit: str


@dataclass(frozen=True)
class WorkloadView:
    """One workload of a plan, ready to be shown."""

    position: int
    name: str
    headline: str
    lede: str
    state: str
    change: str
    misses: tuple[str, ...]
    """Targets that the first candidate misses, and where more replicas of it do not help."""
    replicas_why: str
    reliefs: tuple[ReliefView, ...]
    """What the headroom and the targets cost on the first candidate's machine."""
    question: tuple[Fact, ...]
    model: tuple[Fact, ...]
    columns: tuple[Column, ...]
    currency: str
    unit: str
    """The unit of use whose cost is told."""
    why: str
    rows: tuple[CandidateView, ...]
    kept: str
    quotes: tuple[QuoteView, ...]
    rejected: tuple[RejectedGroup, ...]
    rejected_total: int
    assumptions: tuple[AssumptionView, ...]
    carried_by: str
    by_hand: str
    """Assumptions of the method that were set by hand, in words; empty where none was."""
    sources: tuple[SourceView, ...]
    services: Block | None
    """What services by the token ask for the same month."""
    query: str | None
    """The workbench's query that asks for it; None where its form cannot."""

    @property
    def best(self) -> QuoteView | None:
        return self.quotes[0] if self.quotes else None


def _language() -> str:
    return (get_language() or "en").partition("-")[0]


# The question -----------------------------------------------------------------------------------------------


def question(document: dict[str, Any], names: Iterable[str] = ()) -> tuple[Fact, ...]:
    """What was asked, field by field, with the labels and units of the workbench; all fields, or those named.

    A field that another one stands for is left out: a run of so many parameters does not train the model above them.
    """
    wanted = set(names)
    facts = []
    kind = kinds.of(str(document.get("kind", kinds.DEFAULT.key)))
    if not wanted:
        facts.append(Fact(_("Kind of work"), str(kind.title)))
    unused = {
        other
        for name, other in kind.instead_of.items()
        if (field := kind.fields[name]).path and _asked(field, _dig(document, field.path))
    }
    unused |= set(kind.without.get(str(document.get("kind")), ()))
    instead = by_rate.told(document)
    for name, field in kind.fields.items():
        path = field.path
        if not path or name in unused or (wanted and name not in wanted):
            continue
        if name in instead:
            facts += [Fact(*fact)] if (fact := instead[name]) else []
            continue
        text = _asked(field, _dig(document, path))
        if text:
            facts.append(Fact(str(field.label), text))
    return tuple(facts)


def _dig(document: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def _asked(field: Any, value: Any) -> str:
    if value is None or value in ([], (), {}):
        return ""
    told = field.in_words(value)
    if told is not None:
        return str(told)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    options = getattr(field, "choices", None) or getattr(field.widget, "choices", None) or ()
    choices = {str(code): label for code, label in options}
    if isinstance(value, list | tuple):
        return wording.listed(str(choices.get(str(item), item)) for item in value)
    if isinstance(value, int | float):
        return str(field.with_unit(_trimmed(Decimal(str(value)) * field.scale)))
    return _("none") if value == "none" else str(choices.get(str(value), value))


def _trimmed(number: Decimal) -> str:
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _model(comparison: Comparison) -> tuple[Fact, ...]:
    """What was understood of the model, as far as it is plain values."""
    facts = []
    for name, label in words.model_facts().items():
        value = comparison.model.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            continue
        text = value if isinstance(value, str) else _trimmed(Decimal(str(value)))
        if name in ("attention", "source"):
            text = said(text)
        elif name == "stored_format":
            text = str(wording.FORMATS.get(text, text))
        facts.append(Fact(label, text))
    return tuple(facts)


# The answer -------------------------------------------------------------------------------------------------


def total(bill: Bill, months: int = 1) -> str:
    return money_known(bill.total * months, bill.currency, complete=bill.complete)


def _runs_once(comparison: Comparison) -> bool:
    """Whether the bill is that of a single run or job, which no further month repeats."""
    first = comparison.candidates[0] if comparison.candidates else None
    is_run = first is not None and (first.batch is not None or "run" in first.unit_costs)
    return is_run and not _dig(comparison.workload, ("schedule", "starts_per_day"))


def _quote(kind: Kind, candidate: Candidate, columns: Iterable[Column], *, once: bool) -> QuoteView:
    row, offer = candidate_view(kind, candidate, columns, language=_language()), candidate.offer
    return QuoteView(
        row=row,
        offer=f"{offer.gpu_count} × {offer.accelerator} · {offer.provider_name}, {offer.sku}",
        monthly=total(candidate.monthly),
        term="" if once else total(candidate.monthly, MONTHS_OF_TERM),
        per_unit=row.per_unit or _("unknown"),
    )


def assumption(item: Assumption) -> AssumptionView:
    value = item.value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Six digits are more than anybody knows a constant to; all of them stand in the JSON file.
    text = (
        _trimmed(Decimal(f"{value:.6g}" if isinstance(value, float) else value)) if is_number else str(value)
    )
    if item.low is not None and item.high is not None:
        text += f" ({significant(item.low)}–{significant(item.high)})"
    return AssumptionView(assumption_words.named(item), text, assumption_words.unit(item.unit), item.source)


def _carried_by(comparison: Comparison) -> str:
    """The parts of the question that the answer leans on most, in one line."""
    carrying = question(comparison.workload, kinds.of(comparison.kind).carrying)
    return "; ".join(f"{fact.label}: {fact.text}" for fact in carrying)


def _sources(comparison: Comparison) -> tuple[SourceView, ...]:
    found: dict[tuple[str, str], list[date]] = {}
    for candidate in comparison.candidates:
        key = (candidate.offer.source, candidate.offer.source_url or "")
        found.setdefault(key, []).append(candidate.offer.price_observed_on)
    views = []
    for (source, url), dates in sorted(found.items()):
        first, last = min(dates).isoformat(), max(dates).isoformat()
        views.append(SourceView(source, url, first if first == last else f"{first} – {last}", len(dates)))
    return tuple(views)


def _kept(comparison: Comparison) -> str:
    kept, everything = len(comparison.candidates), comparison.candidates_total
    if kept >= everything:
        return ""
    return _("The first %(kept)d of %(all)d candidates are kept with the plan.") % {
        "kept": kept,
        "all": everything,
    }


def workload(item: SheetWorkload, *, first: int = 0, count: int | None = None) -> WorkloadView:
    """``count`` candidates from the ``first`` on; all of them by default."""
    comparison = item.comparison
    kind = kinds.of(item.kind)
    columns = kind.chosen()
    candidates = comparison.candidates
    until = len(candidates) if count is None else first + count
    once = _runs_once(comparison)
    answered = answer(
        comparison.model_copy(update={"candidates": candidates[:until]}),
        language=_language(),
        objective=str(comparison.workload.get("objective", "cost")),
    )
    return WorkloadView(
        position=item.position,
        name=item.name or str(kind.title),
        headline=answered.headline,
        lede=" ".join(sentence for sentence in (answered.lede, answered.cheapest) if sentence),
        state=answered.state,
        change=answered.change,
        misses=(*(answered.best.misses if answered.best else ()), *answered.out_of_reach),
        replicas_why=answered.replicas_why,
        reliefs=answered.reliefs,
        question=question(comparison.workload),
        model=_model(comparison),
        columns=columns,
        currency=str(comparison.workload.get("currency", "")),
        unit=str(kind.unit),
        why=answered.why,
        rows=answered.rows[first:],
        kept=_kept(comparison),
        quotes=tuple(_quote(kind, row, columns, once=once) for row in candidates[:QUOTED]),
        rejected=answered.rejected,
        rejected_total=answered.rejected_total,
        assumptions=tuple(assumption(each) for each in comparison.assumptions),
        carried_by=_carried_by(comparison),
        by_hand="".join(fact.text for fact in question(comparison.workload, ("assume",))),
        sources=_sources(comparison),
        services=services_block(comparison.services) if comparison.services else None,
        query=item.query or query_of(comparison.workload, comparison.priced_at),
    )


def checklist(sheet: Sheet) -> ChecklistView | None:
    """The operations checklist in words; None where the version has none."""
    if sheet.checklist is None:
        return None
    named = [(item.name or str(kinds.of(item.kind).title), item.comparison) for item in sheet.workloads]
    return checklist_words.view(sheet.checklist, named)


def page_number(asked: str | None) -> int:
    return int(asked) if asked and asked.isascii() and asked.isdigit() and len(asked) < 6 else 1


def page(sheet: Sheet, number: int) -> dict[str, Any]:
    """A plan for the screen: its workloads, 50 candidates at a time."""
    longest = max((len(item.comparison.candidates) for item in sheet.workloads), default=0)
    last = max(1, -(-longest // ROWS_PER_PAGE))
    number = min(max(1, number), last)
    first = (number - 1) * ROWS_PER_PAGE
    return {
        "workloads": [workload(item, first=first, count=ROWS_PER_PAGE) for item in sheet.workloads],
        "checklist": checklist(sheet),
        "checklist_heads": {
            "services": checklist_words.service_heads(),
            "layouts": checklist_words.layout_heads(),
        },
        "number": number,
        "last": last,
        "previous": number - 1 if number > 1 else None,
        "next": number + 1 if number < last else None,
    }
