"""The operations checklist of a plan: seen with every version, changed by making the next."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from accounts.access import signed_in
from accounts.models import Role
from reports import checklist as lists
from reports import services
from reports.checklist import Checklist
from reports.checklist_forms import ChecklistForm
from reports.content import canonical, read_comparison
from reports.models import Plan, PlanVersion
from reports.views import CONFLICT, REFUSED, _user, own_plan


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def checklist(request: HttpRequest, slug: str) -> HttpResponse:
    found, _role = own_plan(request, slug, Role.EDITOR)
    newest = services.newest(found)
    if request.method != "POST":
        form = ChecklistForm(checklist=_first(newest), base_number=newest.number)
        return _page(request, found, form, newest)
    form = ChecklistForm(request.POST, checklist=Checklist(), base_number=newest.number)
    if not form.is_valid():
        return _page(request, found, form, newest, status=REFUSED)
    written = form.checklist()
    try:
        services.reword(
            found,
            user=_user(request),
            base_number=form.cleaned_data["base_number"],
            words=services.words_of(newest),
            checklist_text=canonical(written.model_dump(mode="json")),
            at=timezone.now(),
        )
    except services.ConflictError as conflict:
        again = ChecklistForm(checklist=written, base_number=conflict.latest.number)
        return _page(request, found, again, newest, status=CONFLICT, theirs=conflict.latest)
    return redirect("reports:plan", slug=found.slug)


def _first(newest: PlanVersion) -> Checklist:
    """What was written, or what the plan itself knows where nothing was."""
    if newest.checklist_text:
        return Checklist.model_validate_json(newest.checklist_text)
    return lists.prefilled([read_comparison(row) for row in newest.answers])


def _page(
    request: HttpRequest, plan: Plan, form: ChecklistForm, newest: PlanVersion, status: int = 200, **more: Any
) -> HttpResponse:
    context = {"plan": plan, "form": form, "is_first": not newest.checklist_text} | more
    return render(request, "reports/checklist.html", context, status=status)
