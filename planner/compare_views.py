"""Candidates side by side, and the same workload in variants: two pages whose whole state is their address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.access import team_id
from planner import rejections, services, side_by_side
from planner.candidate_views import CandidateView, candidate_view
from planner.explore.alone import Alone
from planner.forms import WorkbenchForm
from planner.kinds.frame import Variant
from planner.sizing.architecture import ModelError
from planner.sizing.results import Candidate, Rejection
from planner.sizing.runtime import UnknownRuntime
from planner.sizing.workload import CommonWorkload
from planner.tray import chosen

VARIANTS_SHOWN = 4
VARIANTS_MAXIMUM = 6


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
    for offer_id in chosen(form):
        try:
            found = services.candidate(workload, at=at, offer_id=offer_id, team_id=team)
        except services.UnknownOffer:
            continue  # An offer that is gone: the others are still compared.
        except (ModelError, UnknownRuntime):
            return HttpResponseRedirect(back)
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
        "rows": side_by_side.rows(kind, [view.it for view in views]),
        "why": side_by_side.why_dearer(kind, views),
        "refused": refused,
        "currency": workload.currency,
    }
    return render(request, "planner/side_by_side.html", context)


@dataclass(frozen=True)
class Column:
    """One variant: what it changes, on the machine that was first, and on the machine that is first then."""

    title: str
    query: str
    here: CandidateView | None
    """On the first machine of the workload as it was asked; None where it does not fit there."""
    why_not: str
    here_effects: dict[str, str]
    """Changes in percent against the workload as it was asked, by key of measure or cost."""
    then: CandidateView | None
    total: int


@require_safe
def variants(request: HttpRequest) -> HttpResponse:
    """The workload as it was asked beside its variants, each sized again."""
    at = timezone.now()
    form = WorkbenchForm.from_query(request.GET, at=at)
    back = f"{reverse('planner:workbench')}?{form.query_string()}"
    if not form.is_valid() or not form.kind.variants:
        return HttpResponseRedirect(back)
    wanted = [name for name in request.GET.get("variants", "").split(",") if name]
    known = {variant.key: variant for variant in form.kind.variants}
    picked = [known[name] for name in wanted if name in known] or _applicable(form)[:VARIANTS_SHOWN]
    try:
        columns = _columns(form, picked[:VARIANTS_MAXIMUM], at, team_id(request))
    except (ModelError, UnknownRuntime, LookupError):
        return HttpResponseRedirect(back)  # The workbench says why, and what would help.
    keys = {variant.key for variant in picked}
    base = form.query_string(explore=None)
    context = {
        "back": back,
        "columns": columns,
        "measures": form.kind.measures,
        "costs": form.kind.costs,
        "choices": [
            {
                "title": variant.title,
                "is_on": variant.key in keys,
                "query": f"{base}{'&' if base else ''}variants={_toggled(variant.key, picked)}",
            }
            for variant in _applicable(form)
        ],
    }
    return render(request, "planner/variants.html", context)


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


def _columns(form: WorkbenchForm, picked: list[Variant], at: datetime, team: int | None) -> list[Column]:
    """Raises ``LookupError`` where nothing fits as it was asked."""
    first = services.compare(form.workload(), at=at, team_id=team, limit=1, rejected_limit=0).candidates
    if not first:
        raise LookupError
    offer_id = first[0].offer.offer_id
    columns = [_column(form, str(_("as asked")), form.query_string(explore=None), offer_id, None, at, team)]
    base = columns[0].here
    for variant in picked:
        other = _varied(form, variant)
        if other is not None:
            columns.append(_column(other, str(variant.title), other.query_string(), offer_id, base, at, team))
    return columns


def _column(
    form: WorkbenchForm,
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
    return f"{told['reason']}. {told['row'].shortfall or told['row'].detail}".strip()


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
