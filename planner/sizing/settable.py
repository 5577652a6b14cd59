"""Assumptions of the method that a user may set by hand: their units, and the ends between which they are accepted.

A workload carries what was set in ``assumed``, by the names that stand in formulas. Each kind says which it knows in
``CommonWorkload.settable``; whoever computes asks ``Assumption.given``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planner.sizing import host
from planner.sizing.constants import CONSTANTS, MAXIMUM
from planner.sizing.quantities import SET_BY_HAND, Assumption

LEAST_SHARE = 0.001
"""What is divided by is never 0."""
SECONDS_MAXIMUM = 60.0
TOKENS_MAXIMUM = 1e6
BUFFER_BYTES_MAXIMUM = 1e12
FAR = 100.0
"""So many times below and above the ends of its own range an assumption is still accepted."""


class Settable(NamedTuple):
    """Where an assumption may lie, both ends accepted."""

    unit: str
    minimum: float
    maximum: float

    def accepts(self, value: float) -> bool:
        return self.minimum <= value <= self.maximum


def marked(assumptions: Iterable[Assumption], assumed: Mapping[str, float]) -> list[Assumption]:
    """The same with what was set by hand in the place of what is shipped, and said to be so."""
    found = []
    for item in assumptions:
        own = item.name.rpartition(".")[2]
        if own in assumed:
            update = {
                "value": assumed[own],
                "source": SET_BY_HAND,
                "low": None,
                "high": None,
                "user_set": True,
            }
            item = item.model_copy(update=update)
        found.append(item)
    return found


def around(assumption: Assumption, *, least: float = 0.0) -> Settable:
    """A hundred times below and above the range that its source gives it."""
    value = float(assumption.value)
    low = value if assumption.low is None else assumption.low
    high = value if assumption.high is None else assumption.high
    return Settable(assumption.unit, max(least, low / FAR), high * FAR)


_LIMITS = {"s": (0.0, SECONDS_MAXIMUM), "token": (0.0, TOKENS_MAXIMUM)}
_OWN = {
    "roof_exponent": (1.0, 64.0), "hop_growth": (0.0, 4.0), "expert_read_fraction": (LEAST_SHARE, 1.0),
    "routing_spread": (LEAST_SHARE, 1.0),
    **{
        name: (LEAST_SHARE, MAXIMUM[name])
        for name in (
            "weight_read_fraction", "kv_read_fraction", "decode_compute_fraction", "prefill_compute_fraction",
            "block_compute_fraction", "prefill_attention_fraction", "link_fraction", "latency_limit_fraction",
        )
    },
}  # fmt: skip

SPEED: dict[str, Settable] = {
    name: Settable(unit, *_OWN.get(name, _LIMITS.get(unit, (0.0, MAXIMUM.get(name, 1.0)))))
    for name, (unit, _axes) in CONSTANTS.items()
}
"""Constants of the speed of a served LLM."""

ENGINE: dict[str, Settable] = {
    "memory_fraction": Settable("1", 0.05, 1.0),
    "hidden_copies": Settable("1", 0.0, 1000.0),
    "cross_mask_copies": Settable("1", 0.0, 1000.0),
    "logit_bytes": Settable("byte", 0.0, 256.0),
    "warmup_logit_bytes": Settable("byte", 0.0, 256.0),
    "prompt_value_bytes": Settable("byte", 0.0, 256.0),
    **{
        name: Settable("byte", 0.0, BUFFER_BYTES_MAXIMUM)
        for name in (
            "activation_base_bytes", "engine_bytes", "engine_tp_bytes", "engine_tp_plain_bytes", "engine_pp_bytes",
            "context_bytes", "context_tp_bytes", "graph_bytes", "graph_layer_bytes", "graph_expert_bytes",
        )
    },
}  # fmt: skip
"""What a serving engine holds beside weights and cache."""

HOST: dict[str, Settable] = {
    item.name: around(item)
    for item in (host.SYSTEM_BYTES, host.RAM_HEADROOM_FRACTION, host.PREFETCHED_BATCHES)
}
"""Of the host of any kind."""
SERVING_HOST: dict[str, Settable] = {
    item.name: around(item, least=1.0 if item.name.endswith("per_core_s") else 0.0)
    for item in host.SERVING_ASSUMPTIONS
}
REWORK: dict[str, Settable] = {
    "interruptions_per_hour": Settable("1/h", 0.0, 60.0),
    "hours_lost_per_interruption": Settable("h", 0.0, 24.0),
}
"""Of machines that may be taken away."""

SERVING: dict[str, Settable] = {**SPEED, **ENGINE, **HOST, **SERVING_HOST, **REWORK}
"""All of a served LLM."""
