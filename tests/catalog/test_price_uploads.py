"""Price files by browser: staff only, read before anything is taken, hostile ones refused with the reason."""

from __future__ import annotations

import time
import tracemalloc
from datetime import date
from io import BytesIO
from typing import Any

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from catalog.models import Offer, Price, PriceUpload, Provider, Refresh, UploadState
from catalog.price_files import PriceFile, check
from catalog.price_uploads import BYTES_MAXIMUM
from tests.catalog.workbook_parts import MAIN, book, sheet
from tests.factories import AT, make_user

pytestmark = pytest.mark.django_db

ADDRESS = "/catalog/price-files/"
HEAD = "provider,sku,price,currency,observed_on,source,accelerator,gpu_count\n"
GOOD = "sakura,PHY H100,2850.5,JPY,2026-11-01,price page,H100 SXM5,8\n"
COLUMNS = ["provider", "sku", "price", "currency", "observed_on", "source", "accelerator", "gpu_count"]


@pytest.fixture(autouse=True)
def sakura(db: None) -> Provider:
    return Provider.objects.create(slug="sakura", name="Sakura Internet")


def send(client: Client, content: bytes | str, name: str = "prices.csv") -> Any:
    data = content.encode() if isinstance(content, str) else content
    return client.post(ADDRESS, {"file": SimpleUploadedFile(name, data)}, follow=True)


def text(answer: Any) -> str:
    return str(answer.content.decode())


def test_a_good_file_is_shown_row_by_row_and_taken_only_when_confirmed(staff_client: Client) -> None:
    answer = send(staff_client, HEAD + GOOD)
    page = text(answer)
    assert answer.status_code == 200
    assert "PHY H100" in page
    assert "2850.5 JPY" in page
    assert "Take the 1 row" in page
    assert not Price.objects.exists()
    upload = PriceUpload.objects.get()
    taken = staff_client.post(f"{ADDRESS}{upload.pk}/decide/", {"action": "take"}, follow=True)
    assert "The prices are in force." in text(taken)
    offer = Offer.objects.get()
    assert (offer.provider_id, offer.sku, offer.accelerator_id, offer.gpu_count) == (
        "sakura", "PHY H100", "H100-SXM5", 8,
    )  # fmt: skip
    upload.refresh_from_db()
    assert upload.state == UploadState.TAKEN
    assert upload.decided_by is not None
    assert bytes(upload.body_gzip) == b""
    run = Refresh.objects.get()
    assert upload.refresh_id == run.pk
    assert run.asked_by == upload.decided_by


def test_good_rows_are_taken_and_faulty_ones_named_with_their_line(staff_client: Client) -> None:
    page = text(send(staff_client, HEAD + GOOD + GOOD.replace("2850.5", "free").replace("PHY", "PHX")))
    assert "line 3: price: &#x27;free&#x27; is not a number" in page
    assert "Take the 1 row without a fault" in page
    upload = PriceUpload.objects.get()
    staff_client.post(f"{ADDRESS}{upload.pk}/decide/", {"action": "take"})
    assert list(Offer.objects.values_list("sku", flat=True)) == ["PHY H100"]


def test_a_file_is_decided_on_once(staff_client: Client) -> None:
    send(staff_client, HEAD + GOOD)
    upload = PriceUpload.objects.get()
    dropped = staff_client.post(f"{ADDRESS}{upload.pk}/decide/", {"action": "drop"}, follow=True)
    assert "nothing of it was taken" in text(dropped)
    again = staff_client.post(f"{ADDRESS}{upload.pk}/decide/", {"action": "take"}, follow=True)
    assert "decided on already" in text(again)
    assert not Price.objects.exists()
    assert staff_client.post(f"{ADDRESS}{upload.pk}/decide/", {"action": "eat"}).status_code == 400
    assert staff_client.post(f"{ADDRESS}999999/decide/", {"action": "take"}).status_code == 404


def test_only_staff_may_send_see_and_take_files(staff_client: Client, client: Client) -> None:
    send(staff_client, HEAD + GOOD)
    upload = PriceUpload.objects.get()
    member = Client()
    member.force_login(
        make_user("member@example.com"), backend="allauth.account.auth_backends.AuthenticationBackend"
    )
    for address in (ADDRESS, f"{ADDRESS}{upload.pk}/"):
        assert member.get(address).status_code == 403
        assert client.get(address).status_code in (302, 401)
    for address in (ADDRESS, f"{ADDRESS}{upload.pk}/decide/"):
        assert member.post(address, {"action": "take"}).status_code == 403
        assert client.post(address, {"action": "take"}).status_code in (302, 401)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = staff_client.cookies
    assert strict.post(f"{ADDRESS}{upload.pk}/decide/", {"action": "take"}).status_code == 403
    upload.refresh_from_db()
    assert upload.state == UploadState.WAITING


def test_a_workbook_is_read_with_its_days_numbers_and_shared_texts(staff_client: Client) -> None:
    written = openpyxl.Workbook()
    lines = written.active
    assert lines is not None
    lines.append([*COLUMNS])
    lines.append(["sakura", "PHY H100", 2850.5, "JPY", date(2026, 11, 1), "price page", "H100 SXM5", 8])
    lines.append(["sakura", "PHY CPU", 0.1 + 0.2, "JPY", date(2026, 11, 2), "price page"])
    file = BytesIO()
    written.save(file)
    page = text(send(staff_client, file.getvalue(), "prices.xlsx"))
    assert "Take all 2 rows" in page
    upload = PriceUpload.objects.get()
    rows = upload.report["accepted"]
    assert [row["observed_on"] for row in rows] == ["2026-11-01", "2026-11-02"]
    assert [row["amount"] for row in rows] == ["2850.5", "0.3"]
    assert rows[1]["not_comparable"] == "no_accelerator"


BOMB = b'<?xml version="1.0"?><worksheet xmlns="' + MAIN.encode() + b'"><sheetData>'
LAUGHS = '<!DOCTYPE l [<!ENTITY a "AAAAAAAAAA"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("prices.csv", b"", "the file is empty"),
        ("prices.csv", b"sku,price\na,1\n", "no column provider"),
        ("prices.csv", (HEAD + GOOD).encode("utf-16"), "in UTF-8?"),
        ("prices.csv", (HEAD + GOOD.replace("price page", "価格表")).encode("shift_jis"), "Shift_JIS"),
        ("prices.csv", HEAD.encode() + b"=cmd|' /C calc'!A0,x,1,USD,2026-11-01,page,,\n", "like a formula"),
        ("prices.csv", HEAD.encode() + b"sakura,x,12 yen,JPY,2026-11-01,page,,\n", "is not a number"),
        ("prices.csv", HEAD.encode(), "No row of it holds a price."),
        ("prices.csv", b"\x89PNG\r\n\x1a\n" + b"\0" * 500, "not UTF-8"),
        ("prices.xlsx", b"sku,price\na,1\n", "the name says workbook"),
        ("prices.xls", b"\xd0\xcf\x11\xe0" + b"\0" * 600, "old Excel workbook"),
        ("prices.xlsx", book(sheet([["sku", "price"], ["a", 1.5]])), "no column provider"),
        ("prices.xlsx", book(sheet([COLUMNS, ["sakura"]], LAUGHS)), "document types"),
        ("prices.xlsx", book(sheet([COLUMNS]))[:300], "damaged"),
        ("prices.xlsx", book("<worksheet><sheetData><row>"), "damaged"),
        ("prices.xlsx", book(sheet([COLUMNS]), **{f"xl/media/{n}": "x" for n in range(600)}), "too many parts"),
        (
            "prices.xlsx",
            book(f'<worksheet xmlns="{MAIN}"><sheetData><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
                 "</sheetData></worksheet>"),
            "more columns",
        ),
        (
            "prices.xlsx",
            book(sheet([COLUMNS, ["sakura", "x", "NaN", "JPY", "2026-11-01", "page"]])),
            "is not a number",
        ),
        (
            "prices.xlsx",
            book(
                sheet([COLUMNS]).replace(
                    "</sheetData>", "<row><c><f>HYPERLINK(1)</f><v>1</v></c></row></sheetData>"
                )
            ),
            "begins like a formula",
        ),
    ],
)  # fmt: skip
def test_a_hostile_file_is_refused_at_its_field_with_the_reason(
    staff_client: Client, name: str, content: bytes, fault: str
) -> None:
    answer = send(staff_client, content, name)
    page = text(answer)
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in page
    assert fault in page
    assert not PriceUpload.objects.exists()


def test_a_workbook_that_unpacks_to_very_much_ends_early_and_in_little_memory() -> None:
    row = b"<row><c><v>1</v></c></row>" * 40_000
    heads = sheet([COLUMNS]).encode().removesuffix(b"</sheetData></worksheet>")
    bomb = book(
        heads + b"<row>" + b"<c><v>1</v></c>" * 10 + b"</row>" + row * 150 + b"</sheetData></worksheet>"
    )
    assert len(bomb) < 1_000_000
    tracemalloc.start()
    started = time.monotonic()
    report = check(PriceFile("prices.xlsx", bomb), AT)
    spent_s = time.monotonic() - started
    _now, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.unreadable
    assert "more than 2,000 rows have faults" in report.faults[-1]
    assert peak_bytes < 40_000_000
    assert spent_s < 20


def test_a_workbook_whose_one_text_never_ends_is_cut_off() -> None:
    endless = book(b"<worksheet><sheetData><row><c t='inlineStr'><is><t>" + b"A" * 60_000_000)
    report = check(PriceFile("prices.xlsx", endless), AT)
    assert report.faults == ["the workbook becomes too large when it is unpacked"]


def test_a_file_above_the_limit_is_told_at_its_field(staff_client: Client) -> None:
    answer = send(staff_client, HEAD.encode() + b"x" * BYTES_MAXIMUM)
    assert answer.status_code == 422
    assert "larger than 5 MiB" in text(answer)
    assert staff_client.post(ADDRESS, {}).status_code == 422


def test_a_file_name_is_only_text(staff_client: Client) -> None:
    page = text(send(staff_client, HEAD + GOOD, "<b>x\u202e</b>.csv"))
    assert "<b>x" not in page
    assert PriceUpload.objects.get().name.endswith("b>.csv")
