"""Systems behind a URL: a plain JSON endpoint, and an OpenAI-compatible server."""

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
from babelscope.systems.base import Capability, Fingerprint, Scored, Target
from babelscope.systems.blackbox import best, seconds
from babelscope.systems.opening import Options
from babelscope.text import check_texts, read_bytes, shorten, text_fault

_LONGEST_WAIT = 120.0  # seconds; a server that asks for more patience is an error
_LARGEST_ANSWER = 1 << 28  # bytes
# Where people put secrets in a name, which is stored and shown.
_SECRET = re.compile(r"//[^/?#\s]*@|[?&][\w-]*(key|token|secret|password)=", re.IGNORECASE)
PROMPT = "Translate this text from {source} into {target}. Answer with the translation only.\n\n{text}"
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


def _url(url: str, options: Options) -> str:
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


def _text(text: object, *, what: str, newlines: str) -> str:
    """A translation as one line of text; what is not is refused, never quietly changed."""
    if not isinstance(text, str):
        raise SystemFailure(f"{what} is not a text: {shorten(json.dumps(text, ensure_ascii=False))}")
    if newlines == "space":
        text = re.sub(r"[\r\n]+", " ", text.strip("\r\n"))
    if fault := text_fault(text):
        hint = "; newlines=space would replace it by a space" if "line break" in fault else ""
        raise SystemFailure(f"{what} {fault}{hint}: {shorten(text)}")
    return text


class JsonEndpoint:
    """A server that takes a JSON object with sources and answers one with their translations."""

    def __init__(
        self,
        url: str,
        client: Client,
        *,
        batch: int,
        newlines: str,
        languages: tuple[str, str] | None,
        name: str,
    ) -> None:
        self.name = name
        self._url = url
        self._client = client
        self._batch = batch
        self._newlines = newlines
        self._languages = languages
        settings = {"newlines": newlines, "languages": languages}
        self.fingerprint = Fingerprint("libretranslate" if languages else "http", url, settings=settings)

    def translate(self, sources: Sequence[str], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        """The server's translations, asked for in batches."""
        check_texts(sources, what="source")
        if self._languages and n_best > 1:
            raise BabelscopeError(
                f"format=libretranslate gives one translation, but n_best={n_best} was asked"
            )

        def ask(part: Sequence[str], stop: threading.Event) -> list[list[Scored]]:
            return self._ask(part, beam, n_best, stop)

        parts = [sources[start : start + self._batch] for start in range(0, len(sources), self._batch)]
        return [answer for answers in self._client.ask_all(ask, parts) for answer in answers]

    def _ask(
        self, sources: Sequence[str], beam: int, n_best: int, stop: threading.Event
    ) -> list[list[Scored]]:
        body: dict[str, object] = {"sources": list(sources), "n_best": n_best, "beam": beam}
        if self._languages:
            source, target = self._languages
            # Servers like LibreTranslate may know a single text only, which batch=1 sends.
            text = sources[0] if self._batch == 1 else list(sources)
            body = {"q": text, "source": source, "target": target, "format": "text"}
            body |= {"api_key": self._client.token} if self._client.token else {}
        field = "translatedText" if self._languages else "translations"
        answer = self._client.post(self._url, body, stop)
        found = [answer[field]] if isinstance(answer.get(field), str) else answer.get(field)
        if not isinstance(found, list):
            raise self._client.fault(self._url, f"answered without a list {field!r}", answer)
        if len(found) != len(sources):
            raise self._client.fault(
                self._url, f"was asked {len(sources)} sources but gave translations of {len(found)}", answer
            )
        answers = []
        for translations, source in zip(found, sources, strict=True):
            several = translations if isinstance(translations, list) else [translations]
            what = f"a translation that {self._url} gave of {shorten(source)}"
            texts = [_text(text, what=what, newlines=self._newlines) for text in several[:n_best]]
            answers.append(best(texts, n_best, source=source, where=f"the answer of {self._url}"))
        return answers


class OpenAIServer:
    """A model behind the OpenAI protocol: translates by chat, scores targets that it is given as a prompt.

    `logprobs=echo` needs a server that gives log-probabilities of an echoed prompt, `logprobs=vllm` its
    `prompt_logprobs`. None can be asked for the end of the sentence by itself: with `eos=`, its text is put
    after the target and scored as one token; without, scores lack it and are noted as unfinished.
    """

    def __init__(self, url: str, model: str, client: Client, options: Options) -> None:
        self.name = options.spec
        self._url = url
        self._model = model
        self._client = client
        languages = {"source": options.text("source"), "target": options.text("target")}
        self._prompt = _template(options, "prompt", PROMPT, languages)
        self._newlines = options.choice("newlines", ("error", "space"), "error")
        self._limit = options.integer("max_tokens", 0, least=0)
        self._logprobs = options.choice("logprobs", ("none", "echo", "vllm"), "none")
        settings = {
            "prompt": self._prompt,
            "newlines": self._newlines,
            "max_tokens": self._limit,
            "logprobs": self._logprobs,
            "temperature": 0,
        }
        self.capabilities: frozenset[Capability] = frozenset({"translate"})
        self._eos = ""
        if self._logprobs != "none":
            self.capabilities = frozenset({"translate", "score"})
            # A line break keeps the prompt's last token apart from the target's first.
            self._score_prompt = _template(options, "score_prompt", self._prompt + "\n", languages)
            self._eos = options.text("eos")
            settings |= {"score_prompt": self._score_prompt, "eos": self._eos}
        self.fingerprint = Fingerprint("openai", f"{url}#{model}", settings=settings)

    def translate(
        self,
        sources: Sequence[str],
        *,
        beam: int = 5,  # noqa: ARG002 (the protocol's; these servers decode greedily at temperature 0)
        n_best: int = 1,
    ) -> list[list[Scored]]:
        """One translation a source, at temperature 0."""
        check_texts(sources, what="source")
        if n_best != 1:
            raise BabelscopeError(f"openai: gives one translation a source, but n_best={n_best} was asked")
        return [[answer] for answer in self._client.ask_all(self._translate, sources)]

    def _translate(self, source: str, stop: threading.Event) -> Scored:
        message = {"role": "user", "content": self._prompt.replace("{text}", source)}
        body = {"model": self._model, "messages": [message], "temperature": 0}
        body |= {"max_tokens": self._limit} if self._limit else {}
        url = f"{self._url}/chat/completions"
        answer = self._client.post(url, body, stop)
        try:
            choice = answer["choices"][0]
            text, reason = choice["message"]["content"], choice.get("finish_reason")
        except (LookupError, TypeError, AttributeError):
            raise self._client.fault(url, "answered without a message", answer) from None
        what = f"the translation that {url} gave of {shorten(source)}"
        text = _text(text, what=what, newlines=self._newlines)
        return Scored(text, notes=("unfinished",) if reason == "length" else ())

    def score(self, pairs: Sequence[tuple[str, Target]]) -> list[Scored]:
        """Log-probabilities of the targets' tokens after `score_prompt`, sent as it is, no chat markup."""
        if "score" not in self.capabilities:
            raise BabelscopeError(
                f"{self.name} gives no log-probabilities; say logprobs=vllm or logprobs=echo"
            )
        targets = [target.text if isinstance(target, Scored) else target for _, target in pairs]
        check_texts([source for source, _ in pairs], what="source")
        check_texts(targets, what="target", allow_empty=bool(self._eos))
        prompts = [self._score_prompt.replace("{text}", source) for source, _ in pairs]
        if self._logprobs == "echo":
            ask = self._echoed
        else:
            distinct = list(dict.fromkeys(prompts))
            known = dict(zip(distinct, self._client.ask_all(self._prompt_tokens, distinct), strict=True))

            def ask(pair: tuple[str, str], stop: threading.Event) -> Scored:
                return self._continued(pair, known[pair[0]], stop)

        return self._client.ask_all(ask, list(zip(prompts, targets, strict=True)))

    def _complete(self, text: str, how: dict[str, object], stop: threading.Event) -> dict[str, Any]:
        # Some servers take max_tokens=0 for "no limit"; the one token generated is left out later.
        body = {"model": self._model, "prompt": text, "max_tokens": 1, "temperature": 0, **how}
        return self._client.post(f"{self._url}/completions", body, stop)

    def _echoed(self, pair: tuple[str, str], stop: threading.Event) -> Scored:
        """A target's score from an echoed prompt, whose tokens come with character offsets."""
        prompt, target = pair
        text = prompt + target + self._eos
        answer = self._complete(text, {"echo": True, "logprobs": 1}, stop)
        try:
            found = answer["choices"][0]["logprobs"]
            rows = list(zip(found["tokens"], found["token_logprobs"], found["text_offset"], strict=True))
            # A begin-of-sentence token may stand before the text, and shift what follows.
            shift = 0 if len(rows) < 2 or prompt.startswith(rows[0][0]) else rows[1][2]
            kept = [row for row in rows if len(prompt) <= row[2] - shift < len(text)]
            echoed = bool(rows) and rows[0][2] == 0 and rows[-1][2] - shift >= len(prompt)
            read = "".join(token for token, _, _ in kept)
        except (LookupError, TypeError, ValueError):
            told = "answered without tokens, token_logprobs and text_offset of equal length"
            raise self._client.fault(f"{self._url}/completions", told, answer) from None
        if not echoed:
            raise SystemFailure(f"{self._url}/completions did not echo the prompt with its log-probabilities")
        if not kept or kept[0][2] - shift != len(prompt):
            raise self._straddles(target)
        # Parts of a character read as U+FFFD; anything else that differs means offsets cannot be trusted.
        parts = re.split("(\ufffd+)", read)
        pattern = "".join(f".{{1,{len(p)}}}" if p[:1] == "\ufffd" else re.escape(p) for p in parts)
        if not re.fullmatch(pattern, target + self._eos):
            raise SystemFailure(
                f"{self._url}/completions gave tokens that read {shorten(read)} for the target "
                f"{shorten(target + self._eos)}: its text_offset cannot be trusted"
            )
        return self._scored(target, [(token, logprob) for token, logprob, _ in kept])

    def _prompt_tokens(self, text: str, stop: threading.Event) -> list[tuple[str, str, object]]:
        """Identity, text and log-probability of each token, as vLLM gives them; the first has none."""
        answer = self._complete(text, {"prompt_logprobs": 0}, stop)
        try:
            rows = []
            for entry in answer["choices"][0]["prompt_logprobs"]:
                ((identity, token),) = (entry or {"": {"logprob": None}}).items()
                rows.append((identity, token.get("decoded_token") or "", token["logprob"]))
            return rows
        except (LookupError, TypeError, ValueError, AttributeError):
            told = "answered without prompt_logprobs of one token each"
            raise self._client.fault(f"{self._url}/completions", told, answer) from None

    def _continued(
        self, pair: tuple[str, str], known: Sequence[tuple[str, str, object]], stop: threading.Event
    ) -> Scored:
        """A target's score: the tokens that follow those of the prompt alone."""
        prompt, target = pair
        rows = self._prompt_tokens(prompt + target + self._eos, stop)
        start = len(known)
        if [row[0] for row in rows[:start]] != [row[0] for row in known] or len(rows) == start:
            raise self._straddles(target)
        return self._scored(target, [(token, logprob) for _, token, logprob in rows[start:]])

    def _straddles(self, target: str) -> BabelscopeError:
        return BabelscopeError(
            f"{self.name}: a token covers both the end of the prompt and the beginning of the target "
            f"{shorten(target)}; let the prompt end otherwise, e.g. with a line break (score_prompt=)"
        )

    def _scored(self, target: str, rows: Sequence[tuple[str, object]]) -> Scored:
        logprobs = []
        for token, logprob in rows:
            if not isinstance(logprob, int | float):  # NaN is found by Scored
                raise BabelscopeError(
                    f"{self._url}/completions gave {logprob!r} as the log-probability of token {token!r} in "
                    f"{shorten(target)}"
                )
            logprobs.append(float(logprob))
        if self._eos and rows[-1][0] != self._eos:
            raise BabelscopeError(f"{self.name}: the server does not read eos={self._eos} as one token")
        return Scored(
            target, tuple(t for t, _ in rows), tuple(logprobs), () if self._eos else ("unfinished",)
        )


def _template(options: Options, name: str, default: str, languages: dict[str, str]) -> str:
    """The option `name`, or the file that `name_file` says, with its languages filled in."""
    path = options.text(f"{name}_file")
    text = options.text(name) or default
    if path:
        if options.text(name):
            raise BabelscopeError(f"{options.spec}: say {name}= or {name}_file=, not both")
        try:
            text = read_bytes(path).decode()
        except UnicodeDecodeError:
            raise BabelscopeError(f"{path}: not UTF-8") from None
    if "{text}" not in text:
        raise BabelscopeError(f"{options.spec}: the {name} has no {{text}} where the source goes")
    for place, language in languages.items():
        if f"{{{place}}}" in text and not language:
            raise BabelscopeError(f"{options.spec}: say {place}=LANGUAGE, which the {name} needs")
        text = text.replace(f"{{{place}}}", language)
    return text


def _open_json(url: str, options: Options) -> JsonEndpoint:
    url = _url(url, options)
    languages = None
    if options.choice("format", ("babelscope", "libretranslate"), "babelscope") == "libretranslate":
        languages = options.text("source", "auto"), options.text("target")
        if not languages[1]:
            raise BabelscopeError(f"{options.spec}: format=libretranslate needs target=LANGUAGE")
    return JsonEndpoint(
        url,
        Client(options),
        batch=options.integer("batch", 32),
        newlines=options.choice("newlines", ("error", "space"), "error"),
        languages=languages,
        name=options.spec,
    )


def open_http(rest: str, options: Options) -> JsonEndpoint:
    """`http://HOST:PORT/PATH?batch=N&concurrency=N&timeout=SECONDS&retries=N&token_env=NAME...`."""
    return _open_json(f"http:{rest}", options)


def open_https(rest: str, options: Options) -> JsonEndpoint:
    """The same over TLS."""
    return _open_json(f"https:{rest}", options)


def open_openai(rest: str, options: Options) -> OpenAIServer:
    """`openai:URL#MODEL?source=LANGUAGE&target=LANGUAGE&logprobs=none|echo|vllm...`."""
    address, _, model = rest.partition("#")
    url = _url(address, options).rstrip("/")
    if not model:
        raise BabelscopeError(f"{options.spec}: say URL#MODEL, e.g. openai:http://localhost:8000/v1#my-model")
    return OpenAIServer(url, model, Client(options), options)
