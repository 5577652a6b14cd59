"""What this product does differently from allauth's defaults."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language

from accounts import languages, teams
from accounts.access import INVITED_KEY, client_address
from accounts.models import User
from accounts.services import personal_team


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Where sign-up is closed, an invitation that still holds opens it for the one who came with it."""
        invited = request.session.get(INVITED_KEY)
        return bool(settings.SIGN_UP_OPEN) or (
            isinstance(invited, str) and teams.invitation_of(invited, at=timezone.now()) is not None
        )

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        return self._invitation(request) or str(super().get_signup_redirect_url(request))

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return self._invitation(request) or str(super().get_login_redirect_url(request))

    def _invitation(self, request: HttpRequest) -> str:
        """Back to the invitation with which the visitor came, while it is open."""
        invited = request.session.get(INVITED_KEY)
        if isinstance(invited, str) and teams.invitation_of(invited, at=timezone.now()) is not None:
            return reverse("invitation", args=[invited])
        return ""

    def login(self, request: HttpRequest, user: User) -> None:
        super().login(request, user)
        languages.remember(user, get_language())

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """A new user and the personal team, both or neither."""
        with transaction.atomic():
            saved: User = super().save_user(request, user, form, commit=commit)
            if commit:
                personal_team(saved, at=timezone.now())
        return saved

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)
