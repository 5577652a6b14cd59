"""Pages of the workbench: nouns for pages, one domain call each; the clock is read here."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    return render(request, "planner/start.html")


@require_safe
def workbench(request: HttpRequest) -> HttpResponse:
    return render(request, "planner/workbench.html")


@require_safe
def components(request: HttpRequest) -> HttpResponse:
    """Every part of the design system on one page, to be looked at in both themes."""
    return render(request, "planner/components.html")
