"""The way of an uploaded price file: read and kept, then taken or dropped by a person, once."""

from __future__ import annotations

import gzip
import hashlib
from datetime import datetime

from django.db import transaction

from accounts.models import User
from catalog.models import PriceUpload, UploadState
from catalog.price_files import ImportReport, PriceFile, check, take

BYTES_MAXIMUM = 5 * 2**20
WAITING_MAXIMUM = 20
"""Files that nobody decided on; the oldest is dropped for a new one."""


class AlreadyDecided(Exception):
    """Somebody was faster."""


def receive(name: str, data: bytes, user: User, at: datetime) -> tuple[ImportReport, PriceUpload | None]:
    """Read a file; keep it where some of its rows could be taken."""
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in name)[-200:]
    report = check(PriceFile(shown, data), at)
    if not report.may_be_taken(take_good=True):
        return report, None
    with transaction.atomic():
        upload = PriceUpload.objects.create(
            name=shown,
            sha256=hashlib.sha256(data).hexdigest(),
            size_bytes=len(data),
            body_gzip=gzip.compress(data, compresslevel=6, mtime=0),
            report=report.as_json(),
            uploaded_at=at,
            uploaded_by=user,
        )
        waiting = PriceUpload.objects.filter(state=UploadState.WAITING)
        for old in waiting.values_list("pk", flat=True)[WAITING_MAXIMUM:]:
            PriceUpload.objects.filter(pk=old).update(state=UploadState.DROPPED, decided_at=at, body_gzip=b"")
    return report, upload


def decide(pk: int, *, takes: bool, user: User, at: datetime) -> PriceUpload:
    """Take the rows without a fault, or drop the file; with the audit of who did it and when."""
    with transaction.atomic():
        upload = PriceUpload.objects.select_for_update().get(pk=pk)
        if upload.state != UploadState.WAITING:
            raise AlreadyDecided
        if takes:
            file = PriceFile(upload.name, gzip.decompress(bytes(upload.body_gzip)))
            report = check(file, at)
            if report.may_be_taken(take_good=True):
                upload.refresh = take(file, at, report, user)
            upload.report = report.as_json()
        upload.state = UploadState.TAKEN if upload.refresh_id else UploadState.DROPPED
        upload.decided_at, upload.decided_by, upload.body_gzip = at, user, b""
        upload.save()
        return upload
