"""Other ways to split a candidate's replicas over the GPUs of its machine."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from accounts.access import team_id
from planner import reach_words, services, wording
from planner.figures import money_known, seconds, significant
from planner.forms import WorkbenchForm
from planner.sizing.architecture import ModelError
from planner.sizing.layouts import LayoutChoice
from planner.sizing.quantities import Estimate
from planner.sizing.runtime import UnknownRuntime


@dataclass(frozen=True)
class Row:
    """One split as a line of the table."""

    split: str
    replicas: int
    gpus: int
    machines: int
    ttft: str
    tpot: str
    throughput: str
    hours: str
    limit: str
    total: str
    misses: int
    is_tight: bool
    is_shown: bool
    is_too_fast: bool
    """So many stages are measured as slower than predicted."""


@require_safe
def other_layouts(request: HttpRequest, offer_id: int) -> HttpResponse:
    """Every split of this offer's machine for the workload of the query, the best under its objective first."""
    at = timezone.now()
    form = WorkbenchForm.from_query(request.GET, at=at)
    back = f"{reverse('planner:workbench')}?{form.query_string()}"
    if not form.is_valid():
        return HttpResponseRedirect(back)
    workload = form.workload()
    try:
        found = services.other_layouts(workload, at=at, offer_id=offer_id, team_id=team_id(request))
    except (ModelError, UnknownRuntime):
        return HttpResponseRedirect(back)
    except services.UnknownOffer:
        raise Http404 from None
    context = {
        "back": back,
        "offer_id": offer_id,
        "query": form.query_string(without=("page", "sort", "columns")),
        "rows": [_row(choice) for choice in found],
        "is_job": any(choice.job_hours for choice in found),
    }
    template = "planner/_layouts.html" if request.htmx else "planner/layouts.html"  # type: ignore[attr-defined]
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _row(choice: LayoutChoice) -> Row:
    return Row(
        split=reach_words.split(choice.layout, machines_per_replica=choice.machines_per_replica),
        replicas=choice.replicas,
        gpus=choice.gpus_per_replica,
        machines=choice.machines,
        ttft=_time(choice.ttft_s),
        tpot=_time(choice.tpot_s),
        throughput=significant(choice.output_tokens_per_s.value) if choice.output_tokens_per_s else "",
        hours=significant(choice.job_hours.value) if choice.job_hours else "",
        limit=str(wording.LIMITS[choice.limit]),
        total=money_known(choice.total, choice.currency, complete=choice.complete),
        misses=len(choice.misses),
        is_tight=choice.verdict == "tight",
        is_shown=choice.is_shown,
        is_too_fast=choice.is_too_fast,
    )


def _time(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    text, unit = seconds(estimate.value)
    return f"{text} {unit}"
