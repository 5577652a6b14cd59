"""Who may do what at which address: one row for every route and method."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]

MEMBERS = ["owner", "editor", "viewer"]
EDITORS = ["owner", "editor"]
SIGNED_IN = [*MEMBERS, "removed", "other_owner", "staff"]
STRANGERS = ["anonymous", "removed", "other_owner", "staff"]
FORMATS = ("pdf", "csv", "xlsx", "json")
READING_LINKS = ["link_ok", "link_torevoke"]
CLOSED_LINKS = ["link_revoked", "link_expired", "link_guessed", "link_archived"]
MISSING = "zzzzzzzzzzz9"
EVERYBODY = "*"
NOT_POSTED = [302, 403]
"""A visitor's post is sent to the log-in, or refused before for its missing token."""


def row(path: str, allow: list[str] | str, method: str = "GET", **more: Any) -> Row:
    return {"path": path, "method": method, "allow": allow, **more}


def public() -> Iterable[Row]:
    """Pages and answers for everybody."""
    for path in (
        "/workbench/compare/", "/workbench/variants/", "/workbench/variants.csv",
        "/", "/components/", "/methods/{subject}/", "/evidence/", "/workbench/", "/workbench/models/",
        "/workbench/chart/", "/workbench/chart.csv", "/workbench/explore/{exploration}/",
        "/workbench/explore/{exploration}.csv",
        "/workbench/model/", "/search/",
        "/workbench/candidate/{offer}/", "/workbench/candidate/{offer}/layouts/",
        "/accelerators/{accelerator}/support/", "/reach/",
        "/healthz", "/hosting/", "/catalog/accelerators/", "/catalog/accelerators/{accelerator}/", "/catalog/offers/",
        "/catalog/offers/{offer}/", "/catalog/providers/", "/catalog/providers/{seller}/",
        "/catalog/sources/", "/catalog/sources/{source}/", "/api/v1/models",
        "/api/v1/prices", "/api/v1/openapi.json", "/api/v1/schema/{schema}", "/plans/draft/export.{csv}",
    ):  # fmt: skip
        yield row(path, EVERYBODY)
    yield row("/workbench/", EVERYBODY, "POST", body={"form": {"users": "9"}})
    shapes = {"layers": "2", "hidden": "64", "heads": "4", "vocab": "99", "intermediate": "9"}
    described = {"form": {"state": "", **shapes}}
    yield row("/workbench/model/", EVERYBODY, "POST", body=described)
    yield row("/api/v1/size", EVERYBODY, "POST", body={"json": {}}, csrf=False)
    yield row("/api/v1/reach", EVERYBODY, "POST", body={"json": {}}, csrf=False)
    yield row("/language/", EVERYBODY, "POST", body={"form": {"language": "en", "next": "/"}})


def accounts() -> Iterable[Row]:
    for path in (
        "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/accounts/password/reset/done/",
        "/accounts/password/reset/key/done/", "/accounts/password/reset/key/x1-x1/", "/accounts/inactive/",
    ):  # fmt: skip
        # Whoever is signed in already is sent on from the pages for signing in; all may ask for them.
        yield row(path, EVERYBODY)
    yield row("/accounts/logout/", EVERYBODY)
    for path in ("/accounts/", "/accounts/password/change/"):
        yield row(path, SIGNED_IN)
    yield row("/accounts/password/set/", SIGNED_IN, expect={"anonymous": [302]})


def plans() -> Iterable[Row]:
    history = {"as": "owner", "path": "/plans/{plan}/history/"}
    yield row("/plans/", SIGNED_IN, never_text=[], expect={"anonymous": [302]})
    yield row("/plans/new/", SIGNED_IN, expect={"anonymous": [302]})
    yield row(
        "/plans/new/", SIGNED_IN, "POST", body={"form": {"title": "zq", "query": ""}},
        verify={"as": "owner", "path": "/plans/"},
    )  # fmt: skip
    reading = ["/plans/{plan}/", "/plans/{plan}/history/", "/plans/{plan}/v/{one}/", "/plans/{plan}/v/{two}/"]
    files = [f"/plans/{{plan}}/{part}export.{{{fmt}}}" for part in ("", "v/{one}/") for fmt in FORMATS]
    for path in [*reading, *files]:
        missing = path.replace("{plan}", MISSING)
        yield row(path, MEMBERS, same_as_missing=missing, expect={"anonymous": [302]})
    words = {"title": "zq", "base_number": "2"}
    writing: tuple[tuple[str, list[str], dict[str, Any], bool], ...] = (
        ("edit/", EDITORS, {"form": words}, True),
        ("add/", EDITORS, {"form": {**words, "query": ""}}, True),
        ("links/", EDITORS, {"form": {"lifetime": "7"}}, True),
        ("links/{link}/revoke/", EDITORS, {"form": {}}, False),
        ("archive/", ["owner"], {"form": {}}, False),
        ("restore/", ["owner"], {"form": {}}, False),
    )
    for part, allow, body, has_page in writing:
        path = f"/plans/{{plan}}/{part}"
        foreign = path.replace("{plan}", "{foreign}")
        missing = path.replace("{plan}", MISSING)
        # A member whose role is too small is told so (403); for everybody else the plan is not there (404).
        refused = {name: [403] for name in MEMBERS if name not in allow} | {
            "other_owner": [404],
            "removed": [404],
        }
        for method in (["GET"] if has_page else []) + ["POST"]:
            given = {"body": body, "verify": history} if method == "POST" else {}
            yield row(path, allow, method, expect=refused, **given)
            who = ["owner", "editor", "viewer", "removed", "staff"]
            yield row(foreign, ["other_owner"], method, only=who, same_as_missing=missing, **given)
    yield row(
        "/plans/{to_write}/edit/", EDITORS, "POST", only=EDITORS, body={"form": words}, exercise=False, verify=history,
    )  # fmt: skip


def links() -> Iterable[Row]:
    for path in ("/s/{token}/", *(f"/s/{{token}}/export.{{{fmt}}}" for fmt in FORMATS)):
        yield row(path, READING_LINKS, expect={name: [404] for name in CLOSED_LINKS})
        refused = {name: [405] for name in READING_LINKS} | {name: [404] for name in CLOSED_LINKS}
        yield row(path, [], "POST", expect=refused, verbs=False)


def api() -> Iterable[Row]:
    readers = ["api_viewer", "api_editor", "api_owner"]
    writers = ["api_editor", "api_owner"]
    closed = {name: [401] for name in ("anonymous", "owner", "api_revoked", "api_expired", "api_removed")}
    foreign = {"api_other": [404]}
    yield row("/api/v1/plans", [*readers, "api_other"], expect=closed, never_text=[])
    plan = {"title": "zq"}
    yield row(
        "/api/v1/plans", [*writers, "api_other"], "POST", body={"json": {**plan, "workload": {}}},
        expect=closed | {"api_viewer": [403]}, verify={"as": "owner", "path": "/plans/"},
    )  # fmt: skip
    for path in (
        "/api/v1/plans/{plan}",
        *(f"/api/v1/plans/{{plan}}/export.{{{fmt}}}" for fmt in FORMATS),
        *(f"/api/v1/plans/{{plan}}/versions/{{one}}/export.{{{fmt}}}" for fmt in FORMATS),
    ):
        yield row(path, readers, expect=closed | foreign)
    history = {"as": "owner", "path": "/plans/{plan}/history/"}
    refused = closed | foreign | {"api_viewer": [403]}
    yield row(
        "/api/v1/plans/{plan}", writers, "PATCH", body={"json": {**plan, "base_number": 2}}, expect=refused,
        verify=history,
    )  # fmt: skip
    yield row(
        "/api/v1/plans/{plan}", ["api_owner"], "DELETE", expect=refused | {"api_editor": [403]}, verify=history,
    )  # fmt: skip
    yield row(
        "/api/v1/plans/{plan}/versions", writers, "POST",
        body={"json": {**plan, "base_number": 2, "workload": {}}}, expect=refused, verify=history,
    )  # fmt: skip


def quote_api() -> Iterable[Row]:
    """Private offers over the API: the token's own team's; another team's are not there."""
    readers = ["api_viewer", "api_editor", "api_owner"]
    writers = ["api_editor", "api_owner"]
    closed = {name: [401] for name in ("anonymous", "owner", "api_revoked", "api_expired", "api_removed")}
    quote = {
        "provider_name": "zq", "sku": "zq", "accelerator_as_written": "zq", "gpu_count": 1, "amount": 9,
        "currency": "USD", "received_on": "2026-11-02",
    }  # fmt: skip
    seen = {"as": "owner", "path": "/catalog/quotes/{quote}/"}
    small = {"api_viewer": [403]}
    yield row("/api/v1/quotes", [*readers, "api_other"], expect=closed, never_text=[])
    for path, body in (("/api/v1/quotes", quote), ("/api/v1/quotes/import", {"rows": [quote]})):
        yield row(
            path, [*writers, "api_other"], "POST", body={"json": body}, expect=closed | small, verify=seen
        )
    one = "/api/v1/quotes/{quote}"
    foreign = {"api_other": [404]}
    yield row(one, readers, expect=closed | foreign)
    yield row(
        one,
        writers,
        "PUT",
        body={"json": quote},
        expect=closed | foreign | small,
        verify=seen,
        exercise=False,
    )
    yield row(one, writers, "DELETE", expect=closed | foreign | small, verify=seen, exercise=False)
    yield row(
        "/api/v1/plans/import", [*writers, "api_other"], "POST", body={"form": {"zq": "zq"}},
        expect=closed | small, verify={"as": "owner", "path": "/plans/"},
    )  # fmt: skip


def staff_only(routes: Iterable[str]) -> Iterable[Row]:
    """The admin and what refreshes prices. The admin's own pages are tried by two, as there are so many of them."""
    refused = {name: [403] for name in ("owner", "editor", "viewer", "removed", "other_owner")}
    sources = {"as": "owner", "path": "/catalog/sources/azure/"}
    yield row(
        "/catalog/sources/{source}/refresh/",
        ["staff"],
        "POST",
        body={"form": {}},
        expect=refused,
        verify=sources,
    )
    yield row(
        "/catalog/runs/{one}/decide/", ["staff"], "POST", body={"form": {}}, expect=refused, verify=sources
    )
    yield row("/catalog/review/", ["staff"], expect=refused)
    yield row("/catalog/price-files/", ["staff"], expect=refused)
    yield row(
        "/catalog/price-files/", ["staff"], "POST", body={"form": {}}, expect=refused | {"staff": [422]},
        verify=sources,
    )  # fmt: skip
    # No price file waits in the made-up world, so only those who must be refused try to see or take one.
    yield row("/catalog/price-files/{one}/", ["staff"], expect=refused, only=["anonymous", *refused])
    yield row(
        "/catalog/price-files/{one}/decide/", ["staff"], "POST", body={"form": {"action": "take"}},
        expect=refused, only=["anonymous", *refused], verify=sources,
    )  # fmt: skip
    # No price is kept back in the made-up world, so only those who must be refused try to take one.
    yield row(
        "/catalog/kept-back/{one}/take/",
        ["staff"],
        "POST",
        body={"form": {}},
        expect=refused,
        only=["anonymous", *refused],
        verify=sources,
    )
    yield row("/metrics", [])
    yield row("/admin/", ["staff"])
    yield row("/admin/login/", ["staff"], verbs=False)
    yield row("/admin/logout/", EVERYBODY, verbs=False)  # leads to the page for signing out
    listed = {"/admin/", "/admin/login/", "/admin/logout/"}
    for route in routes:
        if route.startswith("/admin/") and route not in listed:
            yield row(route, [], only=["anonymous", "owner"], verbs=False)
