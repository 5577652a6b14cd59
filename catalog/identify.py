"""Which accelerator a spelling means: exactly one, several that are named, or unknown. Never a guess.

A spelling is cut into words. Words of the vendor, the bus, the count and the memory are read and set aside;
what remains must be, as a whole, the name of a family. Nothing is found by substring, so a longer or shorter
name (Ti, Super, D, Laptop) is never taken for its sibling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from catalog.facts import AcceleratorFact, accelerators

HINTS = Path(__file__).parent / "seeds" / "provider_cards.json"

NAME_LENGTH_MAXIMUM = 200

IGNORED = frozenset(
    [
        "nvidia",
        "amd",
        "google",
        "aws",
        "huawei",
        "geforce",
        "tesla",
        "instinct",
        "gpu",
        "gpus",
        "graphics",
        "card",
        "tensor",
        "core",
        "cores",
        "edition",
        "generation",
        "gen",
        "accelerator",
        "accelerators",
        "mig",
        "with",
        "and",
        "the",
        "of",
        "high",
        "freq",
        "frequency",
        "vram",
        "memory",
    ]
)
"""Words that never tell one card from another."""

FORMS = {
    "pcie": "PCIe", "pci": "PCIe", "sxm": "SXM", "sxm2": "SXM", "sxm3": "SXM", "sxm4": "SXM", "sxm5": "SXM",
    "sxm6": "SXM", "hgx": "SXM", "dgx": "SXM", "nvl": "NVL", "oam": "OAM",
}  # fmt: skip
LOOSE_FORMS = frozenset({"nvlink"})
"""An NVLink bridge also exists for PCIe cards: it tells nothing about the card."""

EDITIONS = {
    "server": "server", "se": "server", "bse": "server", "workstation": "workstation", "we": "workstation",
    "ws": "workstation",
}  # fmt: skip

OTHER_CARDS = frozenset(["laptop", "mobile", "notebook", "maxq", "sff", "lhr"])
"""Words of another product with the same number; such a name is unknown until the product is in the seed."""

FRACTION = re.compile(r"(?<![\d/])1\s*/\s*(\d{1,2})(?![\d/])")
MIG = re.compile(r"(?<![\w.])(\d)g[. ](\d{1,3})\s*gb(?:[.+]me(?:\.all)?)?(?![\w.])")
MIG_EIGHTHS = {1: (1, 2), 2: (2,), 3: (4,), 4: (4,), 7: (8,)}
"""Of a card's memory, by sevenths of its compute: what MIG profiles exist (a 1g comes with one or two eighths)."""
COUNT = re.compile(
    r"(?<![\w.])(?:(\d{1,3})\s*[x×](?![\w.])|[x×]\s*(\d{1,3})(?![\w.])|(\d{1,3})[x×](?=[a-z]))"
)
MEMORY = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d+)?)\s*(?:gib|gb|g)(?![\w.])")
MEMORY_MIB = re.compile(r"(?<![\w.])(\d{4,6})\s*(?:mib|mb)(?![\w.])")
MEMORY_KIND = re.compile(r"(?<![\w.])(hbm\d?e?|gddr\d?x?|lpddr\dx?)(?![\w.])")

CONTRADICTORY = {"rtxproa6000": ("RTXPRO6000", "RTXA6000")}
"""Names that sellers print and that join two cards."""


class Identification(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    status: Literal["resolved", "ambiguous", "unknown"]
    canonical: str | None = None
    candidates: tuple[str, ...] = ()
    fraction: float = 1.0
    """Share of one card, where the name tells of a slice."""
    reason: str
    """A code: how it was decided."""


class _Reading(BaseModel):
    """What the words of a spelling say."""

    model_config = ConfigDict(frozen=True)

    family: str
    quadro: bool = False
    form: str | None = None
    memories_gib: tuple[float, ...] = ()
    memory_kind: str | None = None
    edition: str | None = None
    blackwell: bool = False
    modified: bool = False
    other_card: bool = False
    slice_of: float = 1.0
    slice_memory_gib: tuple[float, ...] = ()
    """For a MIG profile, the memory of the whole card that it could be cut from; empty otherwise."""
    no_such_slice: bool = False


def identify(name: str, provider: str | None = None, memory_gib: float | None = None) -> Identification:
    """Which accelerator ``name`` means, at this provider, with this stated memory of one device.

    >>> identify("NVIDIA A100 80GB SXM4").canonical
    'A100-SXM4-80GB'
    >>> identify("A100").status
    'ambiguous'
    """
    if not name.strip() or len(name) > NAME_LENGTH_MAXIMUM:
        return Identification(name=name, status="unknown", reason="empty_or_too_long")
    reading = _read(name)
    if reading.other_card:
        return Identification(name=name, status="unknown", reason="another_product")
    if reading.no_such_slice:
        return Identification(name=name, status="unknown", reason="no_such_slice")
    if not reading.family and reading.slice_of < 1:
        return Identification(
            name=name, status="unknown", fraction=reading.slice_of, reason="slice_without_a_card"
        )
    family = _families().get(reading.family, ())
    cards = _narrowed(family, reading, memory_gib)
    if not cards:
        alias = _aliases().get(_squeezed(name))
        if alias is not None:
            return _checked(name, alias, memory_gib)
        reason = "no_card_of_the_family_fits" if family else "family_not_known"
        return Identification(name=name, status="unknown", reason=reason)
    if len(cards) > 1 and provider:
        cards = _as_sold_by(provider, cards)
    names = tuple(card.name for card in cards)
    if len(names) == 1:
        return Identification(
            name=name,
            status="resolved",
            canonical=names[0],
            fraction=reading.slice_of,
            reason="one_card_fits",
        )
    return Identification(
        name=name, status="ambiguous", candidates=names, fraction=reading.slice_of, reason="several_cards_fit"
    )


def _checked(name: str, fact: AcceleratorFact, memory_gib: float | None) -> Identification:
    """An alias still has to agree with a stated memory."""
    if memory_gib is not None and not _memory_fits(fact, memory_gib):
        return Identification(
            name=name, status="unknown", candidates=(fact.name,), reason="stated_memory_is_another"
        )
    return Identification(name=name, status="resolved", canonical=fact.name, reason="alias")


def _squeezed(text: str) -> str:
    return re.sub(r"[\s\-_]+", " ", text.casefold()).strip()


def _read(name: str) -> _Reading:
    text = name.casefold().replace("®", " ").replace("™", " ")
    text = re.sub(r"(?<!\w)max[\s-]?q(?!\w)", " maxq ", text)
    text = re.sub(r"(?<!\w)dgx[\s-]spark(?!\w)", " dgxspark ", text)
    slice_of = 1.0
    no_such_slice = False
    slice_memory: tuple[float, ...] = ()
    if match := FRACTION.search(text):
        parts = int(match[1])
        no_such_slice = parts == 0
        slice_of = 1 / max(parts, 1)
        text = FRACTION.sub(" ", text)
    if match := MIG.search(text):
        eighths = MIG_EIGHTHS.get(int(match[1]), ())
        no_such_slice |= not eighths
        slice_of = min(int(match[1]), 7) / 7 or 1.0
        slice_memory = tuple(int(match[2]) * 8 / part for part in eighths)
        text = MIG.sub(" ", text)
    text = re.sub(r"[\-_/(),:;]+", " ", text)
    memories = [float(figure) for figure in MEMORY.findall(text)]
    memories += [int(figure) / 1024 for figure in MEMORY_MIB.findall(text)]
    text = MEMORY_MIB.sub(" ", MEMORY.sub(" ", text))
    memory_kind = None
    if match := MEMORY_KIND.search(text):
        memory_kind = match[1] if match[1][-1] not in "mr" else None
        text = MEMORY_KIND.sub(" ", text)
    counts = [int(figure) for match in COUNT.findall(text) for figure in match if figure]
    text = COUNT.sub(" ", text)
    # "8x A100 80GB (640GB)": the memory of all of them tells nothing new.
    memories = [
        gib for gib in memories if not any(gib == other * n for other in memories for n in counts if n > 1)
    ]
    family: list[str] = []
    forms: set[str] = set()
    facts: dict[str, bool] = {"quadro": False, "blackwell": False, "modified": False, "other_card": False}
    edition = None
    for word in re.findall(r"[a-z0-9+]+", text):
        if word in IGNORED or word in LOOSE_FORMS:
            continue
        if word in FORMS:
            forms.add(FORMS[word])
        elif word in EDITIONS:
            edition = EDITIONS[word]
        elif word in OTHER_CARDS:
            facts["other_card"] = True
        elif word == "quadro":
            facts["quadro"] = True
        elif word == "blackwell":
            facts["blackwell"] = True
        elif word == "mod":
            facts["modified"] = True
        else:
            family.append(word)
    if {"SXM", "PCIe"} <= forms:
        facts["other_card"] = True
    form = next(iter(sorted(forms - {"PCIe"} or forms)), None)
    return _Reading(
        family="".join(family),
        form=form,
        memories_gib=tuple(memories),
        memory_kind=memory_kind,
        edition=edition,
        slice_of=slice_of,
        slice_memory_gib=slice_memory,
        no_such_slice=no_such_slice,
        **facts,
    )


@cache
def _aliases() -> dict[str, AcceleratorFact]:
    """Whole spellings that the words alone would misread (``GH200 480GB`` tells the host's memory)."""
    return {
        _squeezed(alias): fact for fact in accelerators().values() for alias in (fact.name, *fact.aliases)
    }


@cache
def _families() -> dict[str, tuple[AcceleratorFact, ...]]:
    """Family words, as ``_read`` leaves them, to the cards that carry them."""
    families: dict[str, dict[str, AcceleratorFact]] = {}
    for fact in accelerators().values():
        for spelling in (fact.name, *fact.aliases):
            reading = _read(spelling)
            for family in _spelled(reading.family, fact):
                families.setdefault(family, {})[fact.name] = fact
    for family, names in CONTRADICTORY.items():
        families[family] = {name: accelerators()[name] for name in names}
    return {family: tuple(cards.values()) for family, cards in families.items()}


def _spelled(family: str, fact: AcceleratorFact) -> Iterable[str]:
    """The ways in which a family is written: with and without the line's prefix."""
    yield family
    if family.startswith("rtxa") and family[4:5].isdigit():
        yield family[3:]
    if fact.architecture == "Turing" and family.endswith("turing"):
        yield family.removesuffix("turing")
    if family.startswith("rtx") and family.endswith("ada"):
        yield family.removesuffix("ada")
    if family.startswith("rtxpro") and family[6:].isdigit():
        digits = family.removeprefix("rtxpro")
        yield f"rtx{digits}pro"
        yield f"rtx{digits}"


def _narrowed(
    cards: tuple[AcceleratorFact, ...], reading: _Reading, memory_gib: float | None
) -> tuple[AcceleratorFact, ...]:
    kept = [card for card in cards if _form_fits(card, reading.form)]
    if reading.quadro:
        kept = [
            card for card in kept if card.architecture in ("Turing", "Pascal", "Volta") or "RTXA" in card.name
        ]
    if reading.blackwell:
        kept = [card for card in kept if card.architecture.startswith("Blackwell")]
    if reading.edition is not None:
        workstation = reading.edition == "workstation"
        kept = [card for card in kept if card.name.endswith("-WS") == workstation]
    kept = [card for card in kept if card.name.endswith("-mod") == reading.modified]
    if reading.memory_kind is not None:
        kept = [card for card in kept if (card.memory_kind or "").casefold() == reading.memory_kind]
    if not reading.memories_gib and memory_gib is None:
        kept = [card for card in kept if not (card.note or "").startswith("custom part")]
    if reading.slice_memory_gib:
        kept = [card for card in kept if any(_memory_fits(card, gib) for gib in reading.slice_memory_gib)]
    for stated in (*reading.memories_gib, memory_gib if reading.slice_of == 1 else None):
        if stated is not None:
            kept = [card for card in kept if _memory_fits(card, stated)]
    return tuple(kept)


def _form_fits(card: AcceleratorFact, form: str | None) -> bool:
    """A PCIe spelling fits PCIe cards; NVL is a card of its own; SXM fits modules and superchips."""
    if form is None:
        return True
    if form == "NVL":
        return card.name.endswith("NVL") or "NVL72" in " ".join(card.aliases)
    if form == "PCIe":
        return card.form_factor == "PCIe" and not card.name.endswith("NVL")
    if form == "SXM":
        return card.form_factor in ("SXM", "superchip")
    return card.form_factor == form


def _memory_fits(card: AcceleratorFact, stated_gib: float) -> bool:
    """Within 12 % of the memory as sold or as reported: vendors print GB, GiB and usable figures."""
    known = [gib for gib in (card.memory_gb, (card.smi_mib or 0) / 1024 or None) if gib]
    return not known or any(abs(stated_gib - gib) <= 0.12 * gib for gib in known)


@cache
def _hints() -> dict[str, frozenset[str]]:
    """By provider, the only variants of a family that it is known to rent."""
    rows = json.loads(HINTS.read_text(encoding="utf-8"))["cards"]
    hints: dict[str, set[str]] = {}
    for row in rows:
        hints.setdefault(row["provider"], set()).add(row["accelerator"])
    return {provider: frozenset(names) for provider, names in hints.items()}


def _as_sold_by(provider: str, cards: tuple[AcceleratorFact, ...]) -> tuple[AcceleratorFact, ...]:
    sold = _hints().get(provider.casefold().strip(), frozenset())
    kept = tuple(card for card in cards if card.name in sold)
    return kept or cards
