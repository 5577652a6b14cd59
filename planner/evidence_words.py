"""Words for evidence: metrics, regimes, engines, and what measurements near a figure say of it."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from planner.options import RUNTIMES
from planner.sizing.quantities import Near

METRICS: dict[str, str | Promise] = {
    "decode_tok_s_single": gettext_lazy("Decoding speed of a single request"),
    "tpot_ms": gettext_lazy("Time per output token (TPOT)"),
    "output_tok_s_total": gettext_lazy("Output tokens per second"),
    "total_tok_s": gettext_lazy("Input and output tokens per second"),
    "per_gpu_output_tok_s": gettext_lazy("Output tokens per second and GPU"),
    "prefill_tok_s": gettext_lazy("Prefill speed"),
    "ttft_ms": gettext_lazy("Time to first token (TTFT)"),
}
REGIMES: dict[str, str | Promise] = {
    "decode_alone": gettext_lazy("One request at a time"),
    "decode_batched": gettext_lazy("Decoding in a batch"),
    "prefill": gettext_lazy("Prefill"),
    "ttft_alone": gettext_lazy("First token, one request at a time"),
    "ttft_loaded": gettext_lazy("First token under load"),
    "throughput": gettext_lazy("Throughput at a stated load"),
    "saturated": gettext_lazy("Throughput at saturation"),
}
SHARED: dict[tuple[str, ...], str | Promise] = {
    ("engine", "accelerator", "model"): gettext_lazy(
        "the same engine, the same accelerator and a model of the same shape"
    ),
    ("engine", "accelerator"): gettext_lazy("the same engine and the same accelerator"),
    ("engine", "model"): gettext_lazy("the same engine and a model of the same shape"),
    ("accelerator", "model"): gettext_lazy("the same accelerator and a model of the same shape"),
    ("engine",): gettext_lazy("the same engine"),
    ("accelerator",): gettext_lazy("the same accelerator"),
    ("model",): gettext_lazy("a model of the same shape"),
    (): gettext_lazy("neither the engine nor the accelerator, only the kind of load"),
}  # fmt: skip
ENGINES: dict[str, str] = {name: str(words) for name, words in RUNTIMES}


def engine(name: str) -> str:
    """The engine as its makers write it; a label that is none of the product's stays as it is."""
    if name == "compiled":
        return _("engines for one stream with compiled kernels")
    return ENGINES.get(name, name)


def off(ratio: float) -> str:
    """How far a prediction lay from its measurement, for one predicted ÷ measured."""
    percent = f"{abs(ratio - 1) * 100:.0f} %"
    if ratio >= 1:
        return _("%(percent)s too high") % {"percent": percent}
    return _("%(percent)s too low") % {"percent": percent}


def nearby(near: Near) -> str:
    """One sentence about the measurements near a figure."""
    counted = ngettext(
        "The nearest published measurement, left out of the fit, shares %(shared)s.",
        "The %(count)d nearest published measurements, left out of the fit, share %(shared)s.",
        near.count,
    ) % {"count": near.count, "shared": SHARED[near.shares]}
    spread = _("Predicted ÷ measured: middle %(middle)s, 80 %% between %(low)s and %(high)s.") % {
        "middle": f"{near.median_ratio:.2f}",
        "low": f"{near.low:.2f}",
        "high": f"{near.high:.2f}",
    }
    return f"{counted} {spread}"
