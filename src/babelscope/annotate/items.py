"""What is judged: task items from JSON lines, and the part of each that an annotator may see."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

from babelscope.language.cues import find_form
from babelscope.stats.agreement import CANNOT_TELL, NOT_REAL, REAL
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import LocatedRecord, read_json_lines, shorten

Pieces = list[tuple[str, bool]]
"""A text in pieces, each with whether it is marked."""

_MOST_WORK = 10**7  # steps for marking one text: a fifth of a second
_LONGEST_WORD = 10_000  # characters of what is looked for, since a pattern is made of it
UNMARKED = "Too long: nothing is marked in this text."


@dataclass(frozen=True, slots=True)
class Block:
    title: str
    pieces: Pieces
    role: str = "context"
    """source, judged, or context: how much it stands out."""
    note: str = ""
    """Said below it."""


def plain(text: str) -> Pieces:
    return [(text, False)]


def marked_words(text: str, *words: str) -> Pieces | None:
    """The text with whole words marked, wherever they stand; None if that would take too long."""
    known = sorted((word for word in words if word), key=len, reverse=True)
    if not known:
        return plain(text)
    if not is_quick(text, *known):
        return None
    pattern = "|".join(re.escape(word) for word in known)
    # With a group in it, split gives what lies between matches and the matches in turn.
    found = re.split(rf"(?<!\w)({pattern})(?!\w)", text, flags=re.IGNORECASE)
    return [(piece, number % 2 == 1) for number, piece in enumerate(found) if piece]


def is_quick(text: str, *words: str) -> bool:
    """Whether words can be looked for: each may be compared at every place of the text."""
    length = sum(map(len, words))
    return length <= _LONGEST_WORD and len(text) * length <= _MOST_WORK


def block_of(title: str, text: str, pieces: Pieces | None, role: str = "context") -> Block:
    """A text with what is marked in it, or told to be too long for that."""
    return Block(title, plain(text), role, UNMARKED) if pieces is None else Block(title, pieces, role)


def tokens_marked(text: str, tokens: Sequence[str], positions: Sequence[int]) -> Pieces | None:
    """The text with tokens marked, counted from 1 (CoNLL-U); None if they are not those of the text."""
    pieces: Pieces = []
    end = 0
    for number, token in enumerate(tokens, 1):
        start = text.find(token, end)
        if start < 0 or text[end:start].strip():
            return None
        pieces += [(text[end:start], False), (token, number in positions)]
        end = start + len(token)
    pieces.append((text[end:], False))
    return [piece for piece in pieces if piece[0]]


def spans_marked(text: str, spans: Sequence[object]) -> Pieces | None:
    """The text with what lies between these characters marked, counted from 0; None if they are none of the text."""
    found: set[tuple[int, int]] = set()
    for span in spans:
        match span:
            case [int(start), int(end)] if 0 <= start < end <= len(text):
                found.add((start, end))
            case _:
                return None
    pieces: Pieces = []
    last = 0
    for start, end in sorted(found):
        if start < last:  # they overlap
            return None
        pieces += [(text[last:start], False), (text[start:end], True)]
        last = end
    pieces.append((text[last:], False))
    return [piece for piece in pieces if piece[0]] if found else None


def differences(title: str, text: str, other: str) -> Block:
    """The text with the words marked that `other` does not have."""
    words, others = (re.split(r"(\s+)", each) for each in (text, other))
    mine, theirs = words[::2], others[::2]
    note, differ = "", set()
    # The search for the longest common stretch goes over all pairs of equal words, for each stretch anew.
    counts = Counter(theirs)
    if sum(counts[word] for word in mine) * min(len(mine), len(theirs)) > _MOST_WORK:
        note = UNMARKED
    else:
        matcher = difflib.SequenceMatcher(None, mine, theirs, autojunk=False)
        differ = {
            number
            for tag, start, stop, _, _ in matcher.get_opcodes()
            if tag != "equal"
            for number in range(start, stop)
        }
    pieces = [(each, n % 2 == 0 and n // 2 in differ) for n, each in enumerate(words) if each]
    return Block(title, pieces, note=note)


Form = Literal["label", "score", "list"]
"""How an answer is given: one of several labels, a number from 0 to 100, or such a number for each of a list."""


@dataclass(frozen=True, slots=True)
class Label:
    """One of the answers to choose from: what is stored, and what it means."""

    value: str
    hint: str


@dataclass(frozen=True, slots=True)
class Guide:
    """A kind of task: the question and the guidelines, as an annotator reads them."""

    title: str
    question: str
    guidelines: tuple[str, ...]
    form: Form = "label"
    labels: tuple[Label, ...] = ()
    corrected: str | None = None
    """The label with which a better translation may be written."""


def _read_guides() -> dict[str, Guide]:
    tables = tomllib.loads(Path(__file__).with_name("guidelines.toml").read_text("utf-8"))
    made = {}
    for kind, table in tables.items():
        labels = tuple(Label(*each) for each in table.pop("labels", ()))
        made[kind] = Guide(guidelines=tuple(table.pop("guidelines")), labels=labels, **table)
    return made


GUIDES: Mapping[str, Guide] = _read_guides()

# Where no translation is shown, only the extraction is checked.
REAL_OR_NOT = (
    Label(REAL, "The marked words form this construction."),
    Label(NOT_REAL, "They do not."),
    Label(CANNOT_TELL, "You cannot decide, or the item is broken."),
)
REAL_QUESTION = "Do the marked words form the construction?"


LARGEST_FILE = 256 * 2**20  # bytes; all of it goes to the browser, or is held to be compared
LONGEST_NAME = 10_000  # characters of an id or system: every answer repeats them

# Other names of our fields: those of our test sets and records, and of the released annotations.
_ALSO = {
    "id": ("Sample ID",),
    "source": ("Source Sentence",),
    "translation": ("Translation",),
    "word": ("Word",),
    # In records of `patterns mucow`, `lemmas` are those of the translation.
    "correct_sense": ("right_words", "lemmas", "Correct Sense"),
    "wrong_sense": ("wrong_words", "wrong_lemmas", "Wrong Sense"),
    "entity": ("occupation", "Entity"),
    "gold": ("Gold Gender",),
}


@dataclass(frozen=True)
class Task:
    id: str
    kind: str
    """A name of `GUIDES`."""
    question: str
    blocks: tuple[Block, ...]
    labels: tuple[Label, ...]
    translations: tuple[str, ...] = ()
    """The list to judge, in the system's order (ranking)."""
    suggestion: str = ""
    """What a wrong translation might be corrected to (machine references)."""
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The line it was read from. Of it only what stands in the fields above is ever shown."""

    @property
    def guide(self) -> Guide:
        return GUIDES[self.kind]

    @property
    def system(self) -> str:
        """Whose translation it is; an annotator must not know."""
        return str(self.record.get("system", ""))

    def is_for(self, annotator: str) -> bool:
        """Whether this annotator judges it: all do, unless its line names some."""
        named = self.record.get("annotators")
        return not named or annotator in named

    @cached_property
    def digest(self) -> str:
        """Tells it from all others, and from what it was if its texts are changed."""
        shown = [[block.title, [text for text, _ in block.pieces]] for block in self.blocks]
        return digest_json([self.kind, self.id, self.system, shown, self.translations])

    def get(self, name: str) -> Any:
        """A field of its line, whatever it is called there."""
        return _get(self.record, name)


def read_tasks(path: str | Path, kind: str | None = None) -> list[Task]:
    """The items of a file; `kind` is for lines without `task`."""
    return make_tasks(read_json_lines(path, most=LARGEST_FILE), kind, str(path))


def make_tasks(rows: Iterable[LocatedRecord], kind: str | None, where: str) -> list[Task]:
    """Items from JSON objects; every fault is told with its place."""
    tasks: list[Task] = []
    places: dict[tuple[str, str], str] = {}
    for place, record in rows:
        try:
            task = _make(record, kind)
        except BabelscopeError as error:
            raise BabelscopeError(f"{place}: {error}") from None
        key = task.id, task.system
        if key in places:
            raise BabelscopeError(
                f"{place}: id {task.id!r} is already used at {places[key]}; items of one id must be those of "
                "different systems, told by `system`"
            )
        places[key] = place
        tasks.append(task)
    if not tasks:
        raise BabelscopeError(f"{where} has no items")
    return tasks


def _make(record: Mapping[str, Any], given: str | None) -> Task:
    if "item" in record and "annotator" in record:
        raise BabelscopeError("these are answers, not items to judge")
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BabelscopeError("has a lone surrogate, which is not valid Unicode text") from None
    kind = record.get("task", given)
    if not isinstance(kind, str) or kind not in GUIDES:
        told = "field 'task' is missing" if kind is None else f"{shorten(str(kind))} is no task"
        of = (
            f"; or draw records of {record['method']} with `babelscope annotate sample`"
            if "method" in record
            else ""
        )
        raise BabelscopeError(f"{told}; give one with --task: {', '.join(GUIDES)}{of}")
    number = _get(record, "id")
    if isinstance(number, bool) or not isinstance(number, str | int) or str(number) == "":
        raise BabelscopeError("field 'id' must be text or a number")
    for name, value in (("id", number), ("system", record.get("system", ""))):
        if len(str(value)) > LONGEST_NAME:
            raise BabelscopeError(f"field {name!r} is longer than {LONGEST_NAME:,} characters")
    named = record.get("annotators", [])
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise BabelscopeError("field 'annotators' must be a list of names: of those who judge the item")
    made = _VIEWS[kind](record)
    asked = record.get("questions", record.get("question")) or []
    questions = [asked] if isinstance(asked, str) else asked
    if not isinstance(questions, list) or not all(isinstance(each, str) for each in questions):
        raise BabelscopeError("field 'question' must be text, or 'questions' a list of texts")
    if own := " ".join(each for each in questions if each.strip()):
        made["question"] = own
    guide = GUIDES[kind]
    return Task(
        **{
            "id": str(number),
            "kind": kind,
            "question": guide.question,
            "labels": guide.labels,
            "record": record,
            **made,
        }
    )


def _get(record: Mapping[str, Any], name: str) -> Any:
    """A field under any of its names; in records of methods some are among the item's own fields, in `extra`."""
    extra = record.get("extra")
    places = (record, extra if isinstance(extra, Mapping) else {})
    return next((own[each] for own in places for each in (name, *_ALSO.get(name, ())) if each in own), None)


def _text(record: Mapping[str, Any], name: str) -> str:
    value = _get(record, name)
    if not isinstance(value, str) or not value.strip():
        raise BabelscopeError(f"field {name!r} must be text that is not empty")
    return value


def _translation(record: Mapping[str, Any]) -> str:
    """It may be empty: a system that says nothing is judged too."""
    value = _get(record, "translation")
    if not isinstance(value, str):
        raise BabelscopeError("field 'translation' must be text")
    return value


def _texts(record: Mapping[str, Any], name: str, between: str = "\n") -> str:
    """A text, or several as one."""
    value = _get(record, name)
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return between.join(value)
    return _text(record, name)


def _about_phenomenon(record: Mapping[str, Any]) -> list[Block]:
    phenomenon = record.get("phenomenon")
    return [Block("Phenomenon", plain(str(phenomenon).replace("_", " ")))] if phenomenon else []


def _machine_reference(record: Mapping[str, Any]) -> dict[str, Any]:
    correct, contrastive = _texts(record, "correct"), _texts(record, "contrastive")
    return {
        "suggestion": str(record.get("correction") or ""),
        "blocks": (
            *_about_phenomenon(record),
            Block("Source", plain(_text(record, "source")), "source"),
            Block("Machine translation", plain(_translation(record)), "judged"),
            differences("Human reference", correct, contrastive),
            differences("Human reference with the error put in", contrastive, correct),
        ),
    }


def _mucow(record: Mapping[str, Any]) -> dict[str, Any]:
    # Without a word, nothing is marked: the senses tell what is asked.
    source, word = _text(record, "source"), "" if _get(record, "word") is None else _text(record, "word")
    marked = marked_words(source, find_form(word, source) or word) if is_quick(source, word) else None
    of_word = f" of “{word}”" if word else ""
    return {
        "blocks": (
            block_of("Source", source, marked, "source"),
            Block("Translation", plain(_translation(record)), "judged"),
            Block(f"Correct sense{of_word}", plain(_texts(record, "correct_sense", ", "))),
            Block(f"Wrong sense{of_word}", plain(_texts(record, "wrong_sense", ", "))),
        )
    }


def _winomt(record: Mapping[str, Any]) -> dict[str, Any]:
    entity = _text(record, "entity")
    source = _text(record, "source")
    pieces = marked_words(source, entity)
    blocks = (
        block_of("Source", source, pieces, "source"),
        Block("Translation", plain(_translation(record)), "judged"),
    )
    marked = any(mark for _, mark in pieces or ())
    return {"blocks": blocks if marked else (*blocks, Block("Occupation", plain(entity)))}


def _challenge(record: Mapping[str, Any]) -> dict[str, Any]:
    # The construction is looked for in the source, or in the reference.
    name = "reference" if record.get("side") == "target" else "source"
    searched = _texts(record, name)
    marked = _construction(record, searched)
    source = Block("Source", plain(_text(record, "source")), "source")
    blocks = [
        *_about_phenomenon(record),
        Block("Words", plain(" … ".join(_ends(record)))),
        block_of("Source", searched, marked, "source") if name == "source" else source,
    ]
    with_translation = _get(record, "translation") is not None
    if with_translation:
        blocks.append(Block("Translation", plain(_translation(record)), "judged"))
    if record.get("reference"):
        reference = Block("Human reference", plain(_texts(record, "reference")))
        blocks.append(block_of("Human reference", searched, marked) if name == "reference" else reference)
    if with_translation:
        return {"blocks": tuple(blocks)}
    return {"blocks": tuple(blocks), "labels": REAL_OR_NOT, "question": REAL_QUESTION}


def _construction(record: Mapping[str, Any], text: str) -> Pieces | None:
    """The text with head and dependent marked: where they stand if that is known, else all words like them."""
    spans = [record.get(f"{end}_at") for end in _ENDS]
    if placed := spans_marked(text, [span for span in spans if span is not None]):
        return placed
    tokens, places = record.get("tokens"), [record.get(end) for end in _ENDS]
    if isinstance(tokens, list) and all(isinstance(token, str) for token in tokens):
        found = tokens_marked(text, tokens, [place for place in places if isinstance(place, int)])
        if found:
            return found
    return marked_words(text, *_ends(record))


_ENDS = ("head", "dependent")


def _ends(record: Mapping[str, Any]) -> list[str]:
    """Head and dependent as words; as numbers where only those are known."""
    tokens, found = record.get("tokens"), []
    for name in _ENDS:
        end = record.get(f"{name}_form", record.get(name))
        if end is None:
            raise BabelscopeError(f"field {name!r} is missing")
        if isinstance(end, int):
            known = isinstance(tokens, list) and 1 <= end <= len(tokens)
            end = tokens[end - 1] if known and tokens else f"token {end}"
        found.append(str(end))
    return found


def _assessment(record: Mapping[str, Any]) -> dict[str, Any]:
    # Without the reference: whoever sees it judges how near the translation is to it.
    return {
        "blocks": (
            Block("Source", plain(_text(record, "source")), "source"),
            Block("Translation", plain(_translation(record)), "judged"),
        )
    }


def _ranking(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "blocks": (Block("Source", plain(_text(record, "source")), "source"),),
        "translations": _translations(record),
    }


def _choice(record: Mapping[str, Any]) -> dict[str, Any]:
    texts = _translations(record)
    letters = ascii_uppercase[: len(texts)]
    if record.get("gold") not in tuple(letters):
        raise BabelscopeError(
            f"field 'gold' must be the letter of the right translation, {', '.join(letters)}"
        )
    # Each is compared with the one after it, so that no one of them is the measure of the others.
    others = (*texts[1:], texts[0])
    shown = (
        replace(differences(f"Translation {letter}", text, other), role="judged")
        for letter, text, other in zip(letters, texts, others, strict=True)
    )
    right = tuple(Label(letter, f"Only translation {letter} is right.") for letter in letters)
    return {
        "blocks": (Block("Source", plain(_text(record, "source")), "source"), *shown),
        "labels": (*right, *GUIDES["choice"].labels),
    }


def _translations(record: Mapping[str, Any]) -> tuple[str, ...]:
    found = record.get("translations")
    if not isinstance(found, list) or len(found) < 2 or not all(isinstance(each, str) for each in found):
        raise BabelscopeError("field 'translations' must be a list of at least two texts")
    if len(found) > len(ascii_uppercase):
        raise BabelscopeError(
            f"a list of {len(found)} translations is too long to judge; {len(ascii_uppercase)} are the most"
        )
    return tuple(found)


_VIEWS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "machine-reference": _machine_reference,
    "mucow": _mucow,
    "winomt": _winomt,
    "challenge": _challenge,
    # Nobody's translation: what was extracted is judged.
    "extraction": lambda record: {"blocks": _challenge({**record, "translation": None})["blocks"]},
    "assessment": _assessment,
    "ranking": _ranking,
    "choice": _choice,
}
