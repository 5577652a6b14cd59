"""Who may do what with teams, invitations, tokens and accounts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reports.trust.rows import EDITORS, EVERYBODY, MEMBERS, NOT_POSTED, SIGNED_IN, Row, row

NO_TEAM = "999999"
TO_LOG_IN = [302]


def teams() -> Iterable[Row]:
    """Members and settings are for owners; a foreign team looks like a missing one."""
    seen = {"as": "owner", "path": "/accounts/teams/{team}/"}
    small = {"editor": [403], "viewer": [403]}
    away = {"removed": [404], "other_owner": [404], "staff": [404]}
    settings = {"name": "Team A", "allow_share_links": "on", "price_alert_percent": "10"}
    invited = {"email": "zq@a.example", "role": "viewer", "lifetime": "1"}
    yield row(
        "/accounts/teams/{team}/",
        ["owner"],
        expect=small | away | {"anonymous": TO_LOG_IN},
    )
    yield row(
        "/accounts/teams/{team}/", ["owner"], only=[*away], same_as_missing=f"/accounts/teams/{NO_TEAM}/"
    )
    writes: tuple[tuple[str, dict[str, str], list[str]], ...] = (
        ("", settings, ["owner"]),
        ("invitations/", invited, ["owner"]),
        ("invitations/{invitation}/revoke/", {}, ["owner"]),
        ("members/{member}/role/", {"role": "viewer"}, ["owner"]),
        ("members/{member}/remove/", {}, ["owner"]),
        ("members/{member}/hand-over/", {}, ["owner"]),
        ("leave/", {}, MEMBERS),
        ("choose/", {}, MEMBERS),
    )
    for part, form, allow in writes:
        refused = {name: status for name, status in small.items() if name not in allow}
        yield row(
            f"/accounts/teams/{{team}}/{part}",
            allow,
            "POST",
            body={"form": form},
            expect=refused | away | {"anonymous": NOT_POSTED},
            verify=seen,
            exercise=False,
        )
    yield row("/accounts/teams/new/", SIGNED_IN, expect={"anonymous": [302]})
    yield row(
        "/accounts/teams/new/",
        SIGNED_IN,
        "POST",
        body={"form": {"name": "zq"}},
        expect={"anonymous": NOT_POSTED},
        exercise=False,
    )


def people() -> Iterable[Row]:
    """One's own account: name, tokens, deletion; and the page that an invitation opens."""
    closed: dict[str, Any] = {"expect": {"anonymous": TO_LOG_IN}}
    unposted: dict[str, Any] = {"expect": {"anonymous": NOT_POSTED}}
    yield row("/accounts/", SIGNED_IN, "POST", body={"form": {"name": "zq"}}, exercise=False, **unposted)
    yield row("/accounts/tokens/", SIGNED_IN, **closed)
    yield row("/accounts/tokens/", SIGNED_IN, "POST", body={"form": {}}, **unposted)
    # The token is the editor's: even an owner of the team does not revoke it.
    strangers = {name: [404] for name in ("owner", "viewer", "removed", "other_owner", "staff")}
    yield row(
        "/accounts/tokens/{token_of_editor}/revoke/",
        ["editor"],
        "POST",
        body={"form": {}},
        expect=strangers | {"anonymous": NOT_POSTED},
        verify={"as": "editor", "path": "/accounts/tokens/"},
        exercise=False,
    )
    yield row("/accounts/delete/", SIGNED_IN, **closed)
    yield row(
        "/accounts/delete/", SIGNED_IN, "POST", body={"form": {"password": "zq"}}, exercise=False, **unposted
    )
    yield row("/accounts/invitations/{invited}/", EVERYBODY, verbs=False, csrf=False)
    yield row("/accounts/invitations/mit_guessed/", [], verbs=False)


def quotes() -> Iterable[Row]:
    """Private offers: of the team one works in, in a fresh session the personal one; another team's are not there."""
    own: dict[str, Any] = {"expect": {"anonymous": TO_LOG_IN}}
    unposted: dict[str, Any] = {"expect": {"anonymous": NOT_POSTED}}
    for path in ("/catalog/quotes/", "/catalog/quotes/new/", "/catalog/quotes/upload/"):
        yield row(path, SIGNED_IN, **own)
    for path in ("/catalog/quotes/new/", "/catalog/quotes/upload/"):
        yield row(path, SIGNED_IN, "POST", body={"form": {"note": "zq"}}, exercise=False, **unposted)
    seen = {"as": "owner", "path": "/catalog/quotes/{quote}/"}
    away = {"removed": [404], "other_owner": [404], "staff": [404]}
    refused = {"viewer": [403]} | away
    for path, missing in (
        ("/catalog/quotes/{quote}/", f"/catalog/quotes/{NO_TEAM}/"),
        ("/catalog/quotes/upload/{quote_table}/", f"/catalog/quotes/upload/{NO_TEAM}/"),
    ):
        yield row(path, EDITORS, expect=refused | {"anonymous": TO_LOG_IN})
        yield row(path, EDITORS, only=[*away], same_as_missing=missing)
        yield row(
            path,
            EDITORS,
            "POST",
            body={"form": {"note": "zq"}},
            expect=refused | {"anonymous": NOT_POSTED},
            verify=seen,
        )
    yield row(
        "/catalog/quotes/{quote}/withdraw/",
        EDITORS,
        "POST",
        body={"form": {}},
        expect=refused | {"anonymous": NOT_POSTED},
        verify=seen,
        exercise=False,
    )
