"""The methods as they are documented, for the reader who follows a source named beside a figure."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from planner import methods_text

DOCUMENTS: dict[str, tuple[str, str | Promise]] = {
    "speed": ("methods.md", _("How speed is predicted")),
    "memory": ("methods-memory.md", _("How memory is predicted")),
    "training": ("methods-training.md", _("How training is predicted")),
}

SUMMARIES = {"ja": "ja"}
"""Languages with a summary of each document, under the same name in a folder of ``docs``."""


@cache
def _text(name: str) -> str:
    return (Path(settings.BASE_DIR) / "docs" / name).read_text(encoding="utf-8")


@require_safe
def methods(request: HttpRequest, subject: str) -> HttpResponse:
    if subject not in DOCUMENTS:
        raise Http404
    name, title = DOCUMENTS[subject]
    others = [(key, words) for key, (_name, words) in DOCUMENTS.items() if key != subject]
    folder = SUMMARIES.get((get_language() or "")[:2])
    context = {
        "title": title,
        "document": _html(name),
        "summary": _html(f"{folder}/{name}") if folder else "",
        "others": others,
    }
    return render(request, "planner/methods.html", context)


@cache
def _html(name: str) -> SafeString:
    # Escaped piece by piece where it is made.
    return mark_safe(methods_text.html(_text(name), _link))  # noqa: S308  # nosec B308, B703


def _link(target: str) -> str | None:
    """The page of a document that one of them links to."""
    for key, (name, _words) in DOCUMENTS.items():
        if target.partition("#")[0] == name:
            return reverse("planner:methods", args=[key])
    return None
