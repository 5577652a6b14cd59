"""Where this installation is found, for what leaves it: papers, tables and mails. Never read from a request.

A file must be the same whoever asks for it and by which name of the machine, so the address is a setting
(``MITSUMORI_ADDRESS``), else the first allowed host of production, else where the server of this data folder was last
started.
"""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

DEFAULT = "http://localhost:8000"


def public_address(path: str) -> str:
    """The whole address of a path of ours."""
    return f"{base_address()}{path}"


def base_address() -> str:
    return str(settings.PUBLIC_ADDRESS) or _last_served() or DEFAULT


def _last_served() -> str:
    """What the server wrote at its start (see ``gunicorn.conf.py``); empty where none was started yet."""
    try:
        return Path(settings.DATA_DIR, "address").read_text(encoding="ascii").strip()[:200]
    except (OSError, UnicodeDecodeError):
        return ""
