"""What people type about teams, members and programs."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.access import EMAIL_MAX_LENGTH
from accounts.models import Membership, Role, Team, User
from mitsumori.digits import plain_digits
from mitsumori.text_fields import PlainTextField

NAME_LENGTH = 120
LENGTH_READ = 200
PERCENT_LEAST, PERCENT_MOST = Decimal("0.5"), Decimal("500")
_PERCENT = re.compile(r"\d{1,6}(\.\d{1,6})?", re.ASCII)


class NameForm(forms.Form):
    name = PlainTextField(
        label=_("Your name"),
        max_length=NAME_LENGTH,
        required=False,
        help_text=_("Printed on plans as “prepared by”. Plans saved before keep the name of then."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


class TeamForm(forms.Form):
    name = PlainTextField(label=_("Name of the team"), max_length=NAME_LENGTH)


class PercentField(forms.DecimalField):
    """By how much a price must move to be told; digits with a point, of full width too."""

    def __init__(self, **kwargs: Any) -> None:
        # As text: a field for numbers would silently lose what it does not take.
        attrs = {"inputmode": "decimal", "maxlength": "12"}
        super().__init__(
            min_value=PERCENT_LEAST,
            max_value=PERCENT_MOST,
            max_digits=4,
            decimal_places=1,
            widget=forms.TextInput(attrs=attrs),
            **kwargs,
        )

    def to_python(self, value: Any) -> Decimal | None:  # type: ignore[override]
        text = str(value or "")
        text = plain_digits(text).strip(" \t\u00a0") if len(text) <= LENGTH_READ else text
        if text and not _PERCENT.fullmatch(text):
            raise ValidationError(_("A number such as 10 or 2.5 is accepted here."), code="number")
        found: Decimal | None = super().to_python(text)
        return found


class TeamSettingsForm(TeamForm):
    allow_share_links = forms.BooleanField(
        label=_("Plans of this team may be shared by public links"),
        required=False,
        help_text=_("Without this mark no link can be made, and the existing ones do not open."),
    )
    price_alert_percent = PercentField(
        label=_("Tell of prices that moved by more than so many percent"),
        required=False,
        help_text=_(
            "Of the candidates that plans chose or rank first. Empty: never. A plan may have its own."
        ),
    )


class InviteForm(forms.Form):
    LIFETIMES = (("1", _("1 day")), ("7", _("7 days")), ("30", _("30 days")))

    email = forms.EmailField(label=_("E-mail address"), max_length=EMAIL_MAX_LENGTH)
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices, initial=Role.EDITOR)
    lifetime = forms.ChoiceField(label=_("The invitation works for"), choices=LIFETIMES, initial="7")

    def role_offered(self) -> Role:
        return Role(self.cleaned_data["role"])

    def lifetime_of_invitation(self) -> timedelta:
        return timedelta(days=int(self.cleaned_data["lifetime"]))


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)


class TokenForm(forms.Form):
    """A token of a program, never above the role of its member."""

    LIFETIMES = (("30", _("30 days")), ("90", _("90 days")), ("365", _("1 year")))

    token_name = PlainTextField(
        label=_("What it is for"), max_length=NAME_LENGTH, help_text=_("For example: nightly report")
    )
    team = forms.ModelChoiceField(
        label=_("Team"),
        queryset=Team.objects.none(),
        empty_label=None,
        error_messages={"invalid_choice": _("Choose one of your teams.")},
    )
    role = forms.ChoiceField(label=_("May act as"), choices=Role.choices, initial=Role.VIEWER)
    lifetime = forms.ChoiceField(label=_("The token works for"), choices=LIFETIMES, initial="90")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        teams = Team.objects.filter(memberships__user=user)
        cast("forms.ModelChoiceField[Team]", self.fields["team"]).queryset = teams

    def lifetime_of_token(self) -> timedelta:
        return timedelta(days=int(self.cleaned_data["lifetime"]))

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("team") and data.get("role"):
            membership = Membership.objects.get(team=data["team"], user=self.user)
            if not Role(membership.role).includes(Role(data["role"])):
                self.add_error("role", _("Your own role in this team is smaller."))
        return data
