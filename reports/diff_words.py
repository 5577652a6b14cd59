"""The differences between two versions in the reader's words: one table for each area, and a summary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from planner import assumption_words, kinds, wording
from planner.figures import LEAST, money, significant
from planner.sizing.quantities import GIB
from reports.diff import Change, Value, WorkloadDiff

CHANGES_SHOWN = 60
"""Of one area; the machines that rank first stand first."""


@dataclass(frozen=True)
class Line:
    subject: str
    label: str
    before: str
    after: str
    change: str
    """By how much, as text: "+12.5 %"; empty where that means nothing."""


@dataclass(frozen=True)
class Area:
    key: str
    title: str
    lines: tuple[Line, ...]
    more: int


@dataclass(frozen=True)
class WorkloadWords:
    position: int
    name: str
    summary: tuple[str, ...]
    areas: tuple[Area, ...]
    appeared: tuple[str, ...]
    vanished: tuple[str, ...]


def workload(diff: WorkloadDiff) -> WorkloadWords:
    titles = {
        "question": _("What was asked"),
        "price": pgettext("what two versions differ in", "Prices"),
        "result": _("Results"),
        "assumption": _("Assumptions"),
    }
    areas = []
    for key, title in titles.items():
        changes = diff.of(key)  # type: ignore[arg-type]
        if changes:
            lines = tuple(line(change) for change in changes[:CHANGES_SHOWN])
            areas.append(Area(key, title, lines, max(0, len(changes) - CHANGES_SHOWN)))
    return WorkloadWords(
        diff.position,
        diff.name or str(kinds.of(diff.kind).title),
        tuple(summary(diff)),
        tuple(areas),
        diff.appeared[:CHANGES_SHOWN],
        diff.vanished[:CHANGES_SHOWN],
    )


def summary(diff: WorkloadDiff) -> Iterable[str]:
    if diff.state == "added":
        yield _("This workload is new.")
        return
    if diff.state == "removed":
        yield _("This workload was taken out.")
        return
    if diff.state == "same":
        yield _("Nothing differs: the same question, prices and results.")
        return
    first = next((each for each in diff.changes if each.path == ("first",)), None)
    if first is not None:
        yield _("The first candidate was %(before)s and is now %(after)s.") % {
            "before": first.before or _("none"),
            "after": first.after or _("none"),
        }
    totals = [each for each in diff.changes if each.path == ("monthly",)]
    if totals:
        dearer = sum(1 for each in totals if (each.ratio or 1) > 1)
        cheaper = sum(1 for each in totals if (each.ratio or 1) < 1)
        yield _("Of the machines in both versions, %(dearer)s cost more a month and %(cheaper)s less.") % {
            "dearer": f"{dearer:,}",
            "cheaper": f"{cheaper:,}",
        }
    if diff.appeared:
        yield ngettext(
            "%(n)s machine is a candidate that was none before.",
            "%(n)s machines are candidates that were none before.",
            len(diff.appeared),
        ) % {"n": f"{len(diff.appeared):,}"}
    if diff.vanished:
        yield ngettext(
            "%(n)s machine is no candidate any more.",
            "%(n)s machines are no candidates any more.",
            len(diff.vanished),
        ) % {"n": f"{len(diff.vanished):,}"}


def line(change: Change) -> Line:
    field = _fields().get(change.path) if change.area == "question" else None
    if field is not None:
        from_text, to_text = (_field_text(field, value) for value in (change.before, change.after))
    else:
        known = zip((change.before, change.after), change.complete, strict=True)
        from_text, to_text = (("" if complete else LEAST) + _text(change, value) for value, complete in known)
    return Line(change.subject, _label(change, field), from_text, to_text, _by(change))


@cache
def _fields() -> dict[tuple[str, ...], Any]:
    """The workbench's field of every path of a workload document."""
    fields: list[Any] = [field for kind in kinds.KINDS for field in kind.fields.values()]
    return {tuple(field.path): field for field in fields if getattr(field, "path", None)}


def _field_text(field: Any, value: Value) -> str:
    if value is None:
        return _("not given")
    choices = {str(code): label for code, label in getattr(field, "choices", None) or ()}
    if str(value) in choices:
        return str(choices[str(value)])
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return str(field.with_unit(_plain(Decimal(str(value)) * getattr(field, "scale", 1))))
    return str(value)


def _label(change: Change, field: Any) -> str:
    if field is not None:
        return str(field.label)
    if change.area == "assumption":
        return assumption_words.assumption(change.path[0])
    if change.path[0] == "figure":
        return wording.word("figure", change.path[1])
    known = {
        "first": _("First candidate"),
        "candidates_total": _("Number of candidates"),
        "monthly": _("Total per month"),
        "rank": _("Rank"),
        "class": _("Class"),
        "verdict": _("Memory verdict"),
        "replicas": _("Replicas"),
        "gpus_per_replica": _("GPUs per replica"),
        "machines": _("Machines"),
        "needed_bytes": _("Memory of the fullest GPU"),
        "ttft_s_peak": _("TTFT, peak load"),
        "tpot_s_peak": _("TPOT, peak load"),
        "output_tokens_per_s_peak": _("Output, peak load, all replicas"),
        "price_amount": _("Unit price"),
        "price_observed_on": _("Price read on"),
    }
    return known.get(change.path[-1]) or ".".join(change.path)


def _text(change: Change, value: Value) -> str:
    if value is None:
        return _("unknown")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if change.path == ("verdict",):
        return wording.word("verdict", str(value))
    if isinstance(value, str):
        return value
    if change.path == ("needed_bytes",):
        return f"{float(value) / GIB:.1f} GiB"
    if change.path == ("monthly",) and isinstance(value, Decimal):
        return money(value, change.unit)
    text = significant(value) if isinstance(value, float) else _plain(Decimal(value))
    return f"{text} {assumption_words.unit(change.unit)}".strip() if change.unit else text


def _plain(number: Decimal) -> str:
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _by(change: Change) -> str:
    if change.path[-1] in ("rank", "class") or change.ratio is None:
        return ""
    percent = (change.ratio - 1) * 100
    digits = 0 if abs(percent) >= 100 else 1
    return f"{percent:+.{digits}f} %".replace("-", "\u2212")
