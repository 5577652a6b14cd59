"""What people type about a quote; a row of an uploaded table passes the same form, so both have the same limits."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from catalog.identify import identify
from catalog.models import Answer, PriceUnit, Tier
from catalog.models.private import ANSWER_LENGTH, NOTE_LENGTH
from catalog.price_cells import TERM_MONTHS_MAXIMUM
from catalog.private_offers import VALUES
from mitsumori.digits import plain_digits
from mitsumori.text_fields import PlainTextField

_NUMBER = re.compile(r"(\d{1,3}(,\d{3})+|\d{1,9})(\.\d{1,6})?", re.ASCII)
LENGTH_READ = 200
_DAYS = (date(2000, 1, 1), date(2100, 12, 31))


class NumberField(forms.Field):
    """A number with a point, in digits of full width too; thousands may be grouped by commas.

    ``1,5`` is refused: it is unclear.
    """

    widget = forms.TextInput

    def __init__(self, *, least: str, most: str, decimals: int, above: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.least, self.most, self.decimals, self.above = Decimal(least), Decimal(most), decimals, above
        self.widget.attrs |= {"inputmode": "decimal", "maxlength": "24"}

    def to_python(self, value: Any) -> Decimal | None:
        # What is longer than any number is refused, not shortened; separators of lines are no spaces.
        text = str(value or "")
        text = text.strip(" \t\r\n\u3000\u00a0") if len(text) <= LENGTH_READ else text
        if not text:
            return None
        text = plain_digits(text) if len(text) <= LENGTH_READ else text
        if not _NUMBER.fullmatch(text):
            raise ValidationError(_("A number such as 1,234.50 is accepted here."), code="number")
        number = Decimal(text.replace(",", ""))
        if max(0, -int(number.as_tuple().exponent)) > self.decimals:
            raise ValidationError(
                gettext("At most %(count)d decimals are kept here.") % {"count": self.decimals},
                code="decimals",
            )
        if number < self.least or number > self.most or (self.above and number == self.least):
            raise ValidationError(
                gettext("A number between %(least)s and %(most)s is accepted here.")
                % {"least": f"{self.least:,f}", "most": f"{self.most:,f}"},
                code="range",
            )
        return number


class DayField(forms.DateField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            input_formats=["%Y-%m-%d", "%Y/%m/%d"], widget=forms.DateInput(attrs={"type": "date"}), **kwargs
        )

    def to_python(self, value: Any) -> Any:
        day = super().to_python(value)
        if day is not None and not _DAYS[0] <= day <= _DAYS[1]:
            raise ValidationError(_("A day between 2000 and 2100 is accepted."), code="range")
        return day


class QuoteForm(forms.Form):
    """One machine of one quote."""

    provider_name = PlainTextField(label=_("Provider"), max_length=120)
    reference = PlainTextField(label=_("Number of the quote"), max_length=120, required=False)
    sku = PlainTextField(label=_("Machine"), max_length=120, help_text=_("As the provider calls it."))
    accelerator_as_written = PlainTextField(
        label=_("Accelerator"), max_length=120, help_text=_("For example: H100 SXM 80 GB")
    )
    gpu_count = NumberField(label=_("GPUs per machine"), least="1", most="1024", decimals=0)
    vcpu = NumberField(label=_("vCPU"), least="0", most="100000", decimals=2, above=True, required=False)
    ram_gib = NumberField(
        label=_("RAM, GiB"), least="0", most="1000000", decimals=2, above=True, required=False
    )
    region = PlainTextField(label=_("Region"), max_length=60, required=False)
    tier = forms.ChoiceField(label=_("Terms"), choices=Tier.choices, initial=Tier.ON_DEMAND, required=False)
    tier_detail = PlainTextField(
        label=_("Term"), max_length=60, required=False, help_text=_("For example: 12 months")
    )
    amount = NumberField(
        label=_("Price of the whole machine"),
        least="0",
        most="999999999",
        decimals=6,
        help_text=_("Beside what is paid upfront; 0 where all is paid upfront."),
    )
    currency = PlainTextField(
        label=_("Currency"), max_length=3, help_text=_("Three letters, such as USD, JPY or CHF.")
    )
    unit = forms.ChoiceField(
        label=_("Per"), choices=PriceUnit.choices, initial=PriceUnit.HOUR, required=False
    )
    term_months = NumberField(
        label=_("Term in months"),
        least="1",
        most=str(TERM_MONTHS_MAXIMUM),
        decimals=0,
        required=False,
        help_text=_("For how long a reserved machine is bound."),
    )
    upfront = NumberField(
        label=_("Paid upfront for a machine and term"),
        least="0",
        most="999999999",
        decimals=6,
        required=False,
        help_text=_(
            "Paid once, in the same currency, for a reserved machine. The bill bears a month's share of it."
        ),
    )
    tax_included = forms.ChoiceField(
        label=_("Tax is included"),
        choices=[("", _("not stated")), ("yes", _("yes")), ("no", _("no"))],
        required=False,
    )
    received_on = DayField(label=_("Received on"))
    valid_until = DayField(label=_("Valid until"), required=False)
    survives_restart = forms.ChoiceField(
        label=_("Local data survive a restart"), choices=Answer.choices, required=False
    )
    survives_host_change = forms.ChoiceField(
        label=_("Local data survive a change of host"), choices=Answer.choices, required=False
    )
    survives_contract_end = forms.ChoiceField(
        label=_("Local data survive the end of the contract"), choices=Answer.choices, required=False
    )
    data_location = PlainTextField(label=_("Where data lie"), max_length=ANSWER_LENGTH, required=False)
    availability = PlainTextField(
        label=_("Availability at the wanted date"), max_length=ANSWER_LENGTH, required=False
    )
    startup_minutes = NumberField(
        label=_("Start-up time, minutes"), least="0", most="1000000", decimals=1, required=False
    )
    answered_on = DayField(label=_("Answered on"), required=False)
    note = PlainTextField(
        label=_("Note"),
        max_length=NOTE_LENGTH,
        lines=True,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    ASKED = (
        "survives_restart", "survives_host_change", "survives_contract_end", "data_location", "availability",
        "startup_minutes", "answered_on",
    )  # fmt: skip

    def clean_currency(self) -> str:
        code = str(self.cleaned_data["currency"]).strip().upper()
        if not re.fullmatch(r"[A-Z]{3}", code, re.ASCII):
            raise ValidationError(_("A currency has three letters, such as USD."))
        return code

    def clean_accelerator_as_written(self) -> str:
        name = str(self.cleaned_data["accelerator_as_written"])
        found = identify(name)
        if found.status == "ambiguous":
            raise ValidationError(
                gettext("This name can mean several cards: %(cards)s. Write which one.")
                % {"cards": ", ".join(found.candidates[:8])}
            )
        return name

    def clean_gpu_count(self) -> int:
        return int(self.cleaned_data["gpu_count"])

    def clean_term_months(self) -> int | None:
        months = self.cleaned_data["term_months"]
        return None if months is None else int(months)

    def clean_tier(self) -> str:
        return str(self.cleaned_data["tier"] or Tier.ON_DEMAND)

    def clean_unit(self) -> str:
        return str(self.cleaned_data["unit"] or PriceUnit.HOUR)

    def clean_tax_included(self) -> bool | None:
        return {"yes": True, "no": False}.get(self.cleaned_data["tax_included"])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        received, until = data.get("received_on"), data.get("valid_until")
        if received and until and until < received:
            self.add_error("valid_until", _("It would have ended before it was received."))
        self._clean_commitment(data)
        return data

    def _clean_commitment(self, data: dict[str, Any]) -> None:
        """Only what binds has a term, and only a term is paid upfront; something must be paid."""
        upfront = data.get("upfront")
        is_unbound = "tier" in data and data["tier"] != Tier.RESERVED
        if upfront and is_unbound:
            self.add_error(
                "upfront", _("Only a reserved machine is paid upfront: choose “Reserved” as its terms.")
            )
        elif upfront and data.get("term_months") is None and "term_months" not in self.errors:
            self.add_error("term_months", _("Give the months that are paid upfront."))
        if data.get("term_months") is not None and is_unbound:
            self.add_error(
                "term_months", _("Only a reserved machine has a term: choose “Reserved” as its terms.")
            )
        if data.get("amount") == 0 and not upfront and "upfront" not in self.errors:
            self.add_error("amount", _("Zero is accepted only where all is paid upfront."))

    def values(self) -> dict[str, Any]:
        """What `catalog.private_offers` takes."""
        return {name: self.cleaned_data[name] for name in VALUES}


class MappingForm(forms.Form):
    """Which column of the table is which field, and what holds for all rows of it."""

    provider_name = PlainTextField(label=_("Provider, for all rows"), max_length=120, required=False)
    currency = PlainTextField(label=_("Currency, for all rows"), max_length=3, required=False)
    unit = forms.ChoiceField(
        label=_("Price per, for all rows"), choices=[("", "–"), *PriceUnit.choices], required=False
    )
    received_on = DayField(label=_("Received on, for all rows"), required=False)
    valid_until = DayField(label=_("Valid until, for all rows"), required=False)
    take_good = forms.BooleanField(label=_("Leave out rows with faults, and take the others"), required=False)

    FOR_ALL = ("provider_name", "currency", "unit", "received_on", "valid_until")

    def __init__(self, *args: Any, heads: list[str], guesses: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [
            ("", _("left out")),
            *((name, field.label) for name, field in QuoteForm.base_fields.items()),
        ]
        self.column_names = [f"column_{number}" for number in range(len(heads))]
        for name, head, guess in zip(self.column_names, heads, guesses, strict=True):
            self.fields[name] = forms.ChoiceField(
                label=head or "–",
                choices=choices,
                initial=guess,
                required=False,
            )

    def columns(self) -> list[str]:
        return [self.cleaned_data.get(name, "") for name in self.column_names]

    def for_all(self) -> dict[str, str]:
        """What holds where a row says nothing, as text."""
        values = {name: self.cleaned_data.get(name) for name in self.FOR_ALL}
        return {
            name: value.isoformat() if isinstance(value, date) else str(value)
            for name, value in values.items()
            if value
        }

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        seen: set[str] = set()
        for name in self.column_names:
            field = data.get(name)
            if field and field in seen:
                self.add_error(name, _("Another column is this already."))
            seen.add(field or "")
        given = seen | {name for name in self.FOR_ALL if data.get(name)}
        missing = [
            str(field.label)
            for name, field in QuoteForm.base_fields.items()
            if field.required and name not in given
        ]
        if missing:
            self.add_error(
                None, gettext("No column says this yet: %(fields)s.") % {"fields": ", ".join(missing)}
            )
        return data
