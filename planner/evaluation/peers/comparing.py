"""Our out-of-fold errors beside those of the peers, on the rows that both answer."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planner.evaluation.peers.questions import metric, question
from planner.evaluation.rows import Row
from planner.evaluation.scoring import FACTOR_OF_TWO
from planner.evaluation.throughput_answers import predict_throughput_rows
from planner.sizing.constants import Constants

HERE = Path(__file__).parent
PEERS = {"aiconfigurator": HERE / "ask_aiconfigurator.py", "genz-llm": HERE / "ask_genz.py"}
LONGEST_S = 3600


@dataclass(frozen=True)
class Line:
    """One tool on one metric over the rows that it and we answer."""

    tool: str
    metric: str
    rows: int
    median_ape: float
    p80_ape: float
    within_2x: float
    own_median_ape: float
    own_p80_ape: float
    own_within_2x: float


@dataclass(frozen=True)
class Asked:
    """What came back from one tool."""

    tool: str
    asked: int
    answered: int
    seconds_a_row: float
    lines: tuple[Line, ...]
    refusals: tuple[tuple[str, int], ...]


def own_errors(
    rows: Sequence[Row], constants: Constants, folds: Mapping[int, Constants]
) -> tuple[dict[str, float], float]:
    """ln(predicted ÷ measured) of each row that counts, by constants that saw nothing of its fold; seconds a row."""
    begun = time.perf_counter()
    answers = predict_throughput_rows(rows, constants, folds)
    seconds = (time.perf_counter() - begun) / max(1, len(rows))
    found = {
        row.id: float(np.log(answer.predicted / float(row.measured)))
        for row, answer in zip(rows, answers, strict=True)
        if row.scored and isinstance(answer.predicted, float) and answer.status == "ok"
    }
    return found, seconds


def ask(tool: str, python: str, rows: Sequence[Row], own: Mapping[str, float]) -> Asked:
    """Put the rows that count to one tool in its own interpreter, and hold its answers and ours side by side."""
    posed = {row.id: (row, *found) for row in rows if row.scored and (found := question(row)) is not None}
    done = subprocess.run(
        [python, str(PEERS[tool])],
        input=json.dumps([asked for _, asked, _ in posed.values()]),
        capture_output=True, text=True, check=True, timeout=LONGEST_S,
    )  # fmt: skip
    answers: list[dict[str, Any]] = json.loads(done.stdout.strip().splitlines()[-1])
    pairs: dict[str, list[tuple[float, float]]] = {}
    seconds: list[float] = []
    refusals: dict[str, int] = {}
    for answer in answers:
        row, asked, read = posed[answer["id"]]
        if "error" in answer:
            code = answer["error"].partition(":")[0]
            refusals[code] = refusals.get(code, 0) + 1
            continue
        seconds.append(answer["seconds"])
        value = metric(read, asked, answer["ttft_s"], answer["tpot_s"])
        if row.id in own and value > 0:
            theirs = float(np.log(value / float(row.measured)))
            for name in (row.metric, "all but TTFT") if row.metric != "ttft_ms" else (row.metric,):
                pairs.setdefault(name, []).append((theirs, own[row.id]))
    lines = tuple(_line(tool, name, found) for name, found in sorted(pairs.items()))
    return Asked(
        tool, len(posed), len(seconds), float(np.mean(seconds)) if seconds else 0.0, lines,
        tuple(sorted(refusals.items(), key=lambda item: -item[1])),
    )  # fmt: skip


def _line(tool: str, name: str, pairs: Sequence[tuple[float, float]]) -> Line:
    theirs, ours = (np.array(column) for column in zip(*pairs, strict=True))
    figures = [
        float(figure)
        for errors in (theirs, ours)
        for figure in (
            np.median(np.abs(np.expm1(errors))),
            np.quantile(np.abs(np.expm1(errors)), 0.8),
            np.mean(np.abs(errors) <= FACTOR_OF_TWO),
        )
    ]
    return Line(tool, name, len(pairs), *figures)
