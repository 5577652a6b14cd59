"""Pre-training an LLM from scratch on many machines."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from planner.fields import ChoiceField, NumberField
from planner.kinds import llm_shared, training_fields
from planner.kinds.frame import Example, Fold, Group, Variant, scaled
from planner.kinds.training_kind import training_kind
from planner.sizing.training.workload import PretrainingWorkload

PRETRAINING = training_kind(
    names=("pretraining",),
    title=gettext_lazy("Pre-training"),
    about=gettext_lazy("A model is trained from scratch on so many tokens, on many machines, by a deadline."),
    workload=PretrainingWorkload,
    fields={
        **llm_shared.MODEL,
        "parameters": NumberField(
            label=gettext_lazy("Parameters"),
            path=("parameters_billion",),
            unit=gettext_lazy("billion"),
            help_text=gettext_lazy(
                "A decoder of the usual shape. If given, it counts and the model above does not."
            ),
        ),
        "tokens": NumberField(
            label=gettext_lazy("Tokens"),
            path=("tokens_billion",),
            unit=gettext_lazy("billion"),
            help_text=gettext_lazy("Empty: 20 for each active parameter, which is compute-optimal."),
        ),
        "sequence": NumberField(
            label=gettext_lazy("Sequence"),
            path=("sequence",),
            default="4096",
            integer=True,
            unit=gettext_lazy("tokens"),
        ),
        "batch": NumberField(
            label=gettext_lazy("Batch"),
            path=("batch_million_tokens",),
            default="4",
            unit=gettext_lazy("million tokens"),
        ),
        "micro": NumberField(
            label=gettext_lazy("Micro-batch"),
            path=("micro",),
            integer=True,
            unit=gettext_lazy("samples"),
            help_text=gettext_lazy("Of one GPU at a time. Empty: chosen."),
        ),
        "machines_max": NumberField(
            label=gettext_lazy("Machines, at most"), path=("machines_maximum",), default="64", integer=True
        ),
        **training_fields.COUNT,
        "network": NumberField(
            label=gettext_lazy("Network of each GPU"),
            path=("network_gbit_per_s",),
            unit="Gb/s",
            help_text=gettext_lazy("Between machines. Empty: usual for that generation."),
        ),
        "software": ChoiceField(
            label=gettext_lazy("Software"),
            path=("software",),
            default="megatron",
            choices=training_fields.SOFTWARE,
        ),
        **training_fields.COMPUTING,
        **training_fields.PARALLEL,
        "deadline": NumberField(
            label=gettext_lazy("Done within"),
            path=("deadline_hours",),
            default="720",
            blank="none",
            unit=gettext_lazy("h"),
            help_text=gettext_lazy("Empty: no deadline."),
        ),
        **training_fields.REST,
    },
    groups=(
        Group(
            gettext_lazy("What is trained"),
            ("model", "parameters", Fold(gettext_lazy("Software, revision"), ("software", "revision"))),
        ),
        Group(
            gettext_lazy("How much"),
            (
                ("tokens", "sequence"),
                "batch",
                ("machines_max", "gpus_exact"),
                Fold(gettext_lazy("Micro-batch, network"), (("micro", "network"),)),
            ),
        ),
        *training_fields.GROUPS,
    ),
    instead_of={"parameters": "model", "gpus_exact": "machines_max"},
    carrying=(
        "model",
        "parameters",
        "tokens",
        "sequence",
        "batch",
        "precision",
        "machines_max",
        "gpus_exact",
        "deadline",
        "assume",
    ),
    levers=("parameters", "tokens", "sequence", "batch", "micro", "network", "headroom", "read", "write"),
    variants=(
        *training_fields.VARIANTS[:4],
        Variant("double", gettext_lazy("twice the tokens"), scaled("tokens", by=2)),
        Variant("fewer", gettext_lazy("half the machines"), scaled("machines_max", by=0.5)),
        *training_fields.VARIANTS[4:],
    ),
    examples=(
        Example(
            "pretraining",
            gettext_lazy("A 7B model from scratch"),
            gettext_lazy(
                "A decoder of seven billion parameters sees a compute-optimal number of tokens within a month."
            ),
            gettext_lazy("7B · 140 billion tokens · within 30 days"),
            "kind=pretraining&parameters=7&tokens=140",
        ),
    ),
)
