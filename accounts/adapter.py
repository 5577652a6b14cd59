"""What this product does differently from allauth's defaults."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from accounts.access import client_address
from accounts.models import User
from accounts.services import personal_team


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return bool(settings.SIGN_UP_OPEN)

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """A new user and the personal team, both or neither."""
        with transaction.atomic():
            saved: User = super().save_user(request, user, form, commit=commit)
            if commit:
                personal_team(saved, at=timezone.now())
        return saved

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)
