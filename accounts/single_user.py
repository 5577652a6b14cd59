"""One person's own installation: nobody signs in, and everything belongs to that person."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts.models import User
from accounts.services import personal_team

EMAIL = "me@localhost"
GetResponse = Callable[[HttpRequest], HttpResponse]


def the_person() -> User:
    """The account that stands for whoever uses this installation; made at the first request."""
    found = User.objects.filter(email=EMAIL).first()
    if found is None:
        found, made = User.objects.get_or_create(
            email=EMAIL, defaults={"is_staff": True, "is_superuser": True}
        )
        if made:
            found.set_unusable_password()
            found.save(update_fields=["password"])
            personal_team(found, at=timezone.now())
    return found


class SingleUser:
    """Every request is the one person's, where `MITSUMORI_SINGLE_USER` is on; settings refuse it in production."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SINGLE_USER and not request.user.is_authenticated:
            request.user = the_person()
        return self.get_response(request)
