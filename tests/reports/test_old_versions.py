"""A plan that an earlier version of the product wrote: it must read back to the byte whatever the code became since.

``tests/data/plan_of_then.json`` is such a file. It is never written anew: what cannot read it cannot read the plans
that people have stored.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from reports import exports, importing
from reports.content import is_whole
from tests.factories import AT
from tests.reports.conftest import Crew

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

OLD = Path(__file__).resolve().parent.parent / "data" / "plan_of_then.json"
FINGERPRINT = "75423232d660b5190ec7a417403f1e409ca3ebdff4db5a28e2ff1b87d7063cbf"
FIRST_TOTAL = "127,530"


def test_a_plan_of_then_reads_the_same_today(crew: Crew) -> None:
    data = OLD.read_bytes()
    version = importing.import_plan(data, team=crew.team, user=crew.owner, at=AT)
    assert version.fingerprint == FINGERPRINT
    assert is_whole(version)
    found = re.fullmatch(rb'\{"content":(.*),"envelope":.*\}\n', data, re.DOTALL)
    again = re.fullmatch(
        rb'\{"content":(.*),"envelope":.*\}\n', exports.of_version(version, "json", "en").content, re.DOTALL
    )
    assert found
    assert again
    assert again[1] == found[1]
    assert hashlib.sha256(again[1]).hexdigest() == FINGERPRINT


def test_its_page_and_files_show_the_figures_of_then(crew: Crew) -> None:
    version = importing.import_plan(OLD.read_bytes(), team=crew.team, user=crew.owner, at=AT)
    viewer = crew.client("viewer")
    page = viewer.get(f"/plans/{version.plan.slug}/").content.decode()
    assert FIRST_TOTAL in page
    rows = viewer.get(f"/plans/{version.plan.slug}/export.csv").content.decode("utf-8-sig")
    assert FIRST_TOTAL.replace(",", "") in rows
    for fmt in exports.FORMATS:
        assert viewer.get(f"/plans/{version.plan.slug}/export.{fmt}").status_code == 200
