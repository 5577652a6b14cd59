"""What people type on plans and links, and its limits."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Team
from mitsumori.text_fields import PlainTextField
from reports import notes
from reports.models import NOTE_LENGTH, TITLE_LENGTH, PlanVersion
from reports.services import LINK_LIFETIME_MAX, Words

QUERY_LENGTH = 8000
MOMENT_LENGTH = 40
WORKLOADS_MAXIMUM = 20
LINK_PASSWORD_LENGTH = 128
LINK_PASSWORD_LENGTH_LEAST = 8


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


class IntoTeamForm(forms.Form):
    """Which team something new belongs to: one of `teams`."""

    team = forms.ModelChoiceField(
        label=_("Team"),
        queryset=Team.objects.none(),
        empty_label=None,
        error_messages={"invalid_choice": _("Choose one of your teams in which you may edit.")},
    )

    def __init__(self, *args: Any, teams: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("forms.ModelChoiceField[Team]", self.fields["team"]).queryset = teams


class SaveForm(IntoTeamForm, WordsForm):
    """A workbench screen that becomes a plan: the screen itself travels along, hidden."""

    query = PlainTextField(max_length=QUERY_LENGTH, required=False, widget=forms.HiddenInput)
    priced_at = MomentField(required=False)


class BaseNumberField(forms.IntegerField):
    """The version that the page was opened on."""

    widget = forms.HiddenInput

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=1, max_value=2_000_000_000, **kwargs)


class AddForm(WordsForm):
    """A workbench screen that becomes the next version of a plan, in the place of one workload or beside them."""

    place = forms.ChoiceField(label=_("In the plan it"))
    name = PlainTextField(
        label=_("Name of this workload"),
        max_length=TITLE_LENGTH,
        required=False,
        help_text=_("Shown above its figures where a plan has several workloads."),
    )
    query = PlainTextField(max_length=QUERY_LENGTH, required=False, widget=forms.HiddenInput)
    priced_at = MomentField(required=False)
    base_number = BaseNumberField()

    def __init__(self, *args: Any, version: PlanVersion, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = list(version.answers)
        choices: list[tuple[str, Any]] = [
            (str(row.position), _("takes the place of workload %(position)d %(name)s") % {
                "position": row.position, "name": row.name})
            for row in rows
        ]  # fmt: skip
        if len(rows) < WORKLOADS_MAXIMUM:
            choices.append(("new", _("is added as another workload")))
        self.fields["place"] = forms.ChoiceField(label=_("In the plan it"), choices=choices, required=False)
        self.order_fields(("title", "place", "name"))

    def position(self) -> int | None:
        """The workload whose place it takes; None: it is another one. The first one where nothing was chosen."""
        place = self.cleaned_data["place"] or "1"
        return None if place == "new" else int(place)


class RepriceForm(forms.Form):
    base_number = BaseNumberField()


class CopyForm(IntoTeamForm):
    """A plan made out of one that exists."""

    title = PlainTextField(label=_("Title"), max_length=TITLE_LENGTH)
    field_order = ("title", "team")


class ImportForm(IntoTeamForm):
    """Into which team a file is read; the file itself is read beside the form, in bounded memory."""


class WorkloadsForm(forms.Form):
    """Which workloads of a version stay, under which name and in which order."""

    base_number = BaseNumberField()

    def __init__(self, *args: Any, version: PlanVersion, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["base_number"] = version.number
        self.rows = list(version.answers)
        for row in self.rows:
            number = row.position
            self.fields[f"name_{number}"] = PlainTextField(
                label=_("Name of workload %(number)d") % {"number": number},
                max_length=TITLE_LENGTH,
                required=False,
                initial=row.name,
            )
            self.fields[f"place_{number}"] = forms.IntegerField(
                label=_("Place of workload %(number)d") % {"number": number},
                min_value=0,
                max_value=99,
                initial=number,
                help_text=_("1 is the first; 0 takes it out of the next version."),
            )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors and not self.kept():
            raise ValidationError(_("A plan keeps at least one workload."))
        return data

    def kept(self) -> list[tuple[int, str]]:
        data = self.cleaned_data
        placed = [(data[f"place_{row.position}"], row.position) for row in self.rows]
        return [(position, data[f"name_{position}"]) for place, position in sorted(placed) if place > 0]


class EditForm(WordsForm):
    """Other words over the same figures."""

    base_number = BaseNumberField()


class ShareForm(forms.Form):
    """How long a new link works, and for whom it is."""

    LIFETIMES = (
        ("7", _("7 days")),
        ("30", _("30 days")),
        ("90", _("90 days")),
        ("365", _("1 year")),
        ("until", _("until the end of the day below")),
        ("never", _("until it is revoked")),
    )
    lifetime = forms.ChoiceField(label=_("The link works for"), choices=LIFETIMES, initial="30")
    until = forms.DateField(
        label=_("Last day, if it is to end on one"),
        required=False,
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=_("At most two years from now, in UTC."),
    )
    note = PlainTextField(
        label=_("For whom"),
        max_length=TITLE_LENGTH,
        required=False,
        help_text=_("For your team to remember; readers of the link do not see it."),
    )
    password = forms.CharField(
        label=_("Password, if one should be asked for"),
        max_length=LINK_PASSWORD_LENGTH,
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("At least 8 characters; tell it to the reader on another way than the link."),
    )

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        if password and len(password) < LINK_PASSWORD_LENGTH_LEAST:
            raise ValidationError(_("At least 8 characters, or none."))
        return password

    def clean_until(self) -> date | None:
        day: date | None = self.cleaned_data["until"]
        today = timezone.now().date()
        if day is not None and not today <= day < today + LINK_LIFETIME_MAX:
            raise ValidationError(_("A day from today to two years from now is accepted."))
        return day

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if "until" in self.errors or "lifetime" in self.errors:
            return data
        if data["lifetime"] == "until" and data["until"] is None:
            self.add_error("until", _("Say on which day it ends."))
        if data["lifetime"] != "until" and data["until"] is not None:
            self.add_error("until", _("To end on this day, choose “until the end of the day below” above."))
        return data

    def lifetime_of_link(self, at: datetime) -> timedelta | None:
        """How long from now; None: until it is revoked."""
        lifetime = self.cleaned_data["lifetime"]
        if lifetime == "never":
            return None
        if lifetime == "until":
            day: date = self.cleaned_data["until"]
            return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1) - at
        return timedelta(days=int(lifetime))


class LinkPasswordForm(forms.Form):
    """What the reader of a protected link types."""

    password = forms.CharField(
        label=_("Password of this link"),
        max_length=LINK_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )


class TagsForm(forms.Form):
    tags = PlainTextField(
        label=_("Tags"),
        max_length=notes.TAGS_MAXIMUM * (notes.TAG_LENGTH + 2),
        required=False,
        help_text=_("Words between commas, by which the plan is found."),
    )

    def clean_tags(self) -> list[str]:
        words = notes.read_tags(self.cleaned_data["tags"])
        if len(words) > notes.TAGS_MAXIMUM:
            raise ValidationError(_("A plan has 20 tags at most."))
        if any(len(word) > notes.TAG_LENGTH for word in words):
            raise ValidationError(_("A tag has 40 characters at most."))
        return words


class _About(forms.Form):
    """Something said about the plan or one of its candidates."""

    subject = forms.ChoiceField(label=_("About"), required=False)

    def __init__(self, *args: Any, subjects: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast(forms.ChoiceField, self.fields["subject"]).choices = subjects


class CommentForm(_About):
    text = PlainTextField(
        label=_("Comment"), max_length=NOTE_LENGTH, lines=True, widget=forms.Textarea(attrs={"rows": 3})
    )


class DecisionForm(_About):
    chosen = PlainTextField(
        label=_("Chosen, if it is none of the candidates"),
        max_length=TITLE_LENGTH,
        required=False,
    )
    because = PlainTextField(
        label=_("Because"), max_length=NOTE_LENGTH, lines=True, widget=forms.Textarea(attrs={"rows": 3})
    )
    decided_by = PlainTextField(label=_("Decided by"), max_length=TITLE_LENGTH)
    decided_on = forms.DateField(
        label=_("Decided on"), input_formats=["%Y-%m-%d"], widget=forms.DateInput(attrs={"type": "date"})
    )

    def clean_decided_on(self) -> Any:
        day = self.cleaned_data["decided_on"]
        if not 2000 <= day.year <= 2100:
            raise ValidationError(_("A day between 2000 and 2100 is accepted."))
        return day

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors and not data.get("subject") and not data.get("chosen"):
            self.add_error("chosen", _("Say what was chosen, or pick a candidate above."))
        return data
