"""The answer leads to the other ways to pay for it, with its machines, hours and volume."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.http import QueryDict
from django.test import Client

from planner.asked import asked, not_used
from planner.figures import significant
from planner.forms import WorkbenchForm
from planner.sizing.workload import Concurrency, ServingWorkload
from reports.presenters import question

pytestmark = pytest.mark.usefixtures("small_catalog")


def link_of(client: Client, query: str) -> str:
    page = client.get(f"/workbench/?{query}").content.decode()
    (found,) = re.findall(r'<a href="(/hosting/[^"]*)">Reserved, bought, or paid by the token instead', page)
    return unescape(found)


def form_of(query: str) -> WorkbenchForm:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert form.is_valid(), form.errors
    return form


def carried(client: Client, query: str) -> dict[str, str]:
    link = link_of(client, query)
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
    link = link_of(client, "m_in=500&managed_in=0.1&managed_out=0.4")
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


def test_a_volume_out_of_proportion_arrives_as_typed_and_the_answer_says_what_it_counts(
    client: Client,
) -> None:
    query = "m_in=2000&m_out=500&managed_in=0.1&managed_out=0.4"
    given = carried(client, query)
    assert (given["input_millions_per_month"], given["output_millions_per_month"]) == ("2000.00", "500.00")
    page = re.sub(r"\s+", " ", unescape(client.get(f"/workbench/?{query}").content.decode()))
    said = not_used(form_of(query))
    assert said == [
        "2,000 million tokens in and 500 million out a month are not in the proportion of a request, 1,000 in and "
        "300 out. The price of 1M tokens counts the tokens as typed; machines and speed are sized for 2 million "
        "requests of typical length, so that both are served."
    ]
    assert said[0] in page
    told = dict(asked(form_of(query)))
    assert (told["Tokens in, a month"], told["Tokens out, a month"]) == ("2,000 million", "500 million")
    for agreeing in ("m_in=2000&m_out=600", "m_in=2000", "m_out=500", "rate=2"):
        assert not_used(form_of(agreeing)) == []


def test_of_a_rate_the_peak_that_was_sized_is_told(client: Client) -> None:
    query = "rate=2&users=8&users_peak=32"
    context = client.get(f"/workbench/?{query}").context
    told, peak = dict(asked(form_of(query))), context["view"].best.it.speed.peak
    assert "At once, peak" not in told
    assert told["Requests per second"] == (
        "2 on average: 5,256 million tokens in and 1,577 million out a month"
    )
    assert told["Requests per second at peak"] == "8, 4 × the average, as 32 at once are to 8"
    assert peak.request_rate_per_s == pytest.approx(8)
    (note,) = [note for note in context["view"].notes if "holds" in note]
    assert f"{significant(peak.concurrency)} at the peak of 4 × that rate" in note


def test_a_volume_reaches_the_paper_in_few_digits() -> None:
    load = {"concurrency": Concurrency(average=8, peak=32), "request_rate_per_s": 0.7610341736002968}
    texts = {fact.label: fact.text for fact in question(ServingWorkload(**load).model_dump(mode="json"))}
    assert "At once, peak" not in texts
    assert texts["Requests per second"].startswith(
        "0.761 on average: 2,000 million tokens in and 600 million out"
    )
    assert texts["Requests per second at peak"].startswith("3.044, 4 × the average")
