"""One search: what is public for everybody, plans and quotes for their teams alone."""

from __future__ import annotations

import html
import re
from datetime import date
from decimal import Decimal

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import Team, User
from catalog.models import PrivateOffer, Region
from reports.models import Plan
from reports.search import PER_GROUP, search
from tests.factories import AT
from tests.planner.factories import make_offer, make_provider
from tests.reports.conftest import Crew
from tests.reports.factories import save_plan, sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]
SEARCH = "/search/"
HX = {"HX-Request": "true"}


def found(text: str, reader: User | None = None) -> dict[str, list[str]]:
    """Titles by kind."""
    return {
        group.key: [hit.title for hit in group.hits] for group in search(text, reader or AnonymousUser(), AT)
    }


def make_quote(team: Team, **changes: object) -> PrivateOffer:
    values: dict[str, object] = {
        "team": team, "provider_name": "Quiet Cloud", "sku": "quiet-8", "accelerator_as_written": "H100",
        "gpu_count": 8, "amount": Decimal("12"), "currency": "USD", "received_on": date(2026, 11, 1), "created_at": AT,
    }  # fmt: skip
    return PrivateOffer.objects.create(**{**values, **changes})


def test_models_accelerators_providers_places_and_machines_are_found_by_a_part_of_their_name(
    catalog: None,
) -> None:
    assert "meta-llama/Llama-3.3-70B-Instruct" in found("llama 3.3 70b")["models"]
    assert found("h100 sxm")["accelerators"] == ["H100-SXM5"]
    assert set(found("H100")["accelerators"]) >= {"H100-SXM5", "H100-PCIe", "H100-NVL"}, "a family names all"
    assert found("known")["providers"] == ["Known"]
    assert found("h100-sxm5-1")["machines"] == ["H100-SXM5-1"]
    assert found("import")["pages"] == ["Import a model"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        *((text, "Ways to pay and to host") for text in ("managed", "per token", "api", "API", "マネージド")),
        *((text, "What fits this machine") for text in ("context", "longest context", "文脈")),
        ("accuracy", "How well the speeds hold"),
    ],
)
def test_a_page_is_found_by_what_people_call_it(catalog: None, text: str, title: str) -> None:
    assert title in found(text)["pages"]


def test_a_word_that_no_page_has_finds_no_page(catalog: None) -> None:
    assert "pages" not in found("per banana")
    assert "pages" not in found("xyz")


def test_a_place_is_found_in_both_languages_and_full_width_letters(catalog: None) -> None:
    Region.objects.create(
        provider=make_provider(), code="zz-east", city="Nagoya", name="Nagoya", name_ja="名古屋", country="JP"
    )
    for text in ("nagoya", "名古屋", "ＮＡＧＯＹＡ"):
        assert found(text)["regions"] == ["Nagoya"]


@pytest.mark.parametrize("text", ["", "   ", "\u3000", "zzzzqqq", "' OR 1=1 --", "[", "\\"])
def test_nothing_is_found_for_what_names_nothing(catalog: None, text: str) -> None:
    assert found(text) == {}


def test_percent_and_underscore_are_letters_not_wildcards(catalog: None, crew: Crew) -> None:
    save_plan(crew.team, crew.owner, "Chat assistant")
    assert found("%", crew.owner) == {}
    assert "plans" not in found("C_at", crew.owner)


def test_plans_are_found_by_members_alone(catalog: None, crew: Crew) -> None:
    save_plan(crew.team, crew.owner, "Zebra assistant")
    for member in (crew.owner, crew.editor, crew.viewer):
        assert found("zebra", member)["plans"] == ["Zebra assistant"]
    assert "plans" not in found("zebra", crew.stranger)
    assert "plans" not in found("zebra")
    crew.team.memberships.get(user=crew.viewer).delete()
    assert "plans" not in found("zebra", crew.viewer), "who left the team finds nothing any more"


def test_archived_plans_are_not_found(catalog: None, crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner, "Zebra assistant")
    Plan.objects.filter(pk=version.plan_id).update(archived_at=AT)
    assert "plans" not in found("zebra", crew.owner)


def test_quotes_are_found_by_members_alone_and_only_while_they_stand(catalog: None, crew: Crew) -> None:
    quote = make_quote(crew.team, reference="Q-2026-77")
    assert found("quiet", crew.viewer)["quotes"] == ["Quiet Cloud quiet-8"]
    assert found("Q-2026-77", crew.owner)["quotes"] == ["Quiet Cloud quiet-8"]
    assert found("quiet", crew.stranger) == {}
    assert found("quiet") == {}
    PrivateOffer.objects.filter(pk=quote.pk).update(ended_at=AT)
    assert found("quiet", crew.owner) == {}


def test_each_hit_leads_to_a_page_that_is_there(catalog: None, crew: Crew) -> None:
    save_plan(crew.team, crew.owner, "H100 for chat")
    client = sign_in(crew.owner)
    addresses: list[str] = []
    for text in ("H100", "tokyo", "known", "bert", "offers"):
        page = client.get(SEARCH, {"q": text}).content.decode()
        links = re.findall(r'class="hit[^"]*" href="([^"]+)"', page)
        assert links, text
        addresses += links[:4]
    for address in addresses:
        assert client.get(html.unescape(address)).status_code == 200, address


def test_at_most_a_few_of_a_kind_are_shown_with_a_way_to_all(catalog: None) -> None:
    for number in range(PER_GROUP + 2):
        make_offer("H100-SXM5", "2.00", sku=f"rack-{number}")
    group = next(group for group in search("rack-", AnonymousUser(), AT) if group.key == "machines")
    assert len(group.hits) == PER_GROUP
    assert group.more == "/catalog/offers/?q=rack-&kind=all"


def test_the_dialog_gets_the_list_alone(client: Client, catalog: None) -> None:
    part = client.get(SEARCH, {"q": "h100"}, headers=HX)
    assert "<html" not in part.content.decode()
    assert "H100-SXM5" in part.content.decode()
    assert "HX-Request" in part.headers["Vary"]
    whole = client.get(SEARCH, {"q": "h100"}).content.decode()
    assert 'value="h100"' in whole
    assert "H100-SXM5" in whole


@pytest.mark.parametrize(
    "text", ["<script>zqx7()</script>", '"><img src=x onerror=zqx7()>', "A" * 5_000, "%s{0}", "無名"]
)
def test_what_was_typed_is_shown_as_text_and_never_breaks_the_page(client: Client, text: str) -> None:
    response = client.get(SEARCH, {"q": text})
    page = response.content.decode()
    assert response.status_code == 200
    assert "<script>zqx7" not in page
    assert "<img src=x" not in page
    assert "Nothing is called" in page


def test_a_search_asks_the_database_a_few_times_however_much_is_found(
    catalog: None, crew: Crew, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        make_quote(crew.team, sku=f"known-{number}")
        make_offer("H100-SXM5", "2.00", sku=f"known-{number}")
    with django_assert_max_num_queries(5):
        assert found("known", crew.owner)
