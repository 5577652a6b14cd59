"""Pages of teams: making one, its members and settings, invitations, leaving. The clock is read here."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts import invitation_mail, teams
from accounts.access import INVITED_KEY, TEAM_KEY, demand_role, signed_in
from accounts.models import Invitation, Membership, Role, Team, User
from accounts.services import create_team
from accounts.team_forms import InviteForm, RoleForm, TeamForm, TeamSettingsForm
from mitsumori.text_fields import plain_number

REFUSED = 422


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


def _team(request: HttpRequest, pk: int, needed: Role = Role.OWNER) -> Team:
    team = get_object_or_404(Team, pk=min(pk, 2**62))
    demand_role(request.user, team, needed)
    return team


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new_team(request: HttpRequest) -> HttpResponse:
    form = TeamForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        team = create_team(form.cleaned_data["name"], _user(request), at=timezone.now())
        return redirect("team", pk=team.pk)
    return render(request, "accounts/new_team.html", {"form": form}, status=REFUSED if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def team(request: HttpRequest, pk: int) -> HttpResponse:
    """Members, open invitations and settings, for the team's owners; posting changes the settings."""
    found = _team(request, pk)
    if request.method != "POST":
        return _team_page(request, found)
    form = TeamSettingsForm(request.POST)
    if not form.is_valid():
        return _team_page(request, found, settings_form=form, status=REFUSED)
    teams.settle(
        found,
        name=form.cleaned_data["name"],
        allow_share_links=form.cleaned_data["allow_share_links"],
        price_alert_percent=form.cleaned_data["price_alert_percent"],
    )
    messages.success(request, _("The settings of the team were saved."))
    return redirect("team", pk=found.pk)


def _team_page(request: HttpRequest, found: Team, status: int = 200, **more: Any) -> HttpResponse:
    percent = found.price_alert_percent
    initial = {
        "name": found.name,
        "allow_share_links": found.allow_share_links,
        "price_alert_percent": "" if percent is None else plain_number(percent),
    }
    context = {
        "team": found,
        "members": found.memberships.select_related("user").order_by("user__name", "user__email"),
        "invitations": Invitation.objects.open(timezone.now()).filter(team=found),
        "roles": Role.choices,
        "settings_form": TeamSettingsForm(initial=initial),
        "invite_form": InviteForm(auto_id="invite_%s"),
    } | more
    return render(request, "accounts/team.html", context, status=status)


@require_POST
@signed_in
def invite(request: HttpRequest, pk: int) -> HttpResponse:
    """Makes an invitation; its address is shown once, in the answer, and mailed where mail is set up."""
    found = _team(request, pk)
    form = InviteForm(request.POST, auto_id="invite_%s")
    if not form.is_valid():
        return _team_page(request, found, invite_form=form, status=REFUSED)
    try:
        invitation, secret = teams.invite(
            found,
            email=form.cleaned_data["email"],
            role=form.role_offered(),
            invited_by=_user(request),
            at=timezone.now(),
            lifetime=form.lifetime_of_invitation(),
        )
    except teams.PersonalTeamError:
        form.add_error(None, _("A personal team has one member: make a team to work with others."))
    except teams.TooManyInvitationsError:
        form.add_error(None, _("The team has as many open invitations as it may: revoke some first."))
    else:
        address = request.build_absolute_uri(reverse("invitation", args=[secret]))
        mailed = settings.MAIL_IS_SENT and invitation_mail.send(invitation, address)
        return _team_page(request, found, invitation=invitation, address=address, mailed=mailed)
    return _team_page(request, found, invite_form=form, status=REFUSED)


@require_POST
@signed_in
def revoke_invitation(request: HttpRequest, pk: int, invitation_pk: int) -> HttpResponse:
    found = _team(request, pk)
    teams.revoke_invitation(
        get_object_or_404(Invitation, team=found, pk=min(invitation_pk, 2**62)), at=timezone.now()
    )
    return redirect("team", pk=found.pk)


def _member(team: Team, user_pk: int) -> User:
    membership = get_object_or_404(
        Membership.objects.select_related("user"), team=team, user=min(user_pk, 2**62)
    )
    return membership.user


@require_POST
@signed_in
def change_role(request: HttpRequest, pk: int, user_pk: int) -> HttpResponse:
    found = _team(request, pk)
    member = _member(found, user_pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _team_page(request, found, trouble=_("Choose one of the three roles."), status=REFUSED)
    try:
        teams.change_role(found, member, Role(form.cleaned_data["role"]))
    except (teams.LastOwnerError, teams.PersonalTeamError) as error:
        return _team_page(request, found, trouble=_why_not(error), status=REFUSED)
    return _back(request, found)


@require_POST
@signed_in
def remove(request: HttpRequest, pk: int, user_pk: int) -> HttpResponse:
    found = _team(request, pk)
    member = _member(found, user_pk)
    try:
        teams.leave(found, member)
    except (teams.LastOwnerError, teams.PersonalTeamError) as error:
        return _team_page(request, found, trouble=_why_not(error), status=REFUSED)
    return _back(request, found)


@require_POST
@signed_in
def hand_over(request: HttpRequest, pk: int, user_pk: int) -> HttpResponse:
    found = _team(request, pk)
    member = _member(found, user_pk)
    try:
        teams.hand_over(found, giver=_user(request), taker=member)
    except (teams.LastOwnerError, teams.PersonalTeamError) as error:
        return _team_page(request, found, trouble=_why_not(error), status=REFUSED)
    return redirect("account")


@require_POST
@signed_in
def leave(request: HttpRequest, pk: int) -> HttpResponse:
    found = _team(request, pk, Role.VIEWER)
    try:
        teams.leave(found, _user(request))
    except (teams.LastOwnerError, teams.PersonalTeamError) as error:
        messages.error(request, _why_not(error))
    return redirect("account")


@require_POST
@signed_in
def choose(request: HttpRequest, pk: int) -> HttpResponse:
    """The team to work in: its private offers are compared, and new plans go to it."""
    request.session[TEAM_KEY] = _team(request, pk, Role.VIEWER).pk
    return redirect("account")


def _back(request: HttpRequest, team: Team) -> HttpResponse:
    """To the team's page, if it still is for the one who asked: an owner may have demoted themselves."""
    still = Membership.objects.filter(team=team, user=_user(request), role=Role.OWNER).exists()
    return redirect("team", pk=team.pk) if still else redirect("account")


def _why_not(error: Exception) -> str:
    if isinstance(error, teams.PersonalTeamError):
        return _("A personal team belongs to one person; it cannot be shared, left or handed over.")
    return _("A team always keeps an owner: make somebody else an owner first.")


@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """What an invited person sees; who has no account yet may sign up from here, also where sign-up is closed."""
    found = teams.invitation_of(token, at=timezone.now())
    if found is None:
        raise Http404
    if request.user.is_authenticated and request.method == "POST":
        try:
            membership = teams.accept(token, _user(request), at=timezone.now())
        except teams.InvitationClosedError:
            raise Http404 from None
        request.session[TEAM_KEY] = membership.team_id
        request.session.pop(INVITED_KEY, None)
        return redirect("account")
    if not request.user.is_authenticated:
        request.session[INVITED_KEY] = token
    page = render(request, "accounts/invitation.html", {"invitation": found, "here": request.path})
    page.headers["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return page
