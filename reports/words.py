"""What plans and files say beyond the words of the workbench."""

from __future__ import annotations

from django.utils.translation import gettext as _

from planner import assumption_words, wording
from planner.sizing.quantities import GIB
from planner.sizing.results import Rejection


def status(code: str) -> str:
    return {
        "candidate": _("candidate"),
        "rejected": _("rejected"),
        "draft": _("draft, not saved"),
    }[code]


def model_facts() -> dict[str, str]:
    """What is told of a model, in this order."""
    return {
        "name": _("Name"),
        "family": _("Family"),
        "parameters": _("Parameters"),
        "parameters_active": _("Parameters active per token"),
        "parameters_published": _("Parameters as published"),
        "layers": _("Layers"),
        "hidden": _("Hidden size"),
        "vocabulary": _("Vocabulary"),
        "attention": _("Attention"),
        "max_position": _("Longest context"),
        "stored_format": _("Format as published"),
        "source": _("Source"),
    }


def shortfall(row: Rejection) -> str:
    """By how much the memory is short, for one GPU; empty where memory is not the reason."""
    if row.needed_bytes is None or row.available_bytes is None or row.needed_bytes <= row.available_bytes:
        return ""
    return _("%(short).1f GiB short: needs %(needed).1f of %(available).1f GiB") % {
        "short": (row.needed_bytes - row.available_bytes) / GIB,
        "needed": row.needed_bytes / GIB,
        "available": row.available_bytes / GIB,
    }


def rejection(row: Rejection) -> str:
    short = shortfall(row)
    return f"{wording.reason(row.reason)} ({short})" if short else wording.reason(row.reason)


def remedies(row: Rejection) -> str | None:
    return assumption_words.either(wording.change(change) for change in row.what_would_help) or None
