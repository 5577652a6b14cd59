"""Reads a model's ``config.json`` from a model hub by its id: one host, bounded time, size and redirects.

The hub is asked twice: for the commit a revision stands for, and for the file at that commit.
"""

from __future__ import annotations

import json
import queue
import re
import threading
import time
from collections import deque
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

import httpx2

from planner.sizing.architecture import ModelError

ID = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
REVISION = re.compile(r"[\w.-]{1,64}", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
TOTAL_S = 5.0
"""Both answers together, names of hosts looked up included."""
SILENCE_S = 2.0
BYTES_MAXIMUM = 2_000_000
REDIRECTS_MAXIMUM = 3
PAUSE_S = 60.0
"""After no answer the hub is left alone for so long, so that pages do not wait again and again."""
ASKED_A_MINUTE_MAXIMUM = 30
"""Models that one process asks for: visitors can name any."""
REFUSED = {401: "hub_gated", 403: "hub_gated", 404: "hub_not_found", 429: "hub_busy"}


class HubError(ModelError):
    """The hub gave no configuration: ``code`` says why, ``params["name"]`` for which model."""

    def __init__(self, code: str, name: str) -> None:
        self.code = code
        super().__init__(f"{name}: {code}", name=name)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A ``config.json`` and the commit it belongs to."""

    commit: str
    document: bytes


def is_hub_id(name: str) -> bool:
    """Whether a name has the form organisation/model, with nothing that leads elsewhere in a path."""
    return ID.fullmatch(name) is not None and not any(part in (".", "..") for part in name.split("/"))


_silent_until: dict[str, float] = {}
_asked_at: deque[float] = deque(maxlen=ASKED_A_MINUTE_MAXIMUM)


def fetch(name: str, revision: str | None, endpoint: str) -> Fetched:
    """The configuration of a model at a revision, the default branch's without one. Raises ``HubError``.

    Takes five seconds at most; the thread that still waits is left behind and ends by itself.
    """
    if not is_hub_id(name) or (revision is not None and not REVISION.fullmatch(revision)):
        raise HubError("hub_not_found", name)
    if _silent_until.get(endpoint, 0.0) > time.monotonic():
        raise HubError("hub_unreachable", name)
    now = time.monotonic()
    if len(_asked_at) == ASKED_A_MINUTE_MAXIMUM and now - _asked_at[0] < 60:
        raise HubError("hub_busy", name)
    _asked_at.append(now)
    answers: queue.SimpleQueue[Fetched | HubError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_ask(name, revision, endpoint))
        except HubError as problem:
            answers.put(problem)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError):
            answers.put(HubError("hub_unreachable", name))

    threading.Thread(target=ask, daemon=True, name="hub").start()
    try:
        found = answers.get(timeout=TOTAL_S)
    except queue.Empty:
        found = HubError("hub_unreachable", name)
    if isinstance(found, HubError):
        if found.code == "hub_unreachable":
            _silent_until[endpoint] = time.monotonic() + PAUSE_S
        raise found
    return found


def forget_silence() -> None:
    """Ask again at once although the hub gave no answer, or was asked often, a moment ago."""
    _silent_until.clear()
    _asked_at.clear()


def _ask(name: str, revision: str | None, endpoint: str) -> Fetched:
    # Imported when it is first needed: it takes a quarter of a second that most processes never use.
    from huggingface_hub import hf_hub_url

    deadline = time.monotonic() + TOTAL_S
    with httpx2.Client(
        timeout=httpx2.Timeout(SILENCE_S), follow_redirects=False, trust_env=False,
        headers={"User-Agent": "mitsumori", "Accept-Encoding": "identity"},
    ) as client:  # fmt: skip
        commit = revision or "main"
        if COMMIT.fullmatch(commit) is None:
            address = f"{endpoint.rstrip('/')}/api/models/{name}/revision/{quote(commit, safe='')}"
            commit = _commit(_read(client, address, endpoint, deadline, name), name)
        address = hf_hub_url(name, "config.json", revision=commit, endpoint=endpoint.rstrip("/"))
        return Fetched(commit, _read(client, address, endpoint, deadline, name))


def _commit(body: bytes, name: str) -> str:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise HubError("hub_unreadable", name) from None
    commit = answer.get("sha") if isinstance(answer, dict) else None
    if not isinstance(commit, str) or COMMIT.fullmatch(commit) is None:
        raise HubError("hub_unreadable", name)
    return commit


def _read(client: httpx2.Client, address: str, endpoint: str, deadline: float, name: str) -> bytes:
    for _ in range(REDIRECTS_MAXIMUM + 1):
        with client.stream("GET", address) as response:
            status = response.status_code
            if status in (301, 302, 303, 307, 308):
                address = urljoin(address, response.headers.get("Location", ""))
                if urlsplit(address)[:2] != urlsplit(endpoint)[:2]:
                    raise HubError("hub_redirected", name)
                continue
            if status != 200:
                raise HubError(REFUSED.get(status, "hub_unreachable"), name)
            if response.headers.get("Content-Encoding", "identity") not in ("", "identity"):
                raise HubError("hub_unreadable", name)
            body = bytearray()
            for piece in response.iter_raw():
                body += piece
                if len(body) > BYTES_MAXIMUM:
                    raise HubError("hub_too_large", name)
                if time.monotonic() > deadline:
                    raise HubError("hub_unreachable", name)
            return bytes(body)
    raise HubError("hub_redirected", name)
