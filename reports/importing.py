"""Reads a plan back from its JSON file: the same content, byte for byte, or a sentence that says why not.

Nothing is computed. The file's figures were made elsewhere, and the plan says so for ever; what the file claims is
checked against its own fingerprint, and that every page and file of it can be drawn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import ValidationError

from accounts.models import Team, User
from mitsumori.json_bodies import BodyRefused, read_json
from mitsumori.text_fields import is_unprintable
from planner import kinds
from planner.sizing.results import Comparison
from reports import copying, exports, pages, services
from reports.checklist import Checklist
from reports.content import FORMAT, FORMAT_VERSION, canonical, fingerprint, sha256
from reports.models import NOTE_LENGTH, TITLE_LENGTH, PlanVersion, PlanWorkload

BYTES_MAXIMUM = 20 * 2**20
ENTRIES_MAXIMUM = 2_000_000
WORKLOADS_MAXIMUM = 20
log = structlog.get_logger(__name__)


class NotAPlanError(ValueError):
    """Why a file is no plan: one sentence."""


@dataclass(frozen=True)
class _Read:
    words: services.Words
    stamp: PlanVersion
    rows: tuple[PlanWorkload, ...]
    seal: str


def import_plan(data: bytes, *, team: Team, user: User, at: datetime) -> PlanVersion:
    """A new plan of ``team`` with the content of the file. Raises `NotAPlanError`, and then nothing was written."""
    read = _read(data, at)
    with transaction.atomic():
        version = copying.build(
            read.stamp,
            read.rows,
            read.words,
            team=team,
            user=user,
            at=at,
            origin="import",
            detail=read.seal[:12],
        )
        if version.fingerprint != read.seal:
            raise NotAPlanError(_("The file holds parts that this version of the product does not know."))
        _demand_drawable(version)
    return version


def _demand_drawable(version: PlanVersion) -> None:
    """Numbers that make no sense together would break a page later; they are refused now."""
    try:
        pages.draw(version)
        for fmt in exports.FORMATS:
            exports.of_version(version, fmt, "en")
    except exports.BusyError:
        raise NotAPlanError(_("Too many documents are being made at this moment. Try again.")) from None
    except Exception as error:
        log.warning("import_not_drawable", error=type(error).__name__)
        raise NotAPlanError(
            _("The file’s figures make no sense together: no page can be drawn of them.")
        ) from None


def _read(data: bytes, at: datetime) -> _Read:
    document = _document(data)
    content, envelope = document.get("content"), document.get("envelope")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise NotAPlanError(
            _("This is no plan: it has no content of the format %(name)s.") % {"name": FORMAT}
        )
    if content.get("format_version") != FORMAT_VERSION:
        raise NotAPlanError(
            _("This plan was written in format %(number)s; %(known)d is read here.")
            % {"number": str(content.get("format_version"))[:20], "known": FORMAT_VERSION}
        )
    seal = sha256(canonical(content))
    claimed = envelope.get("fingerprint") if isinstance(envelope, dict) else None
    if claimed is not None and claimed != seal:
        raise NotAPlanError(
            _("The content does not match its fingerprint: the file was changed after it was saved.")
        )
    words = services.Words(
        _text(content, "title", TITLE_LENGTH), _text(content, "prepared_for", TITLE_LENGTH),
        _text(content, "note", NOTE_LENGTH, lines=True),
    )  # fmt: skip
    if not words.title.strip():
        raise NotAPlanError(_("The plan has no title."))
    stamp = PlanVersion(
        priced_at=_moment(content, at),
        engine_version=_text(content, "engine_version", 40),
        catalog_version=_text(content, "catalog_version", 100),
        checklist_text=_checklist(content),
    )
    found = content.get("workloads")
    if not isinstance(found, list) or not 1 <= len(found) <= WORKLOADS_MAXIMUM:
        raise NotAPlanError(_("A plan has between 1 and %(count)d workloads.") % {"count": WORKLOADS_MAXIMUM})
    rows = tuple(_workload(each, position) for position, each in enumerate(found, start=1))
    # Before anything is written: what is stored must be what was sealed.
    probe = PlanVersion(
        title=words.title, prepared_for=words.prepared_for, note=words.note, priced_at=stamp.priced_at,
        engine_version=stamp.engine_version, catalog_version=stamp.catalog_version,
        checklist_text=stamp.checklist_text,
    )  # fmt: skip
    if fingerprint(probe, rows) != seal:
        raise NotAPlanError(_("The file holds parts that this version of the product does not know."))
    return _Read(words, stamp, rows, seal)


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = read_json(data, "application/json", bytes_max=BYTES_MAXIMUM, entries_max=ENTRIES_MAXIMUM)
    except BodyRefused as refused:
        raise NotAPlanError(
            _("The file cannot be read as JSON (%(reason)s).") % {"reason": refused.message}
        ) from None
    if not isinstance(document, dict):
        raise NotAPlanError(
            _("This is no plan: it has no content of the format %(name)s.") % {"name": FORMAT}
        )
    return document


def _text(content: dict[str, Any], name: str, length: int, *, lines: bool = False) -> str:
    value = content.get(name)
    if not isinstance(value, str) or len(value) > length or is_unprintable(value):
        raise NotAPlanError(
            _("%(name)s is no text of at most %(length)d characters.") % {"name": name, "length": length}
        )
    if not lines and re.search("[\t\n\r\u2028\u2029]", value):
        raise NotAPlanError(_("%(name)s has more than one line.") % {"name": name})
    return value


def _moment(content: dict[str, Any], at: datetime) -> datetime:
    text = content.get("priced_at")
    try:
        moment = datetime.fromisoformat(text if isinstance(text, str) else "")
    except ValueError:
        moment = None
    if (
        moment is None
        or moment.tzinfo is None
        or moment.isoformat() != text
        or moment.utcoffset() != timedelta(0)
    ):
        raise NotAPlanError(_("priced_at is no moment in UTC."))
    if moment.year < 2000 or moment > at + timedelta(days=1):
        raise NotAPlanError(_("priced_at lies in the future, or long before there was anything to price."))
    return moment


def _checklist(content: dict[str, Any]) -> str:
    if "checklist" not in content:
        return ""
    try:
        Checklist.model_validate(content["checklist"])
    except ValidationError as error:
        raise NotAPlanError(_("The checklist is not one (%(reason)s).") % {"reason": _first(error)}) from None
    return canonical(content["checklist"])


def _workload(found: Any, position: int) -> PlanWorkload:
    if not isinstance(found, dict) or set(found) != {"comparison", "inputs", "kind", "name"}:
        raise NotAPlanError(_("Workload %(number)d is not one.") % {"number": position})
    kind = found["kind"]
    if not isinstance(kind, str) or kind not in kinds.BY_NAME:
        raise NotAPlanError(
            _("Workload %(number)d is of a kind that is not known here.") % {"number": position}
        )
    if not isinstance(found["inputs"], dict):
        raise NotAPlanError(_("Workload %(number)d has no question.") % {"number": position})
    try:
        comparison = Comparison.model_validate(found["comparison"])
    except ValidationError as error:
        raise NotAPlanError(
            _("The answer of workload %(number)d is not one (%(reason)s).")
            % {"number": position, "reason": _first(error)}
        ) from None
    if comparison.kind != kind:
        raise NotAPlanError(_("Workload %(number)d is not one.") % {"number": position})
    text = canonical(found["comparison"])
    return PlanWorkload(
        position=position,
        name=_text(found, "name", TITLE_LENGTH),
        kind=kind,
        inputs_text=canonical(found["inputs"]),
        comparison_text=text,
        comparison_sha256=sha256(text),
    )


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}"[:200]
