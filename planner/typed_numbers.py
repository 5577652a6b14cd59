"""Numbers as people type them: decimal digits of any script count, groups of thousands are read, nothing is guessed."""

from __future__ import annotations

import re

from mitsumori.digits import plain_digits

NUMBER_LENGTH_MAXIMUM = 40
LENGTH_READ = 200
"""Of a number with spaces around it."""
SPACES = " \t\r\n\u3000\u00a0"
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?")


def ungrouped(text: str) -> str:
    """``12,345`` as ``12345``, as the sheet itself prints it; a comma anywhere else stays and is refused.

    >>> ungrouped("1,000"), ungrouped("12,345.5"), ungrouped("1,5"), ungrouped("0,500")
    ('1000', '12345.5', '1,5', '0,500')
    """
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text


def number_text(text: str) -> str:
    """A number as it is read: plain digits, without groups and without spaces around it.

    Separators of lines are no spaces, and what is longer than any number is left as it is, to be refused.

    >>> number_text(" １,000 "), number_text("\u2028"), len(number_text(" " * 9_000))
    ('1000', '\u2028', 9000)
    """
    if len(text) > LENGTH_READ:
        return text
    return ungrouped(plain_digits(text).strip(SPACES))
