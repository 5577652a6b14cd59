"""One entry of a model's tensor list: what it is, its shape, how ranks share it and when it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from planner.sizing.formats import Group

Count = Annotated[int, Field(ge=1)]
CountOrNone = Annotated[int, Field(ge=0)]
Split = Literal["shard", "kv", "copy", "expert", "vocab"]
Read = Literal["always", "lookup", "routed", "never"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """``count`` equal matrices of ``rows`` outputs and ``columns`` inputs (1 for vectors)."""

    role: str
    group: Group
    count: int
    rows: int
    columns: int
    split: Split
    read: Read
    kv_heads: int = 1
    latent: bool = False
    layer: bool = True
    query_heads: int = 1
    gates: int = 1
    """Matrices of the same width that are stacked in ``rows``."""

    @property
    def parameters(self) -> int:
        return self.count * self.rows * self.columns
