"""A plan keeps the tokens of a month that were typed, and every file of it says them."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest

from reports import presenters, services, sheets
from tests.factories import AT
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog", "clock")]

IN, OUT = 2_000, 500
"""Million tokens a month, not in the proportion of the typical request of 1,000 in and 300 out."""


def test_a_plan_keeps_the_tokens_through_files_and_repricing(crew: Crew) -> None:
    version = save_plan(
        crew.team, crew.owner, input_tokens_per_month=IN * 1e6, output_tokens_per_month=OUT * 1e6
    )
    inputs = version.answers[0].inputs
    assert (inputs["input_tokens_per_month"], inputs["output_tokens_per_month"]) == (IN * 1e6, OUT * 1e6)
    again = services.reprice(version.plan, user=crew.owner, base_number=1, at=AT + timedelta(minutes=1))
    assert again.answers[0].inputs == inputs
    (workload,) = sheets.of_version(version).workloads
    facts = {fact.label: fact.text for fact in presenters.workload(workload).question}
    assert (facts["Tokens in, a month"], facts["Tokens out, a month"]) == ("2,000 million", "500 million")
    assert facts["Requests per second"] == (
        "0.761 on average, of typical length, to serve the tokens of the month"
    )
    viewer = crew.client("viewer")
    text = viewer.get(f"/plans/{version.plan.slug}/export.csv").content.decode("utf-8-sig")
    (row, *_rest) = csv.DictReader(io.StringIO(text))
    assert float(row["input_tokens_per_month"]) == IN * 1e6
    assert float(row["output_tokens_per_month"]) == OUT * 1e6
    assert float(row["request_rate_per_s"]) == pytest.approx(0.761, abs=1e-3)
    assert (row["concurrency_average"], row["concurrency_peak"]) == ("", "")
    assert float(row["per_million"]) == pytest.approx(float(row["monthly"]) / (IN + OUT), abs=6e-5)
    for fmt in ("pdf", "xlsx", "json"):
        assert viewer.get(f"/plans/{version.plan.slug}/export.{fmt}").status_code == 200
