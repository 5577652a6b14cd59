"""The form of the operations checklist; its limits are the document's."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from catalog.quote_forms import DayField, NumberField
from mitsumori.text_fields import PlainTextField
from reports import checklist as lists
from reports import checklist_words
from reports.checklist import Checklist, Service
from reports.forms import BaseNumberField

BLANK_SERVICES = 3
PARTS = ("name", "data_class", "place", "transfer", "retention", "rule")


def _share(label: Any, hint: Any = "") -> NumberField:
    return NumberField(
        label=label, least="0", most="99.9999999", decimals=6, above=True, required=False, help_text=hint
    )


def _hours(label: Any) -> NumberField:
    return NumberField(label=label, least="0", most="8760", decimals=3, required=False)


class ChecklistForm(forms.Form):
    base_number = BaseNumberField()
    availability_target = _share(_("Availability asked for, %"), _("For example 99.9"))
    machine_availability = _share(
        _("Availability of one machine, %"), _("As the provider promises, or as it was seen.")
    )
    recovery_hours = _hours(_("Back after a failure within, hours"))
    tolerated_loss_hours = _hours(_("Data that may be lost, hours"))
    backup_interval_hours = _hours(_("Backup every, hours"))
    restore_tested_on = DayField(label=_("Restore tested on"), required=False)
    restore_hours = _hours(_("The tested restore took, hours"))
    questions = PlainTextField(
        label=_("Open questions"),
        max_length=20_000,
        lines=True,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("One in each line."),
    )

    TARGETS = (
        "availability_target", "machine_availability", "recovery_hours", "tolerated_loss_hours",
        "backup_interval_hours", "restore_tested_on", "restore_hours",
    )  # fmt: skip
    SHARES = ("availability_target", "machine_availability")

    def __init__(self, data: Any = None, *, checklist: Checklist, base_number: int) -> None:
        super().__init__(data, initial=_initial(checklist) | {"base_number": base_number})
        for code in lists.ENTRY_CODES:
            self.fields[f"entry_{code}"] = PlainTextField(
                label=checklist_words.entry(code),
                max_length=1000,
                lines=True,
                required=False,
                widget=forms.Textarea(attrs={"rows": 2}),
            )
            self.fields[f"done_{code}"] = forms.BooleanField(label=_("settled"), required=False)
        given = _posted_rows(data) if data is not None else 0
        self.row_count = min(lists.SERVICES_MAXIMUM, max(len(checklist.services) + BLANK_SERVICES, given))
        for row in range(self.row_count):
            for part, head in zip(PARTS, checklist_words.service_heads(), strict=True):
                self.fields[f"service_{row}_{part}"] = PlainTextField(
                    label=head, max_length=200, required=False
                )

    @property
    def sections(self) -> list[dict[str, Any]]:
        return [
            {
                "title": checklist_words.section(section),
                "rows": [(self[f"entry_{code}"], self[f"done_{code}"]) for code in codes],
            }
            for section, codes in lists.ENTRIES
        ]

    @property
    def service_rows(self) -> list[list[Any]]:
        return [[self[f"service_{row}_{part}"] for part in PARTS] for row in range(self.row_count)]

    @property
    def targets(self) -> list[Any]:
        return [self[name] for name in self.TARGETS]

    def clean_questions(self) -> tuple[str, ...]:
        lines = tuple(
            line.strip() for line in str(self.cleaned_data["questions"]).split("\n") if line.strip()
        )
        if len(lines) > lists.QUESTIONS_MAXIMUM or any(len(line) > 1000 for line in lines):
            raise ValidationError(_("At most 40 questions of 1,000 characters each are kept."))
        return lines

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for row in range(self.row_count):
            parts = [data.get(f"service_{row}_{part}") for part in PARTS]
            if any(parts) and not parts[0]:
                self.add_error(f"service_{row}_name", _("Name the service."))
        return data

    def checklist(self) -> Checklist:
        data = self.cleaned_data
        services = [
            Service(**{part: data[f"service_{row}_{part}"] for part in PARTS})
            for row in range(self.row_count)
            if data[f"service_{row}_name"]
        ]
        targets = {name: data[name] for name in self.TARGETS}
        for name, value in targets.items():
            if name != "restore_tested_on" and value is not None:
                targets[name] = float(value) / (100 if name in self.SHARES else 1)
        return Checklist(
            entries={code: data[f"entry_{code}"] for code in lists.ENTRY_CODES if data[f"entry_{code}"]},
            done=tuple(code for code in lists.ENTRY_CODES if data[f"done_{code}"]),
            services=tuple(services),
            questions=data["questions"],
            **targets,
        )


def _posted_rows(data: Any) -> int:
    """Rows of services that a form brought back, so that none is lost when it is refused."""
    numbers = [
        int(parts[1]) + 1
        for parts in (name.split("_", 2) for name in data if name.startswith("service_"))
        if len(parts) == 3 and parts[1].isascii() and parts[1].isdigit() and len(parts[1]) < 3
    ]
    return max(numbers, default=0)


def _initial(checklist: Checklist) -> dict[str, Any]:
    found: dict[str, Any] = {f"entry_{code}": text for code, text in checklist.entries.items()}
    found |= {f"done_{code}": True for code in checklist.done}
    for row, service in enumerate(checklist.services):
        found |= {f"service_{row}_{part}": getattr(service, part) for part in PARTS}
        found[f"service_{row}_name"] = checklist_words.service_name(service.name)
    for name in ChecklistForm.TARGETS:
        value = getattr(checklist, name)
        if value is not None:
            is_day = name == "restore_tested_on"
            scale = 100 if name in ChecklistForm.SHARES else 1
            found[name] = value.isoformat() if is_day else f"{value * scale:.9g}"
    return found | {"questions": "\n".join(checklist.questions)}
