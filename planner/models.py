"""What the planner keeps: pasted model configurations too long for a link, and those read from a model hub."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any, Self

from django.db import models

CONFIG_BYTES_MAXIMUM = 64 * 1024
CONFIG_DAYS = 90
PASTED_CONFIGS_MAXIMUM = 20_000
"""Configurations kept of those that visitors gave; beyond it the one that nobody used for longest goes."""
HUB_CONFIGS_MAXIMUM = 5_000
"""Configurations kept of a hub's models; beyond it the one that was fetched first goes."""
USE_NOTED_EVERY = timedelta(days=1)


class PastedConfigQuerySet(models.QuerySet["PastedConfig"]):
    def alive(self, at: datetime) -> Self:
        return self.filter(used_at__gt=at - timedelta(days=CONFIG_DAYS))

    def expired(self, at: datetime) -> Self:
        return self.filter(used_at__lte=at - timedelta(days=CONFIG_DAYS))


class PastedConfig(models.Model):
    """A ``config.json`` under the SHA-256 of its canonical text; a link carries the digest. Never listed."""

    digest = models.CharField(max_length=64, primary_key=True)
    text = models.TextField()
    """Canonical: keys sorted, no spaces."""
    used_at = models.DateTimeField(db_index=True)

    objects = PastedConfigQuerySet.as_manager()

    def __str__(self) -> str:
        return self.digest[:12]

    @classmethod
    def keep(cls, config: dict[str, Any], at: datetime) -> PastedConfig:
        """Store a configuration that was already read and bounded; the same content is one row.

        Those nobody used for 90 days are deleted at the same time, and what is too many.
        Raises ``ValueError`` where its canonical text is above 64 kB.
        """
        text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        if len(text) > CONFIG_BYTES_MAXIMUM:
            raise ValueError(
                f"the configuration has {len(text)} bytes; at most {CONFIG_BYTES_MAXIMUM} are kept"
            )
        digest = hashlib.sha256(text.encode("ascii")).hexdigest()
        cls.objects.expired(at).delete()
        kept, _created = cls.objects.update_or_create(digest=digest, defaults={"text": text, "used_at": at})
        unused = cls.objects.order_by("-used_at", "pk").values_list("pk", flat=True)[PASTED_CONFIGS_MAXIMUM:]
        cls.objects.filter(pk__in=list(unused)).delete()
        return kept

    @classmethod
    def find(cls, digest: str, at: datetime) -> dict[str, Any] | None:
        """The configuration of a link, None where it is unknown or was not used for 90 days."""
        kept = cls.objects.alive(at).filter(digest=digest).first()
        if kept is None:
            return None
        if kept.used_at < at - USE_NOTED_EVERY:
            cls.objects.filter(digest=digest).update(used_at=at)
        config: dict[str, Any] = json.loads(kept.text)
        return config


class HubConfig(models.Model):
    """A model's ``config.json`` at one commit of its hub. Never changed: a commit's file does not change."""

    name = models.CharField(max_length=193)
    commit = models.CharField(max_length=64)
    text = models.TextField()
    fetched_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=("name", "commit"), name="planner_one_config_a_commit")]

    def __str__(self) -> str:
        return f"{self.name}@{self.commit[:12]}"

    def document(self) -> dict[str, Any]:
        """What the file says, as it was read when it was fetched."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @classmethod
    def keep(cls, name: str, commit: str, text: str, at: datetime) -> HubConfig:
        """Store what was fetched and fully read; fetched again, only the time is new."""
        kept, _created = cls.objects.update_or_create(
            name=name,
            commit=commit,
            defaults={"fetched_at": at},
            create_defaults={"text": text, "fetched_at": at},
        )
        oldest = cls.objects.order_by("-fetched_at", "-pk").values_list("pk", flat=True)[HUB_CONFIGS_MAXIMUM:]
        cls.objects.filter(pk__in=list(oldest)).delete()
        return kept

    @classmethod
    def find(cls, name: str, commit: str | None, since: datetime | None = None) -> HubConfig | None:
        """The configuration at a commit, or without one the latest fetched after ``since``."""
        kept = cls.objects.filter(name=name)
        kept = kept.filter(commit=commit) if commit else kept.order_by("-fetched_at")
        return (kept.filter(fetched_at__gt=since) if since else kept).first()

    @classmethod
    def is_of_another(cls, name: str, commit: str) -> bool:
        """Whether a commit is known, but only of other models."""
        names = set(cls.objects.filter(commit=commit).values_list("name", flat=True)[:10])
        return bool(names) and name not in names
