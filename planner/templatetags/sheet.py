"""Filters that turn figures into the text of the sheet; the forms themselves live in ``planner.presenters``."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import template
from django.http import QueryDict

from planner import presenters, wording
from planner.columns import Column
from planner.presenters import Cell

register = template.Library()

IN_OFFER = frozenset({"rank", "provider", "sku", "region", "accelerator", "replicas", "gpus_per_replica", "machines"})
"""Columns that the first two cells of a row show already."""


@register.filter
def gib(size_bytes: int) -> str:
    return presenters.gib(size_bytes)


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
    return presenters.significant(float(number), 3) if abs(number) < 1000 else f"{number:,.0f}"


@register.filter
def amount(number: Decimal, currency: str) -> str:
    return presenters.money_plain(number, currency)


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
def own_columns(columns: Iterable[Column]) -> list[Column]:
    return [column for column in columns if column.key not in IN_OFFER]


@register.filter
def own_cells(cells: Iterable[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.column.key not in IN_OFFER]


@register.filter
def with_links(columns: Iterable[Column], links: list[dict[str, str]]) -> list[tuple[Column, dict[str, str]]]:
    by_key = {link["key"]: link for link in links}
    return [(column, by_key[column.key]) for column in own_columns(columns)]
