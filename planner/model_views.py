"""The page on which a model comes in from outside, and on which it is shown what was understood of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from mitsumori import uploads
from planner import architectures, config_files, model_import, refusals
from planner.architectures import CAME_FROM
from planner.forms import WorkbenchForm
from planner.model_forms import HubForm, NumbersForm
from planner.models import HubConfig
from planner.sizing.architecture import ModelError
from planner.sizing.workload import ModelReference
from planner.understood import Understood, understood
from planner.views import ADDRESS_BYTES_MAXIMUM, TEXT_MAXIMUM, UNPROCESSABLE

STATE_BYTES_MAXIMUM = ADDRESS_BYTES_MAXIMUM
VIEW_FIELDS = ("page", "sort", "columns")
WAYS = {"hub_id": "hub", "config_text": "text", "layers": "numbers"}
"""Fields that only one of the page's forms has, and which it is; the form of the file sends no text."""


@uploads.takes_files(**{model_import.FILE_FIELD: model_import.FILE_BYTES_MAXIMUM})
@require_http_methods(["GET", "HEAD", "POST"])
def model(request: HttpRequest) -> HttpResponse:
    """A post leads to the same page with the model's digest in its address; refused, it comes back as it was typed."""
    at = timezone.now()
    if request.method == "POST":
        return _Import(request, at).answer()
    form = WorkbenchForm.from_query(request.GET, at=at)
    form.is_valid()
    typed = form.pasted if form.pasted is not None and form.pasted.get(CAME_FROM) == "numbers" else {}
    context: dict[str, Any] = {
        "hub_form": HubForm(),
        "numbers_form": NumbersForm(initial=NumbersForm.initial_of(typed)),
    }
    try:
        reference = _reference(form, at)
        context["found"] = _understood(reference)
        context["is_sized"] = _is_sized(reference)
    except ModelError as refused:
        context["refusal"] = _message(refused)
    return _page(request, form, context)


def _reference(form: WorkbenchForm, at: datetime) -> ModelReference:
    """The model of a workbench's state, as it stands at its commit. Raises ``ModelError``."""
    if form.pasted is not None:
        return ModelReference(config=form.pasted)
    if "model" in form.errors or "revision" in form.errors:
        raise ModelError(str((form.errors.get("model") or form.errors["revision"])[0]))
    cleaned = form.cleaned_data
    return architectures.frozen(
        ModelReference(
            id=cleaned.get("model") or ModelReference().id, revision=cleaned.get("revision") or None
        ),
        at,
    )


def _is_sized(reference: ModelReference) -> bool:
    try:
        architectures.resolve(reference)
    except ModelError:
        return False
    return True


def _understood(reference: ModelReference) -> Understood:
    """What is known of a model, also of one that is counted but not sized. Raises ``ModelError``."""
    if reference.config is not None:
        return understood(architectures.resolve(reference), reference.config)
    reading = architectures.reading(reference)
    if reading is not None:
        kept = HubConfig.find(reference.id, reference.revision)
        return understood(reading.architecture, kept.document() if kept is not None else None)
    entry = architectures.find(reference.id)
    if entry is not None and entry.architecture is not None:
        return understood(entry.architecture)
    return understood(architectures.resolve(reference))


def _message(refused: ModelError) -> str:
    return refusals.model_refusal(refused.code, refused.params, str(refused))


def _page(
    request: HttpRequest, form: WorkbenchForm, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    state = form.query_string(without=VIEW_FIELDS)
    context |= {
        "state": state,
        "workbench": f"{reverse('planner:workbench')}?{state}" if state else reverse("planner:workbench"),
        "file_bytes_maximum": model_import.FILE_BYTES_MAXIMUM,
        "file_megabytes_maximum": model_import.FILE_BYTES_MAXIMUM // 2**20,
    }
    return render(request, "planner/model.html", context, status=status)


class _Import:
    """One post: the workbench's state that is kept, and the way the model came in."""

    def __init__(self, request: HttpRequest, at: datetime) -> None:
        self.request = request
        self.at = at
        state = request.POST.get("state", "")
        self.form = WorkbenchForm.from_query(QueryDict(state[:STATE_BYTES_MAXIMUM], mutable=False), at=at)
        self.form.is_valid()
        self.way = next((way for field, way in WAYS.items() if field in request.POST), "")
        self.hub_form = HubForm(request.POST if self.way == "hub" else None)
        self.numbers_form = NumbersForm(request.POST if self.way == "numbers" else None)

    def answer(self) -> HttpResponse:
        ways = {"hub": self._hub, "text": self._text, "numbers": self._numbers}
        return ways.get(self.way, self._file)()

    def _hub(self) -> HttpResponse:
        if not self.hub_form.is_valid():
            return self._refused()
        name = str(self.hub_form.cleaned_data["hub_id"])
        revision = str(self.hub_form.cleaned_data["hub_revision"]) or None
        try:
            entry = architectures.find(name)
            commit = None if entry is not None else architectures.from_hub(name, revision, self.at)[1]
        except ModelError as refused:
            self.hub_form.add_error("hub_id", _message(refused))
            return self._refused()
        return self._see_other(model=name, revision=commit, config=None)

    def _text(self) -> HttpResponse:
        text = self.request.POST.get("config_text", "")
        if not text.strip():
            return self._refused("text_error", [_("Paste the text of a config.json.")])
        try:
            return self._keep(model_import.from_text(text))
        except ModelError as refused:
            return self._not_imported("text_error", refused)

    def _file(self) -> HttpResponse:
        upload = uploads.given(self.request, model_import.FILE_FIELD)
        if upload is None:
            return self._refused("file_error", [_("Choose a file.")])
        try:
            return self._keep(model_import.from_file(upload))
        except ModelError as refused:
            return self._not_imported("file_error", refused)

    def _numbers(self) -> HttpResponse:
        if not self.numbers_form.is_valid():
            return self._refused()
        try:
            return self._keep(model_import.Imported(self.numbers_form.config))
        except ModelError as refused:
            self.numbers_form.add_error(None, _message(refused))
            return self._refused()

    def _as_before(self) -> dict[str, Any]:
        """The model that was brought in before: a refused attempt takes nothing away that was understood."""
        if self.form.pasted is None:
            return {}
        try:
            reference = _reference(self.form, self.at)
            return {"found": _understood(reference), "is_sized": _is_sized(reference), "is_before": True}
        except ModelError:
            return {}

    def _keep(self, imported: model_import.Imported) -> HttpResponse:
        kept = config_files.keep(imported.config, self.at)
        return self._see_other(config=kept.digest, model=None, revision=None, **imported.changes)

    def _see_other(self, **changes: str | None) -> HttpResponse:
        query = self.form.query_string(without=VIEW_FIELDS, **changes)
        address = f"{reverse('planner:model')}?{query}"
        if len(address) > ADDRESS_BYTES_MAXIMUM:
            return self._refused("way_error", [_("The workload around this model is too much for one link.")])
        response = HttpResponseRedirect(address)
        response.status_code = 303
        return response

    def _not_imported(self, field: str, refused: ModelError) -> HttpResponse:
        """Why, at its field; as much as was understood; and its numbers, where somebody wants to go on with them."""
        more: dict[str, Any] = {}
        config = getattr(refused, "config", None)
        reading = getattr(refused, "reading", None)
        header = getattr(refused, "header", None)
        if reading is not None:
            more["found"] = understood(reading.architecture, config)
        elif config is not None:
            initial = NumbersForm.initial_of(config)
            if {"layers", "hidden"} <= initial.keys():
                self.numbers_form = NumbersForm(initial=initial)
                more["numbers_from_config"] = True
        if header is not None:
            more["header"] = header
            initial = NumbersForm.initial_of(header.shapes)
            if initial:
                self.numbers_form = NumbersForm(initial=initial)
                more["numbers_from_header"] = True
                more["is_part"] = header.shapes.get("layers_seen") != header.shapes.get("num_hidden_layers")
        return self._refused(field, refusals.model_refusals(refused), **more)

    def _refused(self, field: str = "", messages: list[str] | None = None, **more: Any) -> HttpResponse:
        context = {
            "hub_form": self.hub_form,
            "numbers_form": self.numbers_form,
            "config_text": self.request.POST.get("config_text", "")[:TEXT_MAXIMUM],
            **({field: messages} if field else {}),
            **({} if "found" in more else self._as_before()),
            **more,
        }
        return _page(self.request, self.form, context, status=UNPROCESSABLE)
