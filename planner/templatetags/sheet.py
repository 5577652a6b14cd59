"""Filters that turn figures into the text of the sheet; the forms themselves live in ``planner.figures``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django import template
from django.http import QueryDict
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from catalog.templatetags.quoted import said
from planner import figures, wording
from planner.columns import Column

register = template.Library()

IN_OFFER = frozenset(
    {"rank", "provider", "sku", "region", "accelerator", "replicas", "gpus_per_replica", "machines"}
)
"""Columns that the first two cells of a row show already."""


@register.filter
def gib(size_bytes: int) -> str:
    return figures.gib(size_bytes)


@register.filter
def unlocalized(number: float) -> str:
    """For scripts: a point, no grouping."""
    return repr(float(number))


@register.filter
def json_text(value: Any) -> str:
    """For scripts, in an attribute."""
    return json.dumps(value, ensure_ascii=False)


@register.filter
def whole(number: float) -> str:
    return f"{number:,.0f}"


@register.filter
def plain(number: Any, decimals: int = 2) -> str:
    text = f"{Decimal(str(number)):,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@register.filter
def digits(number: Any) -> str:
    if isinstance(number, bool | str):
        return str(number)
    return figures.significant(float(number), 3) if abs(number) < 1000 else f"{number:,.0f}"


@register.filter
def amount(number: Decimal, currency: str) -> str:
    return figures.money_plain(number, currency)


@register.filter
def class_word(number: Any) -> str:
    return wording.class_word(int(number))


@register.filter
def limit_word(code: str) -> str:
    return wording.word("limit", code)


@register.filter
def pairs(query: str) -> list[tuple[str, str]]:
    return [(key, value) for key, values in QueryDict(query).lists() for value in values]


@register.filter
def short(column: Column) -> str:
    """The title as a narrow column head says it."""
    return wording.column_head(column.key, str(column.title))


@register.filter
def glossed(text: Any) -> SafeString:
    """A label with the first term of the field in it explained; the explanation shows when it is pointed at."""
    return _glossed(str(text), get_language() or "")


@lru_cache(maxsize=1024)
def _glossed(plain: str, language: str) -> SafeString:
    """The same labels stand on every page, and looking for terms in them takes longer than the rest of a row."""
    for word, gloss in (*wording.GLOSSES.items(), *wording.TRANSLATED_GLOSSES):
        term = str(word)
        edge = r"\b" if term.isascii() else ""
        found = re.search(rf"{edge}{re.escape(term)}{edge}", plain)
        if found:
            before, after = plain[: found.start()], plain[found.end() :]
            return format_html('{}<abbr title="{}">{}</abbr>{}', before, gloss, found[0], after)
    return format_html("{}", plain)


@register.filter
def own_columns(columns: Iterable[Column]) -> list[Column]:
    return [column for column in columns if column.key not in IN_OFFER]


@register.filter
def with_links(columns: Iterable[Column], links: list[dict[str, str]]) -> list[tuple[Column, dict[str, str]]]:
    by_key = {link["key"]: link for link in links}
    return [(column, by_key[column.key]) for column in own_columns(columns)]


DOCUMENTS = (
    ("docs/methods-memory.md", "memory"),
    ("docs/methods-training.md", "training"),
    ("docs/methods.md", "speed"),
)


@register.filter
def source(text: str) -> SafeString:
    """A source in the reader's language, with a link where it names one of our own documents."""
    written: str = said(text)
    for name, subject in DOCUMENTS:
        if name in written:
            link = format_html('<a href="{}">{}</a>', reverse("planner:methods", args=[subject]), name)
            written = written.replace(name, link)
    return mark_safe(written)  # noqa: S308  # nosec B308 B703
