"""Which language texts are in, by py3langid: one text, or a whole set of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["yes", "no", "unknown"]

CLEAR = 10.0
"""By how many nats another language must be likelier than the one that is expected. py3langid's features are not
independent, so that its log-likelihoods differ by tens of nats even for a short sentence in the language it names."""
_LETTERS = 12
"""With fewer letters a text says nothing about its language: names, numbers, "Ja."."""
_SAMPLE = 200
"""So many texts of a set are read, spread evenly over it."""
# Varieties that py3langid tells apart and that users may name by either code; and old or long codes.
_GROUPS = (
    {"hr", "bs", "sr", "sh", "cnr"},
    {"no", "nb", "nn"},
    {"id", "ms"},
    {"zh", "wuu", "yue", "cmn"},
    {"ar", "ary", "arz"},
    {"tl", "fil"},
    {"uz", "uzs"},
    {"he", "iw", "hbo"},
    {"el", "grc"},
    {"fa", "prs"},
)


@dataclass(frozen=True, slots=True)
class Identified:
    """Whether texts are in the language that is expected, and the one that fits them best."""

    verdict: Verdict
    language: str | None
    """py3langid's code of the likeliest language; None where the texts say nothing."""


def is_known(language: str) -> bool:
    """Whether py3langid knows the language, so that it can tell that a text is not in it."""
    return not _codes(language).isdisjoint(_scores("any text"))


def identify(text: str, expected: str) -> Identified:
    """Whether one text is in the expected language; unknown where it is short or the language is not known."""
    import py3langid

    if sum(map(str.isalpha, text)) < _LETTERS:
        return Identified("unknown", None)
    best = str(py3langid.classify(text)[0])  # several times faster than all likelihoods
    if best in _codes(expected):
        return Identified("yes", best)
    return _compare(_scores(text), expected)


def is_clearly_other(text: str, expected: str) -> str | None:
    """The language of one text if `identify` says no, else None."""
    found = identify(text, expected)
    return found.language if found.verdict == "no" else None


def identify_all(texts: Sequence[str], expected: str) -> Identified:
    """The same of a set of texts, from the sum of the log-likelihoods of a sample of them."""
    step = max(1, len(texts) // _SAMPLE)
    chosen = [text for text in texts[::step][:_SAMPLE] if any(map(str.isalpha, text))]
    if sum(map(str.isalpha, "".join(chosen))) < _LETTERS:
        return Identified("unknown", None)
    totals: dict[str, float] = {}
    for text in chosen:
        for language, score in _scores(text).items():
            totals[language] = totals.get(language, 0.0) + score
    return _compare(totals, expected)


def _compare(scores: Mapping[str, float], expected: str) -> Identified:
    best = max(scores, key=lambda language: scores[language])
    codes = _codes(expected)
    own = max((scores[code] for code in codes if code in scores), default=None)
    if own is None:
        return Identified("unknown", best)
    if best in codes:
        return Identified("yes", best)
    return Identified("no" if scores[best] - own > CLEAR else "unknown", best)


@functools.cache
def _codes(language: str) -> frozenset[str]:
    """The code without region or script, and those of the same group."""
    code = language.replace("_", "-").partition("-")[0].lower()
    return frozenset({code}.union(*(group for group in _GROUPS if code in group)))


@functools.lru_cache(maxsize=2_000)  # about 10 kB each
def _scores(text: str) -> Mapping[str, float]:
    """The log-likelihood of a text under each language, in nats, up to a constant."""
    import py3langid

    return {str(language): float(score) for language, score in py3langid.rank(text)}
