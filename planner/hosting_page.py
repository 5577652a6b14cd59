"""A page of the ways to pay and to host: by the hour, reserved, spot, own machines, managed by the token."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from accounts.access import team_id
from catalog.managed import ManagedPrice, managed_prices
from catalog.source_words import said
from planner import hosting_offers, hosting_sheet, managed_words
from planner.hosting_sheet import Sheet
from planner.sizing import hosting
from planner.sizing.hosting import Line, Stated, Total
from planner.typed_numbers import number_text

UNPROCESSABLE = 422
FIELD_LENGTH = 30
ROUND_FROM = 100

WAYS: dict[str, Any] = {
    "on_demand": _("By the hour"),
    "reserved": _("Reserved"),
    "spot": _("Spot"),
    "own": _("Own machines"),
    "managed": _("Managed, by the token"),
}
WHY: dict[str, Any] = {
    "not_given": _("its price is not given"),
    "not_interruptible": _("the work is not said to bear an interruption"),
}
LINES: dict[str, Any] = {
    "machine_hours": _("machine hours"),
    "rework": _("hours expected to be repeated"),
    "commitment": _("hours committed to, used or not"),
    "upfront": _("paid upfront"),
    "storage": _("storage and transfer"),
    "depreciation": _("depreciation"),
    "power": _("power and cooling"),
    "rack": _("rack, network and hands"),
    "staff": _("staff"),
    "input_tokens": _("tokens in"),
    "output_tokens": _("tokens out"),
}
UNITS: dict[str, Any] = {
    "h": _("h"), "month": ngettext_lazy("machine-month", "machine-months"),
    "month_of_storage": ngettext_lazy("month of it", "months of it"),
    "payment": ngettext_lazy("payment", "payments"), "kWh": "kWh", "M tokens": _("M tokens"),
}  # fmt: skip
COUNTED = frozenset({"month", "month_of_storage", "payment"})
"""Units whose word follows their number."""
LABELS: dict[str, tuple[Any, Any]] = {
    "machines": (_("Machines"), ""),
    "hours_per_month": (_("Hours a month in use"), _("h")),
    "months": (_("Months compared"), ""),
    "on_demand_per_hour": (_("One machine by the hour"), _("USD/h")),
    "reserved_per_hour": (_("One machine reserved"), _("USD/h")),
    "reserved_upfront": (_("Paid upfront for a machine and term"), "USD"),
    "reserved_term_months": (_("Term in months"), ""),
    "spot_per_hour": (_("One machine at spot"), _("USD/h")),
    "interruptible": (_("The work bears interruptions"), ""),
    "rework_fraction": (_("Share of the time that is repeated"), ""),
    "purchase": (_("Purchase of one machine, installed"), "USD"),
    "residual": (_("Worth at the end of its life"), "USD"),
    "life_months": (_("Life in months"), ""),
    "power_kw": (_("Power of one machine at work"), "kW"),
    "pue": (_("PUE: all power over that of the machines"), ""),
    "power_per_kwh": (_("Power price"), _("USD/kWh")),
    "rack_per_month": (_("Rack, network and hands, a machine and month"), "USD"),
    "storage_per_month": (_("Storage and transfer a month, all machines together"), "USD"),
    "staff_per_month": (_("Staff a month, all machines together"), "USD"),
    "input_millions_per_month": (_("Million tokens in, a month"), ""),
    "output_millions_per_month": (_("Million tokens out, a month"), ""),
    "managed_input_per_million": (_("Managed: a million tokens in"), "USD"),
    "managed_output_per_million": (_("Managed: a million tokens out"), "USD"),
}
GROUPS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (_("The work"), ("machines", "hours_per_month", "months", "input_millions_per_month",
                     "output_millions_per_month")),
    (_("Rented machines"), ("on_demand_per_hour", "reserved_per_hour", "reserved_upfront",
                            "reserved_term_months", "spot_per_hour", "interruptible", "rework_fraction",
                            "storage_per_month")),
    (_("Own machines"), ("purchase", "residual", "life_months", "power_kw", "pue", "power_per_kwh",
                         "rack_per_month", "staff_per_month")),
    (_("Managed, by the token"), ("service", "managed_input_per_million", "managed_output_per_million")),
)  # fmt: skip

DUTIES: tuple[tuple[Any, tuple[Any, Any, Any, Any]], ...] = (
    (_("Updates of driver, engine and model"), (_("you"), _("you"), _("you, firmware too"), _("the service"))),
    (_("Monitoring and restart"), (_("you"), _("you"), _("you"), _("the service; you watch its answers"))),
    (_("Recovery of a broken machine"), (_("you rent another"), _("the provider, within the contract"),
     _("you: spare parts or a spare machine"), _("the service"))),
    (_("Control of engine, format and settings"), (_("full"), _("full"), _("full"), _("what the service offers"))),
    (_("Models"), (_("any that fits"), _("any that fits"), _("any that fits"), _("those that it lists, below"))),
    (_("Limits"), (_("quota and stock of the provider"), _("the capacity reserved"), _("the machines bought"),
     _("rates and lengths that the service sets; ask for them"))),
    (_("Data path"), (_("the provider's data centre and region"), _("the provider's data centre and region"),
     _("your own rooms"), _("prompts and answers leave for the service; ask where and how long they are kept"))),
    (_("Ends"), (_("at any hour"), _("at the end of the term"), _("when sold or worn out"), _("at any request"))),
)  # fmt: skip
DUTY_COLUMNS = (
    _("Temporary server"), _("Reserved or dedicated server"), _("Own machines"), _("Managed inference"),
)  # fmt: skip


class HostingForm(forms.Form):
    """Texts of the fields of ``Stated``; its limits are the document's own."""

    use_required_attribute = False

    def __init__(self, data: Mapping[str, Any], first: Mapping[str, str]) -> None:
        super().__init__(data or None, initial=dict(first), auto_id="h_%s")
        for name in Stated.model_fields:
            label, unit = LABELS[name]
            field: forms.Field
            if name == "interruptible":
                field = forms.BooleanField(label=label, required=False)
            else:
                field = forms.CharField(label=label, required=False, max_length=FIELD_LENGTH, help_text=unit)
                field.widget.attrs["inputmode"] = "decimal"
            self.fields[name] = field
        self.fields["service"] = forms.ChoiceField(
            label=_("A shipped price"), required=False,
            choices=[("", _("none")), *((key, said(key)) for key in managed_prices())],
        )  # fmt: skip

    def stated(self) -> Stated | None:
        """What is compared; None where a field is refused, with the message at it."""
        if not self.is_valid():
            return None
        texts = {
            name: number_text(str(value)) for name, value in self.cleaned_data.items() if name != "service"
        }
        given = {name: text for name, text in texts.items() if text and name != "interruptible"}
        given = _priced(given | {"service": self.cleaned_data.get("service") or ""})
        try:
            return Stated.model_validate(given | {"interruptible": self.cleaned_data["interruptible"]})
        except ValidationError as error:
            for one in error.errors():
                self.add_error(str(one["loc"][0]), _message(one))
            return None

    @property
    def groups(self) -> list[dict[str, Any]]:
        return [{"title": title, "fields": [self[name] for name in names]} for title, names in GROUPS]


def _priced(given: Mapping[str, str]) -> dict[str, str]:
    """What is given without the name of a service; its shipped prices stand where none is typed."""
    found = dict(given)
    service = managed_prices().get(found.pop("service", ""))
    if service is not None:
        found.setdefault("managed_input_per_million", str(service.input_per_million))
        found.setdefault("managed_output_per_million", str(service.output_per_million))
    return found


def _message(error: Any) -> Any:
    limits = error.get("ctx", {})
    if "le" in limits:
        return _("At most %(limit)s.") % {"limit": limits["le"]}
    if "ge" in limits:
        return _("At least %(limit)s.") % {"limit": limits["ge"]}
    if "gt" in limits:
        return _("More than %(limit)s.") % {"limit": limits["gt"]}
    return _("Write a number like 12.5.")


@require_safe
def hosting_models(request: HttpRequest) -> HttpResponse:
    given = request.GET
    sheet = None
    if hosting_sheet.is_a_sheet(given):
        sheet = hosting_sheet.read(given, timezone.now(), team_id(request))
    offer = hosting_offers.offer_of(given.get("offer", "")) or (sheet.offer if sheet else None)
    found = (hosting_offers.prices_of(offer) if offer else {}) | (sheet.first if sheet else {})
    first = _defaults() | {name: value for name, value in found.items() if _is_sound(name, value)}
    asked = {name: value for name, value in given.items() if name in Stated.model_fields or name == "service"}
    is_asked = bool(set(asked) - {"interruptible"}) if sheet else bool(asked)
    if is_asked:
        # What is left out of a link keeps what the sheet or the offer says; a box that is not ticked is in no link.
        first = {name: value for name, value in first.items() if name != "interruptible"}
    form = HostingForm(first | asked if is_asked else {}, first)
    stated = form.stated() if is_asked else Stated.model_validate(_priced(first))
    context = {
        "form": form, "offer": offer, "sheet": sheet, "duty_columns": DUTY_COLUMNS,
        "duties": [(duty, list(zip(DUTY_COLUMNS, cells, strict=True))) for duty, cells in DUTIES],
        "hidden": [*(sheet.pairs if sheet else ()), *([("offer", str(offer.pk))] if offer else [])],
    }  # fmt: skip
    if stated is not None:
        context |= _answer(stated)
        if offer is not None:
            context["commitments"] = hosting_offers.commitments_of(
                offer, stated, _kept(given, sheet, offer.pk)
            )
    context |= _managed(sheet, stated)
    return render(
        request, "planner/hosting.html", context, status=200 if stated is not None else UNPROCESSABLE
    )


def _is_sound(name: str, value: str) -> bool:
    """Whether a figure that was found is within the limits of its field."""
    if name == "service":
        return value in managed_prices()
    try:
        Stated.model_validate({name: value})
    except ValidationError:
        return False
    return True


def _kept(given: QueryDict, sheet: Sheet | None, offer: int) -> list[tuple[str, str]]:
    """What a link within the page carries on: the sheet, the offer, and what was typed."""
    typed = [
        (name, value) for name, value in given.items() if name in Stated.model_fields or name == "service"
    ]
    return [*(sheet.pairs if sheet else ()), ("offer", str(offer)), *typed]


def _defaults() -> dict[str, str]:
    return {
        name: str(field.default)
        for name, field in Stated.model_fields.items()
        if field.default is not None and name != "interruptible"
    }


def _managed(sheet: Sheet | None, stated: Stated | None) -> dict[str, Any]:
    """The shipped prices: of the sheet's model first, each with its month at the stated volume and its break-even."""
    prices = list(managed_prices().values())
    model = sheet.model.casefold() if sheet else ""
    own = [one for one in prices if model and one.model.casefold() == model]
    shown = dict.fromkeys(one.service for one in [*own, *prices])
    return {
        "service_sheets": [found for name in shown if (found := managed_words.sheet_of(name)).published],
        "own_prices": [_managed_row(one, sheet, stated) for one in own],
        "prices": [_managed_row(one, None, stated) for one in prices if one not in own],
    }


def _managed_row(price: ManagedPrice, sheet: Sheet | None, stated: Stated | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "price": price, "month": None, "even": None, "too_short": False, "sheet": managed_words.sheet_of(price.service),
        "rates": managed_words.for_model(price, "rates"), "kept": managed_words.for_model(price, "retention"),
    }  # fmt: skip
    if sheet is not None and price.context_tokens is not None:
        row["too_short"] = price.context_tokens < sheet.context_tokens
    volume = stated is not None and stated.input_millions_per_month + stated.output_millions_per_month
    if stated is None or not volume:
        return row
    here = Stated.model_validate(stated.model_dump() | {
        "managed_input_per_million": price.input_per_million,
        "managed_output_per_million": price.output_per_million,
    })  # fmt: skip
    month = hosting.managed(here).per_month(here.months)
    hosted = [total for total in hosting.totals(here) if total.way != "managed" and total.amount is not None]
    if month is not None:
        row["month"] = f"{month:,.2f}"
    if hosted:
        least = min(hosted, key=lambda total: total.amount or Decimal(0))
        even = hosting.break_even_millions(here, least.way)
        row["even"] = None if even is None else f"{even:,.2f}"
        row["even_way"] = WAYS[least.way]
        row["pays"] = even is not None and even <= volume
    return row


def _answer(stated: Stated) -> dict[str, Any]:
    totals = hosting.totals(stated)
    known = [total.amount for total in totals if total.amount is not None]
    return {
        "stated": stated,
        "rows": [_row(total, stated, min(known, default=None)) for total in totals],
        "is_reserved_compared": stated.reserved_per_hour is not None and bool(stated.on_demand_per_hour),
        "even_hours": hosting.break_even_hours(stated),
        "even_month": hosting.break_even_month(stated),
        "even_millions": [
            {"way": WAYS[total.way], "millions": f"{millions:,.2f}"}
            for total in totals
            if (millions := hosting.break_even_millions(stated, total.way)) is not None
        ],
    }


def _row(total: Total, stated: Stated, least: Decimal | None) -> dict[str, Any]:
    amount = total.amount
    return {
        "way": WAYS[total.way],
        "why": WHY.get(total.why, ""),
        "amount": None if amount is None else f"{amount:,.2f}",
        "per_month": None if amount is None else f"{total.per_month(stated.months):,.2f}",
        "per_million": total.per_million(stated),
        "is_least": amount is not None and amount == least,
        "paid_months": total.paid_months if total.paid_months > stated.months else 0,
        "lines": [_line(line) for line in total.lines],
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "what": LINES[line.what],
        "amount": f"{line.amount:,.2f}",
        "quantity": f"{line.quantity.normalize():,f}",
        "unit": UNITS[line.unit] % int(line.quantity) if line.unit in COUNTED else UNITS[line.unit],
        "unit_price": _unit_price(line.unit_price),
    }


def _unit_price(price: Decimal) -> str:
    """As it was stated, to cents from 100 on and else to six places at most."""
    return f"{round(price, 2 if price >= ROUND_FROM else 6).normalize():,f}"
