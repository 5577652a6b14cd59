"""Pages of providers: what they ask beside the machine, on any day, and how that changed."""

from __future__ import annotations

from datetime import datetime, time

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from catalog import provider_sheets, sheets, source_rows
from catalog.forms import TermsForm
from catalog.models import Offer, Provider
from catalog.sources import SOURCES


@require_safe
def providers(request: HttpRequest) -> HttpResponse:
    on = timezone.now().date()
    return render(request, "catalog/providers.html", {"lines": provider_sheets.provider_lines(on)})


@require_safe
def provider(request: HttpRequest, slug: str) -> HttpResponse:
    at = timezone.now()
    found = get_object_or_404(Provider.objects.select_related("billing"), slug=slug)
    form = TermsForm(request.GET, regions=provider_sheets.regions_of(found), today=at.date())
    region, past = form.region_shown, form.value("on")
    then = None if past is None else datetime.combine(past, time.max, at.tzinfo)
    listing = [source for source in SOURCES.values() if found.slug in source.all_providers]
    context = {
        "provider": found, "form": form, "region": region, "past": past,
        "rows": provider_sheets.rows_in(found, region, then, past or at.date()),
        "histories": provider_sheets.histories(found, region, at.date()),
        "terms": sheets.billing_facts(getattr(found, "billing", None)),
        "speeds": [sheets.storage_speed_row(one) for one in found.storage_speeds.all()],
        "offer_count": Offer.objects.current().with_accelerator().filter(provider=found).count(),
        "sources": source_rows.source_rows(listing, at),
    }  # fmt: skip
    return render(request, "catalog/provider.html", context)
