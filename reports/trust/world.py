"""Two teams with everything that must not leak from one to the other; fresh secrets each time."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from allauth.account.models import EmailAddress
from django.db import transaction

from accounts import teams
from accounts.models import ApiToken, Invitation, Role, Team, User
from accounts.services import add_member, create_team, issue_token, personal_team, remove_member, revoke_token
from catalog import private_offers
from catalog.models import PrivateOffer, QuoteTable
from catalog.quote_forms import QuoteForm
from planner.sizing.workload import ServingWorkload
from reports import notes, services
from reports.models import Comment, Plan, PlanVersion, ShareLink

PLAN_CANARY_A = "PLAN-CANARY-A"
PLAN_CANARY_B = "PLAN-CANARY-B"
OFFER_CANARY_A = "OFFER-CANARY-A"
OFFER_CANARY_B = "OFFER-CANARY-B"
COMMENT_CANARY = "COMMENT-CANARY-A"
"""What the team says to its plan: no link and no file shows it."""
HOSTILE_TITLE = f"=1+1 {PLAN_CANARY_A}"
HOSTILE_FOR = "@SUM(1)"
HOSTILE_NOTE = "\t=1+1\n見積書: 社内チャット"


@dataclass(frozen=True)
class Person:
    user: User
    password: str


@dataclass(frozen=True)
class World:
    people: dict[str, Person]
    plan: Plan
    plan_to_edit: Plan
    plan_to_race: Plan
    plan_to_load: Plan
    plan_to_write: Plan
    foreign: Plan
    tokens: dict[str, str]
    links: dict[str, str]
    link_to_revoke: ShareLink
    load_link: str
    team: Team
    invitation: Invitation
    invited: str
    """The secret of the open invitation."""
    token_of_editor: ApiToken
    comment: Comment
    private_offer: PrivateOffer
    quote_table: QuoteTable


def make(at: datetime) -> World:
    """The data, in the database, and the secrets that open it."""
    mark = secrets.token_hex(4)
    with transaction.atomic():
        people = {
            name: _person(name, f"{name}-canary-{mark}@{domain}.example", at, is_staff=name == "staff")
            for name, domain in (
                ("owner", "a"), ("editor", "a"), ("viewer", "a"), ("removed", "a"), ("other_owner", "b"),
                ("staff", "c"),
            )
        }  # fmt: skip
        team_a = create_team("Team A", people["owner"].user, at=at)
        team_b = create_team("Team B", people["other_owner"].user, at=at)
        for name, role in (("editor", Role.EDITOR), ("viewer", Role.VIEWER), ("removed", Role.EDITOR)):
            add_member(team_a, people[name].user, role, at=at)
        tokens = _tokens(team_a, team_b, people, at)
        remove_member(team_a, people["removed"].user)
    owner = people["owner"].user
    private_offer = _private_offer(team_a, owner, OFFER_CANARY_A, at)
    _private_offer(team_b, people["other_owner"].user, OFFER_CANARY_B, at)
    plan = _plan(team_a, owner, services.Words(HOSTILE_TITLE, HOSTILE_FOR, HOSTILE_NOTE), at)
    services.reword(
        plan,
        user=owner,
        base_number=1,
        words=services.Words(HOSTILE_TITLE, HOSTILE_FOR, HOSTILE_NOTE + "\n2"),
        at=at,
    )
    plan.refresh_from_db()
    links, link_to_revoke = _links(services.newest(plan), plan, owner, at)
    to_load = _plan(team_a, owner, services.Words("Plan for many readers"), at)
    archived = _plan(team_a, owner, services.Words("Archived plan"), at)
    links["link_archived"] = services.share(services.newest(archived), user=owner, at=at)[1]
    services.archive(archived, at=at)
    invitation, invited = teams.invite(
        team_a,
        email=f"invited-{mark}@a.example",
        role=Role.VIEWER,
        invited_by=owner,
        at=at,
        lifetime=timedelta(days=7),
    )
    return World(
        people=people,
        plan=plan,
        plan_to_edit=_plan(team_a, owner, services.Words("Plan to edit"), at),
        plan_to_race=_plan(team_a, owner, services.Words("Plan for two editors"), at),
        plan_to_load=to_load,
        plan_to_write=_plan(team_a, owner, services.Words("Plan to be written by programs"), at),
        foreign=_plan(team_b, people["other_owner"].user, services.Words(PLAN_CANARY_B), at),
        tokens=tokens,
        links=links,
        link_to_revoke=link_to_revoke,
        load_link=services.share(services.newest(to_load), user=owner, at=at)[1],
        team=team_a,
        invitation=invitation,
        invited=invited,
        comment=notes.comment(
            services.newest(plan), notes.Subject(), COMMENT_CANARY, user=people["editor"].user, at=at
        ),
        private_offer=private_offer,
        quote_table=QuoteTable.objects.create(
            team=team_a,
            name=f"{OFFER_CANARY_A}.csv",
            rows=[["Machine"], ["x"]],
            created_by=owner,
            created_at=at,
        ),
        token_of_editor=ApiToken.objects.get(user=people["editor"].user, name="writes"),
    )


def _private_offer(team: Team, user: User, name: str, at: datetime) -> PrivateOffer:
    """Dear enough to rank after the public ones, so that what it must not show in stays as it is without it."""
    form = QuoteForm(
        {"provider_name": name, "sku": f"{name}-MACHINE", "accelerator_as_written": "H100-SXM5", "gpu_count": "1",
         "amount": "99", "currency": "USD", "received_on": at.date().isoformat()}
    )  # fmt: skip
    form.is_valid()
    return private_offers.add(team, form.values(), user=user, at=at)


def _person(name: str, email: str, at: datetime, *, is_staff: bool) -> Person:
    password = secrets.token_urlsafe(16)
    user = User.objects.create_user(email, password, name=name.replace("_", " ").title(), is_staff=is_staff)
    EmailAddress.objects.create(user=user, email=user.email, primary=True, verified=True)
    personal_team(user, at=at)
    return Person(user, password)


def _tokens(team_a: Team, team_b: Team, people: dict[str, Person], at: datetime) -> dict[str, str]:
    def token(team: Team, who: str, name: str, role: Role, lifetime: timedelta) -> tuple[ApiToken, str]:
        return issue_token(team, people[who].user, name, role, at=at, lifetime=lifetime)

    year = timedelta(days=365)
    made = {
        "api_viewer": token(team_a, "viewer", "reads", Role.VIEWER, year),
        "api_editor": token(team_a, "editor", "writes", Role.EDITOR, year),
        "api_owner": token(team_a, "owner", "owns", Role.OWNER, year),
        "api_other": token(team_b, "other_owner", "elsewhere", Role.OWNER, year),
        "api_revoked": token(team_a, "editor", "revoked", Role.EDITOR, year),
        "api_expired": token(team_a, "editor", "expired", Role.EDITOR, timedelta(seconds=-1)),
        "api_removed": token(team_a, "removed", "of a removed member", Role.EDITOR, year),
    }
    revoke_token(made["api_revoked"][0], at=at)
    return {name: secret for name, (_token, secret) in made.items()}


def _plan(team: Team, user: User, words: services.Words, at: datetime) -> Plan:
    version = services.save_plan(
        team=team,
        user=user,
        words=words,
        workloads=[services.NamedWorkload(ServingWorkload())],
        priced_at=at,
        at=at,
    )
    return version.plan


def _links(version: PlanVersion, plan: Plan, owner: User, at: datetime) -> tuple[dict[str, str], ShareLink]:
    def link(lifetime: timedelta | None = timedelta(days=30)) -> tuple[ShareLink, str]:
        return services.share(version, user=owner, at=at, lifetime=lifetime)

    ok, to_revoke, revoked = link(), link(None), link()
    expired = link(timedelta(seconds=-1))
    services.revoke(revoked[0], at=at)
    secrets_of = {
        "link_ok": ok[1], "link_torevoke": to_revoke[1], "link_revoked": revoked[1], "link_expired": expired[1],
        "link_guessed": "mit_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA1",
    }  # fmt: skip
    return secrets_of, to_revoke[0]
