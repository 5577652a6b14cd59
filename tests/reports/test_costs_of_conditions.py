"""Page and paper of a plan say what the headroom and the targets cost, and where more replicas do not help."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from pypdf import PdfReader

from planner.sizing.workload import Concurrency, Targets
from reports import exports, presenters, sheets
from reports.models import PlanVersion
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog", "clock")]

COSTLY: dict[str, Any] = {"concurrency": Concurrency(average=40, peak=400), "targets": Targets(ttft_s=0.3)}
"""Five machines instead of two for the first token."""
HOPELESS: dict[str, Any] = {"targets": Targets(tpot_s=0.002)}


def page_of(crew: Crew, version: PlanVersion, query: str = "") -> str:
    text = crew.client("viewer").get(f"/plans/{version.plan.slug}/{query}").content.decode()
    return re.sub(r"\s+", " ", text)


def paper_of(version: PlanVersion) -> str:
    data = exports.make(sheets.of_version(version), "pdf", "en").content
    return re.sub(r"\s+", " ", " ".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages))


def test_what_a_target_costs_stands_on_page_and_paper_with_the_month_without_it(crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner, **COSTLY)
    first = sheets.of_version(version).workloads[0].comparison.candidates[0]
    (relief,) = first.reliefs
    assert (relief.given_up, relief.machines) == ("ttft_s", 2)
    without, month = "Without “TTFT within 300 ms”", f"${relief.total:,.2f}"
    for text in (page_of(crew, version), paper_of(version)):
        assert "What each condition costs on the first candidate" in text
        assert without in text
        assert month in text
        assert f"{first.replicas} replicas: with fewer, the first token would come later" in text


def test_it_is_told_in_another_currency_too(crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner, **COSTLY)
    page = page_of(crew, version, "?currency=JPY")
    table = page[page.index('class="ruled small reliefs"') :]
    assert "¥" in table[: table.index("</table>")]
    assert "$" not in table[: table.index("</table>")]


def test_where_more_replicas_do_not_help_is_said_on_page_and_paper(crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner, **HOPELESS)
    missed, said = presenters.workload(sheets.of_version(version).workloads[0]).misses
    assert missed.startswith("streaming (TPOT): asked 2.00 ms, expected ")
    assert said.startswith("More replicas do not help: with 1, which holds the load, TPOT is ")
    for text in (page_of(crew, version), paper_of(version)):
        assert missed in text
        assert said in text


def test_a_plan_without_conditions_that_cost_has_no_such_table(crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner)
    assert "What each condition costs" not in page_of(crew, version)
    assert "What each condition costs" not in paper_of(version)
