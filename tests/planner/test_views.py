"""Pages of the workbench, asked as a page and as a fragment."""

from __future__ import annotations

import gzip
import json
import re
import struct
from datetime import date, timedelta
from html import unescape
from typing import Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from planner import kinds, rejection_words
from planner.models import PastedConfig
from tests.factories import AT
from tests.planner.factories import make_offer, make_small_catalog, set_price

pytestmark = pytest.mark.django_db
HX = {"HX-Request": "true"}
WORKBENCH = "/workbench/"
LLAMA = {
    "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256, "head_dim": 64,
    "tie_word_embeddings": True, "torch_dtype": "bfloat16", "max_position_embeddings": 131072,
}  # fmt: skip


@pytest.fixture(autouse=True)
def catalog(db: None) -> Any:
    with time_machine.travel(AT, tick=False):
        yield make_small_catalog()


def test_the_start_page_has_four_examples_that_answer(client: Client) -> None:
    page = client.get("/").content.decode()
    for example in kinds.examples():
        assert example.query.replace("&", "&amp;") in page
        answer = client.get(f"{WORKBENCH}?{example.query}").content.decode()
        assert 'aria-invalid="true"' not in answer
    assert len(kinds.examples()) >= 4


def test_the_page_holds_form_and_answer(client: Client) -> None:
    response = client.get(WORKBENCH)
    page = response.content.decode()
    assert response.status_code == 200
    assert "<!doctype" in page
    assert 'id="workload"' in page
    assert "Fits on one L40S" in page
    assert "HX-Request" in response.headers["Vary"]


def test_the_fragment_is_the_answer_alone(client: Client) -> None:
    response = client.get(WORKBENCH, {"users": "9"}, headers=HX)
    page = response.content.decode()
    assert "<!doctype" not in page
    assert 'id="f-users"' not in page, "a field that is being typed in is never swapped"
    assert 'id="err-users" hx-swap-oob="true"' in page
    assert response.headers["HX-Push-Url"] == "/workbench/?users=9"
    assert "HX-Request" in response.headers["Vary"]


def test_history_restore_gets_the_page(client: Client) -> None:
    response = client.get(WORKBENCH, headers=HX | {"HX-History-Restore-Request": "true"})
    assert "<!doctype" in response.content.decode()


def test_the_same_address_is_not_pushed_twice(client: Client) -> None:
    headers = HX | {"HX-Current-URL": "http://testserver/workbench/?users=9"}
    assert client.get(WORKBENCH, {"users": "9"}, headers=headers).headers["HX-Push-Url"] == "false"


def test_a_refused_field_leaves_the_last_answer_standing(client: Client) -> None:
    response = client.get(WORKBENCH, {"users": "-1"}, headers=HX)
    page = response.content.decode()
    assert response.headers["HX-Reswap"] == "none"
    assert response.headers["HX-Push-Url"] == "false"
    assert "-1 is too small" in page
    assert "answer-strip" not in page


def test_a_refused_field_on_the_page_keeps_what_was_typed(client: Client) -> None:
    page = client.get(WORKBENCH, {"users": "-1", "in": "abc", "model": "gpt-99"}).content.decode()
    assert page.count('aria-invalid="true"') == 2, "the model is only looked up once the numbers are read"
    assert 'value="-1"' in page
    assert 'value="abc"' in page
    assert 'value="gpt-99"' in page
    page = client.get(WORKBENCH, {"model": "gpt-99"}).content.decode()
    assert "is not among the shipped models" in page


def test_a_post_leads_to_its_canonical_link(client: Client) -> None:
    response = client.post(WORKBENCH, {"users": "９", "users_peak": "32", "in": "1000", "weights": "fp8"})
    assert response.status_code == 303
    assert response.headers["Location"] == "/workbench/?weights=fp8&users=9"


def test_a_refused_post_comes_back_as_it_was_typed(client: Client) -> None:
    response = client.post(WORKBENCH, {"users": "many", "in": "1200"})
    page = response.content.decode()
    assert response.status_code == 422
    assert 'value="many"' in page
    assert 'value="1200"' in page
    assert 'aria-invalid="true"' in page


def test_a_pasted_config_becomes_a_short_link(client: Client) -> None:
    response = client.post(WORKBENCH, {"config_text": json.dumps(LLAMA), "users": "4"})
    kept = PastedConfig.objects.get()
    assert response.status_code == 303
    assert response.headers["Location"] == f"/workbench/?config={kept.digest}&users=4"
    page = client.get(response.headers["Location"]).content.decode()
    assert "answer-strip" in page
    assert "config.json as pasted" in page
    assert 'name="model" id="f-model" value="" placeholder="llama (config.json)"' in page
    named = client.post(
        WORKBENCH, {"config_text": json.dumps(LLAMA | {"_name_or_path": "team/small"}), "model": "x/y"}
    )
    assert named.headers["Location"].startswith("/workbench/?config="), "the name it was typed over is gone"
    assert "team/small: " in client.get(named.headers["Location"]).content.decode()


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "null", "{}", "[" * 100_000, '{"model_type": "llama", "hidden_size": -1}', "{" + '"a":1,' * 50_000,
     json.dumps(LLAMA | {"num_hidden_layers": 10**18}), json.dumps(LLAMA)[:-1] + ', "hidden_size": NaN}',
     json.dumps(LLAMA)[:-1] + ', "hidden_size": 4096}', '{"model_type": "<script>alert(1)</script>"}', "x" * 200_000],
)  # fmt: skip
def test_a_hostile_config_gets_a_message_and_is_not_kept(client: Client, text: str) -> None:
    response = client.post(WORKBENCH, {"config_text": text})
    page = response.content.decode()
    assert response.status_code == 422
    assert '<ul class="errorlist" id="err-config_text"><li>' in page
    assert "One field is not accepted" in page
    assert "<script>alert(1)" not in page
    assert not PastedConfig.objects.exists()


def chosen(data: bytes, name: str = "config.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data, content_type="application/json")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_chosen_config_file_becomes_the_same_link_as_its_text(client: Client, encoding: str) -> None:
    text = json.dumps(LLAMA)
    pasted = client.post(WORKBENCH, {"config_text": text, "users": "4"})
    response = client.post(
        WORKBENCH, {"config_file": chosen(text.encode(encoding)), "users": "4", "model": "x/y"}
    )
    assert response.status_code == 303
    assert response.headers["Location"] == pasted.headers["Location"]


HOSTILE_FILES = {
    "empty": (b" \n", "This file is empty."),
    "cut off": (json.dumps(LLAMA).encode()[:80], "not valid JSON"),
    "Shift_JIS": (json.dumps(LLAMA).replace("llama", "見積表能").encode("shift_jis"), "UTF-8"),
    "UTF-16 without a mark": (json.dumps(LLAMA).encode("utf-16-le"), "UTF-8"),
    "zip": (b"PK\x03\x04" + b"\0" * 90, "This file is packed."),
    "gzip": (gzip.compress(json.dumps(LLAMA).encode()), "This file is packed."),
    "GGUF": (b"GGUF\x03\0\0\0" + bytes(80), "This file holds weights."),
    "safetensors": (struct.pack("<Q", 40) + b'{"a":{"dtype":"F32","shape":[1]}}', "This file holds weights."),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(200), "UTF-8"),
    "deep": (b"[" * 30_000 + b"]" * 30_000, "nested deeper"),
    "too large": (json.dumps(LLAMA).encode() + b" " * 65_536, "larger than 64 kB"),
    "not finite": (json.dumps(LLAMA).encode()[:-1] + b', "hidden_size": NaN}', "twice"),
    "unknown kind": (b'{"model_type": "nobody-knows"}', "nobody-knows"),
}


@pytest.mark.parametrize("label", HOSTILE_FILES)
def test_a_hostile_config_file_gets_a_message_and_loses_nothing(client: Client, label: str) -> None:
    data, message = HOSTILE_FILES[label]
    response = client.post(WORKBENCH, {"users": "7", "config_file": chosen(data), "out": "123"})
    page = response.content.decode()
    assert response.status_code == 422
    listed = page.partition('id="err-config_text">')[2].partition("</ul>")[0]
    assert message in listed
    assert 'value="7"' in page
    assert 'value="123"' in page
    assert not PastedConfig.objects.exists()


def test_a_config_file_of_three_megabytes_is_read_away_and_the_form_comes_back(client: Client) -> None:
    response = client.post(WORKBENCH, {"users": "7", "config_file": chosen(b"x" * 3_000_000), "out": "123"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "larger than 64 kB" in page
    assert 'value="7"' in page
    assert 'value="123"' in page, "also what stands behind the file"


def test_a_text_and_a_file_together_are_not_guessed_between(client: Client) -> None:
    text = json.dumps(LLAMA)
    response = client.post(WORKBENCH, {"config_text": text, "config_file": chosen(text.encode())})
    assert response.status_code == 422
    assert "Either paste the text or choose a file" in response.content.decode()


@pytest.mark.parametrize("digest", ["0" * 64, "zz", '"><img src=x>', "A" * 100_000])
def test_a_digest_that_stands_for_nothing_is_said_at_the_model_and_a_name_typed_instead_counts(
    client: Client, digest: str
) -> None:
    refused = client.post(WORKBENCH, {"config": digest, "users": "7"})
    page = refused.content.decode()
    assert refused.status_code == 422
    assert "is not kept any more" in page.partition('id="err-model">')[2].partition("</ul>")[0]
    hidden = re.search(r'<input type="hidden" name="config"[^>]*>', page)
    assert hidden is not None
    assert digest not in hidden.group()
    assert "<img src=x" not in page


@pytest.mark.parametrize("name", ["sort", "page", "explore", "tray"])
def test_what_is_wrong_with_a_hidden_field_is_said_too(client: Client, name: str) -> None:
    response = client.post(WORKBENCH, {name: "<b>" * 50, "users": "7"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "<li>" in page.partition('id="err-form">')[2].partition("</ul>")[0]
    assert 'value="7"' in page


def test_names_that_no_link_can_hold_are_refused_with_a_message(client: Client) -> None:
    columns = [f"見積{number:03}" + "数" * 100 for number in range(90)]
    response = client.post(WORKBENCH, {"columns": columns, "users": "7"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "too much for one link" in page
    assert 'value="7"' in page


@pytest.mark.parametrize(
    "query",
    ["sort=user__password", "page=-1", f"page={10**20}", "page=abc", "columns=password", "config=zz", "_connector=x",
     "owner__password__startswith=a", "model=%FF%FE", "users=%00", "providers=<script>zqx7</script>", "in=9&in=1000",
     "&".join(f"x{number}=1" for number in range(900))],
)  # fmt: skip
def test_a_hostile_query_never_breaks_the_page(client: Client, query: str) -> None:
    for headers in ({}, HX):
        response = client.get(f"{WORKBENCH}?{query}", headers=headers)
        assert response.status_code in (200, 400)
        assert "<script>zqx7" not in response.content.decode()


def test_a_workload_nothing_can_run_says_so_first(client: Client) -> None:
    page = client.get(WORKBENCH, {"model": "deepseek-ai/DeepSeek-R1", "weights": "fp32"}).content.decode()
    assert "No machine on the market can run this as asked" in page
    assert "GiB short" in page


def test_targets_nobody_meets_name_the_smallest_change(client: Client) -> None:
    page = client.get(WORKBENCH, {"tpot": "0.5"}).content.decode()
    assert "No machine meets every target" in page
    assert "What would do" in page


def test_another_format_than_the_stored_one_is_said(client: Client) -> None:
    as_stored = client.get(WORKBENCH, {"model": "openai/gpt-oss-120b"}, headers=HX).content.decode()
    assert "as stored (MXFP4)" in as_stored
    assert "The checkpoint is stored in" not in as_stored
    other = client.get(WORKBENCH, {"model": "Qwen/Qwen3-32B-FP8", "weights": "bf16"}).content.decode()
    assert "The checkpoint is stored in FP8; this answer is for BF16" in other


def test_a_name_that_is_not_known_comes_with_links_to_the_nearest(client: Client) -> None:
    page = client.get(WORKBENCH, {"model": "llama 8b", "users": "9"}).content.decode()
    assert re.search(r'href="/workbench/\?model=[^"&]*[Ll]lama[^"&]*8[Bb][^"&]*&amp;users=9"', page)
    fragment = client.get(WORKBENCH, {"model": "llama 8b"}, headers=HX).content.decode()
    assert 'href="/workbench/?model=' in fragment
    assert "err-columns" not in fragment, "only messages that have a place on the page are sent"


def test_a_family_in_a_filter_is_answered_and_said(client: Client) -> None:
    page = client.get(WORKBENCH, {"include": "H100"}).content.decode()
    assert "“H100” is read as: H100" in page


def test_old_prices_and_large_machines_can_be_left_out_beside_the_table(client: Client) -> None:
    page = client.get(WORKBENCH).content.decode()
    assert 'href="/workbench/?age=180#h-candidates"' in page
    assert 'href="/workbench/?gpus=1#h-candidates"' in page
    filtered = client.get(WORKBENCH, {"age": "180", "gpus": "1"}).content.decode()
    assert 'href="/workbench/?gpus=1#h-candidates" class="on"' in filtered, (
        "the same link switches it off again"
    )
    assert 'id="f-age"' in filtered
    assert client.get(WORKBENCH, {"age": "-1"}).content.decode().count('aria-invalid="true"') == 1


@pytest.mark.parametrize("reason", ["context", "gpu_count", "price"])
def test_every_reason_of_a_rejection_has_words(reason: str) -> None:
    assert str(rejection_words.REASONS[reason])
    assert str(rejection_words.REASON_SENTENCES[reason])
    assert rejection_words.rejection_detail("price", {"rule": "age", "asked": 180, "got": 882}).startswith(
        "the price is 882"
    )


def test_an_incomplete_total_makes_every_amount_of_it_at_least(client: Client) -> None:
    query = {"kind": "llm_batch", "requests": "1000", "providers": "other", "egress": "500"}
    page = client.get(WORKBENCH, query).content.decode()
    strip = page[page.index('id="strip"') : page.index('id="changed"')]
    assert strip.count("≥ $") == 3, "the job, the month, the million tokens"
    assert "Per 1M tokens, input and output" in strip
    assert "loading the model are not counted" in page


def test_the_rule_of_the_order_stands_at_the_table(client: Client) -> None:
    assert "totals within 2 % count as equal" in client.get(WORKBENCH).content.decode()
    sorted_page = client.get(WORKBENCH, {"sort": "tpot"}).content.decode()
    assert "In the order of the column chosen." in sorted_page
    assert "totals within 2 % count" not in sorted_page


def test_a_source_in_our_own_documents_can_be_followed(client: Client) -> None:
    page = client.get(WORKBENCH).content.decode()
    assert '<a href="/methods/speed/">docs/methods.md</a>' in page
    assert "How speed is predicted" in client.get("/methods/speed/").content.decode()
    assert "How memory is predicted" in client.get("/methods/memory/").content.decode()
    assert client.get("/methods/other/").status_code == 404


def test_a_rate_wins_and_its_concurrency_is_told(client: Client) -> None:
    page = client.get(WORKBENCH, {"rate": "2", "users": "6"}).content.decode()
    assert "At 2.00 requests per second this machine holds" in page
    assert "it only counts that 32 is 5.333 × 6." in page
    assert "of the field" not in client.get(WORKBENCH, {"users": "6"}).content.decode()


def test_an_unknown_price_is_unknown_and_the_total_at_least(client: Client) -> None:
    page = client.get(WORKBENCH, {"include": "A100-SXM4-80GB"}).content.decode()
    assert "≥ $" in page
    assert "unknown: storage, transfer out" in page


def test_the_answer_names_what_may_be_called_cheapest_or_that_nothing_may(client: Client) -> None:
    """The first of the ranking has unknown lines; the cheapest with a complete and recent price stands beside it."""
    page = client.get(WORKBENCH).content.decode()
    assert "lowest complete list price of the last 180 days" in page.lower()
    with time_machine.travel(AT + timedelta(days=400), tick=False):
        old = client.get(WORKBENCH).content.decode()
    assert "No candidate has a complete list price of the last 180 days" in old


def test_a_table_can_be_sorted_and_its_columns_chosen_by_link(client: Client) -> None:
    page = client.get(WORKBENCH, {"sort": "bandwidth"}).content.decode()
    assert 'aria-sort="' in page
    page = client.get(WORKBENCH, {"columns": "vcpu"}).content.decode()
    assert 'data-label="vCPU"' in page
    assert 'data-label="Bandwidth (GB/s)"' not in page


@pytest.mark.parametrize("query", ["sort=-total", "sort=bandwidth", "page=2"])
def test_another_order_or_page_keeps_the_headline(client: Client, query: str) -> None:
    first = client.get(WORKBENCH).content.decode()
    other = client.get(f"{WORKBENCH}?{query}").content.decode()
    headline = "Fits on one L40S, and meets every target at peak"
    assert headline in first
    assert headline in other


def test_a_page_beyond_the_end_leads_back(client: Client) -> None:
    page = client.get(WORKBENCH, {"page": "7"}).content.decode()
    assert "beyond its end" in page


def test_the_number_of_queries_is_constant(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.get(WORKBENCH)
    with django_assert_num_queries(2):
        client.get(WORKBENCH, {"users": "9"}, headers=HX)


def test_a_candidate_opens_with_its_derivations(client: Client, catalog: list[Any]) -> None:
    address = f"/workbench/candidate/{catalog[0].pk}/"
    page = client.get(address, {"users": "9"}).content.decode()
    fragment = client.get(address, {"users": "9"}, headers=HX).content.decode()
    assert "<!doctype" in page
    assert "<!doctype" not in fragment
    assert "How each figure comes about" in fragment
    assert "Weights on one GPU" in fragment
    assert client.get("/workbench/candidate/999999/").status_code == 404


def test_a_rejected_offer_says_why_on_its_own_page(client: Client, catalog: list[Any]) -> None:
    page = client.get(f"/workbench/candidate/{catalog[3].pk}/").content.decode()
    assert "Other terms than asked for" in page


def test_the_chart_draws_only_complete_prices(client: Client) -> None:
    page = client.get("/workbench/chart/").content.decode()
    assert "<svg" in page
    assert "L40S" in page
    assert "A100-SXM4-80GB" not in page, "its storage has no known price"


def test_models_are_suggested_as_one_types(client: Client) -> None:
    found = client.get("/workbench/models/", {"q": "llama 3.1 70b"}).content.decode()
    assert 'value="meta-llama/Llama-3.1-70B' in found
    assert client.get("/workbench/models/", {"q": "<script>"}).content.decode().count("<script>") == 0


def test_the_components_page_shows_itself(client: Client) -> None:
    assert client.get("/components/").status_code == 200


@pytest.mark.parametrize("path", ["/", WORKBENCH, "/components/", "/workbench/chart/"])
def test_no_page_carries_inline_code(client: Client, path: str) -> None:
    page = client.get(path).content.decode()
    assert " style=" not in page
    assert "<style" not in page
    assert " onclick=" not in page
    for part in page.split("<script")[1:]:
        assert "src=" in part.partition(">")[0] or 'type="application/json"' in part.partition(">")[0]


def test_an_unknown_name_in_a_link_is_refused_at_its_field_and_the_rest_is_answered(client: Client) -> None:
    page = client.get("/workbench/?include=L40S,Nonsense-9000&regions=atlantis").content.decode()
    assert "“Nonsense-9000” is not in the catalog." in page
    assert "“atlantis” is not in the catalog." in page
    assert "left out of the filters" in page
    assert 'id="h-candidates"' in page
    assert 'value="L40S,Nonsense-9000"' in page, "what was typed is still there"
    fragment = client.get("/workbench/?include=Nonsense-9000", headers={"hx-request": "true"})
    assert fragment.headers["HX-Reswap"] == "none", "while somebody types, the last answer stands"
    refused = client.get("/workbench/?include=Nonsense-9000&in=-1").content.decode()
    assert 'id="h-candidates"' not in refused


def test_a_misspelt_name_in_a_link_has_its_neighbours_beside_it(client: Client) -> None:
    page = client.get("/workbench/?include=L40SS").content.decode()
    assert "Did you mean:" in page
    assert re.search(r'\?include=L40S["&]', page)


def test_amounts_name_their_currency_where_the_heads_of_the_table_are_out_of_sight(client: Client) -> None:
    assert 'data-label="Monthly (USD)"' in client.get(WORKBENCH).content.decode()
    assert 'data-label="Monthly (JPY)"' in client.get(f"{WORKBENCH}?currency=JPY").content.decode()


def test_ranges_of_memory_stand_beside_its_parts(client: Client) -> None:
    page = client.get("/workbench/").content.decode()
    key = page.partition('<ul class="key">')[2].partition("</ul>")[0]
    assert re.search(r"overhead <a [^>]+><b>[\d.]+</b></a> <span class=\"range\">[\d.]+–[\d.]+</span>", key)


@pytest.mark.parametrize(
    "given", ["tiers=on_demand,spot", "tiers=on_demand&tiers=SPOT", "tiers=spot、on_demand"]
)
def test_a_link_with_several_names_ticks_their_boxes(client: Client, given: str) -> None:
    page = client.get(f"{WORKBENCH}?interruptible=1&{given}").content.decode()
    boxes = re.findall(r'<input[^>]*name="tiers"[^>]*>', page)
    ticked = {match[1] for box in boxes if " checked" in box and (match := re.search(r'value="(\w+)"', box))}
    assert ticked == {"on_demand", "spot"}


def test_a_reserved_price_to_start_from_is_told_as_one_and_why_nothing_is_called_the_cheapest(
    client: Client,
) -> None:
    offer = make_offer("H100-SXM5", "1.80", sku="kept", at=AT, tier="reserved", tier_detail="from")
    set_price(offer, "1.70", at=AT, observed_on=date(2026, 11, 1), floor=True)
    page = unescape(client.get(f"{WORKBENCH}?tiers=reserved").content.decode())
    assert '<span class="tight">from this price on</span>' in page
    assert '<span class="tight">floor price</span>' not in page
    assert "that of the first is complete, but only the lowest that is asked" in page
    detail = unescape(client.get(f"/workbench/candidate/{offer.pk}/?tiers=reserved").content.decode())
    assert "Reserved from this price on" in detail
    assert "marketplace" not in detail.casefold()
    assert "from price page" in detail
    set_price(offer, "1.75", at=AT, observed_on=date(2026, 11, 1))
    whole = client.get(f"{WORKBENCH}?tiers=reserved").content.decode()
    assert "No candidate has a complete list price" not in whole
