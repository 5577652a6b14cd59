"""Every printed formula, evaluated again with the printed numbers, gives the printed figure."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import pytest

from planner.sizing.compare import one_candidate
from planner.sizing.options import altered
from planner.sizing.placement import Placement
from planner.sizing.quantities import Derivation
from planner.sizing.results import Candidate
from planner.sizing.serving import operate
from planner.sizing.speed_derivations import derive
from planner.sizing.workload import (
    BatchWorkload,
    Concurrency,
    InputTokens,
    ModelReference,
    OutputTokens,
    RuntimeChoice,
    RuntimeOptions,
    ServingWorkload,
    Targets,
    WeightsFormat,
)
from tests.sizing.markets import Row, setting

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "ceil": math.ceil, "floor": math.floor}


def evaluated(derivation: Derivation) -> float:
    """The formula over its own terms, and nothing else."""
    values = {term.symbol: term.value for term in derivation.terms}

    def value(node: ast.AST) -> Any:
        match node:
            case ast.Expression(body=body):
                return value(body)
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATORS[type(op)](value(left), value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return FUNCTIONS[name](*(value(argument) for argument in arguments))
            case ast.Name(id=name):
                return values[name]
            case ast.Constant(value=int() | float() as number):
                return number
        raise AssertionError(f"{derivation.figure}: {ast.dump(node)} is not arithmetic")

    return float(value(ast.parse(derivation.formula, mode="eval")))


ROUNDING = {"byte": 1.0, "byte/token": 1.0, "USD": 5e-5, "JPY": 5e-5}
"""What a figure was rounded to: whole bytes, and a millionth part of a token price in four decimals."""
ROOT = 1e-9
"""The load at which a replica runs is a root found to so much: a queue of nobody may be a billionth of a second."""
LOOSE = Targets(ttft_s="none", tpot_s="none")


def serving(model: str, weights: WeightsFormat = "bf16", **fields: Any) -> ServingWorkload:
    return ServingWorkload(model=ModelReference(id=model), weights_format=weights, targets=LOOSE, **fields)


def long_answers(concurrency: Concurrency) -> ServingWorkload:
    return serving(
        "deepseek-ai/DeepSeek-R1",
        "fp8",
        concurrency=concurrency,
        input_tokens=InputTokens(typical=500, maximum=500),
        output_tokens=OutputTokens(typical=3_000, maximum=3_000),
    )


CASES: dict[str, tuple[ServingWorkload | BatchWorkload, Row]] = {
    "dense": (ServingWorkload(), Row()),
    "rate": (ServingWorkload(request_rate_per_s=3), Row()),
    "volume": (ServingWorkload(input_tokens_per_month=2e9, output_tokens_per_month=5e8), Row()),
    "volume of answers": (ServingWorkload(output_tokens_per_month=5e8), Row()),
    "yen": (ServingWorkload(currency="JPY"), Row("L40S", count=2)),
    "monthly plan": (ServingWorkload(), Row(price="1500", unit="month")),
    "draft": (
        serving("Qwen/Qwen3-30B-A3B", runtime=RuntimeChoice(options=RuntimeOptions(speculative_tokens=3))),
        Row(),
    ),
    "tensor parallel": (serving("meta-llama/Llama-3.1-70B-Instruct"), Row(count=8)),
    "experts": (serving("mistralai/Mixtral-8x7B-Instruct-v0.1", "fp8"), Row("H200-SXM")),
    "latent": (serving("deepseek-ai/DeepSeek-V3", "fp8"), Row("H200-SXM", count=8)),
    "attention by requests": (long_answers(Concurrency(average=200, peak=400)), Row("H200-SXM", count=8)),
    "few requests on many groups": (long_answers(Concurrency(average=3, peak=400)), Row("H200-SXM", count=8)),
    "a rate with attention by requests": (
        long_answers(Concurrency(average=2, peak=3)).model_copy(update={"request_rate_per_s": 2.0}),
        Row("H200-SXM", count=8),
    ),
    "layers beside tensors": (
        serving(
            "deepseek-ai/DeepSeek-R1",
            "fp8",
            concurrency=Concurrency(average=3, peak=10),
            input_tokens=InputTokens(typical=100_600, maximum=100_600),
        ),
        Row("H200-SXM", count=8),
    ),
    "a job with attention by requests": (
        BatchWorkload(model=ModelReference(id="deepseek-ai/DeepSeek-R1"), weights_format="fp8"),
        Row("H200-SXM", count=8),
    ),
    "window": (serving("google/gemma-3-27b-it"), Row("H200-SXM")),
    "sglang": (serving("Qwen/Qwen2.5-7B-Instruct", runtime=RuntimeChoice(name="sglang")), Row()),
    "tensorrt": (serving("Qwen/Qwen2.5-7B-Instruct", runtime=RuntimeChoice(name="tensorrt_llm")), Row()),
    "llama.cpp": (
        serving("Qwen/Qwen2.5-7B-Instruct", "gguf_q4_k_m", runtime=RuntimeChoice(name="llama_cpp")),
        Row("RTX4090", count=2),
    ),
    "batch": (BatchWorkload(), Row(count=4, price="9.96")),
}


def explained(case: str) -> Candidate:
    workload, row = CASES[case]
    made = setting(workload, [row])
    candidate = one_candidate(made, made.place(), 0)
    assert isinstance(candidate, Candidate), candidate
    return candidate


def test_cases_that_mean_another_split_have_it() -> None:
    layouts = {case: explained(case).layout for case in CASES}
    assert layouts["layers beside tensors"].pp > 1
    assert [case for case, layout in layouts.items() if layout.dp > 1] == [
        "attention by requests", "few requests on many groups", "a rate with attention by requests",
        "a job with attention by requests",
    ]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_formula_gives_its_figure_again(case: str) -> None:
    candidate = explained(case)
    for derivation in candidate.derivations.values():
        rounding = ROUNDING.get(derivation.unit, ROOT)
        assert evaluated(derivation) == pytest.approx(derivation.value, rel=1e-6, abs=rounding), (
            derivation.figure
        )


@pytest.mark.parametrize("case", CASES)
def test_the_figures_explained_are_the_figures_shown(case: str) -> None:
    candidate = explained(case)
    shown: dict[str, float | None] = {
        "weights_bytes": candidate.split.weights_bytes,
        "kv_bytes_per_token": candidate.split.kv_bytes_per_token,
        "kv_room_tokens": candidate.split.kv_room_tokens,
        "usable_bytes": candidate.memory.usable_bytes,
        "needed_bytes": candidate.memory.needed_bytes,
        "monthly_total": float(candidate.monthly.total),
    }
    assert candidate.speed is not None
    peak = candidate.speed.peak
    shown["tpot_s"] = peak.tpot_s.value if peak.tpot_s else None
    shown["output_tokens_per_s"] = peak.output_tokens_per_s.value if peak.output_tokens_per_s else None
    if peak.ttft_s:
        shown["ttft_s"] = peak.ttft_s.value
    for figure, value in shown.items():
        assert value is not None
        assert candidate.derivations[figure].value == pytest.approx(value, rel=1e-9), figure


def test_constants_in_a_formula_name_their_origin() -> None:
    derivation = explained("dense").derivations["memory_s"]
    fractions = [term for term in derivation.terms if term.symbol.endswith("_fraction")]
    assert len(fractions) == 2
    assert all(term.source for term in fractions)


GIVEN = {"prompt_tokens", "output_tokens", "replicas", "machines", "billed", "minor_units"}
"""The user's own numbers, counts that the row shows, and units."""


@pytest.mark.parametrize(
    "case", ["dense", "rate", "draft", "tensor parallel", "experts", "llama.cpp", "batch"]
)
def test_every_number_of_speed_has_a_source_or_a_derivation_of_its_own(case: str) -> None:
    derivations = explained(case).derivations
    speed = ("tpot_s", "ttft_s", "step_s", "memory_s", "compute_s", "link_s", "overhead_s", "prefill_s",
             "prompt_share_s", "prompt_work_s", "queue_s", "output_tokens_per_s")  # fmt: skip
    assert set(speed) - {"ttft_s", "queue_s"} <= set(derivations)
    for figure in speed:
        if figure not in derivations:
            assert case == "batch"
            continue
        for term in derivations[figure].terms:
            own = derivations.get(term.symbol)
            assert term.source or own or term.symbol in GIVEN, f"{figure}: {term.symbol}"
            if own is not None:
                assert own.value == pytest.approx(term.value, rel=1e-9), f"{figure}: {term.symbol}"


def test_a_closed_loop_that_waits_outside_says_how_long() -> None:
    workload = ServingWorkload(
        model=ModelReference(id="meta-llama/Llama-3.1-8B-Instruct"),
        targets=LOOSE,
        runtime=RuntimeChoice(options=RuntimeOptions(max_num_seqs=4)),
    )
    made = setting(workload, [Row()])
    (placement,) = made.place()
    assert isinstance(placement, Placement)
    point = altered(placement.point, load="concurrency", load_value=40.0)
    (found,) = operate([point], made.constants)
    derived = derive(point, found, 1, made.constants, placement.machine.device)
    assert found.batch_limit == "batch_cap"
    assert derived["queue_s"].value > 0
    for derivation in derived.values():
        assert evaluated(derivation) == pytest.approx(derivation.value, rel=1e-6), derivation.figure
