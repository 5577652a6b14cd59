"""From a workload to its candidates, and refining them in place, in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from catalog.models import Offer
from tests.planner.factories import make_offer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.one_database(reason="what a browser makes of pages that other tests ask for on both"),
]


def test_an_example_of_the_start_page_opens_with_its_candidates(page: Page, catalog: list[Offer]) -> None:
    page.goto("/")
    page.get_by_role("link", name=re.compile("Internal chat assistant")).click()
    expect(page).to_have_url(re.compile(r"/workbench/\?in=800"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Fits on one L40S")
    expect(page.locator("#strip .bar")).to_be_visible()
    expect(page.locator("[data-detail]").first).to_be_visible()
    assert page.locator("tr[class^=class-]").count() >= 3


def test_a_change_refines_the_answer_in_place(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.evaluate("() => { window.sameDocument = true; }")
    weights = page.locator("#strip .key").inner_text()
    field = page.get_by_label("At once, peak")
    field.click()
    field.fill("")
    field.press_sequentially("64", delay=20)
    expect(page).to_have_url(re.compile(r"users_peak=64"))
    expect(field).to_be_focused()
    expect(field).to_have_value("64")
    page.get_by_label("Weights format").select_option("fp8")
    expect(page).to_have_url(re.compile(r"weights=fp8.*users_peak=64"))
    expect(page.locator("#strip .key")).not_to_have_text(weights)
    expect(page.locator("#changed")).to_contain_text("Weights format: as stored (BF16) → FP8")
    assert page.evaluate("() => window.sameDocument"), "the page was never loaded again"


def test_the_change_line_names_every_field_that_changed_and_no_other(
    page: Page, catalog: list[Offer]
) -> None:
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text) if message.type == "error" else None)
    page.goto("/workbench/")
    page.evaluate("() => { document.querySelector('[name=ttft]').value = ''; }")
    page.get_by_label("Input, typical").fill("3000")
    changed = page.locator("#changed")
    expect(changed).to_contain_text("First token within: 1 → empty")
    expect(changed).to_contain_text("Input, typical: 1000 → 3000")
    assert "Output" not in changed.inner_text()
    page.wait_for_timeout(1100)
    weights = page.get_by_label("Weights format")
    weights.select_option("fp8")
    expect(changed).to_contain_text("Weights format: as stored (BF16) → FP8")
    assert "First token" not in changed.inner_text()
    page.wait_for_timeout(1100)
    weights.select_option("stored")
    expect(changed).to_contain_text("Weights format: FP8 → as stored (BF16)")
    page.wait_for_timeout(1100)
    page.locator("summary", has_text="Starts, interruption, terms").click()
    page.get_by_label("spot, preemptible").check()
    expect(changed).to_contain_text("Terms: on demand → on demand, spot, preemptible")
    assert told == [], "nothing is refused or given up on the way"


def test_leaving_a_field_does_not_compare_the_answer_with_itself(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    field = page.get_by_label("At once, peak")
    field.click()
    field.fill("64")
    expect(page.locator("#changed")).to_contain_text(re.compile(r"per month [\d,.]+ → [\d,.]+ USD \(\+"))
    told = page.locator("#changed").inner_text()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    field.press("Tab")
    page.wait_for_timeout(600)
    assert asked == [], "the same question is not asked twice"
    expect(page.locator("#changed")).to_be_visible()
    assert page.locator("#changed").inner_text() == told


def test_back_and_a_shared_link_show_the_same_screen(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.get_by_label("Input, longest").fill("16000")
    expect(page).to_have_url(re.compile("in_max=16000"))
    page.get_by_label("Output, longest").fill("4000")
    expect(page).to_have_url(re.compile("out_max=4000"))
    link = page.url
    headline = page.get_by_role("heading", level=1).inner_text()
    page.go_back()
    expect(page).to_have_url(re.compile(r"in_max=16000$"))
    expect(page.get_by_label("Output, longest")).to_have_value("1000")
    expect(page.get_by_label("Input, longest")).to_have_value("16000")
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text(headline)
    expect(page.get_by_label("Output, longest")).to_have_value("4000")


def test_a_refused_field_says_so_and_loses_nothing(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    headline = page.get_by_role("heading", level=1).inner_text()
    field = page.get_by_label("Input, typical")
    field.fill("many")
    expect(page.locator("#err-in")).to_contain_text("is not read as a number")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("many")
    expect(page.get_by_role("heading", level=1)).to_have_text(headline)
    field.fill("１２００")
    expect(page).to_have_url(re.compile("in=1200"))
    expect(page.locator("#err-in")).to_be_empty()
    expect(field).not_to_have_attribute("aria-invalid", "true")


def test_a_candidate_unfolds_with_formulas_and_folds_again(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    link = page.locator("[data-detail]").nth(1)
    link.click()
    expect(link).to_have_attribute("aria-expanded", "true")
    cell = page.locator(f"#{link.get_attribute('data-detail')}")
    cell.get_by_text("Weights on one GPU").click()
    expect(cell.locator(".formula:visible").first).to_be_visible()
    link.click()
    expect(cell).to_be_hidden()
    assert "candidate" not in page.url


def test_a_model_is_suggested_as_one_types(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.get_by_label("Model", exact=True).fill("qwen2.5-7b")
    expect(page.locator("#model-options option").first).to_have_attribute(
        "value", re.compile("Qwen2.5-7B", re.I)
    )


def test_choosing_a_quantised_model_chooses_its_stored_format(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.get_by_label("Model", exact=True).fill("openai/gpt-oss-120b")
    expect(page.locator("#f-weights option:checked")).to_have_text("as stored (MXFP4)")
    expect(page.locator(".noted")).to_have_count(0)
    page.get_by_label("Weights format").select_option("bf16")
    expect(page.locator(".noted")).to_contain_text("stored in MXFP4")


def test_the_chart_is_drawn_under_the_strict_policy(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.locator("#h-chart").scroll_into_view_if_needed()
    expect(page.locator("figure.chart .js-plotly-plot .scatterlayer").first).to_be_visible()
    page.locator("[data-theme-toggle]").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("figure.chart .js-plotly-plot .scatterlayer").first).to_be_visible()


def test_hostile_names_stay_text_in_table_and_chart(page: Page, catalog: list[Offer]) -> None:
    for number, name in enumerate(
        ('<a href="javascript:zqx7()">x</a>', "<img src=x onerror=zqx7()>", "<b>x</b><script>zqx7()</script>")
    ):
        make_offer("H200-SXM", f"{3 + number}.10", sku=name, at=timezone.now())
    page.goto("/workbench/?include=H200-SXM")
    page.locator("#h-chart").scroll_into_view_if_needed()
    points = page.locator("figure.chart .js-plotly-plot .scatterlayer .point")
    expect(points.first).to_be_visible()
    for number in range(points.count()):
        box = points.nth(number).bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_timeout(120)
    expect(page.locator("figure.chart .hoverlayer")).to_contain_text("H200-SXM")
    assert page.locator("main a[href^='javascript'], main img, main b b, main [onerror]").count() == 0
    assert page.locator("figure.chart a").count() == 0
    expect(page.locator("main")).to_contain_text("<img src=x onerror=zqx7()>")


def test_everything_works_without_scripts(browser: Browser, live_server: Any, catalog: list[Offer]) -> None:
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False, locale="en-GB")
    try:
        page = context.new_page()
        page.goto("/workbench/")
        page.get_by_label("At once, peak").fill("48")
        page.get_by_label("Weights format").select_option("fp8")
        page.get_by_role("button", name="Compare").click()
        expect(page).to_have_url(re.compile(r"/workbench/\?weights=fp8&users_peak=48"))
        expect(page.get_by_label("At once, peak")).to_have_value("48")
        page.locator("thead a", has_text="Monthly").click()
        expect(page).to_have_url(re.compile("sort="))
        page.locator("[data-detail]").nth(1).click()
        expect(page.get_by_text("How each figure comes about")).to_be_visible()
        page.get_by_role("link", name="Back to the workbench").click()
        page.get_by_role("link", name="Chart of all candidates").click()
        expect(page.locator("figure.chart svg")).to_be_visible()
    finally:
        context.close()


def test_a_pasted_config_is_sized(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.get_by_label("At once, peak").fill("12")
    page.get_by_text("Paste a config.json").click()
    text = page.get_by_label("Contents of the model's config.json")
    text.fill('{"model_type": "llama"}')
    page.get_by_role("button", name="Read this config.json").click()
    expect(page.locator("#err-config_text")).to_contain_text("missing")
    expect(page.get_by_label("At once, peak")).to_have_value("12")
    text.fill(
        '{"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,'
        ' "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256, "head_dim": 64}'
    )
    page.get_by_role("button", name="Read this config.json").click()
    expect(page).to_have_url(re.compile(r"config=[0-9a-f]{64}&users_peak=12"))
    expect(page.locator("#strip")).to_be_visible()
    expect(page.get_by_text("An imported model is used instead of the name.")).to_be_visible()


SMALL_LLAMA = (
    '{"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,'
    ' "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256, "head_dim": 64}'
)


def test_a_chosen_config_file_is_sized_at_once(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.get_by_label("At once, peak").fill("12")
    page.get_by_text("Paste a config.json").click()
    chosen = page.get_by_label("Or the file itself")
    chosen.set_input_files({"name": "config.json", "mimeType": "application/json", "buffer": b" " * 70_000})
    expect(page.locator("#err-config_text")).to_contain_text("larger than 64 kB")
    expect(page.get_by_label("At once, peak")).to_have_value("12")
    chosen.set_input_files(
        {"name": "config.json", "mimeType": "application/json", "buffer": b'{"model_type"'}
    )
    expect(page.locator("#err-config_text")).to_contain_text("not valid JSON")
    expect(page.get_by_label("At once, peak")).to_have_value("12")
    chosen = page.get_by_label("Or the file itself")
    chosen.set_input_files(
        {"name": "config.json", "mimeType": "application/json", "buffer": SMALL_LLAMA.encode()}
    )
    expect(page).to_have_url(re.compile(r"config=[0-9a-f]{64}&users_peak=12"))
    expect(page.locator("#strip")).to_be_visible()


def test_a_config_file_is_taken_without_scripts(
    browser: Browser, live_server: Any, catalog: list[Offer]
) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=live_server.url)
    try:
        page = context.new_page()
        page.goto("/workbench/?users_peak=12")
        page.get_by_text("Paste a config.json").click()
        page.get_by_label("Or the file itself").set_input_files(
            {"name": "config.json", "mimeType": "application/json", "buffer": SMALL_LLAMA.encode()}
        )
        page.get_by_role("button", name="Read this config.json").click()
        expect(page).to_have_url(re.compile(r"config=[0-9a-f]{64}&users_peak=12"))
        expect(page.locator("#strip")).to_be_visible()
    finally:
        context.close()


def test_on_a_narrow_screen_the_answer_comes_first_and_the_form_in_a_sheet(
    page: Page, catalog: list[Offer]
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/workbench/")
    expect(page.locator("#strip")).to_be_in_viewport()
    expect(page.locator("#workload")).to_be_hidden()
    page.get_by_role("button", name="Change the workload").click()
    expect(page.locator("#workload")).to_be_visible()
    page.get_by_label("At once, peak").fill("64")
    expect(page).to_have_url(re.compile("users_peak=64"))
    page.keyboard.press("Escape")
    expect(page.locator("#workload")).to_be_hidden()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_keyboard_reaches_the_answer(page: Page, catalog: list[Offer]) -> None:
    page.goto("/workbench/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.locator("#f-model").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Paste a config.json")).to_be_focused()


def test_another_kind_of_work_brings_its_own_fields_and_keeps_what_was_typed(
    page: Page, catalog: list[Offer]
) -> None:
    page.goto("/workbench/")
    page.get_by_label("First token within").fill("3")
    page.get_by_label("Input, typical").fill("700")
    expect(page).to_have_url(re.compile("in=700.*ttft=3"))
    page.get_by_label("Kind of work").select_option("llm_batch")
    expect(page.get_by_label("Requests in the job")).to_have_value("100000")
    expect(page.get_by_label("First token within")).to_have_count(0)
    expect(page.get_by_label("Input, typical")).to_have_value("700")
    expect(page.locator("#answer h1")).to_contain_text("job in")
    page.get_by_label("Requests in the job").fill("5000")
    expect(page).to_have_url(re.compile("kind=llm_batch.*requests=5000"))
    page.get_by_label("Kind of work").select_option("llm_serving")
    expect(page.get_by_label("First token within")).to_have_value("3")
    page.go_back()
    expect(page.get_by_label("Requests in the job")).to_have_value("5000")


@pytest.mark.parametrize("query", ["", "?kind=qlora"])
def test_no_column_is_cut_in_japanese(
    browser: Browser, live_server: Any, catalog: list[Offer], query: str
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 700}, locale="ja-JP")
    page.goto(f"{live_server.url}/workbench/{query}")
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    expect(page.locator(".candidates-table thead th").first).to_have_css("word-break", "normal")
    place = page.locator("[data-fits]")
    expect(place).to_have_class(re.compile("whole"))
    box, last = place.bounding_box(), page.locator(".candidates-table thead th:visible").last.bounding_box()
    assert box is not None
    assert last is not None
    assert last["x"] + last["width"] <= box["x"] + box["width"] + 1
    page.close()


@pytest.mark.parametrize("width", [1024, 1280, 1440])
def test_no_column_is_cut_and_its_head_stays_in_view(page: Page, catalog: list[Offer], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    page.goto("/workbench/")
    place = page.locator("[data-fits]")
    expect(place).to_have_class(re.compile("whole"))
    box, last = place.bounding_box(), page.locator("th[data-key=per_million]").bounding_box()
    assert box is not None
    assert last is not None
    assert last["x"] + last["width"] <= box["x"] + box["width"] + 1
    page.locator(".candidates-table > tbody").last.scroll_into_view_if_needed()
    page.get_by_label("At once, peak").focus()
    page.mouse.move(width - 100, 400)
    page.mouse.wheel(0, -40)
    page.wait_for_timeout(200)
    strip, head = page.locator("#strip").bounding_box(), page.locator("th[data-key=monthly]").bounding_box()
    assert strip is not None
    assert head is not None
    assert head["y"] >= strip["y"] + strip["height"] - 1, "the sticky figures do not cover the heads"
    assert 0 <= head["y"] < 700


def test_the_strip_keeps_its_figures_alone_while_a_field_is_changed_further_down(
    page: Page, live_server: Any, catalog: list[Offer]
) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{live_server.url}/workbench/")
    strip = page.locator("#strip")
    expect(strip).to_be_visible()
    page.locator("#workload input:visible").first.focus()
    whole = strip.evaluate("it => it.offsetHeight")
    expect(strip).not_to_have_class(re.compile("is-brief"))
    page.evaluate("() => window.scrollTo(0, document.getElementById('strip').offsetTop + 200)")
    expect(strip).to_have_class(re.compile("is-brief"))
    assert strip.evaluate("it => it.offsetHeight") < min(110, whole / 2)
    assert strip.evaluate("it => Math.round(it.getBoundingClientRect().top)") == 0
    assert strip.locator(".figure:visible").count() == 3
    page.evaluate("() => window.scrollTo(0, 0)")
    expect(strip).not_to_have_class(re.compile("is-brief"))
    assert strip.evaluate("it => it.offsetHeight") == whole
