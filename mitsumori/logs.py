"""One line per entry, for people or machines, without the secrets that stand in addresses."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

import structlog

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


PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
    hide_secrets,
]
OURS = ("accounts", "catalog", "planner", "reports", "mitsumori", "django")


def logging_settings(form: str, level: str) -> dict[str, Any]:
    """Django's LOGGING: `form` is json or console; everything goes to standard error."""
    renderer = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if form == "json"
        else structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "logger", "event"])
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *PROCESSORS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                "foreign_pre_chain": PROCESSORS,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            **{name: {"level": level} for name in OURS},
            "django.server": {"handlers": [], "propagate": True, "level": "WARNING"},
            "django.request": {"level": "ERROR"},  # refusals are counted by django_structlog already
            "django.security": {"level": "ERROR"},
            "django_structlog": {"level": "WARNING"},
        },
    }
