"""Samples of an OpenAI-compatible server: what is asked, and what its choices are read as.

A sample's log-probability is the sum of its tokens', as the server tells them. Only at temperature 1 and without cuts
is it known of which distribution they are: the model's own, which is also the one drawn from. Otherwise servers
differ (before or after temperature and cuts), so that samples come as texts alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.answers import Drawing, Note, Scored
from babelscope.core.question import Asked, Question, as_question
from babelscope.core.specs import Options
from babelscope.systems.client import Client, Refusal, Request, each_or_unanswered, line_of
from babelscope.systems.spelling import reads_as, without_spaces
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.json_lines import json_number
from babelscope.util.text import shorten

_PER_REQUEST = 20
_NOT_TOLD = -9999.0  # OpenAI's number for "not among the most probable tokens", which is no log-probability
_HINT = (
    "; a server that knows no logprobs, n or seed is asked for samples with sample_logprobs=no, per_request=1, "
    "send_seed=no"
)

# Parameters beyond the protocol that turn off a server's own cuts and penalties.
_WITHOUT_OWN_CUTS: Mapping[str, Mapping[str, float]] = {
    "openai": {},
    "vllm": {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},
    "llamacpp": {"top_k": 0, "min_p": 0.0, "typical_p": 1.0, "repeat_penalty": 1.0},
}


class Sampler:
    """How samples are asked of a server."""

    def __init__(self, options: Options, newlines: str) -> None:
        """`per_request=N&sample_logprobs=yes|no&send_seed=yes|no&server=openai|vllm|llamacpp`."""
        self.name, self.newlines = options.spec, newlines
        self.per_request = options.integer("per_request", _PER_REQUEST)
        self.logprobs = options.choice("sample_logprobs", ("yes", "no"), "yes") == "yes"
        self.send_seed = options.choice("send_seed", ("yes", "no"), "yes") == "yes"
        self.server = options.choice("server", tuple(_WITHOUT_OWN_CUTS), "openai")

    @property
    def settings(self) -> dict[str, Any]:
        """What is part of the fingerprint: options that are not as usual."""
        said: dict[str, Any] = {"per_request": self.per_request, "sample_logprobs": self.logprobs}
        said |= {"send_seed": self.send_seed, "server": self.server}
        usual = {"per_request": _PER_REQUEST, "sample_logprobs": True, "send_seed": True, "server": "openai"}
        return {option: value for option, value in said.items() if value != usual[option]}

    def draw(
        self,
        client: Client,
        url: str,
        asked: Sequence[tuple[Asked, Request]],
        *,
        n: int,
        seed: int,
        drawing: Drawing,
    ) -> list[list[Scored]]:
        """`n` samples of each question, each with the chat request that it makes."""
        if n < 1:
            raise BabelscopeError(f"at least one sample must be drawn, not {n}")
        if drawing.top_k or drawing.epsilon:
            raise BabelscopeError(
                f"{self.name}: servers draw with a temperature and top-p; leave top-k and epsilon out"
            )
        requests = {
            (as_question(each), None): list(
                self._requests(body, as_question(each).source, n=n, seed=seed, drawing=drawing)
            )
            for each, body in asked
        }

        def split(answer: dict[str, Any], sent: Sequence[Request]) -> list[Any]:
            if fault := _shape_fault(answer, sent[0]):
                raise client.fault(url, fault, answer)
            return [answer]

        found = iter(
            client.ask(url, [each for own in requests.values() for each in own], body=_message, split=split)
        )
        answers = {asked: [next(found) for _ in own] for asked, own in requests.items()}

        def read(asked: tuple[Question, None], raw: Sequence[Any]) -> list[Scored]:
            parts = zip(raw, requests[asked], strict=True)
            return [each for answer, sent in parts for each in self._samples(url, asked[0], answer, sent)]

        return each_or_unanswered(
            [(key, answers[key]) for key in ((as_question(a), None) for a, _ in asked)],
            read,
            lambda asked: client.forget(url, requests[asked]),
        )

    def _requests(
        self, body: Request, source: str, *, n: int, seed: int, drawing: Drawing
    ) -> Iterator[Request]:
        """Requests for `n` samples; `draw` is not sent, but keeps the answers of equal messages apart."""
        plain = drawing.temperature == 1 and drawing.top_p == 1
        how: dict[str, Any] = {"temperature": drawing.temperature, "top_p": drawing.top_p}
        how |= {"frequency_penalty": 0, "presence_penalty": 0, **_WITHOUT_OWN_CUTS[self.server]}
        how |= {"logprobs": True} if self.logprobs and plain else {}
        how |= {"max_tokens": drawing.max_length} if drawing.max_length else {}
        for part, start in enumerate(range(0, n, self.per_request)):
            seeded = {"seed": _seed_of(seed, source, part)} if self.send_seed else {}
            count = min(self.per_request, n - start)
            yield {**body, **how, **seeded, "n": count, "draw": [seed, part]}

    def _samples(self, url: str, question: Question, answer: Any, sent: Request) -> list[Scored]:
        if isinstance(answer, Refusal):
            raise SystemFailure(f"{answer.reason}{_HINT}")
        what = f"a sample that {url} gave of {shorten(question.source)}"
        return [self._sample(what, choice, "logprobs" in sent) for choice in answer["choices"]]

    def _sample(self, what: str, choice: Mapping[str, Any], scored: bool) -> Scored:
        """One choice as an answer; one that the server censored would bias the samples, and is refused."""
        written, reason = choice["message"].get("content"), choice.get("finish_reason")
        if reason not in (None, "stop", "length") or (written is None and reason != "length"):
            raise SystemFailure(f"{what} was not drawn to its end (finish_reason: {reason})")
        written = written or ""
        text = line_of(written, what=what, newlines=self.newlines)
        notes: list[Note] = [] if text else ["empty"]
        notes += ["changed"] if text != written else []
        notes += ["unfinished"] if reason == "length" else []
        if not scored:
            return Scored(text, notes=tuple(notes))
        tokens, logprobs = _tokens_of(what, choice)
        if reason != "length" and not _ends(what, choice, written):
            notes.append("without_eos")
        elif reason == "length" and not _spells(_entries(choice), written):
            raise _misspelt(what, choice, written)
        found = Scored(text, tokens, logprobs, tuple(notes))
        return Scored(text, notes=tuple(notes)) if min(logprobs, default=0.0) <= _NOT_TOLD else found


def _seed_of(seed: int, source: str, part: int) -> int:
    """Of a request: equal seeds of different sources would make their samples alike."""
    return int.from_bytes(hashlib.sha256(f"{seed}\0{part}\0{source}".encode()).digest()[:4]) >> 1


def _message(requests: Sequence[Request]) -> dict[str, Any]:
    (request,) = requests
    return {name: value for name, value in request.items() if name != "draw"}


def _shape_fault(answer: Any, sent: Request) -> str:
    """What is wrong with an answer as a whole; "" if each of its choices can be read."""
    choices = answer.get("choices")
    if not isinstance(choices, list):
        return "answered without choices"
    if len(choices) != sent["n"]:
        few = "; if it knows no n, say per_request=1" if len(choices) == 1 else ""
        return f"was asked {sent['n']} samples but gave {len(choices)}{few}"
    for choice in choices:
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict) or not isinstance(message.get("content"), str | None):
            return "answered without a message"
        if not isinstance(choice.get("finish_reason"), str | None):
            return "answered with a finish_reason that is no text"
        # A sample without any text may come without tokens, too.
        if "logprobs" in sent and message.get("content") and not _entries(choice):
            return "answered without logprobs of its tokens; say sample_logprobs=no for samples without"
    return ""


def _entries(choice: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What the server tells of each token; nothing where this has another shape."""
    logprobs = choice.get("logprobs")
    entries = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(entries, list):
        return []
    fits = all(isinstance(each, dict) and isinstance(each.get("token"), str) for each in entries)
    return entries if fits else []


def _tokens_of(what: str, choice: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    tokens, logprobs = [], []
    for entry in _entries(choice):
        number = json_number(entry.get("logprob"))
        if number is None:  # NaN and numbers above 0 are found by Scored
            raise SystemFailure(
                f"{what} has {entry.get('logprob')!r} as the log-probability of token {entry['token']!r}"
            )
        tokens.append(entry["token"])
        logprobs.append(number)
    return tuple(tokens), tuple(logprobs)


def _ends(what: str, choice: Mapping[str, Any], text: str) -> bool:
    """Whether the end of sentence is the last of the tokens: one that the text has not, or that reads as nothing."""
    entries = _entries(choice)
    last = entries[-1]["token"] if entries else ""
    if entries and last.strip() and _spells(entries[:-1], text):
        return True
    if not _spells(entries, text):
        raise _misspelt(what, choice, text)
    return bool(entries) and not last


def _spells(entries: Sequence[Mapping[str, Any]], text: str) -> bool:
    """Whether tokens read as the text, spaces aside, which some servers leave out or add."""
    return reads_as(without_spaces(_read(entries)), without_spaces(text))


def _read(entries: Sequence[Mapping[str, Any]]) -> str:
    """The text of tokens, from their bytes where the server tells them: a token may be a part of a character."""
    told = [
        each["bytes"] for each in entries if isinstance(each.get("bytes"), list)
    ]  # bytes(9) would be nine
    try:
        if len(told) == len(entries):
            return b"".join(map(bytes, told)).decode(errors="replace")
    except (TypeError, ValueError):
        pass
    return "".join(each["token"] for each in entries)


def _misspelt(what: str, choice: Mapping[str, Any], text: str) -> SystemFailure:
    return SystemFailure(
        f"{what} reads {shorten(text)}, but its tokens {shorten(_read(_entries(choice)))}: their log-probabilities "
        "are of another text"
    )
