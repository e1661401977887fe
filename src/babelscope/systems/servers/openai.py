"""`openai:` a model behind an OpenAI-compatible server."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from babelscope.core.registry import Options
from babelscope.core.system import (
    Asked,
    Capability,
    Drawing,
    Fingerprint,
    Note,
    Question,
    Reply,
    Scored,
    Target,
    as_question,
    sources_of,
)
from babelscope.systems.cache import Store
from babelscope.systems.prompting.chatter import Chatter
from babelscope.systems.prompting.prompts import Prompt, find_prompt, require_context
from babelscope.systems.servers.client import (
    Client,
    Refusal,
    Request,
    checked_url,
    each_or_unanswered,
    line_of,
)
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.text import check_texts, json_number, shorten

_MOST_COMPARISONS = 1_000_000


def tokens_match_text(read: str, text: str) -> bool:
    """True if tokens that read `read` can be of `text`: a run of U+FFFD stands for as many characters or fewer.

    Parts of a character read as U+FFFD; anything else that differs means that offsets cannot be trusted. A text
    with too many of them to be sure of quickly counts as different.
    """
    if "\ufffd" not in read:
        return read == text
    parts = re.split("(\ufffd+)", read)
    if len(parts) * len(text) > _MOST_COMPARISONS:
        return False
    ends = {0}  # where in `text` what was read so far may end
    for part in parts:
        if part[:1] == "\ufffd":
            ends = {end + more for end in ends for more in range(1, len(part) + 1) if end + more <= len(text)}
        else:
            ends = {end + len(part) for end in ends if text.startswith(part, end)}
    return len(text) in ends


def without_spaces(text: str) -> str:
    """The text without spaces, SentencePiece's included."""
    return "".join(text.replace("\u2581", " ").split())


# --- Samples of an OpenAI-compatible server: what is asked, and what its choices are read as -----------------------


_PER_REQUEST = 20
_NOT_TOLD = -9999.0  # OpenAI's number for "not among the most probable tokens", which is no log-probability
_HINT = (
    "; for a server that does not support logprobs, n or seed, set sample_logprobs=no, per_request=1, "
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
        chosen: dict[str, Any] = {"per_request": self.per_request, "sample_logprobs": self.logprobs}
        chosen |= {"send_seed": self.send_seed, "server": self.server}
        usual = {"per_request": _PER_REQUEST, "sample_logprobs": True, "send_seed": True, "server": "openai"}
        return {option: value for option, value in chosen.items() if value != usual[option]}

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
            client.ask(
                url, [each for own in requests.values() for each in own], message=_message, split=split
            )
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
            # Equal seeds of different sources would make their samples alike.
            own = hashlib.sha256(f"{seed}\0{part}\0{source}".encode()).digest()[:4]
            seeded = {"seed": int.from_bytes(own) >> 1} if self.send_seed else {}
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
            raise _misspelled(what, choice, written)
        found = Scored(text, tokens, logprobs, tuple(notes))
        return Scored(text, notes=tuple(notes)) if min(logprobs, default=0.0) <= _NOT_TOLD else found


def _message(requests: Sequence[Request]) -> dict[str, Any]:
    (request,) = requests
    return {"json": {name: value for name, value in request.items() if name != "draw"}}


def _shape_fault(answer: Any, sent: Request) -> str:
    """What is wrong with an answer as a whole; "" if each of its choices can be read."""
    choices = answer.get("choices")
    if not isinstance(choices, list):
        return "answered without choices"
    if len(choices) != sent["n"]:
        few = "; if it does not support n, set per_request=1" if len(choices) == 1 else ""
        return f"was asked {sent['n']} samples but gave {len(choices)}{few}"
    for choice in choices:
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict) or not isinstance(message.get("content"), str | None):
            return "answered without a message"
        if not isinstance(choice.get("finish_reason"), str | None):
            return "answered with a finish_reason that is no text"
        # A sample without any text may come without tokens, too.
        if "logprobs" in sent and message.get("content") and not _entries(choice):
            return "answered without logprobs of its tokens; set sample_logprobs=no for samples without"
    return ""


def _entries(choice: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What the server reports of each token; empty where this has another shape."""
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
        raise _misspelled(what, choice, text)
    return bool(entries) and not last


def _spells(entries: Sequence[Mapping[str, Any]], text: str) -> bool:
    """Whether tokens read as the text, spaces aside, which some servers leave out or add."""
    return tokens_match_text(without_spaces(_read(entries)), without_spaces(text))


def _read(entries: Sequence[Mapping[str, Any]]) -> str:
    """The text of tokens, from their bytes where the server reports them: a token may be a part of a character."""
    # Only lists: bytes(9) would be nine.
    parts = [each["bytes"] for each in entries if isinstance(each.get("bytes"), list)]
    try:
        if len(parts) == len(entries):
            return b"".join(map(bytes, parts)).decode(errors="replace")
    except (TypeError, ValueError):
        pass
    return "".join(each["token"] for each in entries)


def _misspelled(what: str, choice: Mapping[str, Any], text: str) -> SystemFailure:
    return SystemFailure(
        f"{what} reads {shorten(text)}, but its tokens {shorten(_read(_entries(choice)))}: their log-probabilities "
        "are of another text"
    )


PROMPT = "Translate this text from {source} into {target}. Answer with the translation only.\n\n{text}"

# The note for each finish_reason; `stopped` stands for any other.
_ENDS: Mapping[str | None, Note | None] = {
    None: None,
    "stop": None,
    "length": "unfinished",
    "content_filter": "filtered",
}


class OpenAIServer:
    """A model behind the OpenAI protocol: translates, samples and replies by chat, scores targets given as a prompt.

    `logprobs=echo` needs a server that gives log-probabilities of an echoed prompt, `logprobs=vllm` its
    `prompt_logprobs`. None can be asked for the end of the sentence by itself: with `eos=`, its text is put
    after the target and scored as one token; without, scores lack it and are noted `end_unscored`.
    """

    costly = True
    reproducible = False
    cleans_output = True
    """It looks for chatter in its answers itself, as the option `clean` says."""
    takes_context = True
    reads_context = False
    """Set by `?context=`: the sentences before a source are then turns of the chat, or in the prompt."""

    def __init__(self, rest: str, options: Options) -> None:
        """`openai:URL#MODEL?source=LANGUAGE&target=LANGUAGE&logprobs=none|echo|vllm...`."""
        self.name = options.spec
        address, _, self._model = rest.partition("#")
        self._url = checked_url(address, options).rstrip("/")
        if not self._model:
            raise BabelscopeError(
                f"{options.spec}: use URL#MODEL, e.g. openai:http://localhost:8000/v1#my-model"
            )
        self._client = Client(options)
        languages = {"source": options.text("source"), "target": options.text("target")}
        prompt = find_prompt(options.text("prompt") or PROMPT)
        require_context(prompt, options)
        self._prompt = prompt.filled(languages, options.spec)
        self._chatter = Chatter.of(options, "count", languages["target"])
        self._newlines = options.choice("newlines", ("error", "space"), "error")
        self._limit = options.integer("max_tokens", 0, least=0)
        self._logprobs = options.choice("logprobs", ("none", "echo", "vllm"), "none")
        settings = {
            **languages,
            "prompt": prompt.as_json(),
            "newlines": self._newlines,
            "max_tokens": self._limit,
            "logprobs": self._logprobs,
            "temperature": 0,
            **self._chatter.settings,
        }
        self._sampler = Sampler(options, self._newlines)
        settings |= self._sampler.settings
        self.capabilities: frozenset[Capability] = frozenset({"translate", "sample", "reply"})
        self._eos = ""
        if self._logprobs != "none":
            self.capabilities |= {"score"}
            # A line break keeps the prompt's last token apart from the target's first.
            self._own_score_prompt = bool(options.text("score_prompt"))
            self._score_prompt = options.text("score_prompt") or self._prompt.text("{text}") + "\n"
            if "{text}" not in self._score_prompt:
                raise BabelscopeError(
                    f"{options.spec}: the score_prompt has no {{text}} where the source goes"
                )
            self._score_prompt = Prompt(self._score_prompt).filled(languages, options.spec).template
            self._eos = options.text("eos")
            settings |= {"score_prompt": self._score_prompt, "eos": self._eos}
        self.fingerprint = Fingerprint("openai", f"{self._url}#{self._model}", settings=settings)

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,  # noqa: ARG002 (the protocol's; these servers decode greedily at temperature 0)
        n_best: int = 1,
    ) -> list[list[Scored]]:
        """One translation per source, at temperature 0."""
        sources = sources_of(questions)
        check_texts(sources, what="source")
        if n_best != 1:
            raise BabelscopeError(f"openai: gives one translation per source, but n_best={n_best} was asked")
        bodies = [self._chat(self._messages(each)) for each in questions]
        answers = self._ask("chat/completions", bodies, self._message)
        asked = [((as_question(each), None), answer) for each, answer in zip(questions, answers, strict=True)]
        found = each_or_unanswered(asked, lambda pair, answer: self._translation(pair[0], answer))
        return [[answer] for answer in found]

    def sample(
        self, questions: Sequence[Asked], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        """Samples as the server draws them: its seed is asked for, but it may ignore it."""
        sources = sources_of(questions)
        check_texts(sources, what="source")
        bodies = [self._chat(self._messages(each)) for each in questions]
        asked = list(zip(questions, bodies, strict=True))
        url = f"{self._url}/chat/completions"
        found = self._sampler.draw(self._client, url, asked, n=n, seed=seed, drawing=drawing or Drawing())
        return self._chatter.clean_output(questions, found)

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        """The answer to each prompt at temperature 0; a refusal is an answer, not an error."""
        bodies = [self._chat([{"role": "user", "content": prompt}]) for prompt in prompts]
        answers = self._ask("chat/completions", bodies, self._message)
        found = []
        for answer in answers:
            text, reason = (None, None) if isinstance(answer, Refusal) else self._message(answer)
            kept = text is not None and reason in (None, "stop", "length")
            ended: Literal["whole", "cut"] = "cut" if reason == "length" else "whole"
            found.append(Reply(text or "", ended) if kept or reason == "length" else Reply("", "refused"))
        return found

    def _chat(self, messages: list[dict[str, str]]) -> Request:
        limit = {"max_tokens": self._limit} if self._limit else {}
        return {"model": self._model, "messages": messages, "temperature": 0, **limit}

    def _messages(self, asked: Asked) -> list[dict[str, str]]:
        """What is sent for a source; a plain prompt is one message of the user's."""
        question = as_question(asked)
        prompt = self._prompt.about(question, self.name) if self.reads_context else self._prompt
        if prompt.kind == "plain":
            return [{"role": "user", "content": prompt.text(question.source)}]
        return prompt.messages(question.source)

    def _scored_after(self, question: Question) -> str:
        """The prompt before a target that is scored."""
        if not self.reads_context:
            return self._score_prompt.replace("{text}", question.source)
        if self._own_score_prompt:
            return Prompt(self._score_prompt).about(question, self.name).text(question.source)
        return self._prompt.about(question, self.name).text(question.source) + "\n"

    def use_store(self, store: Callable[[str], Store]) -> None:
        self._client.use_store(store)

    def _ask(self, path: str, bodies: Sequence[Request], check: Callable[[Any], object]) -> list[Any]:
        """The server's answer to each request, or why there is none; one of the wrong shape ends it all."""

        def split(answer: dict[str, Any], _: Sequence[Request]) -> list[Any]:
            check(answer)
            return [answer]

        return self._client.ask(
            f"{self._url}/{path}", bodies, message=lambda one: {"json": one[0]}, split=split
        )

    def _message(self, answer: Any) -> tuple[str | None, str | None]:
        """The text of a chat's answer, and why it ended."""
        try:
            choice = answer["choices"][0]
            text, reason = choice["message"]["content"], choice.get("finish_reason")
            if not isinstance(text, str | None) or not isinstance(reason, str | None):
                raise TypeError
            return text, reason
        except (LookupError, TypeError, AttributeError):
            url = f"{self._url}/chat/completions"
            raise self._client.fault(url, "answered without a message", answer) from None

    def _translation(self, question: Question, answer: Any) -> Scored:
        url = f"{self._url}/chat/completions"
        text, reason = self._message(answer)
        what = f"the translation that {url} gave of {shorten(question.source)}"
        if text is None or (not text and reason != "stop"):
            raise SystemFailure(f"{what} is empty (finish_reason: {reason})")
        # Before it must be one line: chatter is often on lines of its own.
        text, chatter = self._chatter.read(question, text)
        text = line_of(text, what=what, newlines=self._newlines)
        notes: list[Note | None] = [*chatter, _ENDS.get(reason, "stopped"), None if text else "empty"]
        return Scored(text, notes=tuple(note for note in notes if note))

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        """Log-probabilities of the targets' tokens after `score_prompt`, sent as it is, no chat markup."""
        if "score" not in self.capabilities:
            raise BabelscopeError(
                f"{self.name} gives no log-probabilities; set logprobs=vllm or logprobs=echo"
            )
        targets = [target.text if isinstance(target, Scored) else target for _, target in pairs]
        sources = sources_of(asked for asked, _ in pairs)
        check_texts(sources, what="source")
        check_texts(targets, what="target", allow_empty=bool(self._eos))
        prompts = [self._scored_after(as_question(asked)) for asked, _ in pairs]
        whole = [prompt + target + self._eos for prompt, target in zip(prompts, targets, strict=True)]
        asked = [(as_question(each), target) for (each, _), target in zip(pairs, targets, strict=True)]
        if self._logprobs == "echo":
            bodies = [self._body(text, echo=True, logprobs=1) for text in whole]
            found = self._ask("completions", bodies, self._rows)
            prompt_of = dict(zip(asked, prompts, strict=True))
            sent: dict[Any, list[Request]] = {pair: [body] for pair, body in zip(asked, bodies, strict=True)}

            def read(pair: tuple[Question, str], answer: Any) -> Scored:
                return self._echoed(prompt_of[pair], pair[1], answer)

        else:
            bodies = [self._body(text, prompt_logprobs=0) for text in [*prompts, *whole]]
            both = self._ask("completions", bodies, self._prompt_tokens)
            found = both[len(asked) :]
            known = dict(zip(asked, both, strict=False))
            of_prompts, of_whole = bodies[: len(asked)], bodies[len(asked) :]
            sent = {pair: list(two) for pair, *two in zip(asked, of_prompts, of_whole, strict=True)}

            def read(pair: tuple[Question, str], answer: Any) -> Scored:
                return self._continued(pair[1], known[pair], answer)

        def forget(pair: tuple[Question, str]) -> None:
            self._client.forget(f"{self._url}/completions", sent[pair])

        return each_or_unanswered(list(zip(asked, found, strict=True)), read, forget)

    def _body(self, text: str, **how: object) -> dict[str, Any]:
        # Some servers take max_tokens=0 for "no limit"; the one token generated is left out later.
        return {"model": self._model, "prompt": text, "max_tokens": 1, "temperature": 0, **how}

    def _echoed(self, prompt: str, target: str, answer: Any) -> Scored:
        """A target's score from an echoed prompt, whose tokens come with character offsets."""
        text = prompt + target + self._eos
        rows = self._rows(answer)
        # A begin-of-sentence token may stand before the text, and shift what follows.
        shift = 0 if len(rows) < 2 or prompt.startswith(rows[0][0]) else rows[1][2]
        kept = [row for row in rows if len(prompt) <= row[2] - shift < len(text)]
        read = "".join(token for token, _, _ in kept)
        if not rows or rows[0][2] != 0 or rows[-1][2] - shift < len(prompt):
            raise SystemFailure(f"{self._url}/completions did not echo the prompt with its log-probabilities")
        if not kept or kept[0][2] - shift != len(prompt):
            raise self._straddles(target)
        if not tokens_match_text(read, target + self._eos):
            raise SystemFailure(
                f"{self._url}/completions gave tokens that read {shorten(read)} for the target "
                f"{shorten(target + self._eos)}: its text_offset cannot be trusted"
            )
        return self._scored(target, [(token, logprob) for token, logprob, _ in kept])

    def _rows(self, answer: Any) -> list[tuple[str, object, int]]:
        """Text, log-probability and offset of each token of an echoed prompt."""
        try:
            found = answer["choices"][0]["logprobs"]
            rows = list(zip(found["tokens"], found["token_logprobs"], found["text_offset"], strict=True))
            if all(isinstance(token, str) and type(place) is int for token, _, place in rows):
                return rows
        except (LookupError, TypeError, ValueError):
            pass
        what = "answered without tokens, token_logprobs and text_offset of equal length"
        raise self._client.fault(f"{self._url}/completions", what, answer)

    def _prompt_tokens(self, answer: Any) -> list[tuple[str, str, object]]:
        """Identity, text and log-probability of each token, as vLLM gives them; the first has none."""
        if isinstance(answer, Refusal):
            raise SystemFailure(answer.reason)
        try:
            rows = []
            for entry in answer["choices"][0]["prompt_logprobs"]:
                ((identity, token),) = (entry or {"": {"logprob": None}}).items()
                rows.append((identity, token.get("decoded_token") or "", token["logprob"]))
            return rows
        except (LookupError, TypeError, ValueError, AttributeError):
            what = "answered without prompt_logprobs of one token each"
            raise self._client.fault(f"{self._url}/completions", what, answer) from None

    def _continued(self, target: str, prompt: Any, answer: Any) -> Scored:
        """A target's score: the tokens that follow those of the prompt alone."""
        known, rows = self._prompt_tokens(prompt), self._prompt_tokens(answer)
        start = len(known)
        if [row[0] for row in rows[:start]] != [row[0] for row in known] or len(rows) == start:
            raise self._straddles(target)
        scored = self._scored(target, [(token, logprob) for _, token, logprob in rows[start:]])
        read = "".join(scored.tokens)
        # Some servers decode each token by itself, and SentencePiece then loses the spaces before words.
        if not tokens_match_text(without_spaces(read), without_spaces(target + self._eos)):
            raise SystemFailure(
                f"{self._url}/completions gave tokens that read {shorten(read)} for the target "
                f"{shorten(target + self._eos)}: its prompt_logprobs are of another text"
            )
        return scored

    def _straddles(self, target: str) -> BabelscopeError:
        ends_line = self._score_prompt.endswith("\n")
        other = "in another way than with a line break, e.g. a colon" if ends_line else "with a line break"
        return BabelscopeError(
            f"{self.name}: a token covers both the end of the prompt and the beginning of the target "
            f"{shorten(target)}; let the prompt end {other} (score_prompt=)"
        )

    def _scored(self, target: str, rows: Sequence[tuple[str, object]]) -> Scored:
        logprobs = []
        for token, logprob in rows:
            number = json_number(logprob)
            if number is None or not isinstance(token, str):  # NaN is found by Scored
                raise BabelscopeError(
                    f"{self._url}/completions gave {logprob!r} as the log-probability of token {token!r} in "
                    f"{shorten(target)}"
                )
            logprobs.append(number)
        if self._eos and rows[-1][0] != self._eos:
            raise BabelscopeError(f"{self.name}: the server does not read eos={self._eos} as one token")
        return Scored(
            target, tuple(t for t, _ in rows), tuple(logprobs), () if self._eos else ("end_unscored",)
        )
