"""Tokens of a month: what a stated volume means in requests, and what the price of a million divides by."""

from __future__ import annotations

from typing import Any, NamedTuple

SECONDS_PER_HOUR = 3_600


class InOut(NamedTuple):
    """A number for the tokens of prompts and one for those of answers; None is not stated."""

    input: float | None
    output: float | None


def stated(workload: Any) -> InOut | None:
    """Tokens of a month as they were stated, both sides or one; None where neither was, as in every other kind."""
    found = InOut(
        getattr(workload, "input_tokens_per_month", None), getattr(workload, "output_tokens_per_month", None)
    )
    return None if found == InOut(None, None) else found


def typical(workload: Any) -> InOut:
    """Lengths of the typical request, tokens."""
    return InOut(workload.input_tokens.typical, workload.output_tokens.typical)


def requests_per_month(volume: InOut, lengths: InOut) -> float:
    """Requests of typical length that serve the whole volume.

    requests = max(tokens in ÷ typical input, tokens out ÷ typical output); a side not stated asks for none.
    """
    return max((tokens or 0.0) / (length or 1.0) for tokens, length in zip(volume, lengths, strict=True))


def tokens_per_month(volume: InOut | None, lengths: InOut, requests: float) -> tuple[float, float]:
    """Tokens in and out of a month: as stated; a side not stated is requests × its typical length."""
    taken, made = volume or InOut(None, None)
    return (
        requests * (lengths.input or 0.0) if taken is None else taken,
        requests * (lengths.output or 0.0) if made is None else made,
    )


def rate_per_s(requests: float, hours_per_day: float, days_per_month: float) -> float:
    """Requests a second, spread over the hours that the machines are on: requests ÷ (3,600 × hours × days)."""
    return requests / (SECONDS_PER_HOUR * hours_per_day * days_per_month)
