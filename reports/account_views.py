"""The page on which an account is deleted, with what happens to its plans said first."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts.access import signed_in
from accounts.forms import PASSWORD_MAX_LENGTH
from accounts.models import User
from reports import leaving

REFUSED = 422


class DeleteAccountForm(forms.Form):
    password = forms.CharField(
        label=gettext_lazy("Your password"),
        max_length=PASSWORD_MAX_LENGTH,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        given = str(self.cleaned_data["password"])
        if not self.user.check_password(given):
            raise forms.ValidationError(_("This is not your password."))
        return given


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def delete_account(request: HttpRequest) -> HttpResponse:
    if settings.SINGLE_USER:
        raise Http404
    user = cast(User, request.user)
    form = DeleteAccountForm(request.POST if request.method == "POST" else None, user=user)
    if form.is_valid():
        try:
            leaving.delete_account(user)
        except leaving.BlockedError:
            form.add_error(None, _("A team has other members and no other owner: hand it over first."))
        else:
            logout(request)
            return render(request, "reports/account_deleted.html")
    fates = leaving.fates(user)
    context = {"form": form, "fates": fates, "blocked": any(each.fate == "blocked" for each in fates)}
    return render(request, "reports/delete_account.html", context, status=REFUSED if form.errors else 200)
