"""What kinds that serve an LLM share: the model, its engine and formats, lengths, memory, cost of a token."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner import architectures, runtimes, speed_constants, stored_format, wording
from planner.fields import ChoiceField, HiddenField, NumberField, SheetField, WordField
from planner.figures import Figure, gib, given, significant
from planner.kinds.frame import Block, Cost, Fold, Group, Row, Variant, put, scaled
from planner.options import KV, RUNTIMES, WEIGHTS
from planner.sizing.architecture import ModelError
from planner.sizing.llm import LlmSetting, with_assumed
from planner.sizing.offers import Market
from planner.sizing.results import Candidate, Comparison
from planner.sizing.workload import BatchWorkload, ServingWorkload
from planner.stored_format import AS_STORED

DIGEST = r"[0-9a-f]{64}"

MODEL: dict[str, SheetField] = {
    "model": WordField(
        label=gettext_lazy("Model"),
        path=("model", "id"),
        default="meta-llama/Llama-3.1-8B-Instruct",
        help_text=gettext_lazy("Type a part of the name; the list shows what is known."),
        pattern=r"[\w][\w.\-/ ]*",
        template="planner/_model_field.html",
    ),
    "revision": WordField(
        label=gettext_lazy("Revision"),
        path=("model", "revision"),
        max_length=64,
        pattern=r"[\w.\-]+",
        help_text=gettext_lazy("Commit or tag, kept with the plan."),
    ),
    "config": HiddenField(max_length=64, pattern=DIGEST),
}
ENGINE: dict[str, SheetField] = {
    "runtime": ChoiceField(
        label=gettext_lazy("Runtime"), path=("runtime", "name"), default="vllm", choices=RUNTIMES
    ),
    "version": WordField(
        label=gettext_lazy("Version"),
        path=("runtime", "version"),
        max_length=20,
        pattern=r"[\w.]+",
        help_text=gettext_lazy("Empty: the newest we have constants for."),
        template="planner/_version_field.html",
    ),
    "weights": ChoiceField(
        label=gettext_lazy("Weights format"),
        path=("weights_format",),
        default=AS_STORED,
        choices=((AS_STORED, gettext_lazy("as stored")), *WEIGHTS),
    ),
    "kv": ChoiceField(label=gettext_lazy("KV cache format"), path=("kv_format",), default="auto", choices=KV),
}
LENGTHS: dict[str, SheetField] = {
    "in_": NumberField(
        label=gettext_lazy("Input, typical"),
        path=("input_tokens", "typical"),
        default="1000",
        integer=True,
        unit=gettext_lazy("tokens"),
        one=gettext_lazy("token"),
    ),
    "in_max": NumberField(
        label=gettext_lazy("Input, longest"),
        path=("input_tokens", "maximum"),
        default="8000",
        integer=True,
        unit=gettext_lazy("tokens"),
        one=gettext_lazy("token"),
    ),
    "out": NumberField(
        label=gettext_lazy("Output, typical"),
        path=("output_tokens", "typical"),
        default="300",
        integer=True,
        unit=gettext_lazy("tokens"),
        one=gettext_lazy("token"),
    ),
    "out_max": NumberField(
        label=gettext_lazy("Output, longest"),
        path=("output_tokens", "maximum"),
        default="1000",
        integer=True,
        unit=gettext_lazy("tokens"),
        one=gettext_lazy("token"),
    ),
}
HIT: dict[str, SheetField] = {
    "hit": NumberField(
        label=gettext_lazy("Prompt already in the prefix cache"),
        path=("prefix_hit_fraction",),
        default="0",
        scale=100,
        unit="%",
        help_text=gettext_lazy("Share of input tokens that repeat a cached beginning."),
    ),
}
OPTIONS: dict[str, SheetField] = {
    "batched": NumberField(
        label="max_num_batched_tokens",
        path=("runtime", "options", "max_num_batched_tokens"),
        integer=True,
        unit=gettext_lazy("tokens"),
        one=gettext_lazy("token"),
    ),
    "seqs": NumberField(label="max_num_seqs", path=("runtime", "options", "max_num_seqs"), integer=True),
    "utilization": NumberField(
        label="gpu_memory_utilization",
        path=("runtime", "options", "gpu_memory_utilization"),
        help_text=gettext_lazy("Empty: the engine's own default for its version."),
    ),
    "draft": NumberField(
        label=gettext_lazy("Drafted tokens"),
        path=("runtime", "options", "speculative_tokens"),
        integer=True,
        unit=gettext_lazy("tokens"),
        one=gettext_lazy("token"),
        help_text=gettext_lazy("Speculative decoding. Empty: none."),
    ),
    "acceptance": NumberField(
        label=gettext_lazy("Drafts accepted"),
        path=("runtime", "options", "speculative_acceptance"),
        scale=100,
        unit="%",
        help_text=gettext_lazy("Empty: 70 % assumed, with a wider range."),
    ),
    "dcp": NumberField(
        label=gettext_lazy("GPUs that share a request's cache"),
        path=("runtime", "options", "decode_context_parallel"),
        integer=True,
        help_text=gettext_lazy("vLLM: --decode-context-parallel-size."),
    ),
    "cpu_layers": NumberField(
        label=gettext_lazy("Layers on the host"),
        path=("offload", "layers"),
        default="0",
        integer=True,
        help_text=gettext_lazy("llama.cpp: all layers but --n-gpu-layers."),
    ),
    "cpu_experts": NumberField(
        label=gettext_lazy("Layers with experts on the host"),
        path=("offload", "expert_layers"),
        default="0",
        integer=True,
        help_text=gettext_lazy("llama.cpp: --n-cpu-moe."),
    ),
    "cpu_gib": NumberField(
        label=gettext_lazy("Weights per GPU in host memory"),
        path=("offload", "weights_gib"),
        default="0",
        unit="GiB",
        help_text=gettext_lazy("vLLM and SGLang: --cpu-offload-gb."),
    ),
    "kv_host": NumberField(
        label=gettext_lazy("KV cache in host memory"),
        path=("kv_offload_gib",),
        default="0",
        unit="GiB",
        help_text=gettext_lazy("Room for prompts that come again."),
    ),
}


LOADING: dict[str, SheetField] = {
    "load": NumberField(
        label=gettext_lazy("Weights loaded within"),
        path=("load_minutes_maximum",),
        unit=gettext_lazy("min"),
        help_text=gettext_lazy("From network storage, when a machine starts. Empty: no target."),
    ),
}
WHAT_IS_KEPT = Group(gettext_lazy("What is kept"), (("storage", "egress"), "load"))


WHAT_RUNS = Group(
    gettext_lazy("What runs"),
    (
        "model",
        ("runtime", "version"),
        Row(("weights", "kv"), "formats"),
        Fold(
            gettext_lazy("Engine options, revision"),
            ("batched", ("seqs", "utilization"), ("draft", "acceptance"), "dcp", "revision"),
        ),
        Fold(gettext_lazy("Host memory"), (("cpu_layers", "cpu_experts"), ("cpu_gib", "kv_host"))),
    ),
)
LENGTH_ROWS: tuple[tuple[str, ...], ...] = (("in_", "in_max", "out", "out_max"),)
ORDERED = (("in_", "in_max"), ("out", "out_max"))
HEADROOM_FOLD = Fold(gettext_lazy("Headroom, budget"), (("headroom", "budget"),))

PER_MILLION = Cost(
    "per_million",
    gettext_lazy("Per 1M tokens, input and output, average load"),
    lambda candidate: candidate.per_million_tokens.all,
    decimals=4,
    derivation="per_million_tokens",
)
FORMAT_VARIANTS = (
    Variant("bf16", gettext_lazy("weights in BF16"), put(weights="bf16")),
    Variant("fp8", gettext_lazy("weights in FP8"), put(weights="fp8")),
    Variant("int4", gettext_lazy("weights in INT4"), put(weights="int4_awq")),
    Variant("kv8", gettext_lazy("KV cache in FP8"), put(kv="fp8")),
    Variant("cached", gettext_lazy("half of each prompt cached"), put(hit="50")),
)
LONG_VARIANT = Variant(
    "long", gettext_lazy("four times the context"), scaled("in", "in_max", "out", "out_max", by=4)
)
UNIT = gettext_lazy("1M tokens")


def setting(workload: ServingWorkload | BatchWorkload, at: datetime, market: Market) -> LlmSetting:
    """Raises ``UnknownModel``, ``NotSized`` and ``UnknownRuntime`` for what cannot be sized at all."""
    workload = workload.model_copy(update={"model": architectures.frozen(workload.model, at)})
    return LlmSetting(
        workload=workload,
        arch=architectures.resolve(workload.model),
        runtime=runtimes.resolve(workload.runtime.name, workload.runtime.version).with_assumed(
            workload.assumed
        ),
        constants=with_assumed(speed_constants.constants(), workload.assumed),
        market=market,
        at=at,
    )


def pins(workload: ServingWorkload | BatchWorkload, at: datetime) -> Mapping[str, str] | None:
    """The commit of a model that comes from the hub."""
    try:
        revision = architectures.frozen(workload.model, at).revision
    except ModelError:
        return None  # Said at the field when the answer is asked for.
    return {} if revision == workload.model.revision else {"revision": revision or ""}


def memory_note(candidate: Candidate) -> str:
    split = candidate.split
    words = {
        "tokens": f"{split.kv_room_tokens:,}",
        "typical": f"{split.concurrency_at_typical:,}",
        "longest": f"{split.concurrency_at_maximum:,}",
        "planned": f"{candidate.requests_per_replica_maximum or 0:,}",
    }
    if not split.headroom_bytes or not candidate.requests_per_replica_maximum:
        return (
            _(
                "%(tokens)s KV tokens: %(typical)s requests of typical length fit per replica, %(longest)s of the "
                "longest"
            )
            % words
        )
    return (
        _(
            "%(tokens)s KV tokens: %(typical)s requests of typical length fit per replica, %(longest)s of the longest; "
            "the plan takes %(planned)s, the headroom kept free"
        )
        % words
    )


def memory_facts(candidate: Candidate) -> tuple[tuple[str, Figure], ...]:
    split = candidate.split
    per_token, room = f"{split.kv_bytes_per_token:,}", f"{split.kv_room_tokens:,}"
    return (
        (
            _("Needed, with the KV cache at peak"),
            Figure(gib(split.needed_bytes), "GiB", opens="needed_bytes"),
        ),
        (_("Usable by the runtime"), Figure(gib(split.usable_bytes), "GiB", opens="usable_bytes")),
        (_("The engine sees"), given(gib(split.device_bytes), "GiB")),
        (_("KV cache per token, this GPU"), Figure(per_token, "B", opens="kv_bytes_per_token")),
        (_("Tokens that fit, this replica"), Figure(room, opens="kv_room_tokens")),
    )


def use_blocks(candidate: Candidate) -> tuple[Block, ...]:
    """How far memory, bandwidth, compute and link of the replica are used at peak; only where it was derived."""
    made = candidate.derivations
    if (
        not {"step_s", "memory_s", "compute_s", "link_s", "overhead_s"} <= made.keys()
        or not made["step_s"].value
    ):
        return ()

    def share(name: str) -> tuple[Figure | str]:
        found = made.get(f"used_{name}")
        return (Figure(f"{found.value:,.0f}", "%", opens=f"used_{name}") if found else "–",)

    return (
        Block(
            title=_("How far it is used at peak"),
            heads=(_("used"),),
            rows=(
                (_("Memory"), share("memory")),
                (_("Memory bandwidth, of each step"), share("bandwidth")),
                (_("Matrix units, of each step"), share("compute")),
                (_("GPU link, of each step"), share("link")),
                (_("Launching, of each step"), share("launching")),
            ),
            note=_("Reading and computing overlap, so their shares may add up to more than the whole."),
        ),
    )


def format_notes(comparison: Comparison, best: Candidate) -> tuple[str, ...]:
    """Where a quantised checkpoint would have to be converted."""
    found = stored_format.note(
        comparison.model.get("stored_format"), comparison.workload.get("weights_format")
    )
    return (found,) if found else ()


def model_line(comparison: Comparison) -> str:
    """What was understood of the model, and under which engine."""
    model: dict[str, Any] = comparison.model
    runtime = comparison.workload.get("runtime", {})
    return _(
        "%(model)s: %(parameters)s billion parameters, %(layers)s layers, %(attention)s attention. "
        "Engine %(runtime)s, version %(version)s."
    ) % {
        "model": model.get("name"),
        "parameters": significant(float(model.get("parameters") or 0) / 1e9),
        "layers": model.get("layers"),
        "attention": model.get("attention") or "–",
        "runtime": wording.RUNTIMES.get(str(runtime.get("name")), runtime.get("name")),
        "version": runtime.get("version") or _("newest"),
    }
