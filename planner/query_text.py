"""What a query string says before it is a form: lists told in pieces, lengths that follow others, parked fields."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import QueryDict

from planner import kinds
from planner.fields import NumberField, SheetField, names_of
from planner.kinds.frame import Kind
from planner.sizing.workload import TOKENS_MAXIMUM
from planner.typed_numbers import number_text

PARKED_LENGTH_MAXIMUM = 200
ASSUME = "assume"
LEFT_KIND = "left_kind"
"""Key under which a form tells of which kind it was drawn."""
LENGTHS = (("in", "in_max"), ("out", "out_max"))
"""Keys of a typical length and of the longest."""


def key_of(name: str) -> str:
    """Name in the query of a field whose Python name ends in an underscore."""
    return name.rstrip("_")


def merge_assumed(given: QueryDict) -> None:
    """``assume-NAME=VALUE``, as a single field sends it, into the list of the link; an empty value takes it out.

    ``set=NAME&to=VALUE`` is the same of a list of names.
    """
    changed = {key.removeprefix(f"{ASSUME}-"): given[key] for key in given if key.startswith(f"{ASSUME}-")}
    if given.get("set"):
        changed[str(given["set"])] = given.get("to", "")
    if not changed:
        return
    told = dict(part.partition(":")[::2] for part in names_of([given.get(ASSUME, "")]))
    told |= {name: str(value).strip().replace(",", "") for name, value in changed.items()}
    given[ASSUME] = ",".join(f"{name}:{value}" for name, value in told.items() if value)


def average_below(peak: str, average: str) -> str:
    """The average where only a peak was given: the usual one, and never more than the peak."""
    try:
        return peak if 0 < float(peak) < float(average) else average
    except ValueError:
        return average  # Said at the field of the peak.


def longest_above(typical: str, longest: str) -> str:
    """The longest where only a typical length was given: the usual one, and never less than the typical."""
    if not (typical.isascii() and typical.isdigit() and len(typical) <= len(str(TOKENS_MAXIMUM))):
        return longest  # Said at the field of the typical length.
    return typical if int(longest) < int(typical) <= TOKENS_MAXIMUM else longest


def drop_defaults_of(left: Kind, given: QueryDict) -> None:
    """Takes out what stood at its default in the form of another kind, so that the chosen kind has its own default."""
    for name, field in left.fields.items():
        key = key_of(name)
        if key not in given:
            continue
        text = ",".join(str(value) for value in given.getlist(key)).strip()
        is_default = text == field.default
        if isinstance(field, NumberField) and text:
            is_default = field.says_default(number_text(text))
        if is_default:
            del given[key]


def method_key(kind: Kind) -> str:
    """The key of the field that tells apart the names on the wire of one kind."""
    return next((key_of(name) for name, field in kind.fields.items() if field.path == ("kind",)), "kind")


def parked(given: QueryDict, fields: Mapping[str, SheetField]) -> dict[str, str]:
    own = {key_of(name) for name in fields}
    found: dict[str, str] = {}
    for kind in kinds.KINDS:
        for name, field in kind.fields.items():
            key = key_of(name)
            if key in own or key in found or key not in given:
                continue
            text = ",".join(str(value) for value in given.getlist(key)).strip()
            if text != field.default and len(text) <= PARKED_LENGTH_MAXIMUM:
                found[key] = text
    return found
