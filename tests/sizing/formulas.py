"""Evaluates the formula of a derivation over its terms, as a reader with a calculator would."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

from planner.sizing.quantities import Derivation

OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "ceil": math.ceil, "floor": math.floor}


def evaluate(derivation: Derivation) -> float:
    """The value of the formula; nothing but arithmetic is allowed in it."""
    terms = {term.symbol: term.value for term in derivation.terms}

    def value(node: ast.expr) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.Name):
            return terms[node.id]
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return FUNCTIONS[node.func.id](*[value(argument) for argument in node.args])
        raise AssertionError(f"not arithmetic: {ast.dump(node)}")

    return value(ast.parse(derivation.formula, mode="eval").body)
