"""The account pages. Only those of allauth that this product has are mounted, under allauth's own names."""

from allauth.account import views as allauth_views
from django.urls import path, re_path

from accounts import team_views, token_views, views

urlpatterns = [
    path("", views.account, name="account"),
    path("teams/new/", team_views.new_team, name="new_team"),
    path("teams/<int:pk>/", team_views.team, name="team"),
    path("teams/<int:pk>/leave/", team_views.leave, name="leave_team"),
    path("teams/<int:pk>/choose/", team_views.choose, name="choose_team"),
    path("teams/<int:pk>/invitations/", team_views.invite, name="invite"),
    path(
        "teams/<int:pk>/invitations/<int:invitation_pk>/revoke/",
        team_views.revoke_invitation,
        name="revoke_invitation",
    ),
    path("teams/<int:pk>/members/<int:user_pk>/role/", team_views.change_role, name="change_role"),
    path("teams/<int:pk>/members/<int:user_pk>/remove/", team_views.remove, name="remove_member"),
    path("teams/<int:pk>/members/<int:user_pk>/hand-over/", team_views.hand_over, name="hand_over"),
    path("invitations/<str:token>/", team_views.invitation, name="invitation"),
    path("tokens/", token_views.tokens, name="tokens"),
    path("tokens/<int:pk>/revoke/", token_views.revoke, name="revoke_token"),
    path("login/", allauth_views.login, name="account_login"),
    path("logout/", allauth_views.logout, name="account_logout"),
    path("signup/", allauth_views.signup, name="account_signup"),
    path("inactive/", allauth_views.account_inactive, name="account_inactive"),
    path("password/change/", allauth_views.password_change, name="account_change_password"),
    path("password/set/", allauth_views.password_set, name="account_set_password"),
    path("password/reset/", allauth_views.password_reset, name="account_reset_password"),
    path("password/reset/done/", allauth_views.password_reset_done, name="account_reset_password_done"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        allauth_views.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path(
        "password/reset/key/done/",
        allauth_views.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
]
