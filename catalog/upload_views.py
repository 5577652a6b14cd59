"""Price files by browser, for staff: send a file, read what was found in it, take it or drop it."""

from __future__ import annotations

from http import HTTPStatus
from typing import cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import signed_in
from accounts.models import User
from catalog import price_uploads, wording
from catalog.models import PriceUpload
from catalog.price_files import OPTIONAL, REQUIRED
from mitsumori import uploads

FIELD = "file"
SHOWN = 20


def staff(request: HttpRequest) -> User:
    user = cast(User, request.user)
    if not user.is_staff:
        raise PermissionDenied
    return user


@uploads.takes_files(**{FIELD: price_uploads.BYTES_MAXIMUM})
@signed_in
def price_files(request: HttpRequest) -> HttpResponse:
    user = staff(request)
    if request.method != "POST":
        return _form(request, [], HTTPStatus.OK)
    upload = uploads.given(request, FIELD)
    if upload is None:
        return _form(request, [_("Choose a file.")], HTTPStatus.UNPROCESSABLE_ENTITY)
    if upload.is_cut:
        limit = price_uploads.BYTES_MAXIMUM // 2**20
        return _form(
            request,
            [_("The file is larger than %(limit)s MiB; split it.") % {"limit": limit}],
            HTTPStatus.UNPROCESSABLE_ENTITY,
        )
    report, kept = price_uploads.receive(upload.name, upload.data, user, timezone.now())
    if kept is None:
        faults = report.faults or [_("No row of it holds a price.")]
        more = report.faulty_rows - len(report.faults)
        if more > 0:
            faults.append(_("… and %(count)s more rows with faults") % {"count": more})
        return _form(request, faults, HTTPStatus.UNPROCESSABLE_ENTITY)
    return redirect("catalog:price_file", kept.pk)


def _form(request: HttpRequest, faults: list[str], status: HTTPStatus) -> HttpResponse:
    context = {
        "faults": faults,
        "required": REQUIRED,
        "optional": OPTIONAL,
        "limit_mib": price_uploads.BYTES_MAXIMUM // 2**20,
        "recent": PriceUpload.objects.defer("body_gzip", "report").select_related("uploaded_by")[:SHOWN],
    }
    return render(request, "catalog/price_files.html", context, status=status)


@require_safe
@signed_in
def price_file(request: HttpRequest, pk: int) -> HttpResponse:
    """What was found in a file, row by row, and the question what to do with it."""
    staff(request)
    upload = get_object_or_404(
        PriceUpload.objects.defer("body_gzip").select_related("uploaded_by", "decided_by"), pk=pk
    )
    report = upload.report
    rows = [
        row | {"reason": wording.say(wording.NOT_COMPARABLE, code) if (code := row["not_comparable"]) else ""}
        for row in report.get("accepted", [])
    ]
    context = {
        "upload": upload,
        "report": report,
        "good_rows": report["rows_read"] - report["faulty_rows"],
        "rows": rows,
        "unseen_faults": max(0, report["faulty_rows"] - len(report["faults"])),
    }
    return render(request, "catalog/price_file.html", context)


@require_POST
@signed_in
def decide_price_file(request: HttpRequest, pk: int) -> HttpResponse:
    user = staff(request)
    get_object_or_404(PriceUpload.objects.only("pk"), pk=pk)
    action = request.POST.get("action", "")
    if action not in ("take", "drop"):
        return HttpResponse(
            _("Say whether to take or to drop the file."), status=400, content_type="text/plain"
        )
    try:
        upload = price_uploads.decide(pk, takes=action == "take", user=user, at=timezone.now())
    except price_uploads.AlreadyDecided:
        messages.error(request, _("This file was decided on already."))
    else:
        if upload.refresh_id:
            messages.success(request, _("The prices are in force."))
        else:
            messages.success(request, _("The file was dropped; nothing of it was taken."))
    return redirect("catalog:price_file", pk)
