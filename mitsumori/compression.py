"""Pages are packed on their way, so that a sheet of a hundred rows weighs a tenth without any proxy in front."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class PackedPages(GZipMiddleware):
    """Compresses HTML alone. Files are packed already or are handed out byte for byte.

    The length of a packed page could tell what it holds beside text of a stranger's choice (BREACH): Django adds up
    to a hundred random bytes to each, and its form tokens are masked anew in every answer.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
