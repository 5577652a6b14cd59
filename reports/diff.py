"""What differs between two versions of a plan: question, prices, results and assumptions. Pure, and no prose.

Works on what was stored. Workloads are matched by position; candidates by their machine (provider, SKU, region,
tier, card, count), which stays the same when a catalog is loaded anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from planner.sizing.results import Candidate, Comparison, OfferFacts

Value = str | int | float | bool | Decimal | None
Area = Literal["question", "price", "result", "assumption", "version"]


@dataclass(frozen=True)
class Change:
    """One difference. ``path`` names the field, or the figure; ``subject`` the machine it is about."""

    area: Area
    path: tuple[str, ...]
    before: Value
    after: Value
    subject: str = ""
    unit: str = ""
    complete: tuple[bool, bool] = (True, True)
    """Of a total, before and after: whether every line of its bill is known."""

    @property
    def ratio(self) -> float | None:
        """After ÷ before, of positive numbers; None where one alone is known completely."""
        if self.complete[0] != self.complete[1]:
            return None
        numbers = [self.before, self.after]
        if any(isinstance(each, bool | str) or each is None for each in numbers):
            return None
        before, after = float(self.before or 0), float(self.after or 0)
        return after / before if before > 0 and after > 0 else None


@dataclass(frozen=True)
class WorkloadDiff:
    """The differences of one workload; ``state``: same, changed, added or removed."""

    position: int
    name: str
    kind: str
    state: Literal["same", "changed", "added", "removed"]
    changes: tuple[Change, ...] = ()
    appeared: tuple[str, ...] = ()
    """Machines that are candidates now and were none."""
    vanished: tuple[str, ...] = ()

    def of(self, area: Area) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.area == area)


@dataclass(frozen=True)
class Side:
    """A workload of one version, as it was stored."""

    position: int
    name: str
    kind: str
    comparison: Comparison


def compare_workloads(before: Iterable[Side], after: Iterable[Side]) -> tuple[WorkloadDiff, ...]:
    old = {side.position: side for side in before}
    new = {side.position: side for side in after}
    found = []
    for position in sorted(old.keys() | new.keys()):
        a, b = old.get(position), new.get(position)
        if a is not None and b is not None:
            found.append(_workload(position, a, b))
        elif b is not None:
            found.append(WorkloadDiff(position, b.name, b.kind, "added"))
        elif a is not None:
            found.append(WorkloadDiff(position, a.name, a.kind, "removed"))
    return tuple(found)


def _workload(position: int, a: Side, b: Side) -> WorkloadDiff:
    old = {machine(each.offer): each for each in reversed(a.comparison.candidates)}
    new = {machine(each.offer): each for each in reversed(b.comparison.candidates)}
    changes = (
        *_question(a.comparison.workload, b.comparison.workload),
        *_prices(old, new),
        *_results(a.comparison, b.comparison, old, new),
        *_assumptions(a.comparison, b.comparison),
    )
    order = [machine(each.offer) for each in b.comparison.candidates]
    appeared = tuple(dict.fromkeys(name for name in order if name not in old))
    vanished = tuple(
        dict.fromkeys(
            name for name in (machine(each.offer) for each in a.comparison.candidates) if name not in new
        )
    )
    state: Literal["same", "changed"] = "changed" if changes or appeared or vanished else "same"
    return WorkloadDiff(position, b.name, b.kind, state, changes, appeared, vanished)


def machine(offer: OfferFacts) -> str:
    """What makes two candidates the same machine, as text that people read too."""
    place = f" · {offer.region}" if offer.region else ""
    tier = f" · {offer.tier}" if offer.tier != "on_demand" else ""
    return f"{offer.gpu_count} × {offer.accelerator} · {offer.provider_name}, {offer.sku}{place}{tier}"


def flat(document: Mapping[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Value]:
    """Every leaf of a document by its path; lists as one text."""
    found: dict[tuple[str, ...], Value] = {}
    for key, value in document.items():
        here = (*path, str(key))
        if isinstance(value, Mapping):
            found |= flat(value, here)
        elif isinstance(value, list | tuple):
            found[here] = ", ".join(str(item) for item in value) or None
        else:
            found[here] = value
    return found


def _question(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterable[Change]:
    old, new = flat(a), flat(b)
    for path in dict.fromkeys((*old, *new)):
        before, after = old.get(path), new.get(path)
        if before != after:
            yield Change("question", path, before, after)


def _prices(old: Mapping[str, Candidate], new: Mapping[str, Candidate]) -> Iterable[Change]:
    """Unit prices of machines that stand in both, and the day each was read."""
    for name, candidate in new.items():
        before = old.get(name)
        if before is None:
            continue
        a, b = before.offer, candidate.offer
        unit = f"{b.price_currency}/{b.price_unit}"
        if (a.price_amount, a.price_currency, a.price_unit) != (
            b.price_amount,
            b.price_currency,
            b.price_unit,
        ):
            was = (
                a.price_amount
                if (a.price_currency, a.price_unit) == (b.price_currency, b.price_unit)
                else None
            )
            yield Change(
                "price", ("price_amount",), was if was is not None else f"{a.price_amount} {a.price_currency}",
                b.price_amount, name, unit,
            )  # fmt: skip
        if a.price_observed_on != b.price_observed_on:
            yield Change(
                "price",
                ("price_observed_on",),
                a.price_observed_on.isoformat(),
                b.price_observed_on.isoformat(),
                name,
            )


def _results(
    a: Comparison, b: Comparison, old: Mapping[str, Candidate], new: Mapping[str, Candidate]
) -> Iterable[Change]:
    """The first candidate, then what became of every machine that stands in both."""
    first = [machine(side.candidates[0].offer) if side.candidates else None for side in (a, b)]
    if first[0] != first[1]:
        yield Change("result", ("first",), first[0], first[1])
    if a.candidates_total != b.candidates_total:
        yield Change("result", ("candidates_total",), a.candidates_total, b.candidates_total)
    for name, candidate in new.items():
        before = old.get(name)
        if before is not None:
            yield from _figures(name, before, candidate)


def _figures(name: str, a: Candidate, b: Candidate) -> Iterable[Change]:
    currency = b.monthly.currency
    same_currency = a.monthly.currency == currency
    figures: list[tuple[str, Value, Value, str]] = [
        ("monthly", a.monthly.total if same_currency else f"{a.monthly.total} {a.monthly.currency}",
         b.monthly.total, currency),
        ("rank", a.rank, b.rank, ""),
        ("class", a.class_, b.class_, ""),
        ("verdict", a.verdict, b.verdict, ""),
        ("replicas", a.replicas, b.replicas, ""),
        ("gpus_per_replica", a.gpus_per_replica, b.gpus_per_replica, ""),
        ("machines", a.machines, b.machines, ""),
        ("needed_bytes", a.memory.needed_bytes, b.memory.needed_bytes, "B"),
        *(
            (f"{field}_peak", _peak(a, field), _peak(b, field), unit)
            for field, unit in (("ttft_s", "s"), ("tpot_s", "s"), ("output_tokens_per_s", "tokens/s"))
        ),
    ]  # fmt: skip
    complete = a.monthly.complete, b.monthly.complete
    for key, before, after, unit in figures:
        if key == "monthly" and (before != after or complete[0] != complete[1]):
            yield Change("result", (key,), before, after, name, unit, complete)
        elif before != after:
            yield Change("result", (key,), before, after, name, unit)
    for key in dict.fromkeys((*a.figures, *b.figures)):
        old, new = a.figures.get(key), b.figures.get(key)
        values = [each.value if each else None for each in (old, new)]
        if values[0] != values[1]:
            yield Change("result", ("figure", key), values[0], values[1], name, (new or old).unit)  # type: ignore[union-attr]


def _peak(candidate: Candidate, field: str) -> float | None:
    point = candidate.speed.peak if candidate.speed else None
    estimate = getattr(point, field) if point else None
    return None if estimate is None else float(estimate.value)


def _assumptions(a: Comparison, b: Comparison) -> Iterable[Change]:
    old = {each.name: each for each in a.assumptions}
    new = {each.name: each for each in b.assumptions}
    for name in dict.fromkeys((*old, *new)):
        values = [each.value if each else None for each in (old.get(name), new.get(name))]
        if values[0] != values[1]:
            unit = (new.get(name) or old[name]).unit
            yield Change("assumption", (name,), values[0], values[1], "", unit)
