"""How TPOT, TTFT and throughput of a replica come about at its load, term by term."""

from __future__ import annotations

import numpy as np

from planner.sizing import speed
from planner.sizing.constants import Constant, Constants
from planner.sizing.quantities import Derivation, Term
from planner.sizing.serving import OperatingPoint, ServingPoint, Steady


def derive(
    point: ServingPoint, found: OperatingPoint, replicas: int, constants: Constants
) -> dict[str, Derivation]:
    """The derivations of one replica's speed; ``found`` is ``operate([point], constants)[0]``.

    Empty of latencies where the replica is overloaded: there are none.
    """
    return _Speed(point, found, constants).derivations(replicas)


class _Speed:
    """The numbers behind one operating point, each with the source of its constant."""

    def __init__(self, point: ServingPoint, found: OperatingPoint, constants: Constants) -> None:
        values = constants.resolve(point.classes)
        self.point, self.found = point, found
        self.replicas = Steady([point], values[:, np.newaxis]).replicas
        self.origins: dict[str, Constant] = {constant.name: constant for constant in constants.constants}
        one = np.array([found.batch])
        self.share = float(np.maximum(one / point.pp, np.minimum(one, 1.0))[0])
        self.weights_read_bytes = float(speed.weights_read_bytes(self.replicas, np.array([self.share]))[0])

    def constant(self, name: str) -> Term:
        value = float(self.replicas.constant(name)[0])
        origin = self.origins[name]
        return Term(symbol=name, value=value, unit=origin.unit, source=origin.origin)

    def derivations(self, replicas: int) -> dict[str, Derivation]:
        made = [self._output(replicas)]
        if self.found.tpot_s is not None:
            made += [self._tpot(self.found.tpot_s.value), self._step(), self._memory(), self._compute()]
        if self.found.ttft_s is not None:
            made.append(self._ttft(self.found.ttft_s.value))
        return {derivation.figure: derivation for derivation in made}

    def _tpot(self, value: float) -> Derivation:
        found = self.found
        return Derivation(
            figure="tpot_s",
            formula="step_s + (batch - 1) * prompt_share_s / max(output_tokens - 1, 0.001)",
            terms=(
                Term(symbol="step_s", value=found.step_s, unit="s"),
                Term(symbol="batch", value=found.batch, unit="request"),
                Term(symbol="prompt_share_s", value=found.prompt_share_s, unit="s"),
                Term(symbol="output_tokens", value=max(1.0, self.point.output_tokens), unit="token"),
            ),
            value=value,
            unit="s",
        )

    def _step(self) -> Derivation:
        found = self.found
        return Derivation(
            figure="step_s",
            formula="(memory_s ** roof_exponent + compute_s ** roof_exponent) ** (1 / roof_exponent)"
            " + link_s + overhead_s",
            terms=(
                Term(symbol="memory_s", value=found.memory_s, unit="s"),
                Term(symbol="compute_s", value=found.compute_s, unit="s"),
                self.constant("roof_exponent"),
                Term(symbol="link_s", value=found.link_s, unit="s"),
                Term(symbol="overhead_s", value=found.overhead_s, unit="s"),
            ),
            value=found.step_s,
            unit="s",
        )

    def _memory(self) -> Derivation:
        point = self.point
        return Derivation(
            figure="memory_s",
            formula="(weights_read_bytes / weight_read_fraction"
            " + sequences * kv_read_bytes / kv_read_fraction) / bandwidth",
            terms=(
                Term(symbol="weights_read_bytes", value=self.weights_read_bytes, unit="byte"),
                self.constant("weight_read_fraction"),
                Term(symbol="sequences", value=self.share, unit="request"),
                Term(symbol="kv_read_bytes", value=point.kv_read_bytes, unit="byte"),
                self.constant("kv_read_fraction"),
                Term(symbol="bandwidth", value=point.bandwidth_bytes_per_s, unit="byte/s"),
            ),
            value=self.found.memory_s,
            unit="s",
        )

    def _compute(self) -> Derivation:
        point = self.point
        return Derivation(
            figure="compute_s",
            formula="sequences / decode_compute_fraction"
            " * (linear_flops / matrix_flops_per_s + attention_flops / attention_flops_per_s)",
            terms=(
                Term(symbol="sequences", value=self.share, unit="request"),
                self.constant("decode_compute_fraction"),
                Term(symbol="linear_flops", value=point.linear_flops_per_token, unit="FLOP"),
                Term(symbol="matrix_flops_per_s", value=point.matrix_flops_per_s, unit="FLOP/s"),
                Term(symbol="attention_flops", value=point.decode_attention_flops, unit="FLOP"),
                Term(symbol="attention_flops_per_s", value=point.attention_flops_per_s, unit="FLOP/s"),
            ),
            value=self.found.compute_s,
            unit="s",
        )

    def _ttft(self, value: float) -> Derivation:
        """The queue is what is left of TTFT after its own work: it comes from the load, not from a product."""
        found, point = self.found, self.point
        fixed = self.constant("request_fixed_s")
        chunks = float(np.ceil(max(point.prompt_tokens, 1.0) / point.chunk_tokens))
        steps = (1.0 - 1.0 / found.batch) * found.step_s * (chunks + 0.5)
        return Derivation(
            figure="ttft_s",
            formula="request_fixed_s + prefill_s + (1 - 1 / batch) * step_s * (chunks + 0.5) + queue_s",
            terms=(
                fixed,
                Term(symbol="prefill_s", value=found.prefill_s, unit="s"),
                Term(symbol="batch", value=found.batch, unit="request"),
                Term(symbol="step_s", value=found.step_s, unit="s"),
                Term(symbol="chunks", value=chunks, unit="1"),
                Term(symbol="queue_s", value=value - fixed.value - found.prefill_s - steps, unit="s"),
            ),
            value=value,
            unit="s",
        )

    def _output(self, replicas: int) -> Derivation:
        found = self.found
        return Derivation(
            figure="output_tokens_per_s",
            formula="request_rate * output_tokens * replicas",
            terms=(
                Term(symbol="request_rate", value=found.request_rate_per_s, unit="1/s"),
                Term(symbol="output_tokens", value=self.point.output_tokens, unit="token"),
                Term(symbol="replicas", value=replicas, unit="1"),
            ),
            value=found.output_tokens_per_s.value * replicas,
            unit="token/s",
        )
