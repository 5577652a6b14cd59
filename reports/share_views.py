"""What the holder of a link sees: one version, read-only; every link that does not open looks the same."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from accounts.access import current_team, signed_in
from mitsumori.refusals import refusal
from reports import copying, pages, services
from reports.forms import CopyForm, LinkPasswordForm
from reports.models import ShareLink
from reports.views import REFUSED, _user, teams_to_edit

READING = ("GET", "HEAD")
TRIES_WAIT_S = int(services.TRIES_WINDOW.total_seconds())


def opened(token: str) -> ShareLink:
    link = services.open_shared(token, at=timezone.now())
    if link is None:
        raise Http404
    return link


def is_locked(request: HttpRequest, link: ShareLink) -> bool:
    """Whether a password is asked for that this visitor has not given yet."""
    if not link.password:
        return False
    given = request.session.get(_key(link))
    return not (isinstance(given, str) and constant_time_compare(given, _proof(link)))


def _key(link: ShareLink) -> str:
    return f"link-{link.pk}"


def _proof(link: ShareLink) -> str:
    """Holds for this link and this password only."""
    return salted_hmac("reports.share", f"{link.pk}:{link.password}").hexdigest()


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
    if is_locked(request, link):
        return _password_page(request, token, LinkPasswordForm())
    services.count_view(link)
    context: dict[str, Any] = {
        "title": link.version.title,
        "token": token,
        "until": link.expires_at,
        "sheet": pages.sheet(
            link.version, request.GET.get("page"), is_shared=True, currency=request.GET.get("currency", "")
        ),
        "in_currency": pages.asked_currency(request.GET.get("currency", "")),
    }
    return quiet(render(request, "reports/shared.html", context))


def _password_page(
    request: HttpRequest, token: str, form: LinkPasswordForm, status: int = 200
) -> HttpResponse:
    context = {"token": token, "form": form}
    return quiet(render(request, "reports/shared_locked.html", context, status=status))


@csrf_exempt  # until the link is found to be open: a closed one answers everybody the same
@require_http_methods(["POST"])
def unlock(request: HttpRequest, token: str) -> HttpResponse:
    """Takes the password of a protected link; the page itself only reads."""
    return _unlock(request, token, opened(token))


@csrf_protect
def _unlock(request: HttpRequest, token: str, link: ShareLink) -> HttpResponse:
    form = LinkPasswordForm(request.POST)
    if not form.is_valid():
        return _password_page(request, token, form, REFUSED)
    try:
        is_right = not link.password or services.unlock(
            link, form.cleaned_data["password"], at=timezone.now()
        )
    except services.TooManyTriesError:
        page = refusal(request, 429, _("Too many wrong passwords were tried for this link. Try again later."))
        page.headers["Retry-After"] = str(TRIES_WAIT_S)
        return quiet(page)
    if not is_right:
        form.add_error("password", _("This is not the password of this link."))
        return _password_page(request, token, form, REFUSED)
    if link.password:
        request.session[_key(link)] = _proof(link)
    return quiet(redirect("reports:shared", token=token))


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def fork(request: HttpRequest) -> HttpResponse:
    """A plan of one's own that begins with what a link shows; the shared one learns nothing of it."""
    given = request.POST if request.method == "POST" else request.GET
    token = given.get("link", "")
    link = opened(token)
    if is_locked(request, link):
        return redirect("reports:shared", token=token)
    teams = teams_to_edit(_user(request))
    form = CopyForm(initial={"title": link.version.title, "team": current_team(request)}, teams=teams)
    if request.method == "POST":
        form = CopyForm(request.POST, teams=teams)
        if form.is_valid():
            made = copying.fork(
                link.version,
                team=form.cleaned_data["team"],
                user=_user(request),
                title=form.cleaned_data["title"],
                at=timezone.now(),
            )
            return redirect("reports:plan", slug=made.plan.slug)
    context = {"form": form, "token": token}
    return quiet(render(request, "reports/fork.html", context, status=REFUSED if form.errors else 200))
