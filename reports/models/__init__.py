"""Plans and their versions, the links that show them, and the prices that they watch."""

from reports.models.links import ShareLink, ShareLinkQuerySet
from reports.models.plans import (
    NOTE_LENGTH,
    TITLE_LENGTH,
    Activity,
    Comment,
    Decision,
    FrozenModel,
    ImmutableError,
    Plan,
    PlanQuerySet,
    PlanTag,
    PlanVersion,
    PlanWorkload,
    new_slug,
)
from reports.models.prices import (
    PriceAlert,
    PriceFollower,
    PriceLook,
    PriceMove,
    PriceNotice,
    WatchedPrice,
)

__all__ = [
    "NOTE_LENGTH",
    "TITLE_LENGTH",
    "Activity",
    "Comment",
    "Decision",
    "FrozenModel",
    "ImmutableError",
    "Plan",
    "PlanQuerySet",
    "PlanTag",
    "PlanVersion",
    "PlanWorkload",
    "PriceAlert",
    "PriceFollower",
    "PriceLook",
    "PriceMove",
    "PriceNotice",
    "ShareLink",
    "ShareLinkQuerySet",
    "WatchedPrice",
    "new_slug",
]
