"""What is done with versions: compared, repriced, copied, and their workloads put in order."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import current_team, signed_in
from accounts.models import Role
from planner.documents import WorkloadInvalid
from reports import copying, diff, diff_words, services, totals
from reports import words as words_of_plans
from reports.content import read_comparison
from reports.forms import CopyForm, RepriceForm, WorkloadsForm
from reports.models import Plan, PlanVersion
from reports.views import CONFLICT, REFUSED, _user, own_plan, own_version, teams_to_edit


@require_safe
@signed_in
def compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Two versions beside each other; the newest and the one before it, where the address names none."""
    found, _role = own_plan(request, slug)
    after = _number(request.GET.get("to"), found.latest_number)
    before = _number(request.GET.get("from"), max(1, after - 1))
    sides = {
        each.number: each
        for each in found.versions.select_related("created_by").filter(number__in=(before, after))
    }
    if before not in sides or after not in sides:
        raise Http404
    old, new = sides[before], sides[after]
    return render(request, "reports/compare.html", {"plan": found, **_compared(old, new)})


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else default


def _compared(old: PlanVersion, new: PlanVersion) -> dict[str, Any]:
    before, after = (_sides(version) for version in (old, new))
    labels = {
        "title": _("Title"),
        "prepared_for": _("Prepared for"),
        "note": _("Note"),
        "engine_version": _("Engine version"),
        "catalog_version": _("Catalog version"),
        "priced_at": _("Prices as of"),
    }
    words = []
    for name, label in labels.items():
        values = [getattr(version, name) for version in (old, new)]
        if values[0] != values[1]:
            shown = [_worded(name, value) for value in values]
            words.append({"label": label, "before": shown[0], "after": shown[1]})
    compared = diff.compare_workloads(before, after)
    sums = [totals.common_totals(side.comparison for side in sides) for sides in (before, after)]
    return {
        "old": old,
        "new": new,
        "words": words,
        "workloads": [diff_words.workload(each) for each in compared],
        "is_same": new.priced_at > old.priced_at and all(each.state == "same" for each in compared),
        "totals": sums if sums[0] != sums[1] else None,
        "checklist_changed": old.checklist_text != new.checklist_text,
        "numbers": range(1, new.plan.latest_number + 1),
    }


def _worded(name: str, value: Any) -> str:
    if name == "priced_at":
        return str(value.strftime("%Y-%m-%d %H:%M:%S UTC"))
    return words_of_plans.catalog_version(value) if name == "catalog_version" else str(value)


def _sides(version: PlanVersion) -> list[diff.Side]:
    return [diff.Side(row.position, row.name, row.kind, read_comparison(row)) for row in version.answers]


@require_POST
@signed_in
def reprice(request: HttpRequest, slug: str) -> HttpResponse:
    """The same question at the prices of now: a new version, shown beside the one before."""
    found, _role = own_plan(request, slug, Role.EDITOR)
    form = RepriceForm(request.POST)
    if not form.is_valid():
        return _not_repriced(request, found, _("The page was too old: open the plan again."), REFUSED)
    try:
        version = services.reprice(
            found, user=_user(request), base_number=form.cleaned_data["base_number"], at=timezone.now()
        )
    except services.ConflictError as conflict:
        message = _("Version %(number)d was saved meanwhile; look at it, then reprice that one.") % {
            "number": conflict.latest.number
        }
        return _not_repriced(request, found, message, CONFLICT)
    except (*services.UNSIZABLE, WorkloadInvalid):
        message = _(
            "This plan asks for something that is no longer sized: open it in the workbench and save it anew."
        )
        return _not_repriced(request, found, message, REFUSED)
    return redirect(f"{_compare_path(found)}?from={version.number - 1}&to={version.number}")


def _compare_path(plan: Plan) -> str:
    from_here: str = redirect("reports:compare", slug=plan.slug).url
    return from_here


def _not_repriced(request: HttpRequest, plan: Plan, message: str, status: int) -> HttpResponse:
    return render(request, "reports/not_repriced.html", {"plan": plan, "message": message}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def copy(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """A new plan with the same figures, in a team of one's own; readers of a team may take a copy elsewhere."""
    version, _role = own_version(request, slug, number)
    teams = teams_to_edit(_user(request))
    title = _("Copy of %(title)s") % {"title": version.title}
    form = CopyForm(initial={"title": title[:200], "team": current_team(request)}, teams=teams)
    if request.method == "POST":
        form = CopyForm(request.POST, teams=teams)
        if form.is_valid():
            made = copying.duplicate(
                version,
                team=form.cleaned_data["team"],
                user=_user(request),
                title=form.cleaned_data["title"],
                at=timezone.now(),
            )
            return redirect("reports:plan", slug=made.plan.slug)
    context = {"plan": version.plan, "version": version, "form": form}
    return render(request, "reports/copy.html", context, status=REFUSED if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def workloads(request: HttpRequest, slug: str) -> HttpResponse:
    """Names and order of the plan's workloads; those without a mark are left out of the next version."""
    found, _role = own_plan(request, slug, Role.EDITOR)
    newest = services.newest(found)
    form = WorkloadsForm(version=newest)
    status = 200
    if request.method == "POST":
        form = WorkloadsForm(request.POST, version=newest)
        status = REFUSED
        if form.is_valid():
            try:
                services.rearrange(
                    found,
                    user=_user(request),
                    base_number=form.cleaned_data["base_number"],
                    kept=form.kept(),
                    at=timezone.now(),
                )
            except services.ConflictError as conflict:
                form = WorkloadsForm(version=conflict.latest)
                context = {"plan": found, "form": form, "theirs": conflict.latest}
                return render(request, "reports/workloads.html", context, status=CONFLICT)
            return redirect("reports:plan", slug=found.slug)
    return render(request, "reports/workloads.html", {"plan": found, "form": form}, status=status)
