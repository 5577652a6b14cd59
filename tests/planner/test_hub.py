"""Models read from a hub: frozen to a commit, bounded in time and size, never another host."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django.fixtures import Settings

from planner import architectures, hub
from planner import models as planner_models
from planner.architectures import UnknownModel
from planner.models import HubConfig
from planner.sizing.architecture import NotSized, parameter_count
from planner.sizing.config_reader import ConfigError
from planner.sizing.workload import ModelReference
from tests.sizing.test_checkpoint_headers import small_llama

COMMIT = "c0ffee" + "0" * 34
TINY = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 128, "vocab_size": 100}  # fmt: skip
NAME = "acme/Tiny-1"


class StandIn:
    """A hub on this machine: what it answers by path, and which paths were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.drip_s = 0.0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                status, headers, body = outer.answers.get(self.path, (404, {}, b"{}"))
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.end_headers()
                try:
                    for at in range(0, len(body), 65536 if not outer.drip_s else 1):
                        self.wfile.write(body[at : at + (65536 if not outer.drip_s else 1)])
                        self.wfile.flush()
                        time.sleep(outer.drip_s)
                except OSError:
                    return

            def log_message(self, *args: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def has(self, path: str, body: bytes, status: int = 200, **headers: str) -> None:
        self.answers[path] = (status, {key.replace("_", "-"): value for key, value in headers.items()}, body)

    def has_model(self, config: object, name: str = NAME) -> None:
        self.has(f"/api/models/{name}/revision/main", json.dumps({"sha": COMMIT}).encode())
        self.has(f"/{name}/resolve/{COMMIT}/config.json", json.dumps(config).encode())


@pytest.fixture
def stand_in(settings: Settings) -> Iterator[StandIn]:
    found = StandIn()
    settings.HUB_ENABLED = True
    settings.HUB_ENDPOINT = found.address
    hub.forget_silence()
    yield found
    found.server.shutdown()
    found.server.server_close()


def code_of(work: Callable[[], object]) -> str:
    with pytest.raises(hub.HubError) as caught:
        work()
    return caught.value.code


@pytest.mark.django_db
def test_a_hub_model_is_frozen_to_its_commit_and_asked_for_once(stand_in: StandIn, at: datetime) -> None:
    stand_in.has_model(TINY)
    frozen = architectures.frozen(ModelReference(id=NAME), at)
    assert frozen.revision == COMMIT
    assert architectures.resolve(frozen).hidden == 64
    assert len(stand_in.asked) == 2
    assert architectures.frozen(ModelReference(id=NAME), at + timedelta(hours=23)) == frozen
    assert architectures.frozen(frozen, at + timedelta(days=400)) == frozen
    assert len(stand_in.asked) == 2
    architectures.frozen(ModelReference(id=NAME), at + timedelta(hours=25))
    assert len(stand_in.asked) == 4
    assert HubConfig.objects.count() == 1


@pytest.mark.django_db
def test_what_was_read_once_is_known_with_the_hub_switched_off(
    stand_in: StandIn, at: datetime, settings: Settings
) -> None:
    stand_in.has_model(TINY)
    frozen = architectures.frozen(ModelReference(id=NAME), at)
    settings.HUB_ENABLED = False
    assert architectures.resolve(frozen).hidden == 64
    other = ModelReference(id="acme/other")
    assert architectures.frozen(other, at) == other
    with pytest.raises(UnknownModel):
        architectures.resolve(other)
    assert code_of(lambda: architectures.from_hub("acme/other", None, at)) == "hub_off"


@pytest.mark.django_db
def test_shipped_models_and_other_names_never_ask_the_hub(stand_in: StandIn, at: datetime) -> None:
    for name in ("Qwen/Qwen3-8B", "llama", "a/b/c", "../models", "a/..", "x" * 97 + "/y", "acme/na me"):
        architectures.frozen(ModelReference.model_construct(id=name), at)
        if name != "Qwen/Qwen3-8B":
            assert code_of(partial(hub.fetch, name, None, stand_in.address)) == "hub_not_found"
    assert code_of(lambda: hub.fetch(NAME, "../../x", stand_in.address)) == "hub_not_found"
    assert stand_in.asked == []


@pytest.mark.django_db
def test_a_kind_that_is_not_sized_is_kept_and_refused_by_name(stand_in: StandIn, at: datetime) -> None:
    stand_in.has_model({**TINY, "model_type": "bert"})
    frozen = architectures.frozen(ModelReference(id=NAME), at)
    with pytest.raises(NotSized):
        architectures.resolve(frozen)


@pytest.mark.django_db
def test_a_config_that_cannot_be_read_is_not_kept(stand_in: StandIn, at: datetime) -> None:
    stand_in.has_model({"model_type": "llama"})
    with pytest.raises(ConfigError):
        architectures.frozen(ModelReference(id=NAME), at)
    assert not HubConfig.objects.exists()


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "hub_gated"),
        (403, "hub_gated"),
        (404, "hub_not_found"),
        (429, "hub_busy"),
        (500, "hub_unreachable"),
    ],
)
def test_each_refusal_of_the_hub_has_its_own_reason(stand_in: StandIn, status: int, code: str) -> None:
    stand_in.has(f"/api/models/{NAME}/revision/main", b"{}", status)
    assert code_of(lambda: hub.fetch(NAME, None, stand_in.address)) == code


def test_a_redirect_is_followed_on_the_same_host_only(stand_in: StandIn) -> None:
    stand_in.has_model(TINY)
    there = f"/{NAME}/resolve/{COMMIT}/config.json"
    stand_in.has("/api/resolve-cache/x", b'{"a": 1}')
    stand_in.has(there, b"", 307, Location="/api/resolve-cache/x")
    assert hub.fetch(NAME, None, stand_in.address).document == b'{"a": 1}'
    for elsewhere in (
        "http://127.0.0.1:9/x",
        "https://example.com/x",
        "//example.com/x",
        "file:///etc/passwd",
    ):
        stand_in.has(there, b"", 302, Location=elsewhere)
        assert code_of(lambda: hub.fetch(NAME, None, stand_in.address)) == "hub_redirected"
    stand_in.has(there, b"", 302, Location=there)
    assert code_of(lambda: hub.fetch(NAME, None, stand_in.address)) == "hub_redirected"


@pytest.mark.parametrize(
    "body", [b"[]", b"{", b'{"sha": "main"}', b'{"sha": "../../x"}', b"\xff", b"[" * 100_000]
)
def test_an_answer_without_a_commit_is_refused(stand_in: StandIn, body: bytes) -> None:
    stand_in.has(f"/api/models/{NAME}/revision/main", body)
    assert code_of(lambda: hub.fetch(NAME, None, stand_in.address)) in ("hub_unreadable", "hub_unreachable")


def test_an_answer_without_end_is_cut(stand_in: StandIn) -> None:
    stand_in.has_model(TINY)
    stand_in.has(f"/{NAME}/resolve/{COMMIT}/config.json", b" " * (hub.BYTES_MAXIMUM + 1))
    assert code_of(lambda: hub.fetch(NAME, None, stand_in.address)) == "hub_too_large"
    stand_in.has(f"/{NAME}/resolve/{COMMIT}/config.json", b"{}", Content_Encoding="gzip")
    assert code_of(lambda: hub.fetch(NAME, None, stand_in.address)) == "hub_unreadable"


@pytest.mark.slow
def test_a_dripping_answer_takes_five_seconds_at_most_and_then_nobody_waits_again(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "TOTAL_S", 1.0)
    stand_in.has_model(TINY)
    stand_in.drip_s = 0.3
    start = time.monotonic()
    assert code_of(lambda: hub.fetch(NAME, None, stand_in.address)) == "hub_unreachable"
    assert time.monotonic() - start < 5
    asked = len(stand_in.asked)
    assert code_of(lambda: hub.fetch(NAME, None, stand_in.address)) == "hub_unreachable"
    assert len(stand_in.asked) == asked


def test_no_hub_at_the_address_is_said(stand_in: StandIn) -> None:
    assert code_of(lambda: hub.fetch(NAME, None, "http://127.0.0.1:9")) == "hub_unreachable"


def test_a_process_asks_for_so_many_models_a_minute(stand_in: StandIn) -> None:
    for number in range(hub.ASKED_A_MINUTE_MAXIMUM):
        assert code_of(partial(hub.fetch, f"acme/m{number}", None, stand_in.address)) == "hub_not_found"
    assert code_of(lambda: hub.fetch("acme/more", None, stand_in.address)) == "hub_busy"
    assert len(stand_in.asked) == hub.ASKED_A_MINUTE_MAXIMUM


@pytest.mark.django_db
def test_only_so_many_configurations_are_kept(at: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner_models, "HUB_CONFIGS_MAXIMUM", 3)
    for number in range(5):
        HubConfig.keep(f"acme/m{number}", COMMIT, "{}", at + timedelta(minutes=number))
    assert sorted(HubConfig.objects.values_list("name", flat=True)) == ["acme/m2", "acme/m3", "acme/m4"]


@pytest.mark.django_db
def test_the_workbench_sizes_a_hub_model_and_says_what_the_hub_refused(
    stand_in: StandIn, client: Client
) -> None:
    stand_in.has_model({**TINY, "hyper_layers": 3})
    page = client.get("/workbench/", {"model": NAME})
    assert page.status_code == 200
    assert HubConfig.objects.filter(name=NAME, commit=COMMIT).exists()
    assert f"revision={COMMIT}" in page.content.decode()
    assert "were not read" in page.content.decode()
    assert "hyper_layers" in page.content.decode()
    assert "head_dim = 16" in page.content.decode()
    later = client.get("/workbench/", {"model": NAME, "revision": COMMIT})
    assert later.status_code == 200
    assert len(stand_in.asked) == 2
    stand_in.has_model(TINY, name="acme/Other-2")
    stand_in.answers["/api/models/acme/Other-2/revision/main"] = (200, {}, b'{"sha": "%s"}' % (b"d" * 40))
    stand_in.has(f"/acme/Other-2/resolve/{'d' * 40}/config.json", json.dumps(TINY).encode())
    other = client.get("/workbench/", {"model": "acme/Other-2", "revision": COMMIT})
    assert f"revision={'d' * 40}" in other.content.decode()
    missing = client.get("/workbench/", {"model": "acme/missing"})
    assert "The model hub has no" in missing.content.decode()


@pytest.mark.django_db
def test_the_command_tells_what_it_understood(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.has_model({**TINY, "hyper_layers": 3})
    call_command("read_model", NAME)
    told = capsys.readouterr().out
    assert f"revision: {COMMIT}" in told
    assert "left aside: hyper_layers" in told
    assert "assumed: head_dim = 16" in told
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    call_command("read_model", str(tmp_path / "config.json"))
    arch = architectures.resolve(ModelReference(config=TINY))
    assert f"parameters: {parameter_count(arch):,}" in capsys.readouterr().out
    (tmp_path / "tiny.gguf").write_bytes(small_llama())
    call_command("read_model", str(tmp_path / "tiny.gguf"))
    assert "Q4_K: 8 tensors" in capsys.readouterr().out
    call_command("read_model", "Qwen/Qwen3-8B")
    assert "parameters: 8,190,735,360" in capsys.readouterr().out
    (tmp_path / "odd.bin").write_bytes(b"PK")
    for name in (str(tmp_path / "odd.bin"), "acme/missing", "nothing"):
        with pytest.raises(CommandError):
            call_command("read_model", name)
