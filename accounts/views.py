"""The account page, and what a locked-out visitor sees. Log-in, sign-up and passwords are allauth's views."""

from __future__ import annotations

from typing import Any, cast

from allauth.account.decorators import secure_admin_login
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts import languages
from accounts.access import current_team, signed_in
from accounts.models import Membership, User
from accounts.team_forms import NameForm
from mitsumori.refusals import refusal

admin_login = secure_admin_login(admin.site.login)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def account(request: HttpRequest) -> HttpResponse:
    """The person's name, teams and ways out; posting changes the name."""
    user = cast(User, request.user)
    form = NameForm(initial={"name": user.name})
    if request.method == "POST":
        form = NameForm(request.POST)
        if form.is_valid():
            User.objects.filter(pk=user.pk).update(name=form.cleaned_data["name"])
            return redirect("account")
    mine = current_team(request)
    memberships = Membership.objects.filter(user=user).select_related("team").order_by("team__name")
    context = {
        "memberships": memberships,
        "form": form,
        "current": mine,
        "language": dict(settings.LANGUAGES)[languages.spoken_by(user)],
    }
    return render(request, "accounts/account.html", context, status=422 if form.errors else 200)


def locked_out(
    request: HttpRequest, response: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """The answer after too many failed log-ins from one address."""
    wait_s = int(settings.AXES_COOLOFF_TIME.total_seconds())
    message = ngettext(
        "There were too many failed attempts from your address. Please wait %(minutes)d minute.",
        "There were too many failed attempts from your address. Please wait %(minutes)d minutes.",
        wait_s // 60,
    ) % {"minutes": wait_s // 60}
    page = refusal(request, 429, message)
    page.headers["Retry-After"] = str(wait_s)
    return page
