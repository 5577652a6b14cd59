"""API tokens of the person who is signed in; a secret is shown once."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import current_team, signed_in
from accounts.models import ApiToken, Role, User
from accounts.services import issue_token, revoke_token
from accounts.team_forms import TokenForm
from accounts.team_views import REFUSED


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def tokens(request: HttpRequest) -> HttpResponse:
    user, at = cast(User, request.user), timezone.now()
    mine = current_team(request)
    form, secret, status = TokenForm(user=user, initial={"team": mine}), None, 200
    if request.method == "POST":
        form = TokenForm(request.POST, user=user)
        status = REFUSED
        if form.is_valid():
            data = form.cleaned_data
            _token, secret = issue_token(
                data["team"],
                user,
                data["token_name"],
                Role(data["role"]),
                at=at,
                lifetime=form.lifetime_of_token(),
            )
            form, status = TokenForm(user=user, initial={"team": mine}), 200
    context = {
        "form": form,
        "secret": secret,
        "tokens": ApiToken.objects.valid(at).filter(user=user).select_related("team"),
    }
    return render(request, "accounts/tokens.html", context, status=status)


@require_POST
@signed_in
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=min(pk, 2**62), user=cast(User, request.user))
    revoke_token(token, at=timezone.now())
    return redirect("tokens")
