"""Pages of the catalog: nouns for pages, verbs for posts; the clock is read here."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import signed_in
from catalog import (
    accelerator_sheets,
    history,
    presenters,
    price_charts,
    provider_sheets,
    services,
    sheets,
    source_rows,
)
from catalog.facts import accelerators as accelerator_facts
from catalog.forms import AcceleratorFilterForm, FilterForm, OfferFilterForm
from catalog.kept_lists import PAGES_MAXIMUM, FirstPages
from catalog.models import KeptBack, MachineType, Offer, Provider, Refresh
from catalog.schedule import nightly
from catalog.sources import SOURCES
from catalog.sources.quotes import SourceFailure
from catalog.tasks import refresh_source
from catalog.upload_views import staff
from catalog.wording import DECISION_REFUSED, say
from mitsumori.broker import broker_answers

OFFERS_PER_PAGE = 50
OFFERS_OF_ACCELERATOR = 25
RUNS_SHOWN = 20
PRICES_SHOWN = 100
COMPARED_MAXIMUM = 4


@require_safe
def accelerators(request: HttpRequest) -> HttpResponse:
    form = AcceleratorFilterForm(request.GET)
    rows = [accelerator_sheets.accelerator_row(fact) for fact in form.found()]
    context = {"form": form, "rows": rows, "total": len(accelerator_facts()), **_sorting(request, form)}
    return _page_or_list(request, "catalog/accelerators.html", "catalog/_accelerator_table.html", context)


@require_safe
def side_by_side(request: HttpRequest) -> HttpResponse:
    """Up to four accelerators beside each other; names that nobody knows are said, not guessed."""
    facts = accelerator_facts()
    asked = list(dict.fromkeys(name for name in request.GET.getlist("a") if name))
    chosen = [facts[name] for name in asked if name in facts][:COMPARED_MAXIMUM]
    context = {
        "chosen": chosen,
        "groups": accelerator_sheets.fact_columns(chosen),
        "unknown": [name for name in asked if name not in facts],
        "too_many": len([name for name in asked if name in facts]) > COMPARED_MAXIMUM,
        "maximum": COMPARED_MAXIMUM,
        "places": [
            {"number": number + 1, "name": chosen[number].name if number < len(chosen) else ""}
            for number in range(COMPARED_MAXIMUM)
        ],
        "names": list(facts),
    }
    return render(request, "catalog/side_by_side.html", context)


@require_safe
def accelerator(request: HttpRequest, name: str) -> HttpResponse:
    fact = accelerator_facts().get(name)
    if fact is None:
        raise Http404
    at = timezone.now()
    form = OfferFilterForm(QueryDict("sort=gpu_price"), providers=[])
    found = Offer.objects.filter(accelerator=name, tier="on_demand").current().comparable().seen_lately(at)
    offers = form.apply(found).select_related("current_price", "provider")[:OFFERS_OF_ACCELERATOR]
    points = history.market_of(name, at.date())
    context = {
        "fact": fact,
        "groups": accelerator_sheets.fact_groups(fact),
        "drivers": sheets.driver_sheet(fact),
        "market": presenters.market_rows(points),
        "market_chart": price_charts.of_market(points),
        "rows": presenters.offer_rows(offers, at),
    }
    return render(request, "catalog/accelerator.html", context)


@require_safe
def offers(request: HttpRequest) -> HttpResponse:
    at = timezone.now()
    form = OfferFilterForm(request.GET, providers=list(Provider.objects.all()), today=at.date())
    past = form.value("on")
    known = Offer.objects.current() if past is None else history.as_of(Offer.objects.all(), past)
    found = form.apply(known).select_related("current_price", "provider")
    pages = FirstPages(found, OFFERS_PER_PAGE)
    page = pages.get_page(request.GET.get("page"))
    shown = pages.rows(page) if past is None else history.put_back(pages.rows(page))
    seen_at = at if past is None else datetime.combine(past, time.max, at.tzinfo)
    context = {
        "form": form,
        "page": page,
        "shown_maximum": PAGES_MAXIMUM * OFFERS_PER_PAGE,
        "rows": presenters.offer_rows(shown, seen_at),
        "past": past,
        **_sorting(request, form),
    }
    return _page_or_list(request, "catalog/offers.html", "catalog/_offer_list.html", context)


@require_safe
def offer(request: HttpRequest, pk: int) -> HttpResponse:
    at = timezone.now()
    found = get_object_or_404(
        Offer.objects.select_related("current_price", "provider", "provider__billing"), pk=pk
    )
    provider = found.provider
    size = MachineType.objects.filter(provider=provider, sku=found.sku).first()
    beside = provider_sheets.rows_in(provider, found.region, None, at.date())
    context = {
        "offer": found,
        "row": presenters.offer_rows([found], at)[0],
        "others": presenters.other_terms(found),
        "machine": sheets.machine_facts(found, size),
        "size": size,
        "prices": found.prices.all()[:PRICES_SHOWN],
        "price_chart": price_charts.of_offer(history.steps_of(found)),
        "terms": sheets.billing_facts(getattr(provider, "billing", None)),
        "beside": beside,
        "has_own_terms": any(row.step.region for row in beside),
        "speeds": [sheets.storage_speed_row(one) for one in provider.storage_speeds.all()],
    }
    return render(request, "catalog/offer.html", context)


@require_safe
def sources(request: HttpRequest) -> HttpResponse:
    at = timezone.now()
    rows, shipped = source_rows.source_rows(list(SOURCES.values()), at), source_rows.shipped_sources()
    context = {"rows": rows, "shipped": shipped, "standing": source_rows.standing(rows, shipped, nightly())}
    return render(request, "catalog/sources.html", context)


@require_safe
def source(request: HttpRequest, name: str) -> HttpResponse:
    if name not in SOURCES:
        raise Http404
    at = timezone.now()
    runs = Refresh.objects.filter(source=name).prefetch_related("decisions__user")[:RUNS_SHOWN]
    context = {
        "row": source_rows.source_row(SOURCES[name], at),
        "runs": [source_rows.run_row(run, at) for run in runs],
        "kept_back": source_rows.kept_back_rows(name),
    }
    return _page_or_list(request, "catalog/source.html", "catalog/_source_state.html", context)


@require_safe
@signed_in
def review(request: HttpRequest) -> HttpResponse:
    """What came in and is not understood: cards, counts and sizes that somebody should look at."""
    staff(request)
    return render(request, "catalog/review.html", {"groups": source_rows.review_groups()})


@require_POST
@signed_in
def refresh(request: HttpRequest, name: str) -> HttpResponse:
    """Ask the worker to refresh a source now; the page then follows its progress."""
    user = staff(request)
    if name not in SOURCES:
        raise Http404
    if not broker_answers():
        messages.error(
            request, _("The job queue does not answer; nothing was started. Try again in a minute.")
        )
    elif services.refresh_is_running(name, timezone.now()):
        messages.info(request, _("A refresh is running already."))
    else:
        refresh_source.delay(name, user.pk)
        messages.info(request, _("The refresh was asked for; it starts in a moment."))
    return redirect("catalog:source", name)


@require_POST
@signed_in
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    """Confirm or drop a held run."""
    user = staff(request)
    run = get_object_or_404(Refresh, pk=pk)
    action = request.POST.get("action", "")
    if action not in ("confirm", "drop"):
        return HttpResponse(
            _("Say whether to confirm or to drop the run."), status=400, content_type="text/plain"
        )
    try:
        services.decide(run, action, user, timezone.now())
    except SourceFailure as failure:
        messages.error(request, str(say(DECISION_REFUSED, failure.code)))
    else:
        done = (
            _("The run was confirmed; its prices are in force.")
            if action == "confirm"
            else _("The run was dropped.")
        )
        messages.success(request, done)
    return redirect("catalog:source", run.source)


@require_POST
@signed_in
def take_kept_back(request: HttpRequest, pk: int) -> HttpResponse:
    """Take one price that moved too far."""
    user = staff(request)
    held = get_object_or_404(KeptBack.objects.select_related("refresh", "offer"), pk=pk)
    try:
        services.take_kept_back(held, user, timezone.now())
    except SourceFailure as failure:
        messages.error(request, str(say(DECISION_REFUSED, failure.code)))
    else:
        messages.success(request, _("The price is in force."))
    return redirect("catalog:source", held.refresh.source)


def _sorting(request: HttpRequest, form: FilterForm) -> dict[str, Any]:
    """For headers: the address that sorts by each column, and how it is sorted now."""
    now, downwards = form.sort
    links = {}
    for name in form.SORTS:
        query = request.GET.copy()
        query.pop("page", None)
        query["sort"] = name if name != now or downwards else f"-{name}"
        links[name] = f"?{query.urlencode()}"
    query = request.GET.copy()
    query.pop("page", None)
    return {
        "sort_links": links,
        "sorted_by": now,
        "sorted_how": "descending" if downwards else "ascending",
        "page_query": query.urlencode(),
    }


def _page_or_list(request: HttpRequest, page: str, part: str, context: dict[str, Any]) -> HttpResponse:
    """The whole page, or the part that a filter or a poll replaces."""
    htmx = request.htmx  # type: ignore[attr-defined]
    is_part = bool(htmx) and not htmx.history_restore_request
    response = render(request, part if is_part else page, context)
    patch_vary_headers(response, ["HX-Request"])
    return response
