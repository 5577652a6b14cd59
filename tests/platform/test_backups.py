"""A backup is one moment of the whole database; a restored one gives the same plans to the byte, on both databases."""

from __future__ import annotations

import json
import stat
import threading
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.models import Team, User
from mitsumori import backups
from planner import services as planner_services
from reports import content, exports, services
from reports.kept import Kept
from reports.models import Plan, PlanVersion
from tests.factories import AT, make_team, make_user
from tests.planner.factories import make_small_catalog
from tests.reports.factories import HOSTILE, save_plan

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def plans(db: None) -> list[Plan]:
    make_small_catalog(AT)
    owner = make_user("owner@example.com", name="小野")
    team = make_team("Team 基盤", owner)
    found = [save_plan(team, owner, title, note="tab\tline\nback\\slash \\N", currency=currency).plan
             for title, currency in ((HOSTILE, "USD"), ("夜間", "JPY"))]  # fmt: skip
    services.reword(found[0], user=owner, base_number=1, words=services.Words("Two"), at=AT)
    services.share(services.newest(Plan.objects.get(pk=found[0].pk)), user=owner, at=AT)
    return found


def files() -> dict[str, bytes]:
    """Every file of every version, made anew."""
    planner_services.forget()
    exports._kept = Kept(exports.FILES_KEPT)
    return {
        f"{version.plan.slug}/{version.number}.{fmt}": exports.of_version(version, fmt, "ja").content
        for version in PlanVersion.objects.select_related("plan").order_by("pk")
        for fmt in exports.FORMATS
    }


def backup(path: Path) -> str:
    out = StringIO()
    call_command("backup", str(path), stdout=out)
    return out.getvalue()


def test_a_restored_database_gives_the_same_plans_to_the_byte(plans: list[Plan], tmp_path: Path) -> None:
    before = files()
    assert len(before) == 3 * len(exports.FORMATS)
    target = tmp_path / "backup.zip"
    assert "2 plans" in backup(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["backup.zip"]
    Plan.objects.all().delete()
    User.objects.all().delete()
    Team.objects.all().delete()
    late = make_user("late@example.com")
    save_plan(make_team("Late", late), late, "Saved after the backup")
    with pytest.raises(CommandError):
        call_command("restore", str(target), stdout=StringIO())
    out = StringIO()
    call_command("restore", str(target), "--replace", stdout=out)
    assert "2 plans" in out.getvalue()
    assert files() == before
    assert all(content.is_whole(version) for version in PlanVersion.objects.all())
    assert list(User.objects.values_list("email", "name")) == [("owner@example.com", "小野")]
    # Life goes on: numbers, constraints and triggers are those of before.
    owner = User.objects.get()
    fresh = save_plan(Team.objects.get(), owner, "After the restore")
    assert fresh.plan.pk > max(plan.pk for plan in plans)


def test_a_backup_twice_of_the_same_moment_holds_the_same_rows(plans: list[Plan], tmp_path: Path) -> None:
    counts = []
    for name in ("a.zip", "b.zip"):
        backup(tmp_path / name)
        with zipfile.ZipFile(tmp_path / name) as book:
            counts.append(json.loads(book.read("manifest.json"))["rows"])
    assert counts[0] == counts[1]
    assert counts[0]["reports_planversion"] == PlanVersion.objects.count() == 3


def test_a_backup_while_plans_are_saved_holds_whole_plans_only(plans: list[Plan], tmp_path: Path) -> None:
    owner, team = User.objects.get(), Team.objects.get()
    stop = threading.Event()

    def save() -> None:
        try:
            number = 0
            while not stop.is_set() and number < 40:
                number += 1
                save_plan(team, owner, f"Busy {number}")
        finally:
            connection.close()

    writer = threading.Thread(target=save)
    writer.start()
    try:
        backup(tmp_path / "busy.zip")
    finally:
        stop.set()
        writer.join(60)
    call_command("restore", str(tmp_path / "busy.zip"), "--replace", stdout=StringIO())
    for plan in Plan.objects.all():
        assert plan.versions.count() == plan.latest_number
        assert all(content.is_whole(version) for version in plan.versions.all())


def damaged(change: Callable[[dict[str, object]], None]) -> Callable[[bytes, Path], None]:
    def write(data: bytes, path: Path) -> None:
        source = path.with_name("whole.zip")
        source.write_bytes(data)
        with zipfile.ZipFile(source) as book, zipfile.ZipFile(path, "w") as out:
            for name in book.namelist():
                if name != "manifest.json":
                    out.writestr(name, book.read(name))
            manifest = json.loads(book.read("manifest.json"))
            change(manifest)
            out.writestr("manifest.json", json.dumps(manifest))

    return write


BAD: list[Callable[[bytes, Path], object]] = [
    lambda data, path: path.write_bytes(b""),
    lambda data, path: path.write_bytes(b"not a zip"),
    lambda data, path: path.write_bytes(data[: len(data) // 2]),
    lambda data, path: path.write_bytes(
        data.replace(b"tables", b"tablez").replace(b"database.sqlite3", b"databasX.sqlite3")
    ),
    damaged(lambda manifest: manifest.update(format="other")),
    damaged(lambda manifest: manifest.update(format_version=99)),
    damaged(lambda manifest: manifest.update(database="oracle")),
    damaged(lambda manifest: manifest.update(migrations=[["reports", "9999_future"]])),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_a_file_that_is_no_backup_changes_nothing(plans: list[Plan], tmp_path: Path, number: int) -> None:
    before = list(PlanVersion.objects.order_by("pk").values_list("pk", "fingerprint"))
    backup(tmp_path / "good.zip")
    bad = tmp_path / "bad.zip"
    BAD[number]((tmp_path / "good.zip").read_bytes(), bad)
    with pytest.raises(CommandError) as refused:
        call_command("restore", str(bad), "--replace", stdout=StringIO())
    assert len(str(refused.value)) > 10
    assert list(PlanVersion.objects.order_by("pk").values_list("pk", "fingerprint")) == before


def test_a_backup_that_cannot_be_written_says_so(plans: list[Plan], tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        backup(tmp_path / "nowhere" / "backup.zip")
    with pytest.raises(CommandError):
        call_command("restore", str(tmp_path / "missing.zip"), stdout=StringIO())


def test_half_a_restore_is_none(plans: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops in the middle: what was there stays."""
    before = list(PlanVersion.objects.order_by("pk").values_list("pk", flat=True))
    backup(tmp_path / "good.zip")

    def fail(*_arguments: object) -> None:
        raise backups.BackupError("stopped")

    name = "_set_sequences" if connection.vendor == "postgresql" else "_restore_sqlite"
    monkeypatch.setattr(backups, name, fail)
    with pytest.raises(CommandError):
        call_command("restore", str(tmp_path / "good.zip"), "--replace", stdout=StringIO())
    assert list(PlanVersion.objects.order_by("pk").values_list("pk", flat=True)) == before
