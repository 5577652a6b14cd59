"""A form field for text that is stored, shown again and printed."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

# What PostgreSQL refuses, what no font shows and what breaks a line of a file; tab and line ends count as text.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\ufffd]")
_LINE_ENDS = re.compile("[\t\n\r\u2028\u2029]")


def is_unprintable(text: str) -> bool:
    """Whether the text holds control characters, or what is left of characters that were broken."""
    return _UNPRINTABLE.search(text) is not None


class PlainTextField(forms.CharField):
    """Text that is kept as it was typed, without characters that nothing can show."""

    def __init__(self, *, lines: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lines = lines

    def to_python(self, value: Any) -> str:
        text = str(super().to_python(value) or "")
        if is_unprintable(text):
            raise ValidationError(
                _("Control characters and broken characters are not accepted."), code="unprintable"
            )
        if not self.lines and _LINE_ENDS.search(text):
            raise ValidationError(_("One line is accepted here, without tabs and line breaks."), code="lines")
        return text.replace("\r\n", "\n")


def plain_number(number: Decimal) -> str:
    """A decimal as a person types it: 10, not 10.0 and not 1E+1."""
    return f"{number.normalize():f}"
