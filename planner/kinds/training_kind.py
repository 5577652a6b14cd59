"""What a kind that trains declares, whatever it trains."""

from __future__ import annotations

from functools import partial

from django.utils.translation import gettext_lazy

from planner.kinds import every_kind, training_blocks, training_fields, training_figures, training_shared
from planner.kinds.frame import Kind

training_kind = partial(
    Kind,
    family=every_kind.TRAINS,
    setting=training_shared.setting,
    pins=training_shared.pins,
    columns=every_kind.columns(
        memory=training_figures.MEMORY, speed=training_figures.SPEED, unit=training_figures.RUN
    ),
    measures=(training_figures.HOURS, training_figures.TOKENS),
    costs=(every_kind.MONTHLY, training_figures.RUN_COST),
    unit=gettext_lazy("run"),
    chart_title=gettext_lazy("Cost against the hours of a run"),
    can_restart=True,
    headline=training_shared.headline,
    explorations=training_fields.EXPLORATIONS,
    memory_note=training_shared.memory_note,
    memory_facts=training_shared.memory_facts,
    blocks=training_blocks.blocks,
    cautions=training_shared.cautions,
    notes=training_shared.notes,
    model_line=training_shared.model_line,
)
"""A ``Kind`` that lacks its names, title, document, fields, groups, examples and what else is its own."""
