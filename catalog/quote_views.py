"""Private offers of the team one works in: the list, the form, and a table that is uploaded in two steps."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import current_team, demand_role, signed_in
from accounts.models import Role, Team, User
from accounts.services import role_in
from catalog import private_offers, quote_tables
from catalog.models import PrivateOffer, QuoteTable
from catalog.price_tables import FileFault
from catalog.quote_forms import MappingForm, QuoteForm
from mitsumori import uploads

FIELD = "file"
OFFERS_PER_PAGE = 100
ROWS_SHOWN = 5
TABLES_KEPT = 5
"""Uploaded tables of a team whose columns nobody told yet; the oldest is dropped for a new one."""
REFUSED = 422
CONFLICT = 409


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


def _team(request: HttpRequest, needed: Role) -> Team:
    team = current_team(request)
    demand_role(request.user, team, needed)
    return team


def _offer(request: HttpRequest, pk: int, needed: Role) -> PrivateOffer:
    """An offer of a team one belongs to, whichever one works in; a foreign one looks like a missing one."""
    found = get_object_or_404(PrivateOffer.objects.select_related("team"), pk=min(pk, 2**62), ended_at=None)
    demand_role(request.user, found.team, needed)
    return found


@require_safe
@signed_in
def quotes(request: HttpRequest) -> HttpResponse:
    team = _team(request, Role.VIEWER)
    at = timezone.now()
    page = Paginator(PrivateOffer.objects.standing(at).filter(team=team), OFFERS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    role = role_in(request.user, team)
    context = {
        "team": team,
        "page": page,
        "rows": [{"offer": each, "expired": each.is_expired(at.date())} for each in page.object_list],
        "may_edit": role is not None and role.includes(Role.EDITOR),
    }
    return render(request, "catalog/quotes.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new_quote(request: HttpRequest) -> HttpResponse:
    team = _team(request, Role.EDITOR)
    at = timezone.now()
    form = QuoteForm(initial={"received_on": at.date().isoformat(), "currency": "USD"})
    if request.method == "POST":
        form = QuoteForm(request.POST)
        if form.is_valid():
            try:
                private_offers.add(team, form.values(), user=_user(request), at=at)
            except private_offers.TooManyError:
                form.add_error(None, _too_many())
            else:
                return redirect("catalog:quotes")
    context = {"team": team, "form": form, "offer": None}
    return render(request, "catalog/quote.html", context, status=REFUSED if form.errors else 200)


def _too_many() -> str:
    return _("The team has as many private offers as it may (%(count)d): withdraw some first.") % {
        "count": private_offers.OFFERS_MAXIMUM
    }


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def quote(request: HttpRequest, pk: int) -> HttpResponse:
    offer = _offer(request, pk, Role.EDITOR)
    status = 200
    form = QuoteForm(initial=_typed(offer))
    if request.method == "POST":
        form = QuoteForm(request.POST)
        status = REFUSED
        if form.is_valid():
            try:
                private_offers.change(offer, form.values(), user=_user(request), at=timezone.now())
                return redirect("catalog:quotes")
            except private_offers.EndedError:
                form.add_error(None, _("Somebody changed or withdrew this offer meanwhile."))
                status = CONFLICT
    context = {"team": offer.team, "form": form, "offer": offer}
    return render(request, "catalog/quote.html", context, status=status)


def _typed(offer: PrivateOffer) -> dict[str, Any]:
    """The values as the form shows them."""
    values: dict[str, Any] = {name: getattr(offer, name) for name in private_offers.VALUES}
    for name in ("vcpu", "ram_gib", "amount", "upfront", "startup_minutes"):
        if values[name] is not None:
            text = f"{values[name]:f}"
            values[name] = text.rstrip("0").rstrip(".") if "." in text else text
    for name in ("received_on", "valid_until", "answered_on"):
        values[name] = values[name].isoformat() if values[name] else ""
    values["tax_included"] = {True: "yes", False: "no", None: ""}[offer.tax_included]
    return values


@require_POST
@signed_in
def withdraw_quote(request: HttpRequest, pk: int) -> HttpResponse:
    private_offers.withdraw(_offer(request, pk, Role.EDITOR), at=timezone.now())
    return redirect("catalog:quotes")


@uploads.takes_files(**{FIELD: quote_tables.BYTES_MAXIMUM})
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def upload_quotes(request: HttpRequest) -> HttpResponse:
    """The first step: a file becomes a table of texts; nothing of it is an offer yet."""
    team = _team(request, Role.EDITOR)
    if request.method != "POST":
        return _upload_page(request, team)
    upload = uploads.given(request, FIELD)
    if upload is None or not upload.data:
        return _upload_page(request, team, _("Choose a file."))
    if upload.is_cut:
        return _upload_page(request, team, _("The file is larger than 2 MiB; split it."))
    try:
        rows = quote_tables.read(upload.name, upload.data)
    except FileFault as fault:
        return _upload_page(request, team, str(fault))
    old = QuoteTable.objects.filter(team=team).values_list("pk", flat=True)[TABLES_KEPT - 1 :]
    QuoteTable.objects.filter(pk__in=list(old)).delete()
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in upload.name)[-200:]
    table = QuoteTable.objects.create(
        team=team, name=shown, rows=rows, created_by=_user(request), created_at=timezone.now()
    )
    return redirect("catalog:map_quotes", pk=table.pk)


def _upload_page(request: HttpRequest, team: Team, fault: str = "") -> HttpResponse:
    context = {"team": team, "fault": fault, "heads": list(QuoteForm.base_fields.values())}
    return render(request, "catalog/upload_quotes.html", context, status=REFUSED if fault else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def map_quotes(request: HttpRequest, pk: int) -> HttpResponse:
    """The second step: which column is what; then every row is checked, and all are taken or none."""
    table = get_object_or_404(QuoteTable.objects.select_related("team"), pk=min(pk, 2**62))
    demand_role(request.user, table.team, Role.EDITOR)
    heads = table.rows[0]
    guesses = quote_tables.guesses(heads)
    at = timezone.now()
    if request.method != "POST":
        form = MappingForm(heads=heads, guesses=guesses, initial={"received_on": at.date().isoformat()})
        return _map_page(request, table, form)
    form = MappingForm(request.POST, heads=heads, guesses=guesses)
    if not form.is_valid():
        return _map_page(request, table, form, status=REFUSED)
    checked = quote_tables.check(table.rows, form.columns(), form.for_all())
    if checked.faults and not (form.cleaned_data["take_good"] and checked.good):
        return _map_page(request, table, form, checked, status=REFUSED)
    try:
        done = private_offers.add_all(table.team, checked.good, user=_user(request), at=at)
    except private_offers.TooManyError:
        form.add_error(None, _too_many())
        return _map_page(request, table, form, status=REFUSED)
    table.delete()
    taken = sum(1 for _offer, changed in done if changed)
    said = ngettext("%(n)d private offer was taken.", "%(n)d private offers were taken.", taken) % {
        "n": taken
    }
    same = len(done) - taken
    if same:
        said += " " + ngettext("%(n)d was known already.", "%(n)d were known already.", same) % {"n": same}
    if checked.faulty_count:
        skipped = checked.faulty_count
        said += " " + ngettext("%(n)d row was left out.", "%(n)d rows were left out.", skipped) % {
            "n": skipped
        }
    messages.success(request, said)
    return redirect("catalog:quotes")


def _map_page(
    request: HttpRequest,
    table: QuoteTable,
    form: MappingForm,
    checked: quote_tables.Checked | None = None,
    status: int = 200,
) -> HttpResponse:
    rows = table.rows
    samples = [[row[number] for row in rows[1 : ROWS_SHOWN + 1]] for number in range(len(rows[0]))]
    context = {
        "team": table.team,
        "table": table,
        "form": form,
        "columns": [
            {"field": form[name], "sample": ", ".join(f"“{cell}”" for cell in cells if cell)[:200]}
            for name, cells in zip(form.column_names, samples, strict=True)
        ],
        "for_all": [form[name] for name in form.FOR_ALL],
        "row_count": len(rows) - 1,
        "checked": checked,
    }
    return render(request, "catalog/map_quotes.html", context, status=status)
