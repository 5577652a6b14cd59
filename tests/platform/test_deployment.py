"""The container set-up names commands, variables and files that exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

from mitsumori.settings import Environment

HERE = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((HERE / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = ("prepare", "web", "worker", "beat")


def asked_by_sources() -> set[str]:
    """Every variable that a price source is given beside its address."""
    text = (HERE / "mitsumori" / "settings.py").read_text(encoding="utf-8")
    block = text.partition("SOURCE_CREDENTIALS = {")[2].partition("}.items()")[0]
    return set(re.findall(r'"([A-Z][A-Z_]+)"', block))


def read_names() -> set[str]:
    """Every variable that the settings or gunicorn read."""
    names = {"FORWARDED_ALLOW_IPS", *asked_by_sources()}
    for name, field in Environment.model_fields.items():
        names.add(f"MITSUMORI_{name.upper()}")
        names |= {str(choice) for choice in getattr(field.validation_alias, "choices", [])}
    return names


def exists(words: list[str]) -> bool:
    if words[0] == "python":
        return (HERE / words[1]).is_file() and words[2] in get_commands()
    return importlib.util.find_spec(words[0]) is not None


@pytest.mark.parametrize("name", OURS)
def test_every_service_of_ours_starts_a_command_that_exists(name: str) -> None:
    assert exists(SERVICES[name]["command"])


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    assert not exists(["python", "manage.py", "no_such_command"])
    assert not exists(["no_such_server"])


@pytest.mark.parametrize("name", ["web", "worker", "postgres", "valkey"])
def test_every_server_has_a_health_check(name: str) -> None:
    test = SERVICES[name]["healthcheck"]["test"]
    assert test[0] in {"CMD", "CMD-SHELL"}
    if name in OURS:
        assert exists(test[1:] if test[0] == "CMD" else shlex.split(test[1]))


@pytest.mark.parametrize("name", OURS)
def test_every_variable_that_is_set_is_read(name: str) -> None:
    assert set(SERVICES[name]["environment"]) <= read_names()


def test_what_price_sources_ask_for_reaches_the_containers() -> None:
    assert "GCP_API_KEY" in asked_by_sources()
    assert asked_by_sources() <= set(SERVICES["worker"]["environment"])


def test_secrets_are_asked_for_and_never_written_down() -> None:
    text = (HERE / "docker-compose.yml").read_text(encoding="utf-8")
    for name in ("SECRET_KEY", "ALLOWED_HOSTS", "POSTGRES_PASSWORD"):
        assert f"${{{name}:?" in text
    assert not re.search(r"PASSWORD: [A-Za-z0-9]", text)


def test_nobody_but_this_host_reaches_the_web_server_and_nobody_the_data() -> None:
    assert SERVICES["web"]["ports"] == ["127.0.0.1:${PORT:-8000}:8000"]
    assert "ports" not in SERVICES["postgres"]
    assert "ports" not in SERVICES["valkey"]


def test_the_image_copies_files_that_exist_and_runs_without_root() -> None:
    lines = (HERE / "Dockerfile").read_text(encoding="utf-8").splitlines()
    given = dict(line.removeprefix("ARG ").split("=", 1) for line in lines if line.startswith("ARG "))
    for line in lines:
        if line.startswith("COPY"):
            assert (HERE / Template(line.split()[1]).substitute(given)).exists(), line
        if line.startswith("RUN python -m compileall"):
            assert all((HERE / folder).is_dir() for folder in line.split()[5:]), line
    assert "USER mitsumori" in lines


def test_the_locks_are_pinned_by_hash_and_name_no_address() -> None:
    runtime, tests = (
        (HERE / name).read_text(encoding="utf-8") for name in ("requirements.txt", "requirements-test.txt")
    )
    for text in (runtime, tests):
        assert "://" not in text
        pins = re.findall(r"^([a-z0-9._-]+(?:\[[^\]]+\])?)==([^ ;\\]+)", text, re.MULTILINE)
        assert len(pins) > 50
        blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)
        assert all("--hash=sha256:" in block for block in blocks if "==" in block)
    pinned = dict(re.findall(r"^([a-z0-9._-]+)(?:\[[^\]]+\])?==([^ ;\\]+)", runtime, re.MULTILINE))
    tested = dict(re.findall(r"^([a-z0-9._-]+)(?:\[[^\]]+\])?==([^ ;\\]+)", tests, re.MULTILINE))
    assert {name: tested.get(name) for name in pinned} == pinned, "tests run what production runs"
