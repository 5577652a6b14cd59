"""What fine-tuning and pre-training share: their setting, and what the page says of a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from planner import architectures, training_constants
from planner.figures import Figure, gib, given, hours, significant
from planner.kinds.host_block import host_cautions, network_per_gpu, rate, storage_read, value
from planner.kinds.run_blocks import advised
from planner.sizing.architecture import Architecture, ModelError
from planner.sizing.offers import Market
from planner.sizing.results import Candidate, Comparison
from planner.sizing.training.setting import TrainingSetting
from planner.sizing.training.shapes import usual
from planner.sizing.training.workload import PretrainingWorkload, TuningWorkload

OPERATION_BYTES = 256 * 1024
"""What one operation on network block storage carries at most (AWS: EBS I/O characteristics, SSD volumes)."""


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
    text, unit = hours(value(best, "run_hours") or 0.0)
    gpus = round(value(best, "gpu_count") or 0)
    words = {
        "gpus": f"{gpus:,}",
        "name": best.offer.accelerator,
        "machines": f"{best.machines_each:,}",
        "time": " ".join((text, _("h") if unit == "h" else unit)),
    }
    if gpus == 1:
        return _("One %(name)s does the run in %(time)s") % words
    if best.machines_each == 1:
        return _("%(gpus)s × %(name)s in one machine do the run in %(time)s") % words
    return _("%(gpus)s × %(name)s in %(machines)s machines do the run in %(time)s") % words


def cautions(candidate: Candidate, workload: Mapping[str, Any]) -> tuple[str, ...]:
    found = list(host_cautions(candidate))
    offered, sent = network_per_gpu(candidate), value(candidate, "fabric_bytes_per_s")
    if candidate.machines_each > 1 and offered is not None and sent is not None and sent > offered:
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
    found += operations(candidate, workload)
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


def operations(candidate: Candidate, workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Whether samples that are read at random ask for more operations than the machine lets through.

    One for each sample and machine, more where a sample is larger than one operation carries.
    """
    host, reads = candidate.offer.host, value(candidate, "storage_read_bytes_per_s")
    at_random = workload.get("storage", {}).get("pattern") == "random"
    if not at_random or reads is None or host is None or host.storage_iops is None:
        return ()
    samples = (value(candidate, "samples_per_s") or 0.0) / candidate.machines_each
    needed = max(samples, reads / OPERATION_BYTES)
    if needed <= host.storage_iops:
        return ()
    return (
        _(
            "Read at random, the run asks for %(needed)s operations a second; this machine lets %(lets)s through."
        )
        % {"needed": f"{needed:,.0f}", "lets": f"{host.storage_iops:,}"},
    )


def memory_note(candidate: Candidate) -> str:
    micro, again = round(value(candidate, "micro_batch") or 1), round(value(candidate, "accumulation") or 1)
    return ngettext(
        "One sample at a time, accumulated %(again)s times",
        "%(micro)s samples at a time, accumulated %(again)s times",
        micro,
    ) % {"micro": f"{micro:,}", "again": f"{again:,}"}


def memory_facts(candidate: Candidate) -> tuple[tuple[str, Figure], ...]:
    memory = candidate.memory
    return (
        (_("Needed on the fullest GPU"), Figure(gib(memory.needed_bytes), "GiB", opens="needed_bytes")),
        (_("The software sees"), given(gib(memory.device_bytes), "GiB")),
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


def tokens_of_an_epoch(workload: Mapping[str, Any]) -> str:
    """What samples and their length come to, for whoever counts in tokens."""
    lengths, samples = workload.get("lengths", {}), int(workload.get("sample_count", 0))
    tokens = int(lengths.get("maximum", 0))
    if lengths.get("padded"):
        tokens = int(lengths.get("mean") or max(1, tokens // 2))
    an_epoch = samples * tokens / 1e6
    return _(
        "%(samples)s samples × %(tokens)s tokens make %(epoch)s million tokens an epoch, %(run)s million in the run."
    ) % {
        "samples": f"{samples:,}",
        "tokens": f"{tokens:,}",
        "epoch": significant(an_epoch),
        "run": significant(an_epoch * float(workload.get("epochs", 1))),
    }


HOURS_PER_MONTH = 730.0
RESERVED_SHARE = 0.6


def notes(comparison: Comparison, best: Candidate) -> tuple[str, ...]:
    """Whether to reserve: by the prices that are known, else by the hours of a month."""
    told = advised(best)
    if told:
        return told
    hours = value(best, "run_hours") or 0.0
    runs = max(1.0, float(best.monthly.hours) / hours) if hours else 1.0
    busy = hours * runs / best.monthly.months
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
