"""What a system can be asked, and how it answers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast, runtime_checkable

from babelscope.core.question import Asked, Question, as_question
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.text import shorten

Note = Literal["truncated", "unfinished", "changed", "filtered", "stopped", "empty", "whole"]
"""truncated: source or target was cut to the model's limit. unfinished: generation hit its limit before the
end of sentence. changed: the text does not survive tokenisation and detokenisation unchanged. filtered: a
server's content filter cut the answer. stopped: a server ended it for another reason of its own. empty: a server
answered, with no text. whole: one token stands for all, since only the whole target's log-probability is known."""

# Rounding can lift a sure token's log-probability this far above zero; more is a bug in the system.
_ROUNDING = 1e-3


@dataclass(frozen=True, slots=True)
class Scored:
    """A target as the system sees it: tokens with natural-log probabilities, end of sentence included."""

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
        # A sum is NaN if one of its terms is; the loop is only to name it.
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
    def total(self) -> float:
        """Sum of the log-probabilities, in nats (minimal-pairs, eq. 1)."""
        self._require_scores()
        return math.fsum(self.logprobs)

    @property
    def mean(self) -> float:
        """Log-probability a token, in nats, EOS in sum and length (minimal-pairs, eq. 2)."""
        return self.total / len(self.logprobs)

    def _require_scores(self) -> None:
        if not self.logprobs:
            raise BabelscopeError(
                f"{shorten(self.text)} has no log-probabilities: its system gives text only"
            )


Target = str | Scored
"""What can be scored: a text, which is tokenised, or an earlier answer, which is scored by its own tokens."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Everything about a system that can change an answer; where its files lie is not part of it."""

    backend: str
    """Library and version, e.g. `transformers 5.22.2`."""
    model: str = ""
    """SHA-256 of weights and configuration, or what names the model behind an endpoint."""
    tokenizer: str = ""
    """SHA-256 of the tokenizer's files."""
    dtype: str = ""
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Languages, prompt, prefix, decoding defaults...: anything JSON."""

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
    """Questions that got no usable answer, where asking again would not help; all others were answered.

    `reasons` says why, by question and, where one was to be scored, the target's text.
    """

    def __init__(self, reasons: Mapping[tuple[Asked, str | None], str]) -> None:
        first = next(iter(reasons.values()))
        more = f" (and {len(reasons) - 1} more questions without an answer)" if len(reasons) > 1 else ""
        super().__init__(first + more)
        self.reasons: dict[tuple[Question, str | None], str] = {
            (as_question(asked), target): reason for (asked, target), reason in reasons.items()
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reasons,)  # it crosses processes


class System(Protocol):
    """What every system has, whatever it can do."""

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
    """How a sample's next token is drawn: from the model's own distribution, unless something is set.

    In the order of transformers: the temperature first, then each cut on what the one before has left.
    """

    temperature: float = 1.0
    """Log-probabilities are divided by it."""
    top_k: int = 0
    """Only the so many most probable tokens, and what ties with the last of them; 0 for all."""
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


@runtime_checkable
class Samples(Protocol):
    def sample(
        self, questions: Sequence[Question], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        """For each question `n` independent samples, in the order drawn, with the model's own log-probabilities.

        They depend on question, seed and `drawing` only.
        """


@dataclass(frozen=True, slots=True)
class Choice:
    """What stored scores are asked about: an item with a correct side and others."""

    id: str
    others: int = 1
    """How many scores of other sides it has."""
    empty: bool = False
    """No system can be asked about it (an empty text, no other side), so that a file may leave it out."""


@dataclass(frozen=True, slots=True)
class ItemScores:
    """Stored scores of an item, higher is better; minus infinity is the impossible."""

    correct: float
    others: tuple[float, ...]
    best: float | None = None
    """The 1-best's, where it is known."""
    place: str = dataclasses.field(default="", compare=False)
    """Where they stand."""


@runtime_checkable
class HasItemScores(Protocol):
    def item_scores(self, items: Sequence[Choice], *, best: bool = True) -> list[ItemScores | None]:
        """The scores of all items of a test set, None where there are none; `best`: a 1-best's may be among them."""
        ...


@dataclass(frozen=True, slots=True)
class Budget:
    """What an exact search may spend on one source; None for no limit. Seconds make a result irreproducible."""

    expansions: int | None = None
    """Prefixes whose next-token distribution is asked for."""
    seconds: float | None = None
    """Of a search that runs beside others, its share."""
    bytes: int | None = None
    """Of keys, values and open prefixes kept at once."""


@dataclass(frozen=True, slots=True)
class TopK:
    """The most probable translations found, best first, and the proof that there are no better ones."""

    found: tuple[Scored, ...]
    """At most k, rescored by teacher forcing; fewer only where the whole space has fewer, or the budget ended."""
    exact: bool
    """True if no hypothesis outside `found` is more probable than its last one."""
    bound: float
    """No complete hypothesis outside `found` has a higher log-probability, in nats; -inf if there are none."""
    mass: float
    """Probability of all complete hypotheses that the search came across."""
    expansions: int
    minimum: int
    """Prefixes that are more probable than the last one found: no exact search expands fewer."""


@runtime_checkable
class Searches(Protocol):
    def top_k(self, questions: Sequence[Question], *, k: int, budget: Budget | None = None) -> list[TopK]:
        """For each question its `k` most probable translations, with a certificate."""


Capability = Literal["translate", "score", "sample", "top_k", "next_tokens", "item_scores"]
CAPABILITIES: Mapping[Capability, str] = {
    "translate": "translates",
    "score": "gives log-probabilities of given targets",
    "sample": "draws samples",
    "top_k": "searches exactly",
    "next_tokens": "gives next-token distributions",
    "item_scores": "has stored scores of items",
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
    """How a system is to be asked; it states as attributes of the same names what is not as by default."""

    asked_as_a_whole: bool = False
    """All questions must come in one call, since an answer depends on the others or on its place among them: as in
    a file of translations. So nothing is asked in parts, and no answer is cached by its question."""
    reads_context: bool = False
    """Answers depend on a question's context; a system that does not say so reads the source alone."""
    costly: bool = False
    """Asking costs money or patience (servers), so answers are kept at least until a command has ended well."""
    at_once: int = 1
    """How many calls it takes at the same time, from as many threads."""
    stored: bool = False
    """Its answers were made elsewhere and stand in files: nothing is computed, nothing need be remembered."""


def properties(system: object) -> Properties:
    """What `system` states about how it is to be asked."""
    stated: dict[str, Any] = {
        each.name: getattr(system, each.name, each.default) for each in dataclasses.fields(Properties)
    }
    return Properties(**stated)
