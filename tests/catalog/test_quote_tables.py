"""Uploaded tables of quotes: read, columns guessed, rows checked by the form that people fill in."""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal
from typing import Any

import openpyxl
import pytest

from catalog import quote_tables
from catalog.price_tables import FileFault
from catalog.quote_forms import MappingForm, QuoteForm

GOOD = {
    "provider_name": "Sakura", "sku": "VRT-H100", "accelerator_as_written": "H100 SXM 80GB", "gpu_count": "8",
    "amount": "1,980,000.5", "currency": "jpy", "unit": "month", "received_on": "2026-11-01",
}  # fmt: skip
ENGLISH = (
    "Vendor,GPU,Qty,Instance,Price (JPY),Currency,Per,Quote date,Valid until,Remarks,Colour\n"
    "Sakura,H100 SXM 80GB,8,VRT-H100,1980000,JPY,月額,2026-11-01,2026-12-31,=no formula,red\n"
    "Sakura,H100 SXM 80GB,8,VRT-H100b,-5,JPY,monthly,2026-11-01,2026-12-31,,blue\n"
).replace("=no formula", "first")


def workbook(rows: list[list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_form_takes_numbers_currencies_and_days_as_they_are_meant() -> None:
    form = QuoteForm(GOOD)
    assert form.is_valid(), form.errors
    values = form.values()
    assert (values["amount"], values["currency"], values["gpu_count"]) == (Decimal("1980000.5"), "JPY", 8)
    assert values["received_on"] == date(2026, 11, 1)
    assert values["tax_included"] is None
    assert values["startup_minutes"] is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("amount", ""), ("amount", "0"), ("amount", "-1"), ("amount", "1,5"), ("amount", "1e3"), ("amount", "NaN"),
        ("amount", "1_000"), ("amount", "²"), ("amount", "9" * 400), ("amount", "1.1234567"),
        ("amount", "=1+1"), ("gpu_count", "0"), ("gpu_count", "1.5"), ("gpu_count", "1025"), ("gpu_count", "x"),
        ("currency", "US"), ("currency", "$"), ("currency", "USDX"), ("currency", "円"), ("received_on", ""),
        ("received_on", "2026-02-30"), ("received_on", "0001-01-01"), ("received_on", "99999-01-01"),
        ("valid_until", "2026-10-31"), ("valid_until", "soon"), ("tier", "free"), ("unit", "year"),
        ("provider_name", ""), ("provider_name", "a\nb"), ("provider_name", "x" * 121), ("sku", ""),
        ("note", "x" * 2001), ("vcpu", "0"), ("ram_gib", "-1"), ("startup_minutes", "-1"),
        ("survives_restart", "maybe"), ("accelerator_as_written", ""), ("accelerator_as_written", "A100"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_at_its_field(field: str, value: str) -> None:
    form = QuoteForm(GOOD | {field: value})
    assert not form.is_valid()
    assert field in form.errors


RESERVED = GOOD | {"tier": "reserved", "term_months": "12", "upfront": "5,000", "unit": "hour", "amount": "2"}


def test_a_reserved_quote_says_what_is_paid_upfront_and_for_how_many_months() -> None:
    form = QuoteForm(RESERVED)
    assert form.is_valid(), form.errors
    values = form.values()
    assert (values["upfront"], values["term_months"], values["amount"]) == (Decimal(5_000), 12, Decimal(2))
    assert QuoteForm(RESERVED | {"amount": "0"}).is_valid(), "all of a term may be paid upfront"
    assert QuoteForm(RESERVED | {"upfront": ""}).is_valid(), "a term may be paid by the hour alone"
    assert QuoteForm(GOOD | {"upfront": "0"}).is_valid(), "nothing upfront is no commitment"
    plain = QuoteForm(GOOD)
    assert plain.is_valid()
    assert (plain.values()["upfront"], plain.values()["term_months"]) == (None, None)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"tier": "on_demand", "term_months": ""}, "upfront"), ({"tier": "spot", "term_months": ""}, "upfront"),
        ({"tier": "on_demand", "upfront": ""}, "term_months"), ({"term_months": ""}, "term_months"),
        ({"term_months": "0"}, "term_months"), ({"term_months": "121"}, "term_months"),
        ({"term_months": "1.5"}, "term_months"), ({"term_months": "a year"}, "term_months"),
        ({"upfront": "-1"}, "upfront"), ({"upfront": "1000000000"}, "upfront"), ({"upfront": "1,5"}, "upfront"),
        ({"amount": "0", "upfront": "0"}, "amount"), ({"amount": "0", "upfront": ""}, "amount"),
    ],
)  # fmt: skip
def test_a_commitment_that_does_not_hold_together_is_refused_at_its_field(
    change: dict[str, str], field: str
) -> None:
    assert list(QuoteForm(RESERVED | change).errors) == [field]


def test_columns_of_what_is_paid_upfront_are_known_in_two_languages() -> None:
    wanted = ["term_months", "upfront"]
    for heads in (
        ["Term months", "Upfront (USD)"],
        ["term_months", "Initial fee"],
        ["契約月数", "前払金（円）"],
    ):
        assert quote_tables.guesses(heads) == wanted
    heads = ["Provider", "Machine", "GPU", "GPUs", "Terms", "Months", "Price", "Currency", "Date", "前払い"]
    same = ["P", "m", "L4", "1", "予約"]
    rows = [heads] + [
        [*same, months, "2", "USD", "2026-11-01", "5000"]
        for months in ("12", "1 year", "3年", "24ヶ月", "6 months", "soon")
    ]
    checked = quote_tables.check(rows, quote_tables.guesses(heads), {})
    assert [row["term_months"] for row in checked.good] == [12, 12, 36, 24, 6]
    assert {row["upfront"] for row in checked.good} == {Decimal(5_000)}
    assert checked.faults[0].startswith("row 7: Term in months:")


def test_an_ambiguous_card_is_refused_with_the_cards_it_can_mean() -> None:
    form = QuoteForm(GOOD | {"accelerator_as_written": "A100"})
    assert "A100-SXM4-80GB" in str(form.errors["accelerator_as_written"])
    assert QuoteForm(GOOD | {"accelerator_as_written": "Nobody X1"}).is_valid()


def test_heads_are_guessed_in_two_languages_each_field_once() -> None:
    assert quote_tables.guesses(["Vendor", "GPU", "Qty", "Price (USD)", "Provider", "???"]) == [
        "provider_name", "accelerator_as_written", "gpu_count", "amount", "", ""
    ]  # fmt: skip
    japanese = ["会社名", "GPU数", "金額（税抜）", "通貨", "有効期限", "備考"]
    assert quote_tables.guesses(japanese) == [
        "provider_name", "gpu_count", "amount", "currency", "valid_until", "note"
    ]  # fmt: skip


def test_good_rows_are_taken_and_each_fault_is_named_with_its_row() -> None:
    rows = quote_tables.read("quotes.csv", ENGLISH.encode())
    columns = quote_tables.guesses(rows[0])
    assert columns[-1] == ""
    checked = quote_tables.check(rows, columns, {})
    assert [row["sku"] for row in checked.good] == ["VRT-H100"]
    assert checked.good[0]["unit"] == "month"
    assert checked.faulty_count == 1
    assert checked.faults[0].startswith("row 3: Price of the whole machine:")


def test_what_holds_for_all_rows_fills_the_gaps_and_yields_to_cells() -> None:
    rows = [
        ["Machine", "GPU", "GPUs", "Price", "Currency"],
        ["a", "L4", "1", "2", ""],
        ["b", "L4", "1", "2", "EUR"],
    ]
    for_all = {"provider_name": "P", "currency": "CHF", "received_on": "2026-11-01"}
    checked = quote_tables.check(rows, quote_tables.guesses(rows[0]), for_all)
    assert [(row["provider_name"], row["currency"]) for row in checked.good] == [("P", "CHF"), ("P", "EUR")]


def test_a_workbook_gives_the_same_rows_as_a_csv() -> None:
    heads = ["Vendor", "GPU", "Qty", "Instance", "Price", "Currency", "Quote date"]
    book = workbook([heads, ["Sakura", "L4", 8, "x", 1.25, "USD", date(2026, 11, 1)]])
    text = ",".join(heads) + "\nSakura,L4,8,x,1.25,USD,2026-11-01\n"
    found = []
    for name, data in (("q.xlsx", book), ("q.csv", text.encode()), ("q.csv", text.encode("utf-16"))):
        rows = quote_tables.read(name, data)
        found.append(quote_tables.check(rows, quote_tables.guesses(rows[0]), {}).good)
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 1


def test_a_formula_in_a_cell_is_a_fault_and_not_a_value() -> None:
    rows = quote_tables.read("q.xlsx", workbook([["Machine", "Price"], ["x", "=1+1"]]))
    checked = quote_tables.check(rows, ["sku", "amount"], {})
    assert "holds a formula" in checked.faults[0]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("q.csv", b""), ("q.csv", b"a,b\n"), ("q.xlsx", b"not a workbook"), ("q.csv", "会社\nさくら\n".encode("cp932")),
        ("q.csv", b"a\n" + b"x\n" * 2001), ("q.csv", b",".join([b"a"] * 41) + b"\n1\n"), ("q.csv", b'a\n"open\n'),
        ("q.xls", b"\xd0\xcf\x11\xe0"), ("q.csv", b"a\n\x00\n"), ("q.csv", b"\xff\xfea"),
        ("q.xlsx", b"PK\x03\x04 truncated"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_table_is_refused_with_a_reason(name: str, data: bytes) -> None:
    with pytest.raises(FileFault) as fault:
        quote_tables.read(name, data)
    assert len(str(fault.value)) > 8


def test_a_mapping_needs_every_needed_field_and_each_column_once() -> None:
    heads = ["a", "b"]
    form = MappingForm({"column_0": "sku", "column_1": "sku"}, heads=heads, guesses=["", ""])
    assert not form.is_valid()
    assert "column_1" in form.errors
    assert "Price of the whole machine" in str(form.non_field_errors())
