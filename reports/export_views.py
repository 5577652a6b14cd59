"""Downloads of plans, shared plans and drafts."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from accounts.access import signed_in, team_id
from mitsumori.refusals import refusal
from reports import asked, exports, pages, services, sheets
from reports.exports import Export
from reports.models import PlanVersion
from reports.share_views import READING, is_locked, opened, quiet
from reports.views import own_plan, own_version

UNREADABLE = 422
BUSY = 503


def _answer(make: Callable[[str], Export]) -> HttpResponse:
    try:
        export = make(get_language() or "en")
    except exports.BusyError:
        message = _("Too many documents are being made at this moment. Try again in a few seconds.")
        response = HttpResponse(message, content_type="text/plain; charset=utf-8", status=BUSY)
        response.headers["Retry-After"] = "3"
        return response
    return download(export)


def download(export: Export) -> HttpResponse:
    response = HttpResponse(export.content, content_type=export.content_type)
    response.headers["Content-Disposition"] = export.disposition
    return response


def _file(request: HttpRequest, version: PlanVersion, fmt: str, *, is_shared: bool = False) -> HttpResponse:
    """``notes`` puts in what the team said, for members alone; ``rows=candidates`` leaves out what was rejected."""
    return _answer(
        lambda language: exports.of_version(
            version,
            fmt,
            language,
            is_shared=is_shared,
            paper=_paper(request),
            currency=pages.asked_currency(request.GET.get("currency", "")),
            notes=request.GET.get("notes", ""),
            with_rejected=request.GET.get("rows") != "candidates",
        )
    )


def _paper(request: HttpRequest) -> str:
    """The size asked for; A4 where none of those that there are was."""
    asked_for = request.GET.get("paper", "")
    return asked_for if asked_for in exports.PAPERS else exports.PAPERS[0]


def _known(fmt: str) -> str:
    if fmt not in exports.FORMATS:
        raise Http404
    return fmt


@require_safe
@signed_in
def newest_export(request: HttpRequest, slug: str, fmt: str) -> HttpResponse:
    plan, _role = own_plan(request, slug)
    return _file(request, services.newest(plan), _known(fmt))


@require_safe
@signed_in
def export(request: HttpRequest, slug: str, number: int, fmt: str) -> HttpResponse:
    version, _role = own_version(request, slug, number)
    return _file(request, version, _known(fmt))


@csrf_exempt
def shared_export(request: HttpRequest, token: str, fmt: str) -> HttpResponse:
    link = opened(token)
    if request.method not in READING:
        return HttpResponseNotAllowed(READING)
    if is_locked(request, link):
        return quiet(redirect("reports:shared", token=token))
    return quiet(_file(request, link.version, _known(fmt), is_shared=True))


@require_safe
def draft_export(request: HttpRequest, fmt: str) -> HttpResponse:
    """The workbench's screen as a file: the same figures, stamped as a draft, without a fingerprint."""
    _known(fmt)
    at = timezone.now()
    try:
        question = asked.read(request.GET, at=at, team_id=team_id(request))
        comparison = services.answer_of(question, at=at, team_id=team_id(request))
    except (asked.NotAWorkloadError, *services.UNSIZABLE):
        message = _(
            "This address describes no workload: open it in the workbench and mend what is marked there."
        )
        return refusal(request, UNREADABLE, message)
    paper = _paper(request)
    sheet = sheets.of_draft(_("Draft"), [(question, comparison)])
    return _answer(lambda language: exports.make(sheet, fmt, language, paper=paper))
