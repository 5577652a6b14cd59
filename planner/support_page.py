"""A page per accelerator: which engine runs which weights format on it, by version, with the source of each refusal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from catalog.facts import AcceleratorFact, accelerators
from planner import inputs, options, runtimes
from planner.architectures import resolve_name
from planner.sizing import support
from planner.sizing.devices import Device
from planner.sizing.formats import compute_rate
from planner.sizing.runtime import Runtime

PLAIN_MODEL = "meta-llama/Llama-3.1-8B-Instruct"
"""A dense decoder that every engine runs: what is refused is refused for the device or the version."""


@dataclass(frozen=True)
class Cell:
    """One format in one engine. ``rate`` is what the matrix units compute in, if that is known."""

    runs: bool
    code: str = ""
    source: str = ""
    rate: str = ""
    widened: bool = False
    """It saves memory, not compute time."""
    note: int = 0
    """Number of its source beneath the table."""


@require_safe
def accelerator_support(request: HttpRequest, name: str) -> HttpResponse:
    fact = accelerators().get(name)
    if fact is None:
        raise Http404
    return render(request, "planner/support.html", {"fact": fact, **support_table(fact)})


def support_table(fact: AcceleratorFact) -> dict[str, Any]:
    """Engines, each with its versions as rows, by columns of formats; nothing where the device cannot be sized at all.

    Sources of refusals are numbered in the order in which the table comes to them.
    """
    device = inputs.device(fact)
    formats = [name for name, _label in options.WEIGHTS]
    if device is None:
        return {"formats": options.WEIGHTS, "engines": [], "sources": []}
    engines: list[dict[str, Any]] = []
    notes: dict[str, int] = {}
    for engine, label in options.RUNTIMES:
        rows = []
        for version in runtimes.versions(engine):
            runtime = runtimes.resolve(engine, version)
            cells = [_cell(runtime, device, weights) for weights in formats]
            numbered = [
                replace(cell, note=notes.setdefault(cell.source, len(notes) + 1)) if cell.source else cell
                for cell in cells
            ]
            rows.append({"version": version, "cells": numbered})
        engines.append({"engine": label, "rows": rows})
    return {"formats": options.WEIGHTS, "engines": engines, "sources": list(notes)}


def _cell(runtime: Runtime, device: Device, weights: str) -> Cell:
    refused = support.refusal(runtime, device, weights, "auto", resolve_name(PLAIN_MODEL))
    if refused is not None:
        return Cell(runs=False, code=refused["rule"], source=refused["source"])
    rate = compute_rate(device, weights)
    return Cell(
        runs=True, rate=rate.name.upper() if rate else "", widened=bool(rate and rate.saves_memory_only)
    )
