"""What every kind of workload has in its form, its costs and its columns."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from planner.assumed_field import AssumedField
from planner.columns import HARDWARE, KNOWN, LAYOUT, MEMORY, MONTH, PRICE, VALUE, Column
from planner.fields import ChoiceField, NamesField, NumberField, PlacesField, SheetField, TickField
from planner.kinds.frame import Cost, Fold, Group, Row
from planner.options import CURRENCIES, INTERRUPTION, TIERS

ANSWERS = _("Answering requests")
TRAINS = _("Training")
MAKES = _("Images, video, sound")
"""Families of the chooser."""

HEADROOM: dict[str, SheetField] = {
    "headroom": NumberField(
        label=_("Memory headroom"),
        path=("headroom_fraction",),
        default="10",
        scale=100,
        unit="%",
        help_text=_("Left free of what the runtime may use."),
    ),
    "budget": NumberField(
        label=_("Budget per month"),
        path=("budget_per_month",),
        help_text=_("In the currency chosen above."),
    ),
}
SCHEDULE: dict[str, SheetField] = {
    "hours": NumberField(
        label=_("Hours a day"), path=("schedule", "hours_per_day"), default="24", unit=_("h")
    ),
    "days": NumberField(
        label=_("Days a month"), path=("schedule", "days_per_month"), default="30.4167", unit=_("d")
    ),
    "starts": NumberField(label=_("Starts a day"), path=("schedule", "starts_per_day"), default="1"),
}
REPLICAS: dict[str, SheetField] = {
    "replicas": NumberField(label=_("Min. replicas"), path=("replicas_minimum",), default="1", integer=True),
}
TERMS: dict[str, SheetField] = {
    "interruptible": ChoiceField(
        label=_("Interruption"),
        path=("interruptible",),
        default="auto",
        choices=INTERRUPTION,
        help_text=_("Serving: not affordable. Batch: affordable, it can restart."),
        is_radio=True,
    ),
    "tiers": NamesField(label=_("Terms"), path=("filters", "tiers"), default="on_demand", choices=TIERS),
}
FILTERS: dict[str, SheetField] = {
    "providers": NamesField(
        label=_("Providers"), path=("filters", "providers"), template="planner/_long_list.html"
    ),
    "regions": PlacesField(
        label=_("Regions"),
        path=("filters", "regions"),
        typed=True,
        help_text=_(
            "Codes of regions, cities, countries or parts of the world (EU, Asia …), with commas. Empty: any."
        ),
    ),
    "include": NamesField(
        label=_("Only these accelerators"),
        path=("filters", "include"),
        typed=True,
        help_text=_("Names, families or a memory, with commas: H100, RTX PRO 6000, 24 GB. Empty: any."),
    ),
    "exclude": NamesField(label=_("Not these accelerators"), path=("filters", "exclude"), typed=True),
    "complete": TickField(label=_("Complete prices only"), path=("filters", "complete_prices_only")),
    "age": NumberField(
        label=_("Prices at most this old"),
        path=("filters", "price_age_days_maximum"),
        integer=True,
        unit=_("d"),
    ),
    "gpus": NumberField(
        label=_("GPUs in a machine, at most"), path=("filters", "gpu_count_maximum"), integer=True
    ),
    "estimates": TickField(
        label=_("Also prices that the source only estimates"), path=("filters", "estimated_prices")
    ),
    "price_max": NumberField(label=_("At most per month"), path=("filters", "price_per_month_maximum")),
}
CURRENCY: dict[str, SheetField] = {
    "currency": ChoiceField(label=_("Currency"), path=("currency",), default="USD", choices=CURRENCIES),
}
KEPT: dict[str, SheetField] = {
    "storage": NumberField(label=_("Kept on disk"), path=("storage_gb",), default="100", unit="GB"),
    "egress": NumberField(
        label=_("Sent out per month"), path=("egress_gb_per_month",), default="50", unit="GB"
    ),
}

ASSUMED: dict[str, SheetField] = {
    "assume": AssumedField(label=_("Assumptions set by hand"), path=("assumed",)),
}

TERMS_FOLD = Fold(_("Starts, interruption, terms"), ("starts", "interruptible", "tiers"))
FILTERS_FOLD = Fold(
    _("Filters: region, provider, accelerator, price, age"),
    (
        "regions",
        "providers",
        "include",
        "exclude",
        "price_max",
        ("age", "gpus"),
        "complete",
        "estimates",
    ),
)
WHEN_AND_WHERE = Group(
    _("When and where"), (Row(("hours", "days", "replicas"), "three"), TERMS_FOLD, FILTERS_FOLD)
)
WHAT_IS_KEPT = Group(_("What is kept"), (("storage", "egress"),))

MONTHLY = Cost(
    "monthly",
    _("Per month, whole deployment"),
    lambda candidate: candidate.monthly.total,
    axis_label=_("Monthly total"),
    derivation="monthly_total",
)


def columns(
    *, memory: tuple[Column, ...] = (), speed: tuple[Column, ...] = (), unit: tuple[Column, ...] = ()
) -> tuple[Column, ...]:
    """All columns of a kind: those of every kind, with its own for memory, speed and the cost of a unit of use."""
    return (*LAYOUT, *MEMORY, *memory, *HARDWARE, *speed, *MONTH, *unit, *VALUE, *PRICE, *KNOWN)
