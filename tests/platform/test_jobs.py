"""Handing a job over is quick, also when nobody takes it."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest
from celery import Celery
from celery.contrib.testing.worker import start_worker
from django.conf import settings as django_settings

from mitsumori.celery import app as product_app


def app_on(broker_url: str) -> Celery:
    app = Celery("probe", set_as_current=False)
    app.conf.update(
        {
            name: getattr(product_app.conf, name)
            for name in ("task_ignore_result", "task_publish_retry", "task_serializer")
        }
    )
    app.conf.broker_url = broker_url
    app.conf.broker_connection_timeout = product_app.conf.broker_connection_timeout
    app.conf.broker_transport_options = {
        "socket_timeout": 1.0,
        "socket_connect_timeout": 1.0,
        "retry_on_timeout": False,
        "max_retries": 0,
    }
    return app


def test_the_settings_that_keep_a_request_from_hanging_hold() -> None:
    assert product_app.conf.task_ignore_result is True
    assert product_app.conf.task_publish_retry is False
    assert product_app.conf.task_always_eager is False
    assert product_app.conf.task_time_limit < 3600
    assert django_settings.CELERY_BEAT_SCHEDULER == "django_celery_beat.schedulers:DatabaseScheduler"


def test_handing_over_to_a_broker_that_is_away_fails_within_two_seconds() -> None:
    app = app_on("redis://127.0.0.1:1/0")
    started_s = time.monotonic()
    with pytest.raises(Exception, match=r"refused|Error"):
        app.send_task("probe")
    assert time.monotonic() - started_s < 2


def test_handing_over_to_a_silent_broker_fails_within_four_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        app = app_on(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        started_s = time.monotonic()
        with pytest.raises(Exception, match=r"(?i)time"):
            app.send_task("probe")
        assert time.monotonic() - started_s < 4


@pytest.mark.broker
def test_a_job_arrives_over_a_real_broker(valkey_url: str) -> None:
    app = app_on(valkey_url)
    arrived = threading.Event()

    @app.task(name="probe.arrive")  # type: ignore[untyped-decorator]
    def arrive() -> Any:
        arrived.set()

    with start_worker(app, perform_ping_check=False, pool="solo"):
        arrive.delay()
        assert arrived.wait(10)
