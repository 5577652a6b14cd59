"""What plans and files say beyond the words of the workbench."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from django.utils.translation import gettext as _

from planner import assumption_words, change_words, rejection_words
from planner.figures import money_known
from planner.sizing.quantities import GIB
from planner.sizing.results import Rejection
from reports.totals import CommonTotal


def status(code: str) -> str:
    return {
        "candidate": _("candidate"),
        "rejected": _("rejected"),
        "draft": _("draft, not saved"),
    }[code]


def done(code: str) -> str:
    """What was done to a plan, for its log."""
    return {
        "saved": _("saved the plan"),
        "computed": _("saved new figures"),
        "repriced": _("repriced it"),
        "reworded": _("changed the words"),
        "rearranged": _("arranged the workloads"),
        "checklist": _("changed the checklist"),
        "copied": _("copied it from another plan"),
        "forked": _("took it over from a shared plan"),
        "imported": _("read it from a file"),
        "archived": _("archived it"),
        "restored": _("restored it"),
        "shared": _("made a link"),
        "revoked": _("revoked a link"),
        "tagged": _("changed the tags"),
        "commented": _("commented"),
        "withdrew": _("withdrew a comment"),
        "decided": _("recorded a decision"),
        "alerts": _("changed the price alerts"),
    }.get(code, code)


def decided(chosen: str, because: str, who: str, on: date) -> str:
    """A decision in one sentence."""
    return _("Chosen %(chosen)s, because %(because)s, by %(who)s, on %(day)s.") % {
        "chosen": chosen,
        "because": because,
        "who": who,
        "day": on.isoformat(),
    }


def origin(code: str) -> str:
    """How a plan came here, if not by saving a comparison."""
    return {
        "copy": _("This plan began as a copy of another one; its first figures are those of that plan."),
        "fork": _("This plan was taken over from a shared one; its first figures were computed there."),
        "import": _(
            "This plan was read from a file; its first figures were not computed on this installation."
        ),
    }[code]


def catalog_version(text: str) -> str:
    """The catalog's number, and the moment of the past whose prices were in force where it is one.

    >>> catalog_version("12")
    '12'
    """
    number, mark, moment = text.partition("@")
    try:
        at = datetime.fromisoformat(moment).astimezone(UTC)
    except ValueError:
        return text
    if not mark:
        return text
    return _("%(number)s, as of %(moment)s") % {
        "number": number,
        "moment": at.strftime("%Y-%m-%d %H:%M:%S UTC"),
    }


def origin_detail(code: str, detail: str) -> str:
    """What is kept of where a plan came from: of a file its fingerprint; of a copy plan, version and fingerprint."""
    if not detail:
        return ""
    if code == "import":
        return _("The file's fingerprint begins with %(fingerprint)s.") % {"fingerprint": detail}
    return _("It is %(plan)s.") % {"plan": detail}


def converted(shown: tuple[str, date, dict[str, Decimal]]) -> str:
    """That money was converted for the reader, by which rates."""
    currency, on, per_usd = shown
    rates = "; ".join(
        f"1 USD = {rate.normalize():f} {name}" for name, rate in sorted(per_usd.items()) if name != "USD"
    )
    return _(
        "Shown in %(currency)s by the rates of %(day)s (%(rates)s). The plan itself is kept in its own currency."
    ) % {
        "currency": currency,
        "day": on.isoformat(),
        "rates": rates,
    }


def common_total(total: CommonTotal) -> str:
    return money_known(total.amount, total.currency, complete=total.complete)


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
    return f"{rejection_words.reason(row.reason)} ({short})" if short else rejection_words.reason(row.reason)


def remedies(row: Rejection) -> str | None:
    return assumption_words.either(change_words.change(change) for change in row.what_would_help) or None
