"""A comparison as the sheet shows it: sentences, rows, groups. No arithmetic beyond units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from planner import assumption_words, cautions, stored_format, wording
from planner.columns import Column, chosen
from planner.derivation_view import DerivationView, derivation
from planner.figures import (
    Cell,
    Figure,
    cell,
    duration,
    exact,
    hours,
    money,
    money_plain,
    rate,
    seconds,
    significant,
    unit_price,
)
from planner.memory_bar import MemoryBar, memory_bar
from planner.rejections import RejectedGroup, rejected_groups
from planner.sizing.results import Candidate, Comparison, LoadPoint


@dataclass(frozen=True)
class LoadView:
    title: str
    point: LoadPoint
    ttft: Figure | None
    tpot: Figure | None
    throughput: Figure | None
    per_user: Figure | None


@dataclass(frozen=True)
class BillLineView:
    what: str
    amount: str | None
    detail: str
    source: str
    note: str


@dataclass(frozen=True)
class CandidateView:
    """One candidate, ready for the table, the answer strip and its own page."""

    it: Candidate
    cells: tuple[Cell, ...]
    layout: str
    place: str
    verdict: str
    limit: str
    limit_sentence: str
    total: str
    per_million: str | None
    age: str
    misses: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    crossed: frozenset[str] = frozenset()
    """Columns whose figure meets its target while its range does not."""

    @property
    def machines(self) -> str:
        text = ngettext("%(n)d machine", "%(n)d machines", self.it.machines) % {"n": self.it.machines}
        if not self.it.idle_gpus:
            return text
        idle = ngettext("%(n)d GPU idle", "%(n)d GPUs idle", self.it.idle_gpus) % {"n": self.it.idle_gpus}
        return wording.listed([text, idle])

    @property
    def flags(self) -> tuple[str, ...]:
        """What must be known of the price before it is believed."""
        offer = self.it.offer
        marks = (
            (offer.floor, _("floor price")),
            (offer.estimated, _("estimated")),
            (offer.stale, _("old price")),
        )
        return tuple(text for holds, text in marks if holds)

    @property
    def memory(self) -> MemoryBar:
        return memory_bar(self.it.memory)

    @property
    def loads(self) -> tuple[LoadView, ...]:
        if self.it.speed is None:
            return ()
        return tuple(
            LoadView(
                title,
                point,
                duration(point.ttft_s),
                duration(point.tpot_s),
                rate(point.output_tokens_per_s),
                rate(point.output_tokens_per_s_per_user),
            )
            for title, point in (
                (_("typical load"), self.it.speed.typical),
                (_("peak load"), self.it.speed.peak),
            )
        )

    @property
    def peak(self) -> LoadView | None:
        return self.loads[1] if self.loads else None

    @property
    def job_hours(self) -> Figure | None:
        return hours(self.it.batch.hours) if self.it.batch else None

    @property
    def job_throughput(self) -> Figure | None:
        return rate(self.it.batch.output_tokens_per_s) if self.it.batch else None

    @property
    def job_cost(self) -> str | None:
        if self.it.batch is None or self.it.batch.cost is None:
            return None
        cost = money(self.it.batch.cost, self.it.monthly.currency)
        return cost if self.it.monthly.complete else f"≥ {cost}"

    @property
    def bill(self) -> tuple[BillLineView, ...]:
        return tuple(_bill_line(self.it, number) for number in range(len(self.it.monthly.lines)))

    @property
    def missing(self) -> str:
        return wording.word("missing", ", ".join(self.it.monthly.missing)) if self.it.monthly.missing else ""

    @property
    def derivations(self) -> tuple[DerivationView, ...]:
        return tuple(derivation(key, made) for key, made in self.it.derivations.items())

    @property
    def tier(self) -> str:
        return wording.word("tier", self.it.offer.tier)

    @property
    def link(self) -> str:
        return wording.word("link", self.it.offer.link or "unknown")

    @property
    def price(self) -> str:
        offer = self.it.offer
        return assumption_words.price(
            f"{unit_price(offer.price_amount)} {offer.price_currency}", offer.price_unit
        )


def _bill_line(candidate: Candidate, number: int) -> BillLineView:
    line = candidate.monthly.lines[number]
    currency = candidate.monthly.currency
    detail = ""
    if line.unit_price is not None:
        price = f"{unit_price(line.unit_price)} {line.unit_price_currency or currency}"
        detail = f"{exact(line.quantity)} {assumption_words.unit(line.unit)} × {price}"
    elif line.quantity:
        detail = f"{exact(line.quantity)} {assumption_words.unit(line.unit)}"
    return BillLineView(
        what=wording.word("line", line.what),
        amount=None if line.amount is None else money_plain(line.amount, currency),
        detail=detail,
        source=line.source or "",
        note=assumption_words.note(line.note),
    )


def model_label(
    name: str, parameters: int | None, attention: str, licence: str | None, *, is_sized: bool
) -> str:
    """What the list of suggestions says beside a name."""
    size = f"{parameters / 1e9:,.1f}B" if parameters else ""
    words = [size, attention, licence or "", "" if is_sized else _("not sized yet")]
    return " · ".join(word for word in words if word)


def family(word: str, names: Iterable[str]) -> str:
    """What a word in a filter that stands for several accelerators was read as."""
    return _("“%(word)s” is read as: %(names)s.") % {"word": word, "names": wording.listed(names)}


def candidate_view(
    candidate: Candidate,
    columns: Iterable[Column],
    *,
    language: str,
    workload: Mapping[str, Any] | None = None,
) -> CandidateView:
    """``workload`` is what was asked for, where figures that only just meet it are to be marked."""
    offer = candidate.offer
    name = offer.region_name_ja if language == "ja" and offer.region_name_ja else offer.region_name
    total = money(candidate.monthly.total, candidate.monthly.currency)
    per_million = candidate.per_million_tokens.all
    least = "" if candidate.monthly.complete else "≥ "
    crossed = cautions.crossed(candidate, workload or {})
    cells = (cell(column, candidate) for column in columns)
    return CandidateView(
        it=candidate,
        cells=tuple(
            replace(made, range=f"△ {made.range}") if made.column.key in crossed else made for made in cells
        ),
        layout=wording.layout(candidate.replicas, candidate.gpus_per_replica, candidate.layout.tp),
        place=name or offer.region,
        verdict=wording.word("verdict", candidate.verdict),
        limit=wording.word("limit", candidate.limit),
        limit_sentence=wording.limit_sentence(candidate.limit),
        total=f"{least}{total}",
        per_million=None
        if per_million is None
        else least + money(per_million, candidate.monthly.currency, decimals=4),
        age=wording.age(offer.price_age_days),
        misses=tuple(
            _miss(miss.target, miss.asked, miss.got, candidate.monthly.currency) for miss in candidate.misses
        ),
        warnings=tuple(wording.warning(code) for code in candidate.warnings),
        crossed=frozenset(crossed),
    )


def _miss(target: str, asked: float, got: float | None, currency: str) -> str:
    def shown(value: float) -> str:
        if target in ("ttft_s", "tpot_s"):
            return " ".join(seconds(value))
        if target == "deadline_hours":
            return f"{significant(value)} h"
        if target == "budget_per_month":
            return money(Decimal(str(value)), currency)
        return significant(value)

    words = {"target": wording.word("misses", target), "asked": shown(asked)}
    if got is None:
        return _("%(target)s: asked %(asked)s, not reached under this load") % words
    return _("%(target)s: asked %(asked)s, expected %(got)s") % (words | {"got": shown(got)})


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
    load_check: str = ""
    format_note: str = ""
    cautions: tuple[str, ...] = ()
    replicas_why: str = ""
    why: str = ""
    """Why the first row is the first, where the rows are in the order of the ranking."""

    @property
    def model_line(self) -> str:
        """What was understood of the model, and under which engine."""
        model, workload = self.comparison.model, self.comparison.workload
        runtime = workload.get("runtime", {})
        return _(
            "%(model)s: %(parameters)s billion parameters, %(layers)s layers, %(attention)s attention. "
            "Engine %(runtime)s, version %(version)s."
        ) % {
            "model": model.get("name"),
            "parameters": significant(float(model.get("parameters") or 0) / 1e9),
            "layers": model.get("layers"),
            "attention": model.get("attention") or "–",
            "runtime": wording.RUNTIMES.get(str(runtime.get("name")), runtime.get("name")),
            "version": runtime.get("version") or _("newest"),
        }

    @property
    def title_hint(self) -> str:
        name = str(self.comparison.model.get("name", "")).rpartition("/")[2]
        return wording.listed([name, wording.word("kind", self.comparison.kind)])

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
    columns = chosen(comparison.kind, column_keys)
    rows = tuple(
        candidate_view(item, columns, language=language, workload=comparison.workload)
        for item in comparison.candidates
    )
    first = best or (comparison.candidates[0] if comparison.candidates else None)
    state, headline = _headline(comparison, first)
    return Answer(
        comparison=comparison,
        headline=headline,
        lede=_lede(comparison, first),
        state=state,
        columns=columns,
        rows=rows,
        best=candidate_view(first, (), language=language, workload=comparison.workload) if first else None,
        cautions=cautions.cautions(first, comparison.workload) if first else (),
        replicas_why=cautions.replicas_why(first) if first else "",
        rejected=rejected_groups(comparison, language=language),
        change=_smallest_change(comparison),
        cheapest=_cheapest(comparison, first),
        why=_why(rows, objective) if best is None else "",
        load_check=_load_check(comparison, first),
        format_note=stored_format.note(
            comparison.model.get("stored_format"), comparison.workload.get("weights_format")
        ),
    )


def _load_check(comparison: Comparison, best: Candidate | None) -> str:
    """Where a request rate is given it wins; what it means in requests at once is said beside what was typed."""
    rate_per_s = comparison.workload.get("request_rate_per_s")
    if rate_per_s is None or best is None or best.speed is None:
        return ""
    asked = comparison.workload.get("concurrency", {}).get("average")
    return _(
        "At %(rate)s requests per second this machine holds %(held)s requests at once on average (rate × time per "
        "request); the %(asked)s of the field “At once, average” is not used."
    ) % {
        "rate": significant(float(rate_per_s)),
        "held": significant(best.speed.typical.concurrency),
        "asked": f"{asked:g}",
    }


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
        return "nothing", _("No machine on the market can run this as asked")
    words: dict[str, Any] = {
        "gpus": best.gpus_per_replica,
        "name": best.offer.accelerator,
        "replicas": best.replicas,
    }
    if best.class_ == 3:
        return "tight", _(
            "It fits only without the headroom asked for, on %(gpus)d × %(name)s per replica"
        ) % words
    if best.class_ == 2:
        return "misses", _(
            "No machine meets every target; first comes %(gpus)d × %(name)s per replica"
        ) % words
    if best.batch is not None:
        words["hours"] = significant(best.batch.hours.value)
        if best.replicas * best.gpus_per_replica == 1:
            return "meets", _("One %(name)s does the job in %(hours)s h") % words
        if best.replicas == 1:
            return "meets", _("%(gpus)d × %(name)s together do the job in %(hours)s h") % words
        return "meets", _("%(replicas)d replicas of %(gpus)d × %(name)s do the job in %(hours)s h") % words
    if best.replicas == 1:
        if best.gpus_per_replica == 1:
            return "meets", _("Fits on one %(name)s, and meets every target at peak") % words
        return "meets", _("%(gpus)d × %(name)s together meet every target at peak") % words
    if best.gpus_per_replica == 1:
        return "meets", _("Fits on one %(name)s per replica; %(replicas)d replicas carry the peak") % words
    return "meets", _("%(gpus)d × %(name)s per replica; %(replicas)d replicas carry the peak") % words


def _lede(comparison: Comparison, best: Candidate | None) -> str:
    if best is None:
        return ngettext(
            "%(n)d offer was looked at; the reason is listed below.",
            "%(n)d offers were looked at; the reasons are listed below.",
            sum(comparison.rejected_counts.values()),
        ) % {"n": sum(comparison.rejected_counts.values())}
    return ngettext(
        "First of %(n)d candidate: %(provider)s, %(sku)s.",
        "First of %(n)d candidates: %(provider)s, %(sku)s.",
        comparison.candidates_total,
    ) % {"n": comparison.candidates_total, "provider": best.offer.provider_name, "sku": best.offer.sku}


def _cheapest(comparison: Comparison, best: Candidate | None) -> str:
    """The lowest total one may call the cheapest, beside a first row whose price is old, a floor or incomplete."""
    if best is None or not comparison.class_counts.get("1"):
        return ""
    found = comparison.cheapest
    if found is None:
        return _(
            "No candidate has a complete list price of the last 180 days: check a price before you rely on it."
        )
    if found.offer.offer_id == best.offer.offer_id:
        return _("Also the lowest complete list price of the last 180 days.")
    return _(
        "Lowest complete list price of the last 180 days: %(layout)s on %(name)s, %(provider)s, %(total)s a month."
    ) % {
        "layout": wording.layout(found.replicas, found.layout.device_count, found.layout.tp),
        "name": found.offer.accelerator,
        "provider": found.offer.provider_name,
        "total": money(found.total, found.currency),
    }


def _smallest_change(comparison: Comparison) -> str:
    change = comparison.smallest_change
    if change is None:
        return ""
    what = wording.change({"change": change.change, "to": change.value})
    return ngettext(
        "The smallest change that would do: %(what)s. Then %(n)d machine meets every target.",
        "The smallest change that would do: %(what)s. Then %(n)d machines meet every target.",
        change.candidates,
    ) % {"what": what, "n": change.candidates}
