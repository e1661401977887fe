"""What is judged: task items from JSON lines, and the part of each that an annotator may see."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from babelscope.annotate.guidelines import GUIDES, REAL_OR_NOT, REAL_QUESTION, Guide, Label
from babelscope.annotate.marking import (
    Block,
    Pieces,
    block_of,
    differences,
    is_quick,
    marked_words,
    plain,
    spans_marked,
    tokens_marked,
)
from babelscope.language.cues import find_form
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import LocatedRecord, read_json_lines
from babelscope.util.text import shorten

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
    _check_annotators(record)
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


def _check_annotators(record: Mapping[str, Any]) -> None:
    named = record.get("annotators", [])
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise BabelscopeError("field 'annotators' must be a list of names: of those who judge the item")


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


def _extraction(record: Mapping[str, Any]) -> dict[str, Any]:
    # Nobody's translation: what was extracted is judged.
    return {"blocks": _challenge({**record, "translation": None})["blocks"]}


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
    "extraction": _extraction,
    "assessment": _assessment,
    "ranking": _ranking,
    "choice": _choice,
}
