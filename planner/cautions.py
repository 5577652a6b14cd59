"""What must be said of a candidate before its figures are believed: ranges that cross a target, what set the
number of replicas, how many machines are asked of one offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from planner.figures import money_known, seconds, significant
from planner.kinds.frame import Kind, Measure
from planner.sizing.bill import INTERRUPTIBLE_TIERS
from planner.sizing.quantities import Estimate
from planner.sizing.results import Candidate

Text = str | Promise

MACHINES_SURE = 8
"""Of more machines than this at once, a list price does not say that they can be had."""

SET_BY: dict[str, Text] = {
    "ttft_s": gettext_lazy("%(n)s replicas: with fewer, the first token would come later than asked for."),
    "tpot_s": gettext_lazy("%(n)s replicas: with fewer, tokens would follow more slowly than asked for."),
    "headroom": gettext_lazy("%(n)s replicas: with fewer, the KV cache of the peak would use the headroom."),
    "kv_room": gettext_lazy("%(n)s replicas: with fewer, the KV cache of the peak would not fit."),
    "batch_cap": gettext_lazy(
        "%(n)s replicas: one takes no more requests at once by the engine's max_num_seqs."
    ),
    "load": gettext_lazy("%(n)s replicas: fewer would not keep up with the requests."),
    "deadline_hours": gettext_lazy("%(n)s replicas: fewer would not finish in time."),
    "replicas_minimum": gettext_lazy("%(n)s replicas: the minimum asked for."),
    "machine": gettext_lazy("%(n)s replicas: so that every GPU of the machine works."),
}


@dataclass(frozen=True)
class Crossing:
    """A target that is met on average while the 80 % range reaches beyond it."""

    measure: Measure
    estimate: Estimate
    asked: float


def crossed(kind: Kind, candidate: Candidate, workload: Mapping[str, Any]) -> dict[str, Crossing]:
    """Targets that are only just met, by the key of their column."""
    found: dict[str, Crossing] = {}
    for measure in kind.measures:
        estimate, asked = measure.of(candidate), measure.asked(workload)
        if estimate is not None and asked is not None and estimate.value <= asked < estimate.high:
            found[measure.key] = Crossing(measure, estimate, asked)
    return found


def _of_months(candidate: Candidate) -> tuple[str, ...]:
    """Where the work of a month is more than one set of machines can do in it, or where it is no month's work."""
    monthly = candidate.monthly
    if monthly.sets > 1:
        return (
            _(
                "All jobs of a month take longer than a month: %(sets)s sets of machines do them side by side, and "
                "the bill is that of all %(machines)s machines."
            )
            % {"sets": f"{monthly.sets:,}", "machines": f"{candidate.machines:,}"},
        )
    if monthly.months > 1:
        return (
            _(
                "This takes longer than a month: the amounts are those of all %(months)s months begun, not of one."
            )
            % {"months": f"{monthly.months:,}"},
        )
    return ()


def cautions(kind: Kind, candidate: Candidate, workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Sentences for the answer, the gravest first."""
    said = []
    for crossing in crossed(kind, candidate, workload).values():
        if crossing.measure.unit == "h":
            said.append(
                _("Meets the deadline of %(asked)s h on average; the range reaches %(high)s h.")
                % {"asked": significant(crossing.asked), "high": significant(crossing.estimate.high)}
            )
            continue
        said.append(
            _("%(name)s meets the target of %(asked)s on average; the range crosses it, up to %(high)s.")
            % {
                "name": crossing.measure.name,
                "asked": _shown(crossing.measure, crossing.asked),
                "high": _shown(crossing.measure, crossing.estimate.high),
            }
        )
    said += _of_months(candidate)
    said += kind.cautions(candidate, workload)
    if candidate.offer.tier in INTERRUPTIBLE_TIERS and not kind.can_restart:
        said.append(
            _(
                "This machine can be taken away at any time, while people or programs wait for it: an endpoint that "
                "must always answer needs machines on demand beside it."
            )
        )
    if candidate.gpus_per_replica > 1 and "more_devices_for_speed" in candidate.warnings:
        said.append(
            _(
                "Fewer GPUs per replica would hold this model: the others are there for speed alone. Without the "
                "latency target it may cost less."
            )
        )
    if candidate.machines > MACHINES_SURE:
        said.append(
            _("%(n)s machines of one offer are asked for: whether so many are available is not known.")
            % {"n": f"{candidate.machines:,}"}
        )
    return tuple(said)


def _shown(measure: Measure, value: float) -> str:
    return " ".join(seconds(value)) if measure.unit == "s" else f"{significant(value)} {measure.unit}"


def replicas_why(candidate: Candidate) -> str:
    """What set the number of replicas, and what giving way would save."""
    if candidate.replicas < 2 or candidate.replicas_set_by not in SET_BY:
        return ""
    why = str(SET_BY[candidate.replicas_set_by]) % {"n": f"{candidate.replicas:,}"}
    fewer = candidate.fewer_replicas
    if fewer is None:
        return why
    if any(relief.given_up == fewer.target == "headroom_fraction" for relief in candidate.reliefs):
        return why  # The whole headroom given up stands beside it, with its month.
    complete = candidate.monthly.complete if fewer.complete is None else fewer.complete
    total = money_known(Decimal(fewer.total), fewer.currency, complete=complete)
    if fewer.got is None:
        then = ngettext(
            "With %(n)s replica and less headroom: %(total)s a month.",
            "With %(n)s replicas and less headroom: %(total)s a month.",
            fewer.replicas,
        ) % {"n": f"{fewer.replicas:,}", "total": total}
    else:
        then = ngettext(
            "With %(n)s replica: %(name)s %(got)s instead of at most %(asked)s, %(total)s a month.",
            "With %(n)s replicas: %(name)s %(got)s instead of at most %(asked)s, %(total)s a month.",
            fewer.replicas,
        ) % {
            "n": f"{fewer.replicas:,}",
            "name": "TTFT" if fewer.target == "ttft_s" else "TPOT",
            "got": " ".join(seconds(fewer.got)),
            "asked": " ".join(seconds(fewer.asked)),
            "total": total,
        }
    return f"{why} {then}"
