"""How each part of the memory of a training GPU comes about, at its fullest moment."""

from __future__ import annotations

from planner.sizing.quantities import Derivation, Term
from planner.sizing.training import memory
from planner.sizing.training.counting import parameters
from planner.sizing.training.job import Job
from planner.sizing.training.memory import Amounts
from planner.sizing.training.placing import TrainingPlacement
from planner.sizing.training.states import BYTES, ON_HOST, frozen_bytes, moment_bytes
from planner.sizing.training.terms import MODEL, Constants, made, plain

KEPT = "kept for each parameter (docs/methods-training.md)"
COPIES = "copies that the precision asks for: casts, FP8 weights and transposes"
SHARED = "data-parallel ranks that share it at this ZeRO stage"
SCORES = "scores of one layer, where they are written out"


def derive(placed: TrainingPlacement, constants: Constants) -> dict[str, Derivation]:
    """The sum, and every part that takes anything."""
    shown = {part.name: part.size_bytes for part in placed.planned.parts}
    whole = made(
        "needed_bytes",
        " + ".join(f"{name}_bytes" for name, size in shown.items() if size),
        [plain(f"{name}_bytes", size, "byte") for name, size in shown.items() if size],
        placed.planned.needed_bytes,
        "byte",
    )
    found = [whole, *_states(placed.choice.job, shown), *_moment(placed.choice.job, shown, constants)]
    return {item.figure: item for item in found}


def _states(job: Job, shown: dict[str, int]) -> list[Derivation]:
    """Frozen weights, and weights, gradients and optimizer of what is trained."""
    held, split, kept = parameters(job), job.split, BYTES[job.state]
    found = []
    if shown["frozen"]:
        before = frozen_bytes(job, held) if job.method != "full" else 0.0
        shards = float(split.shard_count if split.zero_stage >= 3 else 1)
        terms = [plain("frozen_before", before, "byte", MODEL), plain("shards", shards, "1", SHARED)]
        found.append(
            _exact("frozen_bytes", "frozen_before / shards", terms, before / shards, shown["frozen"])
        )
    on_host = job.optimizer in ON_HOST or job.offload_optimizer
    moments = 0.0 if on_host else moment_bytes(job.state, job.optimizer)
    master = 0.0 if job.offload_optimizer else kept.master
    for figure, name, stage, parts in (
        ("trainable_bytes", "trainable", 3, (("weight_bytes", kept.weights),)),
        ("gradients_bytes", "gradients", 2, (("gradient_bytes", kept.gradients),)),
        ("optimizer_bytes", "optimizer", 1, (("master_bytes", master), ("moment_bytes", moments))),
    ):
        if not shown[name]:
            continue
        counts, count_terms, count = _trained(job, stage)
        each = " + ".join(symbol for symbol, _value in parts)
        terms = [*count_terms, *(plain(symbol, value, "byte", KEPT) for symbol, value in parts)]
        value = count * sum(value for _symbol, value in parts)
        found.append(_exact(figure, f"({counts}) * ({each})", terms, value, shown[name]))
    return found


def _trained(job: Job, stage: int) -> tuple[str, list[Term], float]:
    """Trained parameters of one GPU whose state of this ZeRO stage it keeps."""
    held, split = parameters(job), job.split
    shards = float(split.shard_count if split.zero_stage >= stage else 1)
    if job.method != "full":
        own = held.adapters + (held.embedding if job.embeddings_trained else 0.0)
        return (
            "trained / shards",
            [plain("trained", own, "1", MODEL), plain("shards", shards, "1", SHARED)],
            own / shards,
        )
    fraction = 1.0
    if job.trainable_parameters is not None:
        fraction = min(1.0, job.trainable_parameters / held.total)
    dense, experts = held.dense * fraction, held.experts * fraction
    terms = [plain("dense", dense, "1", MODEL), plain("shards", shards, "1", SHARED)]
    if not experts:
        return "dense / shards", terms, dense / shards
    apart = float(split.expert_shard_count if split.zero_stage >= stage else 1)
    terms += [plain("experts", experts, "1", MODEL), plain("expert_shards", apart, "1", SHARED)]
    return "dense / shards + experts / expert_shards", terms, dense / shards + experts / apart


def _exact(figure: str, formula: str, terms: list[Term], value: float, shown: float) -> Derivation:
    """With what the precision keeps besides, where the plain product is less than what is held."""
    beside = shown - value
    if abs(beside) > max(1.0, 1e-6 * shown):
        formula, terms = f"{formula} + copies_bytes", [*terms, plain("copies_bytes", beside, "byte", COPIES)]
    return made(figure, formula, terms, shown, "byte")


def _moment(job: Job, shown: dict[str, int], c: Constants) -> list[Derivation]:
    """Activations, logits, buffers and what the allocator adds, at the moment that needs most."""
    found = memory.amounts(job, "device")
    stored, stored_terms = _stored(found, c)
    working, working_terms = _working(found, c)
    buffers, buffer_terms = "gathered_layer_bytes * gathered_layers", [
        plain("gathered_layer_bytes", float(found.gathered), "byte", MODEL), c.term("gathered_layers"),
    ]  # fmt: skip
    if found.whole:
        buffers += " + gathered_whole_bytes * whole_fraction"
        buffer_terms += [
            plain("gathered_whole_bytes", float(found.whole), "byte", MODEL),
            c.term("whole_fraction"),
        ]
    logits, logit_terms = _logits(found, c)
    widened = plain("widened_bytes", float(found.dequantised), "byte", MODEL)
    moment = _which(found, c)
    at_end = logits if moment.logits_last else working
    end_terms = logit_terms if moment.logits_last else working_terms
    parts: list[tuple[str, str, list[Term]]] = []
    if moment.name == "forward":
        beside = "" if moment.logits_last else f" + {working} - widened_bytes"
        parts.append(
            (
                "activations",
                f"{stored}{beside}",
                [*stored_terms, *([] if not beside else [*working_terms, widened])],
            )
        )
        if not moment.logits_last:
            buffers, buffer_terms = f"{buffers} + widened_bytes", [*buffer_terms, widened]
    elif moment.name == "late":
        parts.append(("activations", f"{working} - widened_bytes", [*working_terms, widened]))
        buffers, buffer_terms = f"{buffers} + widened_bytes", [*buffer_terms, widened]
    else:
        buffers = "stepped_bytes * step_copies"
        buffer_terms = [plain("stepped_bytes", float(found.stepped), "byte", MODEL), c.term("step_copies")]
    parts.append(("logits", logits, logit_terms))
    parts.append(("work_buffers", buffers, buffer_terms))
    lost, lost_terms = _fragmentation(found, c)
    parts.append(
        ("fragmentation", f"max({stored} + {at_end}, {working}) * {lost}",
         [*stored_terms, *end_terms, *working_terms, *lost_terms]),
    )  # fmt: skip
    parts.append(("overhead", *_runtime(found, c)))
    return [
        made(f"{name}_bytes", formula, terms, shown[name], "byte")
        for name, formula, terms in parts
        if shown[name]
    ]


class _Moment:
    """Which of forward end, backward and optimizer's step needs most, as ``memory.peak`` tells them apart."""

    def __init__(self, name: str, *, logits_last: bool) -> None:
        self.name, self.logits_last = name, logits_last


def _which(found: Amounts, c: Constants) -> _Moment:
    copies = c["activation_copies"] * (1 - float(found.adapters) * (1 - c["adapter_activation_fraction"]))
    share = float(found.kept_inner) + float(found.selective) * c["selective_fraction"]
    stored = float(found.inner) * copies * share + float(found.boundary) * (1 - float(found.kept_inner))
    scores = float(found.scores) * float(found.score_layers) * c["score_bytes"]
    working = float(found.layer) * copies * c["working_layers"] + float(found.dequantised)
    working += float(found.scores) * c["working_score_bytes"]
    logits = float(found.logits) * c["logit_bytes"]
    logits *= 1 - float(found.chunked) * (1 - c["chunked_logit_fraction"])
    gathered = float(found.gathered) * c["gathered_layers"] + float(found.whole) * c["whole_fraction"]
    early = float(found.gradients) * float(found.early_gradients)
    forward = stored + scores + max(logits, working) + gathered + early
    late = float(found.gradients) + working + gathered
    step = float(found.gradients) + float(found.stepped) * c["step_copies"]
    name = "forward" if forward >= max(late, step) else "late" if late >= step else "step"
    return _Moment(name, logits_last=logits >= working)


def _copies(found: Amounts, c: Constants) -> tuple[str, list[Term]]:
    if found.adapters:
        return "activation_copies * adapter_activation_fraction", [
            c.term("activation_copies"), c.term("adapter_activation_fraction")
        ]  # fmt: skip
    return "activation_copies", [c.term("activation_copies")]


def _stored(found: Amounts, c: Constants) -> tuple[str, list[Term]]:
    """What layers keep for the backward pass."""
    copies, terms = _copies(found, c)
    inner = plain("layers_bytes", float(found.inner), "byte", MODEL)
    boundary = plain("inputs_bytes", float(found.boundary), "byte", MODEL)
    if found.kept_inner:
        formula, terms = f"layers_bytes * {copies}", [inner, *terms]
    elif found.selective:
        formula = f"layers_bytes * {copies} * selective_fraction + inputs_bytes"
        terms = [inner, *terms, c.term("selective_fraction"), boundary]
    else:
        formula, terms = "inputs_bytes", [boundary]
    if found.scores and found.score_layers:
        formula += " + scores * score_layers * score_bytes"
        terms = [*terms, plain("scores", float(found.scores), "1", SCORES)]
        terms += [plain("score_layers", float(found.score_layers), "1", MODEL), c.term("score_bytes")]
    return formula, terms


def _working(found: Amounts, c: Constants) -> tuple[str, list[Term]]:
    """The layers that are worked on: their activations, widened weights, scores."""
    copies, terms = _copies(found, c)
    formula = f"layer_bytes * {copies} * working_layers + widened_bytes"
    terms = [plain("layer_bytes", float(found.layer), "byte", MODEL), *terms, c.term("working_layers")]
    terms.append(plain("widened_bytes", float(found.dequantised), "byte", MODEL))
    if found.scores:
        formula += " + scores * working_score_bytes"
        terms += [plain("scores", float(found.scores), "1", SCORES), c.term("working_score_bytes")]
    return f"({formula})", terms


def _logits(found: Amounts, c: Constants) -> tuple[str, list[Term]]:
    formula, terms = (
        "logits * logit_bytes",
        [plain("logits", float(found.logits), "1", MODEL), c.term("logit_bytes")],
    )
    if found.chunked:
        formula, terms = f"{formula} * chunked_logit_fraction", [*terms, c.term("chunked_logit_fraction")]
    return formula, terms


def _fragmentation(found: Amounts, c: Constants) -> tuple[str, list[Term]]:
    if not found.variable:
        return "fragmentation_fraction", [c.term("fragmentation_fraction")]
    return "(fragmentation_fraction + variable_fragmentation_fraction)", [
        c.term("fragmentation_fraction"), c.term("variable_fragmentation_fraction")
    ]  # fmt: skip


def _runtime(found: Amounts, c: Constants) -> tuple[str, list[Term]]:
    formula, terms = "base_bytes + context_bytes", [c.term("base_bytes"), c.term("context_bytes")]
    if found.several:
        formula, terms = f"{formula} + communication_bytes", [*terms, c.term("communication_bytes")]
    return formula, terms
