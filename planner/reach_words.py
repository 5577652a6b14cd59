"""What one machine holds at most, in words."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from planner import wording
from planner.figures import money_known, seconds
from planner.sizing.devices import Layout
from planner.sizing.results import Candidate

LIMITS = {
    "memory": gettext_lazy("One more does not fit in the memory with the headroom kept free."),
    "too_much": gettext_lazy("Weights and buffers leave no room for a request with the headroom kept free."),
    "model_length": gettext_lazy("This is as far as the model attends; the memory would hold more."),
    "engine_sequences": gettext_lazy("The engine runs no more sequences at once (max_num_seqs)."),
    "searched": gettext_lazy("The search ends here; the memory would hold more."),
}


def layout(split: Layout, replicas: int) -> str:
    """How one machine is split: "Attention apart on 8 GPUs, experts spread over them"."""
    count = split.device_count
    if split.dp > 1 and split.tp > 1:
        how = _("Attention apart in %(groups)s groups of GPUs, experts spread over all %(n)s") % {
            "groups": split.dp,
            "n": count,
        }
    elif split.dp > 1:
        how = _("Attention apart on %(n)s GPUs, experts spread over them") % {"n": count}
    elif split.tp > 1 and split.pp > 1:
        how = _("Split by tensors over %(tensors)s and by layers over %(layers)s GPUs") % {
            "tensors": split.tp,
            "layers": split.pp,
        }
    elif split.tp > 1:
        how = _("Split by tensors over %(n)s GPUs") % {"n": count}
    elif split.pp > 1:
        how = _("Split by layers over %(n)s GPUs") % {"n": count}
    else:
        how = _("Whole on one GPU")
    if replicas > 1:
        return _("%(how)s, %(n)s replicas") % {"n": replicas, "how": how}
    return how


def longest_context(candidate: Candidate) -> str:
    """How long a context every request of the peak may have on one machine of this offer."""
    found = candidate.longest_context
    if found is None:
        return ""
    users = f"{found.users:,}"
    if not found.tokens_without_headroom:
        return ngettext(
            "On one machine of this offer not even one token of %(users)s request at once fits.",
            "On one machine of this offer not even one token of each of %(users)s requests at once fits.",
            found.users,
        ) % {"users": users}
    words = {
        "users": users,
        "tokens": f"{found.tokens:,}",
        "free": f"{found.tokens_without_headroom:,}",
        "layout": layout(found.layout, found.replicas),
    }
    said = (
        ngettext(
            "Longest context of %(users)s request at once on one machine of this offer: %(tokens)s tokens, %(free)s "
            "without headroom (%(layout)s).",
            "Longest context of %(users)s requests at once on one machine of this offer: %(tokens)s tokens each, "
            "%(free)s without headroom (%(layout)s).",
            found.users,
        )
        % words
    )
    if found.is_own_layout:
        return said
    return said + " " + _("That is another split than this answer's: “Other layouts” shows its speed.")


def split(layout: Layout, attention_dp: int = 1, machines_per_replica: int = 1) -> str:
    """What is split over how many GPUs. ``attention_dp``: of plans that were saved before the layout told it."""
    by_requests = max(layout.dp, attention_dp)
    parts = []
    if layout.tp > 1 and attention_dp == 1:
        parts.append(_("tensors over %(count)d") % {"count": layout.tp})
    if by_requests > 1:
        parts.append(_("attention by requests over %(count)d") % {"count": by_requests})
    if layout.ep > 1:
        parts.append(_("experts over %(count)d") % {"count": layout.ep})
    if machines_per_replica > 1:
        parts.append(_("layers over %(count)d machines") % {"count": machines_per_replica})
    elif layout.pp > 1:
        parts.append(_("layers over %(count)d") % {"count": layout.pp})
    return wording.listed(parts) or _("one GPU")


def other_layout(candidate: Candidate) -> str:
    """What the same machine, split otherwise, would take: by tensors alone; in older plans, what needs fewer."""
    found = candidate.other_layout
    if found is None:
        return ""
    words = {
        "split": split(found.layout, found.attention_dp),
        "gpus": found.layout.device_count,
        "n": found.machines,
        "now": candidate.machines,
        "month": money_known(found.total, found.currency, complete=found.complete),
        "ttft": " ".join(seconds(found.ttft_s.value)) if found.ttft_s else "–",
        "tpot": " ".join(seconds(found.tpot_s.value)) if found.tpot_s else "–",
    }
    if found.machines < candidate.machines:
        said = ngettext(
            "Split otherwise (%(split)s), %(n)d of these machines does it instead of %(now)d: %(month)s a month, TTFT "
            "%(ttft)s, TPOT %(tpot)s.",
            "Split otherwise (%(split)s), %(n)d of these machines do it instead of %(now)d: %(month)s a month, TTFT "
            "%(ttft)s, TPOT %(tpot)s.",
            found.machines,
        )
    else:
        said = ngettext(
            "Split by tensors alone over %(gpus)d GPUs, it would take %(n)d of these machines: %(month)s a month, TTFT "
            "%(ttft)s, TPOT %(tpot)s.",
            "Split by tensors alone over %(gpus)d GPUs, it would take %(n)d of these machines: %(month)s a month, TTFT "
            "%(ttft)s, TPOT %(tpot)s.",
            found.machines,
        )
    return said % words
