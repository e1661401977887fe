"""Asking a server: JSON over HTTP, several requests at a time, again where a fault may pass."""

from __future__ import annotations

import contextlib
import email.utils
import functools
import json
import os
import re
import ssl
import sys
import threading
import time
import warnings
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import httpcore
import httpx
import tenacity

from babelscope.core.registry import Options
from babelscope.core.system import METER, Question, Unanswered
from babelscope.systems.cache import Store
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.text import DEEPEST, depth_exceeds, shorten, text_fault


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, clock: Deadlines) -> None:
        self._inner, self._clock = inner, clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._clock.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._clock.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secure = self._inner.start_tls(ssl_context, server_hostname, self._clock.left(timeout))
        return _Stream(secure, self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class Deadlines(httpcore.SyncBackend):
    """Connections on which nothing lasts longer than the calling thread has time."""

    def __init__(self) -> None:
        self._thread = threading.local()

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """All that this thread does on its connections in the block, bounded in sum."""
        self._thread.end = time.monotonic() + seconds
        try:
            yield
        finally:
            del self._thread.end

    def left(self, timeout: float | None) -> float | None:
        """Seconds that an operation may take; an error if there are none."""
        end: float | None = getattr(self._thread, "end", None)
        if end is None:
            return timeout
        if (left := end - time.monotonic()) <= 0:
            raise httpcore.ReadTimeout("the answer took too long")
        return left if timeout is None else min(left, timeout)

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **kwargs: Any
    ) -> httpcore.NetworkStream:
        return _Stream(super().connect_tcp(host, port, self.left(timeout), *args, **kwargs), self)

    def guard(self, client: httpx.Client) -> None:
        """Make `client`'s connections these; httpx has no public way, so tests hold that this one works."""
        for transport in (client._transport, *client._mounts.values()):
            if isinstance(transport, httpx.HTTPTransport):
                transport._pool._network_backend = self


_LONGEST_WAIT = 120.0  # seconds; a server that asks for more patience is an error
_LARGEST_ANSWER = 1 << 25  # bytes, as received and unzipped
_REFUSALS = frozenset({400, 413, 422})  # of this question; others may well be answered
_REFUSES_ALL = 20  # questions refused and none answered: it is the server or its settings, not the questions
_SECONDS_BETWEEN_WORDS = 10.0  # about retries: a line for each of hundreds would hide all else
_SHORTEST_SECRET = 8  # characters; what is shorter stands in translations by chance

# Options that people write a secret after; any other that is not ours is refused as unknown.
_SECRET = re.compile("key|token|secret|pass|pwd|auth|sig|code|credential", re.IGNORECASE)

BEARER: Mapping[str, str] = {"Authorization": "Bearer {token}"}

Target = TypeVar("Target", None, str)
Answer = TypeVar("Answer")
Request = Mapping[str, Any]
"""The JSON body of one request; it is also the key under which the answer is stored."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one question got no answer, where asking again would not help."""

    reason: str


class _PassingFault(Exception):
    """A fault that a retry may cure, after `pause` seconds at the earliest."""

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


class _RefusedError(Exception):
    """The server will not answer this request."""


class Client:
    """Posts JSON to a server, several requests at a time, and again where a fault may pass.

    Each answer is kept when it arrives, as it came, so that no question is asked twice.
    """

    def __init__(
        self,
        options: Options,
        *,
        method: str = "POST",
        headers: Mapping[str, str] = BEARER,
        arrays: bool = False,
    ) -> None:
        """`headers` may have `{token}`, which is filled in; `arrays`: an answer may be a list."""
        self._method, self._kinds = method, (dict, list) if arrays else (dict,)
        self._timeout = options.seconds("timeout", 120.0)
        self._concurrency = options.integer("concurrency", 4)
        self._tries = options.integer("retries", 4, least=0) + 1
        self._backoff = options.number("backoff", 0.5)
        self.token = _token(options)
        self.auth: httpx.Auth | None = None
        sent = {
            name: value.replace("{token}", self.token)
            for name, value in headers.items()
            if self.token or "{token}" not in value
        }
        self._http = httpx.Client(
            verify=_tls(),
            timeout=self._timeout,
            headers={"Accept-Encoding": "gzip", **sent},
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=self._concurrency),
        )
        self._deadlines = Deadlines()
        self._deadlines.guard(self._http)
        self._echoed = self._answered = False
        self._refused = 0
        self._quiet_until = 0.0
        self._store: Store | None = None
        weakref.finalize(self, self._http.close)

    def use_store(self, store: Callable[[str], Store]) -> None:
        """Store answers in what `store` opens, not in this process only."""
        self._store = store("server")

    def ask(
        self,
        url: str,
        requests: Sequence[Request],
        *,
        message: Callable[[Sequence[Request]], Mapping[str, Any]],
        split: Callable[[Any, Sequence[Request]], Sequence[Any]],
        batch: int = 1,
    ) -> list[Any]:
        """The answers (JSON) in the order asked, a `Refusal` in place of what the server will not answer.

        `message` makes what httpx sends for up to `batch` requests, `split` the answer to each of the server's.
        """
        if self._store is None:
            self._store = Store(None, "server")
        store = self._store
        keys = [_key(url, request) for request in requests]
        known = store.find(keys)
        missing = {key: each for key, each in zip(keys, requests, strict=True) if key not in known}
        names = list(missing)
        parts = [names[start : start + batch] for start in range(0, len(names), batch)]

        def work(part: Sequence[str], stop: threading.Event) -> dict[str, Any]:
            some = [missing[key] for key in part]
            try:
                answers = split(self._post(url, message(some), stop), some)
            except _RefusedError as error:
                if len(part) == 1:
                    return {part[0]: Refusal(f"{url} {error}")}
                if stop.is_set():
                    return {}
                # Only smaller parts show which of them the server refuses.
                half = len(part) // 2
                return work(part[:half], stop) | work(part[half:], stop)
            found = dict(zip(part, answers, strict=True))
            store.keep(found)
            return found

        for found in self._at_once(work, parts):
            known |= found
        refused = [known[key] for key in names if isinstance(known[key], Refusal)]
        self._refused += len(refused)
        self._answered = self._answered or len(refused) < len(known)
        if refused and not self._answered and self._refused >= _REFUSES_ALL:
            raise SystemFailure(f"{refused[0].reason} (so were all {self._refused} questions)")
        return [known[key] for key in keys]

    def forget(self, url: str, requests: Sequence[Request]) -> None:
        """Do not keep the answers to these requests: they cannot be used."""
        if self._store is not None:
            self._store.remove(_key(url, request) for request in requests)

    def _at_once(
        self, work: Callable[[Sequence[str], threading.Event], dict[str, Any]], parts: Sequence[Sequence[str]]
    ) -> list[dict[str, Any]]:
        """What is made of each part. After a failure no request is begun, and it is raised when none is under way.

        Daemon threads rather than a ThreadPoolExecutor, whose threads Python joins at exit: an interrupt
        would hang until the slowest request times out.
        """
        waiting = deque(parts)
        found: list[dict[str, Any]] = []
        failures: list[BaseException] = []
        stop = threading.Event()

        def run() -> None:
            while not stop.is_set():
                try:
                    part = waiting.popleft()
                except IndexError:
                    return
                try:
                    found.append(work(part, stop))
                except BaseException as error:  # raised again by whoever waits for the answer
                    failures.append(error)
                    stop.set()

        threads = [
            threading.Thread(target=run, daemon=True) for _ in range(min(self._concurrency, len(parts)))
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:  # answers that arrive after a failure are paid for, so they are kept
                thread.join()
        finally:
            stop.set()
        if failures:
            raise failures[0]
        return found

    def _post(self, url: str, message: Mapping[str, Any], stop: threading.Event) -> Any:
        """The JSON that the server answers with."""
        backoff = tenacity.wait_exponential(self._backoff, max=30) + tenacity.wait_random(0, self._backoff)

        def pause(state: tenacity.RetryCallState) -> float:
            fault = state.outcome.exception() if state.outcome else None
            return max(backoff(state), fault.pause if isinstance(fault, _PassingFault) else 0.0)

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_PassingFault),
            stop=tenacity.stop_any(
                tenacity.stop_after_attempt(self._tries), tenacity.stop_when_event_set(stop)
            ),
            wait=pause,
            sleep=tenacity.sleep_using_event(stop),
            before_sleep=functools.partial(self._tell_retry, url),
            reraise=True,
        )
        try:
            return retrying(self._try, url, message)
        except _PassingFault as fault:
            tries = retrying.statistics["attempt_number"]
            raise SystemFailure(f"{url} {fault}{f' (tried {tries} times)' if tries > 1 else ''}") from None

    def _tell_retry(self, url: str, state: tenacity.RetryCallState) -> None:
        """Count the retry, and print on a terminal why nothing moves, at most once every few seconds."""
        METER.add(retries=1)
        now = time.monotonic()
        if now >= self._quiet_until and sys.stderr.isatty():
            self._quiet_until = now + _SECONDS_BETWEEN_WORDS
            fault = state.outcome.exception() if state.outcome else None
            print(f"babelscope: {url} {fault}; trying again in {state.upcoming_sleep:.0f} s", file=sys.stderr)

    def _try(self, url: str, message: Mapping[str, Any]) -> Any:
        try:
            with (
                self._deadlines.within(self._timeout),
                self._http.stream(self._method, url, auth=self.auth, **message) as response,
            ):
                data = _read(response, url)
        except httpx.TimeoutException:
            raise _PassingFault(f"did not answer within {self._timeout:g} seconds (timeout=)") from None
        except httpx.RequestError as error:
            raise _PassingFault(f"did not answer: {self._excerpt(str(error) or repr(error))}") from None
        status = response.status_code
        outcome = f"answered {status}: {self._excerpt(data.decode(errors='replace'))}"
        if status == 429 or status >= 500:
            pause = _retry_after(response.headers.get("retry-after", ""))
            if pause > _LONGEST_WAIT:
                raise SystemFailure(f"{url} {outcome}; it asks to be tried again in {pause:.0f} seconds")
            raise _PassingFault(outcome, pause)
        if status in _REFUSALS:
            raise _RefusedError(outcome)
        if not 200 <= status < 300:
            raise SystemFailure(f"{url} {outcome}")
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            raise _PassingFault(f"{outcome}, which is not JSON") from None
        if data.count(b"[") + data.count(b"{") > DEEPEST and depth_exceeds(answer, DEEPEST):
            raise SystemFailure(f"{url} {outcome}: lists and objects nested more than {DEEPEST} deep")
        if not isinstance(answer, self._kinds):
            raise self.fault(url, "answered JSON that is not an object", answer)
        return self._without_secret(answer)

    def fault(self, url: str, what: str, answer: object) -> SystemFailure:
        """An answer of the wrong shape, which asking again would not change."""
        return SystemFailure(f"{url} {what}: {self._excerpt(json.dumps(answer, ensure_ascii=False))}")

    def _excerpt(self, text: str) -> str:
        """The first 200 characters of an answer, without our secret, which a server may echo."""
        return shorten(text.replace(self.token, "***") if self.token else text, 200)

    def _without_secret(self, answer: Any) -> Any:
        """The answer with our secret struck out wherever the server put it, since answers are stored and shown."""
        written, secret = json.dumps(answer), json.dumps(self.token)[1:-1]
        if len(self.token) < _SHORTEST_SECRET or secret not in written:
            return answer
        if not self._echoed:
            self._echoed = True
            warnings.warn("the server sent its key back; it is struck out", RuntimeWarning, stacklevel=2)
        return json.loads(written.replace(secret, "***"))


def _key(url: str, request: Request) -> str:
    """What an answer is stored under."""
    return json.dumps({"url": url, **request}, sort_keys=True)


def _read(response: httpx.Response, url: str) -> bytes:
    """A response's content; httpx would unzip layer after layer, each a thousand times as large, in one piece."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip"):
        raise SystemFailure(
            f"{url} answered in the encoding {shorten(coding)}, where gzip or none was asked for"
        )
    unzip = zlib.decompressobj(wbits=31) if coding == "gzip" else None
    data, received = bytearray(), 0
    try:
        for chunk in response.iter_raw():
            received += len(chunk)
            data += unzip.decompress(chunk, _LARGEST_ANSWER + 1 - len(data)) if unzip else chunk
            # What follows the end of gzip, and its empty blocks, make no data and could go on for ever.
            if max(len(data), received) > _LARGEST_ANSWER:
                raise SystemFailure(f"{url} answered with more than {_LARGEST_ANSWER} bytes")
    except zlib.error as error:
        raise _PassingFault(f"answered with gzip that cannot be read ({error})") from None
    if unzip and not unzip.eof:
        raise _PassingFault("answered with gzip that ends too soon")
    return bytes(data)


@functools.cache
def _tls() -> ssl.SSLContext:
    """One for all clients, since loading the certificates takes 40 ms."""
    return httpx.create_ssl_context()


def _token(options: Options) -> str:
    """The secret in the environment variable that `token_env` names; "" without one."""
    name = options.text("token_env")
    token = os.environ.get(name, "") if name else ""
    if name and not (token and token.isascii() and token.isprintable() and " " not in token):
        raise BabelscopeError(
            f"the environment variable {name} (token_env=) is {'no usable token' if token else 'not set'}"
        )
    return token


def _retry_after(value: str) -> float:
    """Seconds, from the header's number or date; 0 if there is none."""
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0


def checked_url(url: str, options: Options) -> str:
    """A URL that can be asked. Names are stored and shown, so it may hold no secret: no user, no query."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    # A "@" before the path is a user's part even where the URL cannot be read.
    ours = ("token_env", "max_tokens")
    named = [name for name in options.names if name not in ours and _SECRET.search(name)]
    if named or parsed.userinfo or "?" in url or re.search(r"//[^/?#\s]*@", f"{options.spec} {url}"):
        raise BabelscopeError(
            "a system's name must hold no secret, since it is stored with the results; neither a user nor "
            "parameters can stand in its URL: put a key into an environment variable and name that with "
            "token_env=NAME"
        )
    if not parsed.host or not url.startswith(("http://", "https://")):
        raise BabelscopeError(f"{options.spec}: {url!r} is not a URL such as http://localhost:8080/translate")
    return url


def each_or_unanswered(
    asked: Sequence[tuple[tuple[Question, Target], Any]],
    read: Callable[[tuple[Question, Target], Any], Answer],
    forget: Callable[[tuple[Question, Target]], None] = lambda _: None,
) -> list[Answer]:
    """Read each answer; unreadable ones are reported together, after all have arrived.

    What was asked is a question with the target to be scored, or None. `forget` is called with a question whose
    answer breaks the contract, so that a server that was fixed is asked again.
    """
    answers: list[Answer] = []
    reasons: dict[int, str] = {}
    for index, (question, raw) in enumerate(asked):
        try:
            if isinstance(raw, Refusal):
                raise SystemFailure(raw.reason)
            answers.append(read(question, raw))
        except BabelscopeError as error:
            forget(question)
            reasons[index] = str(error)
    if reasons:
        raise Unanswered(reasons)
    return answers


def line_of(text: str, *, what: str, newlines: str) -> str:
    """A translation as one line of text; what is not is refused, never quietly changed."""
    if newlines == "space":
        text = re.sub(r"[\r\n]+", " ", text.strip("\r\n"))
    if fault := text_fault(text):
        hint = "; newlines=space would replace it by a space" if "line break" in fault else ""
        raise SystemFailure(f"{what} {fault}{hint}: {shorten(text)}")
    return text
