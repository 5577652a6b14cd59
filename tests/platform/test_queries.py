"""The guard that fails a page which asks the database once per row; seen working here."""

from __future__ import annotations

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django.fixtures import Settings
from zeal.errors import NPlusOneError

from accounts.models import Membership
from tests.factories import make_team


def careless(request: HttpRequest) -> HttpResponse:
    return HttpResponse(", ".join(membership.team.name for membership in Membership.objects.all()))


def careful(request: HttpRequest) -> HttpResponse:
    return HttpResponse(", ".join(row.team.name for row in Membership.objects.select_related("team")))


urlpatterns = [path("careless/", careless), path("careful/", careful)]


@pytest.mark.django_db
def test_a_query_for_each_row_is_noticed(settings: Settings) -> None:
    settings.ROOT_URLCONF = __name__
    for name in ("A", "B", "C"):
        make_team(name)
    assert Client().get("/careful/").content == b"A, B, C"
    with pytest.raises(NPlusOneError):
        Client().get("/careless/")
