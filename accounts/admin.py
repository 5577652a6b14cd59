"""People and teams for staff. Secrets are hashes; there is nothing to read or to type in."""

from __future__ import annotations

from django.contrib import admin

from accounts.models import ApiToken, Invitation, Membership, Team, User


class MembershipInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Membership
    extra = 0
    raw_id_fields = ("user",)


@admin.register(User)
class UserAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("email", "name", "is_active", "is_staff", "date_joined")
    search_fields = ("email", "name")
    fields = ("email", "name", "is_active", "is_staff", "is_superuser", "date_joined", "last_login")
    readonly_fields = ("date_joined", "last_login")


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "is_personal", "created_at")
    search_fields = ("name",)
    inlines = (MembershipInline,)


@admin.register(Invitation)
class InvitationAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("email", "team", "role", "expires_at", "accepted_at", "revoked_at")
    readonly_fields = ("secret_sha256",)


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "team", "user", "role", "shown_prefix", "expires_at", "revoked_at")
    readonly_fields = ("secret_sha256", "shown_prefix")
