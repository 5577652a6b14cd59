"""Fine-tuning an LLM: LoRA, QLoRA, or all of its weights."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from planner.fields import ChoiceField, NumberField, TickField
from planner.kinds import llm_shared, training_fields, training_shared
from planner.kinds.frame import Example, Fold, Group, Row, Variant, put, scaled
from planner.kinds.training_kind import training_kind
from planner.sizing.training.workload import TuningWorkload

METHODS = (
    ("lora", "LoRA"),
    ("qlora", "QLoRA"),
    ("full_finetune", gettext_lazy("all weights")),
)
FROZEN = (
    ("auto", gettext_lazy("as the method does")),
    ("bf16", "BF16"),
    ("fp16", "FP16"),
    ("nf4", "NF4"),
    ("nf4_dq", gettext_lazy("NF4, doubly quantised")),
    ("int8", "INT8"),
    ("int4_gptq", "INT4 (GPTQ)"),
    ("fp8", "FP8"),
)
TARGETS = (
    ("all_linear", gettext_lazy("all linear layers")),
    ("attention", gettext_lazy("attention")),
    ("q_v", gettext_lazy("queries and values")),
    ("all_linear_head", gettext_lazy("all linear layers and the head")),
)

FINE_TUNING = training_kind(
    names=("lora", "qlora", "full_finetune"),
    title=gettext_lazy("Fine-tuning"),
    about=gettext_lazy("A model is trained further on your samples: with adapters, or all of its weights."),
    workload=TuningWorkload,
    without={"full_finetune": ("rank", "targets", "frozen", "dora", "embeddings")},
    fields={
        **llm_shared.MODEL,
        "method": ChoiceField(
            label=gettext_lazy("Method"), path=("kind",), default="lora", choices=METHODS, is_radio=True
        ),
        "software": ChoiceField(
            label=gettext_lazy("Software"),
            path=("software",),
            default="transformers",
            choices=training_fields.SOFTWARE,
        ),
        "frozen": ChoiceField(
            label=gettext_lazy("Frozen weights in"), path=("frozen_format",), default="auto", choices=FROZEN
        ),
        "rank": NumberField(
            label=gettext_lazy("Adapter rank"), path=("adapter", "rank"), default="16", integer=True
        ),
        "targets": ChoiceField(
            label=gettext_lazy("Adapters on"),
            path=("adapter", "targets"),
            default="all_linear",
            choices=TARGETS,
        ),
        "dora": TickField(label="DoRA", path=("adapter", "weight_decomposed")),
        "embeddings": TickField(
            label=gettext_lazy("Embeddings and head are trained too"), path=("adapter", "embeddings_trained")
        ),
        "samples": NumberField(
            label=gettext_lazy("Samples"), path=("sample_count",), default="50000", integer=True
        ),
        "epochs": NumberField(label=gettext_lazy("Epochs"), path=("epochs",), default="3"),
        "sequence": NumberField(
            label=gettext_lazy("Longest sequence"),
            path=("lengths", "maximum"),
            default="2048",
            integer=True,
            unit=gettext_lazy("tokens"),
        ),
        "mean": NumberField(
            label=gettext_lazy("Sample, mean"),
            path=("lengths", "mean"),
            integer=True,
            unit=gettext_lazy("tokens"),
            help_text=gettext_lazy(
                "Padded: empty is half of the longest. Packed: how far attention sees; empty is the whole sequence."
            ),
        ),
        "padded": TickField(label=gettext_lazy("Samples are padded, not packed"), path=("lengths", "padded")),
        "batch": NumberField(
            label=gettext_lazy("Effective batch"),
            path=("batch", "effective"),
            default="32",
            integer=True,
            unit=gettext_lazy("samples"),
            help_text=gettext_lazy("In one step, all GPUs together."),
        ),
        "micro": NumberField(
            label=gettext_lazy("Micro-batch"),
            path=("batch", "micro"),
            integer=True,
            unit=gettext_lazy("samples"),
            help_text=gettext_lazy("Of one GPU at a time. Empty: chosen."),
        ),
        "machines_max": NumberField(
            label=gettext_lazy("Machines, at most"), path=("machines_maximum",), default="1", integer=True
        ),
        **training_fields.COUNT,
        **training_fields.COMPUTING,
        **training_fields.PARALLEL,
        "deadline": NumberField(
            label=gettext_lazy("Done within"),
            path=("deadline_hours",),
            unit=gettext_lazy("h"),
            help_text=gettext_lazy("Empty: no deadline."),
        ),
        **training_fields.REST,
    },
    groups=(
        Group(
            gettext_lazy("What is trained"),
            (
                "model",
                "method",
                Row(("rank", "targets"), "adapters"),
                Fold(
                    gettext_lazy("Software, frozen weights, revision"),
                    (("software", "frozen"), "dora", "embeddings", "revision"),
                ),
            ),
        ),
        Group(
            gettext_lazy("How much"),
            (
                ("samples", "epochs"),
                ("sequence", "batch"),
                Fold(
                    gettext_lazy("Padding, micro-batch, machines"),
                    ("padded", ("mean", "micro"), ("machines_max", "gpus_exact")),
                ),
            ),
        ),
        *training_fields.GROUPS,
    ),
    notes=lambda comparison, best: (
        training_shared.tokens_of_an_epoch(comparison.workload),
        *training_shared.notes(comparison, best),
    ),
    instead_of={"gpus_exact": "machines_max"},
    ordered=(("mean", "sequence"), ("micro", "batch")),
    carrying=(
        "model",
        "method",
        "rank",
        "samples",
        "epochs",
        "sequence",
        "batch",
        "gpus_exact",
        "optimizer",
        "precision",
        "assume",
    ),
    levers=(
        "rank",
        "samples",
        "epochs",
        "sequence",
        "batch",
        "micro",
        "headroom",
        "read",
        "write",
        "transform",
    ),
    variants=(
        Variant("lora", "LoRA", put(method="lora")),
        Variant("qlora", "QLoRA", put(method="qlora")),
        Variant("full", gettext_lazy("all weights trained"), put(method="full_finetune")),
        Variant("one", gettext_lazy("micro-batch of one"), put(micro="1")),
        *training_fields.VARIANTS,
        Variant("double", gettext_lazy("twice the samples"), scaled("samples", by=2)),
    ),
    examples=(
        Example(
            "lora",
            gettext_lazy("LoRA on your own samples"),
            gettext_lazy(
                "An 8B model learns your tone and terms from 50,000 samples, with adapters of rank 16."
            ),
            gettext_lazy("Llama 3.1 8B · 50,000 samples × 3 epochs · 2,048 tokens"),
            "kind=lora",
        ),
        Example(
            "qlora",
            gettext_lazy("A 70B model on few GPUs"),
            gettext_lazy(
                "The frozen weights are kept in four bits, so that a large model trains on one or two cards."
            ),
            gettext_lazy("Llama 3.3 70B · QLoRA · 20,000 samples × 2 epochs"),
            "kind=qlora&model=meta-llama/Llama-3.3-70B-Instruct&samples=20000&epochs=2",
        ),
        Example(
            "full_finetune",
            gettext_lazy("All weights of a 7B model"),
            gettext_lazy("Every weight is trained, and its state is split over the GPUs of one machine."),
            gettext_lazy("Qwen2.5 7B · 200,000 samples × 2 epochs · 4,096 tokens"),
            "kind=full_finetune&model=Qwen/Qwen2.5-7B-Instruct&samples=200000&epochs=2&sequence=4096&batch=64",
        ),
    ),
)
