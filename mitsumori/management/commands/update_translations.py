"""``update_translations``: the Japanese catalogue brought up to the code and the shipped data, and compiled.

Needs gettext (``apt-get install gettext``). New sentences come out empty; tests/platform/test_translations.py
names them until they are written. No dates and no line numbers are kept, so only what changed differs.
"""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.core.management.commands import makemessages
from django.utils.functional import cached_property

from catalog.source_words import CONTEXT
from mitsumori.quoted_texts import files, quoted_texts

NOT_OURS = [".venv/*", "var/*", "node_modules/*", "tests/*", "static/*", "docs/*"]
DATA = frozenset({".json", ".csv"})
CHANGING_HEADERS = re.compile(r'^"(POT-Creation-Date|PO-Revision-Date): .*\\n"\n', re.MULTILINE)


class _File(makemessages.BuildFile):
    """A file whose quoted texts are collected too, as if it had asked for their words itself."""

    @cached_property
    def quoted(self) -> list[str]:
        return quoted_texts(self.path.removeprefix("./"))

    @cached_property
    def is_templatized(self) -> bool:
        return bool(self.quoted) or super().is_templatized

    def preprocess(self) -> None:
        path = Path(self.path)
        if path.suffix in DATA:
            Path(self.work_path).write_text(_calls(self.quoted), encoding="utf-8")
        elif path.suffix == ".py" and self.quoted:
            own = path.read_text(encoding="utf-8")
            Path(self.work_path).write_text(f"{own}\n{_calls(self.quoted)}", encoding="utf-8")
        else:
            super().preprocess()


def _calls(texts: list[str]) -> str:
    return "".join(
        f"# xgettext:no-python-format, no-python-brace-format\npgettext({json.dumps(CONTEXT)}, "
        f"{json.dumps(text, ensure_ascii=False)})\n"
        for text in texts
    )


class _Messages(makemessages.Command):
    # A sentence that merely resembles a translated one is not translated.
    msgmerge_options = ["-q", "--backup=none", "--previous", "--update", "--no-fuzzy-matching"]
    build_file_class = _File

    def find_files(self, root: str) -> list[Any]:
        return [
            each
            for each in super().find_files(root)
            if Path(each.file).suffix not in DATA or each.path.removeprefix("./") in files()
        ]


class Command(BaseCommand):
    help = "Collect the sentences of the product into locale/ja and compile them."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        with contextlib.chdir(settings.BASE_DIR):
            call_command(
                _Messages(), locale=["ja"], ignore_patterns=NOT_OURS, add_location="file", no_wrap=True,
                no_obsolete=True, verbosity=0,
                extensions=["html", "txt", "py", "json", "csv"],
            )  # fmt: skip
            catalogue = Path("locale/ja/LC_MESSAGES/django.po")
            text = CHANGING_HEADERS.sub("", catalogue.read_text(encoding="utf-8"))
            catalogue.write_text(text, encoding="utf-8")
            call_command("compilemessages", locale=["ja"], ignore_patterns=NOT_OURS, verbosity=0)
        self.stdout.write(f"{text.count('msgid ') - 1} sentences in {catalogue}")
