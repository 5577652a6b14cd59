"""What people type about teams, members and programs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.access import EMAIL_MAX_LENGTH
from accounts.models import Membership, Role, Team, User
from mitsumori.text_fields import PlainTextField

NAME_LENGTH = 120


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


class TeamSettingsForm(TeamForm):
    allow_share_links = forms.BooleanField(
        label=_("Plans of this team may be shared by public links"),
        required=False,
        help_text=_("Without this mark no link can be made, and the existing ones do not open."),
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
