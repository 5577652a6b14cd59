"""Lists every address the product answers, for checks that no page was forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.contrib.admindocs.views import simplify_regex
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern


def routes(resolver: URLResolver, before: str = "/") -> Iterator[str]:
    for entry in resolver.url_patterns:
        pattern = entry.pattern
        text = str(pattern)
        if not isinstance(pattern, RoutePattern):
            text = simplify_regex(text).lstrip("/")
        if isinstance(entry, URLResolver):
            yield from routes(entry, before + text)
        elif isinstance(entry, URLPattern):
            yield before + text


class Command(BaseCommand):
    help = "Lists the addresses that the product answers (development only)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="as a JSON list")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("show_routes is for development.")
        found = sorted(set(routes(get_resolver())))
        self.stdout.write(json.dumps(found, indent=1) if options["json"] else "\n".join(found))
