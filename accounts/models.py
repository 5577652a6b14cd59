"""People, the teams they work in, and what may act in their name."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

TOKEN_PREFIX = "mit_"  # noqa: S105 # nosec B105 - the public, recognisable start of every secret we hand out
SHOWN_PREFIX_LENGTH = 12


def new_secret() -> str:
    """A fresh secret with 256 random bits and the product's recognisable prefix."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def secret_digest(secret: str) -> str:
    """SHA-256 of a secret as hex; only this is stored (the secret has full entropy, so no salt)."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class UserManager(BaseUserManager["User"]):
    use_in_migrations = True

    def _create(self, email: str, password: str | None, **fields: Any) -> User:
        if not email:
            raise ValueError("A user needs an e-mail address.")
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        fields.setdefault("is_staff", False)
        fields.setdefault("is_superuser", False)
        return self._create(email, password, **fields)

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        fields.update(is_staff=True, is_superuser=True)
        return self._create(email, password, **fields)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email__iexact=username or "")


class User(AbstractUser):
    """A person; logs in with the e-mail address."""

    username = None  # type: ignore[assignment]
    first_name = None  # type: ignore[assignment]
    last_name = None  # type: ignore[assignment]
    email = models.EmailField(_("e-mail address"), unique=True)
    name = models.CharField(_("name"), max_length=120, blank=True)
    language = models.CharField(_("language of mails"), max_length=10, blank=True)
    """That of the last log-in, or chosen since; empty: not known."""

    objects: ClassVar[UserManager] = UserManager()  # type: ignore[assignment]

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = [
            models.UniqueConstraint(Lower("email"), name="accounts_user_email_unique_lower"),
        ]

    def __str__(self) -> str:
        return self.email

    def get_full_name(self) -> str:
        return self.name or self.email

    def get_short_name(self) -> str:
        return self.name or self.email.partition("@")[0]


class Role(models.TextChoices):
    """What a member may do; each role includes the ones below it."""

    VIEWER = "viewer", _("Viewer")
    EDITOR = "editor", _("Editor")
    OWNER = "owner", _("Owner")

    def includes(self, needed: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)


class Team(models.Model):
    """A group of people who share plans and private offers."""

    name = models.CharField(_("name"), max_length=120)
    is_personal = models.BooleanField(default=False)
    allow_share_links = models.BooleanField(_("allow share links"), default=True)
    price_alert_percent = models.DecimalField(
        _("price alert"), max_digits=5, decimal_places=1, null=True, blank=True, default=Decimal(10)
    )
    """Plans tell of prices that moved by more than this; None: not unless a plan says otherwise."""
    created_at = models.DateTimeField()
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        User, through="Membership", related_name="teams"
    )

    class Meta:
        ordering = ("name", "pk")

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(_("role"), max_length=10, choices=Role.choices, default=Role.VIEWER)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="accounts_membership_once")]

    def __str__(self) -> str:
        return f"{self.user} – {self.team} ({self.role})"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self, at: datetime) -> InvitationQuerySet:
        """Those that still let somebody in; the instant of expiry itself is over."""
        return self.filter(accepted_at__isnull=True, revoked_at__isnull=True, expires_at__gt=at)


class Invitation(models.Model):
    """An open offer to join a team; the link's secret is stored as its hash only."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField(_("e-mail address"))
    role = models.CharField(_("role"), max_length=10, choices=Role.choices, default=Role.VIEWER)
    secret_sha256 = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.email} → {self.team}"


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def valid(self, at: datetime) -> ApiTokenQuerySet:
        return self.filter(
            models.Q(expires_at__isnull=True) | models.Q(expires_at__gt=at), revoked_at__isnull=True
        )


class ApiToken(models.Model):
    """Lets a program act for a member of one team, never above that member's own role."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="api_tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(_("name"), max_length=120)
    role = models.CharField(_("role"), max_length=10, choices=Role.choices, default=Role.VIEWER)
    shown_prefix = models.CharField(max_length=SHOWN_PREFIX_LENGTH)
    secret_sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_on = models.DateField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.name} ({self.shown_prefix}…)"
