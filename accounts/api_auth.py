"""API tokens as django-ninja understands them: `auth=TokenAuth()`; then `request.auth` is a `Bearer`."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from accounts.models import Role
from accounts.services import Bearer, bearer_of

SECRET_MAX_LENGTH = 200


class TokenAuth(HttpBearer):
    def authenticate(self, request: HttpRequest, token: str) -> Bearer | None:
        if len(token) > SECRET_MAX_LENGTH:
            return None
        return bearer_of(token, at=timezone.now())


def demand_api_role(bearer: Bearer, needed: Role) -> None:
    """Raises PermissionDenied (403) if the token's role is too small."""
    if not bearer.role.includes(needed):
        raise PermissionDenied
