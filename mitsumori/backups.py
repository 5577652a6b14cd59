"""A consistent copy of the whole database in one file, and back: for SQLite and for PostgreSQL.

The file is a zip with a manifest. From SQLite it holds a database that `VACUUM INTO` wrote, from PostgreSQL one part
for each table, all read in one snapshot by the server's own COPY; no program besides the database is needed. Nothing
stops while a backup is made. A restore is one transaction: it is whole, or it did not happen.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from django.apps import apps
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from mitsumori import __version__

FORMAT = "mitsumori-backup"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
DATABASE = "database.sqlite3"
PIECE_BYTES = 1024 * 1024


class BackupError(ValueError):
    """Why no backup or restore was made: one sentence."""


def write(target: Path, at: datetime) -> dict[str, Any]:
    """Writes the backup beside ``target`` first, and puts it in place when it is whole. Returns the manifest."""
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "product_version": __version__,
        "made_at": at.isoformat(),
        "database": connection.vendor,
        "migrations": _applied(),
    }
    handle, name = tempfile.mkstemp(
        prefix=f".{target.name}.", dir=target.parent
    )  # readable by its owner alone
    os.close(handle)
    part = Path(name)
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=6, allowZip64=True) as book:
            if connection.vendor == "sqlite":
                manifest["rows"] = _write_sqlite(book)
            else:
                manifest["rows"] = _write_postgresql(book)
            book.writestr(MANIFEST, json.dumps(manifest, indent=1, sort_keys=True))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return manifest


def restore(source: Path, *, replace: bool) -> dict[str, Any]:
    """Puts the backup in the place of what the database holds. Raises `BackupError`, and then nothing changed.

    ``replace`` must say that plans and people that are there now may be lost.
    """
    try:
        with zipfile.ZipFile(source) as book:
            manifest = _manifest(book)
            _demand_fitting(manifest)
            if not replace and _is_used():
                raise BackupError("The database holds people or plans; --replace says that they may be lost.")
            if connection.vendor == "sqlite":
                _restore_sqlite(book)
            else:
                _restore_postgresql(book, manifest)
    except (zipfile.BadZipFile, EOFError, KeyError) as error:
        raise BackupError(f"The file is no backup, or is damaged ({error}).") from None
    return manifest


def _manifest(book: zipfile.ZipFile) -> dict[str, Any]:
    broken = book.testzip()
    if broken is not None:
        raise BackupError(f"The file is damaged: {broken} cannot be read.")
    try:
        manifest = json.loads(book.read(MANIFEST))
    except ValueError:
        raise BackupError("The file is no backup: its manifest cannot be read.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise BackupError("The file is no backup of this product.")
    if manifest.get("format_version") != FORMAT_VERSION:
        raise BackupError(
            "The backup was written in another format; use the version of the product that wrote it."
        )
    return manifest


def _demand_fitting(manifest: dict[str, Any]) -> None:
    if manifest.get("database") != connection.vendor:
        raise BackupError(
            f"The backup is of {manifest.get('database')}, this database is {connection.vendor}."
        )
    theirs = {tuple(each) for each in manifest.get("migrations", [])}
    known = set(MigrationLoader(None).disk_migrations)
    if theirs - known:
        raise BackupError("The backup was made by a newer version of the product; install that one.")
    if connection.vendor != "sqlite" and theirs != {tuple(each) for each in _applied()}:
        raise BackupError(
            f"The backup was made by version {manifest.get('product_version')} of the product; restore it with that "
            "version, and update afterwards."
        )


def _applied() -> list[list[str]]:
    return sorted([app, name] for app, name in MigrationRecorder(connection).applied_migrations())


def _is_used() -> bool:
    return any(apps.get_model(name).objects.exists() for name in ("accounts.User", "reports.Plan"))


# --- SQLite ------------------------------------------------------------------------------------------------


def _write_sqlite(book: zipfile.ZipFile) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / DATABASE
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(copy)])
        with sqlite3.connect(copy) as database:
            rows = _sqlite_counts(database)
        database.close()
        book.write(copy, DATABASE)
    return rows


def _sqlite_counts(database: sqlite3.Connection) -> dict[str, int]:
    names = [
        row[0]
        for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    ]
    quoted = ((name, '"' + name.replace('"', '""') + '"') for name in names if not name.startswith("sqlite_"))
    return {name: database.execute(f"SELECT count(*) FROM {sql}").fetchone()[0] for name, sql in quoted}  # noqa: S608  # nosec B608


def _restore_sqlite(book: zipfile.ZipFile) -> None:
    """Copies the pages of the backup over the database in one step, which readers see as one transaction."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / DATABASE
        with book.open(DATABASE) as stream, copy.open("wb") as out:
            while piece := stream.read(PIECE_BYTES):
                out.write(piece)
        database = sqlite3.connect(copy)
        try:
            found = database.execute("PRAGMA integrity_check").fetchone()[0]
            if found != "ok":
                raise BackupError(f"The database in the backup is damaged ({found}).")
            connection.ensure_connection()
            database.backup(cast(sqlite3.Connection, connection.connection))
        except sqlite3.DatabaseError as error:
            raise BackupError(f"The database in the backup cannot be used ({error}).") from None
        finally:
            database.close()
    connection.close()


# --- PostgreSQL --------------------------------------------------------------------------------------------


def _tables() -> list[str]:
    return sorted(connection.introspection.table_names())


def _columns(cursor: Any, table: str) -> list[str]:
    cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = %s "
        "AND is_generated = 'NEVER' ORDER BY ordinal_position",
        [table],
    )
    return [row[0] for row in cursor.fetchall()]


@contextmanager
def _snapshot() -> Iterator[Any]:
    """A cursor that sees one moment, however long it reads."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield cursor


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


def _write_postgresql(book: zipfile.ZipFile) -> dict[str, int]:
    rows = {}
    with _snapshot() as cursor:
        for table in _tables():
            columns = _columns(cursor, table)
            listed = ", ".join(map(_quoted, columns))
            count = 0
            with book.open(f"tables/{table}", "w", force_zip64=True) as part:
                part.write((json.dumps(columns) + "\n").encode())
                with cursor.copy(f"COPY (SELECT {listed} FROM {_quoted(table)}) TO STDOUT") as copy:  # noqa: S608  # nosec B608
                    for piece in copy:
                        part.write(piece)
                        count += bytes(piece).count(b"\n")  # a line end inside a value is written as \n
            rows[table] = count
    return rows


def _restore_postgresql(book: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
    """Empties every table and fills it, in one transaction; references are checked at its end."""
    tables = sorted(manifest["rows"])
    if set(tables) != set(_tables()):
        raise BackupError("The backup has other tables than this database.")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(map(_quoted, tables))} RESTART IDENTITY CASCADE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        for table in tables:
            with book.open(f"tables/{table}") as part:
                columns = json.loads(part.readline())
                if set(columns) != set(_columns(cursor, table)):
                    raise BackupError(f"The backup has other columns in {table}.")
                listed = ", ".join(map(_quoted, columns))
                with cursor.copy(f"COPY {_quoted(table)} ({listed}) FROM STDIN") as copy:
                    while piece := part.read(PIECE_BYTES):
                        copy.write(piece)
        _set_sequences(cursor)


def _set_sequences(cursor: Any) -> None:
    """Numbers go on after the highest that came back."""
    for table in _tables():
        for column in connection.introspection.get_sequences(cursor, table):
            sequence = f"pg_get_serial_sequence({_literal(_quoted(table))}, {_literal(column['column'])})"
            name = _quoted(column["column"])
            cursor.execute(
                f"SELECT setval({sequence}, coalesce(max({name}), 1), max({name}) IS NOT NULL) FROM {_quoted(table)}"  # noqa: S608  # nosec B608
            )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
