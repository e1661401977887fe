"""Word alignment: read from Pharaoh files, or made by fast_align's model, trained in this process."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from babelscope.util.errors import BabelscopeError, at, install_hint
from babelscope.util.progress import progress
from babelscope.util.text import read_lines, require_equal_counts, shorten

Links = tuple[tuple[int, int], ...]
"""Pairs of aligned (source, target) positions, from 0."""

Words = Sequence[str]

DIRECTIONS = ("forward", "reverse")
SYMMETRIZATIONS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
"""Ways to combine the alignments of both directions."""

_ITERATIONS = 5  # fast_align's default
_LINK = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)


def read_pharaoh(path: str | Path, lengths: Sequence[tuple[int, int]], *, parallel_to: str) -> list[Links]:
    """Read the links of a Pharaoh file, a sentence pair a line; `lengths` are (source, target) numbers of words."""
    lines = read_lines(path)
    require_equal_counts({parallel_to: len(lengths), str(path): len(lines)})
    return [
        parse_links(line, at(path, number), *sizes)
        for number, (line, sizes) in enumerate(zip(lines, lengths, strict=True), 1)
    ]


def parse_links(line: str, place: str, source_length: int, target_length: int) -> Links:
    """Parse a line such as `0-0 1-2`; an index beyond its sentence is an error at `place`."""
    links = []
    for text in line.split():
        found = _LINK.fullmatch(text)
        if found is None:
            raise BabelscopeError(f"{place}: {shorten(text)} is no link; Pharaoh format is 0-0 1-2")
        source, target = int(found[1]), int(found[2])
        for index, length, side in ((source, source_length, "source"), (target, target_length, "target")):
            if index >= length:
                raise BabelscopeError(
                    f"{place}: the link {text} points at {side} word {index}, but the {side} has {length} "
                    "words, counted from 0"
                )
        links.append((source, target))
    return tuple(links)


def align(pairs: Sequence[tuple[Words, Words]], how: str = "forward") -> list[Links]:
    """Align sentence pairs with fast_align's model, trained on these same pairs (options -d -o -v).

    `forward` gives every target word at most one source word, as fast_align does by itself; `reverse` the
    other way round; the rest symmetrize both. A pair with an empty side has no links. The same pairs give
    the same links every time, but adding or removing pairs may change all of them: align a whole corpus.
    """
    return align_ways(pairs, (how,))[0]


def align_ways(pairs: Sequence[tuple[Words, Words]], hows: Sequence[str]) -> list[list[Links]]:
    """The links of every pair in each of several ways, by models that are trained once."""
    for how in hows:
        if how not in (*DIRECTIONS, *SYMMETRIZATIONS):
            known = ", ".join((*DIRECTIONS, *SYMMETRIZATIONS))
            raise BabelscopeError(f"there is no alignment {how!r}; known: {known}")
    thot = _import_thot()
    full = [number for number, (source, target) in enumerate(pairs) if source and target]
    sources, targets = [list(pairs[n][0]) for n in full], [list(pairs[n][1]) for n in full]
    found: list[list[Links]] = [[()] * len(pairs) for _ in hows]
    if not full:
        return found
    forward: Any = _train(thot, sources, targets) if set(hows) - {"reverse"} else None
    reverse: Any = _train(thot, targets, sources) if set(hows) - {"forward"} else None
    for how, links in zip(hows, found, strict=True):
        back = how == "reverse"
        trained = reverse if back else forward
        if how in SYMMETRIZATIONS:
            trained = thot.SymmetrizedAligner(forward, reverse)
            trained.heuristic = getattr(thot.SymmetrizationHeuristic, how.replace("-", "_").upper())
        made = trained.get_best_alignments(*((targets, sources) if back else (sources, targets)))
        for number, (_, matrix) in zip(full, made, strict=True):
            places = zip(*matrix.to_numpy().nonzero(), strict=True)
            own = [(int(row), int(column)) for row, column in places]
            links[number] = tuple(sorted((b, a) if back else (a, b) for a, b in own))
    return found


def alignment_scorer(pairs: Sequence[tuple[Words, Words]]) -> Callable[[Words, Words], float | None]:
    """Train fast_align's model on pairs in both directions; return a function that scores any pair.

    A score is the mean over both directions of the log-probability of the best alignment, natural log, divided by the
    number of words that are produced. Words that the training pairs do not have say nothing about the alignment and
    are left out; a pair of which fewer than half of the words on either side are left has no score.
    """
    full = [(list(source), list(target)) for source, target in pairs if source and target]
    thot, sources, targets = _import_thot(), [source for source, _ in full], [target for _, target in full]
    forward, reverse = _train(thot, sources, targets), _train(thot, targets, sources)

    def score(source: Words, target: Words) -> float | None:
        known = [word for word in source if forward.src_word_exists(word)]
        heard = [word for word in target if forward.trg_word_exists(word)]
        if not known or not heard or 2 * len(known) < len(source) or 2 * len(heard) < len(target):
            return None
        there = float(forward.get_best_alignment(known, heard)[0]) / len(heard)
        back = float(reverse.get_best_alignment(heard, known)[0]) / len(known)
        return (there + back) / 2

    return score


def longest_sentence() -> int:
    """The most words of a sentence that can be aligned here."""
    return int(_import_thot().FastAlignModel().max_sentence_length)


def _train(thot: Any, sources: list[list[str]], targets: list[list[str]]) -> Any:
    model = thot.FastAlignModel()
    model.variational_bayes = True
    longest = model.max_sentence_length
    for number, (source, target) in enumerate(zip(sources, targets, strict=True), 1):
        # The library would silently give such a pair no links.
        if max(len(source), len(target)) > longest:
            raise BabelscopeError(
                f"sentence pair {number} has more than {longest} words, too many to align: "
                f"{shorten(' '.join(source))}"
            )
        model.add_sentence_pair(source, target)
    model.start_training()
    with progress("aligning words", _ITERATIONS) as advance:
        for _ in range(_ITERATIONS):
            model.train()
            advance(1)
    model.end_training()
    return model


def _import_thot() -> Any:
    try:
        return importlib.import_module("thot.alignment")
    except ImportError:
        raise BabelscopeError(
            f"word alignment needs sil-thot: {install_hint('align')}, or give alignments in Pharaoh format"
        ) from None
