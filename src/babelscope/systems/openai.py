"""`openai:` a model behind an OpenAI-compatible server."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Any

from babelscope.errors import BabelscopeError, SystemFailure
from babelscope.systems.base import Capability, Fingerprint, Scored, Target
from babelscope.systems.client import Client, checked_url, line_of
from babelscope.systems.opening import Options
from babelscope.text import check_texts, read_bytes, shorten

PROMPT = "Translate this text from {source} into {target}. Answer with the translation only.\n\n{text}"


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
        text = line_of(text, what=what, newlines=self._newlines)
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


def open_openai(rest: str, options: Options) -> OpenAIServer:
    """`openai:URL#MODEL?source=LANGUAGE&target=LANGUAGE&logprobs=none|echo|vllm...`."""
    address, _, model = rest.partition("#")
    url = checked_url(address, options).rstrip("/")
    if not model:
        raise BabelscopeError(f"{options.spec}: say URL#MODEL, e.g. openai:http://localhost:8000/v1#my-model")
    return OpenAIServer(url, model, Client(options), options)
