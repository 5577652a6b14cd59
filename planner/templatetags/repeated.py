"""Parts that a page repeats dozens of times: a figure that opens, ticks of columns, options of assumptions. A template
takes several times as long for them, so they are written here; every text is escaped."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

from django import template
from django.template import Context
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from planner import assumption_words
from planner.columns import Column
from planner.figures import Figure
from planner.forms import WorkbenchForm
from planner.templatetags.marks import why_class, why_title
from planner.templatetags.rows import detail_address
from planner.templatetags.words import page_there

register = template.Library()


@register.simple_tag(takes_context=True)
def opened(context: Context, shown: Figure) -> SafeString:
    """A figure with its unit and range, as a link to how it comes about where that is told."""
    unit = f" {escape(shown.unit)}" if shown.unit else ""
    text, row, form = escape(shown.text), context.get("row"), context.get("form")
    if shown.there and form:
        said = _link(page_there(shown.there, form), text)
    elif shown.opens and row:
        said = _link(f"{_there(context, row)}#d-{shown.opens}", f"{text}{unit}", shown.opens)
        if shown.opens in row.rests_on_hand:
            said += _by_hand()
    else:
        said = f'<span class="given">{text}{unit}</span>' if shown.is_given else f"<span>{text}{unit}</span>"
    if shown.range:
        said += f'<span class="sub">{escape(shown.range)}</span>'
    return mark_safe(said)  # noqa: S308  # nosec B308, B703


def _link(address: str, inner: str, figure: str = "") -> str:
    return f'<a class="{why_class(figure)}" href="{escape(address)}" title="{why_title(figure)}">{inner}</a>'


def _there(context: Context, row: Any) -> str:
    """The candidate's page; nothing where this is it."""
    if context.get("is_page"):
        return ""
    return f"{detail_address(row.it.offer.offer_id)}?{context.get('plain_query') or ''}"


def _by_hand() -> str:
    words = _("Rests on an assumption that is set by hand")
    return (
        f'<span class="by-hand-mark" title="{words}"><span aria-hidden="true">✎</span>'
        f'<span class="hidden-visually">{words}</span></span>'
    )


@register.simple_tag
def column_ticks(columns: Iterable[Column], chosen: Collection[str]) -> SafeString:
    """A box for every column, ticked where it is shown."""
    language = get_language() or ""
    written = (
        f'<label><input type="checkbox" name="columns" value="{column.key}"'
        f"{' checked' if column.key in chosen else ''} />{_title(column, language)}</label>"
        for column in columns
    )
    return mark_safe("".join(written))  # noqa: S308  # nosec B308, B703


_titles: dict[tuple[str, str], str] = {}


def _title(column: Column, language: str) -> str:
    key = (column.key, language)  # not the column: to hash it would translate its title
    if key not in _titles:
        _titles[key] = escape(str(column.title))
    return _titles[key]


@register.filter
def settable_options(form: WorkbenchForm) -> str:
    """Assumptions that may be set for this kind of work as options, in the order of their names in words."""
    settable = tuple((name, each.unit) for name, each in form.kind.settable.items())
    return _options(settable, get_language() or "")


@lru_cache(maxsize=32)
def _options(settable: tuple[tuple[str, str], ...], language: str) -> SafeString:
    found = sorted(
        ((name, _with_unit(name, unit)) for name, unit in settable), key=lambda pair: pair[1].casefold()
    )
    written = (f'<option value="{escape(name)}">{escape(words)}</option>' for name, words in found)
    return mark_safe("".join(written))  # noqa: S308  # nosec B308, B703


def _with_unit(name: str, unit: str) -> str:
    words, unit = assumption_words.assumption(name), assumption_words.unit(unit)
    return f"{words} ({unit})" if unit else words
