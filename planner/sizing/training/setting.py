"""Training as a setting: what each kind of workload asks, and what a run on a machine comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from planner.sizing import bill, host, term_derivations
from planner.sizing.architecture import Architecture
from planner.sizing.bill import Needs, Run
from planner.sizing.devices import Machine
from planner.sizing.llm import describe_model
from planner.sizing.quantities import Assumption, Derivation, Estimate
from planner.sizing.results import Bill, Candidate, Figure, SmallerMachine
from planner.sizing.settable import marked
from planner.sizing.setting import WITHOUT_EFFECT, Change, Outcome, Refusal, Setting
from planner.sizing.storage_rates import Reading
from planner.sizing.training import checkpoints, derivations, runs, smaller
from planner.sizing.training.constants import TrainingConstants, classes
from planner.sizing.training.placing import Search, TrainingPlacement, place
from planner.sizing.training.question import METHODS, Question
from planner.sizing.training.workload import PretrainingWorkload, TuningWorkload

HOST_ASSUMPTIONS = (host.SYSTEM_BYTES, host.RAM_HEADROOM_FRACTION, host.PREFETCHED_BATCHES)
TOGETHER = "savings_together"
"""Every change that saves memory and leaves training as it is, where none of them is enough alone."""


@dataclass(frozen=True, eq=False)
class TrainingSetting(Setting[TrainingPlacement]):
    """One training workload with one set of constants."""

    workload: TuningWorkload | PretrainingWorkload
    arch: Architecture
    constants: TrainingConstants
    _searches: dict[str, Search] = field(default_factory=dict, init=False, repr=False)
    """One for each change that was tried, so that memory is worked out once for all machines."""

    @property
    def question(self) -> Question:
        return Question(self.workload, self.arch, self.constants)

    def place(self) -> list[TrainingPlacement | Refusal]:
        asked = self.question
        return place(asked.task(), self.hosted(), partial(runs.finish, asked))

    def hosted(self) -> list[Machine]:
        return [self.with_host(number) for number in range(len(self.market.machines))]

    def with_host(self, number: int) -> Machine:
        """A machine of the market with the usual host of its offers: the median of the cores and memory known."""
        market = self.market
        machine = market.machines[number]
        rows = np.flatnonzero(market.machine_index == number)
        cores, memory = market.vcpu[rows], market.ram_bytes[rows]
        cores, memory = cores[np.isfinite(cores) & (cores > 0)], memory[memory > 0]
        update: dict[str, Any] = {}
        if len(cores):
            update["vcpu"] = float(np.median(cores))
        if len(memory):
            update["ram_bytes"] = int(np.median(memory))
        return machine.model_copy(update=update) if update else machine

    def place_on(self, number: int) -> TrainingPlacement | Refusal:
        """The run on one machine of the market."""
        asked = self.question
        return place(asked.task(), [self.with_host(number)], partial(runs.finish, asked))[0]

    def place_some(self, numbers: Sequence[int]) -> list[TrainingPlacement | Refusal]:
        asked = self.question
        machines = [self.with_host(number) for number in numbers]
        return place(asked.task(), machines, partial(runs.finish, asked))

    def placing_key(self) -> str:
        keys = set(WITHOUT_EFFECT) - {"interruptible"}
        return f"{self.constants.version} {self.workload.model_dump_json(exclude=keys)}"

    def describe(self) -> dict[str, Any]:
        return describe_model(self.arch)

    # What the frame asks.

    @property
    def runs_by_machine(self) -> bool:
        return True

    def host_ram_bytes(self, placed: TrainingPlacement) -> int:
        return round(placed.facts["host_ram_bytes"])

    def needs(self, placed: TrainingPlacement | None, tier: str) -> Needs:
        """No more checkpoints are kept than the run writes; on machines that may be taken away it writes more."""
        sent_gb = self.workload.egress_gb_per_month
        if placed is None:
            return Needs(self.question.storage_gb(), sent_gb)
        kept_gb = placed.facts["storage_gb"]
        if tier in bill.INTERRUPTIBLE_TIERS:
            kept_gb = placed.facts.get("storage_spot_gb", kept_gb)
        return Needs(kept_gb, sent_gb)

    def run(self, placed: TrainingPlacement) -> Run:
        return bill.jobs(self.workload.schedule, Decimal(str(round(placed.run_hours.value, 6))))

    def run_hours(self, placed: TrainingPlacement) -> Decimal:
        return Decimal(str(round(placed.run_hours.value, 6)))

    def smallest(self, weighed: Any) -> tuple[SmallerMachine, ...]:
        return smaller.smallest(
            self,
            weighed,
            self._smaller(),
            lambda setting: setting.question.task(),  # type: ignore[attr-defined]
            lambda setting, number: setting.place_on(number),  # type: ignore[attr-defined]
        )

    def readings(self, placed: TrainingPlacement) -> tuple[Reading, ...]:
        """The data that a machine reads all the time, and its share of a checkpoint where a time is asked for; nothing
        over the network where all lies on local scratch."""
        storage = self.workload.storage
        if storage.place == "scratch":
            return ()
        found = [Reading("storage_read", placed.facts["storage_read_bytes_per_s"])]
        if storage.restore_minutes_maximum is not None:
            share = placed.facts["checkpoint_bytes"] / placed.machines
            found.append(Reading("restore_minutes_maximum", storage.restore_minutes_maximum, share))
        return tuple(found)

    def rework(self, placed: TrainingPlacement | None, tier: str) -> Decimal:
        if tier not in bill.INTERRUPTIBLE_TIERS or placed is None:
            return Decimal(0)
        return Decimal(str(round(placed.facts.get("rework_fraction", 1.0), 4)))

    @property
    def orders(self) -> Mapping[str, Callable[[TrainingPlacement], float | None]]:
        return {
            "finish": lambda placed: placed.run_hours.value,
            "run_hours": lambda placed: placed.run_hours.value,
            "throughput": lambda placed: -placed.facts["tokens_per_s"],
            "gpu_hours": lambda placed: placed.facts["gpu_hours"],
            "memory_needed": lambda placed: float(placed.planned.needed_bytes),
        }

    def outcome(self, placed: TrainingPlacement, monthly: Bill, tier: str) -> Outcome:
        """Every figure of a run, and what one run costs: the month's bill over its runs."""
        figures = {"train_step_s": _ranged(placed.step_s, "s"), "run_hours": _ranged(placed.run_hours, "h")}
        spread = placed.step_s.low / placed.step_s.value, placed.step_s.high / placed.step_s.value
        for name, value in placed.facts.items():
            figures[name] = _figure(name, value, spread)
        return Outcome(figures=figures, unit_costs={"run": bill.of_one_run(monthly, self.run(placed))})

    def derive(self, placed: TrainingPlacement, candidate: Candidate) -> dict[str, Derivation]:
        found = derivations.derive(self.question, placed)
        found |= term_derivations.derive(self, candidate, float(self.run_hours(placed)))
        return found | derivations.run_cost(candidate, self.run(placed))

    def assumptions(self, first: TrainingPlacement | None) -> list[Assumption]:
        workload = self.workload
        listed = [checkpoints.GPU_HOURS_PER_FAILURE, *HOST_ASSUMPTIONS]
        if first is not None:
            found = classes(first.choice.job, first.machine.device)
            listed += self.constants.assumptions(found, tuple(item.name for item in self.constants.constants))
            if first.choice.machines > 1:
                listed.append(checkpoints.REPAIR_HOURS)
                listed.append(
                    Assumption(
                        name="fabric_link_bytes_per_s",
                        value=first.choice.links.between,
                        unit="byte/s",
                        source=self.question.network_source,
                    )
                )
        return marked(listed, workload.assumed)

    def warnings(self) -> tuple[str, ...]:
        return self.question.storage().warnings

    def movable(self, candidate: Candidate) -> Iterable[tuple[str, float, str]]:
        """The constants of memory and speed that act on the first placement."""
        first = next((found for found in self.place() if not isinstance(found, Refusal)), None)
        if first is None:
            return
        values = self.constants.resolve(classes(first.choice.job, first.machine.device))
        named = {
            term.symbol for made in derivations.derive(self.question, first).values() for term in made.terms
        }
        for item in self.constants.constants:
            if item.name in named and values[item.name]:
                yield item.name, values[item.name], item.unit

    def moved(self, name: str, factor: float) -> TrainingSetting:
        value = next(item for item in self.constants.constants if item.name == name)
        constants = tuple(
            item.model_copy(update={"base": value.base * factor, "maximum": None})
            if item.name == name
            else item
            for item in self.constants.constants
        )
        # Made anew, not copied: a copy would keep what was resolved from the constants before.
        return replace(
            self,
            constants=TrainingConstants(
                version=f"{self.constants.version} {name} {factor:g}",
                origin=self.constants.origin,
                constants=constants,
                spreads=self.constants.spreads,
            ),
        )

    def what_would_help(self, refusal: Refusal, machine: Machine) -> tuple[dict[str, Any], ...]:
        """Changes that would make it fit on this machine, those that change training least first."""
        found: list[dict[str, Any]] = []
        whole = machine.device.engine_total_bytes
        usable = whole * (1 - self.workload.headroom_fraction)
        for change in self._smaller():
            if change.name == TOGETHER and any(one["verdict"] == "fits" for one in found):
                continue
            key = f"{change.name} {change.value}"
            if key not in self._searches:
                self._searches[key] = Search(self.changed(change.update).question.task())
            least = self._searches[key].smallest(machine)
            if least is None or (needed := float(least[1].total)) > whole:
                continue
            found.append(
                {
                    "change": change.name,
                    "to": change.value,
                    "needed_bytes": round(needed),
                    "verdict": "fits" if needed <= usable else "tight",
                }
            )
        return tuple(found)

    def changes(self) -> tuple[Change, ...]:
        return self._smaller()

    def _smaller(self) -> tuple[Change, ...]:
        """Changes that need less memory: those that leave training as it is first."""
        workload = self.workload
        made: list[Change] = []
        if workload.recompute not in ("auto", "full"):
            made.append(Change("recompute", "full", {"recompute": "full"}))
        if isinstance(workload, TuningWorkload) and (workload.batch.micro or 1) > 1:
            batch = workload.batch.model_copy(update={"micro": 1})
            made.append(Change("micro_batch", 1, {"batch": batch}))
        if not workload.chunked_loss:
            made.append(Change("chunked_loss", "on", {"chunked_loss": True}))
        if workload.parallel.sharding not in ("auto", "zero3"):
            parallel = workload.parallel.model_copy(update={"sharding": "zero3"})
            made.append(Change("sharding", "zero3", {"parallel": parallel}))
        if len(made) > 1:
            update = {name: value for change in made for name, value in change.update.items()}
            made.append(Change(TOGETHER, "on", update))
        if not workload.offload_optimizer and METHODS[workload.kind] == "full":
            made.append(Change("offload_optimizer", "on", {"offload_optimizer": True}))
        if not workload.offload_activations and workload.recompute in ("auto", "full"):
            update = {"offload_activations": True, "recompute": "full"}
            made.append(Change("offload_activations", "on", update))
        if workload.optimizer == "adamw" and METHODS[workload.kind] == "full":
            made.append(Change("optimizer", "adamw_8bit", {"optimizer": "adamw_8bit", "state": "half"}))
        if workload.kind == "lora":
            made.append(Change("method", "qlora", {"kind": "qlora"}))
        elif workload.kind == "full_finetune":
            made.append(Change("method", "lora", {"kind": "lora"}))
            made.append(Change("method", "qlora", {"kind": "qlora"}))
        if workload.gpus_exact is None and workload.machines_maximum < 64:
            made.append(
                Change(
                    "machines_maximum",
                    workload.machines_maximum * 2,
                    {"machines_maximum": workload.machines_maximum * 2},
                )
            )
        return tuple(made)


def _ranged(estimate: Estimate, unit: str) -> Figure:
    return Figure(value=estimate.value, unit=unit, low=estimate.low, high=estimate.high)


def _figure(name: str, value: float, spread: tuple[float, float]) -> Figure:
    low, high = spread
    if name in runs.INVERSE:
        return Figure(value=value, unit=runs.UNITS[name], low=value / high, high=value / low)
    if name in runs.RANGED:
        return Figure(value=value, unit=runs.UNITS[name], low=value * low, high=value * high)
    return Figure(value=value, unit=runs.UNITS[name])
