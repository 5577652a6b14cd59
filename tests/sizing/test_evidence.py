"""Which measurements count as near a figure, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.sizing.evidence import ENOUGH, SHOWN, Asked, Ratio, near

ROW = Ratio(
    id="a", ratio=1.2, metric="tpot_ms", regime="decode_batched", engine="vllm", accelerators=("H100-SXM5",),
    family="llama-3-8b", shape=(4096, 32, 0), source="publisher/table", fitted=True, assumed=False, gpu="H100",
)  # fmt: skip
ASKED = Asked("decode_batched", "vllm", "H100-SXM5", (4096, 32, 0))


def several(row: Ratio, count: int, **changes: object) -> list[Ratio]:
    return [replace(row, id=f"{row.id}-{number}", **changes) for number in range(count)]  # type: ignore[arg-type]


def test_the_measurements_that_share_most_are_taken_and_what_they_share_is_told() -> None:
    same = several(ROW, ENOUGH)
    other_card = several(ROW, 9, accelerators=("L40S",), ratio=3.0)
    found = near([*other_card, *same], "tpot_s", ASKED)
    assert found is not None
    assert found.shares == ("engine", "accelerator", "model")
    assert found.count == ENOUGH
    assert found.median_ratio == 1.2


def test_too_few_are_joined_by_those_that_share_less_and_then_less_is_claimed() -> None:
    found = near(
        [ROW, *several(ROW, 6, accelerators=("L40S",)), *several(ROW, 6, engine="sglang")], "tpot_s", ASKED
    )
    assert found is not None
    assert found.shares == ("engine", "model")
    assert found.count == 7


def test_measurements_of_another_regime_or_metric_never_count() -> None:
    assert (
        near([replace(ROW, regime="decode_alone"), replace(ROW, metric="ttft_ms")], "tpot_s", ASKED) is None
    )


def test_the_inverse_of_a_speed_is_held_against_a_time() -> None:
    fast = replace(ROW, metric="decode_tok_s_single", regime="decode_alone", ratio=2.0)
    found = near([fast], "tpot_s", replace(ASKED, regime="decode_alone"))
    assert found is not None
    assert found.median_ratio == pytest.approx(0.5)
    assert found.rows[0].ratio == pytest.approx(0.5)


def test_one_long_table_does_not_fill_the_list() -> None:
    found = near([*several(ROW, 20), replace(ROW, id="z", source="another/table")], "tpot_s", ASKED)
    assert found is not None
    assert len(found.rows) == SHOWN
    assert {row.source for row in found.rows} == {"publisher/table", "another/table"}
