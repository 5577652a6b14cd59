"""The quotation as PDF: tagged (PDF/UA-1), the same bytes for the same sheet, data apart from layout.

Texts reach the typesetter as JSON only, never as source, so nothing that a person typed is ever run. No system
fonts, no network, no files but the template and the fonts beside it.
"""

from __future__ import annotations

import unicodedata
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.utils.translation import get_language, ngettext, pgettext
from django.utils.translation import gettext as _

from catalog.source_words import said
from planner import assumption_words, kinds
from planner.charts import cost_speed, render_svg
from planner.figures import Cell, Figure
from planner.kinds.frame import Block
from planner.memory_bar import memory_bar
from planner.rejections import RejectedGroup
from planner.remedies import ReliefView
from planner.sizing.results import Candidate, Rejection
from reports import checklist_words, paper_words, presenters, typesetting, words
from reports.said import Said
from reports.sheets import Sheet, SheetWorkload

REJECTED_SHOWN = 12
"""Rejected offers of one reason on paper, the nearest miss first; all of them stand in the CSV."""
GETA = "\u3013"
"""What Japanese printers set where a character is missing from the case."""
WIDTHS = {"rank": 0.6, "sku": 2.4, "provider": 1.6, "accelerator": 1.7, "monthly": 1.3, "replicas": 0.9}
WIDTHS_BY_KIND = {"text": 1.3, "code": 1.3, "number": 1.0, "money": 1.1, "date": 1.25, "flag": 0.8}
"""Shares of the comparison's width."""
PICTURES = frozenset({"So", "Sk", "Cf", "Mn", "Me", "Co"})
"""Kinds of characters that no word is written with: emoji with their tones and joiners, and what is for no print."""
TYPST_PAPERS = {"a4": "a4", "letter": "us-letter"}
PAPERS = tuple(TYPST_PAPERS)
DRAFT_STAMP = datetime(2000, 1, 1, tzinfo=UTC)


@cache
def _covered() -> frozenset[int]:
    points: set[int] = {0x0A}
    for line in (typesetting.FONTS / "coverage.txt").read_text(encoding="ascii").split():
        start, _dash, end = line.partition("-")
        points.update(range(int(start, 16), int(end, 16) + 1))
    return frozenset(points)


def printable(text: str) -> str:
    """The text with what the paper's fonts cannot show left out, where it is a picture, or else marked visibly."""
    covered = _covered()
    if all(ord(character) in covered for character in text):
        return text
    made, is_after_picture = "", False
    for character in text.expandtabs(1):
        is_known = ord(character) in covered
        if not is_known and unicodedata.category(character) in PICTURES:
            is_after_picture = True
            continue
        if character == " " and is_after_picture and (not made or made[-1] in " \n"):
            continue  # The space that parted it from the next word.
        made += character if is_known else GETA
        is_after_picture = False
    return made.rstrip(" ") if is_after_picture else made


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(item) for item in value]
    return value


def _lacks(value: Any) -> bool:
    """Whether some text of it has a character that no font of the paper has."""
    if isinstance(value, str):
        return any(ord(character) not in _covered() and character != "\t" for character in value)
    if isinstance(value, dict):
        return any(_lacks(item) for item in value.values())
    return isinstance(value, list | tuple) and any(_lacks(item) for item in value)


def render(sheet: Sheet, paper: str = PAPERS[0]) -> bytes:
    """The PDF in the language that is active, on one of ``PAPERS``."""
    made_at = sheet.created_at or DRAFT_STAMP
    given = _data(sheet) | {"paper": TYPST_PAPERS[paper]}
    data = _printable(given)
    if _lacks(given):
        data["method"].append(
            _(
                "Some characters of this plan are in no font of this paper: pictures are left out, others read "
                "%(mark)s. The plan and its other files have them."
            )
            % {"mark": GETA}
        )
    data["title"] = data["title"] or sheet.slug or words.status("draft")
    return typesetting.compose(data, int(made_at.timestamp()))


def _data(sheet: Sheet) -> dict[str, Any]:
    workloads = [_workload(item) for item in sheet.workloads]
    seal = (sheet.fingerprint or "")[:12]
    return {
        "lang": (get_language() or "en").partition("-")[0],
        "title": sheet.title,
        "author": sheet.prepared_by or "Mitsumori",
        "headline": workloads[0]["headline"],
        "draft": sheet.is_draft,
        "stamp": words.status("draft") if sheet.is_draft else "",
        "seal": seal or words.status("draft"),
        "meta": [[label, text] for label, text in _meta(sheet) if text],
        "note": sheet.note,
        "footer": _footer(sheet),
        "labels": paper_words.labels(),
        "workloads": workloads,
        "checklist": _checklist(sheet),
        "said": _said(sheet.said),
        "method": paper_words.method(),
    }


def _meta(sheet: Sheet) -> list[tuple[str, str]]:
    return [
        (_("Plan"), f"{sheet.slug}" if sheet.slug else words.status("draft")),
        (_("Address"), sheet.address),
        (pgettext("of a plan", "Version"), str(sheet.number or "")),
        (_("Prepared for"), sheet.prepared_for),
        (_("Prepared by"), sheet.prepared_by),
        (_("Origin"), words.origin(sheet.origin) if sheet.origin else ""),
        (_("Saved on"), sheet.created_at.date().isoformat() if sheet.created_at else ""),
        (_("Prices as of"), sheet.priced_at.strftime("%Y-%m-%d %H:%M UTC")),
        (_("To be checked again after"), sheet.valid_until.date().isoformat()),
        (_("All workloads together, per month"), _together(sheet)),
        (_("Currency"), words.converted(sheet.converted) if sheet.converted else ""),
        (_("Engine version"), sheet.engine_version),
        (_("Catalog version"), words.catalog_version(sheet.catalog_version)),
    ]


def _together(sheet: Sheet) -> str:
    """The common total of a plan with several workloads."""
    if len(sheet.workloads) < 2:
        return ""
    return " + ".join(words.common_total(total) for total in sheet.totals)


def _footer(sheet: Sheet) -> str:
    if sheet.is_draft:
        return _("Mitsumori · draft, not saved: not a quotation, and without a fingerprint")
    return _("Mitsumori · plan %(slug)s, version %(number)d · SHA-256 %(fingerprint)s") % {
        "slug": sheet.slug,
        "number": sheet.number,
        "fingerprint": sheet.fingerprint,
    }


def _workload(item: SheetWorkload) -> dict[str, Any]:
    view = presenters.workload(item)
    best = item.comparison.candidates[0] if item.comparison.candidates else None
    by_token = [view.services] if view.services else []
    chart = cost_speed(item.comparison)
    language = get_language() or "en"
    return {
        "name": view.name,
        "headline": view.headline,
        "lede": view.lede,
        "state": view.state,
        "change": view.change,
        "carried": _("It holds for: %(assumptions)s.") % {"assumptions": view.carried_by}
        if view.carried_by
        else "",
        "quotes": [_quote(quote) for quote in view.quotes],
        "misses": list(view.misses),
        "replicas_why": view.replicas_why,
        "reliefs": [_relief(each) for each in view.reliefs],
        "speed": _speed_head(best) if best else "",
        "memory": render_svg(best, language) if best else "",
        "memory_title": _("Memory of the fullest GPU, GiB") if best else "",
        "memory_alt": memory_bar(best.memory).spoken if best else "",
        "question": [[fact.label, fact.text] for fact in view.question],
        "model": [[fact.label, fact.text] for fact in view.model],
        "blocks": [_block(block) for block in (*kinds.of(item.kind).blocks(best), *by_token)] if best else [],
        "bills": [_bill(quote) for quote in view.quotes],
        "currency": view.currency,
        "per_month_label": _("per month, without tax")
        if view.best is None or view.best.row.is_without_tax
        else _("per month"),
        "per_unit_label": _("per %(unit)s") % {"unit": view.unit},
        "kept": view.kept,
        "heads": [
            {
                "title": str(column.title),
                "unit": view.currency if column.kind == "money" else assumption_words.unit(str(column.unit)),
                "numeric": column.kind in ("number", "money"),
                "width": WIDTHS.get(column.key, WIDTHS_BY_KIND[column.kind]),
            }
            for column in view.columns
        ],
        "rows": [[_cell(cell) for cell in row.cells] for row in view.rows],
        "chart": render_svg(chart, language) if chart else "",
        "chart_alt": chart.title if chart else "",
        "chart_note": chart.left_out_sentence if chart else "",
        "rejected": [_rejected(group) for group in view.rejected],
        "sources": [{**asdict(row), "source": said(row.source)} for row in view.sources],
        "assumptions": [{**asdict(row), "source": said(row.source)} for row in view.assumptions],
    }


def _speed_head(first: Candidate) -> str:
    if first.speed is None:
        # xgettext:no-python-format
        return _("The whole run (80 % range)")
    # xgettext:no-python-format
    return _("At peak load (80 % range)")


def _block(block: Block) -> dict[str, Any]:
    return {
        "title": block.title,
        "heads": ["", *block.heads],
        "rows": [[label, *(_shown(cell) for cell in cells)] for label, cells in block.rows],
        "note": block.note,
    }


def _shown(cell: Figure | str | None) -> str:
    if isinstance(cell, Figure):
        figure = f"{cell.text} {cell.unit}".rstrip()
        return f"{figure} ({cell.range})" if cell.range else figure
    return cell or "–"


def _cell(cell: Cell) -> dict[str, str]:
    return {"t": _("unknown") if cell.text is None else f"{cell.prefix}{cell.text}", "r": cell.range}


def _quote(quote: presenters.QuoteView) -> dict[str, Any]:
    row = quote.row
    figures = [
        f"{tile.measure.name} {tile.figure.text} {tile.figure.unit} ({tile.figure.range})"
        for tile in row.speeds
        if tile.figure is not None
    ]
    return {
        "rank": str(row.it.rank),
        "offer": quote.offer,
        "place": row.place,
        "layout": row.layout,
        "machines": ngettext("%(n)s machine", "%(n)s machines", row.it.machines)
        % {"n": f"{row.it.machines:,}"},
        "speed": "\n".join(figures),
        "monthly": quote.monthly,
        "term": quote.term,
        "per_unit": quote.per_unit,
        "price_read": row.it.offer.price_observed_on.isoformat(),
    }


def _relief(relief: ReliefView) -> list[str]:
    without = relief.without
    if relief.is_default:
        without = f"{without}\n{_('the target is a default')}"
    return [without, relief.machines, relief.month]


def _bill(quote: presenters.QuoteView) -> dict[str, Any]:
    row = quote.row
    return {
        "title": f"{row.it.rank}. {quote.offer}",
        "total": quote.monthly,
        "hours": _("Billed hours a month: %(hours)s") % {"hours": f"{row.it.monthly.hours:,.2f}"},
        "told": [list(fact) for fact in row.told],
        "lines": [
            {
                "what": line.what,
                "how": line.detail,
                "amount": line.amount,
                "source": said(line.source) or line.note,
            }
            for line in row.bill
        ],
    }


def _offer(row: Rejection) -> str:
    offer = row.offer
    return f"{offer.provider_name}, {offer.sku} · {offer.gpu_count} × {offer.accelerator}"


def _rejected(group: RejectedGroup) -> dict[str, Any]:
    shown = group.rows[:REJECTED_SHOWN]
    more = group.count - len(shown)
    return {
        "title": f"{group.title} ({group.count:,})",
        "sentence": group.sentence,
        "rows": [
            [
                _offer(row.it),
                row.shortfall or row.detail,
                assumption_words.either(row.help),
            ]
            for row in shown
        ],
        "more": ngettext(
            "and %(n)s more, listed in the CSV and XLSX files",
            "and %(n)s more, listed in the CSV and XLSX files",
            more,
        )
        % {"n": f"{more:,}"}
        if more > 0
        else "",
    }


def _checklist(sheet: Sheet) -> dict[str, Any] | None:
    listed = presenters.checklist(sheet)
    if listed is None:
        return None
    return {
        "verdicts": list(listed.verdicts),
        "layout_heads": list(checklist_words.layout_heads()),
        "layouts": [list(row.cells) for row in listed.layouts],
        "targets": [list(row) for row in listed.targets],
        "sections": [
            {
                "title": section.title,
                "rows": [["✓" if row.done else "□", row.label, row.text] for row in section.entries],
            }
            for section in listed.sections
        ],
        "service_heads": list(checklist_words.service_heads()),
        "services": [list(row.cells) for row in listed.services],
        "questions": list(listed.questions),
    }


def _said(said: Said | None) -> dict[str, Any] | None:
    """What the team decided and said; None where it was not asked for, or there is nothing."""
    if said is None or not (said.decisions or said.comments):
        return None
    return {
        "decisions": [
            words.decided(each.chosen, each.because, each.by, each.on)
            + " "
            + _("(version %(number)d)") % {"number": each.number}
            for each in said.decisions
        ],
        "comments": [
            [
                "\n".join(part for part in (each.author, each.at.strftime("%Y-%m-%d %H:%M UTC")) if part),
                _("version %(number)d") % {"number": each.number}
                + (f" · {each.subject}" if each.subject else ""),
                each.text,
            ]
            for each in said.comments or ()
        ],
    }
