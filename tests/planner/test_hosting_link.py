"""The answer leads to the other ways to pay for it, with its machines, hours and volume."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from planner import services
from tests.planner.factories import make_small_catalog

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def catalog(db: None) -> Iterator[None]:
    services.forget()
    make_small_catalog()
    yield
    services.forget()


def carried(client: Client, query: str) -> dict[str, str]:
    link = client.get(f"/workbench/?{query}").context["answer"]["hosting"]
    assert link.startswith("/hosting/?")
    return {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}


def test_a_stated_volume_arrives_as_it_was_stated(client: Client) -> None:
    given = carried(
        client, "m_in=500&m_out=100&in=1000&out=200&hours=12&days=20&managed_in=0.1&managed_out=0.4"
    )
    assert float(given["input_millions_per_month"]) == pytest.approx(500, rel=0.01)
    assert float(given["output_millions_per_month"]) == pytest.approx(100, rel=0.01)
    assert given["hours_per_month"] == "240"
    assert (given["managed_input_per_million"], given["managed_output_per_million"]) == ("0.1", "0.4")
    assert given["machines"] == "1"


def test_the_page_it_leads_to_takes_all_of_it(client: Client) -> None:
    link = client.get("/workbench/?m_in=500&managed_in=0.1&managed_out=0.4").context["answer"]["hosting"]
    page = client.get(link)
    assert page.status_code == 200
    assert not page.context["form"].errors


def test_prices_in_another_currency_stay_behind(client: Client) -> None:
    given = carried(client, "managed_in=15&managed_out=60&currency=JPY")
    assert "managed_input_per_million" not in given


def test_training_leads_there_without_a_volume(client: Client) -> None:
    given = carried(client, "kind=lora")
    assert "input_millions_per_month" not in given
    assert given["machines"] == "1"
