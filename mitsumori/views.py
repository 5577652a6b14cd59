"""Error pages, health and metrics."""

from __future__ import annotations

import hmac
import logging
import sys
import time
from datetime import datetime

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.models import Max
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView

from catalog.models import Price, Refresh
from mitsumori import __version__
from mitsumori.broker import broker_answers
from mitsumori.refusals import refusal

logger = logging.getLogger(__name__)

RETRY_AFTER_S = 5


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refusal(request, 400, _("The request could not be read."))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refusal(request, 403, _("Your role in this team does not allow this."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return refusal(
        request,
        403,
        _("The form was too old or came from another site. Go back, reload the page and send it again."),
    )


def page_not_found(request: HttpRequest, exception: Http404) -> HttpResponse:
    return refusal(request, 404, _("There is nothing at this address, or you may not see it."))


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """allauth's limits (password changes, resets, sign-ups) are per minute."""
    response = refusal(request, 429, _("That was tried too often. Please wait a minute."))
    response.headers["Retry-After"] = "60"
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 when the database is away; needs neither database nor session itself."""
    away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    status = 503 if away else 500
    message = (
        _("The database does not answer at the moment. Please try again shortly.")
        if away
        else _("Something went wrong here. It has been logged.")
    )
    if request.path_info.startswith("/api/"):
        response: HttpResponse = JsonResponse({"error": str(message), "field": None}, status=status)
    else:
        context = {"status": status, "message": message, "LANGUAGE_CODE": get_language()}
        response = HttpResponse(
            loader.render_to_string([f"{status}.html", "500.html"], context), status=status
        )
    if away:
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


def _catalog_age_days(at: datetime) -> float | None:
    """Days since prices were last read or loaded; None while there are none."""
    refreshed_at = Refresh.objects.good().aggregate(latest=Max("finished_at"))["latest"]
    # Prices are only ever appended, so the last row is the latest: no look at all of them.
    loaded_at = Price.objects.order_by("-pk").values_list("recorded_at", flat=True).first()
    known = [moment for moment in (refreshed_at, loaded_at) if moment is not None]
    return round((at - max(known)).total_seconds() / 86400, 3) if known else None


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 if the database answers, else 503; the other fields inform."""
    started_s = time.perf_counter()
    age_days: float | None = None
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        age_days = _catalog_age_days(timezone.now())
        database = "ok"
    except DatabaseError:
        logger.exception("health check: the database does not answer")
        database = "away"
    body = {
        "status": "ok" if database == "ok" else "unavailable",
        "database": database,
        "broker": "ok" if broker_answers() else "away",
        "catalog_age_days": age_days,
        "version": __version__,
        "seconds": round(time.perf_counter() - started_s, 4),
    }
    response = JsonResponse(body, status=200 if database == "ok" else 503)
    if database != "ok":
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus figures for who holds the token; without a token set there is no such page."""
    if not settings.METRICS_TOKEN:
        raise Http404
    given = request.headers.get("Authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()):
        response = HttpResponse(
            "A bearer token is needed.\n", status=401, content_type="text/plain; charset=utf-8"
        )
        response.headers["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return response
    exported: HttpResponse = ExportToDjangoView(request)
    return exported
