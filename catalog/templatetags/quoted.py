"""Sources and notes on pages: in the reader's language where there are words, else as they are, marked as English."""

from __future__ import annotations

from functools import lru_cache

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from catalog import source_words

register = template.Library()


@register.filter
def said(text: str | None) -> SafeString:
    return _said(get_language() or "", str(text or ""))


@register.filter
def said_plain(text: str | None) -> str:
    """For an attribute."""
    return source_words.said(str(text or ""))


@lru_cache(maxsize=4096)
def _said(_language: str, text: str) -> SafeString:
    return format_html_join(
        source_words.BETWEEN,
        "{}",
        (
            (format_html('<span lang="en">{}</span>', part.text) if part.is_quoted else part.text,)
            for part in source_words.parts(text)
        ),
    )
