"""Private offers over HTTP, for programs that carry a token of one team: the same limits as the form."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, cast

from django.http import Http404, HttpRequest
from django.utils import timezone
from ninja import Body, Query, Router, Schema, Status
from pydantic import ConfigDict, Field, StrictBool

from accounts.api_auth import TokenAuth, demand_api_role
from accounts.models import Role
from accounts.services import Bearer
from catalog import private_offers
from catalog.models import PrivateOffer
from catalog.models.private import ANSWER_LENGTH, NOTE_LENGTH
from catalog.price_cells import TERM_MONTHS_MAXIMUM
from catalog.quote_forms import QuoteForm
from mitsumori.json_bodies import BodyRefused
from mitsumori.text_fields import plain_number

router = Router(tags=["private offers"], auth=TokenAuth())

PAGE_MAXIMUM = 500
ROWS_MAXIMUM = 500
FAULTS_TOLD = 50

Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", json_schema_extra={"format": "date"})]
Name = Annotated[str, Field(min_length=1, max_length=120)]
Amount = Annotated[Decimal, Field(ge=0, le=Decimal(999_999_999), allow_inf_nan=False)]
Number = Annotated[Decimal, Field(ge=0, le=Decimal(1_000_000), allow_inf_nan=False)]
AnswerCode = Literal["", "yes", "no"]


class Quote(Schema):
    """One machine of one quote. Absent fields are unknown."""

    model_config = ConfigDict(extra="forbid")

    provider_name: Name
    reference: Annotated[str, Field(max_length=120)] = ""
    """Number of the quote."""
    sku: Name
    region: Annotated[str, Field(max_length=60)] = ""
    tier: Literal["on_demand", "spot", "reserved", "community"] = "on_demand"
    tier_detail: Annotated[str, Field(max_length=60)] = ""
    accelerator_as_written: Name
    """In any spelling that means one exact card; one that can mean several is refused, an unknown one not compared."""
    gpu_count: Annotated[int, Field(ge=1, le=1024, strict=True)]
    vcpu: Number | None = None
    ram_gib: Number | None = None
    amount: Amount
    """Of the whole machine, per ``unit``, beside what is paid upfront; 0 only where all is paid upfront."""
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    unit: Literal["hour", "month"] = "hour"
    upfront: Amount | None = None
    """Paid once for the machine and ``term_months``, in ``currency``. Only of a reserved machine."""
    term_months: Annotated[int, Field(ge=1, le=TERM_MONTHS_MAXIMUM, strict=True)] | None = None
    """How long a reserved machine is bound."""
    tax_included: StrictBool | None = None
    received_on: Day
    valid_until: Day | None = None
    survives_restart: AnswerCode = ""
    survives_host_change: AnswerCode = ""
    survives_contract_end: AnswerCode = ""
    data_location: Annotated[str, Field(max_length=ANSWER_LENGTH)] = ""
    availability: Annotated[str, Field(max_length=ANSWER_LENGTH)] = ""
    startup_minutes: Number | None = None
    answered_on: Day | None = None
    note: Annotated[str, Field(max_length=NOTE_LENGTH)] = ""

    def typed(self) -> dict[str, str]:
        """As somebody would type it into the form, which then says what it thinks of it."""
        typed = {}
        for name, value in self.dict().items():
            if isinstance(value, bool):
                typed[name] = "yes" if value else "no"
            elif isinstance(value, Decimal):
                typed[name] = plain_number(value)
            else:
                typed[name] = "" if value is None else str(value)
        return typed


class QuoteRow(Schema):
    """A private offer as it stands. A change ends its row and begins another, so its ``id`` changes with it."""

    id: int
    provider_name: str
    reference: str
    sku: str
    region: str
    tier: str
    tier_detail: str
    accelerator_as_written: str
    accelerator: str | None
    """The exact card; empty where the name is not certain: then it is listed, and not compared."""
    gpu_count: int
    vcpu: Decimal | None
    ram_gib: Decimal | None
    amount: Decimal
    currency: str
    unit: str
    upfront: Decimal | None
    term_months: int | None
    tax_included: bool | None
    received_on: date
    valid_until: date | None
    expired: bool
    survives_restart: str
    survives_host_change: str
    survives_contract_end: str
    data_location: str
    availability: str
    startup_minutes: Decimal | None
    answered_on: date | None
    note: str
    created_at: datetime


class QuotePage(Schema):
    items: list[QuoteRow]
    count: int


class Listing(Schema):
    limit: Annotated[int, Field(ge=1, le=PAGE_MAXIMUM)] = 100
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class Table(Schema):
    """Many offers at once: all of them or none, or the good ones where that is asked for."""

    model_config = ConfigDict(extra="forbid")

    rows: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=ROWS_MAXIMUM)]
    """Each as the body of a single offer."""
    take_good: StrictBool = False
    """Leave out rows with faults instead of refusing all."""


class Fault(Schema):
    row: int
    """From 0, in the order sent."""
    field: str | None
    message: str


class Taken(Schema):
    taken: int
    known: int
    """The same line of the same quote stood there already, unchanged."""
    left_out: int
    ids: list[int]
    """Of the good rows, in their order."""
    faults: list[Fault]


def _bearer(request: HttpRequest, needed: Role) -> Bearer:
    bearer = cast(Bearer, request.auth)  # type: ignore[attr-defined]
    demand_api_role(bearer, needed)
    return bearer


def _offer(request: HttpRequest, number: int, needed: Role) -> tuple[PrivateOffer, Bearer]:
    """The offer, if it stands and is the team's; a foreign one looks like a missing one, also to a small role."""
    bearer = _bearer(request, Role.VIEWER)
    found = PrivateOffer.objects.filter(
        team=bearer.team, pk=min(max(number, 0), 2**62), ended_at=None
    ).first()
    if found is None:
        raise Http404
    demand_api_role(bearer, needed)
    return found, bearer


def _values(quote: Quote) -> dict[str, Any]:
    """What the form makes of it. Raises `BodyRefused` with its first complaint."""
    form = QuoteForm(quote.typed())
    if form.is_valid():
        return form.values()
    for name, errors in form.errors.items():
        raise BodyRefused(422, str(errors[0]), None if name == "__all__" else name)
    raise BodyRefused(422, "This is no offer.")


def _row(offer: PrivateOffer, today: date) -> QuoteRow:
    values = {name: getattr(offer, name) for name in private_offers.VALUES}
    return QuoteRow(
        id=offer.pk,
        accelerator=offer.accelerator_id,
        expired=offer.is_expired(today),
        created_at=offer.created_at,
        **values,
    )


@router.get("/quotes", response=QuotePage, summary="Private offers of the token's team")
def quotes(request: HttpRequest, wanted: Query[Listing]) -> QuotePage:
    at = timezone.now()
    found = PrivateOffer.objects.standing(at).filter(team=_bearer(request, Role.VIEWER).team)
    page = found[wanted.offset : wanted.offset + wanted.limit]
    return QuotePage(items=[_row(each, at.date()) for each in page], count=found.count())


@router.post("/quotes", response={201: QuoteRow}, summary="Enter a private offer")
def create(request: HttpRequest, body: Body[Quote]) -> Status[QuoteRow]:
    """The same line of the same quote takes the place of the one before; sent twice it changes nothing."""
    bearer = _bearer(request, Role.EDITOR)
    at = timezone.now()
    try:
        made = private_offers.add(bearer.team, _values(body), user=bearer.user, at=at)
    except private_offers.TooManyError:
        raise _too_many() from None
    made.refresh_from_db()
    return Status(201, _row(made, at.date()))


@router.post("/quotes/import", response=Taken, summary="Enter many private offers, all or none")
def import_quotes(request: HttpRequest, body: Body[Table]) -> Taken:
    bearer = _bearer(request, Role.EDITOR)
    good: list[dict[str, Any]] = []
    faults: list[Fault] = []
    for number, row in enumerate(body.rows):
        try:
            good.append(_values(_read(row)))
        except BodyRefused as refused:
            faults.append(Fault(row=number, field=refused.field, message=refused.message))
    if faults and not (body.take_good and good):
        first = faults[0]
        place = f"rows.{first.row}" + (f".{first.field}" if first.field else "")
        raise BodyRefused(422, first.message, place)
    try:
        done = private_offers.add_all(bearer.team, good, user=bearer.user, at=timezone.now())
    except private_offers.TooManyError:
        raise _too_many() from None
    taken = sum(1 for _made, changed in done if changed)
    return Taken(
        taken=taken,
        known=len(done) - taken,
        left_out=len(faults),
        ids=[each.pk for each, _changed in done],
        faults=faults[:FAULTS_TOLD],
    )


def _read(row: dict[str, Any]) -> Quote:
    try:
        return Quote.model_validate(row)
    except ValueError as error:
        first = cast(Any, error).errors(include_url=False)[0]
        raise BodyRefused(422, first["msg"], ".".join(str(part) for part in first["loc"]) or None) from None


@router.get("/quotes/{int:number}", response=QuoteRow, summary="A private offer")
def quote(request: HttpRequest, number: int) -> QuoteRow:
    found, _caller = _offer(request, number, Role.VIEWER)
    return _row(found, timezone.now().date())


@router.put("/quotes/{int:number}", response=QuoteRow, summary="Change a private offer")
def change(request: HttpRequest, number: int, body: Body[Quote]) -> QuoteRow:
    """The answer is the offer with its new ``id``; the old one is gone. 409 where somebody was faster."""
    found, bearer = _offer(request, number, Role.EDITOR)
    at = timezone.now()
    try:
        made = private_offers.change(found, _values(body), user=bearer.user, at=at)
    except private_offers.EndedError:
        raise BodyRefused(409, "Somebody changed or withdrew this offer meanwhile.") from None
    made.refresh_from_db()
    return _row(made, at.date())


@router.delete("/quotes/{int:number}", response={204: None}, summary="Withdraw a private offer")
def withdraw(request: HttpRequest, number: int) -> Status[None]:
    found, _caller = _offer(request, number, Role.EDITOR)
    private_offers.withdraw(found, at=timezone.now())
    return Status(204, None)


def _too_many() -> BodyRefused:
    return BodyRefused(
        422, f"The team has as many private offers as it may ({private_offers.OFFERS_MAXIMUM:,})."
    )
