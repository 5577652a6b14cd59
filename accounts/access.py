"""How views ask who may do what.

Anonymous visitors are sent to the log-in (htmx requests get 401 with `HX-Redirect`), a foreign object looks
like a missing one (404), and a member whose role is too small gets 403.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from accounts.models import Role, Team, User
from accounts.services import personal_team, role_in

P = ParamSpec("P")

EMAIL_MAX_LENGTH = 254
TEAM_KEY = "team"
INVITED_KEY = "invited"
"""The secret of an invitation that was opened before signing in or up."""


def signed_in(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Decorates a view that is for people with an account."""

    @wraps(view)
    def asked(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        return log_in_first(request)

    return cast("Callable[Concatenate[HttpRequest, P], HttpResponse]", asked)


def log_in_first(request: HttpRequest) -> HttpResponse:
    """Sends to the log-in page and from there back; a form that was posted cannot be sent again by itself."""
    is_fragment = request.headers.get("HX-Request") == "true"
    back = request.get_full_path()
    if is_fragment:
        back = request.headers.get("HX-Current-URL", "")
    elif request.method not in {"GET", "HEAD"}:
        back = request.headers.get("Referer", "")
    address = resolve_url(settings.LOGIN_URL)
    if back and url_has_allowed_host_and_scheme(
        back, {request.get_host()}, require_https=request.is_secure()
    ):
        address = f"{address}?{urlencode({REDIRECT_FIELD_NAME: back})}"
    if is_fragment:
        return HttpResponse(status=401, headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def demand_role(user: User | AnonymousUser, team: Team, needed: Role) -> Role:
    """The user's role in the team that owns the object; raises Http404 or PermissionDenied."""
    role = role_in(user, team)
    if role is None:
        raise Http404
    if not role.includes(needed):
        raise PermissionDenied
    return role


def current_team(request: HttpRequest) -> Team:
    """The team a signed-in person works in: the one chosen in this session, else the personal one."""
    user = cast(User, request.user)
    chosen = request.session.get(TEAM_KEY)
    if isinstance(chosen, int):
        team = Team.objects.filter(pk=chosen, memberships__user=user).first()
        if team is not None:
            return team
    team = Team.objects.filter(memberships__user=user, is_personal=True).order_by("pk").first()
    return team or personal_team(user, at=timezone.now())


def team_id(request: HttpRequest) -> int | None:
    """The number of the team whose private offers take part; None for visitors, and asked once for each request."""
    if not request.user.is_authenticated:
        return None
    if not hasattr(request, "team_id"):
        request.team_id = current_team(request).pk  # type: ignore[attr-defined]
    found: int = request.team_id  # type: ignore[attr-defined]
    return found


def client_address(request: HttpRequest) -> str:
    """The address of who asks: `X-Forwarded-For` counts only as far as our own proxies wrote it."""
    own = str(request.META.get("REMOTE_ADDR", ""))
    count = settings.TRUSTED_PROXY_COUNT
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
    if not count or len(hops) < count:
        return own
    return hops[-count][:45]


def attempted_email(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """The address a log-in was tried with, in one spelling."""
    given = credentials or {}
    text = given.get("email") or given.get("username") or request.POST.get("login", "")
    return str(text).strip().lower()[:EMAIL_MAX_LENGTH]
