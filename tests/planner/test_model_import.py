"""A model from outside: every way in ends in the same state of the workbench, or in a reason."""

from __future__ import annotations

import html
import json
import math
import re
import struct
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from planner import model_import
from planner.model_forms import NumbersForm
from planner.models import HubConfig, PastedConfig
from planner.sizing import config_reader
from planner.sizing.architecture import parameter_count
from planner.understood import understood
from tests.factories import AT
from tests.planner.factories import make_small_catalog

pytestmark = pytest.mark.django_db
PAGE = "/workbench/model/"
LLAMA_8B = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16", "max_position_embeddings": 131072,
}  # fmt: skip
NUMBERS = {
    "state": "users=9", "name": "small-one", "layers": "32", "hidden": "4,096", "heads": "32",
    "kv_heads": "8", "intermediate": "14336", "vocab": "128256", "tied": "no", "context": "131072",
}  # fmt: skip
LLAMA_8B_PARAMETERS = 8_030_261_248
"""Of the published Llama 3.1 8B: what its numbers add up to."""


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def gguf(form: int = 12, architecture: str = "llama", name: str = "Small Llama") -> bytes:
    """A GGUF header of two tensors: version 3, the numbers of a small Llama, weights in the given type."""
    values: list[tuple[str, int, Any]] = [
        ("general.architecture", 8, architecture), ("general.name", 8, name),
        (f"{architecture}.block_count", 4, 16), (f"{architecture}.embedding_length", 4, 2048),
        (f"{architecture}.attention.head_count", 4, 32), (f"{architecture}.attention.head_count_kv", 4, 8),
        (f"{architecture}.feed_forward_length", 4, 8192), (f"{architecture}.context_length", 4, 32768),
    ]  # fmt: skip
    tensors = [("token_embd.weight", (2048, 32000), form), ("output_norm.weight", (2048,), 0)]
    found = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, kind, value in values:
        found += string(key) + struct.pack("<I", kind)
        found += string(value) if kind == 8 else struct.pack("<I", value)
    for title, shape, kind in tensors:
        found += string(title) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        found += struct.pack("<IQ", kind, 0)
    return found


def safetensors() -> bytes:
    text = json.dumps(
        {"lm_head.weight": {"dtype": "BF16", "shape": [8, 8], "data_offsets": [0, 128]}}
    ).encode()
    return struct.pack("<Q", len(text)) + text


def tensors(**extra: list[int]) -> bytes:
    """A safetensors header of two layers of a small model, by the names Hugging Face gives."""
    shapes = {"model.embed_tokens.weight": [32000, 2048], "lm_head.weight": [32000, 2048]}
    for layer in range(2):
        shapes |= {
            f"model.layers.{layer}.self_attn.q_proj.weight": [2048, 2048],
            f"model.layers.{layer}.self_attn.k_proj.weight": [512, 2048],
            f"model.layers.{layer}.mlp.gate_proj.weight": [8192, 2048],
        }
    header, at = {}, 0
    for name, shape in (shapes | extra).items():
        size = 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text


def sent(client: Client, data: bytes, name: str = "config.json", state: str = "users=9") -> Any:
    return client.post(PAGE, {"state": state, "model_file": SimpleUploadedFile(name, data)})


def landed(client: Client, response: Any) -> tuple[dict[str, list[str]], str]:
    """The query the post led to, and the page there."""
    assert response.status_code == 303, response.content.decode()[:3000]
    address = response.headers["Location"]
    assert urlsplit(address).path == PAGE
    return parse_qs(urlsplit(address).query), client.get(address).content.decode()


def row(page: str, label: str) -> str:
    """A row of what was understood, without its tags."""
    found = re.search(rf'<tr class="origin-\w+"><th scope="row">{re.escape(label)}</th>(.*?)</tr>', page)
    assert found is not None, label
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found.group(1))).strip()


def test_text_file_and_numbers_of_one_model_are_understood_alike_and_say_where_each_number_is_from(
    client: Client,
) -> None:
    text = json.dumps(LLAMA_8B)
    posts = {
        "read": client.post(PAGE, {"state": "users=9", "config_text": text}),
        "read ": sent(client, text.encode("utf-16")),
        "typed": client.post(PAGE, NUMBERS),
    }
    for origin, response in posts.items():
        query, page = landed(client, response)
        assert query["users"] == ["9"], "the workload around the model is kept"
        assert row(page, "Layers") == f"32 {origin.strip()} num_hidden_layers"
        assert row(page, "KV heads") == f"8 {origin.strip()} num_key_value_heads"
        assert row(page, "Size of a head") == "128 assumed head_dim"
        assert row(page, "Parameters") == f"{LLAMA_8B_PARAMETERS / 1e9:.3f}B worked out"


def test_numbers_that_were_typed_stand_in_the_form_again_so_that_one_can_be_changed(client: Client) -> None:
    _query, page = landed(client, client.post(PAGE, NUMBERS | {"intermediate": "", "parameters": "8.03"}))
    names = (
        "name",
        "parameters",
        "layers",
        "hidden",
        "heads",
        "kv_heads",
        "intermediate",
        "vocab",
        "context",
    )
    assert [value(page, name) for name in names] == [
        "small-one", "8.03", "32", "4096", "32", "8", "", "128256", "131072",
    ]  # fmt: skip
    assert row(page, "Width of the MLP") == "14,336 worked out intermediate_size"


def test_the_workload_of_another_kind_is_kept_around_the_model(client: Client) -> None:
    query, _page = landed(client, client.post(PAGE, NUMBERS | {"state": "kind=lora&samples=9999"}))
    assert query["kind"] == ["lora"]
    assert query["samples"] == ["9999"]


def test_an_imported_model_is_sized_in_the_workbench(client: Client) -> None:
    make_small_catalog(AT)
    _query, page = landed(client, client.post(PAGE, NUMBERS))
    link = re.search(r'class="button" href="([^"]+)"', page)
    assert link is not None
    sheet = client.get(link.group(1).replace("&amp;", "&")).content.decode()
    assert 'id="strip"' in sheet
    assert "numbers typed by hand" in sheet
    assert "small-one" in sheet


def test_a_gguf_header_sets_the_model_its_format_and_its_engine(client: Client) -> None:
    query, page = landed(
        client, sent(client, gguf() + b"\0" * 5000, "model.gguf", "runtime=vllm&version=0.19.0")
    )
    assert query["weights"] == ["gguf_q4_k_m"]
    assert query["runtime"] == ["llama_cpp"]
    assert "version" not in query
    assert "Understood of Small-Llama" in page
    assert row(page, "Stored in") == "GGUF Q4_K_M read"
    assert row(page, "Layers") == "16 read num_hidden_layers"


def test_a_gguf_file_in_a_format_that_is_not_sized_says_so(client: Client) -> None:
    query, page = landed(client, sent(client, gguf(form=10), "model.gguf"))
    assert "weights" not in query
    assert row(page, "Stored in") == "Q2_K read"
    assert "The file is stored in Q2_K, which is not sized yet." in page


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (safetensors(), "does not say what the model is"),
        (gguf(architecture="rwkv7"), "GGUF files of the kind “rwkv7” cannot be sized yet"),
        (gguf()[:200], "cut off too early"),
        (b"GGUF" + struct.pack("<I", 9) + bytes(40), "GGUF version 9 is not read"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 1), "numbers that no model has"),
        (b"\x89PNG\r\n\x1a\n" + bytes(80), "not text in UTF-8"),
        (b"PK\x03\x04" + bytes(80), "This file is packed."),
        (b"", "This file is empty."),
        (b"{", "not valid JSON"),
        (b'{"model_type": "nobody-knows"}', "nobody-knows"),
        (b'{"metadata": {"total_size": 1}, "weight_map": {"a": "b"}}', "index of a checkpoint"),
        (b'{"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen3-8B"}', "made for: “Qwen/Qwen3-8B”"),
        (b'{"_class_name": "FluxPipeline", "_diffusers_version": "0.30"}', "makes pictures"),
        (b'{"tokenizer_class": "LlamaTokenizer"}', "configuration of a tokenizer"),
        (b'{"x": "' + b"A" * 70_000 + b'"}', "larger than 64 kB"),
        (b"x" * (16 * 2**20 + 9), "larger than 64 kB"),
    ],
)
def test_a_file_that_is_no_model_is_refused_at_its_field_and_not_kept(
    client: Client, data: bytes, message: str
) -> None:
    response = sent(client, data)
    page = response.content.decode()
    assert response.status_code == 422
    assert message in page.partition('id="err-model_file">')[2].partition("</ul>")[0]
    assert 'name="state" value="users=9"' in page
    assert not PastedConfig.objects.exists()


def value(page: str, name: str) -> str:
    """What stands in a field of the numbers."""
    field = re.search(rf'<input[^>]*name="{name}"[^>]*>', page)
    assert field is not None
    shown = re.search(r' value="([^"]*)"', field.group())
    return shown.group(1) if shown else ""


def test_shapes_of_a_safetensors_header_are_taken_over_but_never_its_heads(client: Client) -> None:
    page = sent(client, tensors(), "model.safetensors").content.decode()
    shown = {
        name: value(page, name) for name in ("layers", "hidden", "vocab", "intermediate", "heads", "kv_heads")
    }
    assert shown == {
        "layers": "2", "hidden": "2048", "vocab": "32000", "intermediate": "8192", "heads": "", "kv_heads": "",
    }  # fmt: skip
    assert "What is empty is not in it." in page
    assert "only some of the layers" not in page


def test_a_norm_over_one_head_shows_the_heads_and_a_part_of_a_checkpoint_says_so(client: Client) -> None:
    norm = {"model.layers.1.self_attn.q_norm.weight": [64]}
    late = {"model.layers.35.mlp.gate_proj.weight": [8192, 2048]}
    page = sent(client, tensors(**norm, **late), "model-00002-of-00004.safetensors").content.decode()
    assert [value(page, name) for name in ("heads", "kv_heads", "head_dim", "layers")] == [
        "32",
        "8",
        "64",
        "36",
    ]
    assert "only some of the layers" in page


def test_a_norm_over_all_queries_shows_no_heads(client: Client) -> None:
    page = sent(client, tensors(**{"model.layers.1.self_attn.q_norm.weight": [2048]})).content.decode()
    assert [value(page, name) for name in ("heads", "head_dim")] == ["", ""]


def test_a_large_checkpoint_is_read_by_its_first_megabytes(client: Client) -> None:
    query, _page = landed(client, sent(client, gguf() + bytes(17 * 2**20), "model.gguf"))
    assert query["weights"] == ["gguf_q4_k_m"]


def test_an_unknown_kind_is_never_sized_as_another_but_its_numbers_can_be_taken_over(client: Client) -> None:
    config = LLAMA_8B | {"model_type": "strange-net"}
    response = client.post(PAGE, {"state": "", "config_text": json.dumps(config)})
    page = response.content.decode()
    assert response.status_code == 422
    assert "strange-net" in page.partition('id="err-config_text">')[2].partition("</ul>")[0]
    assert "Size this model" not in page
    assert "which it may not be" in page, "whoever goes on is told what that means"
    assert 'name="layers" value="32"' in page
    assert not PastedConfig.objects.exists()


def test_a_kind_that_is_counted_but_not_sized_is_shown_and_refused(client: Client) -> None:
    bert = {
        "model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
    }  # fmt: skip
    response = client.post(PAGE, {"state": "", "config_text": json.dumps(bert)})
    page = response.content.decode()
    assert response.status_code == 422
    assert "It is counted, but not sized yet" in page
    assert row(page, "Layers") == "12 read num_hidden_layers"
    assert "Size this model" not in page


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"layers": ""}, "layers", "This number is needed."),
        ({"layers": "0"}, "layers", "From 1 to 2,000 is accepted."),
        ({"layers": "many"}, "layers", "is not read as a number"),
        ({"hidden": "-1"}, "hidden", "From 1 to 200,000 is accepted."),
        ({"hidden": "1e18"}, "hidden", "From 1 to 200,000 is accepted."),
        ({"kv_heads": "7"}, "kv_heads", "must divide"),
        ({"intermediate": ""}, "intermediate", "or the parameters in total"),
        ({"intermediate": "", "parameters": "0.5"}, "parameters", "more than the total leaves room for"),
        ({"parameters": "-3"}, "parameters", "100,000 billion"),
        ({"experts": "8"}, "experts_per_token", "where there are experts"),
        ({"experts_per_token": "2"}, "experts_per_token", "say how many a layer has"),
        ({"experts": "8", "experts_per_token": "9", "expert_width": "9"}, "experts_per_token", "From 1 to 8"),
        ({"name": "../../x"}, "name", "characters that this field does not take"),
        ({"vocab": "A" * 100_000}, "vocab", "too long"),
        ({"window": " " * 100_000}, "window", "too long"),
        ({"window": "\u2028"}, "window", "is not read as a number"),
        ({"tied": "perhaps"}, "tied", "none of the choices"),
    ],
)
def test_a_number_that_no_model_has_is_refused_at_its_field_and_nothing_typed_is_lost(
    client: Client, changes: dict[str, str], field: str, message: str
) -> None:
    response = client.post(PAGE, NUMBERS | changes)
    page = response.content.decode()
    assert response.status_code == 422
    assert message in page.partition(f'id="err-{field}">')[2].partition("</ul>")[0]
    if "heads" not in changes:
        assert 'name="heads" value="32"' in page
    assert not PastedConfig.objects.exists()


def numbers(**changes: str) -> dict[str, Any]:
    form = NumbersForm(NUMBERS | changes)
    assert form.is_valid(), form.errors
    return form.config


def test_a_width_is_worked_out_from_the_parameters_in_total() -> None:
    config = numbers(intermediate="", parameters="8.03")
    assert config["intermediate_size"] == 14336
    shown = {
        each.label: each for each in understood(config_reader.understand(config).architecture, config).rows
    }
    assert shown["Width of the MLP"].origin == "worked_out"


def test_the_width_of_experts_is_worked_out_too() -> None:
    config = numbers(
        intermediate="", parameters="46.7", experts="8", experts_per_token="2", vocab="32000", context="32768"
    )
    assert config["moe_intermediate_size"] == 14336, "Mixtral 8x7B, which has 46.7 billion parameters"
    counted = parameter_count(config_reader.understand(config).architecture)
    assert counted == pytest.approx(46_702_792_704, rel=1e-9)


def test_shapes_that_do_not_add_up_to_the_stated_parameters_are_said_to_differ() -> None:
    config = numbers(parameters="70")
    warnings = understood(config_reader.understand(config).architecture, config).warnings
    assert any("11.5%" in warning for warning in warnings), warnings
    agreeing = numbers(parameters="8.03")
    assert not any(
        "%" in warning
        for warning in understood(config_reader.understand(agreeing).architecture, agreeing).warnings
    )


def test_the_hubs_way_freezes_the_commit(client: Client) -> None:
    commit = "ab" * 20
    HubConfig.keep("someone/new-model", commit, json.dumps(LLAMA_8B), AT)
    response = client.post(PAGE, {"state": "users=9", "hub_id": "someone/new-model", "hub_revision": commit})
    query, page = landed(client, response)
    assert query == {"model": ["someone/new-model"], "revision": [commit], "users": ["9"]}
    assert row(page, "Layers") == "32 read num_hidden_layers"
    assert commit in page


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "organisation/model"), ("../x", "organisation/model"), ("http://127.0.0.1/x", "organisation/model"),
     ("nobody/at-all", "switched off")],
)  # fmt: skip
def test_a_hub_id_that_leads_nowhere_is_refused_at_its_field(
    client: Client, settings: Any, name: str, message: str
) -> None:
    settings.HUB_ENABLED = False
    response = client.post(PAGE, {"state": "", "hub_id": name, "hub_revision": ""})
    assert response.status_code == 422
    assert message in response.content.decode().partition('id="err-hub_id">')[2].partition("</ul>")[0]


def test_a_shipped_model_is_shown_with_its_facts(client: Client) -> None:
    page = client.get(f"{PAGE}?model=deepseek-ai/DeepSeek-V3").content.decode()
    assert row(page, "58 layers: Experts") == "256 shipped fact"
    assert row(page, "Parameters a token passes through").endswith("worked out")
    assert "Size this model" in page


@pytest.mark.parametrize(
    "query",
    ["model=zzz", "config=" + "0" * 64, "config=zz", "model=%FF", "users=many", "state=x", "revision=%3Cb%3E",
     "model=" + "A" * 5000],
)  # fmt: skip
def test_a_page_for_no_model_says_why_and_never_breaks(client: Client, query: str) -> None:
    response = client.get(f"{PAGE}?{query}")
    assert response.status_code in (200, 400)
    assert b"Import a model" in response.content or response.status_code == 400


@pytest.mark.parametrize(
    "state", ["A" * 100_000, "users=" + "9" * 9_000, "columns=" + "x," * 3_000, "%zz&&=;"]
)
def test_a_hostile_state_around_the_model_never_breaks_the_import(client: Client, state: str) -> None:
    response = client.post(PAGE, NUMBERS | {"state": state})
    assert response.status_code in (303, 422)
    assert len(response.headers.get("Location", "")) < 8_000


def test_a_post_without_a_file_is_refused_with_a_message(client: Client) -> None:
    response = client.post(PAGE, {"state": "users=9"})
    assert response.status_code == 422
    assert "Choose a file." in response.content.decode()


def test_a_refused_attempt_leaves_what_was_understood_before(client: Client) -> None:
    address = client.post(
        PAGE, {"state": "", "config_text": json.dumps(LLAMA_8B | {"_name_or_path": "ours"})}
    )["Location"]
    state = address.partition("?")[2]
    for attempt in ({}, {"config_text": "{"}, {"layers": "x"}):
        response = client.post(PAGE, {"state": state, **attempt})
        page = response.content.decode()
        assert response.status_code == 422
        assert "Understood of ours" in page
        assert "This is the model from before." in page
        assert f"/workbench/?{state}" in page


def test_every_fault_of_a_config_stands_at_its_name(client: Client) -> None:
    config = LLAMA_8B | {"num_attention_heads": 15, "num_key_value_heads": 4}
    del config["vocab_size"]
    page = client.post(PAGE, {"state": "", "config_text": json.dumps(config)}).content.decode()
    told = html.unescape(page.partition('id="err-config_text">')[2].partition("</ul>")[0])
    assert told.count("<li>") == 2
    assert (
        "“num_attention_heads” (15) in this config.json must be a multiple of “num_key_value_heads” (4)."
        in told
    )
    assert "“vocab_size” is missing in this config.json." in told
    answer = client.post("/workbench/", {"config_text": json.dumps(config), "paste": "1"}).content.decode()
    assert html.unescape(answer).count("“vocab_size” is missing") == 2, (
        "at its field and in the answer's place"
    )


def test_only_what_shapes_the_model_decides_what_it_is_sized_as() -> None:
    """Keys that say where a configuration came from change its name and source, never its tensors."""
    plain = config_reader.understand(LLAMA_8B).architecture
    marked = config_reader.understand(
        LLAMA_8B | {"_came_from": "numbers", "_parameters_stated": 9}
    ).architecture
    assert marked.layers == plain.layers
    assert marked.left_aside == ()
    assert model_import.from_config(dict(LLAMA_8B)).changes == {}
