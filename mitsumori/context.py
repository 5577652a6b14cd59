"""What every template may use."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from mitsumori import __version__


def product(request: HttpRequest) -> dict[str, Any]:
    return {
        "sign_up_open": settings.SIGN_UP_OPEN,
        "single_user": settings.SINGLE_USER,
        "product_version": __version__,
    }
