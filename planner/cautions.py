"""What must be said of a candidate before its figures are believed: ranges that cross a target, what set the
number of replicas, how many machines are asked of one offer."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from planner.figures import money, seconds, significant
from planner.sizing.quantities import Estimate
from planner.sizing.results import Candidate

Text = str | Promise

MACHINES_SURE = 8
"""Of more machines than this at once, a list price does not say that they can be had."""

SET_BY: dict[str, Text] = {
    "ttft_s": gettext_lazy("%(n)d replicas: with fewer, the first token would come later than asked for."),
    "tpot_s": gettext_lazy("%(n)d replicas: with fewer, tokens would follow more slowly than asked for."),
    "headroom": gettext_lazy("%(n)d replicas: with fewer, the KV cache of the peak would use the headroom."),
    "kv_room": gettext_lazy("%(n)d replicas: with fewer, the KV cache of the peak would not fit."),
    "batch_cap": gettext_lazy(
        "%(n)d replicas: one takes no more requests at once by the engine's max_num_seqs."
    ),
    "load": gettext_lazy("%(n)d replicas: fewer would not keep up with the requests."),
    "deadline_hours": gettext_lazy("%(n)d replicas: fewer would not finish in time."),
    "replicas_minimum": gettext_lazy("%(n)d replicas: the minimum asked for."),
    "machine": gettext_lazy("%(n)d replicas: so that every GPU of the machine works."),
}


def crossed(candidate: Candidate, workload: Mapping[str, Any]) -> dict[str, tuple[str, Estimate, float]]:
    """Targets that are met on average while the 80 % range reaches beyond them, by the key of their column."""
    found: dict[str, tuple[str, Estimate | None, Any]] = {}
    if candidate.batch is not None:
        found["job_hours"] = ("h", candidate.batch.hours, workload.get("deadline_hours"))
    elif candidate.speed is not None:
        targets, peak = workload.get("targets", {}), candidate.speed.peak
        found["ttft_peak"] = ("TTFT", peak.ttft_s, targets.get("ttft_s"))
        found["tpot_peak"] = ("TPOT", peak.tpot_s, targets.get("tpot_s"))
    return {
        key: (name, estimate, float(asked))
        for key, (name, estimate, asked) in found.items()
        if estimate is not None and isinstance(asked, int | float) and estimate.value <= asked < estimate.high
    }


def cautions(candidate: Candidate, workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Sentences for the answer, the gravest first."""
    said = []
    for name, estimate, asked in crossed(candidate, workload).values():
        if name == "h":
            said.append(
                _("Meets the deadline of %(asked)s h on average; the range reaches %(high)s h.")
                % {"asked": significant(asked), "high": significant(estimate.high)}
            )
            continue
        said.append(
            _("%(name)s meets the target of %(asked)s on average; the range crosses it, up to %(high)s.")
            % {"name": name, "asked": " ".join(seconds(asked)), "high": " ".join(seconds(estimate.high))}
        )
    if candidate.batch is not None:
        said.append(_("Starting the machines and loading the model are not counted in the hours."))
    if candidate.machines > MACHINES_SURE:
        said.append(
            _("%(n)s machines of one offer are asked for: whether so many are available is not known.")
            % {"n": f"{candidate.machines:,}"}
        )
    return tuple(said)


def replicas_why(candidate: Candidate) -> str:
    """What set the number of replicas, and what giving way would save."""
    if candidate.replicas < 2 or candidate.replicas_set_by not in SET_BY:
        return ""
    why = str(SET_BY[candidate.replicas_set_by]) % {"n": candidate.replicas}
    fewer = candidate.fewer_replicas
    if fewer is None:
        return why
    total = money(Decimal(fewer.total), fewer.currency)
    if fewer.got is None:
        then = ngettext(
            "With %(n)d replica and less headroom: %(total)s a month.",
            "With %(n)d replicas and less headroom: %(total)s a month.",
            fewer.replicas,
        ) % {"n": fewer.replicas, "total": total}
    else:
        then = ngettext(
            "With %(n)d replica: %(name)s %(got)s instead of at most %(asked)s, %(total)s a month.",
            "With %(n)d replicas: %(name)s %(got)s instead of at most %(asked)s, %(total)s a month.",
            fewer.replicas,
        ) % {
            "n": fewer.replicas,
            "name": "TTFT" if fewer.target == "ttft_s" else "TPOT",
            "got": " ".join(seconds(fewer.got)),
            "asked": " ".join(seconds(fewer.asked)),
            "total": total,
        }
    return f"{why} {then}"
