"""An uploaded table of quotes: read into texts, its columns guessed by their heads, its rows checked one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from django.utils.translation import gettext as _

from catalog import workbooks
from catalog.models import PriceUnit, Tier
from catalog.price_tables import FileFault, csv_rows, is_workbook
from catalog.quote_forms import QuoteForm

BYTES_MAXIMUM = 2 * 2**20
ROWS_MAXIMUM = 2_000
COLUMNS_MAXIMUM = 40
CELL_LENGTH = 2_000
FAULTS_KEPT = 100

HEADS: dict[str, str] = {
    "provider_name": "provider|vendor|supplier|company|プロバイダ|プロバイダー|事業者|会社|会社名|提供元|ベンダー",
    "reference": "quote|quote no|quote number|reference|ref|quotation|quotation no|見積番号|見積no|見積書番号",
    "sku": "machine|instance|instance type|sku|product|model|item|型番|品名|商品|インスタンス|サーバー|構成",
    "accelerator_as_written": "gpu|accelerator|card|gpu model|gpu type|アクセラレータ|アクセラレーター"
    "|gpu種別|gpuモデル",
    "gpu_count": "gpus|gpu count|count|qty|quantity|number of gpus|gpu数|枚数|数量|gpu枚数",
    "vcpu": "vcpu|vcpus|cpu|cores|cpuコア|コア数",
    "ram_gib": "ram|memory|ram gib|ram gb|メモリ|メモリー",
    "region": "region|location|site|zone|リージョン|地域|場所|拠点",
    "tier": "tier|terms|type of contract|契約形態|契約種別",
    "tier_detail": "term|duration|contract|期間|契約期間",
    "term_months": "term months|term in months|months|months of term|contract months|commitment months|契約月数|月数",
    "upfront": "upfront|up-front|upfront fee|upfront payment|upfront price|initial fee|initial payment|prepayment|"
    "前払い|前払|前払金|前払い金|前金|一時金|初期費用|初期費",
    "amount": "price|amount|cost|rate|price per hour|monthly price|hourly price|価格|金額|単価|料金|月額|時間単価",
    "currency": "currency|ccy|通貨",
    "unit": "unit|per|billing|単位|課金単位",
    "tax_included": "tax|tax included|vat|税込|税",
    "received_on": "date|received|received on|quote date|日付|見積日|受領日|発行日",
    "valid_until": "valid until|valid to|validity|expires|expiry|有効期限|期限",
    "note": "note|notes|remarks|comment|備考|メモ|注記",
    "survives_restart": "survives restart|data survive restart|再起動後のデータ",
    "survives_host_change": "survives host change|ホスト変更後のデータ",
    "survives_contract_end": "survives contract end|契約終了後のデータ",
    "data_location": "data location|data residency|データ所在地|データの所在",
    "availability": "availability|available from|lead time|delivery|納期|在庫|利用可能日",
    "startup_minutes": "startup minutes|start-up time|startup time|起動時間",
    "answered_on": "answered on|回答日",
}
"""What heads of tables mean each field, in lower case and between bars."""
_MEANING = {_head: name for name, heads in HEADS.items() for _head in heads.split("|")}

_HOUR = "hour|h|hr|hourly|per hour|/h|/hour|時間|1時間|時間単価"
_MONTH = "month|mo|monthly|per month|/month|月|月額|1か月|ヶ月"
_ON_DEMAND = "on demand|on-demand|ondemand|on_demand|オンデマンド|従量"
_RESERVED = "reserved|committed|commitment|dedicated|予約|専有|月契約"
_SPOT = "spot|preemptible|スポット"


def _all(words: str, code: str) -> dict[str, str]:
    return dict.fromkeys(words.split("|"), code)


_WORDS: dict[str, dict[str, str]] = {
    "unit": _all(_HOUR, PriceUnit.HOUR) | _all(_MONTH, PriceUnit.MONTH),
    "tier": _all(_ON_DEMAND, Tier.ON_DEMAND) | _all(_RESERVED, Tier.RESERVED) | _all(_SPOT, Tier.SPOT),
}
_YES = dict.fromkeys(("yes", "y", "true", "1", "included", "はい", "有", "○", "あり", "税込"), "yes")
_NO = dict.fromkeys(("no", "n", "false", "0", "excluded", "いいえ", "無", "×", "なし", "税抜", "税別"), "no")
_WORDS |= dict.fromkeys(
    ("tax_included", "survives_restart", "survives_host_change", "survives_contract_end"), _YES | _NO
)
_DAYS = ("received_on", "valid_until", "answered_on")
_TERM = re.compile(
    r"(?P<months>\d{1,3})\s*(?:months?|mos?|[かヶカヵケ箇]月)|(?P<years>\d{1,2})\s*(?:years?|yrs?|y|年)",
    re.ASCII,
)
_FORMULA = re.compile(r"^[=@\t\r]")


@dataclass
class Checked:
    """Rows that may be taken, and what is wrong with the others."""

    good: list[dict[str, Any]] = field(default_factory=list)
    faulty_count: int = 0
    faults: list[str] = field(default_factory=list)


def read(name: str, data: bytes) -> list[list[str]]:
    """The table as texts, heads first, empty rows left out. Raises ``FileFault``."""
    rows: list[list[str]] = []
    book = is_workbook(name, data[:8])
    for line, cells in _cells(data, book):
        if len(cells) > COLUMNS_MAXIMUM:
            raise FileFault(line, _("more than %(count)d columns") % {"count": COLUMNS_MAXIMUM})
        shown = [cell.strip()[:CELL_LENGTH] for cell in cells]
        if any(shown):
            rows.append(shown)
        if len(rows) > ROWS_MAXIMUM + 1:
            raise FileFault(line, _("more than %(count)d rows; split the file") % {"count": ROWS_MAXIMUM})
    if len(rows) < 2:
        raise FileFault(0, _("the table has no rows below its heads"))
    width = len(rows[0])
    return [(row + [""] * width)[:width] for row in rows]


def _cells(data: bytes, book: bool) -> Iterator[tuple[int, list[str]]]:
    if book:
        yield from workbooks.rows(data)
        return
    yield from csv_rows(BytesIO(_utf8(data)))


def _utf8(data: bytes) -> bytes:
    """What spreadsheets call Unicode text is UTF-16 with tabs; it becomes UTF-8 with commas' rules kept."""
    if not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data
    try:
        return data.decode("utf-16").encode("utf-8")
    except UnicodeDecodeError:
        raise FileFault(0, _("not UTF-8; save the file as UTF-8")) from None


def guesses(heads: Sequence[str]) -> list[str]:
    """The field that each head means, each field once; empty where nothing is recognised."""
    found: list[str] = []
    for head in heads:
        plain = re.sub(r"\s*[(\[（].*$", "", head).casefold().replace("_", " ").strip(" .:")
        name = _MEANING.get(plain) or _MEANING.get(plain.replace(" ", "")) or ""
        found.append("" if name in found else name)
    return found


def check(rows: Sequence[Sequence[str]], columns: Sequence[str], for_all: Mapping[str, str]) -> Checked:
    """Every row below the heads through the form that people fill in."""
    checked = Checked()
    for number, cells in enumerate(rows[1:], start=2):
        given = dict(for_all) | {
            name: worded(name, cell) for name, cell in zip(columns, cells, strict=True) if name and cell
        }
        form = QuoteForm(given)
        formula = next((cell for cell in cells if _FORMULA.match(cell)), None)
        if formula is None and form.is_valid():
            checked.good.append(form.values())
            continue
        checked.faulty_count += 1
        if len(checked.faults) < FAULTS_KEPT:
            checked.faults.append(_fault(number, form, formula))
    return checked


def _fault(number: int, form: QuoteForm, formula: str | None) -> str:
    if formula is not None:
        return _("row %(number)d: a cell holds a formula (%(cell)s); paste its value") % {
            "number": number,
            "cell": formula[:40],
        }
    told = []
    for name, messages in form.errors.items():
        label = form.fields[name].label if name in form.fields else ""
        told.append(f"{label}: {' '.join(map(str, messages))}" if label else " ".join(map(str, messages)))
    return _("row %(number)d: %(faults)s") % {"number": number, "faults": " ".join(told)}


def worded(name: str, cell: str) -> str:
    """A cell as the form takes it: words as codes, days that spreadsheets keep as numbers as days."""
    if name in _DAYS:
        return workbooks.day_of(cell)
    if name == "term_months":
        return _months(cell)
    table = _WORDS.get(name)
    return table.get(cell.casefold(), cell) if table else cell


def _months(cell: str) -> str:
    """ "12 months" and "1 year" as months; anything else stays as it is, for the form to judge."""
    found = _TERM.fullmatch(cell.strip().casefold())
    if found is None:
        return cell
    return str(int(found["years"]) * 12) if found["years"] else found["months"]
