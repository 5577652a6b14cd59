"""The page on which a plan is read back from its JSON file."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.access import current_team, signed_in
from mitsumori import uploads
from reports import importing
from reports.forms import ImportForm
from reports.views import REFUSED, _user, teams_to_edit

FIELD = "file"


@uploads.takes_files(**{FIELD: importing.BYTES_MAXIMUM})
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def import_plan(request: HttpRequest) -> HttpResponse:
    teams = teams_to_edit(_user(request))
    if request.method != "POST":
        return _page(request, ImportForm(initial={"team": current_team(request)}, teams=teams))
    form = ImportForm(request.POST, teams=teams)
    upload = uploads.given(request, FIELD)
    if not form.is_valid():
        return _page(request, form, _("Choose the file again.") if upload else "")
    if upload is None or not upload.data:
        return _page(request, form, _("Choose a file."))
    if upload.is_cut:
        return _page(request, form, _("The file is larger than 20 MiB: this is no plan."))
    try:
        version = importing.import_plan(
            upload.data, team=form.cleaned_data["team"], user=_user(request), at=timezone.now()
        )
    except importing.NotAPlanError as refused:
        return _page(request, form, str(refused))
    return redirect("reports:plan", slug=version.plan.slug)


def _page(request: HttpRequest, form: ImportForm, fault: str = "") -> HttpResponse:
    status = REFUSED if fault or form.errors else 200
    return render(request, "reports/import.html", {"form": form, "fault": fault}, status=status)
