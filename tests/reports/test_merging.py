"""Which of two people's texts stand in each other's way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reports.merging import merge

BASE = {"title": "a", "note": "n", "prepared_for": ""}


def test_changes_of_different_fields_are_both_kept() -> None:
    merged = merge(BASE, BASE | {"title": "theirs"}, BASE | {"note": "mine"})
    assert merged.texts == {"title": "theirs", "note": "mine", "prepared_for": ""}
    assert (merged.theirs, merged.torn) == (("title",), ())


def test_a_field_that_both_changed_is_torn_and_mine_stands() -> None:
    merged = merge(BASE, BASE | {"title": "theirs"}, BASE | {"title": "mine"})
    assert merged.texts["title"] == "mine"
    assert merged.torn == ("title",)


def test_the_same_change_by_both_is_no_conflict() -> None:
    assert merge(BASE, BASE | {"title": "x"}, BASE | {"title": "x"}).torn == ()


WORDS = st.fixed_dictionaries({name: st.sampled_from(["", "a", "b", "c"]) for name in BASE})


@given(base=WORDS, theirs=WORDS, mine=WORDS)
def test_no_change_of_anybody_vanishes_unsaid(
    base: dict[str, str], theirs: dict[str, str], mine: dict[str, str]
) -> None:
    merged = merge(base, theirs, mine)
    for name in base:
        assert merged.texts[name] in (theirs[name], mine[name])
        if theirs[name] != base[name] and merged.texts[name] != theirs[name]:
            assert name in merged.torn
        if mine[name] != base[name]:
            assert merged.texts[name] == mine[name]
