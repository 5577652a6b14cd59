"""What fine-tuning and pre-training share: fields, columns, figures, blocks and cautions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from planner import architectures, training_constants
from planner.columns import Column
from planner.fields import ChoiceField, NumberField, SheetField, TickField
from planner.figures import Figure, duration, gib, ranged, significant
from planner.kinds import common
from planner.kinds.frame import Block, Cost, Fold, Group, Measure, Row
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
from planner.sizing.quantities import GB, GIB, Estimate
from planner.sizing.results import Candidate, Comparison
from planner.sizing.training.setting import TrainingSetting
from planner.sizing.training.shapes import usual
from planner.sizing.training.workload import PretrainingWorkload, TuningWorkload

OPTIMIZERS = (
    ("adamw", "AdamW"),
    ("adamw_8bit", gettext_lazy("AdamW, 8-bit")),
    ("paged_adamw", gettext_lazy("AdamW, paged")),
    ("paged_adamw_8bit", gettext_lazy("AdamW, 8-bit and paged")),
    ("lion", "Lion"),
    ("muon", "Muon"),
    ("adafactor", "Adafactor"),
    ("sgd_momentum", gettext_lazy("SGD with momentum")),
    ("sgd", "SGD"),
)
PRECISIONS = (("bf16", "BF16"), ("fp16", "FP16"), ("fp8", "FP8"), ("fp32", "FP32"))
STATES = (
    ("auto", gettext_lazy("as the software does")),
    ("mixed", gettext_lazy("16-bit weights, FP32 gradients and master copy")),
    ("mixed_half_gradients", gettext_lazy("16-bit weights and gradients, FP32 master copy")),
    ("fp32", gettext_lazy("FP32 weights, computed in 16 bits")),
    ("half", gettext_lazy("16 bits throughout")),
)
RECOMPUTE = (
    ("auto", gettext_lazy("as little as fits")),
    ("none", gettext_lazy("none")),
    ("selective", gettext_lazy("selective")),
    ("full", gettext_lazy("full")),
)
SOFTWARE = (
    ("transformers", gettext_lazy("Transformers, DeepSpeed")),
    ("torch", gettext_lazy("PyTorch FSDP")),
    ("megatron", gettext_lazy("Megatron, NeMo")),
)
SHARDING = (
    ("auto", gettext_lazy("chosen for each machine")),
    ("ddp", gettext_lazy("none (data parallel)")),
    ("zero1", "ZeRO-1"),
    ("zero2", "ZeRO-2"),
    ("zero3", "ZeRO-3, FSDP"),
)
OBJECTIVES = (
    ("cost", gettext_lazy("lowest total")),
    ("finish", gettext_lazy("earliest finish")),
    ("throughput", gettext_lazy("most tokens per second")),
)
PLACES = (
    ("durable", gettext_lazy("durable volume")),
    ("scratch", gettext_lazy("local scratch")),
    ("shared", gettext_lazy("shared file system")),
    ("object", gettext_lazy("object store")),
)
ACCESS = (
    ("posix", "POSIX"),
    ("nfs", "NFS"),
    ("s3", "S3"),
    ("mounted_bucket", gettext_lazy("mounted bucket")),
)
PATTERNS = (
    ("sequential", gettext_lazy("large files in order")),
    ("random", gettext_lazy("small files at random")),
)
CONTENTS = (
    ("full_state", gettext_lazy("full state, to resume from")),
    ("weights", gettext_lazy("weights only, to serve")),
)

COMPUTING: dict[str, SheetField] = {
    "optimizer": ChoiceField(
        label=gettext_lazy("Optimizer"), path=("optimizer",), default="adamw", choices=OPTIMIZERS
    ),
    "precision": ChoiceField(
        label=gettext_lazy("Precision"),
        path=("precision",),
        default="bf16",
        choices=PRECISIONS,
        help_text=gettext_lazy("What the matrix products run in."),
    ),
    "state": ChoiceField(
        label=gettext_lazy("Kept per parameter"), path=("state",), default="auto", choices=STATES
    ),
    "recompute": ChoiceField(
        label=gettext_lazy("Recomputation"),
        path=("recompute",),
        default="auto",
        choices=RECOMPUTE,
        help_text=gettext_lazy("Activation checkpointing: less memory, more time."),
    ),
    "scores": TickField(
        label=gettext_lazy("Attention scores written out (no flash attention)"), path=("scores_written_out",)
    ),
    "chunked": TickField(label=gettext_lazy("Loss in chunks (fused cross entropy)"), path=("chunked_loss",)),
    "compiled": TickField(
        label=gettext_lazy("Compiled (torch.compile or fused kernels)"), path=("compiled",)
    ),
    "offload": TickField(label=gettext_lazy("Optimizer in host memory"), path=("offload_optimizer",)),
    "offload_act": TickField(label=gettext_lazy("Activations in host memory"), path=("offload_activations",)),
}
PARALLEL: dict[str, SheetField] = {
    "sharding": ChoiceField(
        label=gettext_lazy("Sharding"), path=("parallel", "sharding"), default="auto", choices=SHARDING
    ),
    "tp": NumberField(label=gettext_lazy("Tensor parallel"), path=("parallel", "tp"), integer=True),
    "pp": NumberField(label=gettext_lazy("Pipeline parallel"), path=("parallel", "pp"), integer=True),
    "cp": NumberField(label=gettext_lazy("Context parallel"), path=("parallel", "cp"), integer=True),
    "ep": NumberField(label=gettext_lazy("Expert parallel"), path=("parallel", "ep"), integer=True),
}
CHECKPOINTS: dict[str, SheetField] = {
    "no_saves": TickField(
        label=gettext_lazy("No checkpoints (spot is refused)"), path=("checkpoints", "omitted")
    ),
    "content": ChoiceField(
        label=gettext_lazy("A checkpoint holds"),
        path=("checkpoints", "content"),
        default="full_state",
        choices=CONTENTS,
    ),
    "interval": NumberField(
        label=gettext_lazy("Written every"),
        path=("checkpoints", "interval_minutes"),
        unit="min",
        help_text=gettext_lazy("Empty: the interval that loses least."),
    ),
    "kept": NumberField(
        label=gettext_lazy("Checkpoints kept"), path=("checkpoints", "kept"), default="3", integer=True
    ),
    "restart": NumberField(
        label=gettext_lazy("Restart takes"), path=("checkpoints", "restart_minutes"), default="10", unit="min"
    ),
}
DATA: dict[str, SheetField] = {
    "dataset": NumberField(
        label=gettext_lazy("Data set"), path=("storage", "dataset_gb"), default="10", unit="GB"
    ),
    "place": ChoiceField(
        label=gettext_lazy("Data and checkpoints lie on"),
        path=("storage", "place"),
        default="durable",
        choices=PLACES,
    ),
    "access": ChoiceField(
        label=gettext_lazy("Reached by"), path=("storage", "method"), default="posix", choices=ACCESS
    ),
    "pattern": ChoiceField(
        label=gettext_lazy("Read as"), path=("storage", "pattern"), default="sequential", choices=PATTERNS
    ),
    "read": NumberField(
        label=gettext_lazy("Storage reads"),
        path=("storage", "read_gb_per_s"),
        default="1",
        unit="GB/s",
        help_text=gettext_lazy("What one machine gets."),
    ),
    "write": NumberField(
        label=gettext_lazy("Storage writes"), path=("storage", "write_gb_per_s"), default="0.5", unit="GB/s"
    ),
    "restore": NumberField(
        label=gettext_lazy("Restored within"),
        path=("storage", "restore_minutes_maximum"),
        unit="min",
        help_text=gettext_lazy("Empty: no target."),
    ),
    "gpudirect": ChoiceField(
        label="GPUDirect Storage",
        path=("storage", "gpudirect"),
        default="no",
        choices=(("no", gettext_lazy("not used")), ("wanted", gettext_lazy("wanted"))),
    ),
    "workers": NumberField(
        label=gettext_lazy("Loader processes per GPU"),
        path=("host", "workers_per_gpu"),
        default="4",
        integer=True,
    ),
    "worker_gb": NumberField(
        label=gettext_lazy("Memory of each"), path=("host", "worker_gb"), default="1", unit="GB"
    ),
    "sample_kb": NumberField(
        label=gettext_lazy("Read for a sample"),
        path=("host", "sample_kb"),
        unit="kB",
        help_text=gettext_lazy("Empty: four bytes a token."),
    ),
    "decode": NumberField(
        label=gettext_lazy("Decoding a sample"),
        path=("host", "decode_ms"),
        default="0",
        unit="ms",
        help_text=gettext_lazy("Time of one core."),
    ),
    "transform": NumberField(
        label=gettext_lazy("Tokenising, transforming"),
        path=("host", "transform_ms"),
        default="0.5",
        unit="ms",
    ),
    "collate": NumberField(
        label=gettext_lazy("Collating, not shared by cores"),
        path=("host", "collate_ms"),
        default="0.05",
        unit="ms",
    ),
    "shared": NumberField(
        label=gettext_lazy("Of it in parallel"),
        path=("host", "parallel_fraction"),
        default="95",
        scale=100,
        unit="%",
    ),
}
SCHEDULE: dict[str, SheetField] = {
    "days": NumberField(
        label=gettext_lazy("Days a month"),
        path=("schedule", "days_per_month"),
        default="30.4167",
        unit=gettext_lazy("d"),
    ),
    "starts": NumberField(
        label=gettext_lazy("Runs a day"),
        path=("schedule", "starts_per_day"),
        default="0",
        help_text=gettext_lazy("0: one run a month."),
    ),
}
TERMS: dict[str, SheetField] = {
    "interruptible": ChoiceField(
        label=gettext_lazy("Interruption"),
        path=("interruptible",),
        default="auto",
        choices=(
            ("auto", gettext_lazy("affordable with checkpoints")),
            ("no", gettext_lazy("not affordable")),
            ("yes", gettext_lazy("affordable")),
        ),
        is_radio=True,
    ),
    "tiers": common.TERMS["tiers"],
}
KEPT: dict[str, SheetField] = {
    "storage": NumberField(
        label=gettext_lazy("Kept besides"),
        path=("storage_gb",),
        default="0",
        unit="GB",
        help_text=gettext_lazy("Beside weights, data and checkpoints, which are counted."),
    ),
    "egress": common.KEPT["egress"],
}

COMPUTED_GROUP = Group(
    gettext_lazy("How it is computed"),
    (
        ("optimizer", "precision"),
        ("recompute", "state"),
        Fold(gettext_lazy("Kernels, offload"), ("scores", "chunked", "compiled", "offload", "offload_act")),
        Fold(gettext_lazy("Split over GPUs"), ("sharding", ("tp", "pp"), ("cp", "ep"))),
    ),
)
SAVED_GROUP = Group(
    gettext_lazy("Checkpoints, data, host"),
    (
        ("content", "kept"),
        Fold(gettext_lazy("Interval, restart"), (("interval", "restart"), "no_saves")),
        ("dataset", "place"),
        Fold(
            gettext_lazy("Storage and its speed"),
            (("access", "pattern"), ("read", "write"), ("restore", "gpudirect"), ("storage", "egress")),
        ),
        Fold(
            gettext_lazy("Loading data"),
            (("workers", "worker_gb"), ("sample_kb", "decode"), ("transform", "collate"), "shared"),
        ),
    ),
)
WHEN_AND_WHERE = Group(
    gettext_lazy("When and where"),
    (
        ("starts", "days"),
        Fold(gettext_lazy("Interruption, terms"), ("interruptible", "tiers")),
        common.FILTERS_FOLD,
    ),
)
TARGETS_GROUP = Group(
    gettext_lazy("Targets"),
    (
        "deadline",
        Row(("objective", "currency"), "uneven"),
        Fold(gettext_lazy("Headroom, budget"), (("headroom", "budget"),)),
    ),
)
OBJECTIVE: dict[str, SheetField] = {
    "objective": ChoiceField(
        label=gettext_lazy("Rank by"), path=("objective",), default="cost", choices=OBJECTIVES
    ),
}


def estimate(name: str) -> Callable[[Candidate], Estimate | None]:
    def of(candidate: Candidate) -> Estimate | None:
        found = candidate.figures.get(name)
        return None if found is None else found.estimate

    return of


def run_cost(candidate: Candidate) -> Decimal | None:
    return candidate.unit_costs.get("run")


HOURS = Measure(
    "run_hours",
    gettext_lazy("run"),
    gettext_lazy("The whole run"),
    "h",
    estimate("run_hours"),
    target=("deadline_hours",),
    axis_label=gettext_lazy("Hours for the run"),
)
TOKENS = Measure(
    "train_tokens_per_s",
    gettext_lazy("tokens"),
    gettext_lazy("Tokens trained, all GPUs"),
    "tokens/s",
    estimate("tokens_per_s"),
    lower_is_better=False,
)
RUN_COST = Cost("run_cost", gettext_lazy("Cost of a run"), run_cost)


def _figure(
    key: str,
    title: Any,
    name: str,
    unit: str = "",
    *,
    shown: bool = False,
    decimals: int | None = None,
    scale: float = 1.0,
    sort: str | None = None,
    with_range: bool = False,
) -> Column:
    def of(candidate: Candidate) -> float | None:
        found = value(candidate, name)
        return None if found is None else found / scale

    return Column(
        key,
        title,
        "number",
        of,
        unit,
        digits=None if decimals is not None else 3,
        decimals=decimals,
        shown=shown,
        sort=sort,
        estimate=estimate(name) if with_range else None,
    )


MEMORY = (
    Column(
        "needed",
        gettext_lazy("Memory needed per GPU"),
        "number",
        lambda c: c.memory.needed_bytes / GIB,
        "GiB",
        decimals=1,
        shown=True,
        sort="memory_needed",
    ),
)
SPEED = (
    _figure(
        "run_hours",
        gettext_lazy("Hours for the run"),
        "run_hours",
        "h",
        shown=True,
        sort="run_hours",
        with_range=True,
    ),
    _figure(
        "train_tokens_per_s",
        gettext_lazy("Tokens trained, all GPUs"),
        "tokens_per_s",
        "tokens/s",
        shown=True,
        sort="throughput",
        with_range=True,
    ),
    _figure("samples_per_s", gettext_lazy("Samples per second"), "samples_per_s", "1/s", with_range=True),
    _figure("steps_per_hour", gettext_lazy("Steps per hour"), "steps_per_hour", "1/h", with_range=True),
    _figure("train_step_s", gettext_lazy("One step"), "train_step_s", "s", with_range=True),
    _figure("gpu_hours", gettext_lazy("GPU hours"), "gpu_hours", "h", sort="gpu_hours", with_range=True),
    _figure("mfu", gettext_lazy("MFU"), "mfu", "%", scale=0.01),
    _figure("micro_batch", gettext_lazy("Micro-batch"), "micro_batch", decimals=0),
    _figure("accumulation", gettext_lazy("Accumulation"), "accumulation", decimals=0),
    _figure("zero_stage", gettext_lazy("ZeRO stage"), "zero_stage", decimals=0),
    Column("pp", gettext_lazy("Pipeline parallel"), "number", lambda c: c.layout.pp, decimals=0),
    _figure("checkpoint", gettext_lazy("Checkpoint"), "checkpoint_bytes", "GB", scale=GB),
    _figure("checkpoint_every", gettext_lazy("Checkpoint every"), "checkpoint_interval_s", "min", scale=60),
    _figure("interruptions", gettext_lazy("Failures expected"), "interruptions"),
    _figure("host_cores", gettext_lazy("Cores needed per machine"), "host_cores"),
    _figure(
        "host_ram", gettext_lazy("RAM needed per machine"), "host_ram_bytes", "GiB", scale=GIB, decimals=0
    ),
    _figure("fabric", gettext_lazy("Network needed per GPU"), "fabric_bytes_per_s", "GB/s", scale=GB),
)
RUN = (
    Column(
        "run_cost",
        gettext_lazy("Cost of a run"),
        "money",
        run_cost,
        shown=True,
        sort="total",
        is_of_total=True,
    ),
)


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
    return TrainingSetting(
        workload=found, arch=arch, constants=training_constants.constants(), market=market, at=at
    )


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
