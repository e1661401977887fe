"""The system `parrot:NAME?words=N`: repeats the source, or only its first N words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from babelscope.core.registry import Options
from babelscope.core.system import Drawing, Fingerprint, Question, Scored, Target
from babelscope.systems.registry import Scheme
from babelscope.util.seeds import stream

SCHEME = Scheme(
    "parrot",
    "babelscope_parrot.system:open_parrot",
    "repeats the source, or its first words",
    "parrot:polly?words=3",
    frozenset({"translate", "score", "sample"}),
)

_REPEATED, _NEW, _END = math.log(0.9), math.log(0.1), math.log(0.5)


@dataclass(frozen=True)
class Parrot:
    """Says words of the source; a word that is not there is improbable to it."""

    name: str
    words: int = 0
    """How many words it repeats; 0 for all of them."""

    @property
    def fingerprint(self) -> Fingerprint:
        """All that its answers depend on: not its name."""
        return Fingerprint("parrot 1", settings={"words": self.words})

    def translate(
        self, questions: Sequence[Question], *, beam: int = 5, n_best: int = 1
    ) -> list[list[Scored]]:
        """The source again; however wide the beam is, a parrot has one thing to say."""
        del beam, n_best
        return [[self._said(each.source, self.words)] for each in questions]

    def score(self, pairs: Sequence[tuple[Question, Target]]) -> list[Scored]:
        return [
            _scored(question.source, target if isinstance(target, str) else target.text)
            for question, target in pairs
        ]

    def sample(
        self, questions: Sequence[Question], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        """Beginnings of the source, of random lengths."""
        del drawing
        found = []
        for question in questions:
            rng = stream(seed, f"parrot/{question.source}")
            lengths = rng.integers(1, len(question.source.split()) + 1, size=n)
            found.append([self._said(question.source, int(each)) for each in lengths])
        return found

    def _said(self, source: str, words: int) -> Scored:
        return _scored(source, " ".join(source.split()[: words or None]))


def _scored(source: str, text: str) -> Scored:
    known, words = set(source.split()), text.split()
    logprobs = (*(_REPEATED if word in known else _NEW for word in words), _END)
    return Scored(text, (*words, "</s>"), logprobs)


def open_parrot(_rest: str, options: Options) -> Parrot:
    """Open what stands after the colon; options that nobody asks for are refused."""
    return Parrot(options.spec, options.integer("words", 0, least=0))
