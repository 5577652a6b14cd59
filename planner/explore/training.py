"""Of a training run: memory against micro-batch and sequence, hours and cost against the number of GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from planner.charts import Axis
from planner.explore.alone import Alone
from planner.explore.shapes import Curve, Curves, Mark
from planner.kinds.frame import Kind
from planner.sizing import compare as core
from planner.sizing.quantities import GIB
from planner.sizing.results import Candidate
from planner.sizing.training import memory, runs
from planner.sizing.training.constants import classes
from planner.sizing.training.job import Job
from planner.sizing.training.options import machine_counts, recomputes
from planner.sizing.training.placing import Search, TrainingPlacement, on_machine
from planner.sizing.training.setting import TrainingSetting

MICRO_BATCHES = (1, 2, 4, 8, 16, 32)
SEQUENCES = (512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
RECOMPUTE = ("none", "selective", "full")
BEYOND = 2.0
"""How far past what is usable, as a multiple, a curve is followed."""
MACHINES_SHOWN = 16
BATCH_KEPT = 1.1
"""So much larger than asked for a batch may become where GPUs do not divide it."""


def _placed(alone: Alone) -> tuple[TrainingSetting, TrainingPlacement] | None:
    found = alone.placed()
    if (
        found is None
        or not isinstance(found[0], TrainingSetting)
        or not isinstance(found[1], TrainingPlacement)
    ):
        return None
    return found[0], found[1]


def _needed_gib(setting: TrainingSetting, placed: TrainingPlacement, job: Job) -> float:
    values = setting.constants.resolve(classes(job, placed.machine.device))
    return float(memory.peak(memory.amounts(job, "device"), values).total) / GIB


def _with_micro(setting: TrainingSetting, job: Job, micro: int) -> Job:
    again = max(1, ceil(setting.question.effective_batch / (micro * job.split.dp)))
    return job.model_copy(update={"micro_batch": micro, "accumulation": again})


def _usable(placed: TrainingPlacement) -> float:
    return placed.planned.usable_bytes / GIB


def _shown(
    lines: list[tuple[str, Callable[[int], Job]]],
    steps: tuple[int, ...],
    setting: TrainingSetting,
    placed: TrainingPlacement,
) -> tuple[Curve, ...]:
    """A curve of memory for each line, as far as anything of it can be seen."""
    curves = []
    for name, job_at in lines:
        points: list[tuple[float, float]] = []
        for step in steps:
            needed = _needed_gib(setting, placed, job_at(step))
            points.append((float(step), needed))
            if needed > BEYOND * _usable(placed) and len(points) > 1:
                break
        curves.append(Curve(name, tuple(points)))
    return tuple(curves)


def memory_by_micro_batch(alone: Alone) -> Curves | None:
    """Memory needed on each GPU over the samples it works on at a time.

    By method, each point with the least recomputation that fits there; of a kind with one method by recomputation.
    """
    found = _placed(alone)
    if found is None:
        return None
    setting, placed = found
    own = placed.choice.job
    caption = _(
        "Split over GPUs as it is, the effective batch kept by accumulation. Above the line nothing fits."
    )
    lines: list[tuple[str, Callable[[int], Job]]] = []
    if len(alone.kind.names) > 1:
        for name, job in _by_method(alone.kind, setting, placed):
            lines.append((name, lambda micro, job=job: _least_recomputed(setting, placed, job, micro)))  # type: ignore[misc]
        if setting.workload.recompute == "auto":
            caption += " " + _(
                "Each point has the least recomputation that fits, or all of it where none does: a curve falls where "
                "more is recomputed."
            )
    else:
        for recompute in RECOMPUTE:
            job = own.model_copy(update={"recompute": recompute})
            lines.append((_recomputation(recompute), lambda micro, job=job: _with_micro(setting, job, micro)))  # type: ignore[misc]
    return Curves(
        title=_("Memory against micro-batch"),
        x=Axis(_("Samples of one GPU at a time"), ""),
        y=Axis(_("Needed on each GPU"), "GiB"),
        curves=_shown(lines, MICRO_BATCHES, setting, placed),
        across=(Mark(_usable(placed), _("usable")),),
        upright=(Mark(float(own.micro_batch), _("now")),),
        caption=caption,
    )


def _least_recomputed(setting: TrainingSetting, placed: TrainingPlacement, job: Job, micro: int) -> Job:
    """With so many samples at a time and the least recomputation that fits, as the search would choose; all of it
    where none fits."""
    room = (placed.planned.usable_bytes - placed.planned.headroom_bytes) / GIB
    tried = job
    for recompute in recomputes(setting.workload.recompute, job.software):
        tried = _with_micro(setting, job.model_copy(update={"recompute": recompute}), micro)
        if _needed_gib(setting, placed, tried) <= room:
            break
    return tried


def _by_method(kind: Kind, setting: TrainingSetting, placed: TrainingPlacement) -> Iterator[tuple[str, Job]]:
    """The job by each method of the kind, split as it is."""
    own = placed.choice.job
    field: Any = next(each for each in kind.fields.values() if each.path == ("kind",))
    titles = dict(field.choices)
    for name in kind.names:
        workload = setting.workload.model_copy(update={"kind": name})
        job = on_machine(setting.changed({"kind": name}).question.task(), placed.machine)
        yield str(titles.get(workload.kind, workload.kind)), job.model_copy(update={"split": own.split})


def _recomputation(name: str) -> str:
    return {
        "none": _("nothing recomputed"),
        "selective": _("selective recomputation"),
        "full": _("full recomputation"),
    }[name]


def memory_by_sequence(alone: Alone) -> Curves | None:
    """Memory needed on each GPU over the length of a sequence, by recomputation."""
    found = _placed(alone)
    if found is None:
        return None
    setting, placed = found
    own = placed.choice.job
    lines: list[tuple[str, Callable[[int], Job]]] = [
        (
            _recomputation(recompute),
            lambda tokens, recompute=recompute: own.model_copy(  # type: ignore[misc]
                update={"recompute": recompute, "sequence": tokens, **_lengths(own, tokens)}
            ),
        )
        for recompute in RECOMPUTE
    ]
    return Curves(
        title=_("Memory against sequence length"),
        x=Axis(_("Longest sequence"), _("tokens")),
        y=Axis(_("Needed on each GPU"), "GiB"),
        curves=_shown(lines, SEQUENCES, setting, placed),
        across=(Mark(_usable(placed), _("usable")),),
        upright=(Mark(float(own.sequence), _("now")),),
        caption=ngettext(
            "With %(micro)s sample at a time, split over GPUs as it is. Above the line nothing fits.",
            "With %(micro)s samples at a time, split over GPUs as it is. Above the line nothing fits.",
            own.micro_batch,
        )
        % {"micro": f"{own.micro_batch:,}"},
    )


def _lengths(job: Job, tokens: int) -> dict[str, float]:
    """The mean of samples that are padded, in the same proportion to the longest."""
    return {} if job.mean_sequence is None else {"mean_sequence": job.mean_sequence / job.sequence * tokens}


def _by_machines(alone: Alone) -> list[tuple[int, Candidate]]:
    """The run on 1, 2, 3 … machines of this offer, those on which it fits, with the GPUs it then has."""
    found = _placed(alone)
    if found is None:
        return []
    setting, placed = found
    asked, machine = setting.question, placed.machine
    search = Search(asked.task())
    room = float(machine.device.engine_total_bytes)
    candidates = []
    most = max(MACHINES_SHOWN, alone.workload.machines_maximum)  # type: ignore[attr-defined]
    for count in machine_counts(most):
        choice = search.best(machine, count, room * (1 - setting.workload.headroom_fraction))
        if choice is None:
            continue
        larger = choice.job.step_samples > asked.effective_batch * BATCH_KEPT
        if larger and choice.job.split.gpu_count != placed.choice.job.split.gpu_count:
            continue  # Fewer, larger steps: another training, which would look faster than it is.
        made = runs.finish(asked, machine, choice, "fits")
        answer = core.one_candidate(setting, [made], 0, derivations=False)
        if isinstance(answer, Candidate):
            candidates.append((choice.job.split.gpu_count, answer))
    return candidates


def hours_by_gpus(alone: Alone) -> Curves | None:
    """Hours of the run over the number of GPUs, with the deadline."""
    found = _by_machines(alone)
    if len(found) < 2:
        return None
    hours = [(gpus, candidate.figures["run_hours"].estimate) for gpus, candidate in found]
    deadline = getattr(alone.workload, "deadline_hours", None)
    across = (
        (Mark(float(deadline), _("deadline")),)
        if isinstance(deadline, int | float) and not isinstance(deadline, bool)
        else ()
    )
    return Curves(
        title=_("Hours for the run against the number of GPUs"),
        x=Axis(_("GPUs"), ""),
        y=Axis(_("Hours for the run"), "h"),
        curves=(
            Curve(
                _("hours"),
                tuple((float(gpus), one.value) for gpus, one in hours),
                tuple((one.low, one.high) for _gpus, one in hours),
            ),
        ),
        across=across,
        upright=_now(alone),
        caption=_(
            # xgettext:no-python-format
            "Mean with its 80 % range, on whole machines of this offer that keep the batch, each with the split that "
            "is fastest there. Where the curve bends, links and waiting take what more GPUs bring."
        ),
    )


def cost_by_hours(alone: Alone) -> Curves | None:
    """Cost of the run against its hours, over the number of machines."""
    points = []
    currency, is_complete = "", True
    for _gpus, candidate in _by_machines(alone):
        cost = candidate.unit_costs.get("run")
        if cost is not None:
            points.append((candidate.figures["run_hours"].value, float(cost)))
            currency, is_complete = candidate.monthly.currency, candidate.monthly.complete
    if len(points) < 2:
        return None
    return Curves(
        title=_("Cost of the run against its hours"),
        x=Axis(_("Hours for the run"), "h"),
        y=Axis(_("Cost of a run") if is_complete else _("Cost of a run, known lines alone"), currency),
        curves=(Curve(_("cost"), tuple(sorted(points))),),
        upright=_hours_now(alone),
        caption=_(
            "Each point is a number of machines of this offer: more of them finish sooner and cost more, as far as "
            "they wait for one another."
        ),
    )


def _now(alone: Alone) -> tuple[Mark, ...]:
    found = _placed(alone)
    return () if found is None else (Mark(float(found[1].choice.job.split.gpu_count), _("now")),)


def _hours_now(alone: Alone) -> tuple[Mark, ...]:
    found = _placed(alone)
    return () if found is None else (Mark(found[1].run_hours.value, _("now")),)
