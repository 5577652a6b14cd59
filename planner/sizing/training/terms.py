"""Numbers of formulas, each with where it comes from."""

from __future__ import annotations

from collections.abc import Iterable

from planner.sizing.quantities import SET_BY_HAND, Derivation, Term
from planner.sizing.training.constants import classes
from planner.sizing.training.placing import TrainingPlacement
from planner.sizing.training.question import Question

MODEL = "counted from the model's tensors and the split"
CHOSEN = "chosen for this machine"
ENTERED = "as entered"
LINKS = "bytes over the links of this machine at their full rate (docs/methods-training.md)"


def plain(symbol: str, value: float, unit: str = "1", source: str | None = None) -> Term:
    return Term(symbol=symbol, value=float(value), unit=unit, source=source)


def made(figure: str, formula: str, terms: Iterable[Term], value: float, unit: str) -> Derivation:
    """A derivation with those of the terms that its formula names, each once."""
    kept = {term.symbol: term for term in terms}
    return Derivation(
        figure=figure, formula=formula, terms=tuple(kept.values()), value=float(value), unit=unit
    )


class Constants:
    """The fitted constants as they act on one placement."""

    def __init__(self, asked: Question, placed: TrainingPlacement) -> None:
        job, device = placed.choice.job, placed.machine.device
        self.values = asked.constants.resolve(classes(job, device))
        self.units = {item.name: item.unit for item in asked.constants.constants}
        self.origin, self.assumed = asked.constants.origin, asked.workload.assumed

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def term(self, name: str) -> Term:
        source = SET_BY_HAND if name in self.assumed else self.origin
        return Term(symbol=name, value=self.values[name], unit=self.units[name], source=source)
