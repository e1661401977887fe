"""Asking a server: JSON over HTTP, several requests at a time, again where a fault may pass."""

from __future__ import annotations

import email.utils
import functools
import json
import os
import queue
import re
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from typing import Any, TypeVar

import httpx
import tenacity

from babelscope.errors import BabelscopeError, SystemFailure
from babelscope.systems.blackbox import seconds
from babelscope.systems.opening import Options
from babelscope.text import shorten, text_fault

_LONGEST_WAIT = 120.0  # seconds; a server that asks for more patience is an error
_LARGEST_ANSWER = 1 << 28  # bytes
# Where people put secrets in a name, which is stored and shown.
_SECRET = re.compile(r"//[^/?#\s]*@|[?&][\w-]*(key|token|secret|password)=", re.IGNORECASE)
Question = TypeVar("Question")
Answer = TypeVar("Answer")


class _PassingFault(Exception):
    """What may go well when tried again, after `pause` seconds at the earliest."""

    def __init__(self, told: str, pause: float = 0.0) -> None:
        super().__init__(told)
        self.pause = pause


class Client:
    """Posts JSON to a server, several requests at a time, and again where a fault may pass."""

    def __init__(self, options: Options) -> None:
        self._timeout = seconds(options, "timeout", 120.0)
        self._concurrency = options.integer("concurrency", 4)
        self._tries = options.integer("retries", 4, least=0) + 1
        self._backoff = options.number("backoff", 0.5)
        self.token = _token(options)
        self._http = httpx.Client(
            verify=_tls(),
            timeout=self._timeout,
            headers={"Authorization": f"Bearer {self.token}"} if self.token else {},
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=self._concurrency),
        )
        weakref.finalize(self, self._http.close)

    def ask_all(
        self, ask: Callable[[Question, threading.Event], Answer], asked: Sequence[Question]
    ) -> list[Answer]:
        """The answers in the order asked; the first failure ends the rest.

        Daemon threads rather than a ThreadPoolExecutor, whose threads Python joins at exit: an interrupt
        would hang until the slowest request times out.
        """
        answers: list[Future[Answer]] = [Future() for _ in asked]
        waiting: queue.SimpleQueue[tuple[Question, Future[Answer]]] = queue.SimpleQueue()
        for pair in zip(asked, answers, strict=True):
            waiting.put(pair)
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                try:
                    question, answer = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    answer.set_result(ask(question, stop))
                except BaseException as error:  # told to whoever waits for the answer
                    answer.set_exception(error)

        for _ in range(min(self._concurrency, len(asked))):
            threading.Thread(target=work, daemon=True).start()
        try:
            wait(answers, return_when=FIRST_EXCEPTION)
            for answer in answers:
                if answer.done():
                    answer.result()  # raises the failure, if this is one
            return [answer.result() for answer in answers]
        finally:
            stop.set()

    def post(self, url: str, body: object, stop: threading.Event) -> dict[str, Any]:
        """The JSON object the server answers with."""
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
            reraise=True,
        )
        try:
            return retrying(self._try, url, body)
        except _PassingFault as fault:
            tries = retrying.statistics["attempt_number"]
            raise SystemFailure(f"{url} {fault}{f' (tried {tries} times)' if tries > 1 else ''}") from None

    def _try(self, url: str, body: object) -> dict[str, Any]:
        """One request."""
        data = bytearray()
        deadline = time.monotonic() + self._timeout
        try:
            with self._http.stream("POST", url, json=body) as response:
                for chunk in response.iter_bytes():
                    data += chunk
                    # httpx bounds each read, not the whole: a server may drip for ever.
                    if time.monotonic() > deadline:
                        raise httpx.ReadTimeout("the answer took too long")
                    if len(data) > _LARGEST_ANSWER:
                        raise SystemFailure(f"{url} answered with more than {_LARGEST_ANSWER} bytes")
        except httpx.TimeoutException:
            raise _PassingFault(f"did not answer within {self._timeout:g} seconds (timeout=)") from None
        except httpx.RequestError as error:
            raise _PassingFault(f"did not answer: {self._told(str(error) or repr(error))}") from None
        status = response.status_code
        told = f"answered {status}: {self._told(data.decode(errors='replace'))}"
        if status == 429 or status >= 500:
            pause = _retry_after(response.headers.get("retry-after", ""))
            if pause > _LONGEST_WAIT:
                raise SystemFailure(f"{url} {told}; it asks to be tried again in {pause:.0f} seconds")
            raise _PassingFault(told, pause)
        if not 200 <= status < 300:
            raise SystemFailure(f"{url} {told}")
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            raise _PassingFault(f"{told}, which is not JSON") from None
        if not isinstance(answer, dict):
            raise self.fault(url, "answered JSON that is not an object", answer)
        return answer

    def fault(self, url: str, told: str, answer: object) -> SystemFailure:
        """An answer of the wrong shape, which asking again would not change."""
        return SystemFailure(f"{url} {told}: {self._told(json.dumps(answer, ensure_ascii=False))}")

    def _told(self, text: str) -> str:
        """The first 200 characters of an answer, without our secret, which a server may echo."""
        return shorten(text.replace(self.token, "***") if self.token else text, 200)


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
    """A URL that can be asked; secrets in it are refused, since names are stored and shown."""
    if _SECRET.search(options.spec):
        raise BabelscopeError(
            "a system's name must hold no secret, since it is stored with the results: put it into an "
            "environment variable and name that with token_env=NAME"
        )
    try:
        host = httpx.URL(url).host
    except httpx.InvalidURL:
        host = ""
    if not host or not url.startswith(("http://", "https://")):
        raise BabelscopeError(f"{options.spec}: {url!r} is not a URL such as http://localhost:8080/translate")
    return url


def line_of(text: object, *, what: str, newlines: str) -> str:
    """A translation as one line of text; what is not is refused, never quietly changed."""
    if not isinstance(text, str):
        raise SystemFailure(f"{what} is not a text: {shorten(json.dumps(text, ensure_ascii=False))}")
    if newlines == "space":
        text = re.sub(r"[\r\n]+", " ", text.strip("\r\n"))
    if fault := text_fault(text):
        hint = "; newlines=space would replace it by a space" if "line break" in fault else ""
        raise SystemFailure(f"{what} {fault}{hint}: {shorten(text)}")
    return text
