"""What a stated rate of requests means: tokens a month, and a peak in the proportion of the numbers at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner.figures import significant
from planner.sizing import token_volume
from planner.sizing.token_volume import InOut

MILLION = 1_000_000
DIGITS = 4


def volume(document: Mapping[str, Any]) -> InOut | None:
    """Tokens of a month as they were stated; None in kinds and plans that have none."""
    found = InOut(document.get("input_tokens_per_month"), document.get("output_tokens_per_month"))
    return None if found == InOut(None, None) else found


def lengths(document: Mapping[str, Any]) -> InOut:
    return InOut(document["input_tokens"]["typical"], document["output_tokens"]["typical"])


def requests_per_month(document: Mapping[str, Any]) -> float | None:
    """Requests of typical length, of a stated rate or of stated tokens; None where numbers at once are the load."""
    stated, rate_per_s = volume(document), document.get("request_rate_per_s")
    if rate_per_s is not None:
        return float(rate_per_s) / _rate_of_one(document)
    return None if stated is None else token_volume.requests_per_month(stated, lengths(document))


def rate_per_s(document: Mapping[str, Any]) -> float | None:
    """Requests a second on average, of a stated rate or of stated tokens."""
    if document.get("request_rate_per_s") is not None:
        return float(document["request_rate_per_s"])
    requests = requests_per_month(document)
    return None if requests is None else requests * _rate_of_one(document)


def _rate_of_one(document: Mapping[str, Any]) -> float:
    """What one request a month is in requests a second."""
    schedule = document["schedule"]
    return token_volume.rate_per_s(1.0, schedule["hours_per_day"], schedule["days_per_month"])


def millions_a_month(document: Mapping[str, Any]) -> tuple[float, float] | None:
    """Tokens in and out of a month, in millions; None where numbers at once are the load.

    As stated; else requests/s × 3,600 × hours × days × the typical length.
    """
    requests = requests_per_month(document)
    if requests is None:
        return None
    taken, made = token_volume.tokens_per_month(volume(document), lengths(document), requests)
    return taken / MILLION, made / MILLION


def times(document: Mapping[str, Any]) -> dict[str, str]:
    """How much higher than the average the peak of a rate is, with the numbers at once that say so."""
    load = document["concurrency"]
    return {
        "times": short(load["peak"] / load["average"]),
        "peak": f"{load['peak']:,g}",
        "average": f"{load['average']:,g}",
    }


def told(document: Mapping[str, Any]) -> dict[str, tuple[str, str] | None]:
    """Fields that say something else where a rate is given: their label and text, or None where they say nothing."""
    millions, average = millions_a_month(document), rate_per_s(document)
    if millions is None or average is None:
        return {}
    proportion, stated = times(document), volume(document)
    most = average * document["concurrency"]["peak"] / document["concurrency"]["average"]
    rate = (
        _("%(rate)s on average: %(in)s million tokens in and %(out)s million out a month")
        if stated is None
        else _("%(rate)s on average, of typical length, to serve the tokens of the month")
    )
    return {
        "users": None,
        "rate": (
            _("Requests per second"),
            rate % {"rate": short(average), "in": short(millions[0]), "out": short(millions[1])},
        ),
        "users_peak": (
            _("Requests per second at peak"),
            _("%(most)s, %(times)s × the average, as %(peak)s at once are to %(average)s")
            % {"most": short(most), **proportion},
        ),
    } | _other_side(stated, millions)


def _other_side(stated: InOut | None, millions: tuple[float, float]) -> dict[str, tuple[str, str] | None]:
    """The side of the month's tokens that was not typed, where the other was."""
    if stated is None or None not in stated:
        return {}
    is_in = stated.input is None
    label = _("Tokens in, a month") if is_in else _("Tokens out, a month")
    text = _("%(n)s million, at the typical lengths") % {"n": short(millions[0 if is_in else 1])}
    return {"m_in" if is_in else "m_out": (label, text)}


def short(value: float, digits: int = DIGITS) -> str:
    """So many digits, without the zeros at the end of a fraction.

    >>> short(2000.0), short(0.7610341736)
    ('2,000', '0.761')
    """
    text = significant(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text
