"""What the holder of a link sees: one version, read-only; every link that does not open looks the same."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from reports import pages, services
from reports.models import ShareLink

READING = ("GET", "HEAD")


def opened(token: str) -> ShareLink:
    link = services.open_shared(token, at=timezone.now())
    if link is None:
        raise Http404
    return link


def quiet(response: HttpResponse) -> HttpResponse:
    """Kept by nobody: no cache, no search engine, and no other site learns the address.

    ``same-origin`` and not ``no-referrer``: other sites get nothing with either, but a browser that may
    not say where a form comes from cannot switch the language here.
    """
    response.headers["Cache-Control"] = "no-store, private"
    response.headers["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response.headers["Referrer-Policy"] = "same-origin"
    return response


@csrf_exempt  # it only reads: a form sent here is answered 405, not asked for its token
def shared(request: HttpRequest, token: str) -> HttpResponse:
    link = opened(token)
    if request.method not in READING:
        return HttpResponseNotAllowed(READING)
    services.count_view(link)
    context: dict[str, Any] = {
        "title": link.version.title,
        "token": token,
        "sheet": pages.sheet(link.version, request.GET.get("page"), is_shared=True),
    }
    return quiet(render(request, "reports/shared.html", context))
