"""The planner over HTTP: size a workload, the schemas of its documents, the models that are known."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Body, Path, Query, Router, Schema
from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from mitsumori.json_bodies import BodyRefused
from planner import architectures, documents, kinds, reach, services
from planner.sizing.architecture import ModelError
from planner.sizing.results import Comparison
from planner.sizing.runtime import UnknownRuntime
from planner.sizing.weighing import UnknownSort

router = Router(tags=["planner"])

PAGE_MAXIMUM = 200


class _DescribedAsWorkload:
    """In the description of the API the body has the schema of a workload; ``documents`` reads it, and says what is
    wrong in its own words."""

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(kinds.WORKLOAD.core_schema)


WorkloadDocument = Annotated[dict[str, Any], _DescribedAsWorkload()]


# Which field of the request what is refused belongs to.
FIELD_OF: dict[type[Exception], str] = {
    ModelError: "model",
    UnknownRuntime: "runtime",
    UnknownSort: "sort",
    reach.UnknownAccelerator: "accelerator",
    reach.NotServed: "kind",
}


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """What a workload or a question about it can be refused for, as an answer that names the field."""
    try:
        yield
    except documents.WorkloadInvalid as invalid:
        raise BodyRefused(422, invalid.message, invalid.field) from None
    except tuple(FIELD_OF) as error:
        field = next(name for kind, name in FIELD_OF.items() if isinstance(error, kind))
        raise BodyRefused(422, str(error), field) from None


class Page(Schema):
    """Which candidates to answer with."""

    limit: Annotated[int, Field(ge=0, le=PAGE_MAXIMUM)] = 50
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    sort: Annotated[str, Field(max_length=40)] | None = None


@router.post(
    "/size", response={200: Comparison}, by_alias=True, summary="Size a workload and rank the offers"
)
def size(request: HttpRequest, document: Body[WorkloadDocument], page: Query[Page]) -> HttpResponse:
    """The body is a workload document (see `/schema/workload`); an empty object is the default workload."""
    with _refusals():
        found = services.compare(
            documents.validate(document),
            at=timezone.now(),
            limit=page.limit,
            offset=page.offset,
            sort=page.sort,
        )
    return HttpResponse(found.model_dump_json(by_alias=True), content_type="application/json")


class OneMachine(Schema):
    """A machine, and the two figures of which one is asked for and the other given."""

    accelerator: Annotated[str, Field(min_length=1, max_length=80)] = "H100-SXM5"
    count: Annotated[int, Field(ge=1, le=reach.COUNT_MAXIMUM)] = 1
    users: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    context: Annotated[int, Field(ge=1, le=10_000_000)] | None = None


@router.post(
    "/reach",
    response={200: reach.Answer},
    summary="The longest context, most users and largest models for one machine",
)
def reached(request: HttpRequest, document: Body[WorkloadDocument], asked: Query[OneMachine]) -> HttpResponse:
    """The body is a workload document of serving; users and context are those of its peak where they are not given."""
    with _refusals():
        found = reach.answer(
            documents.validate(document),
            accelerator=asked.accelerator,
            count=asked.count,
            users=asked.users,
            tokens=asked.context,
        )
    return HttpResponse(found.model_dump_json(), content_type="application/json")


@router.get("/schema/{name}", response=dict[str, Any], summary="The JSON Schema of a document")
def schema(request: HttpRequest, name: Path[str]) -> dict[str, Any]:
    """`workload` or `comparison`."""
    if name not in documents.SCHEMAS:
        raise Http404
    return documents.schema(name)


class Model(Schema):
    """A model that can be named in a workload."""

    id: str
    attention: str
    parameters: int | None
    parameters_active: int | None
    max_position: int | None
    sized: bool
    not_sized: str | None
    licence: str | None
    source: str


class Search(Schema):
    q: Annotated[str, Field(max_length=200)] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 20


@router.get("/models", response=list[Model], summary="Search the models that are known")
def models(request: HttpRequest, search: Query[Search]) -> list[Model]:
    return [
        Model(
            id=entry.id,
            attention=entry.attention_kind,
            parameters=entry.parameters,
            parameters_active=entry.parameters_active,
            max_position=entry.max_position,
            sized=entry.not_sized is None,
            not_sized=entry.not_sized,
            licence=entry.licence,
            source=entry.source,
        )
        for entry in architectures.search(search.q, search.limit)
    ]
