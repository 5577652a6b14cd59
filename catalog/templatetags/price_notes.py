"""Notes beside prices: ours in the reader's language, a source's own marked as English."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from catalog.note_words import LISTED_AS, NOTES

register = template.Library()


@register.filter
def noted(note: str) -> SafeString:
    """A note, part by part."""
    parts = [note] if note in NOTES else note.split("; ")
    return format_html_join("; ", "{}", ((_part(part),) for part in parts if part))


def _part(note: str) -> SafeString:
    if note in NOTES:
        return format_html("{}", NOTES[note])
    if note.startswith(LISTED_AS):
        name = format_html('<span lang="en">{}</span>', note.removeprefix(LISTED_AS))
        return format_html(_("listed as {name}"), name=name)
    return format_html('<span lang="en">{}</span>', note)
