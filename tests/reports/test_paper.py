"""The quotation as PDF: accessible, complete, in both languages, and nobody's program."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pdfua
import pytest
from pypdf import PdfReader
from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject, NameObject

from planner import kinds
from planner.figures import Figure
from planner.sizing.results import Comparison
from planner.sizing.training.workload import PretrainingWorkload, TuningWorkload
from planner.sizing.workload import BatchWorkload, Schedule
from reports import exports, pdf_export, services, sheets, typesetting
from tests.factories import AT
from tests.reports.conftest import Crew
from tests.reports.factories import draft, many_candidates, save_plan, small_comparison
from tests.sizing.training.test_setting import EIGHT, LLAMA_7B, ONE, SPOT, answer

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.one_database(
        reason="how a paper is set; plans are saved and files handed out on both elsewhere"
    ),
]


def pages(data: bytes) -> list[str]:
    return [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]


def squeezed(text: str) -> str:
    """Extraction puts spaces between Japanese and Latin: compare without any."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def paper(sheet: sheets.Sheet, language: str = "en") -> bytes:
    return exports.make(sheet, "pdf", language).content


def test_page_one_is_the_quotation(catalog: None, crew: Crew) -> None:
    version = save_plan(
        crew.team, crew.owner, "社内チャット 見積", prepared_for="調達部 御中", note="髙橋・𠮷田 ①㈱"
    )
    first = squeezed(pages(paper(sheets.of_version(version)))[0])
    for said in (
        "社内チャット見積", "調達部御中", "OnoOwner", "髙橋・𠮷田", version.plan.slug, version.fingerprint[:12],
        "$811.00",
        "$9,732.00", "2026-11-30", "2026-12-30",
    ):  # fmt: skip
        assert squeezed(said) in first, said


def a_run() -> Comparison:
    """Full fine-tuning with terms of sale and smaller machines to tell of."""
    return answer(TuningWorkload(kind="full_finetune", model=LLAMA_7B), EIGHT, SPOT, ONE)


@pytest.mark.parametrize("made", [small_comparison, a_run])
def test_the_paper_tells_the_first_candidate_as_its_page_does(
    catalog: None, made: Callable[[], Comparison]
) -> None:
    comparison = made()
    text = squeezed("\n".join(pages(paper(draft(comparison)))))
    is_run = comparison.kind == "full_finetune"
    assert (squeezed("The whole run (80 % range)") in text) is is_run
    assert (squeezed("At peak load (80 % range)") in text) is not is_run
    blocks = kinds.of(comparison.kind).blocks(comparison.candidates[0])
    assert blocks
    for block in blocks:
        told = [block.title, *block.heads, block.note]
        for label, cells in block.rows:
            told += [label, *(cell.text if isinstance(cell, Figure) else cell or "–" for cell in cells)]
        for each in told:
            assert squeezed(each) in text, (block.title, each)


def test_the_paper_holds_everything_procurement_files(catalog: None, crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner)
    text = squeezed("\n".join(pages(paper(sheets.of_version(version)))))
    for heading in (
        "What was asked", "Assumptions", "Comparison", "Rejected", "The month, line by line",
        "Prices: sources and dates",
        "Method and uncertainty",
    ):  # fmt: skip
        assert squeezed(heading) in text, heading
    for said in ("price page", "2026-11-01", "803.00", "8.00", version.fingerprint, "Known, L40S-1"):
        assert squeezed(said) in text, said


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_paper_is_accessible(catalog: None, crew: Crew, language: str, tmp_path: Path) -> None:
    version = save_plan(crew.team, crew.owner, "見積 Chat", note="A note", prepared_for="調達部")
    target = tmp_path / "plan.pdf"
    target.write_bytes(paper(sheets.of_version(version), language))
    report = pdfua.validate(str(target))
    assert [f"{finding.rule_id}: {finding.message}" for finding in report.findings] == []
    reader = PdfReader(target)
    root: Any = reader.trailer["/Root"]
    assert str(root["/Lang"]).startswith(language)
    assert b"pdfuaid" in root["/Metadata"].get_object().get_data()
    assert reader.metadata is not None
    assert reader.metadata.title == "見積 Chat"


def test_fonts_are_embedded_and_nothing_is_active(catalog: None, crew: Crew) -> None:
    data = paper(sheets.of_version(save_plan(crew.team, crew.owner, "見積")))
    names = set(names_in(PdfReader(io.BytesIO(data))))
    assert not names & {"/JavaScript", "/JS", "/Launch", "/EmbeddedFile", "/SubmitForm", "/URI"}
    fonts = {name for name in names if re.match(r"/[A-Z]{6}\+", name)}
    assert {name.split("+")[1].split("-")[0] for name in fonts} == {"Inter", "NotoSansJP"}


def names_in(reader: PdfReader) -> Iterator[str]:
    """Every name an object of the file says, as key or as value; the bytes of its streams are not names."""
    for number in reader.xref[0]:
        waiting: list[Any] = [reader.get_object(IndirectObject(number, 0, reader))]
        while waiting:
            item = waiting.pop()
            if isinstance(item, NameObject):
                yield str(item)
            elif isinstance(item, DictionaryObject):
                yield from (str(key) for key in item)
                waiting.extend(item.values())
            elif isinstance(item, ArrayObject):
                waiting.extend(item)


@pytest.mark.parametrize(
    "title",
    [
        '#eval("191*7")', '#read("/etc/passwd")', "{{7*191}}", "\\input{/etc/passwd}", "= heading", "$x^2$",
        "*bold* _it_",
        '"] #panic() [', "//comment", "<label> @ref",
    ],
)  # fmt: skip
def test_what_people_type_is_set_and_never_run(catalog: None, title: str) -> None:
    text = pages(paper(draft(small_comparison(), title)))[0]
    assert "1337" not in text
    assert "root:x" not in text
    assert squeezed(title) in squeezed(text)


@pytest.mark.parametrize("title", ["مرحبا", "🙂👩‍👩‍👧", "a\u202eb", "a\u0301" * 50, "\u2028", "𓀀", "\ufdd0"])
def test_characters_without_a_glyph_are_marked_and_break_nothing(catalog: None, title: str) -> None:
    data = paper(draft(small_comparison(), f"Plan {title} end"))
    assert data.startswith(b"%PDF-")
    assert "Plan" in pages(data)[0]


def test_every_covered_character_is_in_a_font() -> None:
    from fontTools.ttLib import TTFont

    regular = {
        point
        for name in ("NotoSansJP-Regular.ttf", "Inter-Regular.ttf")
        for point in TTFont(typesetting.FONTS / name).getBestCmap()
    }
    assert pdf_export._covered() - {0x0A} <= regular
    assert pdf_export.printable("見積 ≥ 1,000 円") == "見積 ≥ 1,000 円"
    assert pdf_export.printable("🙂") == ""
    assert pdf_export.printable("🚀 Launch 👩‍🚀 plan 見積 🙂") == "Launch plan 見積"
    assert pdf_export.printable("a\tb กา c") == "a b 〓〓 c"


def test_the_paper_says_that_pictures_were_left_out(catalog: None) -> None:
    said = squeezed("pictures are left out, others read 〓")
    with_one = squeezed("\n".join(pages(paper(draft(small_comparison(), "🚀 Launch plan")))))
    assert said in with_one
    assert "Launchplan" in with_one
    assert said not in squeezed("\n".join(pages(paper(draft(small_comparison(), "Launch\tplan")))))
    only = squeezed("\n".join(pages(paper(draft(small_comparison(), "🚀")))))
    assert "draft,notsaved" in only


def test_a_draft_is_stamped_on_every_page(catalog: None) -> None:
    for page in pages(paper(draft(small_comparison()))):
        assert "draft, not saved" in page


def test_a_saved_plan_names_its_fingerprint_on_every_page(catalog: None, crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner)
    for page in pages(paper(sheets.of_version(version))):
        assert version.fingerprint in page.replace("\n", "")
        assert "draft" not in page


def test_a_batch_job_is_printed_with_its_hours(catalog: None, crew: Crew) -> None:
    version = services.save_plan(
        team=crew.team,
        user=crew.owner,
        words=services.Words("Nightly summaries"),
        workloads=[services.NamedWorkload(BatchWorkload())],
        priced_at=AT,
        at=AT,
    )
    text = squeezed("\n".join(pages(paper(sheets.of_version(version)))))
    assert "Hoursforthejob" in text
    assert "Costofthejob" in text
    assert "per12monthsattheseprices" in text, "every night"
    assert "perjob" in text


@pytest.mark.parametrize(("starts", "has_year"), [(0, False), (2, True)])
def test_twelve_months_stand_on_the_paper_only_where_a_run_is_repeated(
    catalog: None, starts: int, has_year: bool
) -> None:
    schedule = Schedule(starts_per_day=starts)
    comparison = answer(TuningWorkload(kind="full_finetune", model=LLAMA_7B, schedule=schedule), EIGHT)
    first = squeezed(pages(paper(draft(comparison)))[0])
    assert ("per12monthsattheseprices" in first) is has_year
    assert "perrun" in first


@pytest.mark.parametrize(
    ("starts", "tokens", "said"), [(1, 140, "Setsofmachinessidebyside"), (0, 2000, "Monthsthatthisbillisfor")]
)
def test_a_bill_of_several_sets_or_months_says_so_on_paper(
    catalog: None, starts: int, tokens: int, said: str
) -> None:
    workload = PretrainingWorkload(
        parameters_billion=7,
        tokens_billion=tokens,
        machines_maximum=2,
        schedule=Schedule(starts_per_day=starts),
    )
    comparison = answer(workload, EIGHT)
    monthly = comparison.candidates[0].monthly
    assert (monthly.sets > 1, monthly.months > 1) == (bool(starts), not starts)
    text = squeezed("\n".join(pages(paper(draft(comparison)))))
    assert f"{said}{max(monthly.sets, monthly.months)}" in text


def test_a_plan_with_nothing_that_fits_prints_why(catalog: None, crew: Crew) -> None:
    version = save_plan(crew.team, crew.owner, filters={"include": ("T4",)})
    text = squeezed("\n".join(pages(paper(sheets.of_version(version)))))
    assert "Nomachinethatthefiltersleavecanrunthis" in text
    assert "Notamongtheacceleratorsaskedfor" in text


def test_200_candidates_are_printed(catalog: None) -> None:
    sheet = draft(many_candidates(small_comparison(), 200), "Large")
    assert "machine-200" in squeezed("\n".join(pages(paper(sheet))))


def test_the_template_reads_nothing_but_its_data() -> None:
    source = Path(typesetting.TEMPLATE).read_text(encoding="utf-8")
    assert re.findall(r"#?(?:import|include|read|eval|plugin|csv|yaml|toml|xml)\b\s*[\"(]", source) == []
    assert source.count("sys.inputs") == 1


def test_who_prints_never_loads_the_typesetter() -> None:
    """What it keeps, some 50 MB for each new paper, is gone with the process that set the paper."""
    asked = "import sys, reports.pdf_export; print('typst' in sys.modules)"
    program = f"import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'mitsumori.settings'; django.setup(); {asked}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "False"


def test_data_that_cannot_be_set_are_refused_with_the_typesetters_reason() -> None:
    with pytest.raises(typesetting.NotSetError, match="labels"):
        typesetting.compose({"lang": "en"}, 0)


def test_a_typesetter_that_does_not_end_is_ended(catalog: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typesetting, "SET_S", 0.001)
    with pytest.raises(typesetting.TooSlowError):
        typesetting.compose({"lang": "en"}, 0)
    with pytest.raises(exports.BusyError):
        exports.make(draft(small_comparison()), "pdf", "en")
