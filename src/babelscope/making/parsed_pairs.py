"""Makes minimal pairs of any language from parsed references, with what their treebank and lexicons say."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from babelscope.core.registry import did_you_mean
from babelscope.language.base import LONGEST
from babelscope.language.general.lexicons import (
    Entry,
    Lexicon,
    RoundTrip,
    entries_of,
    open_lexicon,
    round_trip,
)
from babelscope.language.general.lexicons import is_treebank as is_treebank
from babelscope.language.general.sentence import Sentence, Source
from babelscope.language.general.treebank import Tools, read_treebank
from babelscope.language.general.types import GENERAL_TYPES, GeneralType, why_none
from babelscope.language.parsers import open_parser
from babelscope.language.ud import Tree, read_trees
from babelscope.testsets.items import MinimalPair
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream
from babelscope.util.text import stream_lines

_PARSED_AT_ONCE = 64
_WORDS_TRIED = 20_000
"""Words of the references that lexicons are tried on."""


@dataclass(frozen=True)
class ParsedReferences:
    """Where parsed references, their sources and the lexicons of their language are."""

    parses: Path | None = None
    """References in CoNLL-U; else they are parsed by `parser`."""
    reference: Path | None = None
    parser: str | None = None
    source: Path | None = None
    source_parses: Path | None = None
    lexicons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.parses is None) == (self.parser is None):
            raise BabelscopeError("parsed references come from --parses or from --parser with --reference")
        if (self.parser is None) != (self.reference is None):
            raise BabelscopeError("--parser reads --reference, which parses (--parses) already have")
        if (self.source is None) == (self.source_parses is None):
            raise BabelscopeError("give the sources as text (--source) or parsed (--source-parses)")

    def references(self) -> Iterator[Sentence | None]:
        """The references; None for one that is empty or no tree."""
        if self.parses is not None:
            yield from _sentences(self.parses)
            return
        assert self.parser is not None
        assert self.reference is not None
        parse = open_parser(self.parser)
        for block in _blocks(stream_lines(self.reference)):
            for tree, text in zip(parse(block), block, strict=True):
                yield _with_text(tree, text)

    def rows(self) -> Iterator[tuple[int, Source, Sentence]]:
        """(number, source, reference); parses are paired by `sent_id` where both have it, else by position."""
        missing = object()
        find = None
        if self.source_parses is not None:
            sources: Iterator[Source | None] = map(_parsed_source, _sentences(self.source_parses))
            first = next(sources, None)
            sources = itertools.chain([first], sources)
            if first is not None and _id_of(first):
                find = _Finder(sources)
        else:
            assert self.source is not None
            sources = map(Source, stream_lines(self.source))
        rows = itertools.zip_longest(self.references(), () if find else sources, fillvalue=missing)
        for number, (reference, source) in enumerate(rows, 1):
            if find and isinstance(reference, Sentence):
                source = find(reference.tree.sent_id)
            elif not find and (reference is missing or source is missing):
                raise BabelscopeError(
                    f"there are not as many sources as references: one side ends before number {number}"
                )
            if isinstance(reference, Sentence) and isinstance(source, Source) and source.text.strip():
                yield number, source, reference

    def tools(self) -> Tools:
        """What the references and the treebanks among the lexicons say, with all lexicons."""
        treebanks = [path for path in self.lexicons if is_treebank(path)]
        if self.parses is not None and str(self.parses) in treebanks:
            treebanks.remove(str(self.parses))
        more = itertools.chain.from_iterable(_sentences(Path(path)) for path in treebanks)
        others = [open_lexicon(spec) for spec in self.lexicons if not is_treebank(spec)]
        texts = itertools.chain(self.references(), more)
        return read_treebank((each for each in texts if each is not None), others)

    def round_trips(self, lexicons: Sequence[Lexicon]) -> dict[str, RoundTrip]:
        """How each lexicon fits the words of the references and itself."""
        words: list[Entry] = []
        for sentence in self.references():
            if sentence is not None:
                words += entries_of(sentence.tree)
            if len(words) > _WORDS_TRIED:
                break
        return {each.name: round_trip(each, words) for each in lexicons}


class _Finder:
    """Sources by `sent_id`, read as far as asked for: those in the order of the references take no memory."""

    def __init__(self, sources: Iterator[Source | None]) -> None:
        self._sources = sources
        self._passed: dict[str, Source] = {}

    def __call__(self, name: str) -> Source | None:
        if name in self._passed:
            return self._passed.pop(name)
        for source in self._sources:
            if source is not None and (own := _id_of(source)):
                if own == name:
                    return source
                self._passed[own] = source
        return None


def _id_of(source: Source) -> str:
    return source.parse.tree.sent_id if source.parse is not None else ""


def _sentences(path: Path) -> Iterator[Sentence | None]:
    for tree in read_trees(path, skipped={}):
        yield None if tree is None else Sentence(tree)


def _parsed_source(sentence: Sentence | None) -> Source | None:
    return None if sentence is None else Source(sentence.text, sentence)


def _with_text(tree: Tree | None, text: str) -> Sentence | None:
    if tree is None:
        return None
    sentence = Sentence(tree)
    if tree.matches(text):
        sentence.__dict__["text"] = text
    return sentence


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    rows = iter(lines)
    while block := list(itertools.islice(rows, _PARSED_AT_ONCE)):
        yield block


def choose_types(names: Sequence[str]) -> list[GeneralType]:
    """The general error types of these names; `all` for all."""
    found = []
    for name in dict.fromkeys(GENERAL_TYPES if "all" in names else names):
        if name not in GENERAL_TYPES:
            hint = did_you_mean(name, [*GENERAL_TYPES], f"known are {', '.join(GENERAL_TYPES)}", cutoff=0.4)
            raise BabelscopeError(f"there is no error type {name!r} for parsed references; {hint}")
        found.append(GENERAL_TYPES[name])
    return found


@dataclass
class ParsedPairs:
    """Minimal pairs of parsed references, with counts."""

    references: ParsedReferences
    types: Sequence[GeneralType]
    language: str
    choose: Literal["one", "all"] = "one"
    kind: Literal["human", "machine"] = "human"
    seed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    tools: Tools = field(init=False)

    def __post_init__(self) -> None:
        self.tools = self.references.tools()

    def __iter__(self) -> Iterator[MinimalPair]:
        """Make the pairs; those of one reference come together."""
        for number, source, sentence in self.references.rows():
            if len(sentence.text) > LONGEST:
                continue
            for made in self.types:
                variants = list(dict.fromkeys(made.make(sentence, source, self.tools)))
                if self.choose == "one" and variants:
                    draw = stream(self.seed, f"pairs/{made.name}/{number}")
                    variants = [variants[int(draw.integers(len(variants)))]]
                for place, variant in enumerate(variants, 1):
                    self.counts[made.name] += 1
                    name = f"{made.name}/{number}" + (f"/{place}" if self.choose == "all" else "")
                    extra = {
                        "word": variant.word,
                        "changed": variant.changed,
                        "position": variant.start,
                        "language": self.language,
                    }
                    yield MinimalPair(
                        name, source.text, sentence.text, (variant.text,), made.name, self.kind, extra=extra
                    )

    def count_rows(self) -> list[dict[str, str | int]]:
        """The number of pairs per error type, or why there are none; call it when all pairs were made."""
        rows: list[dict[str, str | int]] = []
        for made in self.types:
            row: dict[str, str | int] = {"type": made.name, "pairs": self.counts[made.name]}
            if not self.counts[made.name]:
                row["reason"] = why_none(made, self.tools)
            rows.append(row)
        return rows
