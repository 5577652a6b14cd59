"""What every request passes: security headers on the way out, early refusal on the way in."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, RawPostDataException, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from mitsumori import uploads
from mitsumori.refusals import refusal

GetResponse = Callable[[HttpRequest], HttpResponse]

PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"
PRIVATE_PREFIXES = ("/plans/", "/accounts/", "/s/", "/admin/", "/api/", "/healthz", "/metrics")
METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}
FORM_TYPES = {"application/x-www-form-urlencoded", "multipart/form-data"}
# Tab and line ends are text; every other control character, and the lines' look-alikes C1, never is.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CONTROL_IN_PATH = re.compile("[\x00-\x1f\x7f-\x9f]")
DISCARD_LIMIT_S = 3.0
DISCARD_PIECE_BYTES = 64 * 1024
REPLACEMENT = "\ufffd"  # what a decoder leaves where the bytes were not UTF-8


class ResponseHeaders:
    """Headers that hold for every answer, also for errors raised by the middleware below."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        headers = response.headers
        headers.setdefault("X-Content-Type-Options", "nosniff")
        headers.setdefault("X-Frame-Options", "DENY")
        headers.setdefault("Referrer-Policy", settings.SECURE_REFERRER_POLICY)
        headers.setdefault("Cross-Origin-Opener-Policy", settings.SECURE_CROSS_ORIGIN_OPENER_POLICY)
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        if request.is_secure():
            headers.setdefault("Strict-Transport-Security", f"max-age={settings.SECURE_HSTS_SECONDS}")
            for cookie in response.cookies.values():
                cookie["secure"] = True  # what came over TLS is never sent back without it
        if _is_private(request, response):
            add_never_cache_headers(response)
            headers["Cache-Control"] = "no-store, private"
        elif not headers.get("Cache-Control"):
            # A public page depends on language and cookies: it is kept, but asked for again.
            headers["Cache-Control"] = "no-cache"
            patch_vary_headers(response, ("Cookie",))
        return response


def _is_private(request: HttpRequest, response: HttpResponse) -> bool:
    if request.path.startswith(settings.STATIC_URL) and response.status_code < 400:
        return False
    return (
        request.path.startswith(PRIVATE_PREFIXES)
        or settings.SESSION_COOKIE_NAME in request.COOKIES
        or settings.SESSION_COOKIE_NAME in response.cookies
        or response.status_code >= 400
    )


class EarlyRejection:
    """Refuses what no view can use, before anything of it is stored, parsed or logged.

    PostgreSQL raises on NUL where SQLite stores it, and Django replaces undecodable bytes silently; refused
    here, no view can differ between databases or keep broken text.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        refused = self._refuse_line(request) or self._refuse_size(request) or self._refuse_form(request)
        if refused is not None:
            return refused
        response = self.get_response(request)
        if response.status_code >= 400 and request.META.get("CONTENT_LENGTH"):
            response = _discarding(request, response)  # a view that refused by other reasons has not read it
        if response.status_code == 405 and not response.streaming and not response.content:
            page = refusal(request, 405, _("This address does not take that kind of request."))
            page.headers["Allow"] = response.headers.get("Allow", "GET")
            return page
        return response

    def _refuse_line(self, request: HttpRequest) -> HttpResponse | None:
        meta = request.META
        if request.method not in METHODS:
            page = refusal(request, 405, _("This address does not take that kind of request."))
            page.headers["Allow"] = ", ".join(sorted(METHODS))
            return page
        query = meta.get("QUERY_STRING", "")
        if len(meta.get("RAW_URI") or request.path + query) > settings.REQUEST_TARGET_MAX_BYTES:
            return refusal(request, 414, _("This address is too long."))
        header_bytes = sum(len(name) + len(str(meta[name])) for name in meta if name.startswith("HTTP_"))
        if header_bytes > settings.REQUEST_HEADERS_MAX_BYTES:
            return refusal(request, 431, _("The request’s headers or cookies are too large."))
        path = _decoded(str(meta.get("PATH_INFO", "")).encode("latin-1", "replace"))
        if path is None or _CONTROL_IN_PATH.search(path) or REPLACEMENT in path:
            return refusal(request, 400, _("This address holds characters that are not text."))
        text = _decoded(unquote_to_bytes(query.replace("+", " ").encode("latin-1", "replace")))
        if text is None or _CONTROL.search(text):
            return refusal(request, 400, _("This address holds characters that are not text."))
        if any(_CONTROL.search(value) for value in request.COOKIES.values()):
            return refusal(request, 400, _("A cookie holds characters that are not text."))
        return None

    def _refuse_size(self, request: HttpRequest) -> HttpResponse | None:
        meta = request.META
        length = meta.get("CONTENT_LENGTH") or ""
        if not length:
            if meta.get("HTTP_TRANSFER_ENCODING"):
                return refusal(request, 411, _("The size of the upload must be stated."))
            return None
        if not (length.isascii() and length.isdigit()):
            return refusal(request, 400, _("The size of the request is not a number."))
        size_bytes = int(length[:20])
        if size_bytes > settings.REQUEST_BODY_MAX_BYTES and not (
            size_bytes <= settings.REQUEST_FILES_MAX_BYTES
            and request.method == "POST"
            and request.content_type == "multipart/form-data"
            and uploads.limits_bytes(request)
        ):
            return _discarding(request, _too_large(request))
        return None

    def _refuse_form(self, request: HttpRequest) -> HttpResponse | None:
        charset = (request.content_params or {}).get("charset", "utf-8").strip("\"' ").lower()
        if charset not in {"utf-8", "utf8"}:
            return refusal(request, 400, _("Only text in UTF-8 is read here."))
        if request.content_type not in FORM_TYPES or request.method in {"GET", "HEAD", "OPTIONS"}:
            return None
        try:
            if request.content_type == "application/x-www-form-urlencoded":
                text = _decoded(unquote_to_bytes(request.body.replace(b"+", b" ")))
                if text is None or _CONTROL.search(text):
                    return refusal(request, 400, _("The form holds characters that are not text."))
            if request.method == "POST":
                fields, files = request.POST, request.FILES
                for name, values in fields.lists():
                    if any(_is_broken(part) for part in (name, *values)):
                        return refusal(request, 400, _("The form holds characters that are not text."))
                if any(_is_broken(name) for name in files):
                    return refusal(request, 400, _("The form holds characters that are not text."))
        except RequestDataTooBig:
            return _discarding(request, _too_large(request))
        except (MultiPartParserError, SuspiciousOperation, BadRequest, UnicodeError, ValueError):
            return refusal(request, 400, _("The form could not be read."))
        except UnreadablePostError:
            return refusal(request, 400, _("The form did not arrive completely."))
        return None


def _too_large(request: HttpRequest) -> HttpResponse:
    message: str | Promise = _("This is larger than what is accepted here.")
    return refusal(request, 413, message)


def discard_body(request: HttpRequest) -> bool:
    """Reads and forgets what is left of a refused body; False if that would take too long.

    A server that closes while the client is still sending makes the client see a broken connection instead of
    the answer. Memory stays at one piece, and time is bounded.
    """
    end_s = time.monotonic() + DISCARD_LIMIT_S
    try:
        while request.read(DISCARD_PIECE_BYTES):
            if time.monotonic() > end_s:
                return False
    except (OSError, RawPostDataException):
        return False
    return True


def _discarding(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if not discard_body(request):
        response.headers["Connection"] = "close"
    return response


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _is_broken(text: str) -> bool:
    return REPLACEMENT in text or _CONTROL.search(text) is not None
