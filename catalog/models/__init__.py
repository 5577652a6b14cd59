"""The tables of the catalog: offers and prices, terms beside the machine, runs of sources."""

from catalog.models.machines import MachineKind, MachineType
from catalog.models.offers import (
    PRICE_DIGITS,
    STALE_DAYS,
    WITHOUT_ACCELERATOR,
    Accelerator,
    Offer,
    OfferQuerySet,
    Price,
    PriceUnit,
    Provider,
    Region,
    Tier,
    offer_key,
)
from catalog.models.private import Answer, PrivateOffer, QuoteTable
from catalog.models.refreshes import (
    CatalogVersion,
    KeptBack,
    Refresh,
    RefreshDecision,
    RefreshPage,
    RefreshQuerySet,
    RefreshStatus,
)
from catalog.models.terms import (
    UNIT_PRICE_DIGITS,
    BillingTerms,
    EgressTier,
    ExchangeRate,
    StorageKind,
    StoragePrice,
    StorageSpeed,
)
from catalog.models.uploads import PriceUpload, UploadState

__all__ = [
    "PRICE_DIGITS",
    "STALE_DAYS",
    "UNIT_PRICE_DIGITS",
    "WITHOUT_ACCELERATOR",
    "Accelerator",
    "Answer",
    "BillingTerms",
    "CatalogVersion",
    "EgressTier",
    "ExchangeRate",
    "KeptBack",
    "MachineKind",
    "MachineType",
    "Offer",
    "OfferQuerySet",
    "Price",
    "PriceUnit",
    "PriceUpload",
    "PrivateOffer",
    "Provider",
    "QuoteTable",
    "Refresh",
    "RefreshDecision",
    "RefreshPage",
    "RefreshQuerySet",
    "RefreshStatus",
    "Region",
    "StorageKind",
    "StoragePrice",
    "StorageSpeed",
    "Tier",
    "UploadState",
    "offer_key",
]
