"""Files that an operator keeps: honest ones are taken once, hostile ones change nothing and every fault has a line."""

from __future__ import annotations

import tracemalloc
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from catalog.models import CatalogVersion, Offer, Price, Provider, Refresh
from catalog.price_files import ImportReport, import_prices
from catalog.seed_loading import load_seeds
from tests.factories import AT

pytestmark = pytest.mark.django_db

HEAD = "provider,sku,price,currency,observed_on,source,accelerator,gpu_count,region,vcpu,ram_gib,tier\n"
GOOD = "sakura,PHY H100,2850.5,JPY,2026-11-01,price page,H100 SXM5,8,tk1,96,1500,on_demand\n"


@pytest.fixture(autouse=True)
def sakura(db: None) -> Provider:
    return Provider.objects.create(
        slug="sakura", name="Sakura Internet", names_seen=["さくら", "SAKURA internet"]
    )


def taken(tmp_path: Path, text: str | bytes, *, take_good: bool = False, day: int = 0) -> ImportReport:
    file = tmp_path / "prices.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return import_prices(file, AT + timedelta(days=day), take_good=take_good)


def test_a_file_becomes_offers_with_their_source_and_day_and_once_only(tmp_path: Path) -> None:
    report = taken(
        tmp_path, "\ufeff" + HEAD + GOOD + GOOD.replace("sakura", "さくら").replace("PHY H100", "PHY H100 b")
    )
    assert (report.taken, report.rows_read, report.offers_added, report.faults) == (True, 2, 2, [])
    offer = Offer.objects.comparable().get(sku="PHY H100")
    assert (offer.accelerator_id, offer.gpu_count, offer.region, offer.ram_gib) == (
        "H100-SXM5",
        8,
        "tk1",
        Decimal(1500),
    )
    assert offer.current_price is not None
    assert (offer.current_price.amount, offer.current_price.currency) == (Decimal("2850.5"), "JPY")
    assert (offer.current_price.source, str(offer.confirmed_on)) == ("price page", "2026-11-01")
    again = taken(tmp_path, HEAD + GOOD, day=1)
    assert (again.offers_added, again.prices_added) == (0, 0)
    newer = taken(tmp_path, HEAD + GOOD.replace("2850.5", "3000").replace("11-01", "11-20"), day=2)
    assert newer.prices_added == 1
    older = taken(tmp_path, HEAD + GOOD.replace("2850.5", "1").replace("11-01", "10-01"), day=3)
    assert (older.prices_added, older.prices_older) == (0, 1)
    offer.refresh_from_db()
    assert offer.current_price is not None
    assert offer.current_price.amount == 3000


def test_imported_offers_stay_when_shipped_seeds_are_loaded_again(tmp_path: Path) -> None:
    taken(tmp_path, HEAD + GOOD)
    load_seeds(AT)
    assert Offer.objects.current().filter(sku="PHY H100").exists()


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("2850.5", "free", "line 2: price: 'free' is not a number"),
        ("2850.5", "¥2850", "line 2: price: '¥2850' is not a number"),
        ("2850.5", '"2,850"', "line 2: price: '2,850' is not a number"),
        ("2850.5", "NaN", "line 2: price: 'NaN' is not a number"),
        ("2850.5", "1e9", "line 2: price: '1e9' is not a number"),
        ("2850.5", "-5", "line 2: price: '-5' is not a number"),
        ("2850.5", "２８５０", "line 2: price: '２８５０' is not a number"),
        ("2850.5", "0", "line 2: price: zero is not a price"),
        ("2850.5", "", "line 2: price: is empty"),
        ("JPY", "yen", "line 2: currency: 'yen' is not a currency"),
        ("2026-11-01", "01/11/2026", "line 2: observed_on: '01/11/2026' is not a day"),
        ("2026-11-01", "2026-02-30", "line 2: observed_on: '2026-02-30' is not in the calendar"),
        ("2026-11-01", "2036-11-01", "line 2: observed_on: 2036-11-01 is in the future"),
        ("sakura", "nobody", "line 2: provider: 'nobody' is not in the catalog"),
        ("PHY H100", "=HYPERLINK(1)", "line 2: sku: '=HYPERLINK(1)' begins like a formula"),
        ("price page", "@SUM(A1)", "line 2: source: '@SUM(A1)' begins like a formula"),
        ("PHY H100", "x" * 121, "line 2: sku: longer than 120 characters"),
        (",8,", ",8.5,", "line 2: gpu_count: '8.5' is not a whole number"),
        ("on_demand", "cheap", "line 2: tier: 'cheap' is none of"),
        ("on_demand", "on_demand,more", "line 2: 13 cells where the header has 12"),
    ],
)
def test_a_fault_is_named_with_its_line_and_nothing_is_taken(
    tmp_path: Path, before: str, after: str, fault: str
) -> None:
    second = GOOD.replace("PHY H100", "other machine")
    report = taken(tmp_path, HEAD + GOOD.replace(before, after) + second)
    assert (report.taken, report.faulty_rows) == (False, 1)
    assert report.faults[0].startswith(fault)
    assert not Offer.objects.exists()
    assert taken(tmp_path, HEAD + GOOD.replace(before, after) + second, take_good=True).offers_added == 1


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "line 1: the file is empty"),
        (b"provider;sku;price\n", "line 1: no column provider"),
        (HEAD.replace("price", "preis").encode(), "line 1: no column price; unknown column 'preis'"),
        (HEAD.replace("region", "sku").encode(), "line 1: column sku twice"),
        (
            (HEAD + GOOD.replace("price page", "価格表")).encode("cp932"),
            "line 2: not UTF-8 (it looks like Shift_JIS)",
        ),
        ((HEAD + GOOD).encode("utf-16"), "line 1: holds a zero byte"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(128, 256)), "line 1: not UTF-8"),
        ((HEAD + '"' + "x" * 50_000).encode(), "line 2: longer than 20,000 bytes"),
        ((HEAD + 'sakura,"never ends\n').encode(), "line 2: cannot be read as CSV"),
    ],
)
def test_a_file_that_is_no_price_file_is_refused_by_name(tmp_path: Path, content: bytes, fault: str) -> None:
    report = taken(tmp_path, content, take_good=True)
    assert not report.taken
    assert report.faults[0].startswith(fault)
    assert not Price.objects.exists()


@pytest.mark.parametrize(
    ("price", "fault"),
    [
        ("free", "more than 2,000 rows have faults; is this the right file?"),
        ("1", "more than 10,000 rows; split the file"),
    ],
)
def test_a_million_rows_are_refused_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, price: str, fault: str
) -> None:
    monkeypatch.setattr("catalog.price_files.ROWS_MAXIMUM", 10_000)  # counting memory makes all of it slow
    file = tmp_path / "prices.csv"
    with file.open("w", encoding="utf-8") as lines:
        lines.write(HEAD)
        lines.writelines(
            f"sakura,m{number},{price},USD,2026-11-01,page,,,,,,\n" for number in range(1_000_000)
        )
    tracemalloc.start()
    report = import_prices(file, AT)
    _now, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not report.taken
    assert report.faults[-1].endswith(fault)
    assert len(report.faults) <= 101
    assert peak_bytes < 40_000_000


def test_two_prices_of_one_machine_on_one_day_are_a_fault(tmp_path: Path) -> None:
    report = taken(tmp_path, HEAD + GOOD + GOOD.replace("2850.5", "2851"))
    assert report.faults == ["line 3: price: another row has another price for this machine on this day"]


def test_what_is_not_certain_is_listed_and_not_compared(tmp_path: Path) -> None:
    cards = {
        "H100": "ambiguous_accelerator", "Z999": "unknown_accelerator", "A10 1/6": "slice_memory_unknown",
        "": "no_accelerator",
    }  # fmt: skip
    rows = [
        GOOD.replace("H100 SXM5", card).replace("PHY H100", f"machine {n}") for n, card in enumerate(cards)
    ]
    rows.append(GOOD.replace(",8,", ",,").replace("PHY H100", "no count"))
    report = taken(tmp_path, HEAD + "".join(rows))
    assert report.taken
    assert dict(report.not_comparable) == dict.fromkeys([*cards.values(), "count_unknown"], 1)
    assert not Offer.objects.comparable().exists()


def test_the_command_says_what_it_did_and_fails_where_it_took_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(HEAD + GOOD, encoding="utf-8")
    version = CatalogVersion.current()
    call_command("import_prices", str(file))
    assert "1 rows read, 0 with faults; 1 new offers, 1 prices added" in capsys.readouterr().out
    assert (CatalogVersion.current(), Refresh.objects.get().source) == (version + 1, "file")
    file.write_text(HEAD + GOOD.replace("2850.5", "free"), encoding="utf-8")
    with pytest.raises(CommandError, match="nothing was taken"):
        call_command("import_prices", str(file))
    with pytest.raises(CommandError, match="No such file"):
        call_command("import_prices", str(tmp_path / "none.csv"))
