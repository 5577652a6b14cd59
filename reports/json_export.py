"""The plan as one JSON document: its canonical content, and the envelope around it."""

from __future__ import annotations

from typing import Any

from reports.content import canonical
from reports.sheets import Sheet


def render(sheet: Sheet) -> bytes:
    """``{"content": …, "envelope": …}``: the SHA-256 of the bytes of ``content`` is the fingerprint."""
    envelope = canonical(
        _said(sheet)
        | {
            "plan": sheet.slug,
            "version": sheet.number,
            "fingerprint": sheet.fingerprint,
            "saved_at": sheet.created_at.isoformat() if sheet.created_at else None,
            "prepared_by": sheet.prepared_by,
            "draft": sheet.is_draft,
        }
    )
    return f'{{"content":{sheet.content_text},"envelope":{envelope}}}\n'.encode()


def _said(sheet: Sheet) -> dict[str, Any]:
    """What the team decided and said, where that was asked for: beside the content, not part of it."""
    if sheet.said is None:
        return {}
    found: dict[str, Any] = {
        "decisions": [
            {"version": each.number, "chosen": each.chosen, "because": each.because, "decided_by": each.by,
             "decided_on": each.on.isoformat()}
            for each in sheet.said.decisions
        ]
    }  # fmt: skip
    if sheet.said.comments is not None:
        found["comments"] = [
            {"version": each.number, "about": each.subject, "text": each.text, "author": each.author,
             "at": each.at.isoformat()}
            for each in sheet.said.comments
        ]  # fmt: skip
    return found
