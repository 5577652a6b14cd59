"""Rows of the long tables. A page has hundreds of their cells and a template is four times slower, so they are
written here; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import NamedTuple

from django import template
from django.urls import get_script_prefix, reverse
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from planner import assumption_words, wording
from planner.candidate_views import CandidateView
from planner.columns import Column
from planner.figures import Cell
from planner.rejections import RejectedView
from planner.sizing.quantities import Assumption
from planner.templatetags.sheet import IN_OFFER, digits, short, source
from planner.tray import toggled

register = template.Library()


@register.simple_tag
def candidate_row(
    row: CandidateView,
    cheapest_offer_id: int | None,
    query: str,
    is_open: bool,
    tray: list[int],
    tray_query: str,
) -> SafeString:
    """One candidate as a table row: the offer, its layout, then the chosen columns.

    ``tray_query`` is the screen without its tray, to which the link that puts this offer there is made.
    """
    it, offer = row.it, row.it.offer
    there = _escaped(f"{detail_address(offer.offer_id)}?{query}")
    detail = f"detail-{offer.offer_id}"
    head = (
        f'<a href="{there}" hx-get="{there}" hx-target="#{detail}" hx-swap="innerHTML" hx-push-url="false" '
        f'data-detail="{detail}" aria-controls="{detail}" aria-expanded="{"true" if is_open else "false"}">'
        f'<span class="rank">{it.rank}</span>{_escaped(_named(offer.gpu_count, offer.accelerator))}</a>'
    )
    about = [offer.provider_name, offer.sku, row.place, "" if offer.tier == "on_demand" else row.tier]
    told = [_escaped(text) for text in about if text]
    if offer.offer_id == cheapest_offer_id:
        told.append(_marked("fits", _("lowest complete list price")))
    told += [_marked("tight", flag) for flag in row.flags]
    put = toggled(tray, offer.offer_id)
    told.append(_tray_link(tray_query, put, offer.offer_id in tray))
    below = _escaped(row.machines)
    if it.class_ != 1:
        below += " · " + _marked(f"mark-{it.class_}", wording.class_word(it.class_))
    return mark_safe(  # noqa: S308  # nosec B308, B703
        f'<tr class="class-{it.class_}"><th scope="row">{head} <span class="sub">{" · ".join(told)}</span></th>'
        f'<td data-label="{_said(get_language() or "").layout}"><span>{_escaped(row.layout)}'
        f'<span class="sub">{below}</span></span></td>{_cells(row.cells, it.monthly.currency)}</tr>'
    )


@register.simple_tag
def candidate_bodies(
    rows: Iterable[CandidateView],
    cheapest_offer_id: int | None,
    query: str,
    tray: list[int],
    tray_query: str,
    width: int,
) -> SafeString:
    """Candidates that are not opened, each with the empty row that takes its detail."""
    written = [
        f"\n      <tbody>\n        \n          "
        f"{candidate_row(row, cheapest_offer_id, query, False, tray, tray_query)}\n          "
        f'<tr class="detail" hidden><td colspan="{width}" id="detail-{row.it.offer.offer_id}"></td></tr>'
        f"\n        \n      </tbody>\n    "
        for row in rows
    ]
    return mark_safe("".join(written))  # noqa: S308  # nosec B308, B703


def _tray_link(query: str, tray: str, is_in: bool) -> str:
    joined = "&".join(part for part in (query, f"tray={tray}" if tray else "") if part)
    there = _escaped(f"?{joined}")
    words = _said(get_language() or "")
    word = words.compared if is_in else words.compare
    return (
        f'<a class="tray no-print{" on" if is_in else ""}" href="{there}#h-candidates" hx-get="{there}" '
        f'hx-target="#answer" hx-swap="innerHTML show:none" hx-push-url="true">{word}</a>'
    )


class _Said(NamedTuple):
    """What every row says again."""

    layout: str
    compare: str
    compared: str
    unknown: str


@lru_cache(maxsize=16)
def _said(language: str) -> _Said:
    found = (_("Layout"), _("compare"), _("✓ compared"), _("unknown"))
    return _Said(*(_escaped(text) for text in found))


def _escaped(text: str) -> str:
    """As ``conditional_escape``, which takes four times as long for plain text."""
    return escape(text) if type(text) is str else conditional_escape(text)


@lru_cache(maxsize=8)
def _prefixed(prefix: str) -> str:
    return reverse("planner:candidate", args=[0])


def detail_address(offer_id: int) -> str:
    """The address of an offer's detail: that of offer 0, which is worked out once for hundreds of links, as its own."""
    return _prefixed(get_script_prefix()).replace("/0/", f"/{offer_id}/")


@register.simple_tag
def cells(found: Iterable[Cell], currency: str = "") -> SafeString:
    """The figures of a row as table cells; ``currency`` is told beside amounts where the heads are out of sight."""
    return mark_safe(_cells(found, currency))  # noqa: S308  # nosec B308, B703


def _cells(found: Iterable[Cell], currency: str) -> str:
    language = get_language() or ""
    return "".join(_cell(cell, language, currency) for cell in found if cell.column.key not in IN_OFFER)


@register.simple_tag
def rejected_rows(rows: Iterable[RejectedView]) -> SafeString:
    """Rejected offers as table rows: which, why, and what would help."""
    return mark_safe("".join(_rejected(row) for row in rows))  # noqa: S308  # nosec B308, B703


@register.simple_tag
def assumption_rows(items: Iterable[Assumption]) -> SafeString:
    """Assumptions as table rows: what, its value, its range, its source."""
    language, prefix = get_language() or "", get_script_prefix()
    written = (
        _assumption(language, prefix, it.name, it.value, it.unit, it.low, it.high, it.source, it.user_set)
        for it in items
    )
    return mark_safe("".join(written))  # noqa: S308  # nosec B308, B703


@lru_cache(maxsize=2048, typed=True)
def _assumption(
    language: str, prefix: str, name: str, value: float | str, unit: str, low: float | None, high: float | None,
    origin: str, user_set: bool,
) -> str:  # fmt: skip
    """Most of them are the same in every answer."""
    named = _escaped(assumption_words.assumption(name))
    if user_set:
        named += " " + _marked("chip on", _("set by you"))
    shown = _escaped(f"{digits(value)} {assumption_words.unit(unit)}")
    ends = "" if low is None or high is None else f"{digits(low)}–{digits(high)}"
    return (
        f'<tr><th scope="row">{named}</th><td class="num">{shown}</td><td class="num">{ends}</td>'
        f'<td class="secondary">{source(origin)}</td></tr>'
    )


def _rejected(row: RejectedView) -> str:
    offer = row.it.offer
    about = " · ".join(text for text in (offer.provider_name, offer.sku, row.place) if text)
    help_ = assumption_words.either(row.help) if row.help else ""
    return (
        f'<tr><th scope="row">{_escaped(_named(offer.gpu_count, offer.accelerator))}'
        f'<span class="sub">{_escaped(about)}</span></th>'
        f"<td>{_escaped(row.shortfall or row.detail)}</td><td>{_escaped(help_)}</td></tr>"
    )


def _named(gpu_count: int, accelerator: str) -> str:
    return f"{gpu_count} × {accelerator}" if gpu_count > 1 else accelerator


def _marked(kind: str, text: str) -> str:
    return f'<span class="{kind}">{_escaped(text)}</span>'


_openings: dict[tuple[str, bool, str, str], str] = {}


def _opening(column: Column, is_number: bool, language: str, currency: str) -> str:
    """The beginning of every cell of a column; the same for all rows in one language."""
    key = (column.key, is_number, language, currency)  # not the column: to hash it would translate its title
    if key not in _openings:
        _openings[key] = _write_opening(column, is_number, currency)
    return _openings[key]


def _write_opening(column: Column, is_number: bool, currency: str) -> str:
    of = currency if column.kind == "money" else assumption_words.unit(str(column.unit))
    unit = f" ({of})" if of else ""
    kind = ' class="num"' if is_number else ""
    label = conditional_escape(f"{short(column)}{unit}")
    return f'<td data-label="{label}" data-key="{column.key}"{kind}><span>'


def _cell(cell: Cell, language: str, currency: str) -> str:
    if cell.text is None:
        inner = f'<span class="unknown">{_said(language).unknown}</span>'
    else:
        inner = _escaped(f"{cell.prefix}{cell.text}")
        if cell.range:
            inner += _marked("sub", cell.range)
    return f"{_opening(cell.column, cell.is_number, language, currency)}{inner}</span></td>"
