"""What all tests share: the clock's time, people, a browser, and what is told when something cannot run."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import translation
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker
from whitenoise.middleware import WhiteNoiseMiddleware

from accounts.models import Team, User
from accounts.services import personal_team
from catalog import kept_lists
from planner import services as planner_services
from tests.factories import AT, make_user
from tests.services import ValkeyServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page

hypothesis_settings.register_profile("project", derandomize=True, deadline=None, database=None)
hypothesis_settings.load_profile("project")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
NO_CHROMIUM = "no Chromium: sudo apt-get install -y chromium fonts-noto-cjk libatomic1"
NO_MEASUREMENTS = "no measurement files (MITSUMORI_MEASUREMENTS)"
NO_MODEL_CONFIGS = "no published model configs: pip install --no-deps -r requirements-test-data.txt"
MODEL_CONFIGS = importlib.util.find_spec("aiconfigurator_core")
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_reset_sequences"}
UNDER_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--database-only", action="store_true", help="only tests that touch the database")
    parser.addoption("--summary-file", default="", help="where to write the counts of this run as JSON")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--database-only"):
        chosen = [item for item in items if _touches_database(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen
    for item in items:
        if item.get_closest_marker("measurements") and not Path(settings.MEASUREMENTS_DIR).is_dir():
            item.add_marker(pytest.mark.skip(reason=NO_MEASUREMENTS))
        if item.get_closest_marker("model_configs") and MODEL_CONFIGS is None and not UNDER_CI:
            item.add_marker(pytest.mark.skip(reason=NO_MODEL_CONFIGS))
        if item.get_closest_marker("browser") and CHROMIUM is None and not UNDER_CI:
            item.add_marker(pytest.mark.skip(reason=NO_CHROMIUM))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is loaded by now stays: the collector need not walk through all of it again and again."""
    gc.collect()
    gc.freeze()


def _touches_database(item: pytest.Item) -> bool:
    """Whether the answer may depend on which database it is."""
    if item.get_closest_marker("one_database"):
        return False
    marked = item.get_closest_marker("django_db") or item.get_closest_marker("every_database")
    return marked is not None or bool(DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    without_browser = sum(NO_CHROMIUM in reason for reason in skipped)
    if without_browser:
        terminalreporter.section("BROWSER TESTS WERE NOT RUN", red=True, bold=True)
        terminalreporter.line(f"{without_browser} tests need Chromium. {NO_CHROMIUM}", red=True)
    without_configs = sum(NO_MODEL_CONFIGS in reason for reason in skipped)
    if without_configs:
        terminalreporter.section("TESTS OF PUBLISHED MODEL CONFIGS WERE NOT RUN", red=True, bold=True)
        terminalreporter.line(f"{without_configs} tests. {NO_MODEL_CONFIGS}", red=True)
    counts = {
        name: len(terminalreporter.stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")
    }
    counts["measurements_not_run"] = sum(NO_MEASUREMENTS in reason for reason in skipped)
    counts["browser_not_run"] = without_browser
    counts["model_configs_not_run"] = without_configs
    if config.getoption("--summary-file"):
        Path(config.getoption("--summary-file")).write_text(json.dumps(counts), encoding="utf-8")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """PostgreSQL drops no database that a session is left in, as of a process that a test has just killed."""
    yield
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


@pytest.fixture(autouse=True)
def nothing_kept_of_another_test() -> None:
    """Markets and placements are kept per process and catalog version; a rolled-back database repeats versions."""
    planner_services.forget()
    kept_lists.forget()


@pytest.fixture(autouse=True)
def fresh_cache() -> None:
    """Rate limits count in the cache; no test inherits another one's attempts."""
    cache.clear()


@pytest.fixture(autouse=True)
def language_of_no_other_test() -> Iterator[None]:
    """A request in Japanese leaves its language behind in the thread."""
    yield
    translation.deactivate()


@pytest.fixture(scope="session", autouse=True)
def static_files_described_once() -> Iterator[None]:
    """Every test client sets the middleware up anew, and with it asks the disk about each of the static files."""
    known: dict[str, dict[str, Any]] = {}
    describe = WhiteNoiseMiddleware.add_files_from_finders

    def add(middleware: WhiteNoiseMiddleware) -> None:
        if middleware.static_prefix not in known:
            describe(middleware)
            known[middleware.static_prefix] = dict(middleware.files)
        middleware.files.update(known[middleware.static_prefix])

    WhiteNoiseMiddleware.add_files_from_finders = add
    yield
    WhiteNoiseMiddleware.add_files_from_finders = describe


@pytest.fixture
def at() -> datetime:
    """The moment at which everything in the test happens."""
    return AT


@pytest.fixture
def user(db: None) -> User:
    return make_user("owner@example.com")


@pytest.fixture
def team(user: User) -> Team:
    return personal_team(user, at=AT)


@pytest.fixture
def user_client(user: User, team: Team) -> Client:
    """A client signed in as `user`, the owner of `team`."""
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


@pytest.fixture
def measurements() -> Path:
    """The folder of the measurement files (tests that use it carry the marker of the same name)."""
    return Path(settings.MEASUREMENTS_DIR)


@pytest.fixture(scope="session")
def model_configs() -> Path:
    """The folder of published ``config.json`` files (tests that use it carry the marker of the same name)."""
    assert MODEL_CONFIGS is not None, NO_MODEL_CONFIGS
    assert MODEL_CONFIGS.origin is not None
    return Path(MODEL_CONFIGS.origin).parent / "model_configs"


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    """A real Redis-compatible server; its address."""
    server = ValkeyServer()
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.fail(NO_CHROMIUM, pytrace=False)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture
def context(browser: Browser, live_server: Any) -> Iterator[BrowserContext]:
    """A fresh browser profile that starts at the live server."""
    fresh = browser.new_context(base_url=live_server.url, locale="en-GB", timezone_id="UTC")
    fresh.set_default_timeout(15_000)
    yield fresh
    fresh.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page; a script error, a CSP violation or an unexpected dialog fails the test at its end."""
    fresh = context.new_page()
    troubles: list[str] = []
    fresh.on("pageerror", lambda error: troubles.append(f"script error: {error}"))

    def hear(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            troubles.append(message.text)

    fresh.on("console", hear)

    def refuse(dialog: Dialog) -> None:
        troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    fresh.on("dialog", refuse)
    yield fresh
    assert troubles == []
