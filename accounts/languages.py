"""The language of a person, for what is written to them while they do not look: mails."""

from __future__ import annotations

from contextlib import AbstractContextManager

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.views.i18n import set_language

from accounts.models import User


def remember(user: User, language: str | None) -> None:
    if language in dict(settings.LANGUAGES) and user.language != language:
        User.objects.filter(pk=user.pk).update(language=language)
        user.language = str(language)


def spoken_by(user: User) -> str:
    """The installation's language for who was not seen since languages are kept."""
    return user.language or str(settings.LANGUAGE_CODE)


def speaking_to(user: User) -> AbstractContextManager[None]:
    """Everything in it is said in the person's language."""
    return translation.override(spoken_by(user))


def choose(request: HttpRequest) -> HttpResponse:
    """Django's own way to change the language, which is kept for who is signed in."""
    response = set_language(request)
    if request.method == "POST" and isinstance(request.user, User):
        remember(request.user, request.POST.get("language"))
    return response
