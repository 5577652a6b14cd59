"""Files that a browser sends: kept in memory up to the limit of their field, the rest read away unkept.

A view says which file fields it takes and how much of each (``takes_files``). A file above its limit does not end
the form: what else was typed arrives, so that the page can come back whole with a message at the field.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeVar

from django.conf import settings
from django.core.files.uploadedfile import InMemoryUploadedFile
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import HttpRequest
from django.urls import Resolver404, resolve

View = TypeVar("View", bound=Callable[..., Any])

DISCARD_LIMIT_S = 3.0
"""So long the part of a file beyond its limit is read away before the form is cut off there."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One file as it arrived."""

    name: str
    data: bytes
    """At most as much as the field takes."""
    is_cut: bool
    """Whether the file is larger than what was kept of it."""


def takes_files(**limits_bytes: int) -> Callable[[View], View]:
    """Marks a view that reads these file fields, each up to so many bytes; its posts may be large."""

    def marked(view: View) -> View:
        view.file_limits_bytes = limits_bytes  # type: ignore[attr-defined]
        return view

    return marked


_of_named: dict[str, Mapping[str, int]] = {}


def named_takes_files(view_name: str, **limits_bytes: int) -> None:
    """The same for a view that only its name reaches: those of the API are wrapped by its library."""
    _of_named[view_name] = limits_bytes


def limits_bytes(request: HttpRequest) -> Mapping[str, int]:
    """The file fields of the view that will answer; empty where it takes none."""
    try:
        found = resolve(request.path_info)
    except Resolver404:
        return {}
    limits: Mapping[str, int] = getattr(found.func, "file_limits_bytes", None) or _of_named.get(
        found.view_name, {}
    )
    return limits


def given(request: HttpRequest, field: str) -> Upload | None:
    """The file that was chosen in this field, None where none was."""
    _ = request.POST  # The body is read when it is first asked for.
    found: dict[str, Upload] = getattr(request, "uploads", {})
    return found.get(field)


class BoundedUpload(FileUploadHandler):
    """Keeps each file up to the limit of its field and counts the rest away, for a bounded time."""

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self._limits_bytes: Mapping[str, int] = limits_bytes(request) if request is not None else {}
        self._kept = bytearray()
        self._seen_bytes = 0
        self._limit_bytes = 0
        self._end_s: float | None = None

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._kept = bytearray()
        self._seen_bytes = 0
        self._limit_bytes = self._limits_bytes.get(str(self.field_name), settings.FILE_UPLOAD_MAX_MEMORY_SIZE)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._seen_bytes += len(raw_data)
        self._kept += raw_data[: max(0, self._limit_bytes - len(self._kept))]
        if self._seen_bytes <= self._limit_bytes:
            return
        now_s = time.monotonic()
        if self._end_s is None:
            self._end_s = now_s + DISCARD_LIMIT_S
        elif now_s > self._end_s:
            self._note()
            raise StopUpload(connection_reset=True)

    def file_complete(self, file_size: int) -> InMemoryUploadedFile | None:
        upload = self._note()
        if upload.is_cut:
            return None
        return InMemoryUploadedFile(
            BytesIO(upload.data), str(self.field_name), upload.name, self.content_type or "", file_size,
            self.charset, self.content_type_extra,
        )  # fmt: skip

    def _note(self) -> Upload:
        upload = Upload(
            name=str(self.file_name), data=bytes(self._kept), is_cut=self._seen_bytes > self._limit_bytes
        )
        found: dict[str, Upload] = getattr(self.request, "uploads", {})
        found[str(self.field_name)] = upload
        self.request.uploads = found  # type: ignore[union-attr]
        return upload
