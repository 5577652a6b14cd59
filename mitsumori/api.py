"""The JSON API: one NinjaAPI; each app brings its router. Errors are always `{"error": …, "field": …}`."""

from __future__ import annotations

import logging
import sys
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from catalog.api import router as catalog_router
from catalog.quote_api import router as quote_router
from mitsumori import __version__
from mitsumori.json_bodies import BodyRefused, StrictParser
from mitsumori.middleware import discard_body
from planner.api import router as planner_router
from reports.api import router as reports_router

logger = logging.getLogger(__name__)

api = NinjaAPI(
    title="Mitsumori",
    version=__version__,
    description="Size an AI workload, compare offers, keep plans.",
    parser=StrictParser(),
    docs_url=None,  # its page loads scripts from other hosts; the description itself is at openapi.json
    urls_namespace="api",
)
api.add_router("", catalog_router)
api.add_router("", quote_router)
api.add_router("", planner_router)
api.add_router("", reports_router)


def answer(request: HttpRequest, status: int, message: str, field: str | None = None) -> HttpResponse:
    return api.create_response(request, {"error": message, "field": field}, status=status)


@api.exception_handler(AuthenticationError)
def _not_authenticated(request: HttpRequest, exc: Exception) -> HttpResponse:
    response = answer(request, 401, "A valid token is needed: Authorization: Bearer mit_…")
    response.headers["WWW-Authenticate"] = 'Bearer realm="api"'
    return response


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, exc: HttpError) -> HttpResponse:
    if isinstance(exc.__cause__, BodyRefused):
        return answer(request, exc.__cause__.status, exc.__cause__.message, exc.__cause__.field)
    return answer(request, exc.status_code, exc.message)


@api.exception_handler(BodyRefused)
def _body_refused(request: HttpRequest, exc: BodyRefused) -> HttpResponse:
    return answer(request, exc.status, exc.message, exc.field)


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, exc: RequestDataTooBig) -> HttpResponse:
    response = answer(request, 413, "The body is larger than 1 MiB.")
    if not discard_body(request):
        response.headers["Connection"] = "close"
    return response


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, exc: ValidationError) -> HttpResponse:
    first: dict[str, Any] = exc.errors[0] if exc.errors else {}
    # The first two parts name the place (body, query) and the parameter; the caller knows neither.
    place = [str(part) for part in first.get("loc", ())]
    if place and place[0] in {"body", "query", "path", "form"}:
        place = place[1:] if place[0] != "body" or len(place) < 3 else place[2:]
    return answer(
        request, 422, str(first.get("msg", "The request is not valid.")), ".".join(place)[:200] or None
    )


@api.exception_handler(PermissionDenied)
def _denied(request: HttpRequest, exc: PermissionDenied) -> HttpResponse:
    return answer(request, 403, "The role of this token does not allow this.")


@api.exception_handler(Http404)
def _missing(request: HttpRequest, exc: Http404) -> HttpResponse:
    return answer(request, 404, "There is nothing at this address, or you may not see it.")


@api.exception_handler(Exception)
def _failed(request: HttpRequest, exc: Exception) -> HttpResponse:
    logger.error("api: %s %s failed", request.method, request.path, exc_info=sys.exc_info())
    if isinstance(exc, OperationalError | InterfaceError):
        response = answer(request, 503, "The database does not answer at the moment.")
        response.headers["Retry-After"] = "5"
        return response
    return answer(request, 500, "Something went wrong here. It has been logged.")
