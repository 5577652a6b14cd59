"""How the figures of a memory split come about, and the numbers they rest on, as data."""

from __future__ import annotations

from dataclasses import replace

from planner.sizing import kv_cache, offload, weights
from planner.sizing.architecture import Architecture
from planner.sizing.devices import Device, Layout
from planner.sizing.drafting import drafting
from planner.sizing.memory import Pools, device_cache_fraction, split, states_apart
from planner.sizing.overheads import HALF_BYTES, Need, Overheads, buffer_names, mlp_width, overheads
from planner.sizing.quantities import Assumption, Derivation, Term
from planner.sizing.runtime import Runtime


def derive(
    arch: Architecture, need: Need, runtime: Runtime, device: Device, layout: Layout, fraction: float = 1.0
) -> dict[str, Derivation]:
    """How the figures of the split come about, to be read and evaluated again."""
    arch, need = (drafting(arch), replace(need, drafts=False)) if need.drafts else (arch, need)
    found = split(arch, need, runtime, device, layout, fraction)
    over = overheads(arch, need, runtime, device, layout)
    kv = kv_cache.footprint(arch, need.kv_format, need.weights_format, layout, runtime, over.batched_tokens)
    states = states_apart(kv, runtime)
    pools = Pools.of(runtime, states)
    kv = kv.without_states() if states else kv
    moved = offload.of(arch, need.weights_format, layout, runtime, need.offload)
    typical = pools.request(kv.bytes_for(need.typical_tokens))
    longest = pools.request(kv.reserved_bytes_for(need.maximum_tokens))

    def term(symbol: str, value: float, unit: str = "byte", source: str | None = None) -> Term:
        return Term(symbol=symbol, value=value, unit=unit, source=source)

    parts = (
        term("weights_bytes", found.weights_bytes, source=arch.source),
        term("activation_bytes", found.activation_bytes, source=runtime.source),
        term("overhead_bytes", found.overhead_bytes, source=runtime.source),
    )
    share = term("memory_fraction", need.utilization or runtime.fraction, "1", runtime.source)
    device_term = term("device_bytes", found.device_bytes, source=device.source)
    fixed = "weights_bytes + activation_bytes + overhead_bytes"
    usable_terms: tuple[Term, ...] = (device_term, share)
    if runtime.budget == "fraction_of_total":
        usable = "min(floor(memory_fraction * device_bytes), max(0, device_bytes - outside_bytes))"
        usable_terms += (term("outside_bytes", over.outside, source=runtime.source),)
    elif runtime.budget == "static_fraction":
        usable = (
            "min(floor(memory_fraction * max(0, device_bytes - engine_bytes)), "
            "max(0, device_bytes - activation_bytes - overhead_bytes))"
            " + activation_bytes + overhead_bytes"
        )
        usable_terms += (term("engine_bytes", over.non_torch + over.context, source=runtime.source),)
        usable_terms += parts[1:]
    elif runtime.budget == "fraction_of_free":
        usable = f"min(device_bytes, {fixed}) + floor(memory_fraction * max(0, device_bytes - ({fixed})))"
        usable_terms += parts
    else:
        usable = "floor(memory_fraction * device_bytes)"
    usable_term = term("usable_bytes", found.usable_bytes)
    room = term("kv_room_bytes", found.kv_room_bytes)
    # Where groups of devices keep attention by requests, each has such a room.
    times_groups = "attention_dp * " if layout.dp > 1 else ""
    groups = (term("attention_dp", layout.dp, "1", "layout of the replica"),) if layout.dp > 1 else ()
    if runtime.preallocates:
        needed_kv = "round(concurrency * longest_request_bytes)"
        kv_terms: tuple[Term, ...] = (term("longest_request_bytes", kv.bytes_for(need.maximum_tokens)),)
    else:
        needed_kv = "max(longest_request_bytes, concurrency * typical_request_bytes)"
        kv_terms = (term("longest_request_bytes", longest), term("typical_request_bytes", typical))
    kv_terms += (term("concurrency", need.concurrency, "request"),)
    here = device_cache_fraction(need, moved)
    if here != 1.0:
        # The cache of layers that the host computes lies with them; ranks may share the tokens of the rest.
        kv_terms += (term("device_cache_fraction", here, "1"),)
        needed_kv = needed_kv.replace("request_bytes", "request_bytes * device_cache_fraction")

    def derivation(
        figure: str, formula: str, terms: tuple[Term, ...], value: float, unit: str = "byte"
    ) -> Derivation:
        return Derivation(figure=figure, formula=formula, terms=terms, value=value, unit=unit)

    if runtime.preallocates:
        needed_kv = needed_kv.replace("round(", "(")
    upfront = round(states * over.sequences) if runtime.states_upfront else 0
    return {
        **_derive_buffers(arch, need, runtime, device, layout, over, upfront),
        "weights_bytes": _derive_weights(arch, need, layout, moved),
        "kv_bytes_per_token": _derive_per_token(kv, need, moved),
        "activation_bytes": _derive_activation(arch, need, runtime, layout, over),
        "usable_bytes": derivation("usable_bytes", usable, usable_terms, found.usable_bytes),
        "kv_room_bytes": derivation(
            "kv_room_bytes", f"max(0, usable_bytes - ({fixed}))", (usable_term, *parts), found.kv_room_bytes
        ),
        "kv_room_tokens": derivation(
            "kv_room_tokens",
            f"{times_groups}floor(kv_room_bytes * cache_share / kv_bytes_per_token)",
            (
                room,
                term("cache_share", pools.cache_share, "1", runtime.source),
                term("kv_bytes_per_token", found.kv_bytes_per_token, "byte/token"),
                *groups,
            ),
            found.kv_room_tokens,
            "token",
        ),
        "concurrency_at_typical": derivation(
            "concurrency_at_typical",
            f"{times_groups}floor(kv_room_bytes / typical_request_bytes)",
            (room, term("typical_request_bytes", max(1, round(typical * here))), *groups),
            found.concurrency_at_typical,
            "request",
        ),
        "concurrency_at_maximum": derivation(
            "concurrency_at_maximum",
            f"{times_groups}floor(kv_room_bytes / longest_request_bytes)",
            (room, term("longest_request_bytes", max(1, round(longest * here))), *groups),
            found.concurrency_at_maximum,
            "request",
        ),
        "kv_needed_bytes": derivation("kv_needed_bytes", needed_kv, kv_terms, found.kv_needed_bytes),
        "needed_bytes": derivation(
            "needed_bytes",
            f"{fixed} + kv_needed_bytes",
            (*parts, term("kv_needed_bytes", found.kv_needed_bytes)),
            found.needed_bytes,
        ),
    }


def _derive_buffers(
    arch: Architecture,
    need: Need,
    runtime: Runtime,
    device: Device,
    layout: Layout,
    over: Overheads,
    states_bytes: int,
) -> dict[str, Derivation]:
    """What the engine holds beside weights, cache and activations: inside its budget, and outside."""
    engine, context = buffer_names(runtime, device, layout)
    graphs, graph_terms = _graphs(arch, need, runtime, layout)

    def constant(name: str) -> Term:
        known = runtime.constants.get(name)
        return Term(
            symbol=name,
            value=runtime.constant(name),
            unit="byte",
            source=known.source if known else "no such buffer in this engine",
        )

    warm = ("sequences * vocabulary * warmup_logit_bytes",)
    warm_terms = (
        Term(symbol="sequences", value=min(over.sequences, over.batched_tokens), unit="request"),
        Term(symbol="vocabulary", value=arch.vocab, unit="token", source=arch.source),
        constant("warmup_logit_bytes"),
    )
    inside: list[str] = [engine]
    inside_terms: list[Term] = [constant(engine)]
    outside: list[str] = []
    outside_terms: list[Term] = []
    if runtime.budget == "fraction_of_total":
        outside, outside_terms = [context, *warm], [constant(context), *warm_terms]
    else:
        inside.append(context)
        inside_terms.append(constant(context))
    if graphs:
        within = runtime.budget != "fraction_of_total" or runtime.graphs_in_budget
        (inside if within else outside).append(graphs)
        (inside_terms if within else outside_terms).extend(graph_terms)
    if states_bytes:
        inside.append("states_bytes")
        states = "states of all sequences, kept from the start"
        inside_terms.append(Term(symbol="states_bytes", value=states_bytes, unit="byte", source=states))
    found = {
        "overhead_bytes": Derivation(
            figure="overhead_bytes",
            formula=" + ".join(inside),
            terms=tuple(inside_terms),
            value=over.inside + states_bytes,
            unit="byte",
        )
    }
    if outside:
        found["outside_bytes"] = Derivation(
            figure="outside_bytes",
            formula=" + ".join(outside),
            terms=tuple(outside_terms),
            value=over.outside,
            unit="byte",
        )
    return found


def _graphs(arch: Architecture, need: Need, runtime: Runtime, layout: Layout) -> tuple[str, tuple[Term, ...]]:
    """Captured graphs as a formula with its numbers; empty where none are captured."""
    names = ("graph_bytes", "graph_layer_bytes", "graph_expert_bytes")
    if need.eager or not any(runtime.constant(name) for name in names):
        return "", ()
    formula = "graph_bytes + graph_layer_bytes * layers / pp"
    used = list(names[:2])
    if arch.has_experts:
        formula, used = f"{formula} + graph_expert_bytes", list(names)
    sources = {name: runtime.constants[name].source for name in used if name in runtime.constants}
    return formula, (
        *(
            Term(symbol=name, value=runtime.constant(name), unit="byte", source=sources.get(name))
            for name in used
        ),
        Term(symbol="layers", value=arch.layer_count, unit="1", source=arch.source),
        Term(symbol="pp", value=layout.pp, unit="1", source="layout of the replica"),
    )


def _derive_weights(arch: Architecture, need: Need, layout: Layout, moved: offload.Offloaded) -> Derivation:
    found = weights.derive(arch, need.weights_format, layout)
    if not moved.device_bytes:
        return found
    gone = Term(symbol="host_memory_bytes", value=moved.device_bytes, unit="byte", source=arch.source)
    return found.model_copy(
        update={
            "formula": f"{found.formula} - host_memory_bytes",
            "terms": (*found.terms, gone),
            "value": found.value - moved.device_bytes,
        }
    )


def _derive_per_token(kv: kv_cache.KvFootprint, need: Need, moved: offload.Offloaded) -> Derivation:
    found = kv_cache.derive(kv, need.typical_tokens)
    if device_cache_fraction(need, moved) == 1.0:
        return found
    here = Term(symbol="device_cache_fraction", value=device_cache_fraction(need, moved), unit="1")
    value = max(1, round(found.value * here.value))
    return found.model_copy(
        update={
            "formula": f"floor(({found.formula}) * device_cache_fraction + 0.5)",
            "terms": (*found.terms, here),
            "value": value,
        }
    )


def _derive_activation(
    arch: Architecture, need: Need, runtime: Runtime, layout: Layout, over: Overheads
) -> Derivation:
    width = 4 if need.weights_format == "fp32" else HALF_BYTES
    values = {
        "batched_tokens": (over.batched_tokens, "token"),
        "sequences": (min(over.sequences, over.batched_tokens), "request"),
        "value_bytes": (width, "byte"),
        "mlp_width": (mlp_width(arch, layout), "1"),
        "hidden": (arch.hidden, "1"),
        "hidden_copies": (runtime.constant("hidden_copies"), "1"),
        "vocabulary": (arch.vocab, "token"),
        "logit_bytes": (runtime.constant("logit_bytes"), "byte"),
        "prompt_value_bytes": (runtime.constant("prompt_value_bytes"), "byte"),
        "score_positions": (0 if need.flash_attention else arch.heads * need.maximum_tokens, "1"),
        "activation_base_bytes": (runtime.constant("activation_base_bytes"), "byte"),
    }
    return Derivation(
        figure="activation_bytes",
        formula=(
            "max(batched_tokens * value_bytes * (mlp_width + hidden_copies * hidden), "
            "sequences * vocabulary * logit_bytes + activation_base_bytes, "
            "batched_tokens * max(vocabulary + 2 * hidden, score_positions) * prompt_value_bytes)"
        ),
        terms=tuple(
            Term(symbol=name, value=value, unit=unit, source=runtime.source)
            for name, (value, unit) in values.items()
        ),
        value=over.activation,
        unit="byte",
    )


def assumptions(
    runtime: Runtime, device: Device | None = None, need: Need | None = None
) -> tuple[Assumption, ...]:
    """The numbers behind every split with this runtime: its options, the user's where given, and its constants."""
    given = need or Need()
    options: list[tuple[str, float | None, float, str]] = [
        ("memory_fraction", given.utilization, runtime.fraction, "1"),
    ]
    if device is not None:
        default = runtime.device_default(device)
        options += [
            ("max_num_batched_tokens", given.batched_tokens, default.batched_tokens, "token"),
            ("max_num_seqs", given.sequences, default.sequences, "request"),
        ]
    listed = [
        Assumption(
            name=name,
            value=usual if own is None else own,
            unit=unit,
            source=runtime.source if own is None else "as entered",
            user_set=own is not None,
        )
        for name, own, usual, unit in options
    ]
    return (*listed, *runtime.constants.values())
