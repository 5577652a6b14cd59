"""A model comes in from outside, in a real browser: what is sent, what is shown, and that it is then sized."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from catalog.models import Offer
from tests.planner.test_model_import import gguf, safetensors

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.one_database(reason="what a browser makes of pages that other tests ask for on both"),
]
WEIGHTS_BYTES = 20 * 2**20


def numbers(page: Page) -> None:
    for label, value in (
        ("Name", "our-model"), ("Layers", "16"), ("Hidden size", "2048"), ("Attention heads", "32"),
        ("KV heads", "8"), ("Width of the MLP", "8192"), ("Vocabulary", "128256"),
    ):  # fmt: skip
        page.locator("#numbers").get_by_label(label, exact=True).fill(value)
    page.get_by_role("button", name="Describe it so").click()


def checkpoint(path: Path, header: bytes) -> Path:
    """A file of many megabytes that begins with this header."""
    with path.open("wb") as file:
        file.write(header)
        file.truncate(WEIGHTS_BYTES)
    return path


def test_only_the_header_of_a_checkpoint_leaves_the_machine(
    page: Page, catalog: list[Offer], tmp_path: Path
) -> None:
    page.goto("/workbench/?users_peak=12")
    page.get_by_role("link", name="Import a model").click()
    expect(page).to_have_title(re.compile("Import a model"))
    page.wait_for_load_state()
    chosen = page.get_by_label("or a GGUF or safetensors file")
    with page.expect_request(lambda request: request.method == "POST") as sent:
        chosen.set_input_files(checkpoint(tmp_path / "m.safetensors", safetensors()))
    expect(page.locator("#err-model_file")).to_contain_text("does not say what the model is")
    assert int(sent.value.all_headers()["content-length"]) < 4_000, "a safetensors header says how long it is"
    page.wait_for_load_state()
    with page.expect_request(lambda request: request.method == "POST") as sent:
        chosen.set_input_files(checkpoint(tmp_path / "m.gguf", gguf()))
    expect(page.get_by_role("heading", name="Understood of Small-Llama")).to_be_visible()
    assert 16 * 2**20 < int(sent.value.all_headers()["content-length"]) < 17 * 2**20
    expect(page).to_have_url(re.compile(r"/workbench/model/\?config=[0-9a-f]{64}&runtime=llama_cpp&weights="))
    expect(page.locator("tr", has_text="Stored in")).to_contain_text("GGUF Q4_K_M")
    page.get_by_role("link", name="Size this model").click()
    expect(page.locator("#strip")).to_be_visible()
    expect(page.get_by_label("At once, peak")).to_have_value("12")
    expect(page.get_by_label("Runtime")).to_have_value("llama_cpp")
    page.get_by_role("link", name="What was understood").click()
    expect(page.get_by_role("heading", name="Understood of Small-Llama")).to_be_visible()


def test_a_model_is_described_by_its_numbers_without_scripts(
    browser: Browser, live_server: Any, catalog: list[Offer]
) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=live_server.url)
    try:
        page = context.new_page()
        page.goto("/workbench/model/")
        numbers(page)
        expect(page.get_by_role("heading", name="Understood of our-model")).to_be_visible()
        expect(page.locator("tr", has_text="Size of a head")).to_contain_text("assumed")
        page.get_by_role("link", name="Size this model").click()
        expect(page.locator("#strip")).to_be_visible()
    finally:
        context.close()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_has_no_barriers_and_does_not_overflow(
    page: Page, catalog: list[Offer], look_for_barriers: Callable[[Page], list[str]], width: int, theme: Any
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    page.goto("/workbench/model/")
    page.get_by_role("button", name="Describe it so").click()
    expect(page.locator("#err-layers")).to_contain_text("needed")
    assert look_for_barriers(page) == []
    numbers(page)
    expect(page.get_by_role("heading", name="Understood of our-model")).to_be_visible()
    assert look_for_barriers(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_a_chosen_file_is_read_once_and_no_button_reads_nothing(
    page: Page, catalog: list[Offer], tmp_path: Path
) -> None:
    page.goto("/workbench/model/")
    expect(page.get_by_role("button", name="Read this file")).to_be_hidden()
    page.get_by_label("or a GGUF or safetensors file").set_input_files(
        checkpoint(tmp_path / "m.gguf", gguf())
    )
    expect(page.get_by_role("heading", name="Understood of Small-Llama")).to_be_visible()
    page.get_by_label("Contents of the model's config.json").fill("{")
    page.get_by_role("button", name="Read this config.json").click()
    expect(page.locator("#err-config_text")).not_to_be_empty()
    expect(page.get_by_role("heading", name="Understood of Small-Llama")).to_be_visible()
