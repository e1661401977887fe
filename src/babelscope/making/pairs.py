"""From sources and references to minimal pairs, one sentence at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from babelscope.core.results import record_line
from babelscope.language.base import LONGEST, Analyser, ErrorType, Variant
from babelscope.language.registry import error_type, language
from babelscope.testsets.items import MinimalPair
from babelscope.util.errors import BabelscopeError
from babelscope.util.file_ranges import (
    WHOLE,
    FileRange,
    is_seekable,
    line_ranges,
    parallel_rows,
    stream_lines,
)
from babelscope.util.seeds import stream
from babelscope.util.text import require_equal_counts


def make_pairs(
    type: str | ErrorType,
    sources: Iterable[str],
    references: Iterable[str],
    *,
    kind: Literal["human", "machine"] = "human",
    seed: int = 0,
    choose: Literal["one", "all"] = "one",
    mode: str | None = None,
    analyser: Analyser | None = None,
    first: int = 1,
) -> Iterator[MinimalPair]:
    """Minimal pairs of the references that have the phenomenon, one of the variants chosen by the seed, or all.

    Pairs are made while the texts are read; pairs without a source are left out, and so, with a warning, are
    references of more than `LONGEST` characters. `first` is the number of the first text, where others before
    it are not given. The `analyser` is that of the error type's language if none is given.
    """
    made = error_type(type) if isinstance(type, str) else type
    if choose not in ("one", "all"):
        raise BabelscopeError(f"choose one variant or all, not {choose!r}")
    if mode is not None and mode not in made.modes:
        known = f"; it has {', '.join(made.modes)}" if made.modes else ""
        raise BabelscopeError(f"error type {made.name} has no mode {mode!r}{known}")
    analyser = analyser or language(made.language).analyser()
    texts = [("sources", iter(sources)), ("references", iter(references))]
    too_long: list[int] = []
    for number, (source, reference) in parallel_rows(texts, first):
        if not source.strip() or not reference.strip():
            continue
        if len(reference) > LONGEST:
            too_long.append(number)
            continue
        found = made.variants(analyser.analyse(reference), mode)
        if choose == "one" and found:
            # Each sentence has its own stream, so that leaving out a sentence changes no other's choice.
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


@dataclass(frozen=True, slots=True)
class PairsOfFiles:
    """Minimal pairs to be made of two files, or of a stretch of each."""

    source: Path
    reference: Path
    options: Mapping[str, Any]
    """As for `make_pairs`."""
    ranges: tuple[FileRange, FileRange] = (WHOLE, WHOLE)

    def lines(self, advance: Callable[[int], object] = lambda _count: None) -> Iterator[bytes]:
        """The pairs as lines of JSON; `advance` is told of every text that is read."""
        sources, references = map(stream_lines, (self.source, self.reference), self.ranges)
        first = self.ranges[0].number
        for pair in make_pairs(
            sources=report_progress(sources, advance), references=references, first=first, **self.options
        ):
            yield record_line(pair.as_json())

    @property
    def can_be_split(self) -> bool:
        """Whether parts can be read by themselves: of plain files."""
        return is_seekable(self.source) and is_seekable(self.reference)

    def parts(self, size: int) -> list[PairsOfFiles]:
        """The same of parts of the files, of `size` lines each; what they make follows one another."""
        files = (self.source, self.reference)
        cut = [line_ranges(path, size) for path in files]
        counts = [sum(each.count or 0 for each in own) for own in cut]
        require_equal_counts({str(path): count for path, count in zip(files, counts, strict=True)})
        return [replace(self, ranges=both) for both in zip(*cut, strict=True)] or [self]


def make_lines(part: PairsOfFiles) -> bytes:
    """What a part makes, at once."""
    return b"".join(part.lines())


def report_progress(lines: Iterable[str], advance: Callable[[int], object]) -> Iterator[str]:
    """The lines, each reported once it is done with."""
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
