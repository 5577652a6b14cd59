"""Price alerts of a plan: what is watched and what it costs now, from which move on it is told, and to whom."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import signed_in
from accounts.models import Role
from mitsumori.text_fields import plain_number
from reports import prices, services
from reports.activity import log
from reports.models import Plan, PriceAlert, PriceMove
from reports.price_forms import AlertForm, FollowForm
from reports.price_words import move_view, standing_view
from reports.views import REFUSED, _user, own_plan

MOVES_PER_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def alerts(request: HttpRequest, slug: str) -> HttpResponse:
    """Posting changes the plan's setting; whoever may read the plan sees it."""
    found, role = own_plan(request, slug, Role.EDITOR if request.method == "POST" else Role.VIEWER)
    if request.method != "POST":
        return _page(request, found, role, AlertForm(initial=_initial(found), team=found.team))
    form = AlertForm(request.POST, team=found.team)
    if not form.is_valid():
        return _page(request, found, role, form, REFUSED)
    at = timezone.now()
    prices.settle(found, own=form.is_own(), percent=form.percent_told())
    log(found, "alerts", user=_user(request), at=at, detail=form.in_short())
    prices.look_at(found, at)
    messages.success(request, _("The setting of price alerts was saved."))
    return redirect("reports:prices", slug=found.slug)


def _initial(plan: Plan) -> dict[str, str]:
    own = PriceAlert.objects.filter(plan=plan).first()
    if own is None:
        return {"rule": "team"}
    return {"rule": "never"} if own.percent is None else {"rule": "own", "percent": plain_number(own.percent)}


def _page(request: HttpRequest, plan: Plan, role: Role, form: AlertForm, status: int = 200) -> HttpResponse:
    newest = services.newest(plan)
    moves = PriceMove.objects.filter(watched__version__plan=plan).select_related("watched__version")
    page = Paginator(moves, MOVES_PER_PAGE).get_page(request.GET.get("page"))
    percent = prices.percent_of(plan)
    context: dict[str, Any] = {
        "plan": plan,
        "version": newest,
        "form": form,
        "may_edit": role.includes(Role.EDITOR),
        "percent": None if percent is None else plain_number(percent),
        "standings": [standing_view(each) for each in prices.standings(newest, timezone.now())],
        "page": page,
        "moves": [{"move": move, "view": move_view(move)} for move in page.object_list],
        "wants_mail": prices.wants_mail(plan, _user(request)),
        "mailed_count": len(prices.followers(plan)),
    }
    return render(request, "reports/prices.html", context, status=status)


@require_POST
@signed_in
def follow(request: HttpRequest, slug: str) -> HttpResponse:
    """Whether oneself gets mails about this plan."""
    found, _role = own_plan(request, slug)
    form = FollowForm(request.POST)
    if form.is_valid():
        prices.follow(found, _user(request), wants=form.cleaned_data["mail"] == "yes")
    return redirect("reports:prices", slug=found.slug)
