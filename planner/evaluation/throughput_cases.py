"""From a row of a throughput file to the serving points that answer it.

Only inputs are read here; what was measured never is. Blanks are filled as the product fills them for a user
who leaves a field alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from planner import architectures, runtimes
from planner.evaluation.cards import cards
from planner.evaluation.datasets import lengths
from planner.evaluation.engines import Engine, current, engine
from planner.evaluation.rows import options
from planner.sizing import memory
from planner.sizing.architecture import Architecture, NotSized
from planner.sizing.devices import Device, Layout, Link
from planner.sizing.points import UnknownRate, serving_point
from planner.sizing.runtime import Runtime
from planner.sizing.serving import UNLIMITED, ServingPoint

Regime = Literal[
    "decode_alone", "decode_batched", "prefill", "ttft_alone", "ttft_loaded", "throughput", "saturated"
]
Kind = Literal["fixed_batch", "steady"]

FORMATS: dict[str, str] = {
    "fp32": "fp32", "bf16": "bf16", "fp16": "fp16", "f16": "fp16", "fp8": "fp8", "int8": "int8",
    "int8 (w8a8)": "int8", "int4": "int4_awq", "uint4": "int4_awq", "int4 (awq)": "int4_awq",
    "awq-int4": "int4_awq", "int4 (w4a16)": "int4_awq", "int4 (w4a8)": "int4_awq", "int4 (gptq)": "int4_gptq",
    "gptq-int4": "int4_gptq", "int4 (marlin)": "int4_gptq", "q4_k_m": "gguf_q4_k_m", "q4_k_xl": "gguf_q4_k_m",
    "q8_0": "gguf_q8_0", "q8_k_xl": "gguf_q8_0", "mxfp4": "mxfp4", "nvfp4": "nvfp4",
}  # fmt: skip
"""The product's format for a label; near relatives of GGUF mixes take the nearest."""

KV_FORMATS = {"fp16": "fp16", "f16": "fp16", "bf16": "bf16", "fp8": "fp8", "int8": "int8", "int4": "q4_0"}
NARROW_FLOATS = ("fp8", "nvfp4", "mxfp4")
"""Formats that only engines of mid-2024 and later run: a version that is not stated is then taken for the current
one, as for a user who leaves it alone."""
TP_DEGREES = (1, 2, 4, 8)
SXM_WEIGHT = 3.0
"""Published measurements of a card that comes in both forms are mostly of the SXM one."""
TUNED_SEQUENCES = 2048.0
"""The batch limit that TensorRT-LLM's benchmark tool builds engines with."""
DEFAULT_INPUT_TOKENS, DEFAULT_OUTPUT_TOKENS = 1000.0, 300.0


class Unsupported(Exception):
    """The product does not answer this row; the message says why."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to read the row: a card and a layout."""

    point: ServingPoint
    replicas: float
    weight: float = 1.0
    """How much it counts among the cards a label can mean."""


@dataclass(frozen=True, slots=True)
class Case:
    """A row as the predictor sees it. Rates and requests are of one replica."""

    metric: str
    kind: Kind
    alternatives: tuple[Alternative, ...]
    best_layout: bool
    """Alternatives are layouts to choose the fastest of; else cards, between which the answer lies."""
    gpus: float
    input_tokens: float
    output_tokens: float
    batch: float | None
    """Requests that start together; None: as many as fit."""
    request_count: float | None
    by_rate: bool
    decode_only: bool
    served: bool
    """Measured through a server, not inside the engine."""
    regime: Regime
    assumed: bool
    """Something that matters was not stated."""


def case(inputs: Mapping[str, str]) -> Case:
    """Reads one row. Raises ``Unsupported`` with the reason."""
    extra = options(inputs.get("options", ""))
    runs_on = engine(inputs.get("engine", ""), inputs.get("engine_version", ""))
    if runs_on is None:
        raise Unsupported(f"engine not in the product: {inputs.get('engine', '')}")
    if extra.get("disaggregated") == "1":
        raise Unsupported("prefill and decode on separate GPUs")
    arch = _architecture(inputs)
    devices = cards(inputs.get("gpu", ""), _number(inputs, "gpu_memory_gb"))
    if not devices:
        raise Unsupported(f"card not known: {inputs.get('gpu', '')}")
    metric = inputs.get("metric", "")
    gpus = (_number(inputs, "gpu_count") or 1) * float(extra.get("gpus_per_card", 1))
    prompt, output, assumed = _lengths(inputs, extra, metric)
    weights, kv = _formats(inputs, extra, arch, devices[0], runs_on.name)
    if runs_on.version is None and weights in NARROW_FLOATS:
        runs_on = runs_on._replace(software=current(runs_on.name))
    runtime = _runtime(runs_on)
    fixed = inputs.get("static_batching") == "1" or inputs.get("arrival") == "burst"
    batch = _number(inputs, "concurrency_or_batch")
    if inputs.get("scenario") == "single_stream" and batch is None:
        batch = 1.0
    rate = _number(inputs, "request_rate_per_s")
    limits = (_number(inputs, "ttft_limit_ms"), _number(inputs, "tpot_limit_ms"))
    layouts, best_layout = _layouts(inputs, gpus)
    request_count = _number(inputs, "request_count")
    served = inputs.get("static_batching") != "1"
    found: list[Alternative] = []
    reason = "does not fit in memory"
    for device in devices:
        for layout in layouts:
            replicas = gpus / layout.device_count
            if not best_layout and _number(inputs, "replicas_or_dp"):
                replicas = _number(inputs, "replicas_or_dp") or replicas
            try:
                point = _point(
                    inputs, extra, runs_on, runtime, arch, device, layout, weights, kv, prompt, output,
                    request_count / replicas if request_count else None,
                    batch / replicas if fixed and batch else None,
                )  # fmt: skip
            except (NotSized, UnknownRate) as error:
                reason = str(error)
                continue
            if point is None:
                continue
            weight = SXM_WEIGHT if device.form_factor == "SXM" else 1.0
            found.append(Alternative(_loaded(point, batch, rate, limits, replicas, fixed), replicas, weight))
    if not found:
        raise Unsupported(reason)
    if fixed and batch is not None and len(devices) > 1:
        # A batch that ran fitted: cards that could not hold it are not the one.
        found = [
            one for one in found if one.point.kv_room_bytes >= batch / one.replicas * one.point.kv_full_bytes
        ] or found
    alone = batch is not None and batch <= found[0].replicas
    return Case(
        metric=metric,
        kind="fixed_batch" if fixed and rate is None and (batch is not None or not served) else "steady",
        alternatives=tuple(found),
        best_layout=best_layout,
        gpus=gpus,
        input_tokens=prompt,
        output_tokens=output,
        batch=batch,
        request_count=request_count,
        by_rate=rate is not None,
        decode_only=extra.get("decode_only") == "1",
        served=served,
        regime=_regime(metric, alone, batch, rate, inputs.get("scenario", "")),
        assumed=assumed
        or len(devices) > 1
        or not runs_on.known
        or runs_on.version is None
        or "speculative" in extra
        or "precision_assumed" in extra
        or not devices[0].dense_rates,
    )


def _regime(metric: str, alone: bool, batch: float | None, rate: float | None, scenario: str) -> Regime:
    if metric == "prefill_tok_s":
        return "prefill"
    if metric == "ttft_ms":
        return "ttft_alone" if alone else "ttft_loaded"
    if metric == "decode_tok_s_single" or (alone and rate is None):
        return "decode_alone"
    if metric == "tpot_ms":
        return "decode_batched"
    return "saturated" if batch is None and rate is None else "throughput"


def _number(inputs: Mapping[str, str], key: str) -> float | None:
    text = inputs.get(key)
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _architecture(inputs: Mapping[str, str]) -> Architecture:
    for name in (inputs.get("model_id"), inputs.get("model")):
        if not name:
            continue
        try:
            return architectures.resolve_name(name)
        except NotSized as error:
            raise Unsupported(str(error)) from error
        except architectures.UnknownModel:
            continue
    raise Unsupported(f"model not known: {inputs.get('model_id') or inputs.get('model', '')}")


@lru_cache(maxsize=256)
def _runtime_of(name: str, version: str | None) -> Runtime:
    return runtimes.resolve(name, version)


def _runtime(runs_on: Engine) -> Runtime:
    return _runtime_of(runs_on.name, runs_on.version)


def _lengths(inputs: Mapping[str, str], extra: Mapping[str, str], metric: str) -> tuple[float, float, bool]:
    prompt, output = _number(inputs, "isl"), _number(inputs, "osl")
    typical = lengths(inputs.get("dataset", ""), inputs.get("family", ""))
    assumed = extra.get("length_source") == "dataset"
    if typical is not None:
        prompt = typical[0] if prompt is None else prompt
        output = typical[1] if output is None else output
    if prompt is None:
        prompt, assumed = DEFAULT_INPUT_TOKENS, True
    if output is None:
        output, assumed = (0.0 if metric in ("prefill_tok_s", "ttft_ms") else DEFAULT_OUTPUT_TOKENS), True
    if "length_range" in extra:
        low, _, high = extra["length_range"].partition("-")
        mean = (float(low) + float(high)) / 2
        prompt, output = prompt * mean, output * mean
    return prompt, output, assumed


def _formats(
    inputs: Mapping[str, str],
    extra: Mapping[str, str],
    arch: Architecture,
    device: Device,
    engine_name: str,
) -> tuple[str, str]:
    label = (
        inputs.get("precision_weights") or extra.get("precision_assumed") or arch.stored_format
    ).casefold()
    if label == "fp4":
        label = "mxfp4" if device.vendor == "amd" or "mxfp4" in extra.get("weight_format", "") else "nvfp4"
    if extra.get("moe_quant", "").startswith("int4"):
        label = "int4"
    if label not in FORMATS:
        raise Unsupported(f"weights format not in the product: {label}")
    kv = (inputs.get("precision_kv") or extra.get("kv_precision_assumed") or "auto").casefold()
    if kv == "auto" and engine_name == "tensorrt_llm" and FORMATS[label] in ("fp8", "nvfp4"):
        kv = "fp8"  # the engine's FP8 and NVFP4 checkpoints declare an FP8 cache
    return FORMATS[label], KV_FORMATS.get(kv, "auto")


def _layouts(inputs: Mapping[str, str], gpus: float) -> tuple[tuple[Layout, ...], bool]:
    tp, pp = _number(inputs, "tp"), _number(inputs, "pp")
    if tp is not None or pp is not None or _number(inputs, "replicas_or_dp"):
        dp = _number(inputs, "replicas_or_dp") or 1
        tp = tp or max(1.0, gpus / (pp or 1) / dp)
        return (Layout(tp=int(tp), pp=int(pp or 1)),), False
    fitting = [Layout(tp=degree) for degree in TP_DEGREES if degree <= gpus and gpus % degree == 0]
    return tuple(fitting), True


class _Rooms:
    """KV room, batched tokens and sequences of one replica as the memory part has them, each worked out once."""

    def __init__(self) -> None:
        self.known: dict[tuple[object, ...], tuple[int, int, int]] = {}

    def of(
        self, arch: Architecture, need: memory.Need, runtime: Runtime, device: Device, layout: Layout
    ) -> tuple[int, int, int]:
        key = (arch.id, need, runtime.name, runtime.version, device.name, layout)
        found = self.known.get(key)
        if found is None:
            over = memory.overheads(arch, need, runtime, device, layout)
            room = memory.split(arch, need, runtime, device, layout).kv_room_bytes
            found = self.known[key] = (room, over.batched_tokens, over.sequences)
        return found


_rooms = _Rooms()


def _point(
    inputs: Mapping[str, str], extra: Mapping[str, str], runs_on: Engine, runtime: Runtime, arch: Architecture,
    device: Device, layout: Layout, weights: str, kv: str, prompt: float, output: float, requests: float | None,
    together: float | None,
) -> ServingPoint | None:  # fmt: skip
    """The point without its load; None where not one request fits.

    A batch that was started whole was within the engine's limit; runs of TensorRT-LLM at full load are built
    with a limit that does not bind.
    """
    chunk = _number(inputs, "max_num_batched_tokens") or _number(extra, "chunked_prefill")
    sequences = _number(inputs, "max_num_seqs")
    fraction = _number(extra, "gpu_memory_utilization")
    eager = extra.get("enforce_eager") == "1"
    need = memory.Need(
        weights_format=weights,
        kv_format=kv,
        typical_tokens=max(1, round(prompt + output)),
        maximum_tokens=max(1, round(prompt + output)),
        batched_tokens=int(chunk) if chunk else None,
        sequences=int(sequences) if sequences else None,
        utilization=fraction,
        eager=eager,
    )
    layout = _by_requests(layout, _number(inputs, "attention_dp") or 0)
    room, batched_tokens, cap = _rooms.of(arch, need, runtime, device, layout)
    limit = max(float(cap), together or 0.0)
    if (
        runtime.name == "tensorrt_llm"
        and inputs.get("scenario") in ("offline", "server")
        and sequences is None
    ):
        limit = max(limit, TUNED_SEQUENCES)
    point = serving_point(
        arch, device, runtime, layout,
        link=_link(extra, device),
        weights_format=weights,
        kv_format=kv,
        input_tokens=prompt,
        output_tokens=output,
        kv_room_bytes=room,
        batch_cap=min(limit, requests or UNLIMITED),
        chunk_tokens=batched_tokens,
        load="saturated",
        prefix_hit_fraction=float(extra.get("prefix_hit_rate", 0)),
        eager=eager,
        software=runs_on.software,
        guess_rate=True,
    )  # fmt: skip
    return point if room >= point.kv_prompt_bytes else None


def _by_requests(layout: Layout, degree: float) -> Layout:
    """The layout with attention kept by requests in so many groups (1: in as many as there are ranks)."""
    groups = layout.tp if degree == 1 else max(1, int(degree))
    if groups == 1 or layout.tp % groups:
        return layout
    return layout.model_copy(update={"tp": layout.tp // groups, "dp": groups, "ep": layout.tp})


def _link(extra: Mapping[str, str], device: Device) -> Link:
    return "pcie" if extra.get("interconnect") == "pcie" else device.link


def _loaded(
    point: ServingPoint, batch: float | None, rate: float | None, limits: tuple[float | None, float | None],
    replicas: float, fixed: bool,
) -> ServingPoint:  # fmt: skip
    if rate is not None:
        return replace(point, load="rate", load_value=rate / replicas)
    if batch is not None and not fixed:
        return replace(point, load="concurrency", load_value=max(batch / replicas, 1.0))
    if batch is None and any(limits):
        ttft, tpot = limits
        return replace(
            point,
            load="within_limits",
            ttft_limit_s=ttft / 1000 if ttft else UNLIMITED,
            tpot_limit_s=tpot / 1000 if tpot else UNLIMITED,
        )
    return point
