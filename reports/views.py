"""Pages of plans for the people of a team: nouns for pages, verbs for posts; the clock is read here."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import current_team, demand_role, signed_in, team_id
from accounts.models import Role, Team, User
from planner.documents import WorkloadInvalid
from reports import asked, merging, pages, presenters, price_words, prices, services, unchanged
from reports.forms import AddForm, EditForm, SaveForm, ShareForm, WordsForm
from reports.models import Comment, Decision, Plan, PlanVersion, ShareLink
from reports.notes import decision_of
from reports.origin import address_of

PLANS_PER_PAGE = 50
SEARCH_LENGTH = 200
WORDS = ("title", "prepared_for", "note")
REFUSED = 422
CONFLICT = 409


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


def own_plan(request: HttpRequest, slug: str, needed: Role = Role.VIEWER) -> tuple[Plan, Role]:
    """The plan, if the visitor's role in its team is enough; a foreign plan looks like a missing one."""
    plan = get_object_or_404(Plan.objects.select_related("team"), slug=slug)
    return plan, demand_role(request.user, plan.team, needed)


def own_version(request: HttpRequest, slug: str, number: int) -> tuple[PlanVersion, Role]:
    plan, role = own_plan(request, slug)
    return get_object_or_404(plan.versions.select_related("plan__team", "created_by"), number=number), role


def teams_to_edit(user: User) -> Any:
    return Team.objects.filter(
        memberships__user=user, memberships__role__in=(Role.EDITOR, Role.OWNER)
    ).distinct()


@require_safe
@signed_in
def plans(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("q", "")[:SEARCH_LENGTH].strip()
    archived = request.GET.get("archived") == "1"
    found = Plan.objects.of(_user(request)).select_related("team", "created_by").matching(text)
    found = found.filter(archived_at__isnull=not archived).prefetch_related("tags")
    tag = request.GET.get("tag", "")[:SEARCH_LENGTH].strip()
    if tag:
        found = found.tagged(tag)
    page = Paginator(found, PLANS_PER_PAGE).get_page(request.GET.get("page"))
    moved = prices.standing_moves(list(page.object_list))
    rows = [
        {"plan": each, "moved": price_words.in_short(moved.get(each.pk, []))} for each in page.object_list
    ]
    context = {"page": page, "rows": rows, "q": text, "tag": tag, "archived": archived}
    return render(request, "reports/plans.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def save(request: HttpRequest) -> HttpResponse:
    """A workbench screen becomes a plan; who is not signed in yet does that first and comes back here."""
    if not request.user.is_authenticated and request.method == "POST":
        return _sign_in_and_come_back(request)
    return _save(request)


def _sign_in_and_come_back(request: HttpRequest) -> HttpResponse:
    """A form that was posted by a visitor returns as a link after signing in: nothing that was typed is lost."""
    kept = QueryDict(mutable=True)
    for name in ("title", "prepared_for", "note", "query", "priced_at"):
        value = request.POST.get(name, "")[:8000]
        if value:
            kept[name] = value
    back = QueryDict(mutable=True)
    back["next"] = f"{reverse('reports:save')}?{kept.urlencode()}"
    return redirect(f"{reverse('account_login')}?{back.urlencode()}")


@signed_in
def _save(request: HttpRequest) -> HttpResponse:
    at = timezone.now()
    user = _user(request)
    mine = current_team(request)
    teams = teams_to_edit(user)
    if request.method != "POST":
        form = SaveForm(teams=teams, initial=_first_words(request, at) | {"team": mine})
        return _save_page(request, form, request.GET.get("query", ""))
    given = request.POST.copy()
    given.setdefault("team", str(mine.pk))  # the workbench asks for a title only
    form = SaveForm(given, teams=teams)
    query = request.POST.get("query", "")
    if not form.is_valid():
        return _save_page(request, form, query, status=REFUSED)
    data = form.cleaned_data
    try:
        question = asked.read_text(data["query"], at=at, team_id=team_id(request))
        version = services.save_plan(
            team=data["team"],
            user=user,
            words=form.words(),
            workloads=[question],
            priced_at=data["priced_at"] or at,
            at=at,
        )
    except (asked.NotAWorkloadError, *services.UNSIZABLE, services.PricesTooOldError) as error:
        form.add_error(None, _why_not(error))
        return _save_page(request, form, query, status=REFUSED)
    return redirect("reports:plan", slug=version.plan.slug)


def _first_words(request: HttpRequest, at: datetime) -> dict[str, Any]:
    names = ("title", "prepared_for", "note", "query")
    return {name: request.GET.get(name, "") for name in names} | {
        "priced_at": request.GET.get("priced_at") or at.isoformat(timespec="microseconds")
    }


def _save_page(request: HttpRequest, form: WordsForm, query: str, status: int = 200) -> HttpResponse:
    recent = Plan.objects.live().filter(team__in=teams_to_edit(_user(request)))[:10]
    context = {"form": form, "query": query, "recent": recent, "screen": _screen(query, team_id(request))}
    return render(request, "reports/save.html", context, status=status)


def _screen(query: str, team: int | None, *, into: str = "") -> dict[str, Any] | None:
    """The question in short, to see what is about to be saved; None where it cannot be read."""
    try:
        question = asked.read_text(query[:8000], at=timezone.now(), team_id=team)
    except asked.NotAWorkloadError:
        return None
    back = "&".join(part for part in (question.query, f"into={into}" if into else "") if part)
    return {"query": back, "facts": presenters.question(question.workload.model_dump(mode="json"))}


def _why_not(error: Exception) -> str:
    if isinstance(error, services.PricesTooOldError):
        return _(
            "The screen to be saved is older than 30 days: open it in the workbench again and save it there."
        )
    if isinstance(error, services.UNSIZABLE):
        return _("The model of this screen is not known: open it in the workbench and choose another.")
    return _(
        "The screen to be saved holds values that are not accepted: open it in the workbench and mend them."
    )


@require_safe
@signed_in
def plan(request: HttpRequest, slug: str) -> HttpResponse:
    found, role = own_plan(request, slug)
    newest = services.newest(found)
    return _version_page(request, newest, role, is_plan_page=True)


@require_safe
@signed_in
def version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    found, role = own_version(request, slug, number)
    return _version_page(request, found, role, is_plan_page=False)


def _version_page(
    request: HttpRequest, found: PlanVersion, role: Role, *, is_plan_page: bool
) -> HttpResponse:
    is_newest = found.number == found.plan.latest_number
    moves = prices.standing_moves([found.plan]).get(found.plan.pk, []) if is_newest else []
    comment_count = Comment.objects.filter(version__plan=found.plan, withdrawn_at__isnull=True).count()
    context = {
        "plan": found.plan,
        "version": found,
        "sheet": pages.sheet(
            found, request.GET.get("page"), is_shared=False, currency=request.GET.get("currency", "")
        ),
        "is_plan_page": is_plan_page,
        "in_currency": pages.asked_currency(request.GET.get("currency", "")),
        "is_newest": is_newest,
        "moves": [price_words.since_the_plan(move) for move in moves],
        "may_edit": role.includes(Role.EDITOR),
        "may_own": role.includes(Role.OWNER),
        "tags": list(found.plan.tags.values_list("word", flat=True)),
        "comment_count": comment_count,
        "has_notes": comment_count > 0 or Decision.objects.filter(version__plan=found.plan).exists(),
        "decision": decision_of(found),
        "before_repricing": unchanged.before_repricing(found)
        if is_newest and role.includes(Role.EDITOR) and not found.plan.is_archived
        else "",
    }
    return render(request, "reports/plan.html", context)


@require_safe
@signed_in
def history(request: HttpRequest, slug: str) -> HttpResponse:
    found, role = own_plan(request, slug)
    versions = found.versions.select_related("created_by")
    context = {"plan": found, "versions": versions, "may_edit": role.includes(Role.EDITOR)}
    return render(request, "reports/history.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Other words: a new version over the same stored figures."""
    found, _role = own_plan(request, slug, Role.EDITOR)
    if request.method != "POST":
        newest = services.newest(found)
        form = EditForm(initial=_words_of(newest) | {"base_number": newest.number})
        return render(request, "reports/edit.html", {"plan": found, "form": form})
    form = EditForm(request.POST)
    if not form.is_valid():
        return render(request, "reports/edit.html", {"plan": found, "form": form}, status=REFUSED)
    try:
        services.reword(
            found,
            user=_user(request),
            base_number=form.cleaned_data["base_number"],
            words=form.words(),
            at=timezone.now(),
        )
    except services.ConflictError as conflict:
        return _torn(request, found, form, conflict.latest)
    return redirect("reports:plan", slug=found.slug)


def _torn(request: HttpRequest, plan: Plan, form: EditForm, theirs: PlanVersion) -> HttpResponse:
    """Somebody was faster: both texts are shown, what does not collide is merged, and nothing is written.

    The merged text stands in the form; a second form holds the editor's own text as it was typed.
    """
    data = form.cleaned_data
    base = plan.versions.filter(number=data["base_number"]).first()
    mine = {name: data[name] for name in WORDS}
    merged = merging.merge(_words_of(base) if base else {}, _words_of(theirs), mine)
    number = {"base_number": theirs.number}
    labels = {name: str(EditForm.base_fields[name].label) for name in WORDS}
    context = {
        "plan": plan,
        "form": EditForm(initial=merged.texts | number),
        "as_it_is": EditForm(initial=mine | number, auto_id=False) if merged.theirs else None,
        "theirs": theirs,
        "taken": [labels[name] for name in merged.theirs],
        "torn": [labels[name] for name in merged.torn],
        "between": plan.versions.filter(number__gt=data["base_number"]).order_by("number"),
        "base_number": data["base_number"],
    }
    return render(request, "reports/edit.html", context, status=CONFLICT)


def _words_of(version: PlanVersion) -> dict[str, Any]:
    return {"title": version.title, "prepared_for": version.prepared_for, "note": version.note}


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def add(request: HttpRequest, slug: str) -> HttpResponse:
    """A workbench screen becomes the plan's next version."""
    found, _role = own_plan(request, slug, Role.EDITOR)
    newest = services.newest(found)
    at = timezone.now()
    if request.method != "POST":
        moment = {"priced_at": request.GET.get("priced_at") or at.isoformat(timespec="microseconds")}
        query = request.GET.get("query", "")
        initial = _words_of(newest) | moment | {"base_number": newest.number, "query": query}
        return _add_page(request, found, AddForm(initial=initial, version=newest), query)
    query = request.POST.get("query", "")
    if request.POST.get("ask"):
        return _add_page(request, found, AddForm(initial=request.POST.dict(), version=newest), query)
    form = AddForm(request.POST, version=newest)
    if not form.is_valid():
        return _add_page(request, found, form, query, status=REFUSED)
    data = form.cleaned_data
    try:
        question = replace(asked.read_text(data["query"], at=at, team_id=team_id(request)), name=data["name"])
        services.add_version(
            found,
            user=_user(request),
            base_number=data["base_number"],
            words=form.words(),
            workloads=services.with_workload(newest, question, form.position()),
            priced_at=data["priced_at"] or at,
            at=at,
        )
    except (
        asked.NotAWorkloadError,
        *services.UNSIZABLE,
        services.PricesTooOldError,
        WorkloadInvalid,
    ) as error:
        form.add_error(None, _why_not(error))
        return _add_page(request, found, form, query, status=REFUSED)
    except services.ConflictError as conflict:
        initial = data | {"base_number": conflict.latest.number}
        again = AddForm(initial=initial, version=conflict.latest)
        return _add_page(request, found, again, query, status=CONFLICT, theirs=conflict.latest)
    return redirect("reports:plan", slug=found.slug)


def _add_page(
    request: HttpRequest,
    plan: Plan,
    form: WordsForm,
    query: str,
    status: int = 200,
    theirs: PlanVersion | None = None,
) -> HttpResponse:
    context = {
        "plan": plan,
        "form": form,
        "query": query,
        "screen": _screen(query, team_id(request), into=address_of(plan, str(form["place"].value() or ""))),
        "theirs": theirs,
    }
    return render(request, "reports/add.html", context, status=status)


@require_POST
@signed_in
def archive(request: HttpRequest, slug: str) -> HttpResponse:
    found, _role = own_plan(request, slug, Role.OWNER)
    services.archive(found, at=timezone.now(), user=_user(request))
    return redirect("reports:plan", slug=found.slug)


@require_POST
@signed_in
def restore(request: HttpRequest, slug: str) -> HttpResponse:
    found, _role = own_plan(request, slug, Role.OWNER)
    services.restore(found, at=timezone.now(), user=_user(request))
    return redirect("reports:plan", slug=found.slug)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def links(request: HttpRequest, slug: str) -> HttpResponse:
    """The links to a plan's versions; a new link's address is shown once, in the answer to its making."""
    found, _role = own_plan(request, slug, Role.EDITOR)
    at = timezone.now()
    form, address, status = ShareForm(), None, 200
    if request.method == "POST":
        form = ShareForm(request.POST)
        if form.is_valid():
            address = _new_link(request, found, form, at)
            form = ShareForm() if address else form
        status = 200 if address else REFUSED
    rows = ShareLink.objects.filter(version__plan=found).select_related("version", "created_by")
    context = {
        "plan": found,
        "form": form,
        "address": address,
        "links": [{"link": link, "state": link.state(at)} for link in rows],
        "allowed": services.share_links_allowed(found),
    }
    return render(request, "reports/links.html", context, status=status)


def _new_link(request: HttpRequest, plan: Plan, form: ShareForm, at: datetime) -> str | None:
    try:
        _link, secret = services.share(
            services.newest(plan),
            user=_user(request),
            at=at,
            lifetime=form.lifetime_of_link(at),
            password=form.cleaned_data["password"],
            note=form.cleaned_data["note"],
        )
    except services.LinksClosedError:
        form.add_error(
            None, _("This plan cannot be shared: it is archived, or its team allows no public links.")
        )
        return None
    return request.build_absolute_uri(reverse("reports:shared", args=[secret]))


@require_POST
@signed_in
def revoke(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    found, _role = own_plan(request, slug, Role.EDITOR)
    link = ShareLink.objects.filter(version__plan=found, pk=pk).first()
    if link is None:
        raise Http404
    services.revoke(link, at=timezone.now(), user=_user(request))
    return redirect("reports:share", slug=found.slug)
