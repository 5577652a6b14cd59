"""A request for quotation made from a version: a page to print or send, and the sheet that providers fill in."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from accounts.access import signed_in
from catalog.quote_forms import DayField
from mitsumori.text_fields import PlainTextField
from planner import kinds
from planner.csv_cells import BOM, guarded
from planner.kinds.frame import Kind
from planner.sizing.quantities import GIB
from reports import presenters, rfq
from reports.content import read_comparison
from reports.exports import Export
from reports.models import PlanVersion
from reports.rfq import Request, Wanted
from reports.views import REFUSED, own_version

ANSWER_DAYS = 14


class RequestForm(forms.Form):
    """What a request says beside the plan. It is asked for by address, so that it can be sent and opened again."""

    contact = PlainTextField(label=_("Answers to"), max_length=200, help_text=_("A name and an address."))
    answer_by = DayField(label=_("Answer by"))
    start_on = DayField(label=_("Needed from"), required=False)
    term_months = forms.IntegerField(
        label=_("For how many months"), min_value=1, max_value=120, required=False
    )
    regions = PlainTextField(label=_("Where the data may lie"), max_length=200, required=False)
    note = PlainTextField(
        label=_("Note"), max_length=2000, lines=True, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    machine = forms.MultipleChoiceField(
        label=_("Machines to ask for"), widget=forms.CheckboxSelectMultiple, required=False
    )

    def __init__(self, *args: Any, wanted: list[tuple[str, Wanted]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.wanted = wanted
        field = self.fields["machine"]
        field.choices = [(key, machine_text(each)) for key, each in wanted]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors and not data.get("machine"):
            raise ValidationError(_("Choose at least one machine to ask for."))
        start, by = data.get("start_on"), data.get("answer_by")
        if start and by and start < by:
            self.add_error("start_on", _("It would be needed before the answer is there."))
        return data

    def request(self) -> Request:
        data = self.cleaned_data
        return Request(
            data["contact"],
            data["answer_by"],
            data["start_on"],
            data["term_months"],
            data["regions"],
            data["note"],
        )

    def chosen(self) -> list[tuple[str, Wanted]]:
        return [(key, each) for key, each in self.wanted if key in self.cleaned_data["machine"]]


def machine_text(wanted: Wanted) -> str:
    """The machines in words, with the memory that each of their GPUs must have."""
    return ngettext(
        "%(n)s machine with %(gpus)s × %(card)s (%(memory).0f GiB)",
        "%(n)s machines with %(gpus)s × %(card)s (%(memory).0f GiB) each",
        wanted.machines,
    ) % {
        "n": f"{wanted.machines:,}",
        "gpus": f"{wanted.gpu_count:,}",
        "card": wanted.accelerator,
        "memory": wanted.memory_bytes / GIB,
    }


def _wanted(version: PlanVersion) -> tuple[list[tuple[str, Wanted]], list[dict[str, Any]]]:
    """Machines of every workload, each with a key of its own, and the questions as facts."""
    found, asked = [], []
    for row in version.answers:
        comparison, kind = read_comparison(row), kinds.of(row.kind)
        found += [(f"{row.position}*{each.key}", each) for each in rfq.machines(comparison)]
        asked.append(
            {
                "name": row.name or str(kind.title),
                "facts": presenters.question(comparison.workload, _told(kind)),
            }
        )
    return found, asked


NOT_TOLD = frozenset(
    {
        "filters", "budget_per_month", "objective", "currency", "hosting", "managed_input_per_million",
        "managed_output_per_million",
    }
)  # fmt: skip
"""Parts of a question that speak of money and of others' offers: a provider is not told them."""


def _told(kind: Kind) -> list[str]:
    return [name for name, field in kind.fields.items() if field.path and field.path[0] not in NOT_TOLD]


@require_safe
@signed_in
def request_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The form, and the request itself once it is filled in."""
    version, _role = own_version(request, slug, number)
    form, asked = _form(request, version)
    status = 200
    made = None
    if form.is_bound:
        if form.is_valid():
            made = {
                "request": form.request(),
                "machines": [machine_text(each) for _key, each in form.chosen()],
            }
        else:
            status = REFUSED
    context = {
        "plan": version.plan,
        "version": version,
        "form": form,
        "asked": asked,
        "made": made,
        "query": request.GET.urlencode(),
    }
    return render(request, "reports/rfq.html", context, status=status)


@require_safe
@signed_in
def answer_sheet(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The table that a provider fills in; uploaded again, its rows become private offers."""
    version, _role = own_version(request, slug, number)
    form, _asked = _form(request, version)
    regions, chosen = "", [each for _key, each in form.wanted]
    if form.is_bound and form.is_valid():
        regions, chosen = form.request().regions, [each for _key, each in form.chosen()]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(rfq.ANSWER_HEADS)
    for row in rfq.answer_rows(chosen, regions):
        writer.writerow([guarded(cell) for cell in row])
    made = Export(
        (BOM + out.getvalue()).encode(), "text/csv; charset=utf-8", f"mitsumori-{slug}-v{number}-answers.csv"
    )
    response = HttpResponse(made.content, content_type=made.content_type)
    response.headers["Content-Disposition"] = made.disposition
    return response


def _form(request: HttpRequest, version: PlanVersion) -> tuple[RequestForm, list[dict[str, Any]]]:
    wanted, asked = _wanted(version)
    if request.GET:
        return RequestForm(request.GET, wanted=wanted), asked
    today = timezone.localdate()
    first = [key for key, _each in wanted[:3]]
    initial = {"answer_by": (today + timedelta(days=ANSWER_DAYS)).isoformat(), "machine": first}
    return RequestForm(initial=initial, wanted=wanted), asked
