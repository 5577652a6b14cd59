"""Use and price by the token: a volume of tokens a month, and what a service asks for a million of them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner.fields import NumberField, SheetField
from planner.kinds import by_rate
from planner.kinds.frame import Fold
from planner.sizing import token_volume
from planner.sizing.token_volume import InOut
from planner.sizing.workload import RATE_MAXIMUM_PER_S, InputTokens, OutputTokens, Schedule

MILLIONS = Decimal("0.000001")
"""Of a million for each token of the document."""
PRICE_MAXIMUM = 1e6
AGREES = 0.01
"""Tokens that a volume may be off by, in proportion, and still be in that of the typical request."""

VOLUME: dict[str, SheetField] = {
    "m_in": NumberField(
        label=gettext_lazy("Tokens in, a month"),
        path=("input_tokens_per_month",),
        scale=MILLIONS,
        unit=gettext_lazy("million"),
    ),
    "m_out": NumberField(
        label=gettext_lazy("Tokens out, a month"),
        path=("output_tokens_per_month",),
        scale=MILLIONS,
        unit=gettext_lazy("million"),
        help_text=gettext_lazy(
            "Spread over the hours that the machines are on. The price of 1M tokens divides by these."
        ),
    ),
}
MANAGED: dict[str, SheetField] = {
    "managed_in": NumberField(
        label=gettext_lazy("1M tokens in"),
        path=("managed_input_per_million",),
        above=0,
        most=PRICE_MAXIMUM,
        unit=gettext_lazy("per 1M"),
    ),
    "managed_out": NumberField(
        label=gettext_lazy("1M tokens out"),
        path=("managed_output_per_million",),
        above=0,
        most=PRICE_MAXIMUM,
        unit=gettext_lazy("per 1M"),
        help_text=gettext_lazy(
            "What a service asks, in the currency chosen above: drawn against the machines."
        ),
    ),
}
MANAGED_FOLD = Fold(gettext_lazy("Price by the token, to compare with"), (("managed_in", "managed_out"),))


def one_load(document: dict[str, Any], cleaned: Mapping[str, Any]) -> None:
    """Raises ``ValidationError`` at the field for tokens a month beside a rate, or for more than can be sized."""
    names = [name for name in VOLUME if cleaned.get(name)]
    if not names:
        return
    if document.get("request_rate_per_s") is not None:
        raise ValidationError({names[0]: _("State either requests per second or tokens a month, not both.")})
    try:
        schedule, lengths = _schedule(document), _lengths(document)
    except (TypeError, ValueError):
        return  # Said at the fields of these.
    volume = InOut(cleaned.get("m_in"), cleaned.get("m_out"))
    rate = token_volume.rate_per_s(token_volume.requests_per_month(volume, lengths), *schedule)
    if rate > RATE_MAXIMUM_PER_S:
        raise ValidationError(
            {
                names[0]: _(
                    "These tokens a month are %(rate)s requests per second; at most %(most)s are sized."
                )
                % {"rate": by_rate.short(rate), "most": f"{RATE_MAXIMUM_PER_S:,.0f}"}
            }
        )


def _schedule(document: Mapping[str, Any]) -> tuple[float, float]:
    given, default = document.get("schedule", {}), Schedule()
    return (
        float(given.get("hours_per_day") or default.hours_per_day),
        float(given.get("days_per_month") or default.days_per_month),
    )


def _lengths(document: Mapping[str, Any]) -> InOut:
    taken, made = document.get("input_tokens", {}), document.get("output_tokens", {})
    return InOut(
        float(taken.get("typical") or InputTokens().typical),
        float(made.get("typical") or OutputTokens().typical),
    )


def does_not_agree(document: Mapping[str, Any]) -> str:
    """Of a volume that is not in the proportion of the typical request: what speed counts, and what the price."""
    volume, requests = by_rate.volume(document), by_rate.requests_per_month(document)
    if volume is None or not requests or volume.input is None or volume.output is None:
        return ""
    lengths = by_rate.lengths(document)
    served = [requests * (length or 0.0) for length in lengths]
    typed = (volume.input, volume.output)
    if all(abs(number - asked) <= AGREES * asked for number, asked in zip(served, typed, strict=True)):
        return ""
    return _(
        "%(typed_in)s million tokens in and %(typed_out)s million out a month are not in the proportion of a request, "
        "%(length_in)s in and %(length_out)s out. The price of 1M tokens counts the tokens as typed; machines and "
        "speed are sized for %(requests)s million requests of typical length, so that both are served."
    ) % {
        "typed_in": by_rate.short(typed[0] / by_rate.MILLION),
        "typed_out": by_rate.short(typed[1] / by_rate.MILLION),
        "length_in": f"{lengths.input:,.0f}",
        "length_out": f"{lengths.output:,.0f}",
        "requests": by_rate.short(requests / by_rate.MILLION),
    }


def managed_per_million(cleaned: Mapping[str, Any], workload: Any) -> float | None:
    """A million tokens of a service, in and out as the month's tokens are mixed; None unless both are given.

    The month's tokens as typed, else in the proportion of the typical request: what the machines' price divides by.
    """
    taken, made = cleaned.get("managed_in"), cleaned.get("managed_out")
    if not taken or not made:
        return None
    volume, lengths = token_volume.stated(workload), token_volume.typical(workload)
    requests = 1.0 if volume is None else token_volume.requests_per_month(volume, lengths)
    tokens_in, tokens_out = token_volume.tokens_per_month(volume, lengths, requests)
    return float((taken * tokens_in + made * tokens_out) / (tokens_in + tokens_out))
