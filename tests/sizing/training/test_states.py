"""Bytes of a parameter in training: which case is 18, which are not, and how they are shared."""

from __future__ import annotations

from typing import get_args

import pytest

from planner.sizing.architecture import parameter_count
from planner.sizing.training.counting import adapter_parameters, parameters
from planner.sizing.training.job import Optimizer, Split, State
from planner.sizing.training.states import BYTES, bytes_per_parameter, moment_bytes, states
from tests.sizing.training.jobs import SMALL, job, model


def test_eighteen_bytes_are_bf16_weights_fp32_gradients_master_and_two_moments() -> None:
    kept = BYTES["mixed"]
    assert (kept.weights, kept.gradients, kept.master, moment_bytes("mixed", "adamw")) == (2, 4, 4, 8)
    assert bytes_per_parameter("mixed", "adamw") == 18


def test_no_other_case_has_eighteen_bytes() -> None:
    cases = {
        (state, optimizer): bytes_per_parameter(state, optimizer)
        for state in get_args(State) for optimizer in get_args(Optimizer)
    }  # fmt: skip
    eighteen = {case for case, size in cases.items() if size == 18}
    # Paged moments are as large; they only lie elsewhere when the card is full.
    assert eighteen == {("mixed", "adamw"), ("mixed", "paged_adamw")}


@pytest.mark.parametrize(
    ("state", "optimizer", "size"),
    [("fp32", "adamw", 16), ("mixed_half_gradients", "adamw", 16), ("half", "adamw", 8), ("fp32", "sgd", 8),
     ("mixed_half_moments", "adamw", 12), ("mixed", "lion", 14), ("half", "adamw_8bit", 4 + 2 * (1 + 4 / 256))],
)  # fmt: skip
def test_other_states_and_optimizers(state: State, optimizer: Optimizer, size: float) -> None:
    assert bytes_per_parameter(state, optimizer) == pytest.approx(size)


def test_zero_3_shares_all_eighteen_bytes() -> None:
    one = job(state="mixed")
    eight = job(state="mixed", split=Split(dp=8, zero_stage=3))
    count = parameter_count(SMALL)
    whole, shared = states(one, parameters(one)), states(eight, parameters(eight))
    assert whole.weights + whole.gradients + whole.optimizer == pytest.approx(18 * count)
    assert shared.weights + shared.gradients + shared.optimizer == pytest.approx(18 * count / 8)


@pytest.mark.parametrize(("stage", "size"), [(0, 18), (1, 6 + 12 / 8), (2, 2 + 16 / 8), (3, 18 / 8)])
def test_each_zero_stage_shares_one_thing_more(stage: int, size: float) -> None:
    found = job(state="mixed", split=Split(dp=8, zero_stage=stage))
    kept = states(found, parameters(found))
    assert kept.weights + kept.gradients + kept.optimizer == pytest.approx(size * parameter_count(SMALL))


def test_frozen_weights_are_frozen() -> None:
    found = job(method="lora", rank=8, state="fp32")
    held = parameters(found)
    kept = states(found, held)
    assert kept.frozen == pytest.approx(2 * parameter_count(SMALL))
    assert kept.gradients == pytest.approx(4 * held.adapters)
    assert kept.optimizer == pytest.approx(8 * held.adapters)


def test_adapters_by_hand() -> None:
    """Rank × (inputs + outputs) of every linear layer: gate and up have one each."""
    q, kv, hidden, mlp = 512, 128, 512, 1024
    layer = (hidden + q) + 2 * (hidden + kv) + (q + hidden) + 2 * (hidden + mlp) + (mlp + hidden)
    assert adapter_parameters(SMALL, 16, "all_linear") == 8 * 16 * layer
    assert adapter_parameters(SMALL, 16, "q_v") == 8 * 16 * ((hidden + q) + (hidden + kv))


def test_litgpt_counts_as_many_trainable_parameters_of_phi_1_5() -> None:
    """litgpt's resource tables print 1,572,864 for rank 8 on queries and values of phi-1.5."""
    assert adapter_parameters(model("microsoft/phi-1_5"), 8, "q_v") == 1_572_864


def test_doubly_quantised_nf4_takes_4_127_bits() -> None:
    """QLoRA (arXiv 2305.14314): from 0.5 to 0.127 bits of constants a parameter."""
    from planner.sizing.training.states import FROZEN_BYTES

    assert FROZEN_BYTES["nf4"] * 8 == 4.5
    assert FROZEN_BYTES["nf4_dq"] * 8 == pytest.approx(4.127, abs=5e-4)


def test_a_quantisation_that_does_not_reach_experts_leaves_them_at_16_bits() -> None:
    arch = model("Qwen/Qwen3-30B-A3B")
    reached = job(arch=arch, method="qlora", rank=8, frozen_format="nf4")
    missed = reached.model_copy(update={"experts_quantised": False})
    held = parameters(reached)
    gap = states(missed, held).frozen - states(reached, held).frozen
    assert gap == pytest.approx(held.experts * (2 - 4.5 / 8))
