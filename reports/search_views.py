"""The search page, which the dialog shows a part of."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from reports.search import TEXT_MAXIMUM, search


@require_safe
def results(request: HttpRequest) -> HttpResponse:
    """What was found for ``q``; for the dialog the list alone."""
    text = request.GET.get("q", "")[:TEXT_MAXIMUM].strip()
    groups = search(text, request.user, timezone.now())
    context = {"text": text, "groups": groups, "count": sum(len(group.hits) for group in groups)}
    template = "reports/_search_results.html" if request.htmx else "reports/search.html"  # type: ignore[attr-defined]
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response
