"""One offer by itself, on which a workload is sized again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from planner import kinds, private_market
from planner.kinds.frame import Kind
from planner.sizing import compare as core
from planner.sizing.offers import Market
from planner.sizing.results import Candidate, Rejection
from planner.sizing.setting import Placed, Refusal, Setting
from planner.sizing.workload import CommonWorkload


class UnknownOffer(LookupError):
    """The market of that moment holds no such offer."""


@dataclass(frozen=True)
class Alone:
    """A workload on one offer. Filters are lifted: it is shown already."""

    kind: Kind
    workload: CommonWorkload
    market: Market
    at: datetime

    @staticmethod
    def on(workload: CommonWorkload, offer_id: int, at: datetime, team_id: int | None = None) -> Alone:
        """An offer of the market, or one of a team's own. Raises ``UnknownOffer``."""
        whole = private_market.current(at, team_id)
        row = whole.position(offer_id)
        if row is None:
            raise UnknownOffer(offer_id)
        return Alone(kinds.of(workload.kind), workload, whole.only(row), at)

    def setting(self, workload: CommonWorkload | None = None) -> Setting[Any]:
        return self.kind.setting(workload or self.workload, self.at, self.market)

    def answered(self, setting: Setting[Any], *, derivations: bool = False) -> Candidate | Rejection:
        placements = setting.place()
        if derivations:
            return core.one_candidate(setting, placements, 0)
        return core.one_candidate(setting, placements, 0, derivations=False)

    def answer(self, workload: CommonWorkload | None = None) -> Candidate | Rejection:
        return self.answered(self.setting(workload))

    def candidate(self, workload: CommonWorkload | None = None) -> Candidate | None:
        """The answer where it fits."""
        found = self.answer(workload)
        return found if isinstance(found, Candidate) else None

    def placed(self) -> tuple[Setting[Any], Placed] | None:
        """How the workload is placed there; None where it is not."""
        setting = self.setting()
        (found,) = setting.place()
        return None if isinstance(found, Refusal) else (setting, found)

    def changed(self, changes: Mapping[tuple[str, ...], Any]) -> CommonWorkload | None:
        """The workload with other values at some paths; None where its document does not allow them."""
        document = self.workload.model_dump(exclude_unset=False)
        for path, value in changes.items():
            place = document
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
        try:
            return self.kind.workload.model_validate(document)
        except ValidationError:
            return None
