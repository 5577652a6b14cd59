"""Who may do what with versions of a plan, its discussion, and what a link opens beside its page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reports.trust.rows import (
    CLOSED_LINKS,
    EDITORS,
    MEMBERS,
    MISSING,
    NOT_POSTED,
    READING_LINKS,
    SIGNED_IN,
    Row,
    row,
)


def plan_parts() -> Iterable[Row]:
    """Pages and posts below a plan; a foreign plan looks like a missing one, a small role is told so."""
    for part in (
        "compare/",
        "discussion/",
        "prices/",
        "v/{one}/copy/",
        "v/{one}/request/",
        "v/{one}/request/answers.csv",
    ):
        path = f"/plans/{{plan}}/{part}"
        yield row(path, MEMBERS, same_as_missing=path.replace("{plan}", MISSING), expect={"anonymous": [302]})
    workloads = {"base_number": "2", "name_1": "zq", "place_1": "1"}
    decision = {"chosen": "zq", "because": "zq", "decided_by": "zq", "decided_on": "2026-11-30"}
    posts: tuple[tuple[str, list[str], dict[str, Any]], ...] = (
        ("v/{one}/copy/", MEMBERS, {"title": "zq"}),
        ("reprice/", EDITORS, {"base_number": "1"}),
        ("workloads/", EDITORS, workloads),
        ("tags/", EDITORS, {"tags": "zq"}),
        ("comments/", MEMBERS, {"text": "zq"}),
        ("decisions/", EDITORS, decision),
        ("checklist/", EDITORS, {"base_number": "2"}),
        ("prices/mail/", MEMBERS, {"mail": "yes"}),
    )
    for part, allow, form in posts:
        yield _post(part, allow, form)
    # Read by every member, set by editors: what other verbs do is asked of the row that reads.
    yield _post("prices/", EDITORS, {"rule": "own", "percent": "5"}) | {"verbs": False}
    for part in ("workloads/", "checklist/"):
        path = f"/plans/{{plan}}/{part}"
        yield row(path, EDITORS, expect={"viewer": [403], "other_owner": [404], "removed": [404]})
    # A comment is its author's; an owner may take away any. For the others it is not there.
    yield _post("comments/{comment}/withdraw/", EDITORS, {}) | {
        "expect": {"viewer": [404], "other_owner": [404], "removed": [404], "anonymous": NOT_POSTED}
    }
    # The address of a shared plan is what opens it: without one nothing is there.
    for method in ("GET", "POST"):
        given = {"body": {"form": {"title": "zq"}}} if method == "POST" else {}
        yield row("/plans/fork/", [], method, expect={name: [404] for name in SIGNED_IN}, **given)
    yield row("/plans/import/", SIGNED_IN, expect={"anonymous": [302]})
    yield row(
        "/plans/import/", SIGNED_IN, "POST", body={"form": {"team": "zq"}}, expect={"anonymous": NOT_POSTED}
    )
    closed = {name: [404] for name in CLOSED_LINKS}
    yield row(
        "/s/{token}/unlock/",
        READING_LINKS,
        "POST",
        body={"form": {"password": "zq"}},
        expect=closed,
        exercise=False,
        verbs=False,
    )


def _post(part: str, allow: list[str], form: dict[str, Any]) -> Row:
    refused = {name: [403] for name in MEMBERS if name not in allow}
    return row(
        f"/plans/{{plan}}/{part}",
        allow,
        "POST",
        body={"form": form},
        expect=refused | {"other_owner": [404], "removed": [404], "anonymous": NOT_POSTED},
        verify={"as": "owner", "path": "/plans/{plan}/discussion/"},
        exercise=False,
    )
