"""The page of evidence: what the speed model misses on published measurements, and where not to trust it."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from catalog.source_words import said
from planner import evidence_words
from planner.evidence import GROUPS, Errors, Evidence, evidence

TITLES: dict[str, str | Promise] = {
    "regime": _("By kind of load"),
    "engine": _("By engine"),
    "gpu": _("By accelerator"),
    "family": _("By model family"),
}
FIRST_METRIC = "tpot_ms"


@dataclass(frozen=True)
class Line:
    """One row of a table."""

    title: str
    count: int
    median: str
    p80: str
    within_2x: str
    bias: str
    in_range: str


@dataclass(frozen=True)
class Table:
    title: str | Promise
    lines: tuple[Line, ...]


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """``?metric=`` chooses the metric whose groups are listed; another word than a metric means the first."""
    found = evidence()
    metrics = [errors.metric for errors in found.whole]
    chosen = request.GET.get("metric", "")
    metric = (
        chosen if chosen in metrics else FIRST_METRIC if FIRST_METRIC in metrics else next(iter(metrics), "")
    )
    context = {
        "evidence": found,
        "pooled": _line("", found.pooled),
        "sample": [_line(evidence_words.METRICS[errors.metric], errors) for errors in found.sample],
        "whole": [_line(evidence_words.METRICS[errors.metric], errors) for errors in found.whole],
        "metric": metric,
        "metric_title": evidence_words.METRICS.get(metric, metric),
        "metrics": [(name, evidence_words.METRICS[name]) for name in metrics],
        "tables": _tables(found, metric),
        "worst": [
            (evidence_words.METRICS[errors.metric], TITLES[kind], _line(_name(kind, errors.name), errors))
            for kind, errors in found.worst
        ],
    }
    return render(request, "planner/evidence.html", context)


def _tables(found: Evidence, metric: str) -> list[Table]:
    return [
        Table(
            TITLES[kind],
            tuple(
                _line(_name(kind, errors.name), errors)
                for errors in found.groups[kind]
                if errors.metric == metric
            ),
        )
        for kind in GROUPS
    ]


def _name(kind: str, name: str) -> str | Promise:
    if kind == "regime":
        return evidence_words.REGIMES.get(name, name)
    return evidence_words.engine(name) if kind == "engine" else name


def _line(title: str | Promise, errors: Errors) -> Line:
    return Line(
        title=said(str(title)),
        count=errors.count,
        median=f"{errors.median * 100:.0f} %",
        p80=f"{errors.p80 * 100:.0f} %",
        within_2x=f"{errors.within_2x * 100:.0f} %",
        bias=f"{errors.bias:+.2f}".replace("-", "−"),
        in_range=f"{errors.in_range * 100:.0f} %",
    )
