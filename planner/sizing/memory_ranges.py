"""How sure the parts of a memory split are: 80 % ranges from residuals of measurements, or of a constant's own."""

from __future__ import annotations

from math import ceil, floor, hypot

from planner.sizing.overheads import Overheads
from planner.sizing.quantities import Estimate
from planner.sizing.results import MemorySplit
from planner.sizing.runtime import Runtime

MEASURED = ("vllm",)
"""Engines whose buffers were measured often enough for residuals; others have the ranges of their constants."""
UNMEASURED = (0.6, 1.6)
"""Factors where neither a residual nor a constant says more."""


def factors(runtime: Runtime, metric: str) -> tuple[float, float]:
    """The 80 % range of a metric as factors on its prediction, ends on either side of 1."""
    low, high = runtime.ranges.get(metric, UNMEASURED)
    return min(1.0, low), max(1.0, high)


def outside_at_most(over: Overheads, runtime: Runtime) -> int:
    """Upper end of what lies outside the budget, bytes: context, graphs, the sampler's warm-up.

    Nothing checks it before it is allocated, so a budget must leave room for more than the middle.
    """
    context = over.context * factors(runtime, "cuda_context_gib")[1]
    graphs = 0.0 if runtime.graphs_in_budget else over.graphs * factors(runtime, "cuda_graph_gib")[1]
    return ceil(context + graphs + over.warmup)


def _buffers(runtime: Runtime) -> tuple[float, float]:
    if runtime.name in MEASURED:
        return factors(runtime, "non_torch_gib")
    buffers = [
        one for name, one in runtime.constants.items()
        if name.endswith("_bytes") and one.unit == "byte" and float(one.value) >= 2**20
    ]  # fmt: skip
    middle = sum(float(one.value) for one in buffers)
    if not middle:
        return 1.0, 1.0
    low = sum(float(one.value if one.low is None else one.low) for one in buffers) / middle
    high = sum(float(one.value if one.high is None else one.high) for one in buffers) / middle
    return min(1.0, low), max(1.0, high)


def of(split: MemorySplit, runtime: Runtime) -> dict[str, Estimate]:
    """Ranges by field. A sum's ends are its value and the root of the squares of its parts' distances.

    The parts err for reasons of their own (a producer's choice of tensors, a kernel's workspace, a driver), so
    their ends do not add up. The room errs as the fixed parts do, the other way.
    """
    activation = "compute_buffer_mib" if runtime.preallocates else "activation_peak_gib"
    parts = {
        "weights_bytes": (split.weights_bytes, factors(runtime, "weights_gib_per_gpu")),
        "kv_needed_bytes": (split.kv_needed_bytes, factors(runtime, "kv_size_gib")),
        "activation_bytes": (split.activation_bytes, factors(runtime, activation)),
        "overhead_bytes": (split.overhead_bytes, _buffers(runtime)),
    }
    found = {
        name: Estimate(value=value, low=floor(value * low), high=ceil(value * high))
        for name, (value, (low, high)) in parts.items()
    }
    low, high = factors(runtime, "kv_size_gib")
    per_token = split.kv_bytes_per_token
    found["kv_bytes_per_token"] = Estimate(
        value=per_token, low=floor(per_token * low), high=ceil(per_token * high)
    )
    fixed = ("weights_bytes", "activation_bytes", "overhead_bytes")
    below = hypot(*(found[name].value - found[name].low for name in fixed))
    above = hypot(*(found[name].high - found[name].value for name in fixed))
    cache = found["kv_needed_bytes"]
    found["needed_bytes"] = Estimate(
        value=split.needed_bytes,
        low=floor(split.needed_bytes - hypot(below, cache.value - cache.low)),
        high=ceil(split.needed_bytes + hypot(above, cache.high - cache.value)),
    )
    room = split.kv_room_bytes
    ends = (max(0, floor(room - above)), ceil(room + below))
    found["kv_room_bytes"] = Estimate(value=room, low=ends[0], high=ends[1])
    found["kv_room_tokens"] = Estimate(
        value=split.kv_room_tokens,
        low=split.groups * floor(ends[0] / max(1.0, found["kv_bytes_per_token"].high)),
        high=split.groups * ceil(ends[1] / max(1.0, found["kv_bytes_per_token"].low)),
    )
    return found
