"""How TPOT, TTFT and throughput of a replica come about at its load, term by term."""

from __future__ import annotations

from math import log2

import numpy as np

from planner.sizing import speed
from planner.sizing.constants import Constants
from planner.sizing.devices import Device
from planner.sizing.evidence import Asked, near
from planner.sizing.quantities import Derivation, Term
from planner.sizing.serving import ALONE, OperatingPoint, ServingPoint
from planner.sizing.speed_terms import BY_LOAD, LAYOUT, MODEL, SpeedTerms

PUT_BACK = "delay where requests are put back for want of cache: preempted_share (docs/methods.md)"
ROUNDING = 1e-9
NOISE = 1e-6
"""Of a sum, what a difference of its parts leaves by rounding alone."""
BUSIEST = 0.98
"""Share of its time a replica may be busy with prompts in the queue's formula (as in ``steady``)."""
EXPERTS = "expected distinct experts of a layer for the tokens of one step (docs/methods.md)"
APART = "how far prompts of the groups that keep attention by requests miss each other at this load (docs/methods.md)"
SHARED_PREFILL = "prefill_s of the mean over groups, all of them at work on prompts"
ACCEPTED = "tokens a step yields: 1 without a draft (docs/methods.md)"


def derive(
    point: ServingPoint, found: OperatingPoint, replicas: int, constants: Constants, device: Device
) -> dict[str, Derivation]:
    """The derivations of one replica's speed; ``found`` is ``operate([point], constants)[0]``.

    Empty of latencies where the replica is overloaded: there are none. Every term is a fact with its source, the
    user's own number, or the figure of another derivation.
    """
    return _Speed(point, found, constants, device).derivations(replicas)


class _Speed(SpeedTerms):
    """The numbers behind one operating point, each with the source of its constant."""

    def derivations(self, replicas: int) -> dict[str, Derivation]:
        made = [self._output(replicas), self._at_once(replicas)]
        if self.found.tpot_s is not None:
            made += [
                self._each_user(self.found.tpot_s.value),
                self._tpot(self.found.tpot_s.value),
                self._step(),
                self._memory(),
                self._compute(),
            ]
            made += [self._link("link_s", self.checked, self.found.link_s), self._overhead()]
            made += [self._weights("weights_read_bytes", self.checked, self.weights_read_bytes)]
        if self.found.ttft_s is not None:
            made += self._ttft(self.found.ttft_s.value)
        if self.found.tpot_s is not None or self.found.ttft_s is not None:
            made += [*self._prompt_share(), *self._prefill()]
        return {derivation.figure: self._held_against(derivation) for derivation in made}

    def _held_against(self, made: Derivation) -> Derivation:
        """With the measurements nearest to it, where it is a figure that others publish."""
        alone = self.found.batch < ALONE
        regimes = {
            "ttft_s": "ttft_alone" if alone else "ttft_loaded",
            "tpot_s": "decode_alone" if alone else "decode_batched",
            "output_tokens_per_s": "saturated" if self.point.load == "saturated" else "throughput",
            "prefill_s": "prefill",
        }
        if made.figure not in regimes:
            return made
        asked = Asked(
            regime=regimes[made.figure],
            engine=self.point.classes.engine,
            accelerator=self.device.name,
            shape=(self.point.hidden, self.point.layers, self.point.experts),
        )
        return made.model_copy(update={"near": near(self.ratios, made.figure, asked)})

    def _tpot(self, value: float) -> Derivation:
        found, output = self.found, max(1.0, self.point.output_tokens)
        formula = "step_s / accepted_tokens + (batch - 1) * prompt_share_s / max(output_tokens - 1, 0.001)"
        terms: tuple[Term, ...] = (
            Term(symbol="step_s", value=found.step_s, unit="s"),
            self._plain("accepted_tokens", self.point.accepted, "token", ACCEPTED),
            self._batch(),
            Term(symbol="prompt_share_s", value=found.prompt_share_s, unit="s"),
            self._plain("output_tokens", output, "token", "as entered"),
        )
        plain = found.step_s / self.point.accepted
        plain += (found.batch - 1) * found.prompt_share_s / max(output - 1, 0.001)
        if abs(value / plain - 1) > ROUNDING:
            formula = f"({formula}) * put_back"
            terms += (self._plain("put_back", value / plain, "1", PUT_BACK),)
        return Derivation(figure="tpot_s", formula=formula, terms=terms, value=value, unit="s")

    def _each_user(self, tpot_s: float) -> Derivation:
        return Derivation(
            figure="user_tokens_per_s",
            formula="1 / tpot_s",
            terms=(Term(symbol="tpot_s", value=tpot_s, unit="s"),),
            value=1 / tpot_s,
            unit="token/s",
        )

    def _at_once(self, replicas: int) -> Derivation:
        flight = self.found.requests_in_flight
        return Derivation(
            figure="requests_at_once",
            formula="in_flight * replicas",
            terms=(
                self._plain("in_flight", flight, "request", BY_LOAD),
                self._plain("replicas", replicas),
            ),
            value=flight * replicas,
            unit="request",
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
        point, attended = self.point, self._attended()
        return Derivation(
            figure="memory_s",
            formula="(weights_read_bytes / weight_read_fraction"
            f" + {attended.symbol} * kv_read_bytes / kv_read_fraction) / bandwidth",
            terms=(
                Term(symbol="weights_read_bytes", value=self.weights_read_bytes, unit="byte"),
                self.constant("weight_read_fraction"),
                attended,
                Term(symbol="kv_read_bytes", value=point.kv_read_bytes, unit="byte", source=MODEL),
                self.constant("kv_read_fraction"),
                self._bandwidth(),
            ),
            value=self.found.memory_s,
            unit="s",
        )

    def _compute(self) -> Derivation:
        point, attended = self.point, self._attended()
        formula = (
            "sequences * (1 + drafted_tokens) / decode_compute_fraction"
            " * (linear_flops / matrix_flops_per_s + attention_flops / attention_flops_per_s)"
        )
        if point.attention_dp > 1:
            formula = (
                "(1 + drafted_tokens) / decode_compute_fraction * (sequences * linear_flops / matrix_flops_per_s"
                " + attended_sequences * attention_flops / attention_flops_per_s)"
            )
        return Derivation(
            figure="compute_s",
            formula=formula,
            terms=(
                self._sequences(),
                *((attended,) if point.attention_dp > 1 else ()),
                *self._draft(),
                self.constant("decode_compute_fraction"),
                Term(symbol="linear_flops", value=point.linear_flops_per_token, unit="FLOP", source=MODEL),
                self._rate("matrix_flops_per_s"),
                Term(symbol="attention_flops", value=point.decode_attention_flops, unit="FLOP", source=MODEL),
                self._rate("attention_flops_per_s"),
            ),
            value=self.found.compute_s,
            unit="s",
        )

    def _overhead(self) -> Derivation:
        attended = self._attended()
        formula = (
            f"step_fixed_s + layers * step_layer_s + {attended.symbol} * step_sequence_s * pp / attention_dp"
            " + (pp - 1) * stage_s"
        )
        terms: tuple[Term, ...] = (
            self.constant("step_fixed_s"), self._layers(), self.constant("step_layer_s"), attended,
            self.constant("step_sequence_s"), self._pp(), self.constant("stage_s"),
            self._plain("attention_dp", self.point.attention_dp, source=LAYOUT),
        )  # fmt: skip
        if self.point.drafted:
            formula += " + drafted_tokens * draft_share * roof_s"
            roof_s = self.found.step_s - self.found.link_s - self.found.overhead_s
            terms += (
                *self._draft(),
                self._plain(
                    "draft_share", speed.DRAFT_SHARE, "1", "assumed: one layer and the output matrix"
                ),
                self._plain("roof_s", roof_s, "s", "the smooth maximum of memory_s and compute_s"),
            )
        return Derivation(
            figure="overhead_s", formula=formula, terms=terms, value=self.found.overhead_s, unit="s"
        )

    def _link(self, figure: str, tokens: float, value: float) -> Derivation:
        """Two all-reduces a layer, or sending tokens to their experts and back; none on one device, where (tp - 1) and
        hops are 0."""
        point = self.point
        return Derivation(
            figure=figure,
            formula="2 * layers * (hop_s * log2_tp ** hop_growth + 2 * (tp - 1) / tp * tokens * link_tokens_share"
            " * hidden * value_bytes / (link_bytes_per_s * link_fraction))",
            terms=(
                self._layers(), self.constant("hop_s"), self._plain("log2_tp", log2(point.tp), source=LAYOUT),
                self.constant("hop_growth"), self._plain("tp", point.tp, source=LAYOUT),
                self._plain("tokens", tokens, "token", BY_LOAD),
                self._plain("link_tokens_share", point.link_tokens_share, source=LAYOUT),
                self._plain("hidden", point.hidden, source=MODEL),
                self._plain("value_bytes", speed.BYTES_PER_ACTIVATION, "byte", "16-bit activations"),
                self._plain("link_bytes_per_s", point.link_bytes_per_s, "byte/s", self.device.source),
                self.constant("link_fraction"),
            ),
            value=value,
            unit="s",
        )  # fmt: skip

    def _weights(self, figure: str, tokens: float, value: float) -> Derivation:
        """Weights always read, and the experts that the tokens of one step are expected to choose."""
        point = self.point
        touched = float(speed.experts_touched(self.replicas, np.array([tokens]))[0])
        return Derivation(
            figure=figure,
            formula="always_read_bytes + expert_bytes * experts_touched / (1 - (1 - expert_read_fraction)"
            " * max(experts_touched - experts_chosen, 0) / max(experts - experts_chosen, 1))",
            terms=(
                self._plain("always_read_bytes", point.always_read_bytes, "byte", MODEL),
                self._plain("expert_bytes", point.experts_read_bytes, "byte", MODEL),
                self._plain("experts_touched", touched, "1", EXPERTS),
                self.constant("expert_read_fraction"),
                self._plain("experts_chosen", point.experts_per_token, "1", MODEL),
                self._plain("experts", point.experts, "1", MODEL),
            ),
            value=value,
            unit="byte",
        )

    def _prefill(self) -> list[Derivation]:
        """One whole prompt alone, in the steps its chunks make, and the parts of it."""
        point, replicas, chunks = self.point, self.lone, self.chunks
        each = self.tokens / chunks
        step = np.array([each])
        weights_bytes = float(speed.weights_read_bytes(replicas, step)[0])
        link = float(speed.all_reduce_s(replicas, step)[0])
        work = float(speed.prompt_work_s(self.lone, np.array([self.tokens]), np.ones(1))[0])
        fraction = "block_compute_fraction" if point.block_kernels else "prefill_compute_fraction"
        read = self._plain("chunk_weights_bytes", weights_bytes, "byte")
        whole = Derivation(
            figure="prefill_s",
            formula="(((chunks * chunk_weights_bytes / (weight_read_fraction * bandwidth)) ** roof_exponent"
            " + prompt_work_s ** roof_exponent) ** (1 / roof_exponent)"
            " + chunks * (chunk_link_s + step_fixed_s + layers * step_layer_s + (pp - 1) * stage_s))"
            " * (1 - stage_overlap * (1 - (chunks + pp - 1) / (chunks * pp)))",
            terms=(
                self._chunks(), read, self.constant("weight_read_fraction"), self._bandwidth(),
                self.constant("roof_exponent"), self._plain("prompt_work_s", work, "s"),
                self._plain("chunk_link_s", link, "s"), self.constant("step_fixed_s"), self._layers(),
                self.constant("step_layer_s"), self._pp(), self.constant("stage_s"), self.constant("stage_overlap"),
            ),
            value=self.found.prefill_s,
            unit="s",
        )  # fmt: skip
        worked = Derivation(
            figure="prompt_work_s",
            formula=f"(prompt_tokens + prefill_half_tokens) * linear_flops / (matrix_flops_per_s * {fraction})"
            " + prompt_attention_flops / (attention_flops_per_s * prefill_attention_fraction)",
            terms=(self._prompt(), self.constant("prefill_half_tokens"), *self._work(fraction, self.lone)),
            value=work,
            unit="s",
        )
        chunk_weights = self._weights("chunk_weights_bytes", each, weights_bytes)
        return [whole, worked, chunk_weights, self._link("chunk_link_s", each, link)]

    def _work(self, fraction: str, replicas: speed.Replicas) -> tuple[Term, ...]:
        return (
            self._plain("linear_flops", float(replicas.linear_flops_per_token[0]), "FLOP", MODEL),
            self._rate("matrix_flops_per_s"), self.constant(fraction),
            self._plain("prompt_attention_flops", float(replicas.prompt_attention_flops[0]), "FLOP", MODEL),
            self._rate("attention_flops_per_s"), self.constant("prefill_attention_fraction"),
        )  # fmt: skip

    def _prompt_share(self) -> list[Derivation]:
        """What one prompt takes from the decoding of others: all ranks work on it, or its group alone while the other
        groups wait or have prompts of their own."""
        if self.point.attention_dp == 1:
            return [self._taken("prompt_share_s", self.lone, self.found.prompt_share_s)]
        shared, longest = (
            float(speed.prompt_share_s(seen, np.array([self.tokens]), np.array([self.point.chunk_tokens]))[0])
            for seen in (self.replicas, self.lone)
        )
        mixed = Derivation(
            figure="prompt_share_s",
            formula="shared_prompt_s + (lone_prompt_s - shared_prompt_s) * apart",
            terms=(
                self._plain("shared_prompt_s", shared, "s"), self._plain("lone_prompt_s", longest, "s"),
                self._plain("apart", (self.found.prompt_share_s - shared) / (longest - shared), "1", APART),
            ),
            value=self.found.prompt_share_s,
            unit="s",
        )  # fmt: skip
        return [
            mixed,
            self._taken("shared_prompt_s", self.replicas, shared),
            self._taken("lone_prompt_s", self.lone, longest),
        ]

    def _taken(self, figure: str, replicas: speed.Replicas, value: float) -> Derivation:
        """The work of a prompt is that of ``prompt_work_s`` with the rate of full steps."""
        point, half = self.point, float(replicas.constant("prefill_half_tokens")[0])
        joined = np.array([max(self.tokens - half, 0.0)])
        work = float(speed.prompt_work_s(replicas, joined, np.ones(1))[0])
        alone = self._plain("prefill_s", self.found.prefill_s, "s")
        if figure == "shared_prompt_s":
            chunk = np.array([point.chunk_tokens])
            seconds = float(speed.prefill_s(replicas, np.array([self.tokens]), np.ones(1), chunk)[0])
            alone = self._plain("shared_prefill_s", seconds, "s", SHARED_PREFILL)
        fraction = "block_compute_fraction" if point.block_kernels else "prefill_compute_fraction"
        worked = (
            f"(max(prompt_tokens, prefill_half_tokens) * linear_flops / (matrix_flops_per_s * {fraction})"
            " + prompt_attention_flops / (attention_flops_per_s * prefill_attention_fraction))"
        )
        return Derivation(
            figure=figure,
            formula=f"({worked} + prefill_step_share * max({alone.symbol} - joined_work_s, 0)) / pp",
            terms=(
                self._prompt(), self.constant("prefill_half_tokens"), *self._work(fraction, replicas),
                self.constant("prefill_step_share"), alone,
                self._plain("joined_work_s", work, "s", "the first part of this formula"), self._pp(),
            ),
            value=value,
            unit="s",
        )  # fmt: skip

    def _ttft(self, value: float) -> list[Derivation]:
        """The work of the request itself, and the queue before it with a derivation of its own."""
        found = self.found
        fixed = self.constant("request_fixed_s")
        lone = float(speed.decode_step(self.replicas, np.ones(1)).total_s[0])
        joined = 0.5 * found.step_s + self.chunks * max(found.step_s - lone, 0.0)
        steps = (1.0 - 1.0 / found.batch) * joined
        queued = value - fixed.value - found.prefill_s - steps
        queue = self._queue(queued if queued > NOISE * value else 0.0)
        whole = Derivation(
            figure="ttft_s",
            formula="request_fixed_s + prefill_s"
            " + (1 - 1 / batch) * (step_s / 2 + chunks * max(step_s - lone_step_s, 0)) + queue_s",
            terms=(
                fixed, self._plain("prefill_s", found.prefill_s, "s"), self._batch(),
                self._plain("step_s", found.step_s, "s"), self._chunks(),
                self._plain("lone_step_s", lone, "s", "a decode step of one sequence"),
                self._plain("queue_s", queue.value, "s"),
            ),
            value=value,
            unit="s",
        )  # fmt: skip
        return [whole, queue]

    def _queue(self, value: float) -> Derivation:
        """Poisson arrivals: M/D/1. A closed loop: the other clients' prompts that start together. A closed loop
        with more requests than run at once waits outside: what is left of the round trip."""
        found, point = self.found, self.point
        share = self._plain("prompt_share_s", found.prompt_share_s, "s")
        rate = self._plain("request_rate", found.request_rate_per_s, "1/s", BY_LOAD)
        flight = self._plain("in_flight", found.requests_in_flight, "request", BY_LOAD)
        terms: tuple[Term, ...]
        if point.load == "rate":
            used = f"min(request_rate * prompt_share_s, {BUSIEST})"
            formula = f"prompt_share_s * {used} / (2 * (1 - {used}))"
            terms = (share, rate)
        elif found.batch_limit == "offered_load":
            formula = "synchrony_fraction * prompt_share_s / 2 * max(in_flight - 1, 0)"
            terms = (self.constant("synchrony_fraction"), share, flight)
        else:
            own = found.requests_in_flight / found.request_rate_per_s - value
            formula = "in_flight / request_rate - own_s"
            terms = (flight, rate, self._plain("own_s", own, "s", "the request's own prompt and decoding"))
        return Derivation(figure="queue_s", formula=formula, terms=terms, value=value, unit="s")

    def _output(self, replicas: int) -> Derivation:
        found = self.found
        return Derivation(
            figure="output_tokens_per_s",
            formula="request_rate * output_tokens * replicas",
            terms=(
                Term(symbol="request_rate", value=found.request_rate_per_s, unit="1/s", source=BY_LOAD),
                Term(
                    symbol="output_tokens", value=self.point.output_tokens, unit="token", source="as entered"
                ),
                Term(symbol="replicas", value=replicas, unit="1"),
            ),
            value=found.output_tokens_per_s.value * replicas,
            unit="token/s",
        )
