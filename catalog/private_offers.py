"""The only writers of private offers. A changed row ends, and another begins: past comparisons stay as they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from accounts.models import Team, User
from accounts.teams import held
from catalog.facts import accelerators
from catalog.identify import identify
from catalog.models import Accelerator, PrivateOffer

OFFERS_MAXIMUM = 5_000
"""Of one team, standing at once."""

VALUES = (
    "provider_name", "reference", "sku", "region", "tier", "tier_detail", "accelerator_as_written", "gpu_count",
    "vcpu", "ram_gib", "amount", "currency", "unit", "tax_included", "received_on", "valid_until", "note",
    "survives_restart", "survives_host_change", "survives_contract_end", "data_location", "availability",
    "startup_minutes", "answered_on",
)  # fmt: skip
SAME_QUOTE = (
    "provider_name", "reference", "sku", "region", "tier", "tier_detail", "accelerator_as_written", "gpu_count",
)  # fmt: skip
"""What makes two rows the same line of the same quote: the later one takes the place of the earlier."""


class TooManyError(ValueError):
    """The team has as many private offers as it may."""


class EndedError(ValueError):
    """Somebody changed or withdrew the offer meanwhile; nothing was written."""


def add(team: Team, values: Mapping[str, Any], *, user: User, at: datetime) -> PrivateOffer:
    (made, _changed), *_none = add_all(team, [values], user=user, at=at)
    return made


def add_all(
    team: Team, rows: Sequence[Mapping[str, Any]], *, user: User, at: datetime
) -> list[tuple[PrivateOffer, bool]]:
    """All rows or none; each with whether it changed anything. The same file twice adds nothing.

    The team's row is held, so that two who upload the same file at once do not double it.
    """
    with held(team):
        standing = _standing(team)
        done = []
        for values in rows:
            made = _offer(team, values, user, at)
            before = standing.get(_key(made))
            if before is not None and _values(before) == _values(made):
                done.append((before, False))
                continue
            if before is not None and before.pk is not None:
                _end(before, at)
            made.save()
            standing[_key(made)] = made
            done.append((made, True))
        if len(standing) > OFFERS_MAXIMUM:
            raise TooManyError(team.pk)
    return done


def change(offer: PrivateOffer, values: Mapping[str, Any], *, user: User, at: datetime) -> PrivateOffer:
    """The offer with other values, as a row of its own. Raises `EndedError` where somebody was faster."""
    with held(offer.team):
        made = _offer(offer.team, values, user, at)
        if _values(offer) == _values(made):
            return offer
        if not _end(offer, at):
            raise EndedError(offer.pk)
        made.save()
    return made


def _standing(team: Team) -> dict[tuple[Any, ...], PrivateOffer]:
    return {_key(each): each for each in PrivateOffer.objects.filter(team=team, ended_at__isnull=True)}


def withdraw(offer: PrivateOffer, *, at: datetime) -> None:
    _end(offer, at)


def _end(offer: PrivateOffer, at: datetime) -> bool:
    return bool(PrivateOffer.objects.filter(pk=offer.pk, ended_at__isnull=True).update(ended_at=at))


def _offer(team: Team, values: Mapping[str, Any], user: User, at: datetime) -> PrivateOffer:
    made = PrivateOffer(team=team, created_by=user, created_at=at, **{name: values[name] for name in VALUES})
    made.accelerator_id = card(made.accelerator_as_written)
    return made


def card(name: str) -> str | None:
    """The exact card a name means, if it is certain and known to the catalog."""
    found = identify(name)
    if found.status != "resolved" or found.canonical is None or found.fraction != 1:
        return None
    vendor = accelerators()[found.canonical].vendor
    Accelerator.objects.get_or_create(name=found.canonical, defaults={"vendor": vendor})
    return found.canonical


def _key(offer: PrivateOffer) -> tuple[Any, ...]:
    return tuple(getattr(offer, name) for name in SAME_QUOTE)


def _values(offer: PrivateOffer) -> tuple[Any, ...]:
    return tuple(getattr(offer, name) for name in VALUES)
