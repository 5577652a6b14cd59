"""The only writers of private offers. A changed row ends, and another begins: past comparisons stay as they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    "vcpu", "ram_gib", "amount", "currency", "unit", "upfront", "term_months", "tax_included", "received_on",
    "valid_until", "note",
    "survives_restart", "survives_host_change", "survives_contract_end", "data_location", "availability",
    "startup_minutes", "answered_on",
)  # fmt: skip
SAME_QUOTE = (
    "provider_name", "reference", "sku", "region", "tier", "tier_detail", "accelerator_as_written", "gpu_count",
    "term_months", "paying",
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
    cards = _cards(str(values["accelerator_as_written"]) for values in rows)
    with held(team):
        standing = _standing(team)
        fresh: dict[tuple[Any, ...], PrivateOffer] = {}
        ended: list[int] = []
        done = []
        for values in rows:
            made = _offer(team, values, cards, user, at)
            key = line_of(made)
            before = fresh.get(key) or standing.get(key)
            if before is not None and _values(before) == _values(made):
                done.append((before, False))
                continue
            if before is not None and before.pk is not None:
                ended.append(before.pk)
            fresh[key] = made
            done.append((made, True))
        if len(standing.keys() | fresh.keys()) > OFFERS_MAXIMUM:
            raise TooManyError(team.pk)
        PrivateOffer.objects.filter(pk__in=ended, ended_at__isnull=True).update(ended_at=at)
        PrivateOffer.objects.bulk_create(fresh.values())
    return done


def change(offer: PrivateOffer, values: Mapping[str, Any], *, user: User, at: datetime) -> PrivateOffer:
    """The offer with other values, as a row of its own. Raises `EndedError` where somebody was faster."""
    cards = _cards([str(values["accelerator_as_written"])])
    with held(offer.team):
        made = _offer(offer.team, values, cards, user, at)
        if _values(offer) == _values(made):
            return offer
        if not _end(offer, at):
            raise EndedError(offer.pk)
        made.save()
    return made


def _standing(team: Team) -> dict[tuple[Any, ...], PrivateOffer]:
    return {line_of(each): each for each in PrivateOffer.objects.filter(team=team, ended_at__isnull=True)}


def withdraw(offer: PrivateOffer, *, at: datetime) -> None:
    _end(offer, at)


def _end(offer: PrivateOffer, at: datetime) -> bool:
    return bool(PrivateOffer.objects.filter(pk=offer.pk, ended_at__isnull=True).update(ended_at=at))


def _offer(
    team: Team, values: Mapping[str, Any], cards: Mapping[str, str | None], user: User, at: datetime
) -> PrivateOffer:
    made = PrivateOffer(team=team, created_by=user, created_at=at, **{name: values[name] for name in VALUES})
    made.accelerator_id = cards[made.accelerator_as_written]
    return made


def _cards(names: Iterable[str]) -> dict[str, str | None]:
    """The exact card that each name means, if it is certain; None where it is not. Known to the catalog afterwards."""
    facts = accelerators()
    found: dict[str, str | None] = {}
    for name in set(names):
        read = identify(name)
        is_certain = read.status == "resolved" and read.fraction == 1 and read.canonical in facts
        found[name] = read.canonical if is_certain else None
    wanted = {card for card in found.values() if card is not None}
    known = set(Accelerator.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    Accelerator.objects.bulk_create(
        [Accelerator(name=card, vendor=facts[card].vendor) for card in sorted(wanted - known)],
        ignore_conflicts=True,
    )
    return found


def line_of(offer: PrivateOffer) -> tuple[Any, ...]:
    """Which line of which quote it is."""
    return tuple(getattr(offer, name) for name in SAME_QUOTE)


def _values(offer: PrivateOffer) -> tuple[Any, ...]:
    return tuple(getattr(offer, name) for name in VALUES)
