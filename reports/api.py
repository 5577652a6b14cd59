"""Plans over HTTP, for programs that carry a token of one team."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.translation import get_language
from ninja import Body, File, Query, Router, Schema, Status
from ninja.files import UploadedFile
from pydantic import ConfigDict, Field

from accounts.api_auth import TokenAuth, demand_api_role
from accounts.models import Role
from accounts.services import Bearer
from mitsumori import uploads
from mitsumori.json_bodies import BodyRefused
from planner import documents
from reports import exports, importing, services
from reports.models import NOTE_LENGTH, TITLE_LENGTH, Plan, PlanVersion

router = Router(tags=["plans"], auth=TokenAuth())

FILE_FIELD = "file"
PLANS_MAXIMUM = 200
WORKLOADS_MAXIMUM = 20
Line = Annotated[str, Field(max_length=TITLE_LENGTH, pattern=r"^[^\x00-\x1f\x7f\u2028\u2029]*$")]
Title = Annotated[str, Field(min_length=1, max_length=TITLE_LENGTH, pattern=r"^\s*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f\u2028\u2029]*$")]  # noqa: E501  # fmt: skip
Note = Annotated[str, Field(max_length=NOTE_LENGTH)]
Number = Annotated[int, Field(ge=1, le=2_000_000_000, strict=True)]


class Closed(Schema):
    """A body with no other keys than these."""

    model_config = ConfigDict(extra="forbid")


class NewPlan(Closed):
    """A plan to be computed and saved now. One workload, or several."""

    title: Title
    prepared_for: Line = ""
    note: Note = ""
    workload: dict[str, Any] | None = None
    workloads: Annotated[list[dict[str, Any]], Field(max_length=WORKLOADS_MAXIMUM)] = []

    def named(self) -> list[services.NamedWorkload]:
        given = [*([self.workload] if self.workload is not None else []), *self.workloads]
        if not given:
            raise BodyRefused(422, "A plan needs a workload.", "workload")
        try:
            return [services.NamedWorkload(documents.validate(document)) for document in given]
        except documents.WorkloadInvalid as invalid:
            raise BodyRefused(422, invalid.message, invalid.field) from None

    def words(self) -> services.Words:
        return services.Words(self.title.strip(), self.prepared_for.strip(), self.note)


class NewVersion(NewPlan):
    """The next version of a plan, computed now; ``base_number`` is the version it builds on."""

    base_number: Number


class NewWords(Closed):
    """Other words over the same figures: the next version of a plan."""

    title: Title
    prepared_for: Line = ""
    note: Note = ""
    base_number: Number

    def words(self) -> services.Words:
        return services.Words(self.title.strip(), self.prepared_for.strip(), self.note)


class PlanRow(Schema):
    slug: str
    title: str
    latest_number: int
    created_at: datetime
    changed_at: datetime
    archived: bool


class PlanPage(Schema):
    items: list[PlanRow]
    count: int


class VersionRow(Schema):
    number: int
    title: str
    created_at: datetime
    priced_at: datetime
    engine_version: str
    catalog_version: str
    fingerprint: str


class PlanDetail(PlanRow):
    versions: list[VersionRow]


class Saved(Schema):
    slug: str
    number: int
    fingerprint: str


class Listing(Schema):
    q: Annotated[str, Field(max_length=200)] = ""
    archived: bool = False
    limit: Annotated[int, Field(ge=1, le=PLANS_MAXIMUM)] = 50
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class Contents(Schema):
    """What a file holds besides what everybody's does."""

    notes: Literal["", "decisions", "all"] = ""
    """What the team decided, or decided and said; never in a CSV."""
    rows: Literal["", "candidates"] = ""
    """Tables without the rejected offers."""


def _bearer(request: HttpRequest, needed: Role = Role.VIEWER) -> Bearer:
    bearer = cast(Bearer, request.auth)  # type: ignore[attr-defined]
    demand_api_role(bearer, needed)
    return bearer


def _plan(bearer: Bearer, slug: str) -> Plan:
    """The plan, if it belongs to the token's team; a foreign one looks like a missing one."""
    plan = Plan.objects.filter(team=bearer.team, slug=slug).select_related("team").first()
    if plan is None:
        raise Http404
    return plan


def _row(plan: Plan) -> dict[str, Any]:
    return {
        "slug": plan.slug,
        "title": plan.title,
        "latest_number": plan.latest_number,
        "created_at": plan.created_at,
        "changed_at": plan.changed_at,
        "archived": plan.is_archived,
    }


def _saved(version: PlanVersion) -> Saved:
    return Saved(slug=version.plan.slug, number=version.number, fingerprint=version.fingerprint)


@router.get("/plans", response=PlanPage, summary="Plans of the token's team")
def plans(request: HttpRequest, wanted: Query[Listing]) -> PlanPage:
    bearer = _bearer(request)
    found = Plan.objects.filter(team=bearer.team, archived_at__isnull=not wanted.archived).matching(wanted.q)
    page = found[wanted.offset : wanted.offset + wanted.limit]
    return PlanPage(items=[PlanRow(**_row(plan)) for plan in page], count=found.count())


@router.post("/plans", response={201: Saved}, summary="Compute and save a plan")
def create(request: HttpRequest, body: Body[NewPlan]) -> Status[Saved]:
    bearer = _bearer(request, Role.EDITOR)
    at = timezone.now()
    try:
        version = services.save_plan(
            team=bearer.team,
            user=bearer.user,
            words=body.words(),
            workloads=body.named(),
            priced_at=at,
            at=at,
        )
    except services.UNSIZABLE as error:
        raise BodyRefused(422, str(error), "workload") from None
    return Status(201, _saved(version))


@router.post("/plans/import", response={201: Saved}, summary="Read a plan back from its JSON file")
def import_plan(request: HttpRequest, file: File[UploadedFile | None] = None) -> Status[Saved]:
    """The file as `multipart/form-data`, at most 20 MiB. Nothing is computed: its content and fingerprint stay."""
    bearer = _bearer(request, Role.EDITOR)
    upload = uploads.given(request, FILE_FIELD)
    if upload is None or not upload.data:
        raise BodyRefused(422, "Send the file as the field “file” of a multipart form.", FILE_FIELD)
    if upload.is_cut:
        raise BodyRefused(413, "The file is larger than 20 MiB: this is no plan.", FILE_FIELD)
    try:
        with translation.override("en"):
            version = importing.import_plan(
                upload.data, team=bearer.team, user=bearer.user, at=timezone.now()
            )
    except importing.NotAPlanError as refused:
        raise BodyRefused(422, str(refused), FILE_FIELD) from None
    return Status(201, _saved(version))


uploads.named_takes_files("api:import_plan", **{FILE_FIELD: importing.BYTES_MAXIMUM})


@router.get("/plans/{slug}", response=PlanDetail, summary="A plan and its versions")
def plan(request: HttpRequest, slug: str) -> PlanDetail:
    found = _plan(_bearer(request), slug)
    versions = [
        VersionRow(
            number=version.number,
            title=version.title,
            created_at=version.created_at,
            priced_at=version.priced_at,
            engine_version=version.engine_version,
            catalog_version=version.catalog_version,
            fingerprint=version.fingerprint,
        )
        for version in found.versions.all()
    ]
    return PlanDetail(**_row(found), versions=versions)


@router.patch("/plans/{slug}", response=Saved, summary="Other words: a new version over the same figures")
def reword(request: HttpRequest, slug: str, body: Body[NewWords]) -> Saved:
    bearer = _bearer(request, Role.VIEWER)
    found = _plan(bearer, slug)
    demand_api_role(bearer, Role.EDITOR)
    try:
        version = services.reword(
            found, user=bearer.user, base_number=body.base_number, words=body.words(), at=timezone.now()
        )
    except services.ConflictError as conflict:
        raise _refused(conflict) from None
    return _saved(version)


@router.delete("/plans/{slug}", response={204: None}, summary="Archive a plan")
def archive(request: HttpRequest, slug: str) -> Status[None]:
    bearer = _bearer(request)
    found = _plan(bearer, slug)
    demand_api_role(bearer, Role.OWNER)
    services.archive(found, at=timezone.now(), user=bearer.user)
    return Status(204, None)


@router.post("/plans/{slug}/versions", response={201: Saved}, summary="Compute and add the next version")
def add_version(request: HttpRequest, slug: str, body: Body[NewVersion]) -> Status[Saved]:
    bearer = _bearer(request)
    found = _plan(bearer, slug)
    demand_api_role(bearer, Role.EDITOR)
    at = timezone.now()
    try:
        version = services.add_version(
            found,
            user=bearer.user,
            base_number=body.base_number,
            words=body.words(),
            workloads=body.named(),
            priced_at=at,
            at=at,
        )
    except services.ConflictError as conflict:
        raise _refused(conflict) from None
    except services.UNSIZABLE as error:
        raise BodyRefused(422, str(error), "workload") from None
    return Status(201, _saved(version))


def _refused(conflict: services.ConflictError) -> BodyRefused:
    return BodyRefused(409, f"Version {conflict.latest.number} was saved meanwhile.", "base_number")


@router.get("/plans/{slug}/export.{fmt}", response=None, summary="The newest version as a file")
def newest_export(
    request: HttpRequest, slug: str, fmt: Literal["pdf", "csv", "xlsx", "json"], wanted: Query[Contents]
) -> HttpResponse:
    return _file(services.newest(_plan(_bearer(request), slug)), fmt, wanted)


@router.get("/plans/{slug}/versions/{number}/export.{fmt}", response=None, summary="A version as a file")
def export(
    request: HttpRequest,
    slug: str,
    number: int,
    fmt: Literal["pdf", "csv", "xlsx", "json"],
    wanted: Query[Contents],
) -> HttpResponse:
    found = _plan(_bearer(request), slug)
    version = found.versions.select_related("plan").filter(number=min(number, 2_000_000_000)).first()
    if version is None:
        raise Http404
    return _file(version, fmt, wanted)


def _file(version: PlanVersion, fmt: str, wanted: Contents) -> HttpResponse:
    try:
        made = exports.of_version(
            version,
            fmt,
            get_language() or "en",
            notes=wanted.notes,
            with_rejected=wanted.rows != "candidates",
        )
    except exports.BusyError:
        raise BodyRefused(503, "Too many documents are being made at this moment.") from None
    response = HttpResponse(made.content, content_type=made.content_type)
    response.headers["Content-Disposition"] = made.disposition
    return response
