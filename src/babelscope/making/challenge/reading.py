"""Reads parallel text with its parses and alignments, one sentence pair at a time, and checks every pair."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from babelscope.core.tokenizers import AT_SPACES, Tokenizer, chosen_tokenizer, require_split
from babelscope.language.align import Links, align, longest_sentence, parse_links
from babelscope.language.fitness import require_links, watch_language, watch_trees
from babelscope.language.parsers import Parser, open_parser
from babelscope.language.ud import BadSentence, Tree, read_trees, tree_ranges
from babelscope.language.ud_rules import Finder, Instance
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import (
    WHOLE,
    FileRange,
    count_lines,
    line_ranges,
    parallel_rows,
    require_equal_counts,
    shorten,
    stream_lines,
)

Words = Sequence[str]
Split = Callable[[str], list[str]]
Span = tuple[int, int]

_MARKS = re.compile(r"\w+(?:[-'’.,]\w+)*|[^\w\s]")
_ENDS_IN_MARK = re.compile(r"\w[,;:.!?](?=\s|$)")
_LONE_MARK = re.compile(r"(?:^|\s)[,;:.!?](?=\s|$)")
_LOOKED_AT = 1000  # lines
_PARSED_AT_ONCE = 64
TOO_LONG = "too long to align"
SIDES = ("source", "target")


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence pair, its words, and what was found in it."""

    number: int
    """Number of its line, from 1."""
    source: str
    reference: str
    source_words: Words
    reference_words: Words
    instances: Sequence[Instance] = ()
    spans: Sequence[Span] = ()
    """Character offsets (start, end) of the words of the parsed side, if it has instances."""
    links: Links | None = None
    sent_id: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The files of a parallel corpus, of which one side may be parsed; or parses alone, which can be counted."""

    source: Path | None = None
    reference: Path | None = None
    parses: Path | None = None
    parser: Parser | str | None = None
    """A parser, or the spec of one, which is opened in the process that reads the corpus."""
    parsed_side: str = "source"
    """source or target."""
    alignments: Path | None = None
    ranges: Mapping[str, FileRange] = field(default_factory=dict)
    """Name of a file -> the range to read; the whole file by default."""
    language: str | None = None
    """Language that the parsed side must be in, as its parser or rules are for; None if it is not known."""
    source_language: str | None = None
    """Stated in the items made of it; with no tokenizer named, words are split as the language needs it."""
    target_language: str | None = None
    source_tokenize: str = ""
    """Name of the tokenizer of a side that is not parsed; empty: that of the language, or words and marks."""
    tokenize: str = ""

    def __post_init__(self) -> None:
        if (self.source is None) != (self.reference is None):
            raise BabelscopeError("a source and a reference belong together")
        if self.source is None and self.parses is None:
            raise BabelscopeError("a challenge set needs a source and a reference, or parses to count in")
        if self.parses is not None and self.parser is not None:
            raise BabelscopeError("what has parses needs no parser")
        if self.parsed_side not in ("source", "target"):
            raise BabelscopeError(f"the parsed side is source or target, not {self.parsed_side!r}")

    @property
    def _side_of_trees(self) -> str:
        """The side whose words come from parses; empty if none is parsed."""
        return "" if self.parses is None and self.parser is None else self.parsed_side

    def tokenizer(self, side: str) -> Tokenizer | None:
        """The tokenizer of a side; None where words are what stands between spaces and marks."""
        if side == "source":
            return chosen_tokenizer(self.source_tokenize, self.source_language)
        return chosen_tokenizer(self.tokenize, self.target_language)

    @property
    def tokenizers(self) -> list[str]:
        """What words of source and target are split by, as in a signature; empty where no tokenizer is chosen."""
        chosen = [None if side == self._side_of_trees else self.tokenizer(side) for side in SIDES]
        return [tokenizer.signed if tokenizer else "" for tokenizer in chosen]

    @property
    def lines(self) -> int:
        """Number of its lines (of CoNLL-U, if there are only parses), for progress bars."""
        if self.ranges:
            return next(iter(self.ranges.values())).count or 0
        return count_lines(self.source or self.parses or "")

    @property
    def first(self) -> int:
        """The number of its first sentence, from 1."""
        return next(iter(self.ranges.values()), WHOLE).number

    @property
    def files(self) -> dict[str, Path]:
        """Its files by name: source, target, parses, alignments."""
        found = {
            "source": self.source,
            "target": self.reference,
            "parses": self.parses,
            "alignments": self.alignments,
        }
        return {name: path for name, path in found.items() if path is not None}

    def split(self, size: int) -> list[Corpus]:
        """Split the corpus into parts of `size` sentences that can be read separately; the last may be shorter.

        Makes one pass over every file, and keeps one position for each part.
        """
        files = self.files
        found = {
            name: (tree_ranges if name == "parses" else line_ranges)(path, size)
            for name, path in files.items()
        }
        counts = {str(files[name]): sum(each.count or 0 for each in own) for name, own in found.items()}
        require_equal_counts(counts)
        return [
            replace(self, ranges=dict(zip(found, part, strict=True)))
            for part in zip(*found.values(), strict=True)
        ]

    def trees(self, skipped: MutableMapping[str, int] | None = None) -> Iterator[Tree | None]:
        """Yield the parses; a bad one is an error or, with `skipped`, counted there and None."""
        assert self.parses is not None
        return read_trees(self.parses, skipped=skipped, part=self.ranges.get("parses", WHOLE))

    def pairs(
        self, finder: Finder | None = None, *, skipped: MutableMapping[str, int] | None = None
    ) -> Iterator[Pair]:
        """Yield the pairs. A bad one is an error or, with `skipped`, counted there by reason."""
        if self.source is None or self.reference is None:
            raise BabelscopeError("sentence pairs need a source and a reference")
        texts_at = {"source": self.source, "target": self.reference}
        side = self.parsed_side
        split: dict[str, Split] = {
            each: str.split
            if each == self._side_of_trees
            else word_splitter(path, self.tokenizer(each), each)
            for each, path in texts_at.items()
        }
        first = self.ranges.get("source", WHOLE).number
        columns = self._columns(texts_at, skipped)
        for number, (source, reference, tree, linked) in parallel_rows(columns, first):
            if tree is None and self.parses is not None:
                continue  # counted by `trees`
            texts = {"source": source, "target": reference}
            try:
                self._check(number, texts, texts_at, tree)
                words = {}
                instances: list[Instance] = []
                places: list[Span] = []
                for each, text in texts.items():
                    if tree is None or each != side:
                        words[each] = split[each](text)
                        continue
                    words[each] = [word.form for word in tree.words]
                    if finder is not None and (instances := finder(tree, side)):
                        places = tree.offsets(text)
                links = None if linked is None else self._links(number, linked, *map(len, words.values()))
            except BadSentence as error:
                if skipped is None:
                    raise
                skipped[error.reason] = skipped.get(error.reason, 0) + 1
                continue
            sent_id = "" if tree is None else tree.sent_id
            yield Pair(
                number, source, reference, words["source"], words["target"], instances, places, links, sent_id
            )

    def _columns(
        self, texts_at: Mapping[str, Path], skipped: MutableMapping[str, int] | None
    ) -> list[tuple[str, Iterator[Any]]]:
        """(name, iterator) of source, reference, trees and alignments; missing ones repeat None."""
        trees: Iterator[Tree | None] = itertools.repeat(None)
        if self.parses is not None:
            trees = self.trees(skipped)
        elif self.parser is not None:
            parser = _opened_parser(self.parser) if isinstance(self.parser, str) else self.parser
            trees = parse_in_batches(self._stream(texts_at[self.parsed_side], self.parsed_side), parser)
        if self.first == 1 and (self.parses is not None or self.parser is not None):
            trees = watch_trees(trees, str(self.parses or "the parser"))
        links: Iterator[str | None] = itertools.repeat(None)
        if self.alignments is not None:
            links = self._stream(self.alignments, "alignments")
        texts = {side: self._stream(path, side) for side, path in texts_at.items()}
        if self.language is not None and self._side_of_trees:
            texts[self.parsed_side] = watch_language(
                texts[self.parsed_side],
                self.language,
                what=f"the texts of {texts_at[self.parsed_side]}",
                needed_by="parser and rules",
            )
        return [
            *((str(path), texts[side]) for side, path in texts_at.items()),
            (str(self.parses or "the parser"), trees),
            (str(self.alignments), links),
        ]

    def _stream(self, path: Path, name: str) -> Iterator[str]:
        return stream_lines(path, self.ranges.get(name, WHOLE))

    def _check(
        self, number: int, texts: Mapping[str, str], texts_at: Mapping[str, Path], tree: Tree | None
    ) -> None:
        """Raise BadSentence for an empty text, or a parse that is not of this text."""
        for side, text in texts.items():
            if not text.strip():
                name = "source" if side == "source" else "reference"
                raise BadSentence(at(texts_at[side], number), number, f"empty {name}", f"the {name} is empty")
        text = texts[self.parsed_side]
        if tree is None or tree.matches(text):
            return
        ours, theirs = ("".join(each.split()) for each in ("".join(tree.tokens), text))
        differing = (n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
        alike = next(differing, min(len(ours), len(theirs)))
        shown = [shorten(each[alike : alike + 20]) for each in (ours, theirs)]
        place = at(texts_at[self.parsed_side], number)
        raise BadSentence(
            at(self.parses, tree.line) if self.parses else place,
            number,
            "parse and text differ",
            f"the parse has {shown[0]} where the text ({place}) has {shown[1]}; a line must be parsed as one "
            "sentence",
        )

    def _links(self, number: int, line: str, source_length: int, target_length: int) -> Links:
        place = at(str(self.alignments), number)
        try:
            return parse_links(line, place, source_length, target_length)
        except BabelscopeError as error:
            message = str(error).removeprefix(f"{place}: ")
            raise BadSentence(place, number, "alignment", message) from None


_opened_parser = lru_cache(maxsize=1)(open_parser)  # opened once in a process, for all parts it reads


def with_alignment(pairs: Iterable[Pair], how: str) -> list[Pair]:
    """The pairs with links made by our aligner, which is trained on all of them."""
    held = list(pairs)
    words = [([w.lower() for w in p.source_words], [w.lower() for w in p.reference_words]) for p in held]
    links = align(words, how)
    require_links([len({source for source, _ in own}) for own in links], [len(own) for own, _ in words])
    return [replace(pair, links=own) for pair, own in zip(held, links, strict=True)]


def short_enough(
    pairs: Iterable[Pair], path: Path, skipped: MutableMapping[str, int] | None = None
) -> Iterator[Pair]:
    """Yield the pairs that can be aligned. One too long is an error or, with `skipped`, counted there."""
    longest = longest_sentence()
    for pair in pairs:
        size = max(len(pair.source_words), len(pair.reference_words))
        if size <= longest:
            yield pair
        elif skipped is None:
            raise BadSentence(
                at(path, pair.number),
                pair.number,
                TOO_LONG,
                f"{size:,} words are too many to align, {longest:,} at most; split it, skip it (--set skip_bad=yes), "
                "or give alignments",
            )
        else:
            skipped[TOO_LONG] = skipped.get(TOO_LONG, 0) + 1


def parse_in_batches(lines: Iterable[str], parser: Parser) -> Iterator[Tree | None]:
    """Yield the trees of lines, parsed in batches; None for an empty line."""
    some: list[str] = []
    for line in lines:
        some.append(line)
        if len(some) == _PARSED_AT_ONCE:
            yield from parser(some)
            some = []
    yield from parser(some)


def word_splitter(path: str | Path, tokenizer: Tokenizer | None = None, side: str = "target") -> Split:
    """The function that splits lines of a file into words: by a tokenizer; else at spaces and, unless the file is
    tokenized, at punctuation.

    It counts as tokenized if, in its first 1,000 lines, marks stand alone at least as often as after a word. A script
    that cannot be split in this way is refused by what these lines are.
    """
    looked_at = list(itertools.islice(stream_lines(path), _LOOKED_AT))
    option = "--source-tokenize" if side == "source" else "--tokenize"
    require_split(
        tokenizer or AT_SPACES,
        looked_at,
        what=f"the lines of {path}",
        todo=f"say {option} zh (Chinese), ja-mecab (Japanese), char or spm:FILE",
    )
    if tokenizer is not None:
        return tokenizer.split
    lone = sum(len(_LONE_MARK.findall(line)) for line in looked_at)
    ends = sum(len(_ENDS_IN_MARK.findall(line)) for line in looked_at)
    return str.split if lone >= ends else _MARKS.findall
