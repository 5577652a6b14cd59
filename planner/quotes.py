"""What a private offer was told with, in words."""

from __future__ import annotations

from django.utils.translation import gettext as _

from planner.sizing.results import QuoteFacts


def quote_facts(quote: QuoteFacts, *, tax_included: bool | None) -> tuple[tuple[str, str], ...]:
    """Every question of those to ask a provider, with its answer or that there is none."""
    none = _("not answered")
    answers = {"yes": _("yes"), "no": _("no"), None: none}
    until = quote.valid_until.isoformat() if quote.valid_until else _("not stated")
    if quote.expired:
        until = _("%(day)s, expired") % {"day": until}
    startup = none if quote.startup_minutes is None else f"{quote.startup_minutes:g} min"
    tax = {True: _("yes"), False: _("no"), None: _("not stated")}[tax_included]
    facts = [
        (_("Number of the quote"), quote.reference or "–"),
        (_("Tax is included"), tax),
        (_("Valid until"), until),
        (_("Local data survive a restart"), answers[quote.survives_restart]),
        (_("Local data survive a change of host"), answers[quote.survives_host_change]),
        (_("Local data survive the end of the contract"), answers[quote.survives_contract_end]),
        (_("Where data lie"), quote.data_location or none),
        (_("Availability at the wanted date"), quote.availability or none),
        (_("Start-up time"), startup),
        (_("Answered on"), quote.answered_on.isoformat() if quote.answered_on else "–"),
    ]
    if quote.note:
        facts.append((_("Note"), quote.note))
    return tuple(facts)
