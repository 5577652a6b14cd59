"""How the figures of a training run come about, with the numbers in them."""

from __future__ import annotations

from planner.sizing.quantities import Derivation, Term
from planner.sizing.training import checkpoints
from planner.sizing.training.counting import parameters
from planner.sizing.training.job import Job
from planner.sizing.training.placing import TrainingPlacement
from planner.sizing.training.question import Question
from planner.sizing.training.states import BYTES, moment_bytes


def derive(asked: Question, placed: TrainingPlacement) -> dict[str, Derivation]:
    """Every derivation of a run by the name of its figure."""
    found = [_needed(placed), _step(placed), *_run(asked, placed)]
    if placed.choice.job.method == "full":
        found.append(_state(placed.choice.job))
    if "checkpoint_interval_s" in placed.facts and asked.workload.checkpoints.interval_minutes is None:
        found.append(_interval(placed))
    return {item.figure: item for item in found}


def _term(symbol: str, value: float, unit: str, source: str | None = None) -> Term:
    return Term(symbol=symbol, value=value, unit=unit, source=source)


def _needed(placed: TrainingPlacement) -> Derivation:
    parts = placed.planned.parts
    return Derivation(
        figure="needed_bytes",
        formula=" + ".join(part.name for part in parts),
        terms=tuple(_term(part.name, part.size_bytes, "byte") for part in parts),
        value=placed.planned.needed_bytes,
        unit="byte",
    )


def _state(job: Job) -> Derivation:
    """Weights, gradients and optimizer of the dense parameters that one GPU holds, before ZeRO."""
    kept = BYTES[job.state]
    moments = moment_bytes(job.state, job.optimizer)
    held = parameters(job)
    own = held.dense + held.experts
    return Derivation(
        figure="state_bytes",
        formula="parameters * (weight + gradient + master + moments)",
        terms=(
            _term("parameters", own, "1"),
            _term("weight", kept.weights, "byte"),
            _term("gradient", kept.gradients, "byte"),
            _term("master", kept.master, "byte"),
            _term("moments", moments, "byte"),
        ),
        value=own * (kept.weights + kept.gradients + kept.master + moments),
        unit="byte",
    )


def _step(placed: TrainingPlacement) -> Derivation:
    step = placed.choice.step
    names = (
        "products_s",
        "attention_s",
        "traffic_s",
        "launch_s",
        "tensor_s",
        "experts_s",
        "data_s",
        "bubble_s",
        "optimizer_s",
    )
    wait = placed.facts["data_wait_fraction"]
    return Derivation(
        figure="train_step_s",
        formula=f"({' + '.join(names)}) / (1 - data_wait)",
        terms=(
            *(_term(name, float(getattr(step, name)), "s") for name in names),
            _term("data_wait", wait, "1"),
        ),
        value=placed.step_s.value,
        unit="s",
    )


def _run(asked: Question, placed: TrainingPlacement) -> tuple[Derivation, ...]:
    facts, job = placed.facts, placed.choice.job
    hours = Derivation(
        figure="run_hours",
        formula="steps * step_s / 3600 / (1 - wasted)",
        terms=(
            _term("steps", facts["steps"], "1"),
            _term("step_s", placed.step_s.value, "s"),
            _term("wasted", facts["wasted_fraction"], "1"),
        ),
        value=placed.run_hours.value,
        unit="h",
    )
    rate = Derivation(
        figure="tokens_per_s",
        formula="micro_batch * accumulation * data_parallel * sample_tokens / step_s",
        terms=(
            _term("micro_batch", job.micro_batch, "1"),
            _term("accumulation", job.accumulation, "1"),
            _term("data_parallel", job.split.dp, "1"),
            _term("sample_tokens", job.sample_tokens, "token"),
            _term("step_s", placed.step_s.value, "s"),
        ),
        value=facts["tokens_per_s"],
        unit="tokens/s",
    )
    steps = Derivation(
        figure="steps",
        formula="ceil(samples / effective_batch)",
        terms=(_term("samples", asked.samples, "1"), _term("effective_batch", job.step_samples, "1")),
        value=facts["steps"],
        unit="1",
    )
    return hours, rate, steps


def _interval(placed: TrainingPlacement) -> Derivation:
    write = placed.facts["checkpoint_write_s"]
    gpus = placed.choice.job.split.gpu_count
    between = checkpoints.mean_time_between_failures_s(gpus)
    ratio = write / (2 * between)
    hours = checkpoints.GPU_HOURS_PER_FAILURE
    return Derivation(
        figure="checkpoint_interval_s",
        formula="(2 * write_s * between_s) ** 0.5 * (1 + ratio ** 0.5 / 3 + ratio / 9) - write_s",
        terms=(
            _term("write_s", write, "s"),
            _term("between_s", between, "s", hours.source),
            _term("ratio", ratio, "1"),
        ),
        value=placed.facts["checkpoint_interval_s"],
        unit="s",
    )
