"""How the environment becomes settings, asked in a process of its own."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[2]
SECRET = "0123456789abcdefghij" * 3
GOOD = {"ALLOWED_HOSTS": "a.example", "SECRET_KEY": SECRET}
ASK = """
import json, sys
from django.conf import settings
from django.core.management import call_command
names = sys.argv[1:]
print(json.dumps({name: getattr(settings, name) for name in names}, default=str))
"""


def started(tmp_path: Path, code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "mitsumori.settings",
        "MITSUMORI_DATA_DIR": str(tmp_path / "data"),
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=HERE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def read(tmp_path: Path, *names: str, **variables: str) -> dict[str, object]:
    process = started(tmp_path, ASK, *names, **variables)
    assert process.returncode == 0, process.stderr
    found: dict[str, object] = json.loads(process.stdout)
    return found


def test_a_development_machine_needs_nothing_and_keeps_its_secret(tmp_path: Path) -> None:
    first = read(tmp_path, "SECRET_KEY", "DEBUG", "CELERY_BROKER_URL", "ALLOWED_HOSTS")
    assert first["DEBUG"] is False
    assert str(first["CELERY_BROKER_URL"]).startswith("filesystem:")
    assert "*" not in str(first["ALLOWED_HOSTS"])
    assert len(str(first["SECRET_KEY"])) >= 50
    assert read(tmp_path, "SECRET_KEY")["SECRET_KEY"] == first["SECRET_KEY"]
    kept = tmp_path / "data" / "secret_key"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert (tmp_path / "data" / "broker" / "queue").is_dir()


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, "SECRET_KEY and ALLOWED_HOSTS"),
        ({"SECRET_KEY": SECRET}, "needs ALLOWED_HOSTS"),
        ({"ALLOWED_HOSTS": "a.example"}, "needs SECRET_KEY"),
        ({"ALLOWED_HOSTS": "a.example", "SECRET_KEY": "short"}, "too short"),
        (
            {"ALLOWED_HOSTS": "a.example", "SECRET_KEY": SECRET, "DATABASE_URL": "mysql://x"},
            "DATABASE_URL must",
        ),
        ({**GOOD, "PORT": "eighty"}, "PORT"),
        ({**GOOD, "MITSUMORI_SIGNUP": "maybe"}, "signup"),
        ({**GOOD, "MITSUMORI_SINGLE_USER": "1"}, "not for production"),
    ],
)
def test_production_refuses_to_start_half_set_up(
    tmp_path: Path, variables: dict[str, str], told: str
) -> None:
    process = started(tmp_path, ASK, "DEBUG", MITSUMORI_MODE="production", **variables)
    assert process.returncode != 0
    assert told in process.stderr.strip().splitlines()[-1]


def test_production_is_tight(tmp_path: Path) -> None:
    production = {
        "MITSUMORI_MODE": "production",
        "MITSUMORI_DEBUG": "1",
        "SECRET_KEY": SECRET,
        "ALLOWED_HOSTS": "a.example, b.example",
        "DATABASE_URL": "postgresql://us%40er:p%2Fw@db.example:5433/plans?sslmode=require",
        "REDIS_URL": "redis://cache.example/0",
        "EMAIL_URL": "smtp://u:p@mail.example:2525",
    }
    found = read(
        tmp_path,
        *("DEBUG", "ALLOWED_HOSTS", "SESSION_COOKIE_NAME", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_NAME"),
        *(
            "DATABASES",
            "CELERY_BROKER_URL",
            "EMAIL_HOST",
            "EMAIL_PORT",
            "EMAIL_USE_TLS",
            "SECURE_SSL_REDIRECT",
        ),
        **production,
    )
    assert found["DEBUG"] is False
    assert found["ALLOWED_HOSTS"] == ["a.example", "b.example"]
    assert found["SESSION_COOKIE_NAME"] == "__Host-sessionid"
    assert found["CSRF_COOKIE_NAME"] == "__Host-csrftoken"
    assert found["SESSION_COOKIE_SECURE"] is found["SECURE_SSL_REDIRECT"] is True
    database = found["DATABASES"]["default"]  # type: ignore[index]
    assert (database["USER"], database["PASSWORD"], database["PORT"]) == ("us@er", "p/w", "5433")
    assert database["OPTIONS"]["sslmode"] == "require"
    assert database["CONN_HEALTH_CHECKS"] is True
    assert found["CELERY_BROKER_URL"] == "redis://cache.example/0"
    assert (found["EMAIL_HOST"], found["EMAIL_PORT"], found["EMAIL_USE_TLS"]) == ("mail.example", 2525, True)
    assert not (tmp_path / "data" / "secret_key").exists()
    check = "import django; django.setup(); from django.core.management import call_command as c; "
    deployed = started(tmp_path, check + "c('check', deploy=True, fail_level='WARNING')", **production)
    assert deployed.returncode == 0, deployed.stderr


def test_an_address_of_a_source_is_read_by_its_name(tmp_path: Path) -> None:
    found = read(tmp_path, "SOURCE_BASE_URLS", AZURE_BASE_URL="http://127.0.0.1:1/azure", AWS_BASE_URL="")
    assert found["SOURCE_BASE_URLS"] == {"azure": "http://127.0.0.1:1/azure"}


def test_no_variable_can_switch_on_eager_jobs(tmp_path: Path) -> None:
    assert "CELERY_TASK_ALWAYS_EAGER" not in (HERE / "mitsumori" / "settings.py").read_text(encoding="utf-8")


def test_sign_up_can_be_closed_and_one_person_can_work_alone(tmp_path: Path) -> None:
    assert read(tmp_path, "SIGN_UP_OPEN")["SIGN_UP_OPEN"] is True
    assert read(tmp_path, "SIGN_UP_OPEN", MITSUMORI_SIGNUP="closed")["SIGN_UP_OPEN"] is False
    alone = read(tmp_path, "SINGLE_USER", "SIGN_UP_OPEN", MITSUMORI_SINGLE_USER="1")
    assert (alone["SINGLE_USER"], alone["SIGN_UP_OPEN"]) == (True, False)
