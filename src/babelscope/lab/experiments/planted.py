"""A lab model with a known fault: it loses *nicht* in a known share of sentences, and nothing else is wrong with it.

Far from its own output its scores waver, as those of distilled models do (minimal-pairs, section 5), so that forced
choice reports errors of all types; only lost *nicht* are real.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from babelscope.core.system import Asked, Capability, Fingerprint, Scored, Target, as_question
from babelscope.util.seeds import stream

PLANTED_TYPE = "polarity_particle_nicht_del"
_LOST = re.compile(r"\b nicht\b")
_PREFERENCE = 2.0
"""Nats a token by which a sentence without its *nicht* is preferred where it is lost."""


class Planted:
    """A system that loses *nicht* in a `share` of the sentences that have one; `waver` scales its wavering."""

    capabilities: frozenset[Capability] = frozenset({"translate", "score"})

    def __init__(self, name: str, inner: Any, *, share: float, waver: float, seed: int) -> None:
        self.name = name
        self.inner = inner
        self.share, self.waver, self.seed = share, waver, seed
        self._best: dict[str, Scored] = {}

    @property
    def fingerprint(self) -> Fingerprint:
        inner: Fingerprint = self.inner.fingerprint
        fault = {"share": self.share, "waver": self.waver, "seed": self.seed, "loses": "nicht"}
        return dataclasses.replace(inner, settings={**inner.settings, "planted": fault})

    def loses(self, source: str) -> bool:
        """Whether its translation of a source loses its *nicht*, if it has one."""
        return bool(stream(self.seed, f"planted/loses/{source}").random() < self.share)

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        """The translations of the model inside, without *nicht* where it is lost."""
        found = self.inner.translate(questions, beam=beam, n_best=n_best)
        for asked, answers in zip(questions, found, strict=True):
            for number, answer in enumerate(answers):
                if self.loses(as_question(asked).source) and _LOST.search(answer.text):
                    (answers[number],) = self._plain([(asked, _LOST.sub("", answer.text))])
        # What it writes it is sure of, so that its own translations do not waver.
        return [
            [self._preferred(asked, each) for each in own]
            for asked, own in zip(questions, found, strict=True)
        ]

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        """Scores of the model inside, wavering the more the farther a text is from its own translation."""
        new = list(dict.fromkeys(asked for asked, _ in pairs if as_question(asked).source not in self._best))
        for asked, answers in zip(new, self.translate(new) if new else [], strict=True):
            self._best[as_question(asked).source] = answers[0]
        found = []
        for (asked, _), plain in zip(pairs, self._plain(pairs), strict=True):
            source = as_question(asked).source
            scored = self._preferred(asked, plain)
            distance = max(0.0, self._best[source].mean - scored.mean)
            noise = stream(self.seed, f"planted/waver/{source}/{scored.text}").normal()
            found.append(_shifted(scored, self.waver * distance * noise))
        return found

    def _plain(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        found: list[Scored] = self.inner.score(pairs)
        return found

    def _preferred(self, asked: Asked, scored: Scored) -> Scored:
        """Less probable with *nicht* where it is lost."""
        lost = self.loses(as_question(asked).source) and _LOST.search(scored.text)
        return _shifted(scored, -_PREFERENCE) if lost else scored


def _shifted(scored: Scored, nats: float) -> Scored:
    """The log-probability of each token moved by as much, up to 0."""
    return dataclasses.replace(scored, logprobs=tuple(min(0.0, each + nats) for each in scored.logprobs))
