"""Reading an address with every patience bounded: time, size, attempts, redirects, waiting."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime

import httpx2
from pydantic import BaseModel, ConfigDict

from catalog.sources.quotes import SourceFailure

RETRIED = frozenset({500, 502, 503, 504})
PAUSES_S = (0.5, 1.5)
LINE_BYTES_MAXIMUM = 100_000


class Limits(BaseModel):
    """How much of time and space one run of a source may take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_s: float = 600
    page_s: float = 25
    """All attempts at one page together."""
    silence_s: float = 10
    """Between two reads of a body."""
    wait_s: float = 10
    """The longest wait that a source may ask for; a longer one ends the run."""
    pages: int = 400
    page_bytes: int = 30_000_000
    """After decompression."""
    stream_bytes: int = 2_000_000_000
    """Of a list that is read line by line and never held whole."""
    stream_progress_bytes: int = 100_000
    """Such a list must come faster than this every ``page_s``."""


class Deadline:
    """A point on the monotonic clock that no read may pass."""

    def __init__(self, seconds: float, outer: Deadline | None = None) -> None:
        self.end = time.monotonic() + seconds
        if outer is not None:
            self.end = min(self.end, outer.end)

    @property
    def left_s(self) -> float:
        return self.end - time.monotonic()

    def check(self) -> None:
        if self.left_s <= 0:
            raise SourceFailure("too_slow")

    def pause(self, seconds: float) -> None:
        if seconds >= self.left_s:
            raise SourceFailure("too_slow")
        time.sleep(seconds)


def open_client(limits: Limits) -> httpx2.Client:
    """A client that goes only where it is told: no redirects, nothing taken from the environment."""
    return httpx2.Client(
        timeout=httpx2.Timeout(limits.silence_s, connect=5.0),
        follow_redirects=False,
        trust_env=False,
        headers={"User-Agent": "mitsumori", "Accept-Encoding": "gzip"},
    )


class Question(BaseModel):
    """What is asked beside the address."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    headers: dict[str, str] = {}
    content: bytes | None = None
    """Sent by POST; such questions change nothing at the source, so they may be asked again."""


PLAIN = Question()


def read(client: httpx2.Client, url: str, limits: Limits, run: Deadline, question: Question = PLAIN) -> bytes:
    """The body of ``url``, decoded; raises ``SourceFailure`` with a code for whatever else comes."""
    page = Deadline(limits.page_s, run)
    failure = SourceFailure("no_answer")
    for pause_s in (*PAUSES_S, None):
        page.check()
        try:
            return _attempt(client, url, limits, page, question)
        except _Again as again:
            failure = again.failure
            wait_s = again.wait_s if again.wait_s is not None else pause_s
        except httpx2.TimeoutException:
            failure, wait_s = SourceFailure("too_slow"), pause_s
        except httpx2.TransportError as error:
            failure, wait_s = SourceFailure("no_answer", type(error).__name__), pause_s
        if pause_s is None or wait_s is None:
            break
        if wait_s > limits.wait_s:
            raise SourceFailure("asked_to_wait", f"{wait_s:.0f} s")
        page.pause(wait_s)
    raise failure


class _Again(Exception):
    def __init__(self, failure: SourceFailure, wait_s: float | None = None) -> None:
        self.failure = failure
        self.wait_s = wait_s


def _attempt(
    client: httpx2.Client, url: str, limits: Limits, deadline: Deadline, question: Question
) -> bytes:
    with _asked_for(client, url, question) as response:
        body = bytearray()
        for piece in _decoded(response, limits.page_bytes):
            body += piece
            if len(body) > limits.page_bytes:
                raise SourceFailure("too_large", f"> {limits.page_bytes} bytes")
            deadline.check()
        return bytes(body)


def read_lines(client: httpx2.Client, url: str, limits: Limits, run: Deadline) -> Iterator[bytes]:
    """The lines of a long text, one by one; it is not asked for again: the night after will."""
    try:
        yield from _lines(client, url, limits, run)
    except _Again as again:
        raise again.failure from None
    except httpx2.TimeoutException:
        raise SourceFailure("too_slow") from None
    except httpx2.TransportError as error:
        raise SourceFailure("no_answer", type(error).__name__) from None


def _lines(client: httpx2.Client, url: str, limits: Limits, run: Deadline) -> Iterator[bytes]:
    with _asked_for(client, url, PLAIN) as response:
        rest = b""
        seen_bytes, window_bytes, window = 0, 0, Deadline(limits.page_s)
        for piece in _decoded(response, LINE_BYTES_MAXIMUM * 100):
            run.check()
            seen_bytes += len(piece)
            window_bytes += len(piece)
            if seen_bytes > limits.stream_bytes:
                raise SourceFailure("too_large", f"> {limits.stream_bytes} bytes")
            if window.left_s <= 0:
                if window_bytes < limits.stream_progress_bytes:
                    raise SourceFailure("too_slow")
                window_bytes, window = 0, Deadline(limits.page_s)
            *lines, rest = (rest + piece).split(b"\n")
            if len(rest) > LINE_BYTES_MAXIMUM:
                raise SourceFailure("unreadable", "a line without an end")
            yield from lines
        if rest:
            yield rest


@contextmanager
def _asked_for(client: httpx2.Client, url: str, question: Question) -> Iterator[httpx2.Response]:
    """An answer with status 200; others raise what became of it."""
    method = "GET" if question.content is None else "POST"
    with client.stream(method, url, headers=question.headers, content=question.content) as response:
        status = response.status_code
        if status == 429 or status in RETRIED:
            raise _Again(
                SourceFailure("refused_us" if status == 429 else "server_error", str(status)),
                _asked(response),
            )
        if 300 <= status < 400:
            raise SourceFailure("redirected", str(status))
        if status != 200:
            raise SourceFailure("refused_us", str(status))
        yield response


def _asked(response: httpx2.Response) -> float | None:
    """Seconds that ``Retry-After`` asks for, given as a number or as a date."""
    words = response.headers.get("Retry-After", "").strip()
    if not words:
        return None
    if words.isascii() and words.isdigit():
        return float(words[:9])
    try:
        then = parsedate_to_datetime(words)
        now = parsedate_to_datetime(response.headers["Date"])
        return max(0.0, (then - now).total_seconds())
    except (ValueError, TypeError, KeyError):
        return None


def _decoded(response: httpx2.Response, limit_bytes: int) -> Iterator[bytes]:
    """Decompress piece by piece, so that a small body cannot become a large one unseen."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        yield from response.iter_raw()
        return
    if coding not in ("gzip", "x-gzip"):
        raise SourceFailure("unreadable", f"coding {coding[:40]}")
    stream = zlib.decompressobj(wbits=31)
    try:
        for piece in response.iter_raw():
            yield stream.decompress(piece, limit_bytes + 1)
            if stream.unconsumed_tail:
                raise SourceFailure("too_large", f"> {limit_bytes} bytes")
        yield stream.flush()
    except zlib.error:
        raise SourceFailure("unreadable", "gzip") from None
    if not stream.eof:
        raise SourceFailure("cut_off", "gzip")
