"""What a run's page says of the term of sale that costs least."""

from __future__ import annotations

import pytest

from planner.kinds import run_blocks
from planner.sizing.results import BillLine, Candidate, TermCost
from planner.sizing.training.workload import TuningWorkload
from tests.sizing.training.test_setting import EIGHT, LLAMA_7B, ONE, SPOT, answer


def candidate(*, tier: str = "on_demand", provider: str = "elsewhere", storage: bool = False) -> Candidate:
    """A run whose machine costs least reserved for a month at another provider."""
    first = answer(TuningWorkload(kind="full_finetune", model=LLAMA_7B), EIGHT, SPOT, ONE).candidates[0]
    least = first.terms[0].model_copy(
        update={"tier": "reserved", "term_months": 1, "provider": provider, "floor": False}
    )
    lines = tuple(line for line in first.monthly.lines if line.what not in ("storage", "egress"))
    if storage:
        kept: BillLine = lines[0].model_copy(update={"what": "storage", "amount": None})
        lines = (*lines, kept)
    terms: tuple[TermCost, ...] = (least,)
    offer = first.offer.model_copy(update={"tier": tier, "term_months": 1 if tier == "reserved" else None})
    monthly = first.monthly.model_copy(update={"lines": lines})
    return first.model_copy(update={"terms": terms, "offer": offer, "monthly": monthly})


def told(of: Candidate) -> str:
    return " ".join(run_blocks.advised(of))


def test_the_cheapest_term_is_at_least_its_machine_time_where_storage_comes_on_top() -> None:
    assert "One run costs least with this" in told(candidate())
    assert "≥" not in told(candidate())
    assert "elsewhere, ≥ $" in told(candidate(storage=True))


@pytest.mark.parametrize(
    ("price", "words"), [({"floor": True}, "Lowest asking prices"), ({"estimated": True}, "only estimates")]
)
def test_a_price_that_the_table_leaves_out_is_told_where_it_is_the_candidates_own(
    price: dict[str, bool], words: str
) -> None:
    def note(of: Candidate) -> str:
        return run_blocks.blocks(of)[0].note

    workload = TuningWorkload(kind="full_finetune", model=LLAMA_7B)
    plain = answer(workload, EIGHT, SPOT).candidates[0]
    own = plain.model_copy(update={"offer": plain.offer.model_copy(update={"offer_id": 99} | price)})
    assert words in note(own)
    assert words not in note(plain)


def test_the_page_of_the_cheapest_term_does_not_recommend_itself() -> None:
    own = candidate().offer.provider_name
    assert "One run costs least" in told(candidate(provider=own))
    assert "One run costs least" not in told(candidate(tier="reserved", provider=own))
