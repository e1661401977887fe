"""`openai:` a model behind an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from babelscope.core.answers import Capability, Drawing, Fingerprint, Note, Scored, Target
from babelscope.core.question import Asked, Question, as_question, sources_of
from babelscope.core.replies import Reply
from babelscope.core.specs import Options
from babelscope.systems.answers import AnswerStore
from babelscope.systems.chatter import Chatter
from babelscope.systems.client import Client, Refusal, Request, checked_url, each_or_unanswered, line_of
from babelscope.systems.openai_samples import Sampler
from babelscope.systems.prompts import Prompt, find_prompt
from babelscope.systems.spelling import reads_as, without_spaces
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.json_lines import json_number
from babelscope.util.text import check_texts, shorten

PROMPT = "Translate this text from {source} into {target}. Answer with the translation only.\n\n{text}"

# What a finish_reason says about an answer; any other is told as `stopped`.
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
    watches_itself = True
    """It looks for chatter in its answers, as the option `clean` says."""

    def __init__(self, rest: str, options: Options) -> None:
        """`openai:URL#MODEL?source=LANGUAGE&target=LANGUAGE&logprobs=none|echo|vllm...`."""
        self.name = options.spec
        address, _, self._model = rest.partition("#")
        self._url = checked_url(address, options).rstrip("/")
        if not self._model:
            raise BabelscopeError(
                f"{options.spec}: say URL#MODEL, e.g. openai:http://localhost:8000/v1#my-model"
            )
        self._client = Client(options)
        languages = {"source": options.text("source"), "target": options.text("target")}
        prompt = find_prompt(options.text("prompt") or PROMPT)
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
        """One translation a source, at temperature 0."""
        sources = sources_of(questions)
        check_texts(sources, what="source")
        if n_best != 1:
            raise BabelscopeError(f"openai: gives one translation a source, but n_best={n_best} was asked")
        bodies = [self._chat(self._messages(source)) for source in sources]
        answers = self._ask("chat/completions", bodies, self._message)
        asked = [((as_question(each), None), answer) for each, answer in zip(questions, answers, strict=True)]
        found = each_or_unanswered(asked, lambda pair, answer: self._translation(pair[0], answer))
        return [[answer] for answer in found]

    def sample(
        self, questions: Sequence[Asked], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        """Samples as the server draws them: its seed is asked for, but nobody can hold it to that."""
        sources = sources_of(questions)
        check_texts(sources, what="source")
        bodies = [self._chat(self._messages(source)) for source in sources]
        asked = list(zip(questions, bodies, strict=True))
        url = f"{self._url}/chat/completions"
        found = self._sampler.draw(self._client, url, asked, n=n, seed=seed, drawing=drawing or Drawing())
        return self._chatter.watch(questions, found)

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        """The answer to each prompt at temperature 0; what the server refuses is told, not raised."""
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

    def _messages(self, source: str) -> list[dict[str, str]]:
        """What is sent for a source; a plain prompt is one message of the user's."""
        if self._prompt.kind == "plain":
            return [{"role": "user", "content": self._prompt.text(source)}]
        return self._prompt.messages(source)

    def remember(self, store: Callable[[str], AnswerStore]) -> None:
        self._client.remember(store)

    def _ask(self, path: str, bodies: Sequence[Request], check: Callable[[Any], object]) -> list[Any]:
        """The server's answer to each request, or why there is none; one of the wrong shape ends it all."""

        def split(answer: dict[str, Any], _: Sequence[Request]) -> list[Any]:
            check(answer)
            return [answer]

        return self._client.ask(f"{self._url}/{path}", bodies, body=lambda one: one[0], split=split)

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
        text, said = self._chatter.read(question, text)
        text = line_of(text, what=what, newlines=self._newlines)
        notes: list[Note | None] = [*said, _ENDS.get(reason, "stopped"), None if text else "empty"]
        return Scored(text, notes=tuple(note for note in notes if note))

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        """Log-probabilities of the targets' tokens after `score_prompt`, sent as it is, no chat markup."""
        if "score" not in self.capabilities:
            raise BabelscopeError(
                f"{self.name} gives no log-probabilities; say logprobs=vllm or logprobs=echo"
            )
        targets = [target.text if isinstance(target, Scored) else target for _, target in pairs]
        sources = sources_of(asked for asked, _ in pairs)
        check_texts(sources, what="source")
        check_texts(targets, what="target", allow_empty=bool(self._eos))
        prompts = [self._score_prompt.replace("{text}", source) for source in sources]
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
        if not reads_as(read, target + self._eos):
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
        told = "answered without tokens, token_logprobs and text_offset of equal length"
        raise self._client.fault(f"{self._url}/completions", told, answer)

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
            told = "answered without prompt_logprobs of one token each"
            raise self._client.fault(f"{self._url}/completions", told, answer) from None

    def _continued(self, target: str, prompt: Any, answer: Any) -> Scored:
        """A target's score: the tokens that follow those of the prompt alone."""
        known, rows = self._prompt_tokens(prompt), self._prompt_tokens(answer)
        start = len(known)
        if [row[0] for row in rows[:start]] != [row[0] for row in known] or len(rows) == start:
            raise self._straddles(target)
        scored = self._scored(target, [(token, logprob) for _, token, logprob in rows[start:]])
        read = "".join(scored.tokens)
        # Some servers decode each token by itself, and SentencePiece then loses the spaces before words.
        if not reads_as(without_spaces(read), without_spaces(target + self._eos)):
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
