"""Universal Dependencies: reads CoNLL-U sentence by sentence and checks every tree."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn

from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import (
    LONGEST_RECORD,
    WHOLE,
    FileRange,
    bounded_lines,
    open_at,
    shorten,
    split_units,
)

_COLUMNS = 10
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY_NODE = re.compile(r"[0-9]+\.[1-9][0-9]*")
# `# sent_id = 24` and word 1 on one line, as Choshen and Abend released their parses.
_GLUED = re.compile(r"(#.*?)1")


class BadSentence(BabelscopeError):
    """A sentence that is no valid tree; skipped sentences are counted by `reason`."""

    def __init__(self, place: str, number: int, reason: str, message: str) -> None:
        super().__init__(f"{place}: sentence {number}: {message}")
        self.reason = reason


class Word(NamedTuple):
    """A syntactic word; `id` and `head` count from 1, head 0 is the root."""

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int
    deprel: str
    misc: str


def relation(word: Word) -> str:
    """The relation of a word without its subtype."""
    return word.deprel.partition(":")[0]


def is_finite(word: Word) -> bool:
    """Whether a word is marked as a finite verb; some treebanks (German and Italian PUD) mark only its mood."""
    names = dict(feature.partition("=")[::2] for feature in word.feats.split("|"))
    return names.get("VerbForm", "Fin" if "Mood" in names else "") == "Fin"


class MultiwordToken(NamedTuple):
    """A token of the text that stands for the words `first` to `last`, such as French `du`."""

    first: int
    last: int
    form: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed sentence, without empty nodes, which are no words."""

    words: tuple[Word, ...]
    multiword: tuple[MultiwordToken, ...]
    sent_id: str
    """As in its comment; empty without one."""
    text: str
    """As in its comment; empty without one."""
    number: int
    """Which sentence of the file, from 1."""
    line: int
    """Line of the file at which it begins, from 1."""
    repaired: bool = False
    """Whether its first word was glued to a comment."""

    @property
    def tokens(self) -> list[str]:
        """The tokens of the text: words, with each multiword token as one."""
        if not self.multiword:
            return [word.form for word in self.words]
        starts = {token.first: token for token in self.multiword}
        forms, covered = [], 0
        for word in self.words:
            if (token := starts.get(word.id)) is not None:
                covered = token.last
                forms.append(token.form)
            elif word.id > covered:
                forms.append(word.form)
        return forms

    def matches(self, text: str) -> bool:
        """Whether `text` has the same characters, spaces apart."""
        return "".join("".join(self.tokens).split()) == "".join(text.split())

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Character offsets (start, end) of each word in a matching text; words of one token share them."""
        places = token_spans(self.tokens, text)
        if not self.multiword:
            return places
        counts = {token.first: token.last - token.first + 1 for token in self.multiword}
        shared: list[tuple[int, int]] = []
        for place in places:
            shared += [place] * counts.get(len(shared) + 1, 1)
        return shared


def token_spans(tokens: Iterable[str], text: str) -> list[tuple[int, int]]:
    """Character offsets (start, end) of each token in a text with the same characters, spaces apart."""
    places, end = [], 0
    for token in tokens:
        start = _skip(text, end)
        if text.startswith(token, start):
            end = start + len(token)
        else:  # token and text differ in spaces inside the token
            end = start
            for _ in "".join(token.split()):
                end = _skip(text, end) + 1
        places.append((start, end))
    return places


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def read_trees(
    path: str | Path, *, skipped: MutableMapping[str, int] | None = None, part: FileRange = WHOLE
) -> Iterator[Tree | None]:
    """Yield the trees of a CoNLL-U file (or .gz), without holding the whole file.

    A bad sentence is an error; with `skipped`, it is counted there by reason and yields None.
    """
    warned = False
    blocks = itertools.islice(_blocks(path, part), part.count)
    for number, (line, _, block) in enumerate(blocks, part.number):
        try:
            tree = parse_tree(_decoded(block, path, line, number), path, number=number, line=line)
        except BadSentence as error:
            if skipped is None:
                raise
            skipped[error.reason] = skipped.get(error.reason, 0) + 1
            yield None
        else:
            if tree.repaired and not warned:
                warned = True
                warnings.warn(
                    f"{at(path, line)}: sentence {number}: a line break is missing between a comment and the "
                    "first word; the word is taken as word 1, here and wherever it is so",
                    stacklevel=2,
                )
            yield tree


def tree_ranges(path: str | Path, size: int) -> list[FileRange]:
    """Divide a CoNLL-U file into ranges of `size` sentences; the last one may be shorter."""
    return split_units(((line, byte) for line, byte, _ in _blocks(path)), size, path)


def parse_tree(lines: Sequence[str], path: str | Path, *, number: int = 1, line: int = 1) -> Tree:
    """Parse the lines of one sentence, which begins at `line` of the file."""
    words: list[Word] = []
    multiword: list[MultiwordToken] = []
    comments: dict[str, str] = {}
    repaired = False

    def bad(place: int, reason: str, message: str) -> NoReturn:
        raise BadSentence(at(path, place), number, reason, message)

    for place, text in enumerate(lines, line):
        if text[0] == "#":
            if text.count("\t") < _COLUMNS - 1:
                name, _, value = text[1:].partition("=")
                comments[name.strip()] = value.strip()
                continue
            # A comment may have tabs. Word 1 hides in it only if the next line is word 2.
            following = lines[place - line + 1] if place - line + 1 < len(lines) else ""
            if not words and following.startswith(("#", "1\t", "1-")):
                continue
            comment, _, rest = text.partition("\t")
            glued = None if words else _GLUED.fullmatch(comment)
            if glued is None:
                bad(place, "line break missing", f"a comment and a word stand on one line: {shorten(text)}")
            name, _, value = glued[1][1:].partition("=")
            comments[name.strip()] = value.strip()
            repaired, text = True, f"1\t{rest}"
        columns = text.split("\t")
        if len(columns) != _COLUMNS:
            bad(place, "columns", f"a line has {_COLUMNS} columns, this one {len(columns)}: {shorten(text)}")
        identifier, form, lemma, upos, xpos, feats, head, deprel, _, misc = columns
        expected = len(words) + 1
        if identifier != str(expected):
            covered = multiword[-1].last if multiword else 0
            token = _parse_other_line(identifier, form, expected, covered, partial(bad, place, "numbering"))
            multiword += [token] if token else []
            continue
        if not form:
            bad(place, "columns", f"word {identifier} has no form")
        if head != "0" and not _NUMBER.fullmatch(head):
            if head == "_":
                bad(place, "head missing", f"word {identifier} has no head: the sentence is not parsed")
            bad(place, "head not a number", f"the head of word {identifier} is {shorten(head)}, no number")
        words.append(Word(expected, form, lemma, upos, xpos, feats, int(head), deprel, misc))
    if not words:
        bad(line, "no words", "it has no words")
    if multiword and multiword[-1].last > len(words):
        bad(line, "numbering", f"the multiword token {multiword[-1].form!r} ends after the last word")
    if (fault := _tree_fault([0, *(word.head for word in words)])) is not None:
        bad(line, *fault)
    sent_id, sentence = comments.get("sent_id", ""), comments.get("text", "")
    return Tree(tuple(words), tuple(multiword), sent_id, sentence, number, line, repaired)


def _parse_other_line(
    identifier: str, form: str, expected: int, covered: int, bad: Callable[[str], NoReturn]
) -> MultiwordToken | None:
    """Parse a line that is not the `expected` next word: a multiword token, or None for an empty node."""
    if (found := _RANGE.fullmatch(identifier)) is not None:
        first, last = int(found[1]), int(found[2])
        if first != expected or last < first or first <= covered:
            bad(f"the multiword token {identifier} does not begin at the next word")
        return MultiwordToken(first, last, form)
    if _NUMBER.fullmatch(identifier):
        bad(f"word {expected} is missing: this one is numbered {identifier}")
    if not _EMPTY_NODE.fullmatch(identifier):
        bad(f"{shorten(identifier)} is no number of a word, from 1")
    return None


def _tree_fault(heads: Sequence[int]) -> tuple[str, str] | None:
    """Why these heads (index 0 is the root itself) form no tree: (reason, message); None if they do."""
    count = len(heads) - 1
    for word in range(1, count + 1):
        if heads[word] > count:
            return "head missing", f"the head of word {word} is {heads[word]}, but it has {count} words"
    roots = [str(word) for word in range(1, count + 1) if heads[word] == 0]
    if len(roots) > 1:
        return "several roots", f"a tree has one root, this one {len(roots)}: words {_join_some(roots, ', ')}"
    # Without a root there is a cycle.
    new, on_path, rooted = 0, 1, 2
    state = bytearray(count + 1)
    state[0] = rooted
    for word in range(1, count + 1):
        path = []
        while state[word] == new:
            state[word] = on_path
            path.append(word)
            word = heads[word]
        if state[word] == on_path:
            circle = [str(each) for each in (*path[path.index(word) :], word)]
            return "cycle", f"heads go round in a cycle: words {_join_some(circle, ' -> ')}"
        for passed in path:
            state[passed] = rooted
    return None


def _join_some(words: Sequence[str], between: str) -> str:
    """Join a list, cut after 20 words, since a file may have very many."""
    return between.join(words if len(words) <= 20 else [*words[:20], "…"])


def _blocks(path: str | Path, part: FileRange = WHOLE) -> Iterator[tuple[int, int, list[bytes]]]:
    """Yield the sentences as (line, byte, lines): where each begins, and its lines up to a blank one."""
    block: list[bytes] = []
    byte = part.byte
    with open_at(path, byte) as file:
        number = part.line - 1
        size = 0
        for number, line in enumerate(bounded_lines(file, path, first=part.line), part.line):
            if line == b"\n":
                if block:
                    yield number - len(block), byte, block
                    block = []
                    byte += size
                    size = 0
                byte += 1
                continue
            if line.endswith(b"\r\n"):
                raise BabelscopeError(f"{at(path, number)}: lines must end with LF alone, not with CR LF")
            block.append(line)
            size += len(line)
            if size > LONGEST_RECORD:
                raise BabelscopeError(
                    f"{at(path, number)}: a sentence has more than {LONGEST_RECORD} bytes; is the blank line "
                    "after each sentence missing?"
                )
        if block:
            yield number - len(block) + 1, byte, block


def _decoded(block: Sequence[bytes], path: str | Path, line: int, number: int) -> list[str]:
    try:
        return b"".join(block).decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise BadSentence(at(path, line), number, "not UTF-8", f"not UTF-8 ({error.reason})") from None
