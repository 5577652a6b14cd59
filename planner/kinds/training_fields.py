"""What fine-tuning and pre-training both ask: fields and how they are grouped."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from planner.fields import ChoiceField, NumberField, SheetField, TickField
from planner.kinds import every_kind
from planner.kinds.frame import Fold, Group, Row, Variant, put, scaled

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
    ("mixed_half_moments", gettext_lazy("16-bit weights, gradients and moments, FP32 master copy")),
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
    ("smallest", gettext_lazy("smallest machine")),
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
COUNT: dict[str, SheetField] = {
    "gpus_exact": NumberField(
        label=gettext_lazy("GPUs, exactly"),
        path=("gpus_exact",),
        integer=True,
        help_text=gettext_lazy("Empty: as many as fit and are in time."),
    ),
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
    "tiers": every_kind.TERMS["tiers"],
}
KEPT: dict[str, SheetField] = {
    "storage": NumberField(
        label=gettext_lazy("Kept besides"),
        path=("storage_gb",),
        default="0",
        unit="GB",
        help_text=gettext_lazy("Beside weights, data and checkpoints, which are counted."),
    ),
    "egress": every_kind.KEPT["egress"],
}

EXPLORATIONS = ("sensitivity", "micro", "sequence", "gpus", "frontier")
VARIANTS = (
    Variant("recompute", gettext_lazy("everything recomputed"), put(recompute="full")),
    Variant("zero3", gettext_lazy("ZeRO-3, FSDP"), put(sharding="zero3")),
    Variant("long", gettext_lazy("twice the sequence"), scaled("sequence", by=2)),
    Variant("fp8", gettext_lazy("computed in FP8"), put(precision="fp8")),
    Variant("adam8", gettext_lazy("8-bit optimizer"), put(optimizer="adamw_8bit")),
    Variant("chunked", gettext_lazy("loss in chunks"), put(chunked="1")),
    Variant("offload", gettext_lazy("optimizer in host memory"), put(offload="1")),
    Variant("fast", gettext_lazy("earliest finish first"), put(objective="finish")),
)

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
        every_kind.FILTERS_FOLD,
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

REST: dict[str, SheetField] = {
    **OBJECTIVE,
    **every_kind.HEADROOM,
    **SCHEDULE,
    **TERMS,
    **every_kind.FILTERS,
    **every_kind.CURRENCY,
    **CHECKPOINTS,
    **DATA,
    **KEPT,
    **every_kind.ASSUMED,
}
"""All fields that follow the deadline."""
GROUPS = (COMPUTED_GROUP, TARGETS_GROUP, SAVED_GROUP, WHEN_AND_WHERE)
"""All groups that follow what is trained and how much."""
