"""What is typed and sent: every form that stores something, with values it takes, and every field for a file."""

from __future__ import annotations

from typing import Any

from reports.trust.world import World


def forms(world: World) -> list[dict[str, Any]]:
    edit = f"/plans/{world.plan_to_edit.slug}/"
    return [
        {
            "url": "/plans/new/", "as": "editor", "field": "title",
            "valid": {"title": "Plan 見積", "prepared_for": "Procurement", "note": "A note."},
            "skip": ["team", "priced_at"], "ok_re": r"/plans/[a-z0-9]{12}/", "stored_views": ["/plans/"],
            "render": ["{loc}export.pdf", "{loc}export.csv"], "render_sample": 20, "stored_sample": 120,
            "breaker": {"title": ""},
        },
        {
            "url": f"{edit}links/", "as": "editor", "field": "lifetime", "valid": {"lifetime": "7", "note": "For 見積"},
            "ok_re": "/s/mit_", "stored_views": [f"{edit}links/"],
        },
        {
            "url": "/workbench/", "as": "editor", "field": "title", "valid": {"title": "Plan 見積"},
            "skip": ["priced_at"],
            "ok_re": r"/plans/[a-z0-9]{12}/", "stored_sample": 60, "breaker": {"title": ""},
        },
        {
            "url": "/workbench/", "as": "anonymous", "field": "users", "valid": {"users": "12", "users_peak": "40"},
            # One field of some sixty boxes: each would be tried as if it were a field of its own.
            "skip": ["providers"],
            "ok_re": r"/workbench/", "stored_sample": 60, "breaker": {"users": "many"},
        },
        {
            "url": "/workbench/model/", "as": "anonymous", "field": "layers",
            "valid": {"name": "small-model", "parameters": "8.03", "layers": "32", "hidden": "4096", "heads": "32",
                      "kv_heads": "8", "head_dim": "128", "intermediate": "14336", "vocab": "128256",
                      "context": "131072"},
            "ok_re": "config=[0-9a-f]{64}", "stored_sample": 60, "breaker": {"layers": "many"},
        },
        {"url": "/accounts/password/reset/", "field": "email", "valid": {"email": "nobody@a.example"}},
        {
            "url": "/catalog/quotes/new/", "as": "editor", "field": "provider_name",
            "valid": {
                "provider_name": "Provider 見積", "sku": "machine-8", "accelerator_as_written": "H100 SXM 80 GB",
                "gpu_count": "8", "vcpu": "96", "ram_gib": "960", "amount": "24.50", "currency": "USD",
                "received_on": "2026-11-02", "region": "Tokyo", "note": "A note.",
                "tier": "reserved", "upfront": "1000", "term_months": "12",
            },
            "ok_re": "/catalog/quotes/", "stored_views": ["/catalog/quotes/"], "stored_sample": 60,
            "breaker": {"provider_name": ""},
        },
        {
            "url": f"{edit}discussion/", "as": "editor", "field": "text", "valid": {"text": "A remark. 見積"},
            "ok_re": f"{edit}discussion/", "stored_views": [f"{edit}discussion/"], "breaker": {"text": ""},
        },
        {
            "url": f"{edit}prices/", "as": "editor", "field": "percent", "valid": {"rule": "own", "percent": "5"},
            "ok_re": f"{edit}prices/", "stored_views": [f"{edit}discussion/"], "breaker": {"percent": "many"},
        },
        {
            "url": "/accounts/teams/new/", "as": "staff", "field": "name", "valid": {"name": "Team 見積"},
            "ok_re": "/accounts/", "stored_views": ["/accounts/"], "breaker": {"name": ""},
        },
        {
            "url": "/accounts/tokens/", "as": "staff", "field": "token_name", "valid": {"token_name": "nightly report"},
            "stored_views": ["/accounts/tokens/"], "breaker": {"token_name": ""},
        },
    ]  # fmt: skip


def uploads() -> list[dict[str, Any]]:
    """Files that a browser sends."""
    return [
        {
            "url": "/workbench/", "as": "editor", "field": "config_file", "kind": "config_json",
            "ok_re": "config=[0-9a-f]{64}",
        },
        {
            "url": "/workbench/model/", "as": "editor", "field": "model_file", "kind": "config_json",
            "ok_re": "config=[0-9a-f]{64}",
        },
        {
            # The examiner's good workbook has only a name and a price, which is no offer of ours.
            "url": "/catalog/price-files/", "as": "staff", "field": "file", "kind": "xlsx",
            "must": {"good file": True},
        },
        {"url": "/catalog/quotes/upload/", "as": "editor", "field": "file", "kind": "xlsx"},
        {
            # A model's configuration is no plan.
            "url": "/plans/import/", "as": "editor", "field": "file", "kind": "config_json",
            "must": {"good file": True},
        },
    ]  # fmt: skip
