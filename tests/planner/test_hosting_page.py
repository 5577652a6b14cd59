"""Ways to pay and to host: totals as by hand, messages at their fields, prices taken from an offer."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from catalog.ages import Age, age_of
from catalog.managed import SUBJECTS, managed_prices, service_facts
from catalog.models import Offer, Provider
from catalog.recording import Observation, record, write_dollars
from planner import hosting_sheet, managed_words, services
from planner.forms import WorkbenchForm
from planner.hosting_link import hosting_link
from planner.hosting_page import LABELS
from planner.sizing.hosting import Stated
from tests.factories import AT
from tests.planner.factories import make_small_catalog

pytestmark = pytest.mark.django_db


def page(client: Client, query: str = "", status: int = 200) -> str:
    answer = client.get(f"/hosting/?{query}")
    assert answer.status_code == status
    return answer.content.decode()


def plain(text: str) -> str:
    """Without its marks."""
    return re.sub(r"</?span[^>]*>", "", text)


def test_nothing_is_said_of_break_even_before_two_ways_have_prices(client: Client) -> None:
    for query in ("", "on_demand_per_hour=5"):
        text = page(client, query)
        assert "Give two ways their prices" in text
        assert "Reserved costs less than by the hour from" not in text
        assert "no month of its term" not in text
    text = page(client, "on_demand_per_hour=3&reserved_per_hour=5")
    assert "never: a whole month by the hour costs less" in text
    assert "Give two ways their prices" not in text


def test_a_line_counts_its_units_and_rounds_what_was_divided(client: Client) -> None:
    text = plain(page(client, "purchase=25000&life_months=48&months=36"))
    assert "36 machine-months × 520.83 = 18,750.00" in text
    once = plain(
        page(client, "purchase=25000&life_months=48&months=1&spot_per_hour=0.123456&interruptible=on")
    )
    assert "1 machine-month × 520.83" in once
    assert "730 h × 0.123456" in once


def test_the_least_matching_service_of_the_sheets_model_is_chosen_until_another_is(
    client: Client, small_catalog: None
) -> None:
    own = [one for one in managed_prices().values() if one.model == "meta-llama/Llama-3.1-8B-Instruct"]
    reaching = [one for one in own if one.context_tokens is None or one.context_tokens >= 1250]
    least = min(reaching, key=lambda one: one.input_per_million * 1000 + one.output_per_million * 250)
    text = page(client, SHEET)
    chosen = f'<option value="{least.key}" selected>'
    assert chosen in text
    assert f"5,256.006 M tokens × {least.input_per_million.normalize():f}" not in plain(text), "36 months"
    assert f"189,216.216 M tokens × {least.input_per_million.normalize():f}" in plain(text)
    assert chosen not in page(client, f"{SHEET}&service=")
    assert chosen not in page(client, f"{SHEET}&managed_in=0.3&managed_out=0.6")
    answer = client.get(f"/workbench/?{SHEET}").content.decode()
    link = re.search(r'<a href="([^"]+)">Reserved, bought', answer)
    assert link is not None
    assert chosen in client.get(unescape(link[1])).content.decode(), "from the answer too"


def test_the_page_without_figures_says_that_none_is_given(client: Client) -> None:
    text = page(client)
    assert text.count("Left out: its price is not given.") == 5
    assert "USD" in text


def test_totals_and_break_even_are_those_worked_out_by_hand(client: Client) -> None:
    text = page(
        client,
        "on_demand_per_hour=5.50&reserved_per_hour=3.00&reserved_upfront=10000&reserved_term_months=12&months=12",
    )
    assert "48,180.00" in text
    assert "36,280.00" in text
    assert "549.70 hours a month" in text
    assert "month 6" in text
    assert "1 payment × 10,000 = 10,000.00" in plain(text)


def test_a_second_term_is_paid_to_its_end(client: Client) -> None:
    text = page(client, "reserved_per_hour=3&reserved_upfront=10000&reserved_term_months=12&months=18")
    assert "72,560.00" in text
    assert "paid to the end of its term: 24 months" in text


def test_spot_is_refused_with_its_reason_until_the_work_bears_interruptions(client: Client) -> None:
    assert "not said to bear an interruption" in page(client, "spot_per_hour=1&months=1")
    allowed = page(client, "spot_per_hour=1&months=1&interruptible=on&rework_fraction=0.1")
    assert "803.00" in allowed


def test_a_shipped_managed_price_fills_what_is_left_blank(client: Client) -> None:
    one = next(iter(managed_prices().values()))
    volume = "months=1&input_millions_per_month=1000&output_millions_per_month=0"
    text = page(client, f"{volume}&service={one.key.replace('@', '%40')}&on_demand_per_hour=2")
    assert f"{one.input_per_million * 1000:,.2f}" in text
    assert "costs less than managed above" in text
    own = page(client, f"{volume}&service={one.key}&managed_input_per_million=7&managed_output_per_million=1")
    assert "7,000.00" in own


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("machines=0", "At least 1."),
        ("machines=1.5", "Write a number"),
        ("hours_per_month=0", "More than 0."),
        ("hours_per_month=745", "At most 744."),
        ("on_demand_per_hour=free", "Write a number"),
        ("on_demand_per_hour=NaN", "Write a number"),
        ("on_demand_per_hour=-1", "At least 0."),
        ("purchase=1e99", "At most"),
        ("pue=0.5", "At least 1."),
        ("service=nobody", "Select a valid choice"),
    ],
)
def test_a_refused_field_has_its_message_and_loses_nothing(client: Client, query: str, message: str) -> None:
    text = page(client, f"{query}&staff_per_month=4321", 422)
    assert message in text
    assert 'value="4321"' in text


def test_an_offer_brings_its_prices_and_those_of_its_other_tiers(client: Client) -> None:
    Provider.objects.create(slug="azure", name="Azure")
    same: dict[str, Any] = {
        "provider": "azure", "sku": "ND96", "region": "japaneast", "currency": "USD", "source": "page",
        "observed_on": date(2026, 11, 1), "accelerator": "H100-SXM5", "gpu_count": 8,
    }  # fmt: skip
    record(
        [
            Observation(amount=Decimal(98), **same),
            Observation(amount=Decimal(40), tier="spot", **same),
            Observation(amount=Decimal(72), tier="reserved", tier_detail="savings_1y", **same),
            Observation(amount=Decimal(44), tier="reserved", tier_detail="savings_3y", **same),
        ],
        AT,
    )
    offer = Offer.objects.get(tier="on_demand")
    text = page(client, f"offer={offer.pk}")
    for name, value in {
        "on_demand_per_hour": "98", "spot_per_hour": "40", "reserved_per_hour": "44", "reserved_term_months": "36",
    }.items():  # fmt: skip
        assert f'name="{name}" value="{value}"' in text, name
    assert "327.76 hours a month" in text
    assert "Azure: ND96" in text
    assert page(client, "offer=999999")


def test_every_figure_has_a_label_and_the_page_asks_no_more(client: Client) -> None:
    assert set(LABELS) == set(Stated.model_fields)
    text = page(client)
    for name in Stated.model_fields:
        assert f'name="{name}"' in text


def test_every_shipped_managed_price_has_model_service_day_and_source() -> None:
    assert len(managed_prices()) == 56
    assert sum(one.context_tokens is not None for one in managed_prices().values()) == 49
    for one in managed_prices().values():
        assert one.source
        assert one.observed
        assert one.input_per_million < 100


def test_every_published_fact_has_words_address_day_and_a_service_that_is_listed() -> None:
    listed = {price.service for price in managed_prices().values()}
    models = {price.model for price in managed_prices().values()}
    facts = [fact for one in service_facts().values() for fact in one]
    assert len(facts) > 30
    assert set(service_facts()) <= listed
    assert set(managed_words.TITLES) == set(SUBJECTS)
    for fact in facts:
        assert (fact.subject, fact.says) in managed_words.SAYS
        assert "%(" not in managed_words.said(fact)
        assert fact.page.startswith("https://")
        assert age_of(fact.observed, date(2026, 12, 1)) != Age()
        assert set(fact.models) <= models
    keys = [(fact.service, fact.subject) for fact in facts]
    assert len(keys) == len(set(keys)), "one answer to a question"
    used = {(fact.subject, fact.says) for fact in facts}
    assert used == set(managed_words.SAYS), "no words that nothing says"


def test_limits_and_retention_stand_beside_a_price_and_what_nobody_published_is_asked(client: Client) -> None:
    text = page(client)
    table = text.split("All shipped prices")[1].split("</table>")[0]

    def row(service: str, model: str) -> str:
        (found,) = [
            one for one in table.split("<tr>") if f">{service}<span" in one and f'"sub">{model}<' in one
        ]
        return found

    fireworks = row("Fireworks AI", "openai/gpt-oss-120b")
    assert "3,600,000 tokens in a minute" in fireworks
    assert "prompts and answers: not kept unless asked for" in fireworks
    assert "cached 0.015" in fireworks
    assert 'href="#service-fireworks-ai"' in fireworks
    cerebras = row("Cerebras", "openai/gpt-oss-120b")
    assert "1,000 requests and 1,000,000 tokens a minute" in cerebras
    assert "ask where and how long it is kept" in cerebras
    other = row("Cerebras", "meta-llama/Llama-3.3-70B-Instruct")
    assert "1,000 requests" not in other, "what was read for one model says nothing of another"
    assert "said to be withdrawn (2026-02-16)" in other
    routed = row("Nscale (through Hugging Face)", "openai/gpt-oss-120b")
    assert routed.count("ask") >= 2
    sheets = text.split("What the services publish of limits, settings and data")[1]
    together = sheets.split('id="service-together-ai"')[1].split("</details>")[0]
    assert "only where one agrees to it" in together
    assert "https://docs.together.ai/docs/privacy-and-security" in together
    assert "stored copy" in together
    assert "Where it runs" in together.split(">ask<")[1]


def test_a_model_that_a_service_has_withdrawn_is_not_chosen_for_a_sheet() -> None:
    """Groq's price is the least of this model but for those of services that are said not to offer it any more."""
    withdrawn = [one for one in managed_prices().values() if one.withdrawn]
    assert {one.service for one in withdrawn} == {"Groq", "Cerebras", "Cloudflare Workers AI"}
    assert all(one.withdrawn_source for one in withdrawn)
    mixtral = [
        one for one in managed_prices().values() if one.model == "mistralai/Mixtral-8x7B-Instruct-v0.1"
    ]
    assert min(mixtral, key=lambda one: one.input_per_million).service == "Groq"
    chosen = hosting_sheet.service_of("mistralai/Mixtral-8x7B-Instruct-v0.1", 1000, 100, 2000)
    assert chosen == {"service": "mistralai/Mixtral-8x7B-Instruct-v0.1 @ OVHcloud AI Endpoints"}


def reserved_machine() -> Offer:
    """A machine by the hour and on three commitments, two of them paid upfront in part or whole."""
    Provider.objects.create(slug="aws", name="AWS")
    same: dict[str, Any] = {
        "provider": "aws", "sku": "p5.48xlarge", "region": "us-east-1", "currency": "USD", "source": "page",
        "observed_on": date(2026, 11, 1), "accelerator": "H100-SXM5", "gpu_count": 8,
    }  # fmt: skip
    reserved: dict[str, Any] = {"tier": "reserved", "term_months": 12} | same
    three: dict[str, Any] = reserved | {"term_months": 36}
    record(
        [
            Observation(amount=Decimal(60), **same),
            Observation(
                amount=Decimal(45), tier_detail="reserved_1y_partial_upfront", upfront=Decimal(131_400),
                recurring=Decimal(30), **reserved,
            ),
            Observation(
                amount=Decimal(30), tier_detail="reserved_3y_all_upfront", upfront=Decimal(788_400),
                recurring=Decimal(0), **three,
            ),
            Observation(
                amount=Decimal(50), tier_detail="reserved_1y_no_upfront", upfront=Decimal(0), recurring=Decimal(50),
                **reserved,
            ),
        ],
        AT,
    )  # fmt: skip
    return Offer.objects.get(tier="on_demand")


def test_a_commitment_paid_upfront_fills_fee_hour_and_term(client: Client) -> None:
    text = page(client, f"offer={reserved_machine().pk}")
    for name, value in {
        "reserved_per_hour": "0", "reserved_upfront": "788400", "reserved_term_months": "36",
        "on_demand_per_hour": "60",
    }.items():  # fmt: skip
        assert f'name="{name}" value="{value}"' in text, name
    assert "788,400.00" in text
    assert "365.00 hours a month" in text, "788,400 ÷ 36 ÷ 60"
    assert "month 18" in text, "788,400 ÷ (730 × 60)"


def test_every_commitment_stands_with_its_total_and_break_even(client: Client) -> None:
    offer = reserved_machine()
    text = page(client, f"offer={offer.pk}&months=12&machines=2&on_demand_per_hour=60")
    table = text.split("Commitments to this machine")[1].split("</table>")[0]
    for words, figures in {
        "1 year, partly upfront": ("131,400.00", "788,400.00", "547.50", ">6<"),
        "1 year, nothing upfront": ("876,000.00", "608.33", ">1<"),
        "3 years, all upfront": ("1,576,800.00", "365.00", ">18<"),
    }.items():
        row = table.split(words)[1].split("</tr>")[0]
        for figure in figures:
            assert figure in row, (words, figure)
    link = table.split("1 year, partly upfront")[1].split('<a href="?')[1].split('"')[0].replace("&amp;", "&")
    chosen = page(client, link)
    assert 'name="reserved_upfront" value="131400"' in chosen
    assert 'name="machines" value="2"' in chosen
    assert "788,400.00" in chosen, "2 × (131,400 + 730 × 12 × 30)"


@pytest.fixture
def small_catalog() -> None:
    make_small_catalog()
    write_dollars(Offer.objects.all(), {})


SHEET = "model=meta-llama/Llama-3.1-8B-Instruct&in=1000&out=250&rate=2&gpus=1"


def test_a_sheet_brings_its_candidate_hours_and_tokens(client: Client, small_catalog: None) -> None:
    text = page(client, SHEET)
    assert "From your sheet: 2 × " in text
    assert 'name="machines" value="2"' in text
    # 2 requests a second × 3,600 s × 24 h × 30.4167 = 5.256006 M requests of 1,000 in and 250 out.
    assert 'name="input_millions_per_month" value="5256.006"' in text
    assert 'name="output_millions_per_month" value="1314.001"' in text
    assert 'name="on_demand_per_hour" value="' in text
    assert f'<input type="hidden" name="model" value="{SHEET.split("=")[1].split("&")[0]}" />' in text
    own = text.split("Managed inference, shipped prices")[1].split("</table>")[0]
    assert "Groq" in own
    assert "Qwen" not in own, "the sheet's model first, others apart"
    assert "M a month" in own


@pytest.mark.parametrize("currency", ["USD", "JPY"])
def test_a_machine_costs_here_what_it_costs_on_its_sheet(
    client: Client, small_catalog: None, currency: str
) -> None:
    query = f"{SHEET}&storage=500&egress=1000&complete=1&currency={currency}"
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid(), form.errors
    first = services.compare(form.workload(), at=timezone.now(), limit=1).candidates[0]
    kept = sum(line.amount or Decimal(0) for line in first.monthly.lines if line.what != "gpu")
    assert first.monthly.complete
    assert kept > 0
    rate = Decimal(1) if currency == "USD" else Decimal("157.25")
    text = page(client, f"{query}&months=1")
    found = " ".join(re.sub(r"<[^>]*>", " ", text.split('id="h-totals"')[1]).split())
    by_the_hour = re.search(r"By the hour ([\d,]+\.\d\d)", found)
    assert by_the_hour, found
    told = Decimal(by_the_hour[1].replace(",", ""))
    assert abs(told - first.monthly.total / rate) <= Decimal("0.02")
    assert "storage and transfer" in found
    assert ("Your sheet is in JPY; the amounts here are in US dollars" in text) is (currency == "JPY")
    link = parse_qs(urlsplit(hosting_link(first, form.workload().model_dump(mode="json"), {})).query)
    assert abs(Decimal(link["storage_per_month"][0]) - kept / rate) < Decimal("0.01")


def test_what_is_typed_beside_a_sheet_counts_and_the_sheet_is_carried_on(
    client: Client, small_catalog: None
) -> None:
    text = page(client, f"{SHEET}&machines=3&managed_input_per_million=0.5&managed_output_per_million=1")
    assert 'name="machines" value="3"' in text
    assert 'name="managed_input_per_million" value="0.5"' in text
    assert "costs less than managed above" in text
    assert 'name="rate" value="2"' in text
    assert "Back to the sheet" in text


def test_tokens_and_a_price_by_the_token_stated_on_the_sheet_are_taken(
    client: Client, small_catalog: None
) -> None:
    asked = "model=meta-llama/Llama-3.1-8B-Instruct&in=1000&out=250&gpus=1&m_in=400&managed_in=0.3&managed_out=0.6"
    text = page(client, asked)
    assert 'name="input_millions_per_month" value="400"' in text
    assert 'name="output_millions_per_month" value="100"' in text
    assert 'name="managed_input_per_million" value="0.3"' in text
    assert f"{(Decimal('0.3') * 400 + Decimal('0.6') * 100) * 36:,.2f}" in text


@pytest.mark.parametrize(
    "query",
    [
        "model=nobody/nothing", "model=meta-llama/Llama-3.1-8B-Instruct&in=-4", "kind=nonsense", "kind=fine_tuning",
        "kind=llm_batch", "kind=pretraining", "m_in=1e9&m_out=1e9&in=1&out=1&gpus=1",
        "users=1000000&users_peak=1000000",
        "currency=JPY&managed_in=40&managed_out=50", "hours=0.1&days=1&starts=0", f"{SHEET}&machines=0",
    ],
)  # fmt: skip
def test_no_sheet_breaks_the_page(client: Client, small_catalog: None, query: str) -> None:
    answer = client.get(f"/hosting/?{query}")
    assert answer.status_code == (422 if "machines=0" in query else 200)
    assert "Managed inference" in answer.content.decode()


def test_a_context_that_a_service_does_not_reach_is_marked(client: Client, small_catalog: None) -> None:
    text = page(client, f"{SHEET}&in_max=60000")
    own = text.split("Managed inference, shipped prices")[1].split("</table>")[0]
    novita = own.split(">Novita (through Hugging Face)<span")[1].split("</tr>")[0]
    assert "16,384" in novita
    assert "shorter than your longest request" in novita
    assert "Hugging Face’s router" in novita
    assert own.count(">ask<") > 5, "what no source states is to be asked"
