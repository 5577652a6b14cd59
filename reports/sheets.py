"""A sheet: what a page or a paper shows of a plan, from a stored version or from an unsaved draft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from mitsumori.addresses import public_address
from planner.sizing.results import Comparison
from reports.checklist import Checklist
from reports.content import canonical, comparison_text, content_text, fingerprint, read_comparison
from reports.models import PlanVersion, PlanWorkload
from reports.public import holds_private, shown_by_link
from reports.said import Said
from reports.services import NamedWorkload
from reports.totals import CommonTotal, common_totals

VALIDITY = timedelta(days=30)
"""How long after its price date a sheet may be used without asking again; printed on it."""


@dataclass(frozen=True)
class SheetWorkload:
    """One workload of a sheet with its stored answer."""

    position: int
    name: str
    kind: str
    query: str
    comparison: Comparison


@dataclass(frozen=True)
class Sheet:
    """Everything that is shown; ``fingerprint`` and ``number`` are None on a draft."""

    title: str
    prepared_for: str
    note: str
    prepared_by: str
    slug: str | None
    number: int | None
    created_at: datetime | None
    priced_at: datetime
    engine_version: str
    catalog_version: str
    fingerprint: str | None
    workloads: tuple[SheetWorkload, ...]
    content: Callable[[], str]
    """Writes the canonical content out: a megabyte that only one kind of file wants."""
    checklist: Checklist | None = None
    origin: str = ""
    """How its figures came here, if they were not computed here: ``copy``, ``fork`` or ``import``."""

    said: Said | None = None
    """What the team decided and said, where a member asked for it."""
    with_rejected: bool = True
    """Whether tables hold the rejected offers too."""

    converted: tuple[str, date, dict[str, Decimal]] | None = None
    """The currency it is shown in, the day of the rates and the rates per USD, where that is not the plan's own."""

    @property
    def content_text(self) -> str:
        return self.content()

    @property
    def address(self) -> str:
        """Where the version stands, with the host; empty on a draft."""
        return public_address(f"/plans/{self.slug}/v/{self.number}/") if self.slug else ""

    @property
    def is_draft(self) -> bool:
        return self.fingerprint is None

    @property
    def totals(self) -> tuple[CommonTotal, ...]:
        """What all workloads cost together."""
        return common_totals(item.comparison for item in self.workloads)

    @property
    def valid_until(self) -> datetime:
        return self.priced_at + VALIDITY


def of_version(version: PlanVersion, *, is_shared: bool = False) -> Sheet:
    """A stored version, as it was saved; ``is_shared`` leaves out what a link may not show."""
    rows: list[PlanWorkload] = list(version.answers)
    seal = version.fingerprint
    if is_shared and holds_private(rows):
        rows = [shown_by_link(row) for row in rows]
        seal = fingerprint(version, rows)
    return Sheet(
        title=version.title,
        prepared_for=version.prepared_for,
        note=version.note,
        prepared_by=version.prepared_by,
        slug=version.plan.slug,
        number=version.number,
        created_at=version.created_at,
        priced_at=version.priced_at,
        engine_version=version.engine_version,
        catalog_version=version.catalog_version,
        fingerprint=seal,
        workloads=tuple(
            SheetWorkload(row.position, row.name, row.kind, row.query, read_comparison(row)) for row in rows
        ),
        content=lambda: content_text(version, rows),
        checklist=Checklist.model_validate_json(version.checklist_text) if version.checklist_text else None,
        origin=version.plan.origin if _is_first(version) else "",
    )


def _is_first(version: PlanVersion) -> bool:
    """Whether its figures are those with which the plan began."""
    return version.number == 1 or (version.answered_by is not None and version.answered_by.number == 1)


def of_draft(title: str, answers: Sequence[tuple[NamedWorkload, Comparison]]) -> Sheet:
    """A workbench that nobody saved: the same figures, no number, no fingerprint."""
    first = answers[0][1]

    def content() -> str:
        version = PlanVersion(
            title=title,
            priced_at=first.priced_at,
            engine_version=first.engine_version,
            catalog_version=first.catalog_version,
        )
        rows = [
            PlanWorkload(
                name=named.name,
                kind=comparison.kind,
                inputs_text=canonical(named.workload.model_dump(mode="json", by_alias=True)),
                comparison_text=comparison_text(comparison),
            )
            for named, comparison in answers
        ]
        return content_text(version, rows)

    return Sheet(
        title=title,
        prepared_for="",
        note="",
        prepared_by="",
        slug=None,
        number=None,
        created_at=None,
        priced_at=first.priced_at,
        engine_version=first.engine_version,
        catalog_version=first.catalog_version,
        fingerprint=None,
        workloads=tuple(
            SheetWorkload(position, named.name, comparison.kind, named.query, comparison)
            for position, (named, comparison) in enumerate(answers, start=1)
        ),
        content=content,
    )
