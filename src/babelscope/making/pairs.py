"""Makes minimal pairs from sources and references, one sentence at a time."""

from __future__ import annotations

import heapq
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from babelscope.core.results import record_line
from babelscope.language.base import LONGEST, ErrorType, Variant
from babelscope.language.fitness import other_language, watch_language
from babelscope.language.registry import error_type, language
from babelscope.testsets.items import MinimalPair
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream
from babelscope.util.text import (
    WHOLE,
    FileRange,
    is_seekable,
    line_ranges,
    parallel_rows,
    require_equal_counts,
    stream_lines,
)


def make_pairs(
    type: str | ErrorType | Sequence[str | ErrorType],
    sources: Iterable[str],
    references: Iterable[str],
    *,
    kind: Literal["human", "machine"] = "human",
    seed: int = 0,
    choose: Literal["one", "all"] = "one",
    mode: str | None = None,
    first: int = 1,
) -> Iterator[MinimalPair]:
    """Yield minimal pairs of the references that have the phenomenon: one variant drawn by the seed, or all.

    Of several types, all of one language, the pairs of a reference come together, and it is analyzed once; `mode` is
    for the types that have it, and one of them must. Texts are streamed. Pairs with an empty text are left out and,
    with a warning, references of more than `LONGEST` characters. References in another language than that of the
    error types are refused as a set; where they are few, they are left out and counted in a warning. `first` is the
    number of the first text in its file.
    """
    types = _types([type] if isinstance(type, str | ErrorType) else type)
    if choose not in ("one", "all"):
        raise BabelscopeError(f"choose one variant or all, not {choose!r}")
    if mode is not None and not any(mode in made.modes for made in types):
        known = dict.fromkeys(each for made in types for each in made.modes)
        raise BabelscopeError(
            f"error type {', '.join(made.name for made in types)} has no mode {mode!r}"
            + (f"; it has {', '.join(known)}" if known else "")
        )
    analyzer = language(types[0].language).analyzer()
    rules = f"the rules of {', '.join(each.name for each in types)}"
    code = types[0].language
    read = watch_language(references, code, what="the references", needed_by=rules, then="they are left out")
    texts = [("sources", iter(sources)), ("references", read)]
    too_long: list[int] = []
    for number, (source, reference) in parallel_rows(texts, first):
        if not source.strip() or not reference.strip() or other_language(reference, code):
            continue
        if len(reference) > LONGEST:
            too_long.append(number)
            continue
        analyzed = analyzer.analyze(reference)
        for made in types:
            found = made.variants(analyzed, mode if mode in made.modes else None, source=source)
            if choose == "one" and found:
                # A random stream for each sentence: leaving one out does not change the choice for others.
                found = [found[int(stream(seed, f"pairs/{made.name}/{number}").integers(len(found)))]]
            for place, variant in enumerate(found, 1):
                name = f"{made.name}/{number}" + (f"/{place}" if choose == "all" else "")
                yield _pair(name, source, reference, variant, made.name, kind)
    if too_long:
        warnings.warn(
            f"{len(too_long)} references of more than {LONGEST} characters are left out, the first is text "
            f"{too_long[0]}",
            stacklevel=2,
        )


def _types(named: Sequence[str | ErrorType]) -> list[ErrorType]:
    """The error types, which must be of one language."""
    found = [error_type(each) if isinstance(each, str) else each for each in named]
    languages = {made.language: made.name for made in found}
    if len(languages) > 1:
        told = ", ".join(f"{name} is of {code}" for code, name in languages.items())
        raise BabelscopeError(f"all error types must be of one language, that of the references: {told}")
    if not found:
        raise BabelscopeError("name an error type")
    return found


@dataclass(frozen=True, slots=True)
class PairsOfFiles:
    """Minimal pairs to be made from two files, or from a range of each."""

    source: Path
    reference: Path
    options: Mapping[str, Any]
    """Keyword arguments of `make_pairs`."""
    ranges: tuple[FileRange, FileRange] = (WHOLE, WHOLE)

    def lines(
        self, advance: Callable[[int], object] = lambda _count: None, counts: Counter[str] | None = None
    ) -> Iterator[bytes]:
        """Yield the pairs as lines of JSON; `advance(1)` for every text that is read, pairs counted by type."""
        sources, references = map(stream_lines, (self.source, self.reference), self.ranges)
        first = self.ranges[0].number
        for pair in make_pairs(
            sources=report_progress(sources, advance), references=references, first=first, **self.options
        ):
            if counts is not None:
                counts[pair.phenomenon] += 1
            yield record_line(pair.as_json())

    @property
    def can_be_split(self) -> bool:
        """Whether ranges of the files can be read separately."""
        return is_seekable(self.source) and is_seekable(self.reference)

    def parts(self, size: int) -> list[PairsOfFiles]:
        """Split the work into parts of `size` lines each; their outputs are joined in order."""
        files = (self.source, self.reference)
        cut = [line_ranges(path, size) for path in files]
        counts = [sum(each.count or 0 for each in own) for own in cut]
        require_equal_counts({str(path): count for path, count in zip(files, counts, strict=True)})
        return [replace(self, ranges=both) for both in zip(*cut, strict=True)] or [self]


def make_lines(part: PairsOfFiles) -> tuple[str, dict[str, int]]:
    """All lines that a part makes, and how many of each type."""
    counts: Counter[str] = Counter()
    return b"".join(part.lines(counts=counts)).decode(), dict(counts)


def report_progress(lines: Iterable[str], advance: Callable[[int], object]) -> Iterator[str]:
    """Yield the lines, and call `advance(1)` when the next one is asked for."""
    for line in lines:
        yield line
        advance(1)


def _pair(
    name: str,
    source: str,
    reference: str,
    variant: Variant,
    phenomenon: str,
    kind: Literal["human", "machine"],
) -> MinimalPair:
    changed = {"word": variant.word, "changed": variant.changed, "position": variant.start}
    return MinimalPair(name, source, reference, (variant.text,), phenomenon, kind, extra=changed)


def sample_for_audit(
    type: str,
    sources: Iterable[str],
    references: Iterable[str],
    *,
    n: int = 30,
    seed: int = 0,
    mode: str | None = None,
) -> list[dict[str, Any]]:
    """A random sample of `n` pairs, at most one per sentence, as rows to be judged; the texts are streamed."""
    random = stream(seed, f"audit/{type}")
    drawn = (
        (float(random.random()), number, pair)
        for number, pair in enumerate(make_pairs(type, sources, references, seed=seed, mode=mode))
    )
    chosen = heapq.nsmallest(n, drawn, key=lambda each: each[:2])
    return [
        {
            "id": pair.id,
            "type": type,
            "source": pair.source,
            "reference": pair.correct,
            "variant": pair.contrastive[0],
            "word": pair.extra["word"],
            "changed": pair.extra["changed"],
            "really_wrong": None,
        }
        for _, _, pair in sorted(chosen, key=lambda each: each[1])
    ]
