"""Pages of the workbench: nouns for pages, one domain call each; the clock is read here."""

from __future__ import annotations

from datetime import date, datetime
from functools import lru_cache
from secrets import token_urlsafe
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import get_script_prefix, reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.access import team_id
from mitsumori import uploads
from planner import (
    architectures,
    config_files,
    kept_answers,
    kinds,
    market,
    model_import,
    presenters,
    private_market,
    refusals,
    rejections,
    runtimes,
    services,
    stored_format,
)
from planner.candidate_views import candidate_view
from planner.forms import VIEW_FIELDS, WorkbenchForm
from planner.options import Choices
from planner.sheet_answer import answered, page_of
from planner.sizing.architecture import ModelError
from planner.sizing.config_text import ConfigError
from planner.sizing.offers import Market
from planner.sizing.results import Candidate
from planner.sizing.runtime import UnknownRuntime

VIEW_KEYS = tuple(key for key in VIEW_FIELDS if key != "into")
"""What links to other pages leave behind; where a sheet came from goes along."""
SUGGESTIONS = 12
TEXT_MAXIMUM = 256 * 1024
ADDRESS_BYTES_MAXIMUM = 7_500
"""Servers and the door refuse addresses beyond 8 kB; the host's name and a page's number come on top."""
UNPROCESSABLE = 422
TOKEN_PLACE = "-place-of-the-form-token-" + token_urlsafe(24)
"""Where each reader's own token goes in an answer that several get; nobody outside can write it."""


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    return render(
        request, "planner/start.html", {"examples": kinds.examples(), "form": WorkbenchForm.from_query()}
    )


@uploads.takes_files(**{config_files.FIELD: config_files.BYTES_MAXIMUM})
@require_http_methods(["GET", "HEAD", "POST"])
def workbench(request: HttpRequest) -> HttpResponse:
    """The whole page, or the answer alone for a form that refines itself; a post leads to its canonical link."""
    at = timezone.now()
    given = request.POST if request.method == "POST" else request.GET
    team = team_id(request)
    current = private_market.current(at, team)
    if request.htmx and not request.htmx.history_restore_request and request.method != "POST":  # type: ignore[attr-defined]
        return _fragment(request, at, team, current)
    form = WorkbenchForm.from_query(given, at=at, choices=choices(current))
    if request.method == "POST":
        return _to_canonical(request, form, at)
    form = _frozen(form, given, at)
    # A page that is opened by a link answers what it can.
    may_answer = form.is_valid() or form.is_answerable
    answer = answered(form, at, team) if may_answer else None
    response = render(request, "planner/workbench.html", _context(form, answer, at))
    if answer is not None:
        answer.clear()
    patch_vary_headers(response, ["HX-Request"])
    return response


def _frozen(form: WorkbenchForm, given: QueryDict, at: datetime) -> WorkbenchForm:
    """The same form with the commit of a model that comes from the hub, so that its link means the same later."""
    if not form.is_valid():
        return form
    pins = form.kind.pins(form.workload(), at)
    if pins is None or (not pins and form.is_settled):
        return form
    changed = given.copy()
    changed.update(pins)
    return WorkbenchForm.from_query(changed, at=at, choices=choices(market.current(at)))


def _fragment(request: HttpRequest, at: datetime, team: int | None, current: Market) -> HttpResponse:
    """The answer, with the messages of all fields beside it. A refused form leaves the last answer standing."""
    refused: list[HttpResponse] = []

    def make() -> kept_answers.Refined | None:
        form = WorkbenchForm.from_query(request.GET, at=at, choices=choices(current))
        form = _frozen(form, request.GET, at)
        answer = answered(form, at, team) if form.is_valid() else None
        context = _context(form, answer, at)
        if answer is None:
            refused.append(render(request, "planner/_refined.html", context))
            return None
        html = render_to_string("planner/_refined.html", context | {"csrf_token": TOKEN_PLACE}, request)
        answer.clear()  # Django's contexts hold themselves: what they were given would wait for the collector
        return kept_answers.Refined(html, _address(form.query_string(page=_page_text(form))))

    asked = kept_answers.asked(
        current.version, team, at, request.META.get("QUERY_STRING", ""), get_script_prefix()
    )
    # What is said of the plan that a sheet came from is for one reader alone.
    found = make() if request.GET.get("into") else kept_answers.refined.get(asked, at, make)
    if found is None:
        response = refused[0]
        response["HX-Reswap"] = "none"
        response["HX-Push-Url"] = "false"
    else:
        response = HttpResponse(found.html.replace(TOKEN_PLACE, get_token(request)))
        is_same = request.htmx.current_url_abs_path == found.address  # type: ignore[attr-defined]
        response["HX-Push-Url"] = "false" if is_same else found.address
    patch_vary_headers(response, ["HX-Request"])
    return response


def _page_text(form: WorkbenchForm) -> str | None:
    page = page_of(form)
    return str(page) if page > 1 else None


def _address(query: str) -> str:
    path = reverse("planner:workbench")
    return f"{path}?{query}" if query else path


def _to_canonical(request: HttpRequest, form: WorkbenchForm, at: datetime) -> HttpResponse:
    """A valid form becomes its link; a refused one comes back as it was typed, with its messages."""
    text = request.POST.get("config_text", "")
    try:
        given = _given_config(request, text)
        kept = config_files.keep(model_import.from_text(given).config, at) if given.strip() else None
    except ModelError as refused:
        return _refused(request, form, at, text, refusals.model_refusals(refused))
    if kept is not None:
        query = form.query_string(config=kept.digest, model=None, revision=None, without=("page",))
    elif form.is_valid():
        query = form.query_string(without=("page",))
    else:
        return _refused(request, form, at, "", [])
    if len(_address(query)) > ADDRESS_BYTES_MAXIMUM:
        form.full_clean()
        form.add_error(
            None, _("This is too much for one link: name fewer providers, regions or accelerators.")
        )
        return _refused(request, form, at, text, [])
    return _see_other(query)


def _given_config(request: HttpRequest, text: str) -> str:
    """The text that was pasted or the file that was chosen. Raises ``ConfigError`` for both, or too large a file."""
    upload = uploads.given(request, config_files.FIELD)
    if upload is None:
        return text
    if text.strip():
        raise ConfigError("config_twice", "a text and a file were given")
    if upload.is_cut:
        raise ConfigError("config_too_large", f"the file is larger than {config_files.BYTES_MAXIMUM} bytes")
    if not upload.data.strip():
        raise ConfigError("config_empty", "the file is empty")
    return config_files.text_of(upload.data)


def _see_other(query: str) -> HttpResponse:
    response = HttpResponseRedirect(_address(query))
    response.status_code = 303
    return response


def _refused(
    request: HttpRequest, form: WorkbenchForm, at: datetime, text: str, messages: list[str]
) -> HttpResponse:
    form.is_valid()
    context = _context(form, None, at) | {"config_text": text[:TEXT_MAXIMUM], "config_errors": messages}
    context["refused_count"] = len(form.errors) + bool(messages)
    return render(request, "planner/workbench.html", context, status=UNPROCESSABLE)


def _context(form: WorkbenchForm, answer: dict[str, Any] | None, at: datetime) -> dict[str, Any]:
    query = form.query_string(without=("page",))
    return {
        "form": form,
        "answer": answer,
        "query": query,
        "plain_query": form.query_string(without=VIEW_KEYS),
        "address": _address(query),
        "priced_at": at.isoformat(),
        "at": at,
        "without_assumed": form.query_string(assume=None, without=("page",)),
        "without_config": form.query_string(config=None, without=("page",)),
        "refused_count": len(form.errors),
        "pasted_name": architectures.pasted_name(form.pasted) if form.pasted else "",
        "stored_label": stored_format.label(form.stored),
        "versions": runtimes.versions(str(form.data.get("runtime", ""))),
        "columns_all": form.kind.columns,
        "config_digest": form.cleaned_data.get("config", "") if form.is_bound and form.is_valid() else "",
    }


@require_safe
def candidate(request: HttpRequest, offer_id: int) -> HttpResponse:
    """One candidate in full: split, speed, bill, and how each figure came about."""
    at = timezone.now()
    form = WorkbenchForm.from_query(request.GET, at=at)
    if not form.is_valid():
        return HttpResponseRedirect(_address(form.query_string()))
    try:
        found = services.candidate(form.workload(), at=at, offer_id=offer_id, team_id=team_id(request))
    except (ModelError, UnknownRuntime):
        return HttpResponseRedirect(_address(form.query_string()))
    except services.UnknownOffer:
        raise Http404 from None
    language = get_language() or "en"
    context = {
        "back": _address(form.query_string()),
        "query": form.query_string(without=VIEW_KEYS),
        "row": candidate_view(form.kind, found, (), language=language)
        if isinstance(found, Candidate)
        else None,
        "rejected": None if isinstance(found, Candidate) else rejections.rejected(found, language),
        "plain_query": form.query_string(without=VIEW_KEYS),
        "form": form,
        "is_whole": True,
    }
    template = "planner/_candidate.html" if request.htmx else "planner/candidate.html"  # type: ignore[attr-defined]
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def models(request: HttpRequest) -> HttpResponse:
    """Suggestions for the model that is being typed."""
    text = (request.GET.get("q") or request.GET.get("model") or "")[:200]
    found = architectures.search(text, SUGGESTIONS)
    listed = [
        {
            "id": entry.id,
            "label": presenters.model_label(
                entry.id,
                architectures.counted_parameters(entry),
                entry.attention_kind,
                entry.licence,
                is_sized=entry.not_sized is None,
            ),
        }
        for entry in found
    ]
    return render(request, "planner/_models.html", {"found": listed})


@require_safe
def components(request: HttpRequest) -> HttpResponse:
    """Every part of the design system on one page, to be looked at in both themes."""
    return render(request, "planner/components.html")


@lru_cache(maxsize=4)
def choices(current: Market) -> Choices:
    """What the filters may name, from the market as it is."""
    regions = {word: word for words in current.regions for word in words}
    names = {
        facts.provider: facts.provider_name
        for facts in (current.facts(row, date.max) for row in _first_rows(current))
    }
    return Choices(
        providers=tuple(sorted(names.items(), key=lambda item: item[1].casefold())),
        accelerators=tuple(sorted(set(current.accelerators))),
        regions=regions,
    )


def _first_rows(current: Market) -> list[int]:
    """One row of each provider."""
    seen: dict[int, int] = {}
    for row, provider in enumerate(current.provider_index.tolist()):
        seen.setdefault(provider, row)
    return list(seen.values())
