"""Speculative decoding: how many tokens a step yields when a draft proposes some."""

from __future__ import annotations

from pydantic import Field

from planner.sizing.quantities import Assumption, Frozen
from planner.sizing.workload import RuntimeOptions

ACCEPTANCE, ACCEPTANCE_LOW, ACCEPTANCE_HIGH = 0.7, 0.5, 0.85
SOURCE = (
    "assumed: Leviathan et al. (arXiv 2211.17192, table 3) measured 0.5 to 0.8, DeepSeek-V3 (arXiv 2412.19437,"
    " section 5.4.3) 0.85 to 0.9 for its first drafted token; it depends on model, draft and text"
)


class Draft(Frozen):
    """Tokens drafted for each step, and the share of them that the model accepts, one by one."""

    tokens: int = Field(ge=1, le=16)
    acceptance: float = Field(default=ACCEPTANCE, ge=0.0, le=1.0)
    stated: bool = False
    """Whether the user gave the acceptance."""

    @property
    def accepted(self) -> float:
        return accepted(self.tokens, self.acceptance)

    @property
    def spread(self) -> tuple[float, float]:
        """Tokens of a step at the ends of the acceptance's range ÷ those assumed; 1 and 1 where it was given."""
        if self.stated:
            return 1.0, 1.0
        ends = (accepted(self.tokens, end) / self.accepted for end in (ACCEPTANCE_LOW, ACCEPTANCE_HIGH))
        low, high = ends
        return low, high

    @property
    def assumption(self) -> Assumption:
        stated = self.stated
        return Assumption(
            name="speculative_acceptance",
            value=self.acceptance,
            unit="1",
            source="as entered" if stated else SOURCE,
            low=None if stated else ACCEPTANCE_LOW,
            high=None if stated else ACCEPTANCE_HIGH,
            user_set=stated,
        )


def draft_of(options: RuntimeOptions) -> Draft | None:
    """What the engine drafts under these options; None where it drafts nothing."""
    if options.speculative_tokens is None:
        return None
    stated = options.speculative_acceptance
    if stated is None:
        return Draft(tokens=options.speculative_tokens)
    return Draft(tokens=options.speculative_tokens, acceptance=stated, stated=True)


def accepted(tokens: float, acceptance: float) -> float:
    """Mean tokens of a step with ``tokens`` drafted: 1 + a + … + aᵏ = (1 − a^(k+1)) ÷ (1 − a).

    Each token is accepted with the same chance, and the first refused one ends the step, which yields a token of
    the model's own besides. Left out: acceptance that falls along a draft, and trees of drafts.
    Source: Leviathan et al., arXiv 2211.17192, equation 1.

    >>> accepted(0, 0.7), accepted(3, 1.0), round(accepted(3, 0.7), 3)
    (1.0, 4.0, 2.533)
    """
    if acceptance >= 1.0:
        return tokens + 1.0
    return float((1.0 - acceptance ** (tokens + 1.0)) / (1.0 - acceptance))
