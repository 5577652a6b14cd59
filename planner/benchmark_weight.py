"""What a browser fetches for a page, compressed: the page, its styles, scripts and first font."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders

CHARTS = "plotly"
"""The library of charts: fetched when the first of them comes into view."""
_HASH = re.compile(r"\.[0-9a-f]{12}(?=\.)")
PACKED = (".woff2", ".png")


def bytes_of(ask: Callable[[str], bytes], path: str, *, charts: bool) -> int:
    """Bytes of the first visit, without and with the library that charts need."""
    page = ask(path)
    wanted = re.findall(
        rf'(?:href|src|data-plotly)="{re.escape(settings.STATIC_URL)}([^"?]+)"', page.decode()
    )
    names = {_HASH.sub("", name) for name in wanted}
    return len(gzip.compress(page, 6)) + sum(
        _packed_bytes(name) for name in sorted(names) if charts or CHARTS not in name
    )


def _packed_bytes(name: str) -> int:
    found = finders.find(name)
    if found is None:
        raise FileNotFoundError(name)
    body = Path(found).read_bytes()
    return len(body) if name.endswith(PACKED) else len(gzip.compress(body, 9))
