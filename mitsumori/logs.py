"""Keeps secrets that stand in addresses out of the log."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

_SECRET_IN_TEXT = re.compile(
    r"(?P<keep>/s/|/accounts/password/reset/key/|/accounts/invitations/)[^/\s\"'?#]+|mit_[A-Za-z0-9_-]{8,}"
)

LONGEST = 20_000


def _without_secrets(text: str) -> str:
    return _SECRET_IN_TEXT.sub(lambda found: (found["keep"] or "") + "[hidden]", text)


def hide_secrets(logger: Any, method_name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: share links, reset links and tokens read `[hidden]`."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = _without_secrets(value if len(value) <= LONGEST else value[:LONGEST] + "…")
    return event
