"""What a system is asked about: a source, with what is known of its context and languages."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast, runtime_checkable

from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.text import shorten


@dataclass(frozen=True, slots=True)
class Question:
    """A source to translate, or to score targets for; compared by all fields but the item."""

    source: str
    context_source: tuple[str, ...] = ()
    """Sentences before the source, oldest first."""
    context_target: tuple[str, ...] = ()
    """Translations of sentences before it, oldest first."""
    source_language: str = ""
    target_language: str = ""
    item: str = field(default="", compare=False, repr=False)
    """Id of the test item it is about, if any; not part of what is asked."""

    def as_json(self) -> str | dict[str, Any]:
        """The source as text if all other fields are empty; else an object without the empty fields."""
        known = {
            each.name: value
            for each in dataclasses.fields(self)
            if each.compare and ((value := getattr(self, each.name)) or each.name == "source")
        }
        if len(known) == 1:
            return self.source
        return {name: list(value) if isinstance(value, tuple) else value for name, value in known.items()}


Asked = str | Question
"""A question, or a source as text."""


def as_question(asked: Asked) -> Question:
    """Turn a source into a question; return a question unchanged."""
    return asked if isinstance(asked, Question) else Question(asked)


def sources_of(asked: Iterable[Asked]) -> list[str]:
    """The sources alone, for systems that use neither context nor languages."""
    return [each.source if isinstance(each, Question) else each for each in asked]


Note = Literal[
    "truncated", "unfinished", "changed", "filtered", "stopped", "empty", "whole", "without_eos", "end_unscored",
    "unnamed", "lost_context", "other_prompt", "preamble", "quoted", "explained", "repeated", "refused",
    "wrong_language", "cleaned",
]  # fmt: skip
"""truncated: source or target was cut to the model's limit. unfinished: generation hit its limit before the
end of sentence. changed: the text does not survive tokenization and detokenization unchanged. filtered: a
server's content filter cut the answer. stopped: a server ended it for another reason of its own. empty: a server
answered, with no text. whole: one token stands for all, since only the whole target's log-probability is known.
without_eos: a server reported the log-probabilities of a sample's tokens, but not that of its end of sentence.
other_prompt: the model was asked in another form than the only one that it was trained with.
end_unscored: a server scored a given text, but not its end of sentence, since that token was not named.
unnamed: a generated token has no name in the vocabulary, and no text.
lost_context: a translation of several sentences has another number of separators than its source.
The others are of `systems.chatter`. `REPORTED_FLAGS` says what the last ones mean to a reader."""
CHATTER: Mapping[str, str] = {
    "preamble": "have a translation with an introduction before it",
    "quoted": "have a translation in quotation marks not found in the source",
    "explained": "have a translation with a note or an explanation after it",
    "repeated": "have a translation that includes the source",
    "refused": "have a refusal instead of a translation",
    "wrong_language": "have an answer in the wrong language",
    "cleaned": "have a translation from which chatter was removed",
}
"""Notes on what a model wrote around a translation, or in its place, as the end of a sentence about items."""
REPORTED_FLAGS: Mapping[str, str] = {
    "other_prompt": "were asked with a prompt other than the one the model was trained with",
    "end_unscored": "have scores without the end of the sentence: name the token that ends texts, such as eos=</s>",
    "unnamed": "have tokens without a name in the vocabulary: <id N> among the tokens, nothing in the text",
    "lost_context": "have a translation that lost separators between the sentences before it",
    **CHATTER,
}
"""All notes that every method counts and every summary reports."""


def count_flags(notes: Mapping[str, int]) -> dict[str, int]:
    """The number of answers with each note of `REPORTED_FLAGS`, without zeros."""
    return {note: notes[note] for note in REPORTED_FLAGS if notes.get(note)}


# --- The contract of systems: what they can be asked (capabilities), how they answer -------------------------------

# Rounding may lift the log-probability of a certain token this far above 0 (nats); more is a bug in the system.
_ROUNDING = 1e-3
# A steeper length penalty than any decoder has; length to its power stays a float.
_STEEPEST = 10.0


Scoring = Literal["mean", "total", "probability"]
"""How token log-probabilities become the score of a target."""


def score_tokens(logprobs: Sequence[float], how: Scoring) -> float:
    """The score of a target from its token log-probabilities, EOS included, in nats.

    `mean` (minimal-pairs, eq. 2), `total` (eq. 1), or `probability`: the log of the arithmetic mean of the token
    probabilities (contrastive-conditioning, footnote 2, read literally).
    """
    if how != "probability":
        total = math.fsum(logprobs)
        return total / len(logprobs) if how == "mean" else total
    highest = max(logprobs)
    if highest == -math.inf:
        return highest
    # Relative to the highest, so that nothing underflows.
    return highest + math.log(math.fsum(math.exp(each - highest) for each in logprobs) / len(logprobs))


@dataclass(frozen=True, slots=True)
class Scored:
    """A target as tokens with natural-log probabilities, end of sentence included."""

    text: str
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float, ...] = ()
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.logprobs):
            raise BabelscopeError(
                f"a system gave {len(self.tokens)} tokens but {len(self.logprobs)} log-probabilities "
                f"for {shorten(self.text)}"
            )
        # The sum is NaN if any term is, so the loop runs only to name the faulty token.
        if not self.logprobs or (max(self.logprobs) <= _ROUNDING and not math.isnan(sum(self.logprobs))):
            return
        for token, logprob in zip(self.tokens, self.logprobs, strict=True):
            if math.isnan(logprob) or logprob > _ROUNDING:
                raise BabelscopeError(
                    f"a system gave {logprob} as the log-probability of token {token!r} in "
                    f"{shorten(self.text)}; it must be a natural log of at most 0"
                )

    @property
    def has_scores(self) -> bool:
        """False for the answers of a black box, which come without log-probabilities."""
        return bool(self.logprobs)

    @property
    def has_total(self) -> bool:
        """Whether its log-probabilities include the end of sentence, so that their sum is that of the target."""
        return self.has_scores and "without_eos" not in self.notes

    @property
    def total(self) -> float:
        """Sum of the log-probabilities, in nats (minimal-pairs, eq. 1)."""
        if not self.has_total:
            end = "no log-probability as a whole: its server does not report that of its end"
            lacks = end if self.logprobs else "no log-probabilities: its system gives text only"
            raise BabelscopeError(f"{shorten(self.text)} has {lacks}")
        return math.fsum(self.logprobs)

    @property
    def mean(self) -> float:
        """Log-probability per token, in nats; EOS counts in sum and length (minimal-pairs, eq. 2)."""
        return self.total / len(self.logprobs)


@dataclass(frozen=True, slots=True)
class Segmented:
    """The probability of a target summed over its segmentations into tokens."""

    usual: Scored
    """The target in the tokens that the tokenizer gives."""
    total: float
    """Natural log of the sum; of all probability that is not found, nothing is in it."""
    count: int
    """Segmentations in the sum."""
    exact: bool
    """Whether these are all; else the sum is a lower bound."""

    @property
    def share(self) -> float:
        """Share of the usual segmentation in the sum; NaN where nothing is possible."""
        return math.nan if self.total == -math.inf else min(1.0, math.exp(self.usual.total - self.total))


Target = str | Scored
"""A text, which is tokenized, or an earlier answer, which is scored by its own tokens."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Everything about a system that can change an answer; paths are not part of it."""

    backend: str
    """Library and version, e.g. `transformers 5.22.2`."""
    model: str = ""
    """SHA-256 of weights and configuration, or the name of a model behind an endpoint."""
    tokenizer: str = ""
    """SHA-256 of the tokenizer's files."""
    dtype: str = ""
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Languages, prompt, prefix, decoding defaults...: any JSON values."""

    def as_json(self) -> dict[str, Any]:
        return {
            **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)},
            "settings": dict(self.settings),
        }

    @property
    def digest(self) -> str:
        """SHA-256 of all fields, 64 hexadecimal digits."""
        return digest_json(self.as_json())


class Unanswered(SystemFailure):
    """Questions without a usable answer, where asking again would not help; all others of the call were answered.

    `reasons` maps the index of a question in the call to the reason.
    """

    def __init__(self, reasons: Mapping[int, str]) -> None:
        first = next(iter(reasons.values()))
        more = f" (and {len(reasons) - 1} more questions without an answer)" if len(reasons) > 1 else ""
        super().__init__(first + more)
        self.reasons = dict(reasons)
        self.items: dict[str, str] = {}
        """Id of the test item that a question is about -> reason; filled by `systems.contract`."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickling an exception passes it its message alone; workers send this one back.
        return type(self), (self.reasons,)


class System(Protocol):
    """What every system has, besides its capabilities."""

    name: str

    @property
    def fingerprint(self) -> Fingerprint: ...


@runtime_checkable
class Translates(Protocol):
    def translate(
        self, questions: Sequence[Question], *, beam: int = 5, n_best: int = 1
    ) -> list[list[Scored]]:
        """For each question its `n_best` translations, best first."""


@runtime_checkable
class Scores(Protocol):
    def score(self, pairs: Sequence[tuple[Question, Target]]) -> list[Scored]:
        """Log-probabilities of each target given its question, in the order asked."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How the next token is sampled; by default from the model's own distribution.

    As in transformers, the temperature is applied first, then each cut to what the one before has left.
    """

    temperature: float = 1.0
    """Log-probabilities are divided by it."""
    top_k: int = 0
    """Only the `top_k` most probable tokens, and those tied with the last of them; 0 for all."""
    top_p: float = 1.0
    """Only the most probable tokens that together have at least this probability."""
    epsilon: float = 0.0
    """Only tokens of at least this probability, and always the most probable one."""
    max_length: int = 0
    """Tokens, EOS included, after which a sample is left unfinished; 0 for the system's own limit."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise BabelscopeError(f"a temperature is above 0, not {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise BabelscopeError(f"top-p is above 0 and at most 1, not {self.top_p}")
        if not 0 <= self.epsilon < 1:
            raise BabelscopeError(f"epsilon is at least 0 and below 1, not {self.epsilon}")
        if min(self.top_k, self.max_length) < 0:
            raise BabelscopeError("top-k and the maximum length of a sample cannot be negative")


@dataclass(frozen=True, slots=True)
class Diversity:
    """Groups of equal size that a beam is split into, which avoid each other's tokens (Vijayakumar et al. 2018)."""

    groups: int = 1
    """1 for ordinary beam search."""
    strength: float = 0.5
    """What a token costs for each prefix of an earlier group that has chosen it at the same place, in nats."""

    def __post_init__(self) -> None:
        if self.groups < 1:
            raise BabelscopeError(f"a beam has at least 1 group, not {self.groups}")
        if not (math.isfinite(self.strength) and self.strength >= 0):
            raise BabelscopeError(f"the diversity of a beam is at least 0, not {self.strength}")


@runtime_checkable
class Samples(Protocol):
    def sample(
        self, questions: Sequence[Question], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        """For each question `n` independent samples, in the order drawn, with the model's own log-probabilities.

        They depend on question, seed and `drawing` only.
        """


@dataclass(frozen=True, slots=True)
class ItemChoice:
    """An item that stored scores are looked up for: one correct side and `others`."""

    id: str
    others: int = 1
    """Number of its other (wrong) sides, each of which has a score."""
    empty: bool = False
    """It has an empty text or no other side, so that a file of scores may leave it out."""
    source: str = ""
    """What its translation is of."""
    texts: tuple[str, ...] = ()
    """Of a minimal pair: the correct translation and the others, for a metric to score."""
    references: tuple[str, ...] = ()
    """Translations by people, with which a metric compares them."""


@dataclass(frozen=True, slots=True)
class ItemScores:
    """Stored scores of an item, higher is better; -inf for an impossible text."""

    correct: float
    others: tuple[float, ...]
    best: float | None = None
    """Score of the system's 1-best translation, where it is known."""
    place: str = dataclasses.field(default="", compare=False)
    """`file:line` of the scores."""


@runtime_checkable
class StoredAnswers(Protocol):
    """A system of stored answers, which must fit a test set as a whole."""

    by_line: bool
    """Answers are found by their place alone, so that they can be those of one test set only."""

    def align_to(self, what: str, items: Sequence[ItemChoice]) -> Any:
        """The same system, answering about any of these items; an error if its answers are not those of `what`."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of an exact search of one source; None for no limit. A limit in seconds is not reproducible."""

    expansions: int | None = None
    """Number of prefixes whose next-token distribution is computed."""
    seconds: float | None = None
    """Where several searches share a batch, the search's share of the time."""
    bytes: int | None = None
    """Memory of keys, values and open prefixes held at the same time."""


@dataclass(frozen=True, slots=True)
class LengthRule:
    """Which lengths (in tokens with EOS) an exact search admits, and how it ranks hypotheses by length."""

    exactly: int = 0
    """Only hypotheses of this length; 0 for all lengths."""
    at_most: int = 0
    """Only hypotheses of at most this length; 0 for the system's own limit."""
    penalty: float = 0.0
    """Hypotheses are ranked by log-probability divided by length to this power; 0 for log-probability itself."""

    def __post_init__(self) -> None:
        if min(self.exactly, self.at_most) < 0:
            raise BabelscopeError("the length of a hypothesis is at least 1: its end of sentence counts")
        if self.exactly and self.at_most:
            raise BabelscopeError("give one length, or the greatest length, not both")
        if not 0 <= self.penalty <= _STEEPEST:
            raise BabelscopeError(
                f"an exact search takes a length penalty from 0 to {_STEEPEST:g}, not {self.penalty}"
            )

    def rank(self, total: float, length: int) -> float:
        """What hypotheses are ranked by, from log-probability and length."""
        return total / math.pow(length, self.penalty)


@dataclass(frozen=True, slots=True)
class TopK:
    """The best translations found, best first, and the proof that there are no better ones.

    The best are the most probable, unless the search had a `LengthRule`; then those that it ranks first.
    """

    found: tuple[Scored, ...]
    """At most k, rescored by teacher forcing; fewer only if no more exist or the budget was spent."""
    exact: bool
    """True if no hypothesis outside `found` is better than its last one."""
    bound: float
    """No complete hypothesis outside `found` has a higher log-probability, in nats (with a length penalty, divided by
    length to its power); -inf if there are none."""
    mass: float
    """Total probability of all complete hypotheses that the search came across."""
    expansions: int
    minimum: int
    """Number of prefixes that may still lead to a better hypothesis than the last of `found`; no exact search expands
    fewer."""
    seconds: float | None = dataclasses.field(default=None, compare=False)
    """The search's share of the time, where it is known; not reproducible."""

    def proven(self, lengths: LengthRule | None = None) -> int:
        """How many of `found`, from the first, are proven: by the search's rule nothing outside `found` is better."""
        rank = (lengths or LengthRule()).rank
        ranks = [rank(each.total, len(each.tokens)) for each in self.found]
        return len(ranks) if self.exact else sum(each >= self.bound for each in ranks)


@runtime_checkable
class Searches(Protocol):
    def top_k(self, questions: Sequence[Question], *, k: int, budget: Budget | None = None) -> list[TopK]:
        """For each question its `k` most probable translations, with a certificate.

        A system that also takes `lengths`, a `LengthRule` or None, finds the best by that.
        """


@dataclass(frozen=True, slots=True)
class Regions:
    """What stored lists have of one sentence's hypothesis space; None for a list that is not there."""

    top: tuple[Scored, ...] | None = None
    """The most probable hypotheses, best first."""
    exact: bool = False
    """Whether the lists are stated to be exact: nothing outside `top` is more probable than its last one."""
    beam: tuple[Scored, ...] | None = None
    """Beam search's hypotheses in the order of its file, so that the first is its translation."""
    beams: Mapping[int, tuple[Scored, ...]] = field(default_factory=dict)
    """The same of beams of other sizes, by size; empty unless there are all of them."""


@runtime_checkable
class HasRegions(Protocol):
    def regions(self, ids: Sequence[str], *, k: int) -> list[Regions]:
        """For each item of a test set, by its id and place, at most `k` hypotheses per region."""


Capability = Literal[
    "translate", "score", "sample", "top_k", "next_tokens", "item_scores", "regions", "reply"
]
CAPABILITIES: Mapping[Capability, str] = {
    "translate": "translates",
    "score": "gives log-probabilities of given targets",
    "sample": "draws samples",
    "top_k": "searches exactly",
    "next_tokens": "gives next-token distributions",
    "item_scores": "has stored scores of items",
    "regions": "has stored lists of hypotheses",
    "reply": "answers prompts in words",
}
_METHODS: Mapping[Capability, tuple[str, ...]] = {
    **{name: (name,) for name in CAPABILITIES},
    "next_tokens": ("encode", "step"),
}


def capabilities(system: object) -> frozenset[Capability]:
    """What `system` can be asked: its methods, or its own `capabilities` where it states them."""
    stated = getattr(system, "capabilities", None)
    if stated is not None:
        return cast(frozenset[Capability], frozenset(stated))
    return frozenset(
        name
        for name in CAPABILITIES
        if all(callable(getattr(system, method, None)) for method in _METHODS[name])
    )


@dataclass(frozen=True, slots=True)
class Properties:
    """How a system must be asked; a system overrides the defaults by attributes of these names."""

    asked_as_a_whole: bool = False
    """All questions must come in one call, since an answer depends on the others or on its position, as in a file
    of translations. Such a system is not asked in parts, and its answers are not cached by question."""
    reads_context: bool = False
    """Whether answers depend on a question's context; by default a system reads the source alone."""
    reads_source: bool = True
    """False for a language model that scores targets by themselves, whatever the source (minimal-pairs, eq. 1)."""
    costly: bool = False
    """Asking costs money or time (servers), so answers are stored until a command succeeds."""
    reproducible: bool = True
    """False for a server, whose answers may change: signatures contain a digest of them."""
    at_once: int = 1
    """How many calls it can serve at the same time, from as many threads."""
    stored: bool = False
    """Its answers are read from files, so that caching them is useless."""
    length_penalty: float | None = None
    """What its beam search divides log-probabilities by: length to this power, 0 for nothing. `translate` of a system
    that states it takes another one by this name; None where there is none, or none that is known."""


def properties(system: object) -> Properties:
    """The properties of a system: its attributes, or the defaults."""
    stated: dict[str, Any] = {
        each.name: getattr(system, each.name, each.default) for each in dataclasses.fields(Properties)
    }
    return Properties(**stated)


@dataclass(frozen=True, slots=True)
class Reply:
    """A system's answer to a prompt, as text."""

    text: str
    ended: Literal["whole", "cut", "refused"] = "whole"
    """cut: it was longer than the system may answer. refused: there is no answer, or a filter withheld it."""


@runtime_checkable
class Replies(Protocol):
    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        """The answer to each prompt by itself, as the system finds it most probable."""


@dataclass(slots=True)
class Meter:
    """Counters of this process; a run stores the difference between its start and its end."""

    tokens: int = 0
    """Tokens of translations, samples and scored targets, EOS included."""
    retries: int = 0
    """How often a question to a server was repeated."""
    timed: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict, repr=False)
    """(system, what it was asked for) -> seconds and number of questions. Part of no run, since two runs of one
    study must not differ."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, *, tokens: int = 0, retries: int = 0) -> None:
        with self._lock:
            self.tokens += tokens
            self.retries += retries

    @contextlib.contextmanager
    def timing(self, system: str, what: str, questions: int) -> Iterator[None]:
        """Count the seconds of the block."""
        begun = time.perf_counter()
        yield
        with self._lock:
            seconds, asked = self.timed.get((system, what), (0.0, 0))
            self.timed[system, what] = seconds + time.perf_counter() - begun, asked + questions


METER = Meter()
