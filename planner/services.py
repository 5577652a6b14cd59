"""What the planner does for pages, the API and commands: one call each. The clock comes in as ``at``."""

from __future__ import annotations

from datetime import datetime

from accounts.models import Team
from mitsumori import __version__
from planner import architectures, market, runtimes, speed_constants
from planner.sizing import compare as core
from planner.sizing.results import Candidate, Comparison, Rejection
from planner.sizing.weighing import Setting
from planner.sizing.workload import BatchWorkload, ServingWorkload

REJECTED_SHOWN = 200


class UnknownOffer(LookupError):
    """The market of that moment holds no such offer."""


def _setting(workload: ServingWorkload | BatchWorkload, at: datetime) -> Setting:
    arch = architectures.resolve(workload.model)
    return Setting(
        workload=workload,
        arch=arch,
        runtime=runtimes.resolve(workload.runtime.name, workload.runtime.version),
        constants=speed_constants.constants(),
        market=market.current(at),
        at=at,
    )


def compare(
    workload: ServingWorkload | BatchWorkload,
    *,
    at: datetime,
    limit: int = 50,
    offset: int = 0,
    team: Team | None = None,
    rejected_limit: int | None = REJECTED_SHOWN,
    sort: str | None = None,
) -> Comparison:
    """Size the workload on the market of ``at`` and rank what can run it.

    ``team`` is whose private offers would be seen beside the public ones. Raises ``UnknownModel``,
    ``NotSized`` and ``UnknownRuntime`` for what cannot be sized at all.
    """
    return core.compare(
        _setting(workload, at),
        engine_version=__version__,
        limit=limit,
        offset=offset,
        rejected_limit=rejected_limit,
        sort=sort,
    )


def candidate(
    workload: ServingWorkload | BatchWorkload, *, at: datetime, offer_id: int, team: Team | None = None
) -> Candidate | Rejection:
    """One offer with the derivation of every figure, or why it is rejected. Raises ``UnknownOffer``."""
    setting = _setting(workload, at)
    row = setting.market.position(offer_id)
    if row is None:
        raise UnknownOffer(offer_id)
    return core.one_candidate(setting, row)
