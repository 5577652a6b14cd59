"""Terms of sale and smallest machines of a run in what links and other currencies show."""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from planner.sizing.results import Comparison
from planner.sizing.training.workload import TuningWorkload
from reports.currencies import Rates, _converted
from reports.public import without_private
from tests.sizing.training.test_setting import EIGHT, LLAMA_7B, ONE, SPOT, answer

FULL = TuningWorkload(kind="full_finetune", model=LLAMA_7B)


def made() -> Comparison:
    found = answer(FULL, EIGHT, SPOT, ONE)
    assert found.candidates[0].terms
    assert found.candidates[0].smallest
    return found


def test_a_link_shows_no_table_in_which_a_private_offer_stands() -> None:
    found = made()
    first = found.candidates[0]
    private = first.model_copy(
        update={
            "terms": tuple(each.model_copy(update={"offer_id": -each.offer_id}) for each in first.terms),
            "smallest": tuple(
                each.model_copy(update={"offer_id": -each.offer_id}) for each in first.smallest
            ),
        }
    )
    shown = without_private(found.model_copy(update={"candidates": (private,)})).candidates[0]
    assert shown.terms == ()
    assert shown.smallest == ()
    kept = without_private(found).candidates[0]
    assert kept.terms == first.terms
    assert kept.smallest == first.smallest


def test_costs_of_terms_and_smaller_machines_are_told_in_the_other_currency() -> None:
    found = made()
    first = found.candidates[0]
    yen = Rates(on=date(2026, 11, 1), per_usd={"USD": Decimal(1), "JPY": Decimal(150)})
    other = _converted(found, "JPY", Decimal(150), yen).candidates[0]
    assert {each.currency for each in other.terms} == {each.currency for each in other.smallest} == {"JPY"}
    assert other.terms[0].total == (first.terms[0].total * 150).quantize(Decimal(1), ROUND_HALF_UP)
    assert first.smallest[0].run_cost is not None
    assert other.smallest[0].run_cost == (first.smallest[0].run_cost * 150).quantize(
        Decimal(1), ROUND_HALF_UP
    )
