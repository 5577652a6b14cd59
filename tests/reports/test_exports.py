"""Files of a plan say exactly what its page says, and carry nothing that a program would run."""

from __future__ import annotations

import csv
import io
import json
import re
import threading
from datetime import date, datetime
from decimal import Decimal
from typing import Any, get_args

import openpyxl
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from planner import csv_cells, wording
from planner.file_figures import header
from planner.sizing.results import Limit
from planner.sizing.workload import Filters, ModelReference, ServingWorkload, Targets
from reports import content, exports, services, sheets
from reports.models import Plan
from reports.table import columns
from tests.factories import AT
from tests.reports.conftest import Crew
from tests.reports.factories import HOSTILE, draft, many_candidates, save_plan, small_comparison

pytestmark = pytest.mark.django_db

DANGEROUS = (
    "=1+1", "+cmd|' /C calc'!A0", "-1+1", "@SUM(1)", "\t=1+1", "\r=1+1", " =1+1", "\u200b=1+1", "＝1+1", "＋1", "－1",
    "＠SUM(1)", 'a",=1+1,"', "|calc", "%0A=1",
)  # fmt: skip


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def make(sheet: sheets.Sheet, fmt: str, language: str = "en") -> bytes:
    return exports.make(sheet, fmt, language).content


def candidates(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [row for row in rows if row["rank"]]


def page_figures(page: str) -> list[dict[str, str]]:
    """The comparison's cells on a page: column key to shown text."""
    return [
        {
            key: re.sub(r"<[^>]+>", "", re.sub(r'<span class="sub">.*?</span>', "", cell)).strip()
            for key, cell in re.findall(r'<td[^>]*data-key="(\w+)"[^>]*>(.*?)</td>', line, re.DOTALL)
        }
        for line in re.findall(r'<tr class="line">.*?</tr>', page, re.DOTALL)
    ]


@pytest.mark.parametrize("currency", ["USD", "JPY", "EUR"])
def test_page_csv_workbook_paper_and_json_show_the_same_figures(
    clock: None, catalog: None, crew: Crew, currency: str
) -> None:
    version = save_plan(
        crew.team, crew.owner, currency=currency, filters=Filters(tiers=("on_demand", "spot"))
    )
    sheet = sheets.of_version(version)
    shown = page_figures(crew.client("viewer").get(f"/plans/{version.plan.slug}/").content.decode())
    rows = candidates(table(make(sheet, "csv")))
    book = openpyxl.load_workbook(io.BytesIO(make(sheet, "xlsx")))
    lines = list(book.worksheets[0].iter_rows(values_only=True))
    stored = json.loads(make(sheet, "json"))["content"]["workloads"][0]["comparison"]["candidates"]
    paper = paper_text(make(sheet, "pdf"))
    named = {column.key: header(column) for column in columns(sheet)}
    codes = {column.key for column in columns(sheet) if column.kind == "code"}
    assert len(shown) == len(rows) == len(stored) > 2
    order = list(rows[0])
    for number, (page_row, row, kept) in enumerate(zip(shown, rows, stored, strict=True)):
        assert row["monthly"] == kept["monthly"]["total"]
        if currency == "JPY":
            assert "." not in row["monthly"]
        for key, text in page_row.items():
            cell = row[named[key]]
            if text == "unknown":
                assert cell == ""
                continue
            figure = text.removeprefix("≥ ")
            is_number = re.fullmatch(r"[\d,]+(\.\d+)?", figure) is not None and key not in ("sku",)
            if key in codes:
                assert wording.word(key, cell) == figure
            else:
                assert cell == (figure.replace(",", "") if is_number else figure), key
            in_book = lines[number + 1][order.index(named[key])]
            if is_number:
                assert isinstance(in_book, int | float), key
                assert Decimal(repr(in_book)) == Decimal(cell), key
                assert figure in paper, key
            elif re.fullmatch(r"\d{4}-\d\d-\d\d", figure):
                assert isinstance(in_book, datetime | date)
            else:
                assert in_book == figure


def paper_text(data: bytes) -> str:
    from pypdf import PdfReader

    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)


def test_the_lines_of_a_bill_sum_to_its_total(catalog: None, crew: Crew) -> None:
    sheet = sheets.of_version(save_plan(crew.team, crew.owner))
    for row in candidates(table(make(sheet, "csv"))):
        lines = [row[f"monthly_{line}"] for line in ("gpu", "rework", "storage", "egress")]
        assert sum(Decimal(line) for line in lines if line) == Decimal(row["monthly"])


def test_every_rejected_offer_stands_in_the_table_with_its_reason(catalog: None, crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner, model=ModelReference(id="meta-llama/Llama-3.1-70B-Instruct"))
    rows = table(make(sheets.of_version(version), "csv"))
    comparison = content.read_comparison(version.answers.get())
    rejected = [row for row in rows if not row["rank"]]
    assert len(rejected) == sum(comparison.rejected_counts.values()) > 0
    short = [row for row in rejected if row["needed_gib"]]
    assert short
    assert all(Decimal(row["needed_gib"]) > Decimal(row["available_gib"]) for row in short)
    assert all(row["reason"] and row["provider"] and row["sku"] for row in rejected)


def test_the_table_is_tidy_and_its_names_are_stable_in_both_languages(catalog: None, crew: Crew) -> None:
    sheet = sheets.of_version(save_plan(crew.team, crew.owner))
    english, japanese = make(sheet, "csv"), make(sheet, "csv", "ja")
    for data in (english, japanese):
        assert data.startswith(b"\xef\xbb\xbf")
        text = data.decode("utf-8-sig")
        assert text.count("\n") == text.count("\r\n") > 1
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        assert {len(line) for line in lines} == {len(lines[0])}
        assert len(set(lines[0])) == len(lines[0])
    assert english == japanese
    assert {
        "monthly",
        "currency",
        "tpot_peak_ms",
        "tpot_peak_ms_low",
        "bandwidth_gb_per_s",
        "fingerprint",
    } <= set(table(english)[0])


def test_every_row_says_what_was_asked(catalog: None, crew: Crew) -> None:
    asked: dict[str, Any] = {
        "request_rate_per_s": None,
        "targets": Targets(ttft_s="none"),
        "kv_format": "fp8",
    }
    rows = table(make(sheets.of_version(save_plan(crew.team, crew.owner, **asked)), "csv"))
    assert rows
    expected = {
        "kind": "llm_serving",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "weights_format": "bf16",
        "kv_format": "fp8",
        "input_tokens_typical": "1000",
        "input_tokens_maximum": "8000",
        "output_tokens_typical": "300",
        "output_tokens_maximum": "1000",
        "concurrency_average": "8",
        "concurrency_peak": "32",
        "request_rate_per_s": "",
        "ttft_target_s": "",
        "tpot_target_s": "0.05",
        "headroom_fraction": "0.1",
    }
    for row in rows:
        assert {name: row[name].removesuffix(".0") for name in expected} == expected
        assert re.fullmatch(r"vllm \d[\d.]*", row["runtime"])


def test_a_rate_takes_the_place_of_the_requests_at_once(catalog: None, crew: Crew) -> None:
    (row, *_rest) = table(
        make(sheets.of_version(save_plan(crew.team, crew.owner, request_rate_per_s=2.5)), "csv")
    )
    assert (row["request_rate_per_s"], row["concurrency_average"], row["concurrency_peak"]) == ("2.5", "", "")
    assert float(row["request_rate_peak_per_s"]) == 10


def test_candidates_and_rejected_offers_tell_memory_codes_and_help(catalog: None, crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner, filters=Filters(tiers=("on_demand", "spot")))
    sheet = sheets.of_version(version)
    rows = table(make(sheet, "csv"))
    for row in candidates(rows):
        assert Decimal(row["needed_gib"]) <= Decimal(row["available_gib"]) <= Decimal(row["gpu_memory_gib"])
        assert row["monthly_bound"] == ("exact" if row["complete"] == "true" else "at_least")
        assert row["limit"] in get_args(Limit)
        assert row["status"] == "candidate"
    assert {row["monthly_bound"] for row in candidates(rows)} == {"exact", "at_least"}
    large = save_plan(crew.team, crew.owner, model=ModelReference(id="meta-llama/Llama-3.1-70B-Instruct"))
    short = [row for row in table(make(sheets.of_version(large), "csv")) if row["reason"] == "memory"]
    assert any("weights_format=" in row["what_would_help"] for row in short)
    book = openpyxl.load_workbook(io.BytesIO(make(sheet, "xlsx"))).worksheets[0]
    titles = [cell.value for cell in book[1]]
    bounds = {row[titles.index("≥")] for row in book.iter_rows(min_row=2, values_only=True)}
    assert bounds == {"=", "≥", None}


@pytest.mark.parametrize("title", DANGEROUS)
def test_no_cell_becomes_a_formula(catalog: None, title: str) -> None:
    sheet = draft(small_comparison(), title)
    cell = table(make(sheet, "csv"))[0]["title"]
    assert re.match(r"^[\s\u200b]*[=+\-@|%＝＋－＠\t\r]", cell) is None
    book = openpyxl.load_workbook(io.BytesIO(make(sheet, "xlsx")))
    titles = [row[2] for row in book.worksheets[0].iter_rows(min_row=2)]
    assert titles
    assert {cell.data_type for cell in titles} == {"s"}
    assert all(cell.data_type != "f" for page in book.worksheets for row in page.iter_rows() for cell in row)


def test_negative_numbers_stay_numbers() -> None:
    assert csv_cells.cell(Decimal("-1570.96")) == "-1570.96"
    assert csv_cells.cell(-3) == "-3"
    assert csv_cells.cell("-1570.96") == "'-1570.96"


def test_figures_have_no_noise_and_nothing_unknown_is_a_number(catalog: None) -> None:
    sheet = draft(small_comparison(filters=Filters(tiers=("on_demand", "spot"))))
    for row in table(make(sheet, "csv")):
        for name, cell in row.items():
            assert cell.lower() not in ("nan", "inf", "none", "null"), name
            assert not re.search(r"\d\.\d{12,}", cell), f"{name}: {cell}"
    unknown = next(row for row in candidates(table(make(sheet, "csv"))) if row["provider"] == "Other")
    assert (unknown["complete"], unknown["monthly_storage"]) == ("false", "")


@pytest.mark.parametrize("fmt", exports.FORMATS)
@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_same_version_gives_the_same_bytes(catalog: None, crew: Crew, fmt: str, language: str) -> None:
    version = save_plan(crew.team, crew.owner, HOSTILE, note="一行\n二行")
    assert make(sheets.of_version(version), fmt, language) == make(sheets.of_version(version), fmt, language)


@pytest.mark.parametrize("fmt", exports.FORMATS)
def test_the_command_writes_the_bytes_the_browser_gets(
    clock: None, plan: Plan, crew: Crew, fmt: str, tmp_path: Any
) -> None:
    target = tmp_path / f"plan.{fmt}"
    call_command("export", plan.slug, "--format", fmt, "-o", str(target))
    for address in (f"/plans/{plan.slug}/export.{fmt}", f"/plans/{plan.slug}/v/1/export.{fmt}"):
        assert (
            crew.client("viewer").get(address, headers={"Accept-Language": "en"}).content
            == target.read_bytes()
        )


def test_the_command_says_what_is_missing(plan: Plan, tmp_path: Any) -> None:
    with pytest.raises(CommandError, match="There is no plan zzzzzzzzzzzz"):
        call_command("export", "zzzzzzzzzzzz", "--format", "csv", "-o", str(tmp_path / "x"))
    with pytest.raises(CommandError, match="no version 7"):
        call_command("export", plan.slug, "--format", "csv", "-o", str(tmp_path / "x"), "--plan-version", "7")


def test_the_json_file_carries_content_and_fingerprint_and_can_be_computed_again(
    catalog: None, crew: Crew, at: datetime
) -> None:
    version = save_plan(crew.team, crew.owner)
    text = make(sheets.of_version(version), "json").decode()
    document = json.loads(text)
    assert content.sha256(content.canonical(document["content"])) == document["envelope"]["fingerprint"]
    assert document["envelope"]["plan"] == version.plan.slug
    workloads = [
        services.NamedWorkload(ServingWorkload.model_validate(row["inputs"]), row["name"])
        for row in document["content"]["workloads"]
    ]
    again = services.save_plan(
        team=crew.team,
        user=crew.editor,
        words=services.Words(document["content"]["title"]),
        workloads=workloads,
        priced_at=datetime.fromisoformat(document["content"]["priced_at"]),
        at=at,
    )
    assert again.fingerprint == version.fingerprint
    assert sheets.of_version(again).content_text == sheets.of_version(version).content_text


@pytest.mark.parametrize(
    "title",
    [
        'a"; filename="b',
        "../../x",
        "a\\b/c",
        "見積 " * 60,
        "é" * 200,
        "e\u0301" * 100,
        "\u202egnp.exe",
        "CON",
        "…",
        "=1+1",
    ],
)
def test_the_file_name_is_one_safe_name(title: str) -> None:
    sheet = sheets.Sheet(title, "", "", "", "abcdefgh2345", 3, AT, AT, "1", "1", "f" * 64, (), lambda: "{}")
    made = exports.make(sheet, "json", "en")
    disposition = made.disposition
    assert disposition.isascii()
    found = re.fullmatch(
        r'attachment; filename="(mitsumori-abcdefgh2345-v3[\w.-]*\.json)"; filename\*=UTF-8\'\'([\w.%-]+)',
        disposition,
    )
    assert found is not None, disposition
    assert not re.search(r"[\\/\r\n\"\u202e]|\.\.", made.filename)
    assert len(made.filename) < 130


def test_an_unsaved_screen_is_stamped_and_carries_no_fingerprint(clock: None, catalog: None) -> None:
    response = Client().get("/plans/draft/export.csv?users=9")
    rows = table(response.content)
    assert {row["fingerprint"] for row in rows} == {"draft"}
    assert {row["plan"] for row in rows} == {""}
    document = json.loads(Client().get("/plans/draft/export.json?users=9").content)
    assert document["envelope"]["draft"] is True
    assert document["envelope"]["fingerprint"] is None
    assert document["content"]["workloads"][0]["inputs"]["concurrency"]["average"] == 9
    assert "draft, not saved" in paper_text(Client().get("/plans/draft/export.pdf").content)


@pytest.mark.parametrize(
    "query", ["users=-1", "users=abc", "model=nobody/nothing", "runtime=none", "config=" + "0" * 64]
)
def test_a_screen_that_is_no_workload_gives_a_message_and_no_file(
    clock: None, catalog: None, query: str
) -> None:
    response = Client().get(f"/plans/draft/export.csv?{query}")
    assert response.status_code == 422
    assert "workbench" in response.content.decode()
    assert "Content-Disposition" not in response.headers


def test_an_unknown_format_does_not_exist(clock: None, plan: Plan, crew: Crew) -> None:
    assert crew.client("owner").get(f"/plans/{plan.slug}/export.exe").status_code == 404
    assert Client().get("/plans/draft/export.html").status_code == 404


def test_at_most_a_few_files_are_made_at_once(catalog: None, monkeypatch: pytest.MonkeyPatch) -> None:
    sheet = draft(small_comparison())
    inside, most, lock, go = 0, 0, threading.Lock(), threading.Event()

    def slow(sheet: sheets.Sheet) -> bytes:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        go.wait(5)
        with lock:
            inside -= 1
        return b"x"

    monkeypatch.setitem(exports._RENDERERS, "csv", slow)
    threads = [threading.Thread(target=exports.make, args=(sheet, "csv", "en")) for _number in range(6)]
    for thread in threads:
        thread.start()
    monkeypatch.setattr(exports, "RENDER_WAIT_S", 0.05)
    with pytest.raises(exports.BusyError):
        exports.make(sheet, "csv", "en")
    go.set()
    for thread in threads:
        thread.join()
    assert most == exports.RENDERS_AT_ONCE


def test_a_table_holds_200_candidates(catalog: None) -> None:
    sheet = draft(many_candidates(small_comparison(), 200))
    assert len(candidates(table(make(sheet, "csv")))) == 200


def test_constants_in_a_workbook_have_no_noise(catalog: None) -> None:
    book = openpyxl.load_workbook(io.BytesIO(make(draft(small_comparison()), "xlsx")))
    values = [cell.value for row in book["Assumptions"].iter_rows(min_row=2) for cell in row]
    numbers = [value for value in values if isinstance(value, float) and not value.is_integer()]
    assert numbers
    assert [value for value in numbers if float(f"{value:.6g}") != value] == []


def test_the_workbook_holds_real_moments_days_and_numbers_under_frozen_heads(plan: Plan) -> None:
    book = openpyxl.load_workbook(io.BytesIO(make(sheets.of_version(services.newest(plan)), "xlsx")))
    for page in book.worksheets:
        assert page.freeze_panes == "A2"
    lines = list(book.worksheets[0].iter_rows(values_only=True))
    moment = lines[1][lines[0].index("Prices as of [UTC]")]
    assert moment == AT.replace(tzinfo=None)
    assert isinstance(lines[1][lines[0].index("Price read on")], date)
    about = dict(list(book["Plan"].iter_rows(values_only=True))[1:])
    assert about["Saved on [UTC]"] == AT.replace(tzinfo=None)
    assert about["To be checked again after"].date() == date(2026, 12, 30)
    assert about["Version"] == 1
