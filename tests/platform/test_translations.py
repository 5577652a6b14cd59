"""The Japanese edition is whole: every sentence of the code is written, and no page falls back to English."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path

import polib
import pytest
import time_machine
from django.conf import settings
from django.test import Client
from pypdf import PdfReader

from catalog.sources import SOURCES
from planner import kinds, training_constants
from planner.assumption_words import ASSUMPTIONS
from planner.sizing.constants import CONSTANTS
from planner.sizing.settable import SERVING
from planner.sizing.training.settable import TRAINING
from reports import exports
from tests.factories import AT, make_team, make_user
from tests.planner.factories import make_small_catalog
from tests.platform.messages import Message, english_left, placeholders, tags, used_messages
from tests.reports.factories import save_plan, sign_in

FOLDER = Path(settings.BASE_DIR) / "locale" / "ja" / "LC_MESSAGES"
STAYS = {"RAM", "RAM, GiB", "vCPU"}
"""Terms that are the same in Japanese."""
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def key(entry: polib.POEntry | polib.MOEntry) -> Message:
    return Message(entry.msgid, entry.msgid_plural or "", entry.msgctxt or "")


def written(entry: polib.POEntry | polib.MOEntry) -> str:
    return str(entry.msgstr_plural.get(0, "")) if entry.msgid_plural else str(entry.msgstr)


@pytest.fixture(scope="module")
def catalogue() -> dict[Message, polib.POEntry]:
    return {key(entry): entry for entry in polib.pofile(str(FOLDER / "django.po")) if not entry.obsolete}


def test_every_sentence_of_the_code_is_written_in_japanese(catalogue: dict[Message, polib.POEntry]) -> None:
    used = used_messages()
    assert len(used) > 900
    missing = {
        message.singular: place
        for message, place in used.items()
        if message not in catalogue or not written(catalogue[message]).strip()
    }
    assert missing == {}
    assert [message.singular for message in catalogue if message not in used] == []


def test_no_sentence_is_guessed_or_copied(catalogue: dict[Message, polib.POEntry]) -> None:
    assert [entry.msgid for entry in catalogue.values() if entry.fuzzy] == []
    copied = [
        message.singular
        for message, entry in catalogue.items()
        if not JAPANESE.search(written(entry)) and message.singular not in STAYS and not message.context
    ]
    assert copied == []


def test_figures_and_tags_of_a_sentence_are_kept(catalogue: dict[Message, polib.POEntry]) -> None:
    lost = {
        message.singular: written(entry)
        for message, entry in catalogue.items()
        if placeholders(message.plural or message.singular) != placeholders(written(entry))
        or tags(message.plural or message.singular) != tags(written(entry))
    }
    assert lost == {}


def test_japanese_has_one_plural_form_and_the_file_no_dates(
    catalogue: dict[Message, polib.POEntry],
) -> None:
    header = polib.pofile(str(FOLDER / "django.po")).metadata
    assert header["Plural-Forms"] == "nplurals=1; plural=0;"
    assert not {"POT-Creation-Date", "PO-Revision-Date"} & set(header)
    assert all(set(entry.msgstr_plural) == {0} for entry in catalogue.values() if entry.msgid_plural)
    places = [place for entry in catalogue.values() for place, _line in entry.occurrences]
    assert [place for place in places if place.startswith(("/", ".."))] == []


def test_the_compiled_file_is_the_written_one(catalogue: dict[Message, polib.POEntry]) -> None:
    compiled = {key(entry): written(entry) for entry in polib.mofile(str(FOLDER / "django.mo"))}
    assert compiled == {message: written(entry) for message, entry in catalogue.items()}


def test_every_shipped_assumption_has_words() -> None:
    rows = json.loads((Path(settings.BASE_DIR) / "planner" / "seeds" / "runtimes.json").read_text())[
        "constants"
    ]
    names = {*CONSTANTS, *(row["name"].rpartition(".")[2] for row in rows)}
    names |= {constant.name for constant in training_constants.constants().constants}
    names |= {name.rpartition(".")[2] for name in (*SERVING, *TRAINING)}
    assert len(names) > 30
    assert names - set(ASSUMPTIONS) == set()


def test_english_is_noticed() -> None:
    assert english_left("<p>This was not translated.</p>") == ["This was not translated."]
    assert english_left('<input aria-label="Search in titles">') == ["Search in titles"]
    assert english_left('<p>Llama 3.1 8B は <code>not a sentence</code>。</p><button lang="en">') == []


NAMES = ("Text Generation Inference", "config.json in ", *(source.title for source in SOURCES.values()))
PAGES = [
    "/", "/workbench/", "/workbench/?kind=llm_batch", "/workbench/?in=x&deadline=-1", "/workbench/?ttft=0.0001",
    "/workbench/?model=nothing/known", "/catalog/accelerators/", "/catalog/accelerators/?q=zzz",
    "/catalog/accelerators/H100-SXM5/", "/catalog/offers/", "/catalog/offers/?q=zzz", "/catalog/sources/",
    "/catalog/sources/azure/", "/catalog/review/",
    "/catalog/accelerators/compare/", "/catalog/accelerators/compare/?a=H100-SXM5&a=MI300X&a=none",
    "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/",
    "/accounts/password/reset/done/", "/components/", "/nothing/", "/plans/", "/accounts/",
    "/accounts/password/change/", "/accounts/logout/",
    *(f"/workbench/?{example.query}" for example in kinds.examples()),
]  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("address", PAGES)
def test_no_page_falls_back_to_english(address: str) -> None:
    user = make_user()
    make_team("開発", user)
    client = (
        sign_in(user) if address.startswith(("/plans", "/accounts/pass", "/accounts/logout")) else Client()
    )
    with time_machine.travel(AT, tick=False):
        make_small_catalog()
        page = client.get(address, headers={"Accept-Language": "ja"}, follow=True)
    assert '<html lang="ja"' in page.content.decode()
    assert english_left(page.content.decode(), NAMES) == []


@pytest.mark.django_db
@pytest.mark.parametrize("part", ["", "edit/", "add/", "history/", "links/"])
def test_no_page_of_a_plan_falls_back_to_english(part: str) -> None:
    user = make_user(name="小野")
    with time_machine.travel(AT, tick=False):
        make_small_catalog()
        plan = save_plan(make_team("開発", user), user, "社内チャット").plan
        page = sign_in(user).get(f"/plans/{plan.slug}/{part}", headers={"Accept-Language": "ja"})
    assert page.status_code == 200
    assert english_left(page.content.decode(), NAMES) == []


@pytest.mark.django_db
def test_the_paper_is_a_japanese_quotation_with_iso_dates() -> None:
    user = make_user(name="小野")
    with time_machine.travel(AT, tick=False):
        make_small_catalog()
        version = save_plan(make_team("開発", user), user, "社内チャット", currency="JPY")
        paper = PdfReader(BytesIO(exports.of_version(version, "pdf", "ja").content))
    text = "".join(page.extract_text() for page in paper.pages)
    for words in ("見積書", "月額 (税抜)", "再確認期限", "2026-11-30", "計算方法と不確かさ"):
        assert words in text
    assert re.search(r"¥[\d,]+(?![.\d])", text)
    for words in ("per month", "Assumption", "Rejected", "Prepared", "machine-hour"):
        assert words not in text
