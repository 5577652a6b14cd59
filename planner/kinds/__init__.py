"""Kinds of workload: each is declared once, and everything else is derived from that.

How to add one
--------------
1. Write its core in ``planner/sizing/``: a pydantic document (a subclass of ``CommonWorkload`` with ``kind`` as a
   ``Literal`` of its names on the wire) and a subclass of ``Setting`` that places it on machines. Only ``place``,
   ``outcome`` and ``describe`` must be written; what they return is told in ``planner.sizing.setting``. Memory is a
   ``MemoryParts`` with parts that the kind names, figures are a dictionary of ``Figure`` by name, the cost of a unit
   of use is in ``unit_costs``.
2. Declare it in one module of this package as a ``Kind`` (see ``frame`` for what each entry means) and add it to
   ``KINDS`` below. ``every_kind`` has the fields, groups, columns and costs that all kinds share, ``llm_shared`` those
   of kinds that serve an LLM.
3. Give the codes its core emits words in ``planner.wording`` (figures, parts of memory, limits, warnings).

From the declaration come: the form with its groups, folds, units and limits (they are those of the document), the
chooser, links, the page with tiles, table, chart, details and exports, the CSV, XLSX and PDF, ``manage.py schema``,
``manage.py size``, the API, saved plans, and the examples of the start page. A kind with several names on the wire
(a method) declares a field whose path is ``("kind",)``; a link with any of its names opens it.

Nothing outside this package asks which kind a workload is.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter

from planner.columns import Column
from planner.kinds.fine_tuning import FINE_TUNING
from planner.kinds.frame import Example, Kind
from planner.kinds.llm_batch import BATCH
from planner.kinds.llm_serving import SERVING
from planner.kinds.pretraining import PRETRAINING
from planner.sizing.workload import CommonWorkload, without_nulls

KINDS: tuple[Kind, ...] = (SERVING, BATCH, FINE_TUNING, PRETRAINING)
"""In the order of the chooser and of the start page."""
DEFAULT = SERVING

PLANNED = (
    "rag", "embedding", "lora", "qlora", "full_finetune", "pretraining", "image_diffusion", "video_diffusion",
    "speech_to_text", "text_to_speech", "music", "vision_language", "cpu_inference",
)  # fmt: skip
"""Names on the wire that are agreed; those that no kind declares yet are refused by name."""

BY_NAME: dict[str, Kind] = {name: kind for kind in KINDS for name in kind.names}
NOT_YET = frozenset(PLANNED) - BY_NAME.keys()


def _adapter() -> TypeAdapter[CommonWorkload]:
    models: Any = reduce(or_, [kind.workload for kind in KINDS])
    document: Any = Annotated[models, Field(discriminator="kind"), BeforeValidator(without_nulls)]
    return TypeAdapter(document)


WORKLOAD: TypeAdapter[CommonWorkload] = _adapter()
"""Reads a document of any kind, told apart by ``kind``."""


def of(name: str) -> Kind:
    """The kind that has this name on the wire. Raises ``KeyError``."""
    return BY_NAME[name]


def examples() -> tuple[Example, ...]:
    return tuple(example for kind in KINDS for example in kind.examples)


def columns_of(names: Iterable[str]) -> tuple[Column, ...]:
    """The columns of several kinds in one list: each kind's own order is kept."""
    found: list[Column] = []
    for name in names:
        before = 0
        for column in of(name).columns:
            keys = [each.key for each in found]
            if column.key in keys:
                before = keys.index(column.key) + 1
            else:
                found.insert(before, column)
                before += 1
    return tuple(found)
