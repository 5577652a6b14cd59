"""How the figures of a training run come about, with the numbers in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.sizing import bill
from planner.sizing.derivations import of_one_run
from planner.sizing.quantities import GB, Derivation
from planner.sizing.results import Candidate
from planner.sizing.training import (
    checkpoints,
    host_derivations,
    memory_derivations,
    runs,
    step_derivations,
)
from planner.sizing.training.counting import parameters
from planner.sizing.training.flops import useful_flops_per_token
from planner.sizing.training.job import Job
from planner.sizing.training.placing import TrainingPlacement
from planner.sizing.training.question import Question
from planner.sizing.training.speed import peak_flops
from planner.sizing.training.states import BYTES, moment_bytes
from planner.sizing.training.terms import CHOSEN, ENTERED, MODEL, Constants, made, plain

SECONDS_PER_HOUR = 3600


def derive(asked: Question, placed: TrainingPlacement) -> dict[str, Derivation]:
    """Every derivation of a run by the name of its figure."""
    constants = Constants(asked, placed)
    found = memory_derivations.derive(placed, constants)
    if placed.choice.job.method == "full":
        found["state_bytes"] = _state(placed.choice.job)
    found |= step_derivations.derive(placed, constants)
    for item in (*_split(asked, placed), *_run(asked, placed), *_checkpoints(asked, placed)):
        found[item.figure] = item
    return found | host_derivations.derive(asked, placed)


def run_cost(candidate: Candidate, run: bill.Run) -> dict[str, Derivation]:
    """What one run costs, as ``bill.of_one_run`` counts it."""
    cost = candidate.unit_costs.get("run")
    if cost is None:
        return {}
    return {"run_cost": of_one_run("run_cost", "runs", candidate.monthly, run, cost)}


def _state(job: Job) -> Derivation:
    """Weights, gradients and optimizer of the dense parameters that one GPU holds, before ZeRO."""
    kept = BYTES[job.state]
    moments = moment_bytes(job.state, job.optimizer)
    held = parameters(job)
    own = held.dense + held.experts
    return made(
        "state_bytes",
        "parameters * (weight + gradient + master + moments)",
        [
            plain("parameters", own, "1", MODEL),
            plain("weight", kept.weights, "byte"),
            plain("gradient", kept.gradients, "byte"),
            plain("master", kept.master, "byte"),
            plain("moments", moments, "byte"),
        ],
        own * (kept.weights + kept.gradients + kept.master + moments),
        "byte",
    )


def _split(asked: Question, placed: TrainingPlacement) -> Iterator[Derivation]:
    """GPUs and the batch they share."""
    job = placed.choice.job
    split, facts = job.split, placed.facts
    gpus = plain("gpu_count", split.gpu_count)
    data = plain("data_parallel", split.dp)
    micro = plain("micro_batch", job.micro_batch, "1", CHOSEN)
    yield made(
        "gpu_count",
        "tp * pp * cp * data_parallel",
        [
            plain("tp", split.tp, "1", CHOSEN), plain("pp", split.pp, "1", CHOSEN), plain("cp", split.cp, "1", CHOSEN),
            data,
        ],
        facts["gpu_count"],
        "1",
    )  # fmt: skip
    yield made(
        "data_parallel",
        "gpu_count / (tp * pp * cp)",
        [
            gpus, plain("tp", split.tp, "1", CHOSEN), plain("pp", split.pp, "1", CHOSEN),
            plain("cp", split.cp, "1", CHOSEN),
        ],
        split.dp,
        "1",
    )  # fmt: skip
    wanted = plain("batch_asked", asked.effective_batch, "1", ENTERED)
    yield made(
        "accumulation",
        "max(1, ceil(batch_asked / (micro_batch * data_parallel)))",
        [wanted, micro, data],
        facts["accumulation"],
        "1",
    )
    yield made(
        "effective_batch",
        "micro_batch * accumulation * data_parallel",
        [micro, plain("accumulation", job.accumulation), data],
        facts["effective_batch"],
        "1",
    )
    if job.method != "full" and job.rank:
        widths = parameters(job).total_adapters / job.rank
        yield made(
            "trainable",
            "rank * adapted_widths",
            [
                plain("rank", job.rank, "1", ENTERED),
                plain(
                    "adapted_widths", widths, "1", "inputs and outputs of every matrix that has an adapter"
                ),
            ],
            facts["trainable"],
            "1",
        )


def _run(asked: Question, placed: TrainingPlacement) -> Iterator[Derivation]:
    facts, job = placed.facts, placed.choice.job
    step = plain("train_step_s", placed.step_s.value, "s")
    batch = plain("effective_batch", facts["effective_batch"], "1")
    hours = plain("run_hours", placed.run_hours.value, "h")
    gpus = plain("gpu_count", facts["gpu_count"])
    tokens = plain("tokens_per_s", facts["tokens_per_s"], "token/s")
    yield made(
        "run_hours",
        f"steps * train_step_s / {SECONDS_PER_HOUR} / (1 - wasted_fraction)",
        [plain("steps", facts["steps"]), step, plain("wasted_fraction", facts["wasted_fraction"])],
        placed.run_hours.value,
        "h",
    )
    yield made("run_days", "run_hours / 24", [hours], facts["run_days"], "day")
    yield made("gpu_hours", "run_hours * gpu_count", [hours, gpus], facts["gpu_hours"], "h")
    yield made(
        "tokens_per_s",
        "effective_batch * sample_tokens / train_step_s",
        [batch, plain("sample_tokens", job.sample_tokens, "token", ENTERED), step],
        facts["tokens_per_s"],
        "token/s",
    )
    yield made(
        "samples_per_s", "effective_batch / train_step_s", [batch, step], facts["samples_per_s"], "1/s"
    )
    yield made("steps_per_hour", f"{SECONDS_PER_HOUR} / train_step_s", [step], facts["steps_per_hour"], "1/h")
    yield made(
        "steps",
        "ceil(samples / effective_batch)",
        [plain("samples", asked.samples, "1", ENTERED), batch],
        facts["steps"],
        "1",
    )
    flops, _rate = peak_flops(placed.machine.device, job.precision)
    yield made(
        "mfu",
        "tokens_per_s / gpu_count * flops_per_token / peak_flops_per_s",
        [
            tokens,
            gpus,
            plain(
                "flops_per_token",
                useful_flops_per_token(job),
                "FLOP",
                "6 or 4 × active parameters (without input embeddings and experts not chosen)",
            ),
            plain("peak_flops_per_s", flops, "FLOP/s", placed.machine.device.source),
        ],
        facts["mfu"],
        "1",
    )


def _checkpoints(asked: Question, placed: TrainingPlacement) -> Iterator[Derivation]:
    """What is written and read again, how often, and what failures cost."""
    workload, facts, job = asked.workload, placed.facts, placed.choice.job
    assumed, machines = workload.assumed, placed.choice.machines
    several = plain("machines", machines)
    size = plain("checkpoint_bytes", facts["checkpoint_bytes"], "byte")
    hours = plain("run_hours", placed.run_hours.value, "h")
    yield _content(asked, job, facts)
    read = plain("read_bytes_per_s", workload.storage.read_gb_per_s * GB, "byte/s", ENTERED)
    yield made(
        "restore_s",
        "checkpoint_bytes / (read_bytes_per_s * machines)",
        [size, read, several],
        facts["restore_s"],
        "s",
    )
    gpus = plain("gpu_count", facts["gpu_count"])
    failure = checkpoints.GPU_HOURS_PER_FAILURE.term(assumed)
    between = checkpoints.mean_time_between_failures_s(int(facts["gpu_count"]), assumed=assumed)
    yield made(
        "between_s", f"{SECONDS_PER_HOUR} * gpu_hours_per_failure / gpu_count", [failure, gpus], between, "s"
    )
    apart = plain("between_s", between, "s")
    yield made(
        "interruptions",
        f"run_hours * {SECONDS_PER_HOUR} / between_s",
        [hours, apart],
        facts["interruptions"],
        "1",
    )
    if "spare_machines" in facts:
        yield made(
            "spare_machines",
            "ceil(gpu_count * repair_hours / gpu_hours_per_failure)",
            [gpus, checkpoints.REPAIR_HOURS.term(assumed), failure],
            facts["spare_machines"],
            "1",
        )
    if not workload.checkpoints.planned:
        yield made(
            "wasted_fraction",
            "min(0.99, productive_s / 2 / between_s)",
            [plain("productive_s", facts["steps"] * placed.step_s.value, "s"), apart],
            facts["wasted_fraction"],
            "1",
        )
        return
    write = plain("checkpoint_write_s", facts["checkpoint_write_s"], "s")
    written = plain("write_bytes_per_s", workload.storage.write_gb_per_s * GB, "byte/s", ENTERED)
    yield made(
        "checkpoint_write_s",
        "checkpoint_bytes / (write_bytes_per_s * machines)",
        [size, written, several],
        facts["checkpoint_write_s"],
        "s",
    )
    yield made(
        "checkpoint_write_bytes_per_s",
        "checkpoint_bytes / checkpoint_write_s",
        [size, write],
        facts["checkpoint_write_bytes_per_s"],
        "byte/s",
    )
    interval = plain("checkpoint_interval_s", facts["checkpoint_interval_s"], "s")
    if workload.checkpoints.interval_minutes is None:
        yield _best_interval("checkpoint_interval_s", facts["checkpoint_write_s"], between)
    else:
        yield made(
            "checkpoint_interval_s",
            "minutes * 60",
            [plain("minutes", workload.checkpoints.interval_minutes, "min", ENTERED)],
            facts["checkpoint_interval_s"],
            "s",
        )
    yield made(
        "checkpoint_written_bytes",
        f"checkpoint_bytes * max(1, floor(run_hours * {SECONDS_PER_HOUR} / max(checkpoint_interval_s, 1)))",
        [size, hours, interval],
        facts["checkpoint_written_bytes"],
        "byte",
    )
    restart = workload.checkpoints.restart_minutes * 60 + facts["restore_s"]
    again = plain("restart_s", restart, "s", "as entered, and restoring")
    lost = "min(0.99, {write} / ({every} + {write}) + ({every} / 2 + {write} + restart_s) / {apart})"
    yield made(
        "wasted_fraction",
        lost.format(write="checkpoint_write_s", every="checkpoint_interval_s", apart="between_s"),
        [write, interval, again, apart],
        facts["wasted_fraction"],
        "1",
    )
    taken = bill.INTERRUPTIONS_PER_HOUR.term(assumed)
    yield made(
        "spot_interruptions",
        "run_hours * interruptions_per_hour * machines",
        [hours, taken, several],
        facts["spot_interruptions"],
        "1",
    )
    on_spot = checkpoints.mean_time_between_failures_s(
        int(facts["gpu_count"]), taken.value * machines, assumed
    )
    own = runs.interval_s(asked, facts["checkpoint_write_s"], on_spot)
    yield made(
        "rework_fraction",
        lost.format(write="checkpoint_write_s", every="spot_interval_s", apart="spot_between_s"),
        [
            write,
            plain("spot_interval_s", own, "s", "written as often as spot machines ask for"),
            again,
            plain("spot_between_s", on_spot, "s", "failures and interruptions together"),
        ],
        facts["rework_fraction"],
        "1",
    )


def _content(asked: Question, job: Job, facts: Mapping[str, float]) -> Derivation:
    kept = BYTES[job.state]
    weights_only = asked.workload.checkpoints.content == "weights"
    each = {"served": checkpoints.SERVED_BYTES} if weights_only else {
        "weight": kept.weights, "master": kept.master, "moments": moment_bytes(job.state, job.optimizer)
    }  # fmt: skip
    total = sum(each.values())
    return made(
        "checkpoint_bytes",
        f"trained * ({' + '.join(each)})",
        [
            plain("trained", facts["checkpoint_bytes"] / total if total else 0.0, "1", MODEL),
            *(plain(name, value, "byte") for name, value in each.items()),
        ],
        facts["checkpoint_bytes"],
        "byte",
    )


def _best_interval(figure: str, write_s: float, between_s: float) -> Derivation:
    """Daly's interval, of which the first factor alone is Young's; the mean time where writing takes as long."""
    ratio = write_s / (2 * between_s)
    terms = [plain("checkpoint_write_s", write_s, "s"), plain("between_s", between_s, "s")]
    if ratio >= 1:
        return made(figure, "between_s", terms[1:], between_s, "s")
    return made(
        figure,
        "(2 * checkpoint_write_s * between_s) ** 0.5 * (1 + ratio ** 0.5 / 3 + ratio / 9) - checkpoint_write_s",
        [*terms, plain("ratio", ratio, "1", "checkpoint_write_s ÷ (2 × between_s)")],
        checkpoints.best_interval_s(write_s, between_s),
        "s",
    )
