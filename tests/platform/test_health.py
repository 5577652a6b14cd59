from __future__ import annotations

import os
import socket
import time
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from mitsumori import broker


@pytest.fixture(autouse=True)
def fresh_broker_answer() -> Any:
    broker.forget_answer()
    yield
    broker.forget_answer()


@pytest.mark.django_db
def test_health_is_good_while_the_database_answers() -> None:
    response = Client().get("/healthz")
    assert response.status_code == 200
    body = response.json()
    assert (body["status"], body["database"], body["broker"]) == ("ok", "ok", "ok")
    assert body["catalog_age_days"] is None or body["catalog_age_days"] >= 0


@pytest.mark.django_db
def test_the_age_of_an_empty_catalog_is_unknown_and_not_zero() -> None:
    from catalog.models import Price

    if not Price.objects.exists():
        assert Client().get("/healthz").json()["catalog_age_days"] is None


@pytest.mark.django_db
def test_health_is_503_when_the_database_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    def away(*args: object, **kwargs: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(connection, "cursor", away)
    response = Client().get("/healthz")
    assert response.status_code == 503
    assert response.json()["database"] == "away"
    assert response.headers["Retry-After"] == "5"


@pytest.mark.django_db
def test_a_broker_that_is_away_is_told_but_does_no_harm(settings: Settings) -> None:
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    response = Client().get("/healthz")
    assert response.status_code == 200
    assert response.json()["broker"] == "away"


def test_a_silent_broker_costs_a_fraction_of_a_second_and_is_asked_once(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.CELERY_BROKER_URL = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        started_s = time.monotonic()
        assert broker.broker_answers() is False
        assert time.monotonic() - started_s < 1.5
        started_s = time.monotonic()
        assert broker.broker_answers() is False
        assert time.monotonic() - started_s < 0.5


@pytest.mark.broker
def test_a_real_broker_answers(settings: Settings, valkey_url: str) -> None:
    settings.CELERY_BROKER_URL = valkey_url
    assert broker.broker_answers() is True


@pytest.mark.django_db
def test_the_database_of_the_run_is_the_one_that_was_asked_for() -> None:
    wanted = {"sqlite": "sqlite", "postgres": "postgresql"}[os.environ.get("TEST_DATABASE", "sqlite")]
    assert connection.vendor == wanted
    if wanted == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA foreign_keys")
            assert cursor.fetchone() == (1,)


@pytest.mark.django_db
def test_metrics_need_the_token(settings: Settings) -> None:
    client = Client()
    assert client.get("/metrics").status_code == 404
    settings.METRICS_TOKEN = "t0ken"
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
    response = client.get("/metrics", headers={"Authorization": "Bearer t0ken"})
    assert response.status_code == 200
    assert b"django_http_requests" in response.content
