"""Reads derivations back from what is printed, as a reader with a calculator would."""

from __future__ import annotations

import re
from math import floor, log10

from planner.derivation_view import DerivationView
from planner.sizing.quantities import Derivation, Term
from tests.sizing.formulas import evaluate

NUMBER = re.compile(r"-?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?")
SIGNS = (("×", "*"), ("÷", "/"), ("^", "**"), ("−", "-"))
SHOWN = re.compile(r'<td class="num">.*?</td>|<dd>.*?</dd>|<ul class="key">.*?</ul>', re.DOTALL)
OPENED = re.compile(r'<a class="why-figure(?: fitted)?" href="[^"#]*#(d-[a-z0-9_]+)"')
ELSEWHERE = re.compile(r'<a class="why-figure" href="/workbench/candidate/-?[0-9]+/\?[^"#]*"')
"""A figure of another offer, on whose own page it opens."""
PRINTED_DIGITS = 3e-5
"""Printed terms have six digits: their own rounding may move the last of six digits of the figure."""


def numbers(text: str) -> float:
    return float(text.replace(",", ""))


def shown_result(item: DerivationView) -> tuple[float, float]:
    """The printed figure in the unit of the formula, and what its last printed digit is worth."""
    text = NUMBER.search(item.result)
    assert text, item.result
    value = numbers(text[0])
    decimals = len(text[0].partition(".")[2].partition("e")[0])
    digits = len(text[0].replace(",", "").replace(".", "").lstrip("-0")) or 1
    step = 10.0**-decimals
    if decimals == 0 and digits > 3 and value and item.result.split()[-1] == "s":
        step = 10.0 ** (floor(log10(abs(value))) - 2)
    factor = 1e-3 if re.search(r"\bms\b", item.result) else 1.0
    return value * factor, step * factor


def worked_again(item: DerivationView) -> tuple[float, float, float]:
    """What the printed formula gives with the printed numbers, the printed figure, and how far apart they may be."""
    formula = item.formula
    for sign, plain in SIGNS:
        formula = formula.replace(sign, plain)
    terms = tuple(Term(symbol=term.symbol, value=numbers(term.value), unit="1") for term in item.terms)
    again = evaluate(Derivation(figure="f", formula=formula, terms=terms, value=0, unit="1"))
    figure, step = shown_result(item)
    largest = max(
        (abs(numbers(term.value)) for term in item.terms if term.unit == item_unit(item)), default=0.0
    )
    return again, figure, max(1.001 * step, PRINTED_DIGITS * max(abs(figure), largest / 30))


def item_unit(item: DerivationView) -> str:
    """The unit in which the figure stands, where its terms may have the same."""
    return item.result.split()[-1] if item.result.split()[-1] != "GiB" else "byte"


def unexplained(page: str) -> list[str]:
    """Figures of a candidate's page that open nothing and are not marked as read or entered."""
    known = set(re.findall(r'id="(d-[a-z0-9_]+)"', page))
    inside = page[page.index('<div class="candidate">') :]
    inside = (
        inside[: inside.find('<div class="derivations">')]
        if '<div class="derivations">' in inside
        else inside
    )
    found = []
    for cell in SHOWN.findall(inside):
        for part in re.split(r"(?=<li>)", cell):
            text = " ".join(re.sub(r"<[^>]+>", " ", part).split())
            if not re.search(r"\d", text):
                continue
            opened = OPENED.findall(part)
            is_explained = bool(opened or ELSEWHERE.search(part)) and all(name in known for name in opened)
            if not is_explained and 'class="given"' not in part:
                found.append(text)
    return found
