"""How the product says no: one page for people, one shape of JSON below /api/."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

TITLES = {
    400: _("This request cannot be read"),
    403: _("Not allowed"),
    404: _("Not found"),
    405: _("Not possible here"),
    411: _("The size is missing"),
    413: _("Too large"),
    414: _("Address too long"),
    429: _("Too many attempts"),
    431: _("Too large"),
}


def refusal(request: HttpRequest, status: int, message: str | Promise) -> HttpResponse:
    """The product's own page, or JSON below /api/, for a request that is answered with an error."""
    if request.path_info.startswith("/api/"):
        return JsonResponse({"error": str(message), "field": None}, status=status)
    context = {"status": status, "title": TITLES.get(status, TITLES[400]), "message": message}
    names = [f"{status}.html", "400.html"]
    return HttpResponse(loader.render_to_string(names, context, request), status=status)
