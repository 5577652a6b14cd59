"""A comparison as the sheet shows it: sentences, rows, groups. No arithmetic beyond units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from catalog.source_words import said
from planner import cautions, change_words, kinds, remedies, wording
from planner.candidate_views import CandidateView, candidate_view
from planner.columns import Column
from planner.figures import money, seconds
from planner.kinds import by_rate
from planner.kinds.frame import Kind
from planner.rejections import RejectedGroup, rejected_groups
from planner.remedies import ReliefView, RemedyView
from planner.sizing.results import Candidate, Comparison
from planner.sizing.workload import Filters


def model_label(
    name: str, parameters: int | None, attention: str, licence: str | None, *, is_sized: bool
) -> str:
    """What the list of suggestions says beside a name."""
    size = f"{parameters / 1e9:,.1f}B" if parameters else ""
    words = [size, said(attention), said(licence or ""), "" if is_sized else _("not sized yet")]
    return " · ".join(word for word in words if word)


def family(word: str, names: Iterable[str]) -> str:
    """What a word in a filter that stands for several accelerators was read as."""
    return _("“%(word)s” is read as: %(names)s.") % {"word": word, "names": wording.listed(names)}


@dataclass(frozen=True)
class Answer:
    comparison: Comparison
    headline: str
    lede: str
    state: str
    """meets, misses, tight or nothing: how the headline is marked."""
    columns: tuple[Column, ...]
    rows: tuple[CandidateView, ...]
    best: CandidateView | None
    """The first of the ranking: what headline and strip speak of."""
    rejected: tuple[RejectedGroup, ...]
    change: str = ""
    cheapest: str = ""
    defensible: Defensible | None = None
    """The lowest complete list price of late, where the first candidate's is old, a floor or lacks lines."""
    jobs: str = ""
    """How often a month the job or run is done, of kinds that end."""
    notes: tuple[str, ...] = ()
    """What is worth knowing of the question as it was understood."""
    cautions: tuple[str, ...] = ()
    replicas_why: str = ""
    remedies: tuple[RemedyView, ...] = ()
    """Where nothing meets everything: changes that would help, each with its month."""
    reliefs: tuple[ReliefView, ...] = ()
    """What the headroom and the targets cost on the first candidate's machine."""
    out_of_reach: tuple[str, ...] = ()
    """Of the first candidate's missed targets: that more replicas do not help."""
    why: str = ""
    """Why the first row is the first, where the rows are in the order of the ranking."""

    @property
    def kind(self) -> Kind:
        return kinds.of(self.comparison.kind)

    @property
    def model_line(self) -> str:
        """What was understood of the model, and under which engine."""
        return self.kind.model_line(self.comparison)

    @property
    def title_hint(self) -> str:
        name = str(self.comparison.model.get("name", "")).rpartition("/")[2]
        return wording.listed(part for part in (name, str(self.kind.title)) if part)

    @property
    def has_crossed(self) -> bool:
        """Whether a row has a figure that meets its target while the range does not."""
        return any(row.crossed for row in self.rows)

    @property
    def rejected_total(self) -> int:
        return sum(self.comparison.rejected_counts.values())


def answer(
    comparison: Comparison,
    *,
    column_keys: Iterable[str] = (),
    language: str,
    best: Candidate | None = None,
    objective: str = "cost",
) -> Answer:
    """``best`` is the first of the ranking where the rows are another page or order of it."""
    kind = kinds.of(comparison.kind)
    columns = kind.chosen(tuple(column_keys))
    rows = tuple(
        candidate_view(kind, item, columns, language=language, workload=comparison.workload)
        for item in comparison.candidates
    )
    first = best or (comparison.candidates[0] if comparison.candidates else None)
    state, headline = _headline(comparison, first)
    would_do = remedies.remedy_views(comparison, language)
    return Answer(
        comparison=comparison,
        headline=headline,
        lede=_lede(comparison, first),
        state=state,
        columns=columns,
        rows=rows,
        best=candidate_view(kind, first, (), language=language, workload=comparison.workload)
        if first
        else None,
        cautions=cautions.cautions(kind, first, comparison.workload) if first else (),
        replicas_why=cautions.replicas_why(first) if first else "",
        rejected=rejected_groups(comparison, language=language),
        change=_smallest_change(comparison, would_do),
        remedies=would_do,
        reliefs=remedies.relief_views(first) if first else (),
        out_of_reach=remedies.out_of_reach(first) if first else (),
        cheapest=_cheapest(comparison, first),
        defensible=defensible(comparison, first) if first else None,
        jobs=jobs_a_month(comparison),
        why=_why(rows, objective) if best is None else "",
        notes=kind.notes(comparison, first) if first else (),
    )


def _why(rows: tuple[CandidateView, ...], objective: str) -> str:
    """What put the first before the second, in one sentence."""
    if not rows:
        return ""
    if len(rows) == 1:
        return _("The only candidate.")
    first, second = rows[0], rows[1]
    words = {
        "objective": wording.objective(objective),
        "second": wording.listed([second.it.offer.accelerator, second.it.offer.provider_name]),
        "total": second.total,
    }
    if first.it.class_ < second.it.class_:
        return (
            _(
                "First because no other candidate does as well by the targets; next comes %(second)s, "
                "%(total)s."
            )
            % words
        )
    if objective == "cost" and _as_ranked(second.it) <= _as_ranked(first.it) * Decimal("1.02"):
        return (
            _(
                "First of those within 2 %% of the lowest monthly total: fewer GPUs per replica, then "
                "more bandwidth and memory, decide. Next: %(second)s, %(total)s."
            )
            % words
        )
    return (
        _(
            "First by %(objective)s; next comes %(second)s, %(total)s. Totals with unknown lines rank "
            "as 1.10 × what is known."
        )
        % words
    )


def _as_ranked(candidate: Candidate) -> Decimal:
    """The total that ranks: an incomplete one counts 1.10 × its known part."""
    return candidate.monthly.total * (1 if candidate.monthly.complete else Decimal("1.1"))


def _headline(comparison: Comparison, best: Candidate | None) -> tuple[str, str]:
    if best is None:
        if any(remedy.change in Filters.model_fields for remedy in comparison.remedies):
            return "nothing", _("No machine that the filters leave can run this as asked")
        return "nothing", _("No machine on the market can run this as asked")
    words: dict[str, Any] = {
        "gpus": f"{best.gpus_per_replica:,}",
        "name": best.offer.accelerator,
        "replicas": f"{best.replicas:,}",
    }
    if best.class_ == 3 and "host_ram_short" in best.warnings and _has_headroom(best):
        return "tight", _(
            "It fits on the GPUs, but every host is short of memory to load it; first comes %(gpus)s × %(name)s per "
            "replica"
        ) % words
    if best.class_ == 3:
        return "tight", _(
            "It fits only without the headroom asked for, on %(gpus)s × %(name)s per replica"
        ) % words
    if best.class_ == 2:
        return "misses", _misses(best, words)
    said = kinds.of(comparison.kind).headline(best)
    binding = remedies.binding_default(best)
    if binding is not None:
        bound = {
            "answer": said,
            "name": remedies.SHORT[binding.given_up],
            "asked": " ".join(seconds(binding.asked)),
        }
        return "meets", _("%(answer)s, because of %(name)s ≤ %(asked)s, which is a default") % bound
    return "meets", said


def _has_headroom(best: Candidate) -> bool:
    """Whether the GPUs keep the headroom free, so that only the host is short."""
    return best.memory.needed_bytes + best.memory.headroom_bytes <= best.memory.usable_bytes


def _misses(best: Candidate, words: dict[str, Any]) -> str:
    """That nothing meets every target; a default that is the one missed is named."""
    target, asked = best.misses[0].target, best.misses[0].asked
    if len(best.misses) == 1 and remedies.is_default(target, asked):
        named = words | {"target": remedies.SHORT[target], "asked": " ".join(seconds(asked))}
        return (
            _(
                "No machine meets every target; first comes %(gpus)s × %(name)s per replica, which misses only "
                "%(target)s ≤ %(asked)s, a default"
            )
            % named
        )
    return _("No machine meets every target; first comes %(gpus)s × %(name)s per replica") % words


def _lede(comparison: Comparison, best: Candidate | None) -> str:
    if best is None:
        return ngettext(
            "%(n)s offer was looked at; the reason is listed below.",
            "%(n)s offers were looked at; the reasons are listed below.",
            sum(comparison.rejected_counts.values()),
        ) % {"n": f"{sum(comparison.rejected_counts.values()):,}"}
    return ngettext(
        "First of %(n)s candidate: %(provider)s, %(sku)s.",
        "First of %(n)s candidates: %(provider)s, %(sku)s.",
        comparison.candidates_total,
    ) % {"n": f"{comparison.candidates_total:,}", "provider": best.offer.provider_name, "sku": best.offer.sku}


def _cheapest(comparison: Comparison, best: Candidate | None) -> str:
    """The lowest total one may call the cheapest, beside a first row whose price is old, a floor or incomplete."""
    if best is None or not comparison.class_counts.get("1"):
        return ""
    found = comparison.cheapest
    if found is None:
        return _none_to_rely_on(best)
    if found.offer.offer_id == best.offer.offer_id:
        return _("Also the lowest complete list price of the last 180 days.")
    once = found.job_cost if found.job_cost is not None else found.unit_costs.get("run")
    words = {
        "layout": wording.layout(found.replicas, found.layout),
        "name": found.offer.accelerator,
        "provider": found.offer.provider_name,
        "total": money(found.total, found.currency),
        "once": "" if once is None else money(once, found.currency),
    }
    if once is not None and once == found.total:  # The month is that of a single run.
        return (
            _(
                "Lowest complete list price of the last 180 days: %(layout)s on %(name)s, %(provider)s, "
                "%(once)s a time."
            )
            % words
        )
    if once is None:
        return (
            _(
                "Lowest complete list price of the last 180 days: %(layout)s on %(name)s, %(provider)s, %(total)s a "
                "month."
            )
            % words
        )
    return (
        _(
            "Lowest complete list price of the last 180 days: %(layout)s on %(name)s, %(provider)s, %(once)s a time, "
            "%(total)s a month."
        )
        % words
    )


def _none_to_rely_on(best: Candidate) -> str:
    """Why none may be called the cheapest; nothing where the first is a whole list price that is not sold on demand."""
    if best.offer.stale or best.offer.estimated or not best.monthly.complete:
        return _(
            "No candidate has a complete list price of the last 180 days: check a price before you rely on it."
        )
    if best.offer.floor:
        return _(
            "No candidate has a complete list price of the last 180 days: that of the first is complete, but only the "
            "lowest that is asked. Check it before you rely on it."
        )
    return ""


@dataclass(frozen=True)
class Defensible:
    """An amount beside the first candidate's, as large as that."""

    label: str
    amount: str
    besides: str
    """The same offer's other amount: of the month, or of one run."""
    what: str


def defensible(comparison: Comparison, first: Candidate) -> Defensible | None:
    """The lowest complete list price of the last 180 days beside a first candidate whose price is less than that."""
    found = comparison.cheapest
    doubtful = first.offer.stale or first.offer.floor or first.offer.estimated or not first.monthly.complete
    if found is None or not doubtful or found.offer.offer_id == first.offer.offer_id:
        return None
    month = money(found.total, found.currency)
    of_run = found.unit_costs.get("run")
    besides = ""
    if of_run is not None:
        besides = _("%(amount)s for one run") % {"amount": money(of_run, found.currency)}
    if found.job_cost is not None:
        besides = _("%(amount)s a month") % {"amount": month}
    layout = wording.layout(found.replicas, found.layout)
    return Defensible(
        label=_("Lowest complete price of the last 180 days"),
        amount=money(found.job_cost, found.currency) if found.job_cost is not None else month,
        besides=besides,
        what=wording.listed(
            (
                layout,
                found.offer.accelerator,
                found.offer.provider_name,
                wording.age(found.offer.price_age_days),
            )
        ),
    )


def jobs_a_month(comparison: Comparison) -> str:
    """A month's amounts assume that the job is done as often as the schedule says."""
    if not kinds.of(comparison.kind).can_restart:
        return ""
    schedule = comparison.workload.get("schedule", {})
    times = schedule.get("starts_per_day", 0) * schedule.get("days_per_month", 0) or 1.0
    shown = by_rate.short(float(times), 3)
    return ngettext("%(n)s job a month", "%(n)s jobs a month", 1 if times == 1 else 2) % {"n": shown}


def _smallest_change(comparison: Comparison, would_do: tuple[RemedyView, ...]) -> str:
    """What would help, in one sentence; plans that were saved before remedies were told have one change alone."""
    if would_do:
        told = wording.listed(
            _("%(what)s (%(month)s a month)") % {"what": each.what, "month": each.month} for each in would_do
        )
        return _("What would do: %(changes)s.") % {"changes": told}
    change = comparison.smallest_change
    if change is None:
        return ""
    what = change_words.change({"change": change.change, "to": change.value})
    return ngettext(
        "The smallest change that would do: %(what)s. Then %(n)s machine meets every target.",
        "The smallest change that would do: %(what)s. Then %(n)s machines meet every target.",
        change.candidates,
    ) % {"what": what, "n": f"{change.candidates:,}"}
