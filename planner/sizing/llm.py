"""Serving an LLM, interactively or in batch, as a setting: replicas of an engine on machines of the market."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar

from planner.sizing import (
    bill,
    fewer,
    host,
    llm_derivations,
    llm_outcomes,
    llm_reach,
    memory,
    memory_derivations,
    offload,
    support,
)
from planner.sizing import storage_need as kept_data
from planner.sizing.architecture import Architecture, active_parameter_count, parameter_count
from planner.sizing.bill import Needs, Run
from planner.sizing.constants import Constants
from planner.sizing.devices import Layout, Machine
from planner.sizing.formats import FORMATS
from planner.sizing.memory import Need
from planner.sizing.placement import Placement
from planner.sizing.placing import place
from planner.sizing.quantities import SET_BY_HAND, Assumption, Derivation
from planner.sizing.results import (
    Bill,
    Candidate,
    LongestContext,
    MemorySplit,
)
from planner.sizing.runtime import Runtime
from planner.sizing.settable import marked
from planner.sizing.setting import WITHOUT_EFFECT, Change, Outcome, Refusal, Setting, Spared
from planner.sizing.speculation import draft_of
from planner.sizing.storage_rates import Reading
from planner.sizing.weights import footprint
from planner.sizing.workload import BatchWorkload, ServingWorkload

SIXTEEN_BITS = {"bf16", "fp16"}
NO_START_UP = Assumption(
    name="start_up_hours",
    value=0,
    unit="h",
    source="not counted: fetching the machine, loading the model and starting the engine come on top of each run",
)
FORMATS_TRIED = {"llama_cpp": ("gguf_q8_0", "gguf_q4_k_m")}
FORMATS_TRIED_ELSEWHERE = ("fp8", "int4_awq")

ORDERS: dict[str, Callable[[Placement], float | None]] = {
    "ttft": lambda p: p.peak.ttft_s.value if p.peak.ttft_s else None,
    "tpot": lambda p: p.peak.tpot_s.value if p.peak.tpot_s else None,
    "throughput": lambda p: -p.peak.output_tokens_per_s.value * p.replicas,
    "finish": lambda p: p.job_hours.value if p.job_hours else None,
}


@dataclass(frozen=True, eq=False)
class LlmSetting(Setting[Placement]):
    """An LLM served by one engine with one set of speed constants."""

    workload: ServingWorkload | BatchWorkload
    arch: Architecture
    runtime: Runtime
    constants: Constants

    descending: ClassVar[frozenset[str]] = frozenset({"throughput"})

    @cached_property
    def weights_bytes(self) -> int:
        """The whole model as it is kept on disk and in a host's memory."""
        return footprint(self.arch, self.workload.weights_format, Layout()).total_bytes

    def place(self) -> list[Placement | Refusal]:
        return place(self.workload, self.arch, self.runtime, self.market.machines, self.constants)

    def place_some(self, numbers: Sequence[int]) -> list[Placement | Refusal]:
        machines = [self.market.machines[number] for number in numbers]
        return place(self.workload, self.arch, self.runtime, machines, self.constants)

    def placing_key(self) -> str:
        return f"{self.constants.version} {self.workload.model_dump_json(exclude=set(WITHOUT_EFFECT))}"

    def describe(self) -> dict[str, Any]:
        return describe_model(self.arch)

    def document(self) -> dict[str, Any]:
        """With the engine's version, too."""
        document = self.workload.model_dump(mode="json")
        document["runtime"]["version"] = self.runtime.version
        return document

    def memory(self, placed: Placement) -> MemorySplit:
        """One device with the KV cache of the requests that it really holds at peak."""
        need = Need.of(self.workload, concurrency=placed.held_each)
        found = memory.split(self.arch, need, self.runtime, placed.machine.device, placed.option.layout)
        return memory.with_ranges(found, self.runtime)

    def host_ram_bytes(self, placed: Placement) -> int:
        if placed.host_ram_bytes is None:
            placed.host_ram_bytes = llm_outcomes.host_load(self, placed).need(self.workload.assumed).ram_bytes
        return placed.host_ram_bytes

    @property
    def runs_by_machine(self) -> bool:
        return isinstance(self.workload, BatchWorkload)

    def run(self, placed: Placement) -> Run:
        """A job runs once for each start of the schedule."""
        if placed.job_hours is not None:
            return bill.jobs(self.workload.schedule, Decimal(str(round(placed.job_hours.value, 6))))
        return bill.scheduled(self.workload.schedule)

    def needs(self, placed: Placement | None, tier: str) -> Needs:
        """What is asked to be kept, or all kept versions of the weights where that is more."""
        workload = self.workload
        versions = host.WEIGHTS_KEPT.given(workload.assumed)
        return Needs(
            kept_data.served_gb(workload.storage_gb, self.weights_bytes, versions),
            workload.egress_gb_per_month,
        )

    def readings(self, placed: Placement) -> tuple[Reading, ...]:
        """One copy of the weights for each machine that starts, where a time is asked for."""
        minutes = self.workload.load_minutes_maximum
        if minutes is None:
            return ()
        return (Reading("load_minutes_maximum", minutes, self.weights_bytes),)

    @property
    def orders(self) -> Mapping[str, Callable[[Placement], float | None]]:
        return ORDERS

    def units_per_month(self, placed: Placement) -> float:
        return sum(llm_outcomes.tokens_per_month(self, placed))

    def outcome(self, placed: Placement, monthly: Bill, tier: str) -> Outcome:
        return Outcome(
            speed=llm_outcomes.speed(self.workload, placed),
            batch=llm_outcomes.batch(self, placed, monthly),
            per_million_tokens=llm_outcomes.per_million_tokens(self, placed, monthly),
            requests_per_replica_maximum=int(placed.point.batch_cap),
            figures=llm_outcomes.host_figures(self, placed),
        )

    def warnings(self) -> tuple[str, ...]:
        if not_as_stored(self.arch, self.workload.weights_format):
            return ("not_the_stored_format",)
        return ()

    def explain(self, placements: Sequence[Placement]) -> None:
        fewer.explain(self.workload, placements, self.constants)

    def spared(self, placed: Placement) -> Spared[Placement] | None:
        reason = placed.reason
        if reason is None:
            return None
        if reason.set_by == "headroom":
            headroom = self.workload.headroom_fraction
            return Spared(fewer.with_one_less(placed), "headroom_fraction", headroom, None)
        if reason.missed is not None and (reason.set_by == "ttft_s" or reason.set_by == "tpot_s"):
            missed = reason.missed
            return Spared(fewer.with_one_less(placed), reason.set_by, missed.asked, missed.got)
        return None

    def longest_context(self, placed: Placement) -> LongestContext | None:
        return llm_reach.longest_context(self, placed)

    def relieved(self, placed: Placement) -> Iterator[Spared[Placement]]:
        return llm_reach.relieved(self, placed)

    def movable(self, candidate: Candidate) -> Iterable[tuple[str, float, str]]:
        """The constants of the speed model."""
        first = next((outcome for outcome in self.place() if not isinstance(outcome, Refusal)), None)
        if first is None:
            return
        for item in self.constants.assumptions(first.point.classes):
            if isinstance(item.value, int | float) and item.value:
                yield item.name, float(item.value), item.unit

    def moved(self, name: str, factor: float) -> LlmSetting:
        constants = tuple(
            item.model_copy(update={"base": item.base * factor}) if item.name == name else item
            for item in self.constants.constants
        )
        # Made anew, not copied: a copy would keep what was resolved from the constants before.
        moved = Constants(
            version=f"{self.constants.version} {name} {factor:g}",
            origin=self.constants.origin,
            constants=constants,
            spreads=self.constants.spreads,
        )
        return replace(self, constants=moved)

    def derive(self, placed: Placement, candidate: Candidate) -> dict[str, Derivation]:
        return llm_derivations.derive(self, placed, candidate, llm_outcomes.host_load(self, placed))

    def what_would_help(self, refusal: Refusal, machine: Machine) -> tuple[dict[str, Any], ...]:
        """Changes that would make a replica fit on this machine, smallest first."""
        workload = self.workload
        if refusal.layout is None:
            return ()
        return memory.what_would_help(
            self.arch,
            Need.of(workload),
            self.runtime,
            machine.device,
            refusal.layout,
            device_count=machine.device_count,
            weights_formats=support.weights_formats(
                self.runtime, machine.device, self.arch, workload.kv_format
            ),
            kv_formats=support.kv_formats(self.runtime, machine.device, self.arch, workload.weights_format),
        )

    def changes(self) -> tuple[Change, ...]:
        """The longest input the model itself allows; narrower weights, the checkpoint's own first."""
        return (*self._shorter(), *self._narrower())

    def _shorter(self) -> tuple[Change, ...]:
        asked, longest = self.workload.input_tokens, self.arch.max_position
        if longest is None or asked.maximum + self.workload.output_tokens.maximum <= longest:
            return ()
        maximum = longest - self.workload.output_tokens.maximum
        if maximum < asked.typical:
            return ()
        update = {"input_tokens": asked.model_copy(update={"maximum": maximum})}
        return (Change("input_tokens_maximum", maximum, update, is_needed=True),)

    def _narrower(self) -> tuple[Change, ...]:
        now = FORMATS[self.workload.weights_format].linear_bits
        usual = FORMATS_TRIED.get(self.runtime.name, FORMATS_TRIED_ELSEWHERE)
        names = dict.fromkeys((self.arch.stored_format, *usual))
        return tuple(
            Change("weights_format", name, {"weights_format": name})
            for name in names
            if name in FORMATS and FORMATS[name].linear_bits < now
        )

    def assumptions(self, first: Placement | None) -> list[Assumption]:
        workload = self.workload
        device = first.machine.device if first else None
        listed = list(memory_derivations.assumptions(self.runtime, device, Need.of(workload)))
        if first is not None:
            listed += marked(self.constants.assumptions(first.point.classes), workload.assumed)
            listed += offload.assumptions(first.machine, workload.offload)
        draft = draft_of(workload.runtime.options)
        if draft is not None:
            listed.append(draft.assumption)
        if device is not None and device.engine_total_assumed:
            listed.append(
                Assumption(
                    name="engine_total_bytes",
                    value=device.engine_total_bytes,
                    unit="byte",
                    source=f"assumed: 0.994 x what {device.name} reports, the ratio seen on H100-SXM5",
                )
            )
        weights = FORMATS[workload.weights_format]
        listed.append(
            Assumption(name="bits_per_weight", value=weights.linear_bits, unit="bit", source=weights.source)
        )
        listed += marked(host.SERVING_ASSUMPTIONS, workload.assumed)
        if isinstance(workload, BatchWorkload):
            listed.append(NO_START_UP)
        elif workload.average_rate_per_s is not None:
            ratio = workload.concurrency.peak / workload.concurrency.average
            listed.append(
                Assumption(
                    name="peak_to_average_rate", value=ratio, unit="1", source="concurrency.peak ÷ average"
                )
            )
        return listed


def with_assumed(constants: Constants, assumed: Mapping[str, float]) -> Constants:
    """The constants with those that the user sets, the same for every class of point."""
    if not assumed:
        return constants
    told = ", ".join(f"{name} {value:g}" for name, value in sorted(assumed.items()))
    return Constants(
        version=f"{constants.version} with {told}",
        origin=constants.origin,
        constants=tuple(
            item.model_copy(update={"base": assumed[item.name], "by": {}, "origin": SET_BY_HAND})
            if item.name in assumed
            else item
            for item in constants.constants
        ),
        spreads=constants.spreads,
        ratios=constants.ratios,
    )


def not_as_stored(arch: Architecture, weights_format: str) -> bool:
    """Whether the weights would have to be converted from what the checkpoint stores; BF16 and FP16 count as one."""
    stored = arch.stored_format
    return stored in FORMATS and stored != weights_format and not {stored, weights_format} <= SIXTEEN_BITS


def describe_model(arch: Architecture) -> dict[str, Any]:
    """What was understood of the model."""
    first = arch.layers[0] if arch.layers else None
    of_config: dict[str, Any] = {}
    if arch.assumed or arch.left_aside:
        assumed = {item.key: item.value for item in arch.assumed}
        of_config = {"assumed": assumed, "left_aside": list(arch.left_aside)}
    return of_config | {
        "name": arch.id,
        "family": arch.family,
        "parameters": parameter_count(arch),
        "parameters_active": active_parameter_count(arch),
        "parameters_published": arch.parameters_published,
        "layers": arch.layer_count,
        "hidden": arch.hidden,
        "vocabulary": arch.vocab,
        "attention": arch.attention_kind or (first.attention.kind if first else None),
        "experts": arch.has_experts,
        "max_position": arch.max_position,
        "stored_format": arch.stored_format,
        "source": arch.source,
    }
