"""A change that makes a run fit without the headroom alone is told, and told to be tight."""

from __future__ import annotations

import pytest

from planner.sizing.training.workload import TuningWorkload
from planner.sizing.workload import ModelReference
from tests.sizing.markets import Row
from tests.sizing.training.test_setting import answer

LARGE = TuningWorkload(kind="qlora", model=ModelReference(id="meta-llama/Llama-3.3-70B-Instruct"))


def test_a_70b_model_on_one_card_of_48_gb_is_told_that_a_loss_in_chunks_helps_and_how_far() -> None:
    row = Row("RTXA6000", 1, "0.60", vcpu=16, ram_gib=512)
    found = answer(LARGE, row)
    assert not found.candidates
    (rejection,) = found.rejected
    helps = {change["change"]: change for change in rejection.what_would_help}
    assert "chunked_loss" in helps
    made = answer(LARGE.model_copy(update={"chunked_loss": True}), row).candidates
    assert [candidate.verdict for candidate in made] == [helps["chunked_loss"]["verdict"]] == ["tight"]
    assert found.remedies
    assert found.remedies[0].change == "chunked_loss"
    assert found.remedies[0].candidates == 0
    assert found.remedies[0].total == made[0].monthly.total


def test_what_is_called_fitting_fits_with_the_headroom() -> None:
    row = Row("L40S", 1, "0.60", vcpu=16, ram_gib=512)
    (rejection,) = answer(LARGE, row).rejected
    assert {change["verdict"] for change in rejection.what_would_help} <= {"fits", "tight"}
    for change in rejection.what_would_help:
        if change["change"] == "machines_maximum":
            made = answer(LARGE.model_copy(update={"machines_maximum": change["to"]}), row).candidates
            assert made[0].verdict == change["verdict"]
            break
    else:
        pytest.fail("more machines must be among the changes")
