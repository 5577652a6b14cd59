"""``manage.py import_plan FILE --user EMAIL [--team NAME]``: a plan back from its JSON file; prints its address."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts.models import Role, Team, User
from accounts.services import personal_team
from reports import importing


class Command(BaseCommand):
    help = "Read a plan back from its JSON file, with the same content and fingerprint; prints its address."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the JSON file of a plan; - is standard input")
        parser.add_argument("--user", required=True, help="e-mail address of the one who imports it")
        parser.add_argument(
            "--team", help="name of a team in which that person may edit; the personal one by default"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(email=options["user"].lower()).first()
        if user is None:
            raise CommandError(f"There is no account {options['user']}.", returncode=2)
        at = timezone.now()
        try:
            data = sys.stdin.buffer.read() if options["file"] == "-" else Path(options["file"]).read_bytes()
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}.", returncode=2) from None
        try:
            version = importing.import_plan(
                data, team=self._team(user, options["team"], at), user=user, at=at
            )
        except importing.NotAPlanError as refused:
            raise CommandError(str(refused), returncode=2) from None
        self.stdout.write(version.plan.slug)

    def _team(self, user: User, name: str | None, at: Any) -> Team:
        if not name:
            return personal_team(user, at=at)
        may = (Role.EDITOR, Role.OWNER)
        found = list(Team.objects.filter(name=name, memberships__user=user, memberships__role__in=may)[:2])
        if len(found) != 1:
            raise CommandError(
                f"{len(found) or 'No'} team of that name in which {user.email} may edit.", returncode=2
            )
        return found[0]
