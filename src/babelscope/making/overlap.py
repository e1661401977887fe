"""Whether two translations share a phenomenon, judged by the words that show it (minimal-pairs, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from babelscope.language.base import Analysed, Overlap, Spans, Variant


def changed_words(correct: str, contrastive: str, tokenise: Callable[[str], Spans]) -> Variant:
    """The difference between the two texts of a pair, in whole words, as a Variant."""
    ours, theirs = tokenise(correct), tokenise(contrastive)
    here, there = (
        [text[start:end] for start, end in spans] for text, spans in ((correct, ours), (contrastive, theirs))
    )
    shortest = min(len(here), len(there))
    first = next((n for n in range(shortest) if here[n] != there[n]), shortest)
    rest = shortest - first
    same = next((n for n in range(rest) if here[-1 - n] != there[-1 - n]), rest)

    def between(text: str, spans: Spans) -> str:
        inside = spans[first : len(spans) - same]
        return text[inside[0][0] : inside[-1][1]] if inside else ""

    start = ours[first][0] if first < len(ours) else len(correct)
    return Variant(contrastive, between(correct, ours), between(contrastive, theirs), start)


def marks(overlap: Overlap, sentence: Analysed[Any], variant: Variant) -> frozenset[str]:
    """The keys of the phenomenon in `sentence` that a variant of it changes (see `Overlap.marks`)."""
    return _marks(overlap, sentence, _place(sentence, variant.start), variant.word)


def find_same_error(
    overlap: Overlap, sentence: Analysed[Any], wrong: Analysed[Any], variant: Variant
) -> list[int]:
    """Indices of tokens at which `sentence` seems to have the error of `wrong`, the text of `variant`."""
    words = [overlap.plain(word) for word in variant.changed.split()][: overlap.n_compared]
    if not words:
        return []
    known = _marks(overlap, wrong, _place(wrong, variant.start), variant.changed)
    spoken = [overlap.plain(token.text) for token in sentence.tokens]
    return [
        place
        for place, token in enumerate(sentence.tokens)
        if spoken[place : place + len(words)] == words
        and overlap.can_be_wrong(token)
        and known & _marks(overlap, sentence, place, variant.changed)
    ]


def is_lost(overlap: Overlap, sentence: Analysed[Any], reference: Analysed[Any], variant: Variant) -> bool:
    """Whether `sentence` seems to lack what `variant` deletes from the human reference."""
    if overlap.is_lost is None:
        return False
    return overlap.is_lost(sentence, reference, _place(reference, variant.start))


def _marks(overlap: Overlap, sentence: Analysed[Any], place: int, word: str) -> frozenset[str]:
    return overlap.marks(sentence, place, overlap.plain(word)) if sentence.tokens else frozenset()


def _place(sentence: Analysed[Any], start: int) -> int:
    """Index of the token at or after a character offset."""
    at = (number for number, token in enumerate(sentence.tokens) if token.end > start)
    return next(at, max(0, len(sentence.tokens) - 1))
