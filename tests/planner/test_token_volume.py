"""Tokens of a month, in and out, are a field of the document: the price of a million divides by them as typed."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from planner import services
from planner.forms import WorkbenchForm
from planner.kinds import by_token
from planner.sizing.results import Candidate
from planner.sizing.workload import ServingWorkload

pytestmark = pytest.mark.usefixtures("small_catalog")

IN, OUT = 2_000, 500
"""Million tokens a month, not in the proportion of the typical request of 1,000 in and 300 out."""
QUERY = f"m_in={IN}&m_out={OUT}&managed_in=0.1&managed_out=0.4"


def first(**fields: Any) -> Candidate:
    return services.compare(ServingWorkload(**fields), at=timezone.now()).candidates[0]


def of_a_million(total: Decimal, millions: float) -> float:
    return float(total) / millions


def test_the_price_of_a_million_divides_by_the_tokens_that_were_typed() -> None:
    found = first(input_tokens_per_month=IN * 1e6, output_tokens_per_month=OUT * 1e6)
    price, total = found.per_million_tokens, found.monthly.total
    assert float(price.all or 0) == pytest.approx(of_a_million(total, IN + OUT), abs=6e-5)
    assert float(price.output or 0) == pytest.approx(of_a_million(total, OUT), abs=6e-5)
    served = first(request_rate_per_s=2e6 / (3600 * 24 * 30.4167))
    assert served.monthly.total == total, "the machines are those of the requests that serve both sides"
    assert float(served.per_million_tokens.all or 0) == pytest.approx(of_a_million(total, 2_600), abs=6e-5)


def test_a_side_that_was_not_typed_is_that_of_the_typical_requests() -> None:
    found = first(output_tokens_per_month=600e6)
    assert float(found.per_million_tokens.all or 0) == pytest.approx(
        of_a_million(found.monthly.total, 2_600), abs=6e-5
    )


def test_the_managed_side_is_priced_in_the_mix_of_the_same_tokens() -> None:
    def managed(query: str) -> float:
        form = WorkbenchForm.from_query(QueryDict(query))
        assert form.is_valid()
        return by_token.managed_per_million(form.cleaned_data, form.workload()) or 0.0

    assert managed(QUERY) == pytest.approx((0.1 * IN + 0.4 * OUT) / (IN + OUT))
    assert managed("managed_in=0.1&managed_out=0.4") == pytest.approx((0.1 * 1000 + 0.4 * 300) / 1300)
    assert managed(f"m_out={OUT}&managed_in=0.1&managed_out=0.4") == pytest.approx(
        (0.1 * 1000 + 0.4 * 300) / 1300
    )


def test_break_even_is_the_share_at_which_both_sides_cost_the_same(client: Client) -> None:
    found = first(input_tokens_per_month=IN * 1e6, output_tokens_per_month=OUT * 1e6)
    full, average = (
        float(amount or 0) for amount in (found.per_million_tokens.at_full_use, found.per_million_tokens.all)
    )
    speed = found.speed
    assert speed is not None
    rate = 2e6 / (3600 * 24 * 30.4167)
    assert speed.typical.request_rate_per_s == pytest.approx(rate, rel=1e-3)
    assert full < average, "more tokens are served at full use, and in the same mix"
    page = client.get(f"/workbench/explore/utilisation/?{QUERY}")
    assert page.status_code == 200


def test_the_derivation_names_the_tokens_as_entered(client: Client) -> None:
    best = client.get(f"/workbench/?{QUERY}").context["view"].best
    page = client.get(
        f"{reverse('planner:candidate', args=[best.it.offer.offer_id])}?{QUERY}"
    ).content.decode()
    assert "monthly_total × 1000000 ÷ (input_tokens_per_month + output_tokens_per_month)" in page
    assert "max(input_tokens_per_month ÷ input_tokens, output_tokens_per_month ÷ output_tokens)" in page


def test_the_command_line_and_the_interface_take_the_tokens(client: Client, tmp_path: Any) -> None:
    document = {"input_tokens_per_month": IN * 1e6, "output_tokens_per_month": OUT * 1e6}
    path = tmp_path / "workload.json"
    path.write_text(json.dumps(document))
    out = io.StringIO()
    call_command("size", str(path), "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert told["workload"] | document == told["workload"]
    answer = client.post("/api/v1/size", data=json.dumps(document), content_type="application/json").json()
    assert answer["workload"] | document == answer["workload"]
    assert answer["candidates"][0]["per_million_tokens"] == told["candidates"][0]["per_million_tokens"]
    both = client.post(
        "/api/v1/size", data=json.dumps(document | {"request_rate_per_s": 1}), content_type="application/json"
    )
    assert both.status_code == 422
    assert "not both" in both.content.decode()
    schema = client.get("/api/v1/schema/workload").content.decode()
    assert "input_tokens_per_month" in schema
