"""Digits as people type them, of full width or of any script, as ASCII."""

from __future__ import annotations

import unicodedata


def plain_digits(text: str) -> str:
    """Full-width forms and decimal digits of any script as ASCII; superscripts and numerals stay as they are.

    >>> plain_digits("１２．５") == "12.5" and plain_digits("²") == "²"
    True
    """
    characters = []
    for character in text:
        if unicodedata.decimal(character, None) is not None:
            characters.append(str(unicodedata.decimal(character)))
        elif "\uff01" <= character <= "\uff5e":
            characters.append(chr(ord(character) - 0xFEE0))
        else:
            characters.append(" " if character == "\u3000" else character)
    return "".join(characters).replace("\u2212", "-")
