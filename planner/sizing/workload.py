"""What a user asks for: the workload document, its defaults and its limits.

The limits are written here once; forms borrow them. ``null`` or an absent key means the documented default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, Strict, field_validator, model_validator
from pydantic_core import PydanticCustomError

from planner.sizing import token_volume
from planner.sizing.quantities import Frozen
from planner.sizing.settable import SERVING, Settable

Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Count = Annotated[int, Strict()]

Names = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=100)], ...], Field(max_length=200)]

Objective = Literal["cost", "ttft", "tpot", "throughput", "finish", "smallest"]
Tier = Literal["on_demand", "spot", "reserved", "community"]
WeightsFormat = Literal[
    "fp32",
    "bf16",
    "fp16",
    "fp8",
    "int8",
    "int4_awq",
    "int4_gptq",
    "gguf_q4_k_m",
    "gguf_q8_0",
    "mxfp4",
    "nvfp4",
]
KvFormat = Literal["auto", "bf16", "fp16", "fp8", "int8"]

TOKENS_MAXIMUM = 10_000_000
CONCURRENCY_MAXIMUM = 1_000_000
RATE_MAXIMUM_PER_S = 1e6
TOKENS_PER_MONTH_MAXIMUM = 1e15

TokensPrice = Annotated[Number, Field(gt=0, le=1e6)]
TokensPerMonth = Annotated[Number, Field(gt=0, le=TOKENS_PER_MONTH_MAXIMUM)]


def without_nulls(value: Any) -> Any:
    """Drop keys that are null, at every level, so that null means the default."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


class ModelReference(Frozen):
    """Which model: a known id (with the revision it was frozen at), or a pasted ``config.json``."""

    id: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\w][\w.\-/ ]*$")] = (
        "meta-llama/Llama-3.1-8B-Instruct"
    )
    revision: Annotated[str, Field(max_length=64, pattern=r"^[\w.\-]+$")] | None = None
    config: dict[str, Any] | None = None


class RuntimeChoice(Frozen):
    """Which serving engine and version, with the options that change memory or speed."""

    name: Literal[
        "vllm", "sglang", "tensorrt_llm", "llama_cpp", "lmdeploy", "tgi", "transformers", "exllama", "ollama", "other"
    ] = "vllm"  # fmt: skip
    version: Annotated[str, Field(min_length=1, max_length=20, pattern=r"^[\w.]+$")] | None = None
    options: RuntimeOptions = Field(default_factory=lambda: RuntimeOptions())


class RuntimeOptions(Frozen):
    """Engine options; ``None`` means the engine's own default for its version."""

    max_num_batched_tokens: Annotated[Count, Field(ge=1, le=TOKENS_MAXIMUM)] | None = None
    max_num_seqs: Annotated[Count, Field(ge=1, le=100_000)] | None = None
    gpu_memory_utilization: Annotated[Number, Field(gt=0.05, le=1)] | None = None
    enforce_eager: Annotated[bool, Strict()] | None = None
    decode_context_parallel: Annotated[Count, Field(ge=1, le=64)] | None = None
    """Ranks that share the tokens of a request's cache (vLLM: ``--decode-context-parallel-size``)."""
    speculative_tokens: Annotated[Count, Field(ge=1, le=16)] | None = None
    """Tokens that a draft proposes for each step; ``None``: no speculative decoding."""
    speculative_acceptance: Annotated[Number, Field(ge=0, le=1)] | None = None
    """Share of drafted tokens that the model accepts; ``None``: ``speculation.ACCEPTANCE``."""


class Offload(Frozen):
    """Weights that are kept in host memory, by the engine's own option for it."""

    layers: Annotated[Count, Field(ge=0, le=10_000)] = 0
    """Layers, with their cache, that the host computes (llama.cpp: all but ``--n-gpu-layers``)."""
    expert_layers: Annotated[Count, Field(ge=0, le=10_000)] = 0
    """Layers whose routed experts the host computes (llama.cpp: ``--n-cpu-moe``)."""
    weights_gib: Annotated[Number, Field(ge=0, le=100_000)] = 0
    """Of each GPU, read over the bus in every step (vLLM and SGLang: ``--cpu-offload-gb``)."""


class InputTokens(Frozen):
    """Prompt length of one request, tokens."""

    typical: Annotated[Count, Field(ge=1, le=TOKENS_MAXIMUM)] = 1000
    maximum: Annotated[Count, Field(ge=1, le=TOKENS_MAXIMUM)] = 8000


class OutputTokens(Frozen):
    """Generated length of one request, tokens."""

    typical: Annotated[Count, Field(ge=1, le=TOKENS_MAXIMUM)] = 300
    maximum: Annotated[Count, Field(ge=1, le=TOKENS_MAXIMUM)] = 1000


class Concurrency(Frozen):
    """Requests in flight, the whole deployment: on average and at peak."""

    average: Annotated[Number, Field(gt=0, le=CONCURRENCY_MAXIMUM)] = 8
    peak: Annotated[Number, Field(gt=0, le=CONCURRENCY_MAXIMUM)] = 32


class Targets(Frozen):
    """Latency targets at peak load, as means; ``"none"`` = no target (null is the default, as everywhere)."""

    ttft_s: Annotated[Number, Field(gt=0, le=86_400)] | Literal["none"] = 1.0
    tpot_s: Annotated[Number, Field(gt=0, le=3_600)] | Literal["none"] = 0.05


class Schedule(Frozen):
    """When the machines are on. 24 × 30.4167 = 730 hours a month by default."""

    hours_per_day: Annotated[Number, Field(gt=0, le=24)] = 24
    days_per_month: Annotated[Number, Field(gt=0, le=31)] = 30.4167
    starts_per_day: Annotated[Number, Field(ge=0, le=1440)] = 1


class Filters(Frozen):
    """What the user wants to see; include and exclude name accelerators."""

    regions: Names = ()
    providers: Names = ()
    include: Names = ()
    exclude: Names = ()
    tiers: tuple[Tier, ...] = ("on_demand",)
    complete_prices_only: bool = False
    estimated_prices: bool = False
    """Also show prices that their source calls an estimate; by default they are listed as rejected."""
    price_per_month_maximum: Annotated[Number, Field(gt=0, le=1e12)] | None = None
    gpu_count_maximum: Annotated[Count, Field(ge=1, le=10_000)] | None = None
    """GPUs of one machine at most: 1 leaves the single-GPU machines."""
    price_age_days_maximum: Annotated[Count, Field(ge=0, le=100_000)] | None = None
    """Days since a price was last read or confirmed, at most."""


class CommonWorkload(Frozen):
    """Fields that every kind of workload has."""

    kind: str
    """Each kind narrows it to its names on the wire."""
    objective: Objective = "cost"
    budget_per_month: Annotated[Number, Field(gt=0, le=1e12)] | None = None
    deadline_hours: Annotated[Number, Field(gt=0, le=876_000)] | Literal["none"] | None = None
    headroom_fraction: Annotated[Number, Field(ge=0, le=0.9)] = 0.1
    replicas_minimum: Annotated[Count, Field(ge=1, le=10_000)] = 1
    interruptible: Annotated[bool, Strict()] = False
    schedule: Schedule = Schedule()
    storage_gb: Annotated[Number, Field(ge=0, le=1e9)] = 100
    egress_gb_per_month: Annotated[Number, Field(ge=0, le=1e9)] = 50
    filters: Filters = Filters()
    currency: Literal["USD", "JPY", "EUR"] = "USD"
    assumed: Annotated[dict[str, Annotated[Number, Field(ge=0, le=1e15)]], Field(max_length=40)] = {}
    """Assumptions of the method that the user sets, by name, in the place of the shipped ones."""
    settable: ClassVar[Mapping[str, Settable]] = {}
    """Those that the kind knows."""

    @field_validator("assumed")
    @classmethod
    def _accepted(cls, assumed: dict[str, float]) -> dict[str, float]:
        for name, value in assumed.items():
            known = cls.settable.get(name)
            if known is None:
                raise PydanticCustomError(
                    "assumption_unknown", "no assumption is called {name}", {"name": name[:60]}
                )
            if not known.accepts(value):
                raise PydanticCustomError(
                    "assumption_range",
                    "{name} is accepted from {minimum} to {maximum}",
                    {"name": name, "value": value, **known._asdict()},
                )
        return assumed


class LlmWorkload(CommonWorkload):
    """What interactive serving and batch generation share."""

    model: ModelReference = ModelReference()
    runtime: RuntimeChoice = RuntimeChoice()
    weights_format: Annotated[
        WeightsFormat,
        Field(description="Absent from a document: as the model's checkpoint stores its weights."),
    ] = "bf16"
    kv_format: KvFormat = "auto"
    input_tokens: InputTokens = InputTokens()
    output_tokens: OutputTokens = OutputTokens()
    prefix_hit_fraction: Annotated[Number, Field(ge=0, lt=1)] = 0.0
    kv_offload_gib: Annotated[Number, Field(ge=0, le=1e6)] = 0
    offload: Offload = Offload()
    load_minutes_maximum: Annotated[Number, Field(gt=0, le=10_000)] | None = None
    """Within which a started machine has its weights from network storage. None: no target."""
    settable: ClassVar[Mapping[str, Settable]] = SERVING

    @model_validator(mode="after")
    def _typical_within_maximum(self) -> Self:
        for name in ("input_tokens", "output_tokens"):
            lengths = getattr(self, name)
            if lengths.typical > lengths.maximum:
                raise ValueError(
                    f"{name}.typical {lengths.typical} is above {name}.maximum {lengths.maximum}"
                )
        return self


class ServingWorkload(LlmWorkload):
    """Interactive LLM serving. Concurrency, or a rate, or tokens a month; the latter two win over concurrency."""

    kind: Literal["llm_serving"] = "llm_serving"
    concurrency: Concurrency = Concurrency()
    request_rate_per_s: Annotated[Number, Field(gt=0, le=RATE_MAXIMUM_PER_S)] | None = None
    input_tokens_per_month: TokensPerMonth | None = None
    """Of the whole deployment, spread over the hours of the schedule; a side that is None goes with the other."""
    output_tokens_per_month: TokensPerMonth | None = None
    managed_input_per_million: TokensPrice | None = None
    """What a service asks for a million tokens in, in ``currency``: told beside the machines, sized by nothing."""
    managed_output_per_million: TokensPrice | None = None
    targets: Targets = Targets()

    @property
    def average_rate_per_s(self) -> float | None:
        """Requests a second: as stated, or those of typical length that serve the tokens of a month; else None."""
        volume = token_volume.stated(self)
        if self.request_rate_per_s is not None or volume is None:
            return self.request_rate_per_s
        requests = token_volume.requests_per_month(volume, token_volume.typical(self))
        return token_volume.rate_per_s(requests, self.schedule.hours_per_day, self.schedule.days_per_month)

    @model_validator(mode="after")
    def _one_load(self) -> Self:
        if token_volume.stated(self) is None:
            return self
        if self.request_rate_per_s is not None:
            raise ValueError("state either request_rate_per_s or tokens per month, not both")
        rate_per_s = self.average_rate_per_s or 0.0
        if rate_per_s > RATE_MAXIMUM_PER_S:
            raise ValueError(
                f"the tokens per month are {rate_per_s:.4g} requests per second; "
                f"at most {RATE_MAXIMUM_PER_S:g} are sized"
            )
        return self

    @model_validator(mode="after")
    def _average_within_peak(self) -> Self:
        if self.concurrency.average > self.concurrency.peak:
            raise ValueError(
                f"concurrency.average {self.concurrency.average:g} is above concurrency.peak {self.concurrency.peak:g}"
            )
        return self


class BatchWorkload(LlmWorkload):
    """Offline generation: a number of requests, done by a deadline. It can restart, so it is interruptible."""

    kind: Literal["llm_batch"] = "llm_batch"
    request_count: Annotated[Count, Field(ge=1, le=10**12)] = 100_000
    deadline_hours: Annotated[Number, Field(gt=0, le=876_000)] | Literal["none"] | None = 12.0
    interruptible: Annotated[bool, Strict()] = True
