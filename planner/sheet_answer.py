"""What the market answers to a form, with the links beside it: the part of the workbench's page that refines itself."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from planner import columns, presenters, refusals, remedy_links, services
from planner.asked import asked, not_used
from planner.explore.subjects import SUBJECTS
from planner.forms import WorkbenchForm
from planner.hosting_link import hosting_link
from planner.sizing.architecture import ModelError
from planner.sizing.runtime import UnknownRuntime
from planner.tray import chosen

ROWS_PER_PAGE = 25
PAGE_MAXIMUM = 100_000
REJECTED_ROWS = 120
FRESH_DAYS = "180"


def answered(form: WorkbenchForm, at: datetime, team: int | None) -> dict[str, Any] | None:
    """What the market answers, ready for the sheet; None where the model or engine is refused (said at its field)."""
    page = page_of(form)
    sort = form.cleaned_data.get("sort") or ""
    sort = sort if sort.removeprefix("-") in form.kind.sorts else ""
    is_each = form.cleaned_data.get("each") == "1"
    workload = form.workload()
    try:
        comparison = services.compare(
            workload,
            at=at,
            team_id=team,
            limit=ROWS_PER_PAGE,
            offset=(page - 1) * ROWS_PER_PAGE,
            sort=sort or None,
            rejected_limit=REJECTED_ROWS,
            first_of_each=is_each,
        )
    except UnknownRuntime as refused:
        form.add_error("version", refusals.unknown_version(refused.params))
        return None
    except ModelError as refused:
        form.add_error("model", _at_model(refused))
        return None
    is_ranked = page == 1 and not sort
    ranked = comparison
    if not is_ranked:
        ranked = services.compare(workload, at=at, team_id=team, limit=1, rejected_limit=0)
    view = presenters.answer(
        comparison,
        column_keys=form.cleaned_data.get("columns") or (),
        language=get_language() or "en",
        best=None if is_ranked or not ranked.candidates else ranked.candidates[0],
        objective=workload.objective,
    )
    first = (page - 1) * ROWS_PER_PAGE + 1
    last = first + len(view.rows) - 1
    has_more = last < comparison.candidates_total
    if is_each and has_more:  # How many accelerators there are is not counted: is there one more?
        rest = services.compare(
            workload,
            at=at,
            team_id=team,
            limit=1,
            offset=last,
            sort=sort or None,
            rejected_limit=0,
            first_of_each=True,
        )
        has_more = bool(rest.candidates)
    return {
        "view": view,
        "comparison": comparison,
        "sort": sort,
        "sorts": [_sorted_link(form, column, sort) for column in view.columns],
        "first": first,
        "last": last,
        "page": page,
        "previous": form.query_string(page=str(page - 1) if page > 2 else None) if page > 1 else None,
        "next": form.query_string(page=str(page + 1)) if has_more else None,
        "is_first_of_each": is_each,
        "toggles": _toggles(form),
        "remedies": remedy_links.linked(view.remedies, form),
        "asked": asked(form),
        "not_used": not_used(form),
        "hosting": hosting_link(view.best.it, comparison.workload, form.cleaned_data) if view.best else "",
        "families": [presenters.family(word, names) for word, names in form.families.items()],
        "chosen_keys": {column.key for column in view.columns},
        "subjects": [(key, SUBJECTS[key].title) for key in form.kind.explorations],
        "explore": _subject(form),
        "tray": chosen(form),
        "tray_query": form.query_string(tray=None),
    }


def _subject(form: WorkbenchForm) -> str:
    """What is being explored beneath the candidates, so that refining keeps it open."""
    wanted = str(form.cleaned_data.get("explore") or "")
    return wanted if wanted in form.kind.explorations else ""


def _toggles(form: WorkbenchForm) -> list[dict[str, Any]]:
    """The filters that are wanted most, as links beside the table that switch them on and off."""
    on_off: tuple[tuple[str, Any, str, bool], ...] = (
        ("complete", _("complete prices only"), "1", bool(form.cleaned_data.get("complete"))),
        ("age", _("prices of the last 180 days"), FRESH_DAYS, form.data.get("age") == FRESH_DAYS),
        ("gpus", _("single-GPU machines"), "1", form.data.get("gpus") == "1"),
        ("each", _("best of each accelerator"), "1", form.cleaned_data.get("each") == "1"),
    )
    found = []
    for name, label, value, is_on in on_off:
        changed: dict[str, Any] = {"page": None, name: None if is_on else value}
        found.append({"name": name, "label": label, "is_on": is_on, "query": form.query_string(**changed)})
    return found


def _sorted_link(form: WorkbenchForm, column: columns.Column, now: str) -> dict[str, str]:
    """Where the head of a column leads: sorted by it, the other way round the second time."""
    if column.sort is None:
        return {"key": column.key, "query": "", "direction": ""}
    direction = {column.sort: "ascending", f"-{column.sort}": "descending"}.get(now, "")
    wanted = f"-{column.sort}" if direction == "ascending" else column.sort
    return {"key": column.key, "query": form.query_string(sort=wanted, page=None), "direction": direction}


def page_of(form: WorkbenchForm) -> int:
    text = str(form.data.get("page", "") or "")
    return min(max(int(text), 1), PAGE_MAXIMUM) if text.isascii() and text.isdigit() else 1


def _at_model(refused: ModelError) -> ValidationError:
    """The refusal at the field of the model, with the names that may have been meant."""
    message = model_message(refused).replace("%", "%%")
    params = getattr(refused, "params", {})
    return ValidationError(message, params={"nearest": list(params.get("suggestions", ()))})


def model_message(refused: Exception) -> str:
    """Why a model cannot be sized, in the reader's language where there are words for it."""
    return refusals.model_refusal(getattr(refused, "code", ""), getattr(refused, "params", {}), str(refused))
