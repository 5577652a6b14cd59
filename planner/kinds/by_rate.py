"""What a stated rate of requests means: tokens a month, and a peak in the proportion of the numbers at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner.figures import significant

MILLION = 1_000_000
SECONDS_PER_HOUR = 3_600
DIGITS = 4


def millions_a_month(document: Mapping[str, Any]) -> tuple[float, float] | None:
    """Tokens in and out of a month, in millions; None without a rate.

    requests/s × 3,600 × hours × days × the typical length.
    """
    rate_per_s = document.get("request_rate_per_s")
    if rate_per_s is None:
        return None
    schedule = document["schedule"]
    seconds = SECONDS_PER_HOUR * schedule["hours_per_day"] * schedule["days_per_month"]
    taken, made = (document[name]["typical"] for name in ("input_tokens", "output_tokens"))
    return rate_per_s * seconds * taken / MILLION, rate_per_s * seconds * made / MILLION


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
    millions = millions_a_month(document)
    if millions is None:
        return {}
    rate_per_s, proportion = document["request_rate_per_s"], times(document)
    most = rate_per_s * document["concurrency"]["peak"] / document["concurrency"]["average"]
    return {
        "users": None,
        "rate": (
            _("Requests per second"),
            _("%(rate)s on average: %(in)s million tokens in and %(out)s million out a month")
            % {"rate": short(rate_per_s), "in": short(millions[0]), "out": short(millions[1])},
        ),
        "users_peak": (
            _("Requests per second at peak"),
            _("%(most)s, %(times)s × the average, as %(peak)s at once are to %(average)s")
            % {"most": short(most), **proportion},
        ),
    }


def short(value: float) -> str:
    """Four digits, without the zeros at the end of a fraction.

    >>> short(2000.0), short(0.7610341736)
    ('2,000', '0.761')
    """
    text = significant(value, DIGITS)
    return text.rstrip("0").rstrip(".") if "." in text else text
