"""Use and price by the token: a volume of tokens a month, and what a service asks for a million of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner.fields import NumberField, SheetField
from planner.kinds import by_rate
from planner.kinds.frame import Fold

MILLION = 1_000_000
SECONDS_PER_HOUR = 3_600
MILLIONS_MAXIMUM = 1e9
PRICE_MAXIMUM = 1e6
AGREES = 0.01
"""Tokens that a volume may be off by, in proportion, and still be what is counted."""

VOLUME: dict[str, SheetField] = {
    "m_in": NumberField(
        label=gettext_lazy("Tokens in, a month"),
        unit=gettext_lazy("million"),
        above=0,
        most=MILLIONS_MAXIMUM,
    ),
    "m_out": NumberField(
        label=gettext_lazy("Tokens out, a month"),
        unit=gettext_lazy("million"),
        above=0,
        most=MILLIONS_MAXIMUM,
        help_text=gettext_lazy(
            "Spread over the hours that the machines are on; with both, what makes more requests counts."
        ),
    ),
}
MANAGED: dict[str, SheetField] = {
    "managed_in": NumberField(
        label=gettext_lazy("1M tokens in"), above=0, most=PRICE_MAXIMUM, unit=gettext_lazy("per 1M")
    ),
    "managed_out": NumberField(
        label=gettext_lazy("1M tokens out"),
        above=0,
        most=PRICE_MAXIMUM,
        unit=gettext_lazy("per 1M"),
        help_text=gettext_lazy(
            "What a service asks, in the currency chosen above: drawn against the machines."
        ),
    ),
}
MANAGED_FOLD = Fold(gettext_lazy("Price by the token, to compare with"), (("managed_in", "managed_out"),))


def state_rate(document: dict[str, Any], cleaned: Mapping[str, Any]) -> None:
    """A volume of tokens a month as requests per second. Raises ``ValidationError`` beside a stated rate.

    requests/s = max(tokens in ÷ typical input, tokens out ÷ typical output) ÷ (3,600 × hours × days)
    """
    millions = {"in_": cleaned.get("m_in"), "out": cleaned.get("m_out")}
    requests = [
        volume * MILLION / (cleaned.get(length) or default)
        for (length, volume), default in zip(millions.items(), _lengths(document), strict=True)
        if volume
    ]
    if not requests:
        return
    if document.get("request_rate_per_s") is not None:
        raise ValidationError({"m_in": _("State either requests per second or tokens a month, not both.")})
    schedule = document.get("schedule", {})
    hours = float(schedule.get("hours_per_day") or 24) * float(schedule.get("days_per_month") or 30.4167)
    if hours > 0:
        document["request_rate_per_s"] = max(requests) / (SECONDS_PER_HOUR * hours)


def _lengths(document: Mapping[str, Any]) -> tuple[int, int]:
    taken = document.get("input_tokens", {}).get("typical") or 1000
    return taken, document.get("output_tokens", {}).get("typical") or 300


def does_not_agree(cleaned: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """Of a volume in and out that is not in the proportion of the typical request: what is counted."""
    typed_in, typed_out = cleaned.get("m_in"), cleaned.get("m_out")
    counted = by_rate.millions_a_month(document)
    if counted is None or not typed_in or not typed_out:
        return ""
    typed = float(typed_in), float(typed_out)
    if all(abs(number - asked) <= AGREES * asked for number, asked in zip(counted, typed, strict=True)):
        return ""
    return _(
        "%(typed_in)s million tokens in and %(typed_out)s million out a month are not in the proportion of a request, "
        "%(length_in)s in and %(length_out)s out: the speed and the price of 1M tokens count %(in)s million in and "
        "%(out)s million out."
    ) % {
        "typed_in": by_rate.short(typed[0]),
        "typed_out": by_rate.short(typed[1]),
        "length_in": f"{document['input_tokens']['typical']:,}",
        "length_out": f"{document['output_tokens']['typical']:,}",
        "in": by_rate.short(counted[0]),
        "out": by_rate.short(counted[1]),
    }


def managed_per_million(cleaned: Mapping[str, Any], workload: Any) -> float | None:
    """A million tokens of a service, in and out as the typical request mixes them; None unless both are given."""
    taken, made = cleaned.get("managed_in"), cleaned.get("managed_out")
    if not taken or not made:
        return None
    tokens_in, tokens_out = workload.input_tokens.typical, workload.output_tokens.typical
    return float((taken * tokens_in + made * tokens_out) / (tokens_in + tokens_out))
