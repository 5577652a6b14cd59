"""A comparison as the sheet shows it: figures as text, sentences, groups. No arithmetic beyond units."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from planner import wording
from planner.columns import Column, chosen
from planner.sizing.quantities import GIB, Derivation, Estimate
from planner.sizing.results import Candidate, Comparison, LoadPoint, MemorySplit, Rejection

SIGNS = {"USD": "$", "JPY": "¥", "EUR": "€"}
DECIMALS = {"USD": 2, "JPY": 0, "EUR": 2}
FORMULA_SIGNS = (("**", "^"), ("*", "×"), ("/", "÷"), (" - ", " − "))


# Figures ----------------------------------------------------------------------------------------------------


def significant(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, grouped, without an exponent.

    >>> significant(0.021349), significant(1234567.0)
    ('0.0213', '1,230,000')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    exponent = math.floor(math.log10(abs(value)))
    rounded = round(value, digits - 1 - exponent)
    if rounded and math.floor(math.log10(abs(rounded))) > exponent:
        exponent += 1
    return f"{rounded:,.{max(0, digits - 1 - exponent)}f}"


def money(amount: Decimal, currency: str, *, decimals: int | None = None) -> str:
    """An amount with its sign: "$4,912.33", "¥735,120"."""
    text = money_plain(abs(amount), currency, decimals=decimals)
    sign = SIGNS.get(currency)
    minus = "−" if amount < 0 else ""
    return f"{minus}{sign}{text}" if sign else f"{minus}{text} {currency}"


def money_plain(amount: Decimal, currency: str, *, decimals: int | None = None) -> str:
    places = DECIMALS.get(currency, 2) if decimals is None else decimals
    return f"{amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):,f}"


def gib(size_bytes: float) -> str:
    """Bytes in GiB, one decimal; two below 10 so that small buffers do not vanish."""
    value = size_bytes / GIB
    return f"{value:,.1f}" if abs(value) >= 10 or value == 0 else f"{value:,.2f}"


def seconds(value: float) -> tuple[str, str]:
    """A duration and its unit: milliseconds below one second."""
    return (significant(value * 1000), "ms") if value < 1 else (significant(value), "s")


@dataclass(frozen=True)
class Figure:
    """One predicted figure: large, its unit, its range."""

    text: str
    unit: str
    range: str


def duration(estimate: Estimate | None) -> Figure | None:
    if estimate is None:
        return None
    text, unit = seconds(estimate.value)
    scale = 1000 if unit == "ms" else 1
    return Figure(text, unit, f"{significant(estimate.low * scale, 2)}–{significant(estimate.high * scale, 2)} {unit}")


def rate(estimate: Estimate | None, unit: str = "tokens/s") -> Figure | None:
    if estimate is None:
        return None
    return Figure(significant(estimate.value), unit, f"{significant(estimate.low, 2)}–{significant(estimate.high, 2)}")


def hours(estimate: Estimate | None) -> Figure | None:
    if estimate is None:
        return None
    return Figure(significant(estimate.value), "h", f"{significant(estimate.low, 2)}–{significant(estimate.high, 2)} h")


# Cells ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    column: Column
    text: str | None
    """None: unknown, and said so."""
    range: str = ""
    prefix: str = ""

    @property
    def is_number(self) -> bool:
        return self.column.kind in ("number", "money", "date")


def cell(column: Column, candidate: Candidate) -> Cell:
    """One figure of the table as text; the same text on every paper."""
    value = column.value(candidate)
    if value is None:
        return Cell(column, None)
    if column.kind == "money":
        currency = candidate.monthly.currency
        prefix = "" if candidate.monthly.complete or column.key != "monthly" else "≥ "
        return Cell(column, money_plain(Decimal(value), currency, decimals=column.decimals), prefix=prefix)
    if column.kind == "flag":
        return Cell(column, _("yes") if value else _("no"))
    if column.kind == "code":
        return Cell(column, wording.word(column.key, value))
    if column.kind == "date":
        return Cell(column, value.isoformat() if isinstance(value, date) else str(value))
    if column.kind == "number":
        return Cell(column, _number(column, value), _range(column, candidate))
    return Cell(column, str(value))


def _number(column: Column, value: Any) -> str:
    if column.digits is not None:
        return significant(float(value), column.digits)
    if column.decimals is not None:
        return f"{value:,.{column.decimals}f}"
    text = f"{Decimal(str(value)):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _range(column: Column, candidate: Candidate) -> str:
    estimate = column.estimate(candidate) if column.estimate else None
    if estimate is None:
        return ""
    return f"{significant(estimate.low, 2)}–{significant(estimate.high, 2)}"


# Memory -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Segment:
    role: str
    """weights, kv, activations, overhead, headroom, free, over: fixed colours in a fixed order."""
    label: str
    size_bytes: int
    start_percent: str
    width_percent: str

    @property
    def gib(self) -> str:
        return gib(self.size_bytes)


@dataclass(frozen=True)
class MemoryBar:
    """The fullest GPU of one replica. The bar is as long as the larger of usable and needed."""

    needed: str
    usable: str
    segments: tuple[Segment, ...]
    limit_percent: str | None
    """Where usable memory ends, if more is needed."""

    @property
    def spoken(self) -> str:
        return ", ".join(f"{segment.label} {segment.gib} GiB" for segment in self.segments)


def memory_bar(split: MemorySplit) -> MemoryBar:
    parts = [
        ("weights", _("weights"), split.weights_bytes),
        ("kv", _("KV cache at peak"), split.kv_needed_bytes),
        ("activations", _("activations"), split.activation_bytes),
        ("overhead", _("overhead"), split.overhead_bytes),
    ]
    total = max(split.usable_bytes, split.needed_bytes, 1)
    over = max(0, split.needed_bytes - split.usable_bytes)
    spare = max(0, split.usable_bytes - split.needed_bytes)
    headroom = min(split.headroom_bytes, spare)
    segments: list[Segment] = []
    start = 0
    room = split.usable_bytes
    for role, label, size in parts:
        inside = max(0, min(size, room)) if over else size
        segments.append(_segment(role, label, size, start, inside, total))
        start += inside
        room -= inside
    if over:
        segments.append(_segment("over", _("over the limit"), over, split.usable_bytes, over, total))
    else:
        segments.append(_segment("free", _("free"), spare - headroom, start, spare - headroom, total))
        segments.append(_segment("headroom", _("headroom"), headroom, start + spare - headroom, headroom, total))
    return MemoryBar(
        needed=gib(split.needed_bytes),
        usable=gib(split.usable_bytes),
        segments=tuple(segment for segment in segments if segment.size_bytes > 0),
        limit_percent=f"{split.usable_bytes / total * 100:.3f}%" if over else None,
    )


def _segment(role: str, label: str, size: int, start: int, drawn: int, total: int) -> Segment:
    return Segment(role, label, size, f"{start / total * 100:.3f}%", f"{drawn / total * 100:.3f}%")


# Derivations ------------------------------------------------------------------------------------------------

UNITS_IN_GIB = ("B", "bytes", "byte")
"""Spellings of the unit byte in derivations."""


@dataclass(frozen=True)
class DerivationView:
    key: str
    title: str
    formula: str
    result: str
    terms: tuple[tuple[str, str, str, str], ...]
    """Symbol, value, unit, source."""


def derivation(key: str, made: Derivation) -> DerivationView:
    formula = made.formula
    for plain, shown in FORMULA_SIGNS:
        formula = formula.replace(plain, shown)
    return DerivationView(
        key=key,
        title=wording.figure(key if key in wording.FIGURES else made.figure),
        formula=formula,
        result=_measured(made.value, made.unit),
        terms=tuple((term.symbol, _exact(term.value), _unit(term.unit), term.source or "") for term in made.terms),
    )


def _exact(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1e6:
        return f"{value:,.0f}"
    return f"{value:,.6g}"


def _unit(unit: str) -> str:
    return "" if unit in ("1", "") else unit


def _measured(value: float, unit: str) -> str:
    if unit in UNITS_IN_GIB and abs(value) >= 1024**2:
        return f"{_exact(round(value))} {unit} = {gib(value)} GiB"
    if unit == "s":
        text, shown = seconds(value)
        return f"{text} {shown}"
    return f"{_exact(value)} {_unit(unit)}".strip()


# Candidates -------------------------------------------------------------------------------------------------


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

    @property
    def flags(self) -> tuple[str, ...]:
        """What must be known of the price before it is believed."""
        offer = self.it.offer
        marks = ((offer.floor, _("floor price")), (offer.estimated, _("estimated")), (offer.stale, _("old price")))
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
            for title, point in ((_("typical load"), self.it.speed.typical), (_("peak load"), self.it.speed.peak))
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
        return money(self.it.batch.cost, self.it.monthly.currency)

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
        unit = wording.word("price_unit", offer.price_unit)
        return f"{_number_plain(offer.price_amount)} {offer.price_currency} {unit}"


def _number_plain(amount: Decimal) -> str:
    """A unit price: as it was read, to six places."""
    text = f"{amount.quantize(Decimal('0.000001')):,f}" if -amount.as_tuple().exponent > 6 else f"{amount:,f}"  # type: ignore[operator]
    return text.rstrip("0").rstrip(".") if "." in text else text


def _bill_line(candidate: Candidate, number: int) -> BillLineView:
    line = candidate.monthly.lines[number]
    currency = candidate.monthly.currency
    detail = ""
    if line.unit_price is not None:
        price = f"{_number_plain(line.unit_price)} {line.unit_price_currency or currency}"
        detail = f"{_exact(line.quantity)} {line.unit} × {price}"
    elif line.quantity:
        detail = f"{_exact(line.quantity)} {line.unit}"
    return BillLineView(
        what=wording.word("line", line.what),
        amount=None if line.amount is None else money_plain(line.amount, currency),
        detail=detail,
        source=line.source or "",
        note=line.note or "",
    )


def model_label(name: str, parameters: int | None, attention: str, licence: str | None, *, is_sized: bool) -> str:
    """What the list of suggestions says beside a name."""
    size = f"{parameters / 1e9:,.1f}B" if parameters else ""
    words = [size, attention, licence or "", "" if is_sized else _("not sized yet")]
    return " · ".join(word for word in words if word)


def candidate_view(candidate: Candidate, columns: Iterable[Column], *, language: str) -> CandidateView:
    offer = candidate.offer
    name = offer.region_name_ja if language == "ja" and offer.region_name_ja else offer.region_name
    total = money(candidate.monthly.total, candidate.monthly.currency)
    per_million = candidate.per_million_tokens.all
    return CandidateView(
        it=candidate,
        cells=tuple(cell(column, candidate) for column in columns),
        layout=wording.layout(candidate.replicas, candidate.gpus_per_replica, candidate.layout.tp),
        place=name or offer.region,
        verdict=wording.word("verdict", candidate.verdict),
        limit=wording.word("limit", candidate.limit),
        limit_sentence=wording.limit_sentence(candidate.limit),
        total=total if candidate.monthly.complete else f"≥ {total}",
        per_million=None if per_million is None else money(per_million, candidate.monthly.currency, decimals=4),
        age=wording.age(offer.price_age_days),
        misses=tuple(_miss(miss.target, miss.asked, miss.got, candidate.monthly.currency) for miss in candidate.misses),
        warnings=tuple(wording.warning(code) for code in candidate.warnings),
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


# The rejected -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RejectedView:
    it: Rejection
    place: str
    shortfall: str
    detail: str
    help: tuple[str, ...]


@dataclass(frozen=True)
class RejectedGroup:
    code: str
    title: str
    sentence: str
    count: int
    rows: tuple[RejectedView, ...]

    @property
    def more(self) -> int:
        return max(0, self.count - len(self.rows))


def rejected_groups(comparison: Comparison, *, language: str) -> tuple[RejectedGroup, ...]:
    """Rejected offers by reason, the nearest miss first within each; the largest group of the user's own
    filters last."""
    by_reason: dict[str, list[Rejection]] = {code: [] for code in comparison.rejected_counts}
    for rejection in comparison.rejected:
        by_reason.setdefault(rejection.reason, []).append(rejection)
    groups = []
    for code, rows in by_reason.items():
        rows.sort(key=_shortfall)
        groups.append(
            RejectedGroup(
                code=code,
                title=wording.reason(code),
                sentence=wording.reason_sentence(code),
                count=comparison.rejected_counts.get(code, len(rows)),
                rows=tuple(_rejected(row, language) for row in rows),
            )
        )
    order = list(wording.REASONS)
    return tuple(sorted(groups, key=lambda group: order.index(group.code) if group.code in order else len(order)))


def _shortfall(rejection: Rejection) -> float:
    if rejection.needed_bytes is None or rejection.available_bytes is None:
        return 0.0
    return rejection.needed_bytes - rejection.available_bytes


def rejected(rejection: Rejection, language: str) -> dict[str, Any]:
    """One rejected offer by itself."""
    return {"reason": wording.reason(rejection.reason), "row": _rejected(rejection, language)}


def _rejected(rejection: Rejection, language: str) -> RejectedView:
    offer = rejection.offer
    name = offer.region_name_ja if language == "ja" and offer.region_name_ja else offer.region_name
    shortfall = ""
    if rejection.needed_bytes is not None and rejection.available_bytes is not None:
        shortfall = _("needs %(needed)s GiB, has %(available)s GiB: %(short)s GiB short") % {
            "needed": gib(rejection.needed_bytes),
            "available": gib(rejection.available_bytes),
            "short": gib(max(0, rejection.needed_bytes - rejection.available_bytes)),
        }
    return RejectedView(
        it=rejection,
        place=name or offer.region,
        shortfall=shortfall,
        detail="" if shortfall else wording.rejection_detail(rejection.reason, rejection.detail),
        help=tuple(wording.change(change) for change in rejection.what_would_help),
    )


# The whole answer -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    comparison: Comparison
    headline: str
    lede: str
    state: str
    """meets, misses, tight or nothing: how the headline is marked."""
    columns: tuple[Column, ...]
    rows: tuple[CandidateView, ...]
    rejected: tuple[RejectedGroup, ...]
    change: str = ""

    @property
    def model_line(self) -> str:
        """What was understood of the model, and under which engine."""
        model, workload = self.comparison.model, self.comparison.workload
        runtime = workload.get("runtime", {})
        return _("%(model)s: %(parameters)s billion parameters, %(layers)s layers, %(attention)s attention; source: %(source)s. Engine %(runtime)s, version %(version)s.") % {
            "model": model.get("name"),
            "parameters": significant(float(model.get("parameters") or 0) / 1e9),
            "layers": model.get("layers"),
            "attention": model.get("attention") or "–",
            "source": model.get("source"),
            "runtime": wording.RUNTIMES.get(str(runtime.get("name")), runtime.get("name")),
            "version": runtime.get("version") or _("newest"),
        }

    @property
    def title_hint(self) -> str:
        name = str(self.comparison.model.get("name", "")).rpartition("/")[2]
        return f"{name}, {wording.word('kind', self.comparison.kind)}"

    @property
    def best(self) -> CandidateView | None:
        return self.rows[0] if self.rows else None

    @property
    def rejected_total(self) -> int:
        return sum(self.comparison.rejected_counts.values())


def answer(comparison: Comparison, *, column_keys: Iterable[str] = (), language: str, best: Candidate | None = None) -> Answer:
    """``best`` is the first of the ranking where the rows shown are another page of it or sorted otherwise."""
    columns = chosen(comparison.kind, column_keys)
    rows = tuple(candidate_view(item, columns, language=language) for item in comparison.candidates)
    first = best or (comparison.candidates[0] if comparison.candidates else None)
    state, headline = _headline(comparison, first)
    return Answer(
        comparison=comparison,
        headline=headline,
        lede=_lede(comparison, first),
        state=state,
        columns=columns,
        rows=rows,
        rejected=rejected_groups(comparison, language=language),
        change=_smallest_change(comparison),
    )


def _headline(comparison: Comparison, best: Candidate | None) -> tuple[str, str]:
    if best is None:
        return "nothing", _("No machine on the market can run this as asked")
    words: dict[str, Any] = {"gpus": best.gpus_per_replica, "name": best.offer.accelerator, "replicas": best.replicas}
    if best.class_ == 3:
        return "tight", _("It fits only without the headroom asked for, on %(gpus)d × %(name)s per replica") % words
    if best.class_ == 2:
        return "misses", _("No machine meets every target; first comes %(gpus)d × %(name)s per replica") % words
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
