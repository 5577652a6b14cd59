"""Private offers in plans: the team sees them frozen, a link and its files never show them."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from django.test import Client
from openpyxl import load_workbook
from pypdf import PdfReader

from accounts.services import personal_team
from catalog import private_offers
from catalog.models import PrivateOffer
from catalog.quote_forms import QuoteForm
from planner import kinds
from planner import services as services_of_planner
from planner.candidate_views import candidate_view
from planner.sizing.workload import ServingWorkload
from reports import content, services
from reports.checklist import prefilled
from reports.models import Plan, PlanVersion
from reports.public import without_private
from tests.catalog.test_quote_tables import GOOD
from tests.factories import AT
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]
SECRETS = (b"OFFER-CANARY", b"QUOTE-77", b"Ishikari DC")


def in_team(crew: Crew) -> Client:
    """A viewer who works in the team."""
    viewer = crew.client("viewer")
    viewer.post(f"/accounts/teams/{crew.team.pk}/choose/")
    return viewer


def enter(crew: Crew, **given: str) -> None:
    asked = GOOD | {
        "provider_name": "OFFER-CANARY", "accelerator_as_written": "H100-SXM5", "gpu_count": "1", "amount": "0.10",
        "currency": "USD", "unit": "hour",
    }  # fmt: skip
    form = QuoteForm(asked | given)
    assert form.is_valid(), form.errors
    private_offers.add(crew.team, form.values(), user=crew.owner, at=AT)


@pytest.fixture
def version(catalog: None, crew: Crew) -> PlanVersion:
    form = QuoteForm(GOOD | {"provider_name": "OFFER-CANARY", "reference": "QUOTE-77", "data_location": "Ishikari DC",
                             "accelerator_as_written": "H100-SXM5", "gpu_count": "1", "amount": "0.10",
                             "currency": "USD", "unit": "hour"})  # fmt: skip
    assert form.is_valid()
    private_offers.add(crew.team, form.values(), user=crew.owner, at=AT)
    return save_plan(crew.team, crew.owner)


def answers(document: bytes) -> list[dict[str, Any]]:
    candidates = json.loads(document)["content"]["workloads"][0]["comparison"]["candidates"]
    return list(candidates)


def test_the_team_sees_its_quote_in_plan_and_files(version: PlanVersion, crew: Crew) -> None:
    viewer = crew.client("viewer")
    path = f"/plans/{version.plan.slug}/"
    assert b"OFFER-CANARY" in viewer.get(path).content
    assert b"OFFER-CANARY" in viewer.get(f"{path}export.csv").content
    first = answers(viewer.get(f"{path}export.json").content)[0]
    assert first["offer"]["quote"]["data_location"] == "Ishikari DC"
    assert first["rank"] == 1


def test_answers_of_a_provider_reach_comparison_csv_and_pdf_with_their_day(catalog: None, crew: Crew) -> None:
    form = QuoteForm(GOOD | {"provider_name": "OFFER-CANARY", "reference": "QUOTE-77", "data_location": "Ishikari DC",
                             "accelerator_as_written": "H100-SXM5", "gpu_count": "1", "amount": "0.10",
                             "currency": "USD", "unit": "hour", "survives_restart": "yes", "survives_host_change": "no",
                             "availability": "from the 15th", "startup_minutes": "12", "answered_on": "2026-11-20",
                             })  # fmt: skip
    assert form.is_valid(), form.errors
    private_offers.add(crew.team, form.values(), user=crew.owner, at=AT)
    version = save_plan(crew.team, crew.owner)
    viewer = crew.client("viewer")
    path = f"/plans/{version.plan.slug}/"
    rows = csv.DictReader(io.StringIO(viewer.get(f"{path}export.csv").content.decode("utf-8-sig")))
    first = next(row for row in rows if row["provider"] == "OFFER-CANARY")
    names = (
        "survives_restart",
        "survives_host_change",
        "survives_contract_end",
        "data_location",
        "availability",
    )
    assert [first[name] for name in names] == ["yes", "no", "", "Ishikari DC", "from the 15th"]
    assert (first["startup_minutes_min"], first["answered_on"]) == ("12", "2026-11-20")
    paper = PdfReader(io.BytesIO(viewer.get(f"{path}export.pdf").content))
    text = " ".join(" ".join(page.extract_text() for page in paper.pages).split())
    for told in ("Ishikari DC", "from the 15th", "12 min", "2026-11-20", "QUOTE-77"):
        assert told in text, told


def test_no_link_and_no_file_of_it_shows_a_private_offer(version: PlanVersion, crew: Crew) -> None:
    _link, secret = services.share(version, user=crew.owner, at=AT)
    reader = Client()
    public = save_plan(crew.stranger.teams.get(), crew.stranger)  # the same question without the quote
    for part in ("", "export.csv", "export.xlsx", "export.json", "export.pdf"):
        answer = reader.get(f"/s/{secret}/{part}")
        assert answer.status_code == 200
        for text in SECRETS:
            assert text not in answer.content, part
    shown = reader.get(f"/s/{secret}/export.json").content
    without = crew.client("stranger").get(f"/plans/{public.plan.slug}/export.json").content
    assert [each["offer"]["offer_id"] for each in answers(shown)] == [
        each["offer"]["offer_id"] for each in answers(without)
    ]
    assert [each["rank"] for each in answers(shown)] == list(range(1, len(answers(shown)) + 1))
    envelope = json.loads(shown)["envelope"]
    body = re.fullmatch(rb'\{"content":(.*),"envelope":.*\}\n', shown, re.DOTALL)
    assert body
    assert envelope["fingerprint"] == content.sha256(body[1].decode()) != version.fingerprint


def test_what_the_link_shows_counts_without_the_private_offer(version: PlanVersion, crew: Crew) -> None:
    kept = content.read_comparison(version.answers.get())
    public = without_private(kept)
    assert public.candidates_total == kept.candidates_total - 1
    assert all(each.offer.quote is None for each in public.candidates)
    assert sum(public.class_counts.values()) == public.candidates_total
    assert version.catalog_version.isdigit()
    assert public.cheapest is None or public.cheapest.offer.offer_id > 0


def test_a_fork_and_a_copy_for_another_team_leave_the_private_offer_behind(
    version: PlanVersion, crew: Crew
) -> None:
    _link, secret = services.share(version, user=crew.owner, at=AT)
    own = crew.stranger.teams.get()
    crew.client("stranger").post("/plans/fork/", {"link": secret, "title": "Fork", "team": own.pk})
    mine = personal_team(crew.viewer, at=AT)
    crew.client("viewer").post(f"/plans/{version.plan.slug}/v/1/copy/", {"title": "Copy", "team": mine.pk})
    assert Plan.objects.count() == 3
    for plan in Plan.objects.exclude(pk=version.plan_id):
        text = services.newest(plan).answers.get().comparison_text
        assert "OFFER-CANARY" not in text
        assert content.is_whole(services.newest(plan))
    crew.client("owner").post(
        f"/plans/{version.plan.slug}/v/1/copy/", {"title": "Ours", "team": crew.team.pk}
    )
    ours = services.newest(Plan.objects.get(title="Ours"))
    assert "OFFER-CANARY" in ours.answers.get().comparison_text


def test_a_plan_keeps_the_quote_as_it_was(version: PlanVersion, crew: Crew) -> None:
    before = crew.client("viewer").get(f"/plans/{version.plan.slug}/export.json").content
    private_offers.withdraw(PrivateOffer.objects.get(), at=AT)
    assert crew.client("viewer").get(f"/plans/{version.plan.slug}/v/1/export.json").content == before
    crew.client("editor").post(f"/plans/{version.plan.slug}/reprice/", {"base_number": 1})
    newest = services.newest(Plan.objects.get())
    assert newest.number == 2
    assert "OFFER-CANARY" not in newest.answers.get().comparison_text
    compared = crew.client("viewer").get(f"/plans/{version.plan.slug}/compare/").content.decode()
    assert "No candidates any more" in compared


def test_a_workbench_of_the_team_shows_the_quote_and_a_visitors_does_not(
    version: PlanVersion, crew: Crew
) -> None:
    owner = crew.client("owner")
    owner.post(f"/accounts/teams/{crew.team.pk}/choose/")
    page = owner.get("/workbench/").content.decode()
    assert "OFFER-CANARY" in page
    found = re.search(r"/workbench/candidate/(-\d+)/", page)
    assert found
    detail = owner.get(f"/workbench/candidate/{found[1]}/")
    assert "Ishikari DC" in detail.content.decode()
    for who in ("anonymous", "stranger"):
        other = crew.client(who)
        assert b"OFFER-CANARY" not in other.get("/workbench/").content
        assert other.get(f"/workbench/candidate/{found[1]}/").status_code == 404
        assert b"OFFER-CANARY" not in other.get("/plans/draft/export.csv").content


def test_a_screen_that_filters_by_a_private_provider_is_saved(version: PlanVersion, crew: Crew) -> None:
    owner = crew.client("owner")
    owner.post(f"/accounts/teams/{crew.team.pk}/choose/")
    query = "providers=offer-canary"
    assert "OFFER-CANARY" in owner.get(f"/workbench/?{query}").content.decode()
    made = owner.post("/plans/new/", {"title": "Only ours", "query": query, "team": crew.team.pk})
    assert made.status_code == 302
    found = content.read_comparison(services.newest(Plan.objects.get(title="Only ours")).answers.get())
    assert {each.offer.provider_name for each in found.candidates} == {"OFFER-CANARY"}


def test_a_checklist_that_fills_itself_in_names_no_private_offer(version: PlanVersion, crew: Crew) -> None:
    """Readers of a link see the checklist."""
    page = crew.client("editor").get(f"/plans/{version.plan.slug}/checklist/").content.decode()
    assert "OFFER-CANARY" not in page
    assert "Requests and answers" in page
    public = without_private(content.read_comparison(version.answers.get()))
    assert public.candidates[0].offer.provider_name in str(prefilled([public]).services)


@pytest.mark.parametrize(
    ("typed", "sentence", "answer"),
    [
        ("", "Whether tax is included is not stated.", "not stated"),
        ("no", "Without tax.", "no"),
        ("yes", "Tax is included.", "yes"),
    ],
)
def test_tax_reads_as_the_quote_said_it(
    catalog: None, crew: Crew, typed: str, sentence: str, answer: str
) -> None:
    enter(crew, tax_included=typed)
    workload = services_of_planner.compare(ServingWorkload(), at=AT, team_id=crew.team.pk)
    first = next(each for each in workload.candidates if each.offer.quote)
    page = in_team(crew).get(f"/workbench/candidate/{first.offer.offer_id}/").content.decode()
    assert sentence in page
    others = {"Whether tax is included is not stated.", "Without tax.", "Tax is included."} - {sentence}
    assert not [other for other in others if other in page]
    view = candidate_view(kinds.of("llm_serving"), first, (), language="en")
    assert ("Tax is included", answer) in view.quote
    version = save_plan(crew.team, crew.owner)
    paper = PdfReader(io.BytesIO(crew.client("viewer").get(f"/plans/{version.plan.slug}/export.pdf").content))
    text = " ".join(paper.pages[0].extract_text().split())
    assert ("per month, without tax" in text) is (typed == "no")


def test_a_price_with_a_fee_upfront_is_told_once_as_read_and_once_over_its_term(
    catalog: None, crew: Crew
) -> None:
    enter(
        crew,
        tier="reserved",
        term_months="12",
        unit="month",
        amount="1200000",
        upfront="500000",
        currency="JPY",
    )
    version = save_plan(crew.team, crew.owner)
    path = f"/plans/{version.plan.slug}/export"
    viewer = crew.client("viewer")
    rows = csv.DictReader(io.StringIO(viewer.get(f"{path}.csv").content.decode("utf-8-sig")))
    own = next(row for row in rows if row["provider"] == "OFFER-CANARY")
    assert (own["price"], own["upfront"]) == ("1200000", "500000")
    assert own["price_over_term"].startswith("1241666.66")
    other = next(
        row
        for row in csv.DictReader(io.StringIO(viewer.get(f"{path}.csv").content.decode("utf-8-sig")))
        if row["provider"] != "OFFER-CANARY"
    )
    assert other["price_over_term"] == ""
    book = load_workbook(io.BytesIO(viewer.get(f"{path}.xlsx").content))
    heads = [cell.value for cell in book["Comparison"][1]]
    shown = next(
        row for row in book["Comparison"].iter_rows(min_row=2, values_only=True) if "OFFER-CANARY" in row
    )
    assert shown[heads.index("Unit price as read")] == 1_200_000
    assert shown[heads.index("Paid upfront for a machine and term")] == 500_000
    about = dict(book["Plan"].iter_rows(min_row=2, values_only=True))
    assert about["Currency"] == "USD"
    page = in_team(crew).get("/catalog/quotes/").content.decode()
    assert "1,200,000 JPY" in page
    assert "500,000 JPY upfront" in page
