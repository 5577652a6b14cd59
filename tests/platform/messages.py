"""Sentences of the product as its code and templates hold them, found without gettext's tools; and what a page says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.utils.translation.template import templatize

from catalog.source_words import CONTEXT
from mitsumori.quoted_texts import files, quoted_texts

ELSEWHERE = {".venv", "var", "node_modules", "tests", "static", "docs", "locale", "staticfiles"}
PLAIN = {"gettext", "gettext_lazy", "gettext_noop", "_"}
PLURAL = {"ngettext", "ngettext_lazy"}
IN_CONTEXT = {"pgettext", "pgettext_lazy"}
CONTEXT_PLURAL = {"npgettext", "npgettext_lazy"}
LITERAL = r"\s*u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\s*,?"
IN_TEMPLATE = re.compile(rf"\b(npgettext|pgettext|ngettext|gettext|_)\(((?:{LITERAL})+)")
PLACEHOLDER = re.compile(r"%(?:\((\w+)\))?(?:\.\d+)?[sdfg]|%%")
TAG = re.compile(r"</?\w+")


class Message(NamedTuple):
    singular: str
    plural: str = ""
    context: str = ""


def used_messages() -> dict[Message, str]:
    """Every message with the file that uses it."""
    found: dict[Message, str] = {}
    for path in _files():
        text = path.read_text(encoding="utf-8")
        place = str(path.relative_to(settings.BASE_DIR))
        messages = _in_python(text) if path.suffix == ".py" else _in_template(text)
        for message in messages:
            found.setdefault(message, place)
    for place in files():
        for text in quoted_texts(place):
            found.setdefault(Message(text, context=CONTEXT), place)
    return found


def _files() -> Iterator[Path]:
    for top in sorted(Path(settings.BASE_DIR).iterdir()):
        if top.is_dir() and top.name not in ELSEWHERE and not top.name.startswith("."):
            for path in sorted(top.rglob("*")):
                if path.suffix in {".py", ".html", ".txt"} and path.is_file():
                    yield path


def _in_python(text: str) -> Iterator[Message]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        yield from _message(name, texts)


def _in_template(text: str) -> Iterator[Message]:
    for name, arguments in IN_TEMPLATE.findall(templatize(text)):
        literals = ast.literal_eval(f"({arguments.strip().rstrip(',')},)")
        yield from _message(name, list(literals))


def _message(name: str, texts: list[str]) -> Iterator[Message]:
    if name in PLAIN and texts:
        yield Message(texts[0])
    elif name in PLURAL and len(texts) > 1:
        yield Message(texts[0], texts[1])
    elif name in IN_CONTEXT and len(texts) > 1:
        yield Message(texts[1], context=texts[0])
    elif name in CONTEXT_PLURAL and len(texts) > 2:
        yield Message(texts[1], texts[2], texts[0])


def placeholders(text: str) -> list[str]:
    return sorted(match.group() for match in PLACEHOLDER.finditer(text))


def tags(text: str) -> list[str]:
    return sorted(TAG.findall(text))


class Texts(HTMLParser):
    """What a reader sees or hears of a page: text and spoken attributes, without code, data and other languages."""

    SILENT = frozenset({"script", "style", "code", "textarea", "datalist", "bdi"})
    VOID = frozenset({"input", "meta", "link", "br", "hr", "img", "rect", "path", "circle", "use", "col"})
    SPOKEN = ("aria-label", "title", "alt", "placeholder", "data-label", "value")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._quiet: list[bool] = [False]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        language = given.get("lang") if tag != "html" else None
        quiet = tag in self.SILENT or (self._quiet[-1] if language is None else language == "en")
        if not quiet:
            self.found += [str(given[name]) for name in self.SPOKEN if given.get(name) and tag != "option"]
        if tag not in self.VOID:
            self._quiet.append(quiet)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self._quiet.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID and len(self._quiet) > 1:
            self._quiet.pop()

    def handle_data(self, data: str) -> None:
        if not self._quiet[-1] and data.strip():
            self.found.append(" ".join(data.split()))


ENGLISH = re.compile(r"(?:\b[A-Za-z][a-z'’]+[,;:.]* +){2,}[A-Za-z][a-z'’]+\b")
"""Three words in a row: "Not in the catalog", but not "NVIDIA H100 NVL" or "docs.vllm.ai"."""


def english_left(html: str, names: tuple[str, ...] = ()) -> list[str]:
    """Texts of a page that still hold three English words in a row, names taken out."""
    reader = Texts()
    reader.feed(html)
    left = []
    for text in reader.found:
        rest = text
        for name in names:
            rest = rest.replace(name, "·")
        if ENGLISH.search(rest):
            left.append(text)
    return left
