"""Predicts the rows of memory files: weights, cache, overheads and whether it fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from planner import runtimes
from planner.evaluation.libraries import file_bytes, unpacked_bytes
from planner.evaluation.memory_cases import MemoryCase, Unsupported, case
from planner.evaluation.predictions import Prediction, refused
from planner.evaluation.rows import Row
from planner.sizing import kv_cache, memory, offload, peaks, weights
from planner.sizing.devices import Device
from planner.sizing.overheads import first_stage_bytes
from planner.sizing.quantities import GIB, MIB
from planner.sizing.runtime import Runtime

REGIMES = {
    "weights_gib_per_gpu": "weights", "weights_gib_total": "weights", "kv_size_gib": "cache",
    "kv_tokens": "cache room", "max_concurrency": "cache room", "available_kv_gib": "cache room",
    "kv_bytes_per_token": "cache", "kv_needed_one_request_gib": "cache", "activation_peak_gib": "activations",
    "compute_buffer_mib": "activations", "non_torch_gib": "buffers", "cuda_graph_gib": "buffers",
    "cuda_context_gib": "buffers", "peak_vram_gib": "peak", "verdicts": "verdict",
}  # fmt: skip
"""What kind of answer a metric is; ranges come from the residuals of each."""
VERSIONLESS = frozenset({"weights", "cache"})
"""Regimes in which an engine's version changes nothing worth a wider range."""
FIRST_STAGE = frozenset({"activation_peak_gib", "available_kv_gib"})
"""Engines print these for the first stage of a pipeline, which has no logits."""
UNKNOWN_SPREAD = (0.6, 1.6)
"""Factors of the 80 % range where no residual is known."""


WIDENING = 1.5
"""Power that ranges are raised to where the engine's version is not stated."""
OUTSIDE = ":outside"
"""Peaks seen from outside the process have a range of their own: driver, kernels and an allocator's leftovers are
in them."""


def spread(
    key: str, stated: bool, spreads: Mapping[str, Sequence[float]] | None = None
) -> tuple[float, float]:
    """The 80 % range of a metric as factors on the prediction; wider where the engine's version is not
    stated."""
    known = spreads if spreads is not None else runtimes.document().get("spreads", {})
    low, high = known.get(key, known.get(key.removesuffix(OUTSIDE), UNKNOWN_SPREAD))[:2]
    return (low, high) if stated else (min(1.0, low) ** WIDENING, max(1.0, high) ** WIDENING)


def spread_key(metric: str, one: MemoryCase) -> tuple[str, bool]:
    """Which range holds for a case, and whether the version matters to it and is stated.

    What a library, a file or llama.cpp's graph of operations holds hardly depends on the version.
    """
    stated = one.version_stated or one.call is not None or one.engine == "llama_cpp"
    stated = stated or REGIMES.get(metric) in VERSIONLESS
    return metric + (OUTSIDE if metric == "peak_vram_gib" and one.from_outside else ""), stated


def spread_of(row: Row) -> tuple[str, bool]:
    """The same for a row that the product answers."""
    parsed = _parsed(tuple(sorted({**row.inputs, "metric": row.metric}.items())))
    return (row.metric, True) if isinstance(parsed, str) else spread_key(row.metric, parsed)


@lru_cache(maxsize=8192)
def _parsed(items: tuple[tuple[str, str], ...]) -> MemoryCase | str:
    try:
        return case(dict(items))
    except Unsupported as reason:
        return str(reason)


def predict_memory_rows(
    rows: Sequence[Row],
    eras: tuple[Runtime, ...] | None = None,
    spreads: Mapping[str, Sequence[float]] | None = None,
) -> list[Prediction]:
    """One prediction a row, in order. ``eras`` are the engines to answer with; the shipped ones by default.

    Nothing of a row but its inputs is read.
    """
    known = eras if eras is not None else runtimes.eras()
    found: list[Prediction] = []
    for row in rows:
        metric = row.metric if row.kind == "memory" else "verdicts"
        regime = REGIMES.get(metric, "other")
        parsed = _parsed(tuple(sorted({**row.inputs, "metric": metric}.items())))
        if isinstance(parsed, str):
            found.append(refused(parsed, regime))
            continue
        try:
            value = predict(parsed, known)
        except Unsupported as reason:
            found.append(refused(str(reason), regime))
            continue
        if isinstance(value, str):
            found.append(Prediction(value, None, None, "ok", None, regime))
            continue
        low, high = spread(*spread_key(metric, parsed), spreads)
        ends = sorted((value * low, value * high))
        found.append(Prediction(value, ends[0], ends[1], "ok", None, regime))
    return found


def _device(one: MemoryCase, total: int | None) -> Device:
    """The card of the case, with the memory the engine saw; one without a name where none is needed."""
    chosen = one.devices[0] if one.devices else None
    if total is None:
        return chosen or _nameless(0)
    if chosen is None:
        return _nameless(total)
    same = next((device for device in one.devices if device.engine_total_bytes == total), chosen)
    return same.model_copy(update={"engine_total_bytes": total})


def _nameless(total: int) -> Device:
    return Device(
        name="not named", vendor="", architecture="", memory_bytes=total, engine_total_bytes=total,
        bandwidth_bytes_per_s=1.0, dense_rates={}, source="",
    )  # fmt: skip


def predict(one: MemoryCase, eras: tuple[Runtime, ...]) -> float | str:
    """The figure of one case: the middle of its cards where the label can mean several."""
    totals: tuple[int | None, ...] = one.total_bytes or (None,)
    runtime = one.runtime(eras)
    if one.metric == "verdicts":
        outcomes = {_verdict(one, runtime, _device(one, total)) for total in totals if total is not None}
        if not outcomes:
            raise Unsupported("card: not named")
        if one.beyond and "fits" in outcomes:
            raise Unsupported(one.beyond)
        return "fits" if "fits" in outcomes else "does_not_fit"
    values = sorted(_figure(one, runtime, _device(one, total)) for total in totals)
    middle = values[len(values) // 2]
    return middle if len(values) % 2 else (middle + values[len(values) // 2 - 1]) / 2


def _verdict(one: MemoryCase, runtime: Runtime, device: Device) -> str:
    split = memory.split(one.arch, replace(one.need, concurrency=0.0), runtime, device, one.layout)
    return "does_not_fit" if memory.verdict(split) == "does_not_fit" else "fits"


def _figure(one: MemoryCase, runtime: Runtime, device: Device) -> float:
    metric, need, arch = one.metric, one.need, one.arch
    held = weights.footprint(arch, need.weights_format, one.layout)
    moved = offload.of(arch, need.weights_format, one.layout, runtime, need.offload)
    resident = held.resident_bytes - moved.device_bytes
    if metric == "weights_gib_per_gpu":
        return resident / GIB
    if one.call is not None:
        return peaks.peak_bytes(arch, need, runtime, one.call) / GIB
    if metric == "weights_gib_total" and one.file_bits is not None:
        return file_bytes(arch, one.file_bits) / GIB
    if metric == "weights_gib_total":
        return held.total_bytes / GIB
    over = memory.overheads(arch, need, runtime, device, one.layout)
    if one.layout.pp > 1 and metric in FIRST_STAGE:
        over = replace(
            over, activation=first_stage_bytes(arch, need, runtime, one.layout, over.batched_tokens)
        )
    kv = kv_cache.footprint(
        one.cached_as, need.kv_format, need.weights_format, one.layout, runtime, over.batched_tokens
    )
    per_token = kv.pool_bytes_per_token / one.context_divider
    states = memory.states_apart(kv, runtime)
    pools = memory.Pools.of(runtime, states)
    if states:
        own = kv.without_states()
        if own.layers:
            kv, per_token = own, own.pool_bytes_per_token / one.context_divider
        if runtime.states_upfront:
            over = replace(over, inside=over.inside + round(states * over.sequences))
    if metric == "activation_peak_gib":
        return over.activation / GIB
    if metric == "compute_buffer_mib":
        unpacked = unpacked_bytes(arch, need.maximum_tokens) if one.unpacks_latent else 0
        return (over.activation + unpacked) / MIB
    if metric == "non_torch_gib":
        return over.non_torch / GIB
    if metric == "cuda_graph_gib":
        return over.graphs / GIB
    if metric == "cuda_context_gib":
        return over.context / GIB
    if metric == "kv_bytes_per_token":
        return float(kv.pool_bytes_per_token)
    if metric == "kv_needed_one_request_gib":
        return kv.reserved_bytes_for(need.maximum_tokens) / GIB
    if metric == "kv_size_gib" and runtime.preallocates:
        whole = kv_cache.footprint(
            one.cached_as, need.kv_format, need.weights_format, one.layout.model_copy(update={"pp": 1}),
            runtime,
            over.batched_tokens,
        )  # fmt: skip
        found = whole.reserved_bytes_for(need.maximum_tokens)
        # States have a line of their own, beside that of the cache where there is one.
        states = whole.fixed_bytes if any(group.by_token for group in whole.layers) else 0
        return (found - states) / GIB
    if metric == "peak_vram_gib" and runtime.preallocates:
        return (resident + kv.bytes_for(one.request_tokens) + over.activation + over.inside) / GIB
    if metric == "peak_vram_gib" and runtime.budget == "fraction_of_total" and device.engine_total_bytes:
        # Such an engine takes its share whatever the model needs.
        return (need.utilization or runtime.fraction) * device.engine_total_bytes / GIB
    room = _room(one, runtime, device, resident, over)
    if room <= 0:
        raise Unsupported(f"room for a cache: the weights of {need.weights_format} leave none")
    if metric in ("available_kv_gib", "kv_size_gib"):
        return room / GIB
    if metric == "kv_tokens":
        return room * pools.cache_share / per_token
    if metric == "max_concurrency":
        return room / pools.request(kv.reserved_bytes_for(one.request_tokens))
    raise Unsupported(f"metric {metric} of {runtime.name}")


def _room(one: MemoryCase, runtime: Runtime, device: Device, resident: int, over: memory.Overheads) -> float:
    """Bytes the engine gives to the cache by its own rule, before anything outside its budget is looked
    at."""
    total = device.engine_total_bytes
    share = one.need.utilization or runtime.fraction
    if runtime.budget == "fraction_of_total":
        return share * total - resident - over.activation - over.inside
    if runtime.budget == "static_fraction":
        return share * (total - over.non_torch - over.context) - resident
    if runtime.budget == "fraction_of_free":
        return share * (total - resident - over.activation - over.inside)
    return share * total - resident - over.activation - over.inside
