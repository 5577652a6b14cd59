"""Spellings: right, ambiguous or unknown, and never another card."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from catalog.facts import accelerators
from catalog.identify import NAME_LENGTH_MAXIMUM, identify

NAMES = sorted(accelerators())


def meaning(name: str, provider: str | None = None, memory_gib: float | None = None) -> str:
    answer = identify(name, provider, memory_gib)
    return answer.canonical or f"{answer.status}:{'|'.join(answer.candidates)}"


@pytest.mark.measurements
def test_every_spelling_of_the_providers_comes_out_as_expected(measurements: Path) -> None:
    wrong = []
    with (measurements / "facts" / "accelerator_spellings.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            got, expected = meaning(row["raw_name"]), row["expected"]
            if expected.startswith("ambiguous:"):
                same = got.startswith("ambiguous:") and set(got[10:].split("|")) == set(
                    expected[10:].split("|")
                )
            else:
                same = got == expected
            if not same:
                wrong.append((row["raw_name"], expected, got))
    assert wrong == []


@pytest.mark.measurements
def test_hints_of_providers_make_ambiguous_spellings_certain(measurements: Path) -> None:
    wrong = []
    with (measurements / "facts" / "accelerator_spellings.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            for hint in filter(None, row["provider_hint"].split("; ")):
                provider, _, expected = hint.partition(": ")
                expected = expected.split(" ")[0]
                answer = identify(row["raw_name"], provider)
                # A bare family stays open between the variants that this provider rents.
                if expected not in (answer.canonical, *answer.candidates):
                    wrong.append((row["raw_name"], provider, expected, answer))
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("A100 SXM4 80GB", "A100-SXM4-80GB"),
        ("nvidia a100-pcie-40gb", "A100-PCIe-40GB"),
        ("8x NVIDIA H100 80GB HBM3", "H100-SXM5"),
        ("8x A100 SXM4 80GB (640GB)", "A100-SXM4-80GB"),
        ("H100 x8 SXM5", "H100-SXM5"),
        ("NVIDIA H100 PCIe", "H100-PCIe"),
        ("H100 NVL", "H100-NVL"),
        ("Quadro RTX 6000", "RTX6000-Turing"),
        ("RTX 6000 Ada Generation", "RTX6000Ada"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTXPRO6000"),
        ("RTX A6000", "RTXA6000"),
        ("GeForce RTX 4070 Ti SUPER", "RTX4070TiSuper"),
        ("AMD Instinct MI300X OAM", "MI300X"),
        ("Tesla T4", "T4"),
        ("GH200 480GB", "GH200-96GB"),
    ],
)
def test_usual_spellings_are_right(name: str, expected: str) -> None:
    assert meaning(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "RTX 4090 Laptop GPU", "RTX 4090 Mobile", "RTX 4080 Super", "RTX 4070 Super",
        "RTX 3080 Ti Laptop",
        "RTX PRO 6000 Max-Q", "A100X", "A1000", "A10M", "H1000", "L400", "T40", "T1000", "V1000", "H100 PCIe SXM",
        "B2000", "MI300A", "MI300", "RTX 40900", "GTX 1080 Ti Super", "RTX 5090 D", "A2", "H20 141GB", "A100 120GB",
        "Radeon", "NVIDIA", "GPU", "80GB", "8x", "", "   ", "RTX", "Super", "¯\\_(ツ)_/¯", "A100\x00",
    ],
)  # fmt: skip
def test_what_is_not_in_the_catalog_is_unknown_and_never_its_sibling(name: str) -> None:
    answer = identify(name)
    assert answer.canonical is None, answer
    assert answer.status == "unknown" or name == "A100\x00"


def test_rtx_6000_is_several_cards() -> None:
    assert set(identify("RTX 6000").candidates) == {
        "RTX6000-Turing",
        "RTX6000Ada",
        "RTXPRO6000",
        "RTXPRO6000-WS",
    }
    assert meaning("RTX 6000", memory_gib=24) == "RTX6000-Turing"
    assert meaning("RTX 6000", memory_gib=48) == "RTX6000Ada"
    assert meaning("RTX 6000", provider="lambda") == "RTX6000-Turing"


@pytest.mark.parametrize(
    ("name", "memory_gib", "expected"),
    [
        ("L4", 22.35, "L4"),
        ("L4", 24, "L4"),
        ("L4", 22.494, "L4"),
        ("A100 SXM", 79.6, "A100-SXM4-80GB"),
        ("A100 SXM", 40, "A100-SXM4-40GB"),
        ("B200", 192, "B200-SXM"),
        ("T4", 80, "unknown:T4"),
    ],
)
def test_stated_memory_narrows_and_contradicts(name: str, memory_gib: float, expected: str) -> None:
    assert meaning(name, memory_gib=memory_gib) == expected


@pytest.mark.parametrize(
    ("name", "share"), [("A10 1/6", 1 / 6), ("1/2 A10", 0.5), ("A100-SXM4-80GB MIG 3g.40gb", 3 / 7)]
)
def test_a_slice_is_named_as_one(name: str, share: float) -> None:
    answer = identify(name)
    assert answer.status == "resolved"
    assert answer.fraction == pytest.approx(share)


@pytest.mark.parametrize(
    ("name", "expected", "share"),
    [
        ("H100 NVL MIG 1g.12gb", "H100-NVL", 1 / 7),
        ("A100 SXM4 MIG 1g.5gb", "A100-SXM4-40GB", 1 / 7),
        ("A100 SXM4 MIG 1g.10gb.me", "ambiguous:A100-SXM4-40GB|A100-SXM4-80GB", 1 / 7),
        ("A100 SXM4 MIG 3g.40gb", "A100-SXM4-80GB", 3 / 7),
        ("H200 SXM 7g.141gb", "H200-SXM", 1),
        ("H100 SXM 1g.80gb", "unknown:", 1),
        ("H100 MIG 9g.10gb", "unknown:", 1),
        ("MIG 1g.10gb", "unknown:", 1 / 7),
        ("A10 1/0", "unknown:", 1),
        ("A10 3/4", "unknown:", 1),
    ],
)
def test_a_mig_profile_tells_the_card_by_its_memory_and_impossible_slices_are_unknown(
    name: str, expected: str, share: float
) -> None:
    assert meaning(name) == expected
    assert identify(name).fraction == pytest.approx(share)


@given(st.sampled_from(NAMES), st.randoms(use_true_random=False))
def test_the_order_of_the_words_never_makes_another_card(name: str, random: Any) -> None:
    for spelling in (name, *accelerators()[name].aliases):
        words = re.split(r"[\s\-]+", spelling)
        random.shuffle(words)
        answer = identify(" ".join(words))
        assert answer.canonical in (None, *_of_the_same_words(words)), (words, answer)


def _of_the_same_words(words: list[str]) -> set[str]:
    """Cards of which one spelling has these words: no order of words tells such cards apart."""

    def letters(text: str) -> list[str]:
        return sorted(re.sub(r"[^a-z0-9]", "", text.casefold()))

    return {
        fact.name
        for fact in accelerators().values()
        for own in (fact.name, *fact.aliases)
        if letters(own) == letters("".join(words))
    }


@given(st.sampled_from(NAMES), st.sampled_from(["{:g}GB", "{:g} GB", "({:g}GB)", "{:g}GiB", "{:g} gb VRAM"]))
def test_the_own_memory_behind_a_name_never_makes_another_card(name: str, written: str) -> None:
    fact = accelerators()[name]
    if fact.memory_gb is None:
        return
    answer = identify(f"{name} {written.format(fact.memory_gb)}")
    assert answer.canonical in (name, None)
    assert answer.canonical or not answer.candidates or name in answer.candidates


@given(st.sampled_from(NAMES), st.integers(1, 400))
def test_a_foreign_memory_behind_a_name_makes_it_unknown_or_a_card_that_has_it(name: str, gib: int) -> None:
    answer = identify(f"{name} {gib}GB")
    for found in filter(None, (answer.canonical, *answer.candidates)):
        fact = accelerators()[found]
        sizes = [size for size in (fact.memory_gb, (fact.smi_mib or 0) / 1024) if size]
        assert not sizes or any(abs(gib - size) <= 0.12 * size + 1e-9 for size in sizes), (name, gib, answer)


def test_no_card_is_found_by_the_name_of_its_ti_super_or_laptop_sibling() -> None:
    for name in NAMES:
        for more in ("Ti", "SUPER", "Ti SUPER", "Laptop", "Laptop GPU", "Max-Q", "Mobile", "D"):
            answer = identify(f"NVIDIA GeForce {name} {more}")
            sibling = {
                other for other in NAMES if other.casefold() == f"{name}{more}".replace(" ", "").casefold()
            }
            assert answer.canonical in (None, *sibling, *_spelled_alike(f"{name} {more}")), (
                name,
                more,
                answer,
            )


@given(
    st.sampled_from(NAMES),
    st.sampled_from([str.upper, str.lower, str.title, str]),
    st.sampled_from(["", "NVIDIA ", "nvidia  ", "AMD ", "8x ", "2 x "]),
    st.sampled_from(["", " GPU", " x8", "  ", " (high freq.)"]),
    st.sampled_from(["-", " ", "_", "  "]),
)
def test_case_spaces_dashes_vendors_and_counts_never_make_another_card(
    name: str, case: Any, before: str, after: str, dash: str
) -> None:
    plain = identify(name)
    dressed = identify(before + case(name.replace("-", dash)) + after)
    assert dressed.canonical in (plain.canonical, name, None)
    if dressed.canonical is None and dressed.candidates:
        assert name in dressed.candidates


@given(
    st.sampled_from(NAMES),
    st.sampled_from(["Ti", "Super", "D", "X", "Laptop", "Mobile", "0", "1", "S", "Max-Q", "G"]),
)
def test_a_longer_name_is_never_taken_for_the_shorter_one(name: str, more: str) -> None:
    for longer in (f"{name}{more}", f"{name} {more}"):
        answer = identify(longer)
        assert answer.canonical in (None, *_spelled_alike(longer)), (longer, answer)


def _spelled_alike(spelling: str) -> set[str]:
    """Cards one of whose own spellings this is, wherever the memory stands."""

    def squeezed(text: str) -> str:
        return re.sub(r"\d+gb|[- ]", "", text.casefold())

    return {
        fact.name
        for fact in accelerators().values()
        for own in (fact.name, *fact.aliases)
        if squeezed(own) == squeezed(spelling)
    }


@given(st.text(max_size=60))
def test_no_text_breaks_it_and_what_is_resolved_is_in_the_catalog(text: str) -> None:
    answer = identify(text)
    assert answer.status in ("resolved", "ambiguous", "unknown")
    assert (answer.canonical is not None) == (answer.status == "resolved")
    assert len(answer.candidates) != 1 or answer.status == "unknown"
    assert {answer.canonical, *answer.candidates} - {None} <= set(NAMES)


def test_a_name_without_end_is_unknown() -> None:
    assert identify("A100 " * NAME_LENGTH_MAXIMUM).reason == "empty_or_too_long"


def test_the_command_answers_in_the_order_asked(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("identify", "--json", "--memory-gib", "80", "--", "A100 SXM", "A100", "nonsense", "-x")
    answers = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["status"], one["canonical"]) for one in answers] == [
        ("A100 SXM", "resolved", "A100-SXM4-80GB"),
        ("A100", "ambiguous", None),
        ("nonsense", "unknown", None),
        ("-x", "unknown", None),
    ]
    assert answers[1]["candidates"] == ["A100-PCIe-80GB", "A100-SXM4-80GB"]
    assert set(answers[0]) == {"name", "status", "canonical", "candidates", "fraction", "reason"}
