"""Of each remedy the address of the screen that asks so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.figures import There
from planner.forms import WorkbenchForm
from planner.kinds.frame import Kind
from planner.remedies import RemedyView
from planner.sizing.results import Remedy

PATHS: dict[str, tuple[str, ...]] = {
    "ttft_s": ("targets", "ttft_s"),
    "tpot_s": ("targets", "tpot_s"),
    "input_tokens_maximum": ("input_tokens", "maximum"),
    "sharding": ("parallel", "sharding"),
    "micro_batch": ("batch", "micro"),
    "method": ("kind",),
}
"""Where a change is made in the workload, if not in its field of the same name or a filter."""


def linked(views: tuple[RemedyView, ...], form: WorkbenchForm) -> tuple[RemedyView, ...]:
    """The same with the address of the screen that asks so."""
    found = []
    for view in views:
        changes: dict[str, Any] = asked_so(
            form.kind, view.it, {key: text for _name, key, _default, text in form.state}
        )
        query = form.query_string(page=None, sort=None, **changes) if changes else ""
        found.append(replace(view, query=query))
    return tuple(found)


def asked_so(kind: Kind, remedy: Remedy | There, texts: Mapping[str, str]) -> dict[str, str | None]:
    """Texts of the form by key that make this change; none where the form has no field for it."""
    change, value = remedy.change or "", remedy.value
    path = PATHS.get(change)
    for name, field in kind.fields.items():
        if field.path != path and field.path not in ((change,), ("filters", change)):
            continue
        key = name.rstrip("_")
        if change == "tiers":
            return {key: f"{texts.get(key) or field.default},{value}"}
        if change in ("regions", "providers", "include", "exclude", "complete_prices_only"):
            return {key: None}
        if change in ("interruptible", "estimated_prices") or value == "on":
            return {key: "yes" if change == "interruptible" else "1"}
        return {key: _text(value, getattr(field, "scale", 1))}
    return {}


def _text(value: Any, scale: float) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value * scale:.10g}"
    return str(value)
