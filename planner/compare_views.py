"""Candidates side by side, and the same workload in variants: two pages whose whole state is their address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.access import team_id
from planner import columns, csv_cells, rejections, services, side_by_side
from planner.asked import asked
from planner.candidate_views import CandidateView, candidate_view
from planner.columns import Value
from planner.explore.alone import Alone
from planner.file_figures import ends, figure, header
from planner.forms import WorkbenchForm
from planner.kinds.frame import Variant
from planner.sizing.architecture import ModelError
from planner.sizing.results import Candidate, Rejection
from planner.sizing.runtime import UnknownRuntime
from planner.sizing.workload import CommonWorkload, Filters, Tier
from planner.tray import chosen

VARIANTS_SHOWN = 4
VARIANTS_MAXIMUM = 6
VARIANT_HEADS = ("variant", "variant_title", "machine", "status", "why_not")


@require_safe
def side_by_side_page(request: HttpRequest) -> HttpResponse:
    """The candidates of the tray in columns."""
    at = timezone.now()
    form = WorkbenchForm.from_query(request.GET, at=at)
    back = f"{reverse('planner:workbench')}?{form.query_string()}"
    if not form.is_valid():
        return HttpResponseRedirect(back)
    language = get_language() or "en"
    kind, workload, team = form.kind, form.workload(), team_id(request)
    views: list[CandidateView] = []
    refused: list[dict[str, Any]] = []
    notes: dict[int, dict[str, Any]] = {}
    for offer_id in chosen(form):
        try:
            found = services.candidate(workload, at=at, offer_id=offer_id, team_id=team)
        except services.UnknownOffer:
            continue  # An offer that is gone: the others are still compared.
        except (ModelError, UnknownRuntime):
            return HttpResponseRedirect(back)
        if isinstance(found, Rejection):
            outside = _beyond_filters(workload, offer_id, at, team)
            if outside is not None:
                notes[offer_id] = rejections.rejected(found, language)
                found = outside
        if isinstance(found, Candidate):
            views.append(
                candidate_view(kind, found, (), language=language, workload=workload.model_dump(mode="json"))
            )
        else:
            refused.append(rejections.rejected(found, language))
    context = {
        "back": back,
        "query": form.query_string(tray=None, explore=None),
        "views": views,
        "heads": [(view, notes.get(view.it.offer.offer_id)) for view in views],
        "rows": side_by_side.rows(kind, [view.it for view in views]),
        "why": side_by_side.why_dearer(kind, views),
        "refused": refused,
        "currency": workload.currency,
        "asked": asked(form),
    }
    return render(request, "planner/side_by_side.html", context)


def _beyond_filters(
    workload: CommonWorkload, offer_id: int, at: datetime, team: int | None
) -> Candidate | None:
    """What was put aside stays there when a filter leaves it out; None where it cannot run the workload at all."""
    every = Filters(tiers=get_args(Tier), estimated_prices=True)
    return Alone.on(workload.model_copy(update={"filters": every}), offer_id, at, team).candidate()


@dataclass(frozen=True)
class Column:
    """One variant: what it changes, on the machine that was first, and on the machine that is first then."""

    key: str
    """The variant's name in addresses and files; ``as_asked`` for the workload itself."""
    title: str
    query: str
    here: CandidateView | None
    """On the first machine of the workload as it was asked; None where it does not fit there."""
    why_not: str
    here_effects: dict[str, str]
    """Changes in percent against the workload as it was asked, by key of measure or cost."""
    then: CandidateView | None
    total: int


@dataclass(frozen=True)
class _Compared:
    """A workload and its variants as they were asked for."""

    form: WorkbenchForm
    picked: list[Variant]
    columns: list[Column]
    is_same: bool


@require_safe
def variants(request: HttpRequest) -> HttpResponse:
    """The workload as it was asked beside its variants, each sized again."""
    at = timezone.now()
    form = WorkbenchForm.from_query(request.GET, at=at)
    back = f"{reverse('planner:workbench')}?{form.query_string()}"
    found = _compared(form, request, at)
    if found is None:
        return HttpResponseRedirect(back)  # The workbench says why, and what would help.
    base, keys = form.query_string(explore=None), {variant.key for variant in found.picked}
    shown = ",".join(variant.key for variant in found.picked)
    context = {
        "back": back,
        "asked": asked(form),
        "columns": found.columns,
        "measures": form.kind.measures,
        "costs": form.kind.costs,
        "is_same": found.is_same,
        "same_query": _query(base, shown, is_same=not found.is_same),
        "csv_query": _query(base, shown, is_same=found.is_same),
        "choices": [
            {
                "title": variant.title,
                "is_on": variant.key in keys,
                "query": _query(base, _toggled(variant.key, found.picked), is_same=found.is_same),
            }
            for variant in _applicable(form)
        ],
    }
    return render(request, "planner/variants.html", context)


@require_safe
def variants_csv(request: HttpRequest) -> HttpResponse:
    """The same as a file: a row for each column of the page and machine, as ``docs/exports.md`` describes it."""
    at = timezone.now()
    form = WorkbenchForm.from_query(request.GET, at=at)
    found = _compared(form, request, at)
    if found is None:
        raise Http404
    shown = [column for column in form.kind.columns if column.key != "rank"]
    heads = [*VARIANT_HEADS, *(head for each in shown for head in _heads(each))]
    rows: list[list[csv_cells.Value]] = []
    for column in found.columns:
        for machine, view, why_not in (
            ("first_as_asked", column.here, column.why_not),
            ("first_then", column.then, ""),
        ):
            row: list[csv_cells.Value] = [column.key, column.title, machine]
            row += ["fits", ""] if view else ["nothing_fits", why_not]
            row += [cell for each in shown for cell in _figures(each, view.it)] if view else []
            rows.append([*row, *[None] * (len(heads) - len(row))])
    response = HttpResponse(csv_cells.table(heads, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="mitsumori-variants.csv"'
    return response


def _heads(column: columns.Column) -> tuple[str, ...]:
    name = header(column)
    return (name,) if column.estimate is None else (name, f"{name}_low", f"{name}_high")


def _figures(column: columns.Column, candidate: Candidate) -> tuple[Value, ...]:
    shown = figure(column, candidate, coded=True)
    return (shown,) if column.estimate is None else (shown, *ends(column, candidate))


def _query(base: str, shown: str, *, is_same: bool) -> str:
    parts = [base, f"variants={shown}" if shown else "", "same=1" if is_same else ""]
    return "&".join(part for part in parts if part)


def _compared(form: WorkbenchForm, request: HttpRequest, at: datetime) -> _Compared | None:
    """The columns of what was asked; None where the workload is refused, has no variants, or fits nowhere."""
    if not form.is_valid() or not form.kind.variants:
        return None
    wanted = [name for name in request.GET.get("variants", "").split(",") if name]
    known = {variant.key: variant for variant in form.kind.variants}
    picked = [known[name] for name in wanted if name in known] or _applicable(form)[:VARIANTS_SHOWN]
    is_same = request.GET.get("same") == "1"
    try:
        made = _columns(form, picked[:VARIANTS_MAXIMUM], at, team_id(request), is_same=is_same)
    except (ModelError, UnknownRuntime, LookupError):
        return None
    return _Compared(form, picked, made, is_same)


def _toggled(key: str, picked: list[Variant]) -> str:
    keys = [variant.key for variant in picked]
    return ",".join([each for each in keys if each != key] if key in keys else [*keys, key])


def _varied(form: WorkbenchForm, variant: Variant) -> WorkbenchForm | None:
    """The form with this variant; None where it changes nothing that is sized, or is not allowed."""
    texts = {key: text for _name, key, _default, text in form.state}
    changes = variant.changes(texts)
    if not changes:
        return None
    update: dict[str, Any] = {"explore": None, "tray": None, **changes}
    other = WorkbenchForm.from_query(QueryDict(form.query_string(**update)), at=form.at)
    return other if other.is_valid() and other.workload() != form.workload() else None


def _applicable(form: WorkbenchForm) -> list[Variant]:
    """Variants that change something of what was asked."""
    return [variant for variant in form.kind.variants if _varied(form, variant) is not None]


def _columns(
    form: WorkbenchForm, picked: list[Variant], at: datetime, team: int | None, *, is_same: bool
) -> list[Column]:
    """Raises ``LookupError`` where nothing fits as it was asked.

    With ``is_same`` every variant has at least the replicas of the workload as asked, so that one machine is
    compared with one, not with two.
    """
    first = services.compare(form.workload(), at=at, team_id=team, limit=1, rejected_limit=0).candidates
    if not first:
        raise LookupError
    offer_id = first[0].offer.offer_id
    made = [
        _column(
            form, "as_asked", str(_("as asked")), form.query_string(explore=None), offer_id, None, at, team
        )
    ]
    base = made[0].here
    for variant in picked:
        other = _varied(form, variant)
        if other is not None and is_same and base is not None:
            query = other.query_string(replicas=str(max(base.it.replicas, other.workload().replicas_minimum)))
            other = WorkbenchForm.from_query(QueryDict(query), at=form.at)
        if other is not None and other.is_valid():
            made.append(
                _column(
                    other, variant.key, str(variant.title), other.query_string(), offer_id, base, at, team
                )
            )
    return made


def _column(
    form: WorkbenchForm,
    key: str,
    title: str,
    query: str,
    offer_id: int,
    base: CandidateView | None,
    at: datetime,
    team: int | None,
) -> Column:
    workload = form.workload()
    here = Alone.on(workload, offer_id, at, team).answer()
    compared = services.compare(workload, at=at, team_id=team, limit=1, rejected_limit=0)
    own = _viewed(form, here, workload) if isinstance(here, Candidate) else None
    return Column(
        key=key,
        title=title,
        query=query,
        here=own,
        why_not=_why_not(here) if isinstance(here, Rejection) else "",
        here_effects=_effects(base, own),
        then=_viewed(form, compared.candidates[0], workload) if compared.candidates else None,
        total=compared.candidates_total,
    )


def _viewed(form: WorkbenchForm, candidate: Candidate, workload: CommonWorkload) -> CandidateView:
    asked = workload.model_dump(mode="json")
    return candidate_view(form.kind, candidate, (), language=get_language() or "en", workload=asked)


def _why_not(rejection: Rejection) -> str:
    told = rejections.rejected(rejection, get_language() or "en")
    detail = told["row"].shortfall or told["row"].detail
    return f"{told['reason']}: {detail}" if detail else str(told["reason"])


def _effects(base: CandidateView | None, found: CandidateView | None) -> dict[str, str]:
    if base is None or found is None:
        return {}
    effects = {
        "memory": side_by_side.effect(base.it.memory.needed_bytes, found.it.memory.needed_bytes),
        "replicas": side_by_side.effect(base.it.replicas, found.it.replicas),
    }
    for measure in base.kind.measures:
        before, now = measure.of(base.it), measure.of(found.it)
        if before is not None and now is not None:
            effects[measure.key] = side_by_side.effect(before.value, now.value)
    for cost in base.kind.costs:
        was, costs = cost.of(base.it), cost.of(found.it)
        if was is not None and costs is not None:
            effects[cost.key] = side_by_side.effect(float(was), float(costs))
    return effects
