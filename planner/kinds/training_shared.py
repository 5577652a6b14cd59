"""What fine-tuning and pre-training share: their setting, and what the page says of a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from planner import architectures, training_constants
from planner.figures import Figure, duration, gib, ranged, significant
from planner.kinds.frame import Block
from planner.kinds.host_block import (
    Rows,
    host_cautions,
    host_rows,
    local_disk,
    network_per_gpu,
    rate,
    storage_read,
    value,
)
from planner.sizing.architecture import Architecture, ModelError
from planner.sizing.offers import Market
from planner.sizing.quantities import GB
from planner.sizing.results import Candidate, Comparison
from planner.sizing.training.setting import TrainingSetting
from planner.sizing.training.shapes import usual
from planner.sizing.training.workload import PretrainingWorkload, TuningWorkload


def resolved(workload: TuningWorkload | PretrainingWorkload, at: datetime) -> tuple[Any, Architecture]:
    """The workload with its model's revision fixed, and the architecture it means."""
    if isinstance(workload, PretrainingWorkload) and workload.parameters_billion is not None:
        return workload, usual(workload.parameters_billion * 1e9)
    workload = workload.model_copy(update={"model": architectures.frozen(workload.model, at)})
    return workload, architectures.resolve(workload.model)


def setting(workload: TuningWorkload | PretrainingWorkload, at: datetime, market: Market) -> TrainingSetting:
    """Raises ``UnknownModel`` and ``NotSized`` for what cannot be sized at all.

    Spot is affordable only where a run resumes from a checkpoint, whatever was ticked.
    """
    found, arch = resolved(workload, at)
    found = found.model_copy(update={"interruptible": found.spot_allowed})
    constants = training_constants.constants().with_assumed(found.assumed)
    return TrainingSetting(workload=found, arch=arch, constants=constants, market=market, at=at)


def pins(workload: TuningWorkload | PretrainingWorkload, at: datetime) -> Mapping[str, str] | None:
    """The commit of a model that comes from the hub."""
    try:
        revision = architectures.frozen(workload.model, at).revision
    except ModelError:
        return None
    return {} if revision == workload.model.revision else {"revision": revision or ""}


def headline(best: Candidate) -> str:
    words = {
        "gpus": round(value(best, "gpu_count") or 0),
        "name": best.offer.accelerator,
        "machines": best.machines,
        "hours": significant(value(best, "run_hours") or 0.0),
    }
    if words["gpus"] == 1:
        return _("One %(name)s does the run in %(hours)s h") % words
    if best.machines == 1:
        return _("%(gpus)d × %(name)s in one machine do the run in %(hours)s h") % words
    return _("%(gpus)d × %(name)s in %(machines)d machines do the run in %(hours)s h") % words


def _gb(candidate: Candidate, name: str) -> str:
    found = value(candidate, name)
    return _("unknown") if found is None else f"{significant(found / GB)} GB"


def _minutes(candidate: Candidate, name: str) -> str:
    found = value(candidate, name)
    if found is None:
        return _("unknown")
    return f"{significant(found)} s" if found < 120 else f"{significant(found / 60)} min"


RECOMPUTED = {0: gettext_lazy("none"), 1: gettext_lazy("selective"), 2: gettext_lazy("full")}


def blocks(candidate: Candidate) -> tuple[Block, ...]:
    return (
        _run_block(candidate),
        _split_block(candidate),
        _checkpoint_block(candidate),
        _host_block(candidate),
    )


def _run_block(candidate: Candidate) -> Block:
    def row(label: str, name: str, unit: str) -> tuple[str, tuple[Figure | str | None, ...]]:
        found = candidate.figures.get(name)
        if found is None:
            return label, (_("unknown"),)
        return label, (duration(found.estimate) if unit == "s" else ranged(found.estimate, unit),)

    mfu = candidate.figures.get("mfu")
    return Block(
        title=_("The run"),
        heads=(_("predicted"),),
        rows=(
            row(_("One step"), "train_step_s", "s"),
            row(_("Steps per hour"), "steps_per_hour", "1/h"),
            row(_("Samples per second"), "samples_per_s", "1/s"),
            row(_("Tokens per second"), "tokens_per_s", "tok/s"),
            (_("Steps"), (f"{value(candidate, 'steps') or 0:,.0f}",)),
            row(_("Hours"), "run_hours", "h"),
            row(_("Days"), "run_days", "d"),
            row(_("GPU hours"), "gpu_hours", "h"),
            (_("MFU"), (_percent(mfu.value, mfu.low, mfu.high) if mfu else _("unknown"),)),
        ),
        note=_(
            # xgettext:no-python-format
            "With an 80 % range. MFU counts 6 operations a parameter and token, 4 where weights are frozen."
        ),
    )


def _percent(found: float, low: float | None, high: float | None) -> str:
    text = f"{found * 100:.0f} %"
    return text if low is None or high is None else f"{text} ({low * 100:.0f}–{min(100.0, high * 100):.0f} %)"


def _split_block(candidate: Candidate) -> Block:
    layout = candidate.layout
    figure = {
        name: round(value(candidate, name) or 0)
        for name in (
            "gpu_count",
            "micro_batch",
            "accumulation",
            "effective_batch",
            "zero_stage",
            "context_parallel",
            "recompute",
            "trainable",
        )
    }
    context = max(1, figure["context_parallel"])
    rows = [
        (_("GPUs"), (f"{figure['gpu_count']:,}",)),
        (_("Data parallel"), (f"{layout.dp // context:,}",)),
        (_("ZeRO stage"), (f"{figure['zero_stage']}",)),
        (_("Tensor parallel"), (f"{layout.tp}",)),
        (_("Pipeline parallel"), (f"{layout.pp}",)),
        (_("Context parallel"), (f"{context}",)),
        (_("Expert parallel"), (f"{layout.ep}",)),
        (_("Micro-batch × accumulation"), (f"{figure['micro_batch']} × {figure['accumulation']}",)),
        (_("Effective batch, samples"), (f"{figure['effective_batch']:,}",)),
        (_("Recomputation"), (str(RECOMPUTED.get(figure["recompute"], "–")),)),
        (_("Trained parameters"), (f"{figure['trainable']:,}",)),
    ]
    return Block(
        title=_("How it is split"),
        heads=(_("chosen"),),
        rows=tuple(rows),
        note=_("Accumulation raises the effective batch only: neither memory nor tokens per second."),
    )


def _checkpoint_block(candidate: Candidate) -> Block:
    interruptions = value(candidate, "interruptions") or 0.0
    wasted = value(candidate, "wasted_fraction") or 0.0
    rows: list[tuple[str, tuple[str, ...]]] = [
        (_("A checkpoint holds"), (_gb(candidate, "checkpoint_bytes"),)),
        (_("Written in"), (_minutes(candidate, "checkpoint_write_s"),)),
        (_("Written every"), (_minutes(candidate, "checkpoint_interval_s"),)),
        (_("Written in the whole run"), (_gb(candidate, "checkpoint_written_bytes"),)),
        (_("Restored in"), (_minutes(candidate, "restore_s"),)),
        (_("Failures expected in the run"), (significant(interruptions),)),
        (_("Time lost to failures and writing"), (f"{wasted * 100:.1f} %",)),
    ]
    taken = value(candidate, "spot_interruptions")
    if taken is not None:
        rows.append((_("Interruptions expected on spot machines"), (significant(taken),)))
    rework = value(candidate, "rework_fraction")
    if rework is not None:
        rows.append((_("Done twice on spot machines"), (f"{rework * 100:.1f} %",)))
    spare = value(candidate, "spare_machines")
    if spare is not None:
        rows.append((_("Spare machines advised"), (f"{spare:.0f}",)))
    return Block(
        title=_("Checkpoints and failures"),
        heads=(_("estimated"),),
        rows=tuple(rows),
        note=_("Interval by Daly. A run resumes on as many machines as before, with the same checkpoint."),
    )


def _host_block(candidate: Candidate) -> Block:
    loader = value(candidate, "loader_samples_per_s")
    rows: Rows = host_rows(candidate)
    rows += [
        (_("of it shared memory"), (f"{gib(value(candidate, 'host_shared_memory_bytes') or 0)} GiB", "")),
        (_("Page cache that helps"), (f"{gib(value(candidate, 'host_page_cache_bytes') or 0)} GiB", "")),
        (
            _("Samples per second"),
            (
                significant(value(candidate, "samples_per_s") or 0),
                significant(loader) if loader else _("unknown"),
            ),
        ),
        (
            _("Storage, read"),
            (rate(value(candidate, "storage_read_bytes_per_s")), rate(storage_read(candidate))),
        ),
        (
            _("Storage, checkpoints written"),
            (rate(value(candidate, "checkpoint_write_bytes_per_s")), rate(storage_read(candidate))),
        ),
        (_("Local disks"), ("", local_disk(candidate))),
    ]
    if candidate.machines > 1:
        offered = network_per_gpu(candidate)
        assumed = value(candidate, "fabric_offered_bytes_per_s")
        text = rate(offered) if offered else _("%(rate)s assumed") % {"rate": rate(assumed)}
        rows.append(
            (_("Network between machines, each GPU"), (rate(value(candidate, "fabric_bytes_per_s")), text))
        )
    return Block(
        title=_("Host, storage, network"),
        heads=(_("needed"), _("this offer")),
        rows=tuple(rows),
        note=_(
            "What the offer has is what its provider says of this size; where it says nothing the network is assumed."
        ),
    )


def cautions(candidate: Candidate, workload: Mapping[str, Any]) -> tuple[str, ...]:
    found = list(host_cautions(candidate))
    offered, sent = network_per_gpu(candidate), value(candidate, "fabric_bytes_per_s")
    if candidate.machines > 1 and offered is not None and sent is not None and sent > offered:
        found.append(
            _("The run sends %(sent)s a GPU between machines; this offer's network carries %(offered)s.")
            % {"sent": rate(sent), "offered": rate(offered)}
        )
    reads, lets = value(candidate, "storage_read_bytes_per_s"), storage_read(candidate)
    if reads is not None and lets is not None and reads > lets:
        found.append(
            _("The run reads %(reads)s; this machine lets %(lets)s through to network storage.")
            % {"reads": rate(reads), "lets": rate(lets)}
        )
    wait = value(candidate, "data_wait_fraction") or 0.0
    if wait > 0:
        found.append(
            _(
                "The GPUs wait for data %(share)s %% of the time: a faster GPU does not change that. More cores, "
                "faster storage or less work per sample do."
            )
            % {"share": f"{wait * 100:.0f}"}
        )
    if workload.get("checkpoints", {}).get("omitted"):
        found.append(_("Spot machines are left out: without checkpoints an interruption loses the run."))
    return tuple(found)


def memory_note(candidate: Candidate) -> str:
    micro, again = round(value(candidate, "micro_batch") or 1), round(value(candidate, "accumulation") or 1)
    return ngettext(
        "One sample at a time, accumulated %(again)s times",
        "%(micro)s samples at a time, accumulated %(again)s times",
        micro,
    ) % {"micro": f"{micro:,}", "again": f"{again:,}"}


def memory_facts(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    memory = candidate.memory
    return (
        (_("Needed on the fullest GPU"), f"{gib(memory.needed_bytes)} GiB"),
        (_("The software sees"), f"{gib(memory.device_bytes)} GiB"),
    )


def model_line(comparison: Comparison) -> str:
    model = comparison.model
    return _(
        "%(model)s: %(parameters)s billion parameters, %(layers)s layers, vocabulary of %(vocabulary)s."
    ) % {
        "model": model.get("name"),
        "parameters": significant(float(model.get("parameters") or 0) / 1e9),
        "layers": model.get("layers"),
        "vocabulary": f"{int(model.get('vocabulary') or 0):,}",
    }


HOURS_PER_MONTH = 730.0
RESERVED_SHARE = 0.6


def notes(comparison: Comparison, best: Candidate) -> tuple[str, ...]:
    """Whether to reserve, and what a missed deadline asks for."""
    hours = value(best, "run_hours") or 0.0
    runs = max(1.0, float(best.monthly.hours) / hours) if hours else 1.0
    busy = hours * runs
    words = {"hours": f"{busy:,.0f}"}
    if busy >= RESERVED_SHARE * HOURS_PER_MONTH:
        text = _(
            "The machines work %(hours)s h a month: ask for reserved or committed capacity, which usually costs less "
            "from about 440 h a month on, and is the only way to be sure of so many machines together."
        )
    else:
        text = _(
            "The machines work %(hours)s h a month: on demand is enough; a month's reservation would mostly stand idle."
        )
    return (text % words,)
