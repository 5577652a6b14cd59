"""Spellings of model names: all known ones resolve, and none becomes a model of another size."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.architectures import entries, find
from planner.model_names import Spellings, same_size, sizes, words

IDS = [entry.id for entry in entries()]
TAIL_IS_TWO_MODELS = "the same name from two organisations"
NO_SIZE_STATED = "THUDM/CogVideoX (pipeline page, size not stated)"
ROUNDED = {"rho-math-1b (TinyLlama architecture)", "SpectraSuite/TriLM (about 4B)"}


@pytest.mark.measurements
def test_every_spelling_of_the_table_of_names_resolves_and_keeps_its_size() -> None:
    path = Path(settings.MEASUREMENTS_DIR) / "facts" / "model_names.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 209
    for row in rows:
        entry = find(row["model"])
        if row["model"] == NO_SIZE_STATED:
            assert entry is None
            continue
        assert entry is not None, row["model"]
        if row["model"] not in ROUNDED:
            assert same_size(row["model"], entry.id), row["model"]
        if row["hf_id"] and entry.architecture is not None:
            assert entry.id in (row["hf_id"], row["model"])


def respell(name: str, upper: list[bool], separators: list[str]) -> str:
    """The same name in other letter case, with other separators."""
    letters = "".join(
        letter.upper() if chosen else letter.lower() for letter, chosen in zip(name, upper, strict=False)
    )
    rest = name[len(letters) :]
    found = iter(separators * (len(name) + 1))
    # An underscore between digits stands for a point; a hyphen or space there stays a separator.
    return re.sub(r"[-\s]|(?<!\d)_|_(?!\d)", lambda _: next(found), letters + rest)


SEPARATORS = st.lists(st.sampled_from(["-", " ", "--", " - "]), min_size=1, max_size=6)


@given(st.sampled_from(IDS), st.lists(st.booleans(), min_size=60, max_size=60), SEPARATORS)
def test_letter_case_and_separators_never_matter(name: str, upper: list[bool], separators: list[str]) -> None:
    entry = find(respell(name, upper, separators))
    assert entry is not None
    assert entry.id == name


@given(st.sampled_from(IDS))
def test_without_the_organisation_a_name_is_itself_or_unknown_if_two_models_have_it(name: str) -> None:
    tail = name.rpartition("/")[2]
    sharing = {other for other in IDS if words(other.rpartition("/")[2]) == words(tail)}
    entry = find(tail.swapcase())
    if len(sharing) == 1:
        assert entry is not None
    if entry is not None:
        assert words(entry.id.rpartition("/")[2]) == words(tail)


@given(st.sampled_from(IDS), st.integers(0, 9), st.integers(1, 999))
def test_another_number_is_never_the_same_model(name: str, which: int, number: int) -> None:
    spans = [found.span() for found in re.finditer(r"\d+(?:\.\d+)*", name)]
    assume(spans)
    start, end = spans[which % len(spans)]
    changed = f"{name[:start]}{number}{name[end:]}"
    assume(words(changed) != words(name))
    entry = find(changed)
    assert entry is None or (entry.id != name and sizes(entry.id) == sizes(changed))


@given(st.sampled_from(IDS), st.integers(0, 80), st.sampled_from("0123456789.abx"))
def test_one_more_letter_is_never_a_model_of_another_size(name: str, at: int, letter: str) -> None:
    changed = name[: at % (len(name) + 1)] + letter + name[at % (len(name) + 1) :]
    entry = find(changed)
    assert entry is None or sizes(entry.id) == sizes(changed)


@given(st.text(max_size=220))
def test_any_text_is_a_known_model_or_none(text: str) -> None:
    entry = find(text)
    assert entry is None or words(entry.id.rpartition("/")[2])


@pytest.mark.parametrize(
    "name", ["other-org/Llama-3.1-8B-Instruct", "llama-318b-instruct", "llama-3-1-8b-instruct"]
)
def test_another_organisation_and_joined_or_cut_numbers_are_not_guessed(name: str) -> None:
    assert find(name) is None


def test_a_spelling_that_two_models_share_is_none() -> None:
    both = Spellings([("one/Model-7B", "one"), ("other/model 7b", "other")])
    assert both.find("model-7b") is None
    assert both.find("ONE/model 7B") == "one"


def test_sizes_are_read_as_written() -> None:
    assert sizes("Qwen3-30B-A3B") == {"30b", "a3b"}
    assert sizes("Mixtral-8x7B-v0.1") == {"8x7b"}
    assert sizes("phi-1_5") == frozenset()
    assert not same_size("opt-125m", "opt-1.3b")
