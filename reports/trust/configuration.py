"""The examiner's configuration: one document that names everything in the world and what must hold for it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.urls import reverse

from catalog.models import Offer, Provider
from reports.trust import forms, plan_rows, rows, team_rows
from reports.trust.world import (
    COMMENT_CANARY,
    HOSTILE_TITLE,
    OFFER_CANARY_A,
    OFFER_CANARY_B,
    PLAN_CANARY_A,
    PLAN_CANARY_B,
    World,
)

REFRESHED = ("azure", "aws", "oci", "vultr", "runpod", "vast")
REFRESH_PORT = 18900
TOKEN_READERS = ["api_viewer", "api_editor", "api_owner"]


def write(
    world: World, *, base_url: str, server_pid: int, manage: str, routes: Iterable[str]
) -> dict[str, Any]:
    """The whole configuration. ``manage`` is the command line that runs this product's commands."""
    login = reverse("account_login")
    return {
        "base_url": base_url,
        "server_pid": server_pid,
        "health": "/healthz",
        # Cookies are for https only where the settings say that it is there.
        **({"https_header": ["X-Forwarded-Proto", "https"], "always_https": True} if settings.HTTPS else {}),
        "login_paths": [login, reverse("admin:login")],
        "csrf_seed": login,
        "headers": {"Accept-Language": "en"},
        "principals": _principals(world, login),
        "vars": {
            "plan": world.plan.slug,
            "foreign": world.foreign.slug,
            "to_write": world.plan_to_write.slug,
            "link": world.link_to_revoke.pk,
            "team": world.team.pk,
            "member": world.people["viewer"].user.pk,
            "invitation": world.invitation.pk,
            "invited": world.invited,
            "token_of_editor": world.token_of_editor.pk,
            "comment": world.comment.pk,
            "quote": world.private_offer.pk,
            "quote_table": world.quote_table.pk,
            "offer": _an_offer(),
            "accelerator": "H100-SXM5",
            "subject": "speed",
            "exploration": "memory",
            "source": "azure",
            "seller": _a_provider(),  # the harness puts each source's name for "provider"
            "schema": "workload",
            "one": "1",
            "two": "2",
            **{fmt: fmt for fmt in rows.FORMATS},
        },
        "canaries": _canaries(world),
        "headers_check": _headers(world),
        "matrix": _matrix(world, manage, list(routes)),
        "forms": forms.forms(world),
        "json": _json(),
        "uploads": forms.uploads(),
        "exports": _exports(),
        "load": _load(world),
        "races": _races(world),
        "refresh": _refresh(manage),
        "chaos": [
            {
                "name": "database away", "url": f"/plans/{world.plan.slug}/", "as": "editor", "break_cmd": "",
                "heal_cmd": "",
                "verify": {"as": "owner", "url": f"/plans/{world.plan.slug}/", "re": PLAN_CANARY_A},
            }
        ],
    }  # fmt: skip


def _an_offer() -> int:
    return Offer.objects.comparable().current().order_by("pk").values_list("pk", flat=True).first() or 1


def _a_provider() -> str:
    return Provider.objects.values_list("slug", flat=True).first() or "azure"


def _principals(world: World, login: str) -> dict[str, Any]:
    people = {
        name: {"login": {"url": login, "fields": {"login": person.user.email, "password": person.password}}}
        for name, person in world.people.items()
    }
    programs = {
        name: {"headers": {"Authorization": f"Bearer {secret}"}} for name, secret in world.tokens.items()
    }
    readers = {name: {"vars": {"token": secret}} for name, secret in world.links.items()}
    return {"anonymous": {}, **people, **programs, **readers}


def _canaries(world: World) -> dict[str, list[str]]:
    team_a = ["owner", "editor", "viewer"]
    return {
        PLAN_CANARY_A: [*team_a, *TOKEN_READERS, "link_ok", "link_torevoke"],
        PLAN_CANARY_B: ["other_owner", "api_other"],
        COMMENT_CANARY: team_a,
        OFFER_CANARY_A: [*team_a, *TOKEN_READERS],
        OFFER_CANARY_B: ["other_owner", "api_other"],
        # An owner manages the members of the team, and sees whom.
        **{
            person.user.email: [name, *(["owner"] if name in ("editor", "viewer") else [])]
            for name, person in world.people.items()
        },
        world.links["link_ok"]: ["link_ok"],
        # After its revocation the holder still knows the address that is asked for.
        world.links["link_torevoke"]: ["link_torevoke", "link_revoked"],
    }


def _headers(world: World) -> dict[str, Any]:
    plan = f"/plans/{world.plan.slug}/"
    private = [
        plan,
        "/plans/",
        "/plans/new/",
        f"{plan}edit/",
        f"{plan}history/",
        f"{plan}links/",
        "/accounts/",
    ]
    return {
        "pages": [
            {"path": "/"},
            *({"path": path} for path in ("/workbench/", "/catalog/accelerators/", "/catalog/offers/",
                                          "/catalog/sources/", "/components/", "/search/", "/workbench/model/",
                                          "/healthz", "/accounts/login/",
                                          "/accounts/signup/", "/api/v1/openapi.json")),
            *({"path": path, "as": "editor", "private": True} for path in private),
            {"path": "/s/{token}/", "as": "link_ok", "private": True, "secret_url": True},
            {"path": "/s/{token}/", "as": "link_revoked", "secret_url": True, "status": [404]},
            {"path": f"{plan}edit/", "as": "viewer", "private": True, "status": [403]},
            {"path": f"{plan}archive/", "as": "owner", "private": True, "status": [405]},
            {"path": f"{plan}export.csv", "as": "owner", "private": True, "csp_always": True},
        ],
        "api_paths": ["/api/v1/openapi.json", "/api/v1/prices", "/api/v1/plans"],
        "private_api": ["/api/v1/plans"],
        "must_be_closed": ["/api/docs", "/api/v1/docs", "/silk/", "/admin/doc/"],
    }  # fmt: skip


def _matrix(world: World, manage: str, routes: list[str]) -> dict[str, Any]:
    plain = [re.sub(r"<[^>]+>", "{one}", route) for route in routes]
    return {
        "rows": [
            *rows.public(),
            *rows.accounts(),
            *team_rows.teams(),
            *team_rows.people(),
            *rows.plans(),
            *plan_rows.plan_parts(),
            *team_rows.quotes(),
            *rows.links(),
            *rows.api(),
            *rows.quote_api(),
            *rows.staff_only(plain),
        ],
        "coverage": {"cmd": f"{manage} show_routes --json", "exempt": ["/static/{p}", "/api/v1/"]},
        "revocations": [
            {
                "name": "share link",
                "probe": {
                    "as": "link_torevoke", "path": "/s/{token}/",
                    "also": [f"/s/{{token}}/export.{fmt}" for fmt in rows.FORMATS],
                },
                "revoke": {
                    "as": "owner", "method": "POST", "path": "/plans/{plan}/links/{link}/revoke/", "body": {"form": {}},
                },
                "canary_as": "link_revoked",
            }
        ],
    }  # fmt: skip


def _json() -> list[dict[str, Any]]:
    bad_numbers = ["-1", '"8"', "true", "1e400", "[]"]
    return [
        {
            "url": "/api/v1/size?limit=5",
            "valid": {
                "kind": "llm_serving", "weights_format": "bf16", "storage_gb": 100, "headroom_fraction": 0.1,
                "replicas_minimum": 1, "objective": "cost", "currency": "USD",
            },
            "refuse": {"storage_gb": bad_numbers, "headroom_fraction": ["1.5", *bad_numbers],
                       "replicas_minimum": ["0", "1.5", *bad_numbers]},
        },
        {
            "url": "/api/v1/plans", "as": "api_editor", "required": ["title"],
            "valid": {"title": "P", "note": "n", "workload": {}},
            "refuse": {"title": ['""', "1", "null", '"a\\nb"'], "workload": ["[]", '"x"', '{"zz": 1}']},
        },
        {
            "url": "/api/v1/quotes", "as": "api_editor",
            "required": ["provider_name", "sku", "accelerator_as_written", "gpu_count", "amount", "currency",
                         "received_on"],
            "valid": {"provider_name": "P", "sku": "m", "accelerator_as_written": "H100 SXM", "gpu_count": 1,
                      "amount": 9.5, "currency": "USD", "received_on": "2026-11-02", "note": "n"},
            "refuse": {"gpu_count": ["0", "1.5", *bad_numbers], "amount": ["0", "-1", "true", "1e400", "[]"],
                       "currency": ['"usd"', '"$"', "1"], "received_on": ['"tomorrow"', "1", "null"]},
        },
    ]  # fmt: skip


def _exports() -> list[dict[str, Any]]:
    """The first candidate's figures on the page are those in every file; nobody else's data are in them."""
    page = "/plans/{plan}/"
    shown = r'data-key="{key}"[^>]*><span>(?:≥\s*)?([^<]+)'
    pairs = [
        {"label": HOSTILE_TITLE, "page_re": shown.format(key=key), "col": column}
        for key, column in (("monthly", "monthly"), ("bandwidth", "bandwidth_gb_per_s"))
    ]
    foreign = {"must_not_contain": [PLAN_CANARY_B, "-canary-"]}
    shared = {fmt: f"/s/{{token}}/export.{fmt}" for fmt in ("csv", "pdf", "xlsx")}
    own = {fmt: f"{page}export.{fmt}" for fmt in ("csv", "pdf")}
    return [
        {"as": "owner", "page": page, "pairs": pairs, **own, **foreign},
        {"as": "viewer", "page": page, "xlsx": f"{page}export.xlsx", "must_contain": ["見積"], **foreign},
        {"as": "link_ok", "page": "/s/{token}/", **shared, **foreign},
    ]


def _load(world: World) -> list[dict[str, Any]]:
    links = f"/plans/{world.plan_to_load.slug}/links/"
    return [
        {
            "name": "readers of one link", "url": f"/s/{world.load_link}/", "threads": 500, "requests": 2000,
            "p95_ms": 3000, "contains": "Plan for many readers", "identical": True, "timeout_s": 60,
            "counter": {"as": "owner", "url": links, "re": r'data-views="(\d+)"'},
        },
        {
            "name": "many documents at once", "url": f"/s/{world.load_link}/export.pdf", "threads": 100,
            "requests": 100,
            "p95_ms": 20000, "allow_status": [200, 429, 503], "max_error_rate": 1, "timeout_s": 60,
        },
    ]  # fmt: skip


def _races(world: World) -> list[dict[str, Any]]:
    plan = f"/plans/{world.plan_to_race.slug}/"
    return [
        {
            "edit": f"{plan}edit/", "as": ["editor", "owner"], "field": "title", "history": f"{plan}history/",
            "version_re": r'data-version="(\d+)"', "immutable": [f"{plan}v/1/"], "rounds": 20,
            "conflict_re": "Somebody saved a version",
        }
    ]  # fmt: skip


def _refresh(manage: str) -> dict[str, Any]:
    bases = " ".join(f"{name.upper()}_BASE_URL=http://127.0.0.1:{REFRESH_PORT}/{name}" for name in REFRESHED)
    return {
        "port": REFRESH_PORT,
        "providers": list(REFRESHED),
        "trigger": {"cmd": f"{bases} {manage} refresh_prices {{provider}}"},
        "read": {
            "url": "/api/v1/prices?source={provider}&limit=1000&without_gpu=false", "as": "api_editor",
            "items": "items", "next": "next",
            # Where GPUs are sold singly, each count of them is an offer.
            "key": ["sku", "region", "kind", "gpu_count"], "price": "usd_per_hour", "currency": "currency",
        },
        "kinds": {"secure": "on_demand"},
        "status": {
            "as": "owner", "url": "/catalog/sources/{provider}/", "busy_re": "running", "bad_re": "(?i)failed|held",
        },
    }  # fmt: skip
