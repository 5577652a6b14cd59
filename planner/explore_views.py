"""Pages that explore an answer: one subject each, as a page, as a part of the workbench, and as CSV."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.access import team_id
from planner import charts, csv_cells, services
from planner.explore import drawn
from planner.explore.alone import Alone, UnknownOffer
from planner.explore.shapes import Shape, ends_of
from planner.explore.subjects import SUBJECTS, Explored
from planner.forms import WorkbenchForm
from planner.sizing.architecture import ModelError
from planner.sizing.results import Candidate, Comparison
from planner.sizing.runtime import UnknownRuntime
from planner.sizing.workload import CommonWorkload

FIRST_CANDIDATES = 4
CHART_POINTS = 300
OFFER = re.compile(r"-?[0-9]{1,18}")
"""The number of an offer; below zero for a private one."""


@require_safe
def chart(request: HttpRequest) -> HttpResponse:
    """Cost against speed of all comparable candidates; asked for when it comes into view."""
    at = timezone.now()
    form = WorkbenchForm.from_query(request.GET, at=at)
    found = _compared(form, request, at)
    if found is None:
        return HttpResponseRedirect(f"{reverse('planner:workbench')}?{form.query_string()}")
    described = charts.cost_speed(found)
    context = {
        "back": f"{reverse('planner:workbench')}?{form.query_string()}",
        "query": form.query_string(explore=None),
        "chart": described,
        "chart_svg": charts.render_svg(described, get_language() or "en") if described else "",
        "chart_data": charts.plotly(described) if described else None,
    }
    template = "planner/_chart.html" if request.htmx else "planner/chart.html"  # type: ignore[attr-defined]
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def chart_csv(request: HttpRequest) -> HttpResponse:
    """The points of the cost–speed chart."""
    at = timezone.now()
    found = _compared(WorkbenchForm.from_query(request.GET, at=at), request, at)
    described = charts.cost_speed(found) if found is not None else None
    if described is None:
        raise Http404
    rows = (
        (point.label, point.place, point.x, point.y, point.low, point.high, series.name, point.on_frontier)
        for series in described.series
        for point in series.points
    )
    y = described.y.title
    heads = (
        _("Accelerators"), _("Offer"), described.x.title, y, *ends_of(y), _("Targets"), _("Frontier"),
    )  # fmt: skip
    return _file(csv_cells.table(heads, rows), "cost-speed")


def _with_complete_prices(workload: CommonWorkload) -> CommonWorkload:
    filters = workload.filters.model_copy(update={"complete_prices_only": True})
    return workload.model_copy(update={"filters": filters})


def _first(workload: CommonWorkload, at: datetime, team: int | None) -> tuple[Candidate, ...]:
    return services.compare(
        workload, at=at, team_id=team, limit=FIRST_CANDIDATES, rejected_limit=0
    ).candidates


def _compared(form: WorkbenchForm, request: HttpRequest, at: datetime) -> Comparison | None:
    """Candidates with complete prices alone; None where the question is refused."""
    if not form.is_valid():
        return None
    try:
        complete = _with_complete_prices(form.workload())
        return services.compare(
            complete, at=at, team_id=team_id(request), limit=CHART_POINTS, rejected_limit=0
        )
    except (ModelError, UnknownRuntime):
        return None


def _file(body: bytes, name: str) -> HttpResponse:
    response = HttpResponse(body, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="mitsumori-{name}.csv"'
    return response


@require_safe
def explore(request: HttpRequest, subject: str) -> HttpResponse:
    """One subject for the first candidate, or for the offer that is named."""
    at = timezone.now()
    form = WorkbenchForm.from_query(request.GET, at=at)
    if subject not in SUBJECTS or subject not in form.kind.explorations:
        raise Http404
    back = f"{reverse('planner:workbench')}?{form.query_string(explore=subject)}"
    found = _explored(form, subject, request, at)
    if found is None:
        return HttpResponseRedirect(back)
    candidate, shape = found
    context: dict[str, Any] = {
        "back": back,
        "subject": subject,
        "subjects": [(key, SUBJECTS[key].title) for key in form.kind.explorations],
        "query": form.query_string(explore=None),
        "offer": candidate.offer.offer_id,
        "of": candidate,
        "shape": shape,
        "shape_svg": drawn.svg(shape) if shape else "",
        "shape_data": drawn.plotly(shape) if shape else None,
    }
    template = "planner/_explore.html" if request.htmx else "planner/explore.html"  # type: ignore[attr-defined]
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def explore_csv(request: HttpRequest, subject: str) -> HttpResponse:
    """The table under the chart, with its heads in the reader's language and figures as they were computed."""
    at = timezone.now()
    form = WorkbenchForm.from_query(request.GET, at=at)
    if subject not in SUBJECTS or subject not in form.kind.explorations:
        raise Http404
    found = _explored(form, subject, request, at)
    if found is None or found[1] is None:
        raise Http404
    return _file(csv_cells.table(found[1].heads, found[1].rows), subject)


def _explored(
    form: WorkbenchForm, subject: str, request: HttpRequest, at: datetime
) -> tuple[Candidate, Shape | None] | None:
    """The candidate and what was drawn of it; None where the question is refused or has no answer."""
    if not form.is_valid():
        return None
    workload, team, made = form.workload(), team_id(request), SUBJECTS[subject]
    offer = request.GET.get("offer", "")
    try:
        ranked = _first(workload, at, team)
        named = int(offer) if OFFER.fullmatch(offer) else None
        if named is None and not ranked:
            return None
        alone = Alone.on(workload, named if named is not None else ranked[0].offer.offer_id, at, team)
        candidate = alone.candidate()
        others = _first(_with_complete_prices(workload), at, team) if made.of_complete_prices else ranked
    except UnknownOffer:
        raise Http404(_("No such offer.")) from None
    except (ModelError, UnknownRuntime):
        return None
    if candidate is None:
        return None
    managed = form.kind.managed_per_million(form.cleaned_data, workload)
    return candidate, made.make(Explored(alone, others, managed))
