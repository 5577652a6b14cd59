"""How the time of one optimizer step comes about, part by part."""

from __future__ import annotations

from math import log2

from planner.sizing.quantities import Derivation, Term
from planner.sizing.training import speed
from planner.sizing.training.fabric import fabric
from planner.sizing.training.placing import TrainingPlacement
from planner.sizing.training.terms import CHOSEN, LINKS, MODEL, Constants, made, plain

PARTS = {
    "products_s": "products_s", "attention_s": "attention_s", "traffic_s": "traffic_s", "launching_s": "launch_s",
    "tensor_s": "tensor_s", "experts_s": "experts_s", "data_s": "data_s", "bubble_s": "bubble_s",
    "optimizer_s": "optimizer_s",
}  # fmt: skip
"""Parts of a step by the name of their derivation."""
FEW = "(1 + tokens_half / tokens) * (1 + width_half / width)"
FEW_EXPERTS = "(1 + expert_tokens_half / expert_tokens) * (1 + width_half / width)"
SMOOTH = f"{speed.SMOOTH:g}"


def derive(placed: TrainingPlacement, constants: Constants) -> dict[str, Derivation]:
    """One step, and each part that takes any time."""
    found = _Step(placed, constants).derivations()
    return {item.figure: item for item in found}


class _Step:
    def __init__(self, placed: TrainingPlacement, constants: Constants) -> None:
        self.placed, self.c = placed, constants
        choice = placed.choice
        self.step, self.device = choice.step, placed.machine.device
        self.work = speed.work(choice.job, self.device, choice.links or fabric(self.device))
        self.wait = 1 + constants["straggling_fraction"] * log2(float(self.work.nodes))
        self.repeats = float(self.work.micro_batches) * float(self.work.serial) * self.wait
        self.seconds = {name: float(getattr(self.step, field)) for name, field in PARTS.items()}
        busy = sum(self.seconds[name] for name in ("products_s", "attention_s", "traffic_s")) / self.repeats
        running = busy + self.seconds["launching_s"] / self.repeats
        self.carrying = self._carrying(running)
        self.busy, self.running = busy - self.carrying, running - self.carrying

    def _carrying(self, with_it: float) -> float:
        """What carrying activations to the host adds to a micro-batch; found from the sum it is part of."""
        carried = float(self.work.carried_s)
        return max(0.0, with_it - max(with_it**4 - carried**4, 0.0) ** 0.25) if carried else 0.0

    def _amount(self, symbol: str, name: str, unit: str, source: str = MODEL) -> Term:
        return plain(symbol, float(getattr(self.work, name)), unit, source)

    def derivations(self) -> list[Derivation]:
        used = [name for name, seconds in self.seconds.items() if seconds > 0]
        wait = self.placed.facts["data_wait_fraction"]
        whole, terms = " + ".join(used), [plain(name, self.seconds[name], "s") for name in used]
        if wait:
            whole, terms = (
                f"({whole}) / (1 - data_wait_fraction)",
                [*terms, plain("data_wait_fraction", wait)],
            )
        found = [made("train_step_s", whole, terms, self.placed.step_s.value, "s"), self._repeats()]
        makers = {
            "products_s": self._products, "attention_s": self._attention, "traffic_s": self._traffic,
            "launching_s": self._launching, "tensor_s": self._tensor, "experts_s": self._experts,
            "data_s": self._data, "bubble_s": self._bubble, "optimizer_s": self._optimizer,
        }  # fmt: skip
        for name in used:
            formula, numbers = makers[name]()
            found.append(made(name, formula, numbers, self.seconds[name], "s"))
        found.append(self._reached())
        if self.seconds["launching_s"] or self.work.gather_s or self.work.carried_s:
            found.append(self._busy())
        return found

    def _repeats(self) -> Derivation:
        """Micro-batches of a step, one after the other, with the time waited for the slowest machine."""
        return made(
            "repeats",
            "micro_batches * serial * (1 + straggling_fraction * log2_nodes)",
            [
                self._amount("micro_batches", "micro_batches", "1", CHOSEN),
                self._amount("serial", "serial", "1", "GPUs that take turns; 1 otherwise"),
                self.c.term("straggling_fraction"),
                plain("log2_nodes", log2(float(self.work.nodes)), "1", "doublings of the machines"),
            ],
            self.repeats,
            "1",
        )

    @property
    def _times(self) -> Term:
        return plain("repeats", self.repeats)

    @property
    def _reach(self) -> float:
        balance = float(self.work.half_peak) / float(self.work.bandwidth) / speed.BALANCE
        return float(
            min(speed.REACHED_MAXIMUM, self.c["linear_fraction"] * balance ** -self.c["balance_exponent"])
        )

    def _reached(self) -> Derivation:
        return made(
            "reached_fraction",
            f"min({speed.REACHED_MAXIMUM:g}, linear_fraction / "
            f"(half_flops_per_s / bandwidth / {speed.BALANCE:g}) ** balance_exponent)",
            [
                self.c.term("linear_fraction"),
                self._amount("half_flops_per_s", "half_peak", "FLOP/s", self.device.source),
                self._amount("bandwidth", "bandwidth", "byte/s", self.device.source),
                self.c.term("balance_exponent"),
            ],
            self._reach,
            "1",
        )

    def _products(self) -> tuple[str, list[Term]]:
        formula = f"linear_flops * {FEW}"
        terms = [
            self._amount("linear_flops", "linear_flops", "FLOP"), self.c.term("tokens_half"),
            self._amount("tokens", "tokens", "token"), self.c.term("width_half"), self._amount("width", "width", "1"),
        ]  # fmt: skip
        if self.work.expert_flops:
            formula += f" + expert_flops * {FEW_EXPERTS} / expert_fraction"
            terms += [
                self._amount("expert_flops", "expert_flops", "FLOP"), self.c.term("expert_tokens_half"),
                self._amount("expert_tokens", "expert_tokens", "token"), self.c.term("expert_fraction"),
            ]  # fmt: skip
        terms += [
            self._times, self._amount("matrix_flops_per_s", "peak", "FLOP/s", self.device.source),
            plain("reached_fraction", self._reach),
        ]  # fmt: skip
        return f"repeats * ({formula}) / (matrix_flops_per_s * reached_fraction)", terms

    def _attention(self) -> tuple[str, list[Term]]:
        return "repeats * attention_flops / (half_flops_per_s * attention_fraction)", [
            self._times, self._amount("attention_flops", "attention_flops", "FLOP"),
            self._amount("half_flops_per_s", "half_peak", "FLOP/s", self.device.source),
            self.c.term("attention_fraction"),
        ]  # fmt: skip

    def _traffic(self) -> tuple[str, list[Term]]:
        parts, terms = [], []
        for symbol, name, constant, unit in (
            ("activation_bytes", "traffic", "traffic_copies", "byte"),
            ("adapter_bytes", "adapter_traffic", "adapter_copies", "byte"),
            ("scores", "score_traffic", "score_access_bytes", "1"),
            ("logits", "logits_traffic", "logit_traffic_bytes", "1"),
            ("widened_bytes", "dequantised", "dequantise_copies", "byte"),
        ):
            if getattr(self.work, name):
                parts.append(f"{symbol} * {constant}")
                terms += [self._amount(symbol, name, unit), self.c.term(constant)]
        terms += [self._amount("bandwidth", "bandwidth", "byte/s", self.device.source), self._times]
        formula = f"({' + '.join(parts)}) / bandwidth"
        if self.carrying:
            formula, terms = (
                f"{formula} + carrying_s",
                [*terms, plain("carrying_s", self.carrying, "s", LINKS)],
            )
        return f"repeats * ({formula})", terms

    def _busy(self) -> Derivation:
        formula = "(products_s + attention_s + traffic_s) / repeats"
        terms = [plain(name, self.seconds[name], "s") for name in ("products_s", "attention_s", "traffic_s")]
        terms.append(self._times)
        if self.carrying:
            formula, terms = (
                f"{formula} - carrying_s",
                [*terms, plain("carrying_s", self.carrying, "s", LINKS)],
            )
        return made("busy_s", formula, terms, self.busy, "s")

    def _launching(self) -> tuple[str, list[Term]]:
        """A smooth maximum of launching and the work itself, less the work."""
        return f"repeats * ((busy_s ** {SMOOTH} + (launches * launch_s) ** {SMOOTH}) ** (1 / {SMOOTH}) - busy_s)", [
            self._times, plain("busy_s", self.busy, "s"), self._amount("launches", "launches", "1"),
            self.c.term("launch_s"),
        ]  # fmt: skip

    def _tensor(self) -> tuple[str, list[Term]]:
        formula = "tensor_link_s * tensor_exposed * (1 - overlapped * overlap_fraction)"
        terms = [
            self._times, self._amount("tensor_link_s", "tensor_s", "s", LINKS), self.c.term("tensor_exposed"),
            self._amount("overlapped", "overlapped", "1", CHOSEN), self.c.term("overlap_fraction"),
        ]  # fmt: skip
        if self.work.context_s:
            formula += " + context_link_s * context_exposed"
            terms += [self._amount("context_link_s", "context_s", "s", LINKS), self.c.term("context_exposed")]
        return f"repeats * ({formula})", terms

    def _experts(self) -> tuple[str, list[Term]]:
        return "repeats * expert_link_s * expert_exposed", [
            self._times, self._amount("expert_link_s", "expert_s", "s", LINKS), self.c.term("expert_exposed")
        ]  # fmt: skip

    def _data(self) -> tuple[str, list[Term]]:
        """ZeRO-3's gathering beside the work of a micro-batch, and gradients once a step."""
        parts, terms = [], []
        if self.work.gather_s:
            parts.append(
                f"repeats * ((running_s ** {SMOOTH} + (gather_link_s * gather_slowness) ** {SMOOTH})"
                f" ** (1 / {SMOOTH}) - running_s + gather_link_s * gather_exposed)"
            )
            terms += [
                self._times, plain("running_s", self.running, "s", "busy_s and launching_s of one micro-batch"),
                self._amount("gather_link_s", "gather_s", "s", LINKS), self.c.term("gather_slowness"),
                self.c.term("gather_exposed"),
            ]  # fmt: skip
        if self.work.reduce_s:
            parts.append(self._reduce)
            terms += self._reduce_terms
        return " + ".join(parts), terms

    _reduce = "reduce_link_s * reduce_exposed * (1 + straggling_fraction * log2_nodes)"

    @property
    def _reduce_terms(self) -> list[Term]:
        return [
            self._amount("reduce_link_s", "reduce_s", "s", LINKS), self.c.term("reduce_exposed"),
            self.c.term("straggling_fraction"),
            plain("log2_nodes", log2(float(self.work.nodes)), "1", "doublings of the machines"),
        ]  # fmt: skip

    def _bubble(self) -> tuple[str, list[Term]]:
        names = [name for name in PARTS if name not in ("bubble_s", "optimizer_s") and self.seconds[name] > 0]
        formula, terms = " + ".join(names), [plain(name, self.seconds[name], "s") for name in names]
        if self.work.reduce_s:
            formula, terms = f"{formula} - {self._reduce}", [*terms, *self._reduce_terms]
        idle = self._amount("bubble", "bubble", "1", "(pp - 1) ÷ (micro-batches × chunks of a rank)")
        return f"bubble * ({formula})", [idle, *terms]

    def _optimizer(self) -> tuple[str, list[Term]]:
        formula = "stepped_bytes / bandwidth * optimizer_copies"
        terms = [
            self._amount("stepped_bytes", "optimizer_bytes", "byte"),
            self._amount("bandwidth", "bandwidth", "byte/s", self.device.source), self.c.term("optimizer_copies"),
        ]  # fmt: skip
        if self.work.host_s:
            formula += " + host_link_s * host_slowness"
            terms += [self._amount("host_link_s", "host_s", "s", LINKS), self.c.term("host_slowness")]
        return formula, terms
