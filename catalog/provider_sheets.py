"""What a provider asks beside its machines: storage and transfer on a day, and what they cost before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby

from django.utils.functional import Promise

from catalog.ages import Age, age_of, day_of
from catalog.history import Step
from catalog.models import EgressTier, Provider, StorageKind, StoragePrice
from catalog.price_charts import PriceChart, of_offer
from catalog.term_prices import amount_of

Priced = StoragePrice | EgressTier


@dataclass(frozen=True)
class TermRow:
    """One step as a page shows it."""

    step: Priced
    age: Age

    @property
    def is_storage(self) -> bool:
        return isinstance(self.step, StoragePrice)

    @property
    def amount(self) -> str:
        return f"{amount_of(self.step).normalize():f}"

    @property
    def is_by_hand(self) -> bool:
        """No source that is refreshed lists it: it is a shipped price, as old as it says."""
        return self.step.refresh_id is None


@dataclass(frozen=True)
class TermSpan:
    """The steps of one storage or of transfer while they were in force; no beginning: before old ones were kept."""

    begins: date | None
    ends: date | None
    rows: tuple[TermRow, ...]


@dataclass(frozen=True)
class TermHistory:
    """What one storage, or transfer where there is no kind, cost over time, newest first."""

    kind: str | Promise
    name: str
    spans: tuple[TermSpan, ...]
    chart: PriceChart | None


def regions_of(provider: Provider) -> list[str]:
    """Regions that have prices of their own; the empty one holds for all others."""
    known = {*provider.storage_prices.values_list("region"), *provider.egress_tiers.values_list("region")}
    return sorted(region for (region,) in known)


def rows_in(provider: Provider, region: str, at: datetime | None, on: date) -> list[TermRow]:
    """Storage and transfer as they hold in a region: its own, else what holds everywhere; of a moment, or now."""
    storage, egress = (
        known.in_force() if at is None else known.as_of(at)
        for known in (provider.storage_prices.all(), provider.egress_tiers.all())
    )
    return term_rows(here_first(storage, region), here_first(egress, region), on)


def here_first(steps: Iterable[Priced], region: str) -> list[Priced]:
    """Steps that hold in a region; one that is priced there is not shown with its price elsewhere too."""
    found = [step for step in steps if step.region in ("", region)]
    own = {_what(step) for step in found if step.region == region}
    return [step for step in found if step.region == region or _what(step) not in own]


def term_rows(storage: Iterable[Priced], egress: Iterable[Priced], on: date) -> list[TermRow]:
    return [TermRow(step, age_of(step.observed, on)) for step in (*storage, *egress)]


def histories(provider: Provider, region: str, on: date) -> list[TermHistory]:
    """What changed: of every storage and of transfer in a region the prices over time, where there were several."""
    steps: list[Priced] = [
        *provider.storage_prices.filter(region=region), *provider.egress_tiers.filter(region=region)
    ]  # fmt: skip
    found = []
    for (kind, name), same in groupby(sorted(steps, key=_what), key=_what):
        spans = _spans(list(same), on)
        if len(spans) > 1:
            label = StorageKind(kind).label if kind else ""
            found.append(TermHistory(label, name, spans, of_offer(_line(spans, on))))
    return found


def _what(step: Priced) -> tuple[str, str]:
    return (step.kind, step.name) if isinstance(step, StoragePrice) else ("", "")


def _spans(steps: Sequence[Priced], on: date) -> tuple[TermSpan, ...]:
    """Steps that came and went together, newest first."""

    def came(step: Priced) -> tuple[bool, datetime | None]:
        return (step.recorded_at is not None, step.recorded_at)

    spans = []
    for (_known, begins), together in groupby(sorted(steps, key=came), key=came):
        rows = tuple(
            TermRow(step, age_of(step.observed, on))
            for step in sorted(together, key=lambda step: step.from_gb)
        )
        ends = rows[0].step.replaced_at
        spans.append(TermSpan(begins and begins.date(), ends and ends.date(), rows))
    return tuple(reversed(spans))


def _line(spans: Sequence[TermSpan], on: date) -> list[Step]:
    """The first paid price of each span, oldest first; only those in the newest one's currency and unit."""
    drawn = []
    newest = spans[0].rows[0].step
    for span in reversed(spans):
        first = span.rows[0].step
        begins = span.begins or day_of(first.first_observed) or day_of(first.observed)
        paid = next((amount_of(row.step) for row in span.rows if amount_of(row.step)), Decimal(0))
        if begins is None or (first.currency, first.per_bytes) != (newest.currency, newest.per_bytes):
            continue
        drawn.append(Step(begins, max(begins, span.ends or on), paid, first.currency))
    return drawn


@dataclass(frozen=True)
class ProviderLine:
    """A provider among the others: what its default storage and its transfer cost where one region stands for it."""

    provider: Provider
    storage: TermRow | None
    egress: TermRow | None
    """The first step that is paid; of transfer that is free, the free one."""
    free_gb: Decimal | None
    """How much may be sent before it; None where nothing is known of transfer."""

    @property
    def is_free(self) -> bool:
        return self.egress is not None and not amount_of(self.egress.step)


def provider_lines(on: date) -> list[ProviderLine]:
    """Every provider with the storage that bills use and the first price of transfer, known ones first; 3 queries."""
    storage: dict[str, StoragePrice] = {}
    for price in StoragePrice.objects.in_force().filter(is_default=True, from_gb=0).order_by("region"):
        storage.setdefault(price.provider_id, price)
    egress: dict[str, list[EgressTier]] = {}
    for tier in EgressTier.objects.in_force().order_by("region", "from_gb"):
        steps = egress.setdefault(tier.provider_id, [])
        if not steps or steps[0].region == tier.region:
            steps.append(tier)
    lines = [
        _line_of(provider, storage.get(provider.slug), egress.get(provider.slug, []), on)
        for provider in Provider.objects.all()
    ]
    return sorted(lines, key=lambda line: line.storage is None and line.egress is None)


def _line_of(
    provider: Provider, stored: StoragePrice | None, sent: list[EgressTier], on: date
) -> ProviderLine:
    paid = next((tier for tier in sent if tier.amount_per_gb), sent[0] if sent else None)
    return ProviderLine(
        provider,
        None if stored is None else TermRow(stored, age_of(stored.observed, on)),
        None if paid is None else TermRow(paid, age_of(paid.observed, on)),
        None if paid is None else paid.from_gb,
    )
