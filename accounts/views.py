"""The account page, and what a locked-out visitor sees. Log-in, sign-up and passwords are allauth's views."""

from __future__ import annotations

from typing import Any, cast

from allauth.account.decorators import secure_admin_login
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from accounts.access import signed_in
from accounts.models import Membership, User
from mitsumori.refusals import refusal

admin_login = secure_admin_login(admin.site.login)


@require_safe
@signed_in
def account(request: HttpRequest) -> HttpResponse:
    memberships = (
        Membership.objects.filter(user=cast(User, request.user)).select_related("team").order_by("team__name")
    )
    return render(request, "accounts/account.html", {"memberships": memberships})


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
