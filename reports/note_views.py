"""What a team says about a plan: tags, comments, the decision, and the log of what was done."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import signed_in
from accounts.models import Role
from reports import notes, services
from reports.content import read_comparison
from reports.forms import CommentForm, DecisionForm, TagsForm
from reports.models import Comment, Decision, Plan, PlanVersion
from reports.views import REFUSED, _user, own_plan

LINES_PER_PAGE = 50
COMMENTS_PER_PAGE = 50
DECISIONS_PER_PAGE = 20
SUBJECTS_OFFERED = 20


@require_safe
@signed_in
def discussion(request: HttpRequest, slug: str) -> HttpResponse:
    found, role = own_plan(request, slug)
    return _page(request, found, role)


def _page(request: HttpRequest, plan: Plan, role: Role, status: int = 200, **forms: Any) -> HttpResponse:
    newest = services.newest(plan)
    about = _subjects(newest)
    tags = ", ".join(plan.tags.values_list("word", flat=True))
    today = timezone.localdate()
    context = {
        "plan": plan,
        "version": newest,
        "may_edit": role.includes(Role.EDITOR),
        "comments": _comments(plan, request.GET.get("comments")),
        "decisions": Paginator(
            Decision.objects.filter(version__plan=plan).select_related("version"), DECISIONS_PER_PAGE
        ).get_page(request.GET.get("decisions")),
        "lines": Paginator(plan.activity.all(), LINES_PER_PAGE).get_page(request.GET.get("page")),
        "tags_form": TagsForm(initial={"tags": tags}),
        "comment_form": CommentForm(subjects=about, auto_id="comment_%s"),
        "decision_form": DecisionForm(
            subjects=about,
            auto_id="decision_%s",
            initial={"decided_by": _user(request).name, "decided_on": today.isoformat()},
        ),
        "user_id": _user(request).pk,
    } | forms
    return render(request, "reports/discussion.html", context, status=status)


def _comments(plan: Plan, asked: str | None) -> Page[Comment]:
    """In the order they were made, and the last page where none is asked for: what is new stands above the form."""
    found = Paginator(Comment.objects.filter(version__plan=plan).select_related("version"), COMMENTS_PER_PAGE)
    return found.get_page(asked or found.num_pages)


def _subjects(version: PlanVersion) -> list[tuple[str, str]]:
    """The plan, and the first candidates of every workload."""
    rows = list(version.answers)
    found = [("", _("the whole plan"))]
    for row in rows:
        before = f"{row.position}. " if len(rows) > 1 else ""
        for candidate in read_comparison(row).candidates[:SUBJECTS_OFFERED]:
            offer = candidate.offer
            text = f"{offer.gpu_count} × {offer.accelerator} · {offer.provider_name}, {offer.sku}"
            found.append((f"{row.position}-{candidate.rank}", f"{before}#{candidate.rank} {text}"))
    return found


def _here(plan: Plan) -> HttpResponse:
    return redirect(reverse("reports:discussion", args=[plan.slug]))


@require_POST
@signed_in
def tag(request: HttpRequest, slug: str) -> HttpResponse:
    found, role = own_plan(request, slug, Role.EDITOR)
    form = TagsForm(request.POST)
    if not form.is_valid():
        return _page(request, found, role, REFUSED, tags_form=form)
    notes.set_tags(found, form.cleaned_data["tags"], user=_user(request), at=timezone.now())
    return _here(found)


@require_POST
@signed_in
def comment(request: HttpRequest, slug: str) -> HttpResponse:
    """Whoever may read a plan may say something to it."""
    found, role = own_plan(request, slug)
    newest = services.newest(found)
    form = CommentForm(request.POST, subjects=_subjects(newest), auto_id="comment_%s")
    if not form.is_valid():
        return _page(request, found, role, REFUSED, comment_form=form)
    about = notes.subject(newest, form.cleaned_data["subject"])
    notes.comment(newest, about, form.cleaned_data["text"], user=_user(request), at=timezone.now())
    return _here(found)


@require_POST
@signed_in
def withdraw(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One's own comment; an owner may take away any."""
    found, role = own_plan(request, slug)
    row = (
        Comment.objects.filter(version__plan=found, pk=min(pk, 2**62)).select_related("version__plan").first()
    )
    if row is None or (row.created_by_id != _user(request).pk and not role.includes(Role.OWNER)):
        raise Http404
    notes.withdraw(row, user=_user(request), at=timezone.now())
    return _here(found)


@require_POST
@signed_in
def decide(request: HttpRequest, slug: str) -> HttpResponse:
    found, role = own_plan(request, slug, Role.EDITOR)
    newest = services.newest(found)
    form = DecisionForm(request.POST, subjects=_subjects(newest), auto_id="decision_%s")
    if not form.is_valid():
        return _page(request, found, role, REFUSED, decision_form=form)
    data = form.cleaned_data
    about = notes.subject(newest, data["subject"])
    notes.decide(
        newest,
        about,
        chosen=about.text or data["chosen"],
        because=data["because"],
        decided_by=data["decided_by"],
        decided_on=data["decided_on"],
        user=_user(request),
        at=timezone.now(),
    )
    return _here(found)
