"""The forms of allauth with this product's limits."""

from __future__ import annotations

from typing import Any

from allauth.account import forms as allauth_forms
from django import forms
from django.core.validators import MaxLengthValidator

from accounts.access import EMAIL_MAX_LENGTH

PASSWORD_MAX_LENGTH = 256
"""Longer ones only cost time to hash."""


class Limited(forms.Form):
    """Bounds every text field, and leaves the explaining to labels instead of placeholders."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            if isinstance(field, forms.CharField):
                length = PASSWORD_MAX_LENGTH if "password" in name else EMAIL_MAX_LENGTH
                field.max_length = length
                field.validators.append(MaxLengthValidator(length))
                field.widget.attrs["maxlength"] = str(length)


class LoginForm(Limited, allauth_forms.LoginForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].help_text = ""  # the page itself has the link for a forgotten password


class SignupForm(Limited, allauth_forms.SignupForm):  # type: ignore[misc]
    pass


class ChangePasswordForm(Limited, allauth_forms.ChangePasswordForm):  # type: ignore[misc]
    pass


class ResetPasswordForm(Limited, allauth_forms.ResetPasswordForm):  # type: ignore[misc]
    pass


class ResetPasswordKeyForm(Limited, allauth_forms.ResetPasswordKeyForm):  # type: ignore[misc]
    pass
