"""``manage.py seed_trust --out FILE``: data and configuration for an outside examiner; never in production."""

from __future__ import annotations

import json
import os
import sys
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from reports.trust import configuration, world


class Command(BaseCommand):
    help = "Make teams, plans, links and tokens for the trust harness and write its configuration (development only)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--out", required=True, help="the file to write")
        parser.add_argument("--base-url", default="", help="where the server answers")
        parser.add_argument("--server-pid", type=int, default=0, help="the web server's parent process")
        parser.add_argument(
            "--manage", default="python3 run.py manage", help="how the product's commands are run"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("seed_trust is for development: it makes users and secrets.")
        listed = StringIO()
        call_command("show_routes", "--json", stdout=listed)
        made = world.make(timezone.now())
        document = configuration.write(
            made,
            base_url=options["base_url"] or f"http://127.0.0.1:{os.environ.get('PORT', '8000')}",
            server_pid=options["server_pid"],
            manage=options["manage"],
            routes=json.loads(listed.getvalue()),
        )
        target = Path(options["out"])
        target.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        target.chmod(0o600)
        sys.stderr.write(
            f"{len(document['matrix']['rows'])} rows, {len(document['principals'])} principals\n"
        )
