"""What people type on plans and links, and its limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.models import Team
from mitsumori.text_fields import PlainTextField
from reports.models import NOTE_LENGTH, TITLE_LENGTH
from reports.services import Words

QUERY_LENGTH = 8000
MOMENT_LENGTH = 40


class WordsForm(forms.Form):
    """The words on a plan."""

    title = PlainTextField(label=_("Title"), max_length=TITLE_LENGTH)
    prepared_for = PlainTextField(
        label=_("Prepared for"),
        max_length=TITLE_LENGTH,
        required=False,
        help_text=_("Who will read it: a team, a customer, procurement. Printed on page one."),
    )
    note = PlainTextField(
        label=_("Note"),
        max_length=NOTE_LENGTH,
        required=False,
        lines=True,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Printed with the plan, and seen by everybody who has a link to it."),
    )

    def words(self) -> Words:
        data = self.cleaned_data
        return Words(title=data["title"], prepared_for=data["prepared_for"], note=data["note"])


class MomentField(forms.Field):
    """A moment in ISO 8601, as the workbench wrote it; without a zone it is UTC."""

    widget = forms.HiddenInput

    def to_python(self, value: Any) -> datetime | None:
        text = str(value or "").strip()
        if not text:
            return None
        try:
            if len(text) > MOMENT_LENGTH:
                raise ValueError("too long")
            moment = datetime.fromisoformat(text)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            raise ValidationError(_("This is no date and time in ISO 8601."), code="moment") from None


class SaveForm(WordsForm):
    """A workbench screen that becomes a plan: the screen itself travels along, hidden."""

    team = forms.ModelChoiceField(
        label=_("Team"),
        queryset=Team.objects.none(),
        empty_label=None,
        error_messages={"invalid_choice": _("Choose one of your teams in which you may edit.")},
    )
    query = PlainTextField(max_length=QUERY_LENGTH, required=False, widget=forms.HiddenInput)
    priced_at = MomentField(required=False)

    def __init__(self, *args: Any, teams: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("forms.ModelChoiceField[Team]", self.fields["team"]).queryset = teams


class BaseNumberField(forms.IntegerField):
    """The version that the page was opened on."""

    widget = forms.HiddenInput

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=1, max_value=2_000_000_000, **kwargs)


class AddForm(WordsForm):
    """A workbench screen that becomes the next version of a plan."""

    query = PlainTextField(max_length=QUERY_LENGTH, required=False, widget=forms.HiddenInput)
    priced_at = MomentField(required=False)
    base_number = BaseNumberField()


class EditForm(WordsForm):
    """Other words over the same figures."""

    base_number = BaseNumberField()


class ShareForm(forms.Form):
    """How long a new link works."""

    LIFETIMES = (
        ("7", _("7 days")),
        ("30", _("30 days")),
        ("90", _("90 days")),
        ("365", _("1 year")),
        ("never", _("until it is revoked")),
    )
    lifetime = forms.ChoiceField(label=_("The link works for"), choices=LIFETIMES, initial="30")

    def lifetime_of_link(self) -> timedelta | None:
        days = self.cleaned_data["lifetime"]
        return None if days == "never" else timedelta(days=int(days))
