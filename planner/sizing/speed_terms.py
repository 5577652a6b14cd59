"""The numbers behind one operating point, each with where it comes from."""

from __future__ import annotations

import numpy as np

from planner.sizing import speed
from planner.sizing.constants import Constant, Constants
from planner.sizing.devices import Device
from planner.sizing.quantities import Term
from planner.sizing.serving import OperatingPoint, ServingPoint, Steady

BY_LOAD = "steady state at this load: solved from Little's law (docs/methods.md)"
"""Source of what no product gives, but the balance of arrivals and service."""
MODEL = "counted from the model's tensors"
LAYOUT = "layout of the replica"
FULLEST = "sequences of the fullest group of ranks that keeps attention by requests, times the groups"
CHUNKS = "prompt tokens over max_num_batched_tokens, rounded up"


class SpeedTerms:
    """Terms of one replica's speed at its load."""

    def __init__(
        self, point: ServingPoint, found: OperatingPoint, constants: Constants, device: Device
    ) -> None:
        self.device, self.ratios = device, constants.ratios
        values = constants.resolve(point.classes)
        self.point, self.found = point, found
        steady = Steady([point], values[:, np.newaxis])
        self.replicas, self.lone = steady.replicas, steady.lone
        self.tokens = point.prompt_tokens
        self.chunks = float(np.ceil(max(point.prompt_tokens, 1.0) / point.chunk_tokens))
        self.origins: dict[str, Constant] = {constant.name: constant for constant in constants.constants}
        one = np.array([found.batch])
        self.share = float(np.maximum(one / point.pp, np.minimum(one, 1.0))[0])
        self.checked = self.share * (1.0 + point.drafted)
        self.attended = float(speed.attended_sequences(self.replicas, np.array([self.share]))[0])
        self.weights_read_bytes = float(speed.weights_read_bytes(self.replicas, np.array([self.checked]))[0])

    def constant(self, name: str) -> Term:
        value = float(self.replicas.constant(name)[0])
        origin = self.origins[name]
        return Term(symbol=name, value=value, unit=origin.unit, source=origin.origin)

    def _batch(self) -> Term:
        return Term(symbol="batch", value=self.found.batch, unit="request", source=BY_LOAD)

    def _sequences(self, symbol: str = "sequences") -> Term:
        return Term(symbol=symbol, value=self.share, unit="request", source=BY_LOAD)

    def _attended(self) -> Term:
        """Sequences whose attention a step waits for; all of them where every rank works on each."""
        if self.point.attention_dp == 1:
            return self._sequences()
        return Term(symbol="attended_sequences", value=self.attended, unit="request", source=FULLEST)

    def _bandwidth(self) -> Term:
        value = self.point.bandwidth_bytes_per_s
        return Term(symbol="bandwidth", value=value, unit="byte/s", source=self.device.source)

    def _rate(self, symbol: str) -> Term:
        value = getattr(self.point, symbol)
        return Term(symbol=symbol, value=value, unit="FLOP/s", source=self.device.source)

    def _plain(self, symbol: str, value: float, unit: str = "1", source: str | None = None) -> Term:
        return Term(symbol=symbol, value=value, unit=unit, source=source)

    def _layers(self) -> Term:
        return self._plain("layers", self.point.layers, source=MODEL)

    def _pp(self) -> Term:
        return self._plain("pp", self.point.pp, source=LAYOUT)

    def _draft(self) -> tuple[Term, ...]:
        return (self._plain("drafted_tokens", self.point.drafted, "token", "as entered"),)

    def _chunks(self) -> Term:
        return self._plain("chunks", self.chunks, "1", CHUNKS)

    def _prompt(self) -> Term:
        return self._plain(
            "prompt_tokens", self.tokens, "token", "as entered, less what the prefix cache holds"
        )
