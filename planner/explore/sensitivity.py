"""Which input and which assumption move cost and speed most: one at a time, each by sizing again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from planner import assumption_words
from planner.explore.alone import Alone
from planner.explore.shapes import Bar, Bars, Cell
from planner.fields import NumberField
from planner.figures import significant
from planner.sizing.results import Candidate
from planner.sizing.setting import Setting
from planner.sizing.workload import CommonWorkload

LESS, MORE = 0.8, 1.25
"""How far an input is moved. Both ways by the same factor, so that neither end is favoured."""
CONSTANT_LESS, CONSTANT_MORE = 0.9, 1.1
SHOWN_MAXIMUM = 14
NOTICEABLE_PERCENT = 0.05


@dataclass(frozen=True)
class Effect:
    """Cost and speed in percent of what they were, and the machines it then takes; None where nothing fits then."""

    cost: float | None
    speed: float | None
    machines: int | None = None


@dataclass(frozen=True)
class Swing:
    """One input or assumption, its two other values, and what each does."""

    label: str
    is_input: bool
    values: tuple[str, str]
    effects: tuple[Effect | None, Effect | None]
    """None where the value is not allowed."""

    @property
    def size(self) -> float:
        return max(
            (
                abs(change)
                for effect in self.effects
                if effect
                for change in (effect.cost, effect.speed)
                if change
            ),
            default=0.0,
        )

    def is_on_others(self, machines: int) -> bool:
        """Whether either end runs on another number of machines."""
        return any(effect and effect.machines not in (None, machines) for effect in self.effects)


def _percent(now: float, before: float) -> float:
    return (now / before - 1) * 100 if before else 0.0


def _effect(alone: Alone, base: Candidate, found: Candidate | None) -> Effect:
    if found is None:
        return Effect(None, None)
    measure = alone.kind.measures[0]
    before, now = measure.of(base), measure.of(found)
    return Effect(
        cost=_percent(float(found.monthly.total), float(base.monthly.total)),
        speed=None if before is None or now is None else _percent(now.value, before.value),
        machines=found.machines,
    )


def swings(alone: Alone) -> list[Swing]:
    """Every input and assumption that can be moved, the most telling first."""
    base = alone.candidate()
    if base is None:
        return []
    found = [*_inputs(alone, base), *_constants(alone, base)]
    return sorted(
        (swing for swing in found if swing.size > NOTICEABLE_PERCENT), key=lambda swing: -swing.size
    )


def _inputs(alone: Alone, base: Candidate) -> Iterator[Swing]:
    document = alone.workload.model_dump()
    fields = alone.kind.fields
    for name in alone.kind.levers or [name for name, each in fields.items() if isinstance(each, NumberField)]:
        field = fields[name]
        now: Any = document
        for step in field.path:
            now = now.get(step) if isinstance(now, dict) else None
        if not isinstance(field, NumberField) or isinstance(now, str | bool) or now is None:
            continue
        values = [_moved(field, now, factor) for factor in (LESS, MORE)]
        changed = [alone.changed({field.path: value}) for value in values]
        yield Swing(
            label=str(field.label),
            is_input=True,
            values=(_shown(field, values[0]), _shown(field, values[1])),
            effects=(_asked(alone, base, changed[0]), _asked(alone, base, changed[1])),
        )


def _moved(field: NumberField, now: float, factor: float) -> float | int:
    if now == 0:
        return 0 if factor < 1 else (1 if field.integer else 0.25)
    value = now * factor
    return max(1, round(value)) if field.integer else float(value)


def _shown(field: NumberField, value: float) -> str:
    return f"{significant(float(value) * float(field.scale))} {field.unit}".strip()


def _asked(alone: Alone, base: Candidate, workload: CommonWorkload | None) -> Effect | None:
    return None if workload is None else _effect(alone, base, alone.candidate(workload))


def _constants(alone: Alone, base: Candidate) -> Iterator[Swing]:
    setting = alone.setting()
    for name, value, unit in setting.movable(base):
        effects = [
            _effect(alone, base, _answered(alone, setting.moved(name, factor)))
            for factor in (CONSTANT_LESS, CONSTANT_MORE)
        ]
        shown = [
            f"{significant(value * factor)} {assumption_words.unit(unit)}".strip()
            for factor in (CONSTANT_LESS, CONSTANT_MORE)
        ]
        yield Swing(
            label=assumption_words.assumption(name),
            is_input=False,
            values=(shown[0], shown[1]),
            effects=(effects[0], effects[1]),
        )


def _answered(alone: Alone, setting: Setting[Any]) -> Candidate | None:
    found = alone.answered(setting)
    return found if isinstance(found, Candidate) else None


def chart(alone: Alone) -> Bars | None:
    """The strongest of them. None where nothing can be moved."""
    base = alone.candidate()
    found = swings(alone)[:SHOWN_MAXIMUM]
    if base is None or not found:
        return None
    now = base.machines
    caption = (
        _(
            "One at a time on this offer, sized again each time: inputs to 0.8 and 1.25 times what they are, "
            "assumptions of the method by 10 %% down and up. Machines follow what is asked."
        )
        % {}
    )
    if any(swing.is_on_others(now) for swing in found):
        caption += " " + ngettext(
            "* Not on the %(count)d machine of now: the table says on how many, and the change is that of both.",
            "* Not on the %(count)d machines of now: the table says on how many, and the change is that of both.",
            now,
        ) % {"count": now}  # fmt: skip
    speed = str(alone.kind.measures[0].label)
    return Bars(
        title=_("What moves cost and speed most"),
        # xgettext:no-python-format
        unit=_("change in %"),
        series=(_("Monthly total"), speed),
        bars=tuple(_bar(swing, now) for swing in found),
        first_head=_("Changed"),
        cell_heads=(
            _("Less"), _("Monthly total, %"), f"{speed}, %", _("More"), _("Monthly total, %"), f"{speed}, %"
        ),
        caption=caption,
    )  # fmt: skip


def _bar(swing: Swing, machines: int) -> Bar:
    cells: list[Cell] = []
    costs: list[float | None] = []
    speeds: list[float | None] = []
    for value, effect in zip(swing.values, swing.effects, strict=True):
        cost = effect.cost if effect else None
        speed = effect.speed if effect else None
        costs.append(cost)
        speeds.append(speed)
        note = value if effect is not None else _("not allowed")
        if effect is not None and effect.cost is None:
            note = f"{value}: " + _("does not fit")
        elif effect is not None and effect.machines not in (None, machines):
            note = ngettext("%(value)s, on %(count)d machine", "%(value)s, on %(count)d machines", effect.machines) % {
                "value": value, "count": effect.machines,
            }  # fmt: skip
        cells += [note, None if cost is None else round(cost, 1), None if speed is None else round(speed, 1)]
    label = f"{swing.label} *" if swing.is_on_others(machines) else swing.label
    return Bar(label, ((costs[0], costs[1]), (speeds[0], speeds[1])), tuple(cells))
