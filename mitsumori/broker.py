"""Whether jobs can be handed over right now, asked cheaply."""

from __future__ import annotations

import os
import threading
import time

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

KEPT_S = 5.0
TIMEOUT_S = 0.2

_lock = threading.Lock()
_last: tuple[float, bool] | None = None


def broker_answers() -> bool:
    """True if the broker takes messages; kept for five seconds, and asked with time-outs of 0.2 s."""
    global _last
    with _lock:
        now_s = time.monotonic()
        if _last is None or now_s - _last[0] > KEPT_S:
            _last = (now_s, _ask())
        return _last[1]


def forget_answer() -> None:
    global _last
    with _lock:
        _last = None


def _ask() -> bool:
    if settings.CELERY_BROKER_URL.startswith("filesystem:"):
        return os.access(settings.CELERY_BROKER_TRANSPORT_OPTIONS["data_folder_out"], os.W_OK)
    try:
        client = redis.Redis.from_url(
            settings.CELERY_BROKER_URL,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        )
        try:
            return bool(client.ping())
        finally:
            client.close()
    except (redis.RedisError, OSError, ValueError):
        return False
