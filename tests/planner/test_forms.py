"""The workbench form: what it reads, what it refuses and where it says so."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from django.http import QueryDict
from django.test import Client

from mitsumori.digits import plain_digits
from planner import kinds
from planner.fields import NumberField, SheetBoundField
from planner.forms import WorkbenchForm
from planner.models import PastedConfig
from planner.options import Choices
from planner.sizing.workload import BatchWorkload, ServingWorkload
from tests.factories import AT
from tests.planner.factories import make_small_catalog

NUMBERS = [
    (kind.key, name)
    for kind in kinds.KINDS
    for name, field in kind.fields.items()
    if isinstance(field, NumberField)
]


def form_of(query: str = "", **options: object) -> WorkbenchForm:
    return WorkbenchForm.from_query(QueryDict(query), **options)  # type: ignore[arg-type]


def read(form: WorkbenchForm) -> ServingWorkload:
    workload = form.workload()
    assert isinstance(workload, ServingWorkload)
    return workload


def key(name: str) -> str:
    return name.rstrip("_")


def test_an_empty_query_is_the_default_workload() -> None:
    form = form_of()
    assert form.is_valid(), form.errors
    assert form.workload() == ServingWorkload()
    assert form.query_string() == ""


def test_an_empty_batch_query_is_the_default_job() -> None:
    form = form_of("kind=llm_batch")
    assert form.is_valid(), form.errors
    assert form.workload() == BatchWorkload()
    assert form.query_string() == "kind=llm_batch"


NO_NUMBERS = (
    "-1", "--1", "1.5.2", "0x10", "[1]", "{}", "=1+1", "1/2", "50%", "null", "true", "NaN", "nan", "sNaN", "Infinity",
    "-inf", "1e400", "1E+999999999", "9" * 400, "9" * 5000, "1,5", "1 000", "1_000", "1\n2", "²", "Ⅳ", "<b>1</b>",
    "1;2", "１．５．２",
)  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), NUMBERS)
def test_what_is_no_accepted_number_is_refused_at_its_field(kind: str, name: str) -> None:
    for text in NO_NUMBERS:
        query = QueryDict(mutable=True)
        query[key(name)] = text
        query["kind"] = kind
        form = WorkbenchForm.from_query(query)
        assert not form.is_valid(), text
        assert list(form.errors) == [name], text
        assert form.errors[name][0]
        assert form[name].value() == plain_digits(text).strip()


@pytest.mark.parametrize(("text", "value"), [("１２", 12), ("٣", 3), ("+1", 1), (" 7 ", 7), ("1,000", 1000)])
def test_digits_of_any_script_count_and_are_shown_in_ascii(text: str, value: int) -> None:
    query = QueryDict(mutable=True)
    query["in"] = text
    form = WorkbenchForm.from_query(query)
    assert form.is_valid(), form.errors
    assert read(form).input_tokens.typical == value
    assert form["in_"].value().isascii()


def test_a_decimal_comma_is_never_another_number() -> None:
    assert not form_of("rate=1,5").is_valid()
    assert not form_of("in=1,5").is_valid()
    assert form_of("rate=1.5").is_valid()


@pytest.mark.parametrize(
    ("text", "value"), [("1,000", 1000.0), ("12,345", 12345.0), ("１，０００", 1000.0), ("1,000.5", 1000.5)]
)
def test_thousands_are_read_as_the_sheet_prints_them(text: str, value: float) -> None:
    form = form_of(f"users=1&users_peak={text}")
    assert form.is_valid(), form.errors
    workload = form.workload()
    assert isinstance(workload, ServingWorkload)
    assert workload.concurrency.peak == value
    assert form_of("in_max=8,000").query_string() == "", "the default in another spelling"


@pytest.mark.parametrize(
    "text", ["1,5", "1,50", "1,0000", "0,500", "1,00,000", "1000,000", ",500", "1,000,5"]
)
def test_a_comma_that_parts_no_thousands_is_refused(text: str) -> None:
    form = form_of(f"users=1&users_peak={text}")
    assert list(form.errors) == ["users_peak"]


def test_a_small_peak_alone_lowers_the_average_with_it() -> None:
    form = form_of("users_peak=5")
    assert form.is_valid(), form.errors
    workload = form.workload()
    assert isinstance(workload, ServingWorkload)
    assert (workload.concurrency.average, workload.concurrency.peak) == (5, 5)
    assert form_of(form.query_string()).query_string() == form.query_string() == "users=5&users_peak=5"
    assert not form_of("users=8&users_peak=5").is_valid(), "what was typed is never changed"
    assert form_of("users_peak=x").errors.keys() == {"users_peak"}


@pytest.mark.parametrize(
    ("name", "limit"),
    [("in_", "1 is accepted"), ("headroom", "90 %"), ("tpot", "3,600,000 ms"), ("hours", "24 h")],
)
def test_a_limit_is_told_in_the_unit_of_the_field(name: str, limit: str) -> None:
    beyond = {"in_": "0", "headroom": "99", "tpot": "99999999", "hours": "25"}[name]
    form = form_of(f"{key(name)}={beyond}")
    assert not form.is_valid()
    assert limit in str(form.errors[name][0])


def test_every_refused_field_says_so_at_once() -> None:
    form = form_of("users=-1&rate=x&weights=zz&headroom=99")
    assert not form.is_valid()
    assert set(form.errors) == {"users", "rate", "weights", "headroom"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("in=9000&in_max=8000", "in_max"),
        ("out=2000&out_max=1000", "out_max"),
        ("users=50&users_peak=2", "users_peak"),
    ],
)
def test_two_fields_that_contradict_are_both_named(query: str, field: str) -> None:
    form = form_of(query)
    assert not form.is_valid()
    assert str(form.fields[field].label) in form.errors[field][0]
    assert len(form.errors) == 1


@pytest.mark.parametrize(
    ("query", "sized"),
    [
        ("model=openai/gpt-oss-120b", "mxfp4"), ("model=Qwen/Qwen3-32B-FP8", "fp8"), ("model=Qwen/Qwen3-32B", "bf16"),
        ("model=openai/gpt-oss-120b&weights=bf16", "bf16"), ("model=Qwen/Qwen3-32B&weights=stored", "bf16"),
    ],
)  # fmt: skip
def test_a_checkpoint_is_sized_as_it_is_stored_unless_a_format_is_chosen(query: str, sized: str) -> None:
    form = form_of(query)
    assert form.is_valid(), form.errors
    assert read(form).weights_format == sized
    assert form_of(form.query_string()).query_string() == form.query_string()
    again = form_of(form.query_string())
    assert again.is_valid()
    assert read(again).weights_format == sized


def test_the_choice_names_the_format_it_means() -> None:
    form = form_of("model=openai/gpt-oss-120b")
    assert form.is_valid()
    assert ">as stored (MXFP4)</option>" in str(form["weights"])


def test_percent_and_milliseconds_become_the_document_s_units() -> None:
    form = form_of("headroom=15&hit=30&tpot=25")
    assert form.is_valid(), form.errors
    workload = form.workload()
    assert isinstance(workload, ServingWorkload)
    assert (workload.headroom_fraction, workload.prefix_hit_fraction) == (0.15, 0.3)
    assert workload.targets.tpot_s == 0.025


def test_an_emptied_target_means_none_and_stays_in_the_link() -> None:
    form = form_of("ttft=&tpot=")
    assert form.is_valid(), form.errors
    workload = form.workload()
    assert isinstance(workload, ServingWorkload)
    assert (workload.targets.ttft_s, workload.targets.tpot_s) == ("none", "none")
    assert form.query_string() == "ttft=&tpot="


def test_the_canonical_query_opens_the_same_workload_again() -> None:
    query = (
        "kind=llm_batch&model=Qwen/Qwen2.5-32B-Instruct&weights=fp8&in=2000&requests=500&deadline=&hit=30&hours=12"
        "&interruptible=no&tiers=on_demand,spot&regions=tokyo,JP&complete=1&currency=JPY"
    )
    form = form_of(query)
    assert form.is_valid(), form.errors
    again = form_of(form.query_string())
    assert again.is_valid(), again.errors
    assert again.workload() == form.workload()
    assert again.query_string() == form.query_string()
    assert form_of("users=8.0").query_string() == "", "another spelling of the default is the default"


def test_unknown_and_doubled_keys_change_nothing() -> None:
    form = form_of("team=1&owner=2&is_staff=1&id=3&total=0&price=1&users=9&users=10")
    assert form.is_valid(), form.errors
    assert form.query_string() == "users=10"


@pytest.mark.parametrize(
    "text", ["\x00", "a\x00b", "\x1b[31m", "x" * 100_000, "<script>alert(1)</script>", "../../x"]
)
@pytest.mark.parametrize("name", ["model", "revision", "version"])
def test_hostile_text_is_refused_with_a_message(name: str, text: str) -> None:
    query = QueryDict(mutable=True)
    query[name] = text
    form = WorkbenchForm.from_query(query)
    assert not form.is_valid() or name == "model"
    if name in form.errors:
        assert form.errors[name][0]


@pytest.mark.parametrize(
    "name", ["kind", "runtime", "weights", "kv", "objective", "currency", "interruptible", "tiers"]
)
def test_a_foreign_option_is_no_choice(name: str) -> None:
    form = form_of(f"{name}=user__password")
    assert not form.is_valid()
    assert name in form.errors


def test_filters_name_only_what_the_catalog_has() -> None:
    choices = Choices(providers=(("known", "Known"),), accelerators=("H100-SXM5",), regions={"jp": "jp"})
    good = form_of("providers=known&include=h100-sxm5&regions=JP", choices=choices)
    assert good.is_valid(), good.errors
    assert good.workload().filters.include == ("H100-SXM5",)
    bad = form_of("providers=other&include=H9000&regions=moon", choices=choices)
    assert not bad.is_valid()
    assert set(bad.errors) == {"providers", "include", "regions"}
    assert bad.query_string() == "providers=other&regions=moon&include=H9000", "nothing typed is lost"


def test_a_family_means_all_its_variants_and_says_so() -> None:
    cards = ("H100-SXM5", "H100-PCIe", "H100-NVL", "H200-SXM", "L40S")
    choices = Choices(providers=(), accelerators=cards, regions={"Tokyo": "Tokyo", "JP": "JP"})
    form = form_of("include=H100,l40s", choices=choices)
    assert form.is_valid(), form.errors
    assert set(form.workload().filters.include) == {"H100-SXM5", "H100-PCIe", "H100-NVL", "L40S"}
    assert set(form.families) == {"H100"}
    assert form.query_string() == "include=H100,l40s", "the link stays as short as it was typed"


def test_a_memory_means_every_accelerator_that_is_sold_with_it() -> None:
    cards = ("L4", "RTX4090", "L40S", "H100-SXM5")
    choices = Choices(providers=(), accelerators=cards, regions={})
    for typed in ("24 GB", "24gb", "２４ＧＢ"):
        form = form_of(f"include={quote(typed)}", choices=choices)
        assert form.is_valid(), form.errors
        assert set(form.workload().filters.include) == {"L4", "RTX4090"}
    assert not form_of("include=23 GB", choices=choices).is_valid(), "no accelerator has it"
    wide = form_of(f"include={quote('ＲＴＸ４０９０')}", choices=choices)
    assert wide.is_valid(), wide.errors
    assert wide.workload().filters.include == ("RTX4090",)


def nearest(form: WorkbenchForm, name: str) -> list[tuple[str, str]]:
    field = form[name]
    assert isinstance(field, SheetBoundField)
    return field.nearest


def test_the_nearest_names_are_one_click_away() -> None:
    choices = Choices(
        providers=(),
        accelerators=("H100-SXM5", "L40S"),
        regions={"Tokyo": "Tokyo", "tokyo": "Tokyo", "JP": "JP"},
    )
    form = form_of("include=L40S,H10O-SXM5&regions=Tokio&users=9", choices=choices)
    assert not form.is_valid()
    assert nearest(form, "include") == [("H100-SXM5", "users=9&regions=Tokio&include=L40S,H100-SXM5")]
    assert nearest(form, "regions")[0] == ("Tokyo", "users=9&regions=Tokyo&include=L40S,H10O-SXM5")
    assert nearest(form, "users") == []
    family = form_of("include=H10O", choices=choices)
    assert not family.is_valid()
    assert nearest(family, "include") == [("H100", "include=H100")]
    again = form_of("include=H100", choices=choices)
    assert again.is_valid(), again.errors


def test_every_control_names_its_message() -> None:
    form = form_of("users=-1")
    form.is_valid()
    html = str(form["users"])
    assert 'aria-invalid="true"' in html
    assert "err-users" in html
    assert 'aria-invalid="true"' not in str(form["users_peak"])


@pytest.mark.django_db
def test_a_pasted_configuration_is_the_model() -> None:
    config = {"model_type": "llama", "hidden_size": 64}
    digest = PastedConfig.keep(config, AT).digest
    form = form_of(f"config={digest}", at=AT)
    assert form.is_valid(), form.errors
    assert read(form).model.config == config
    assert form.query_string() == f"config={digest}"


@pytest.mark.django_db
def test_a_digest_that_is_not_kept_is_said_at_the_model() -> None:
    form = form_of(f"config={'a' * 64}", at=AT)
    assert not form.is_valid()
    assert "model" in form.errors
    assert not form_of("config=zz").is_valid()


def test_tokens_a_month_are_requests_spread_over_the_hours_that_are_on() -> None:
    form = WorkbenchForm.from_query(QueryDict("m_in=500&m_out=100&in=1000&out=200&hours=12&days=20"))
    assert form.is_valid(), form.errors
    assert form.workload().average_rate_per_s == pytest.approx(500_000 / (12 * 20 * 3600))  # type: ignore[attr-defined]
    assert form.workload().request_rate_per_s is None  # type: ignore[attr-defined]
    assert form.workload().input_tokens_per_month == 500e6  # type: ignore[attr-defined]
    assert form.workload().output_tokens_per_month == 100e6  # type: ignore[attr-defined]
    more_out = WorkbenchForm.from_query(QueryDict("m_in=500&m_out=300&in=1000&out=200&hours=12&days=20"))
    assert more_out.is_valid()
    assert more_out.workload().average_rate_per_s == pytest.approx(1_500_000 / (12 * 20 * 3600))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("query", "name", "part"),
    [("m_in=5&rate=2", "m_in", "not both"), ("m_in=0", "m_in", "more than 0"), ("m_out=-1", "m_out", "more than 0"),
     ("managed_in=0", "managed_in", "more than 0"), ("managed_out=1e9", "managed_out", "at most 1,000,000"),
     ("m_in=x", "m_in", "not read as a number"), ("m_in=1e10&in=5000000", "m_in", "at most 1,000,000,000 million"),
     ("m_out=1e8&in=1&out=1&out_max=1", "m_out", "requests per second; at most 1,000,000")],
)  # fmt: skip
def test_a_volume_or_price_that_cannot_be_is_refused_at_its_field(query: str, name: str, part: str) -> None:
    form = WorkbenchForm.from_query(QueryDict(query))
    assert not form.is_valid()
    assert set(form.errors) == {name}
    assert part in str(form.errors[name][0])


def test_a_typical_length_alone_raises_the_longest_with_it() -> None:
    form = form_of("in=20000&out=5000")
    assert form.is_valid(), form.errors
    lengths = form.workload().input_tokens, form.workload().output_tokens  # type: ignore[attr-defined]
    assert [(each.typical, each.maximum) for each in lengths] == [(20000, 20000), (5000, 5000)]
    short = form_of("in=500")
    assert short.is_valid()
    assert short.workload().input_tokens.maximum == 8000  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("typed", "model"),
    [("Llama-3.3-70B", "meta-llama/Llama-3.3-70B-Instruct"), ("gemma-3-27b", "google/gemma-3-27b-it")],
)
def test_a_name_near_to_one_model_alone_is_that_model_and_the_link_names_it(typed: str, model: str) -> None:
    form = form_of(f"model={typed}")
    assert form.is_valid(), form.errors
    assert form.read_as == (typed, model)
    assert form.workload().model.id == model  # type: ignore[attr-defined]
    assert model in form.query_string()


@pytest.mark.django_db
@pytest.mark.parametrize("typed", ["Llama", "llama-3", "someone/Llama-3.3-70B", "Llama-3.3-71B", "Qwen3-32B"])
def test_a_name_that_could_be_several_models_or_is_known_is_not_read_as_another(typed: str) -> None:
    form = form_of(f"model={typed}")
    form.is_valid()
    assert form.read_as is None


def test_a_number_below_one_is_told_without_the_plural_of_its_unit() -> None:
    form = WorkbenchForm.from_query(QueryDict("out=0"))
    assert form.errors["out"] == ["0 is too small: at least 1 is accepted."]


def as_drawn(left: str, **typed: str) -> str:
    """What a browser sends of the untouched form of a kind, but for what was typed."""
    form = form_of(f"kind={left}")
    drawn = {key_: text or default for _name, key_, default, text in form.state}
    sent = drawn | {"left_kind": left} | typed
    return "&".join(f"{name}={text}" for name, text in sent.items())


@pytest.mark.parametrize("left", [kind.key for kind in kinds.KINDS])
@pytest.mark.parametrize("chosen", [kind.key for kind in kinds.KINDS])
def test_another_kind_begins_with_its_own_defaults_where_nothing_was_changed(left: str, chosen: str) -> None:
    form = form_of(as_drawn(left, kind=chosen))
    assert form.is_valid(), form.errors
    plain = form_of(f"kind={chosen}")
    assert plain.is_valid(), plain.errors
    assert form.workload() == plain.workload()
    assert form.query_string() == plain.query_string()


def test_what_was_typed_goes_along_into_another_kind() -> None:
    form = form_of(as_drawn("llm_serving", kind="pretraining", starts="2", storage="250", days="20"))
    assert form.is_valid(), form.errors
    asked = form.workload()
    assert (asked.schedule.starts_per_day, asked.schedule.days_per_month, asked.storage_gb) == (2, 20, 250)
    assert "left_kind" not in form.query_string()


def test_a_typed_value_that_is_the_default_of_the_chosen_kind_alone_is_kept() -> None:
    form = form_of(as_drawn("lora", kind="llm_serving", starts="1.0", deadline="720"))
    assert form.is_valid(), form.errors
    assert form.workload().schedule.starts_per_day == 1


@pytest.mark.django_db
def test_the_page_says_of_which_kind_its_form_is_and_a_post_of_it_leads_to_another_kinds_own_start(
    client: Client,
) -> None:
    make_small_catalog()
    page = client.get("/workbench/").content.decode()
    hidden = re.search(r'<input type="hidden" name="left_kind" value="([^"]*)"', page)
    assert hidden is not None
    assert hidden[1] == "llm_serving"
    sent = {"left_kind": hidden[1], "kind": "pretraining", "starts": "1", "storage": "100", "days": "30.4167"}
    assert client.post("/workbench/", sent)["Location"] == "/workbench/?kind=pretraining"
