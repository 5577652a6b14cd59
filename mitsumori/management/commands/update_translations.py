"""``update_translations``: the Japanese catalogue brought up to the code, and compiled.

Needs gettext (``apt-get install gettext``). New sentences come out empty; tests/platform/test_translations.py
names them until they are written. No dates and no line numbers are kept, so only what changed differs.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.core.management.commands import makemessages

NOT_OURS = [".venv/*", "var/*", "node_modules/*", "tests/*", "static/*", "docs/*"]
CHANGING_HEADERS = re.compile(r'^"(POT-Creation-Date|PO-Revision-Date): .*\\n"\n', re.MULTILINE)


class _Messages(makemessages.Command):
    # A sentence that merely resembles a translated one is not translated.
    msgmerge_options = ["-q", "--backup=none", "--previous", "--update", "--no-fuzzy-matching"]


class Command(BaseCommand):
    help = "Collect the sentences of the product into locale/ja and compile them."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        with contextlib.chdir(settings.BASE_DIR):
            call_command(
                _Messages(), locale=["ja"], ignore_patterns=NOT_OURS, add_location="file", no_wrap=True,
                no_obsolete=True, verbosity=0,
            )  # fmt: skip
            catalogue = Path("locale/ja/LC_MESSAGES/django.po")
            text = CHANGING_HEADERS.sub("", catalogue.read_text(encoding="utf-8"))
            catalogue.write_text(text, encoding="utf-8")
            call_command("compilemessages", locale=["ja"], ignore_patterns=NOT_OURS, verbosity=0)
        self.stdout.write(f"{text.count('msgid ') - 1} sentences in {catalogue}")
