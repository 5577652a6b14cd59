"""From a row of a memory file to the model, engine, card and need that answer it.

Only inputs are read here. Blanks are filled as for a user who leaves a field alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner import architectures
from planner.evaluation.cards import cards
from planner.evaluation.engines import VERSION, engine
from planner.evaluation.libraries import (
    FORMATS as LIBRARY_FORMATS,
)
from planner.evaluation.libraries import (
    FROM_OUTSIDE,
    LAID_OUT_AS,
    MIXED_CACHES,
    WITHOUT_WEIGHTS,
    as_kept,
    file_bits,
    generation,
)
from planner.evaluation.rows import options
from planner.sizing import support
from planner.sizing.architecture import Architecture, Grouped, Latent, LayerGroup, NotSized
from planner.sizing.devices import Device, Layout
from planner.sizing.drafting import drafting
from planner.sizing.formats import KV_BITS
from planner.sizing.memory import Need
from planner.sizing.peaks import Generation
from planner.sizing.quantities import GIB
from planner.sizing.runtime import Runtime, choose

FORMATS: dict[str, str] = {
    "bfloat16": "bf16", "bf16": "bf16", "16-bit": "bf16", "float16": "fp16", "f16": "fp16", "float32": "fp32",
    "w8a8": "int8", "fp8": "fp8", "fp8 (runtime)": "fp8", "fp8-dynamic": "fp8",
    "w4a16 (gptq_marlin)": "int4_gptq", "awq-int4": "int4_awq", "awq": "int4_awq", "gptq-int4": "int4_gptq",
    "autoround-int4": "int4_gptq", "mxfp4": "mxfp4", "fp4+fp8": "mxfp4", "nvfp4": "nvfp4", "q4_k_m": "gguf_q4_k_m",
    "ud-q4_k_xl": "gguf_q4_k_m", "q8_0": "gguf_q8_0", "w4a16": "int4_gptq", "int4": "int4_gptq",
}  # fmt: skip
"""The product's format for a label."""
FILES = {"int4": "gguf_q4_k_m", "int8": "gguf_q8_0"}
"""What these labels mean of a GGUF file."""
KV_FORMATS: dict[str, str] = {
    "": "auto", "bfloat16": "bf16", "16-bit": "bf16", "float16": "fp16", "f16": "fp16", "float32": "fp32",
    "fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "int8": "int8", "q8_0": "q8_0", "q4_0": "q4_0",
}  # fmt: skip
NEEDS_CARD = frozenset({"kv_tokens", "max_concurrency", "available_kv_gib"})
WEIGHED = frozenset({"weights_gib_per_gpu", "weights_gib_total"})
BEFORE_CHUNKS = "0.7"
"""The last vLLM that ran language models without chunked prefill on request (its first engine)."""
FIRST_ENGINE = {"mllama": BEFORE_CHUNKS}
"""Families that vLLM ran with its first engine as long as it ran them."""
MEMORY_ENGINES = (
    ("lmdeploy", "lmdeploy"),
    ("ollama", "ollama"),
    ("text generation inference", "tgi"),
    ("tgi", "tgi"),
)
"""Engines whose memory alone the product models."""
LLAMA_CPP_CONTEXT = 4096
"""llama-server's context where none is given."""


class Unsupported(Exception):
    """The product does not answer this row; the message names why."""


@dataclass(frozen=True)
class MemoryCase:
    """One row as the predictor sees it; ``engine`` and ``version`` choose the era."""

    metric: str
    arch: Architecture
    cached_as: Architecture
    """The model as its cache is kept: with full heads where the engine does not cache latent vectors."""
    engine: str
    version: str | None
    version_stated: bool
    need: Need
    layout: Layout
    total_bytes: tuple[int, ...]
    """Memory the engine saw, for every card the label can mean; empty where none is named."""
    devices: tuple[Device, ...]
    block_tokens: int | None
    windows_kept_whole: bool
    slots: int
    request_tokens: int
    context_divider: int
    beyond: str | None = None
    """Something that takes memory and is not counted: only that it does not fit can be said."""
    from_outside: bool = False
    """Whether a peak was seen from outside the process."""
    call: Generation | None = None
    """What a library without a server was asked for."""
    file_bits: float | None = None
    """Mean bits a weight of a file in a mix that is none of the product's formats."""
    unpacks_latent: bool = False
    """Prompts are computed on keys and values of every head, unpacked from the latent cache."""

    def runtime(self, eras: tuple[Runtime, ...]) -> Runtime:
        """The engine's era, with what the row changes in it."""
        found = choose(eras, self.engine, self.version)
        changes: dict[str, object] = {}
        if self.block_tokens:
            changes["block_tokens"] = self.block_tokens
        if self.windows_kept_whole:
            changes["frees_windows"] = False
        return found.model_copy(update=changes) if changes else found


def case(inputs: Mapping[str, str]) -> MemoryCase:
    """The case of one row. Raises ``Unsupported``."""
    metric = inputs.get("metric", "verdicts")
    extra = options(inputs.get("options", ""))
    if inputs.get("kind", "llm") not in ("llm", "vision"):
        raise Unsupported(f"kind of workload: {inputs['kind']}")
    beyond = "option adapters" if "adapters" in extra else None
    if beyond and metric != "verdicts":
        raise Unsupported(beyond)
    call = generation(inputs, extra) if metric == "peak_vram_gib" else None
    name, version, stated = (LAID_OUT_AS, None, False) if call else _engine(inputs)
    if name == "vllm" and version is None and extra.get("chunked_prefill") == "0":
        version = BEFORE_CHUNKS
    arch = _architecture(inputs, any_format=name == "llama_cpp" and metric in WITHOUT_WEIGHTS)
    if name == "vllm" and version is None and arch.family in support.LAST_VERSIONS["vllm"]:
        # A model that the newest does not run was run by the last that did.
        version = FIRST_ENGINE.get(arch.family, support.LAST_VERSIONS["vllm"][arch.family])
    if call is not None:
        arch = as_kept(arch, inputs.get("engine", ""))
    if arch.has_experts is False and extra.get("mla"):
        raise Unsupported("option mla on this model")
    try:
        if _drafts(extra, arch, without=name == "llama_cpp" and metric in WITHOUT_WEIGHTS):
            arch = drafting(arch)
    except Unsupported as other_model:
        if metric != "verdicts":
            raise
        beyond = str(other_model)
    cached_as = arch
    if extra.get("mla") == "0" or extra.get("mla_support") == "0":
        cached_as = with_full_heads(arch)
    elif extra.get("mla") == "1":
        cached_as = with_latent_twice(arch)
    weights_format, bits = _weights(inputs, name, metric, call is not None)
    if arch.stored_group_bits and weights_format != arch.stored_format and metric in WEIGHED:
        # A label of one format for a checkpoint of two: another checkpoint, or the one with half of its name?
        raise Unsupported(f"weights format: {weights_format} of a checkpoint that mixes two")
    tp, pp = _whole(inputs, "tp") or 1, _whole(inputs, "pp") or _whole(extra, "pp") or 1
    layout = Layout(tp=1 if extra.get("weights_sharded") == "0" else tp, pp=pp)
    gpus = _whole(inputs, "gpu_count")
    if name == "llama_cpp" and gpus and gpus > 1:
        layout = Layout(pp=gpus)
    devices, totals = _cards(inputs)
    if metric in NEEDS_CARD and not totals:
        raise Unsupported(f"card: {inputs.get('gpu') or 'not named'}")
    length = _whole(inputs, "max_model_len_or_ctx") or _whole(inputs, "max_model_len")
    if length is None:
        length = LLAMA_CPP_CONTEXT if name == "llama_cpp" else arch.max_position or LLAMA_CPP_CONTEXT
    request = length
    if inputs.get("input_tokens") and inputs.get("output_tokens"):
        request = _tokens(inputs, "input_tokens") + _tokens(inputs, "output_tokens")
        request += _whole(extra, "max_seq_len_extra") or 0
    slots = _whole(inputs, "parallel_slots") or 1
    batched = _whole(inputs, "max_num_batched_tokens") or _whole(extra, "max_num_batched_tokens")
    if name == "llama_cpp":
        batched = _whole(inputs, "ubatch")
    share = _number(inputs, "gpu_memory_utilization")
    need = Need(
        weights_format=weights_format,
        kv_format=_kv(inputs, name),
        typical_tokens=max(1, length),
        maximum_tokens=max(1, length),
        concurrency=1,
        headroom_fraction=0.0,
        batched_tokens=batched,
        sequences=_whole(inputs, "max_num_seqs") or _whole(extra, "max_num_seqs"),
        utilization=share,
        eager=extra.get("enforce_eager") == "1",
        flash_attention=inputs.get("flash_attention", "1") != "0",
    )
    return MemoryCase(
        metric=metric,
        arch=arch,
        cached_as=cached_as,
        engine=name,
        version=version,
        version_stated=stated,
        need=need,
        layout=layout,
        total_bytes=totals,
        devices=devices,
        block_tokens=_whole(extra, "block_size"),
        windows_kept_whole=extra.get("swa_full") == "1" or call is not None,
        slots=slots,
        request_tokens=max(1, request),
        context_divider=_whole(inputs, "dcp") or _whole(extra, "dcp") or 1,
        beyond=beyond,
        from_outside=inputs.get("measure") in FROM_OUTSIDE,
        call=call,
        file_bits=bits,
        unpacks_latent=extra.get("mla") in ("2", "3"),
    )


def _drafts(extra: Mapping[str, str], arch: Architecture, *, without: bool) -> bool:
    """Whether the checkpoint's own draft layers are loaded. Raises ``Unsupported`` for a drafter that is another
    model. ``without``: a figure that draft layers do not enter."""
    drafter = extra.get("drafter", "mtp" if extra.get("mtp", "0") != "0" else "")
    if not drafter or without:
        return False
    if drafter not in ("mtp", "eagle") or not arch.draft_parameters:
        raise Unsupported(f"option {'drafter' if 'drafter' in extra else 'mtp'}")
    return True


def _engine(inputs: Mapping[str, str]) -> tuple[str, str | None, bool]:
    label = inputs.get("engine", "")
    if label == "GGUF file":
        return "llama_cpp", None, False
    own = next((name for word, name in MEMORY_ENGINES if word in label.casefold()), None)
    if own is not None:
        number = VERSION.search(inputs.get("engine_version", ""))
        version = ".".join(part for part in number.groups() if part is not None) if number else None
        return own, version, version is not None
    found = engine(label, inputs.get("engine_version", ""))
    if found is None or not found.known:
        raise Unsupported(f"engine: {label or 'not named'}")
    return found.name, found.version, found.version is not None


def _architecture(inputs: Mapping[str, str], *, any_format: bool = False) -> Architecture:
    name = inputs.get("model_id") or inputs.get("model", "")
    entry = architectures.find(name) if name else None
    if entry is None:
        raise Unsupported(f"model: {inputs.get('model') or name or 'not named'}")
    if any_format and entry.architecture is not None:
        return entry.architecture
    try:
        stored = inputs.get("model", "")
        same = architectures.find(stored) if stored else None
        return architectures.resolve_name(stored if same is not None and same.id == entry.id else entry.id)
    except NotSized as unknown:
        raise Unsupported(str(unknown)) from unknown


def with_latent_twice(arch: Architecture) -> Architecture:
    """The same model as an engine keeps it that caches the latent vector a second time, transposed."""
    groups: list[LayerGroup] = []
    for group in arch.layers:
        a = group.attention
        if not isinstance(a, Latent):
            return arch
        twice = Grouped(heads=1, kv_heads=1, head_dim=a.kv_rank + a.rope_dim, value_head_dim=a.kv_rank)
        groups.append(group.model_copy(update={"attention": twice}))
    return arch.model_copy(update={"layers": tuple(groups), "id": f"{arch.id} (latent twice)"})


def with_full_heads(arch: Architecture) -> Architecture:
    """The same model as an engine without latent cache keeps it: keys and values of every head."""
    groups: list[LayerGroup] = []
    for group in arch.layers:
        a = group.attention
        if not isinstance(a, Latent):
            return arch
        whole = Grouped(
            heads=a.heads, kv_heads=a.heads, head_dim=a.nope_dim + a.rope_dim, value_head_dim=a.value_dim
        )
        groups.append(group.model_copy(update={"attention": whole}))
    return arch.model_copy(update={"layers": tuple(groups), "id": f"{arch.id} (full heads)"})


def _weights(inputs: Mapping[str, str], name: str, metric: str, library: bool) -> tuple[str, float | None]:
    """The product's format, and mean bits where a file is a mix that is none of them."""
    text = (inputs.get("weights_dtype_or_quant") or inputs.get("weights") or "").strip()
    label = text.lower()
    if not label:
        return "bf16", None
    if library and label in LIBRARY_FORMATS:
        return LIBRARY_FORMATS[label], None
    if name == "llama_cpp" and label in FILES:
        return FILES[label], None
    found = FORMATS.get(label)
    if found is not None:
        return found, None
    if name == "llama_cpp":
        if metric in WITHOUT_WEIGHTS:
            return "gguf_q4_k_m", None
        bits = file_bits(label)
        if bits is not None and metric == "weights_gib_total":
            return "gguf_q4_k_m", bits
    raise Unsupported(f"weights format: {text}")


def _kv(inputs: Mapping[str, str], name: str) -> str:
    label = inputs.get("kv_dtype", "").strip()
    found = KV_FORMATS.get(label.lower())
    if found is None and name == "llama_cpp":
        found = MIXED_CACHES.get(label.lower())
    if found is None or (found != "auto" and found not in KV_BITS):
        raise Unsupported(f"cache format: {label}")
    return found


def _cards(inputs: Mapping[str, str]) -> tuple[tuple[Device, ...], tuple[int, ...]]:
    found = cards(inputs.get("gpu", ""), None) if inputs.get("gpu") else ()
    usable = _number(inputs, "usable_gib")
    if usable is not None:
        return found, (round(usable * GIB),)
    return found, tuple(device.engine_total_bytes for device in found)


def _number(inputs: Mapping[str, str], key: str) -> float | None:
    try:
        return float(inputs[key]) if inputs.get(key) else None
    except ValueError as problem:
        raise Unsupported(f"{key}: {inputs[key]}") from problem


def _whole(inputs: Mapping[str, str], key: str) -> int | None:
    found = _number(inputs, key)
    return round(found) if found is not None else None


def _tokens(inputs: Mapping[str, str], key: str) -> int:
    return _whole(inputs, key) or 0
