"""What people say of price alerts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Team
from accounts.team_forms import PercentField
from mitsumori.text_fields import plain_number


class AlertForm(forms.Form):
    """From which move on a plan tells."""

    rule = forms.ChoiceField(label=_("Tell of a price that moved"))
    percent = PercentField(label=_("Percent, if the plan has its own"), required=False)

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        percent = team.price_alert_percent
        of_team = (
            _("as its team does: never")
            if percent is None
            else _("as its team does: by more than %(percent)s %%") % {"percent": plain_number(percent)}
        )
        cast(forms.ChoiceField, self.fields["rule"]).choices = [
            ("team", of_team),
            ("own", _("by more than the percentage below")),
            ("never", _("never")),
        ]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("rule") == "own" and data.get("percent") is None and "percent" not in self.errors:
            self.add_error("percent", _("Say by how many percent."))
        return data

    def is_own(self) -> bool:
        return str(self.cleaned_data["rule"]) != "team"

    def percent_told(self) -> Decimal | None:
        """None: never."""
        found: Decimal | None = self.cleaned_data["percent"] if self.cleaned_data["rule"] == "own" else None
        return found

    def in_short(self) -> str:
        """For the log of the plan: a number, or nothing."""
        percent = self.percent_told()
        return "" if percent is None else f"{plain_number(percent)} %"


class FollowForm(forms.Form):
    mail = forms.ChoiceField(choices=[("yes", "yes"), ("no", "no")])
