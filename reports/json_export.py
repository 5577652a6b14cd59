"""The plan as one JSON document: its canonical content, and the envelope around it."""

from __future__ import annotations

from reports.content import canonical
from reports.sheets import Sheet


def render(sheet: Sheet) -> bytes:
    """``{"content": …, "envelope": …}``: the SHA-256 of the bytes of ``content`` is the fingerprint."""
    envelope = canonical(
        {
            "plan": sheet.slug,
            "version": sheet.number,
            "fingerprint": sheet.fingerprint,
            "saved_at": sheet.created_at.isoformat() if sheet.created_at else None,
            "prepared_by": sheet.prepared_by,
            "draft": sheet.is_draft,
        }
    )
    return f'{{"content":{sheet.content_text},"envelope":{envelope}}}\n'.encode()
