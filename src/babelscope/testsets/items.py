"""The items of test sets: minimal pairs, ambiguous sources, parallel sentences, dependencies; to JSON and back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from babelscope.core.system import ItemChoice, Question
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import replacing
from babelscope.util.text import LARGEST_HELD, LocatedRecord, fail_at, read_json_lines, shorten, text_fault

NO_SOURCE = "no_source"
"""Field of items whose source is unknown or missing."""
BEGINNING = "beginning"
"""Field of minimal pairs whose source is not translated but continued."""
MISSPELLED = "misspelled_word"
"""The control of pairs without a source: language models hardly ever write misspelled words."""
# A list of one text is written as the text itself, as in "contrastive": "..."; both forms can be read.
_ONE_AS_TEXT = {"one_as_text": True}


class UnusableItem(BabelscopeError):
    """An item that no system can be asked about; readers of published sets skip it and count it by `reason`."""

    reason: str


class EmptyText(UnusableItem):
    """A required text is empty."""

    def __init__(self, name: str) -> None:
        super().__init__(f"field {name!r} is empty")
        self.reason = f"empty {name}"


class EqualVariant(UnusableItem):
    """A contrastive translation equals the correct one."""

    reason = "variant equal to the correct translation"

    def __init__(self, item: str) -> None:
        super().__init__(
            f"item {shorten(item)} has a contrastive translation that equals the correct one; insert "
            f"the error, or remove the item"
        )


@dataclass(frozen=True, slots=True)
class _Item:
    """Base of all items: conversion to JSON and back. Subclasses check their fields when they are made."""

    extra: Mapping[str, Any] = field(default_factory=dict, hash=False, kw_only=True)
    """Other fields of its JSON object, which are preserved."""

    @classmethod
    def from_json(cls, record: Mapping[str, Any], **how: bool) -> Self:
        """Make an item from a JSON object; unknown fields become `extra`. `how` is passed to the class."""
        values: dict[str, Any] = {}
        rest = dict(record)
        for known in _own_fields(cls):
            name = _json_name(known)
            if name in rest:
                values[known.name] = rest.pop(name)
            elif known.default is dataclasses.MISSING:
                raise BabelscopeError(f"field {name!r} is missing")
        return cls(**values, extra=rest, **how)

    def as_json(self) -> dict[str, Any]:
        """The item as a JSON object: its own fields in their order, then `extra`."""
        record: dict[str, Any] = {}
        for known in _own_fields(type(self)):
            value = getattr(self, known.name)
            if isinstance(value, tuple):
                value = value[0] if "one_as_text" in known.metadata and len(value) == 1 else list(value)
            if value is not None:
                record[_json_name(known)] = value
        return {**record, **self.extra}

    @property
    def carried(self) -> dict[str, Any]:
        """The fields that every method copies into its records: languages, context and `extra`."""
        return {
            name: value
            for name, value in self.as_json().items()
            if name in _CONTEXT_FIELDS or name in self.extra
        }


@dataclass(frozen=True, slots=True)
class _Asked(_Item):
    """Base of items that a system is asked about; None for fields that the JSON object does not have."""

    source_language: str | None = field(default=None, kw_only=True)
    target_language: str | None = field(default=None, kw_only=True)
    context_source: tuple[str, ...] | None = field(default=None, kw_only=True)
    """Sentences before the source, oldest first."""
    context_target: tuple[str, ...] | None = field(default=None, kw_only=True)
    """Translations of sentences before it, oldest first."""

    @property
    def question(self) -> Question:
        """The question for a system: the source with its context and languages."""
        known = {name: getattr(self, name) for name in _CONTEXT_FIELDS if getattr(self, name)}
        item: Any = self  # each kind has a source and an id
        return Question(item.source, **known, item=item.id)


_CONTEXT_FIELDS = ("source_language", "target_language", "context_source", "context_target")


@dataclass(frozen=True, slots=True)
class MinimalPair(_Asked):
    """A source with a correct translation and variants of it that differ by one error."""

    id: str
    source: str
    correct: str
    contrastive: tuple[str, ...] = field(metadata=_ONE_AS_TEXT)
    phenomenon: str
    reference: Literal["human", "machine"]
    """Who wrote the correct translation."""
    for_scores: bool = field(default=False, kw_only=True, compare=False, repr=False)
    """Only stored scores will be read for it, so that texts may be empty, variants missing or equal to `correct`."""

    def __post_init__(self) -> None:
        for name in ("id", "source", "correct", "phenomenon", "reference"):
            text = self.for_scores and name in ("source", "correct")
            _check_text(name, getattr(self, name), may_be_empty=text)
        _set_texts(self, "contrastive", least=1, may_be_empty=self.for_scores)
        if self.reference not in ("human", "machine"):
            raise BabelscopeError(
                f"field 'reference' must be human or machine, not {shorten(self.reference)}"
            )
        _check_context(self)
        if self.correct in self.contrastive and not self.for_scores:
            raise EqualVariant(self.id)

    @property
    def can_be_asked(self) -> bool:
        """Whether a system can be asked: it has no empty text, and a variant."""
        texts = (self.source, self.correct, *self.contrastive)
        return bool(self.contrastive) and all(text.strip() for text in texts)


@dataclass(frozen=True, slots=True)
class AmbiguousSource(_Asked):
    """A source with an ambiguous word, and the same source with cues for the right and for wrong senses."""

    id: str
    source: str
    correct_sources: tuple[str, ...]
    """The source with each cue for the right sense; empty if no cue could be inserted."""
    incorrect_sources: tuple[str, ...]
    category: str
    """Group of the item, such as male or female, frequent or rare."""
    translation: str | None = None
    """A translation to judge instead of asking a system for one; it may be empty."""
    gold: str | None = None
    """The right sense."""

    def __post_init__(self) -> None:
        for name in ("id", "source", "category"):
            _check_text(name, getattr(self, name))
        for name in ("correct_sources", "incorrect_sources"):
            _set_texts(self, name)
        if self.translation is not None:
            _check_text("translation", self.translation, may_be_empty=True)
        if self.gold is not None:
            _check_text("gold", self.gold)
        _check_context(self)


@dataclass(frozen=True, slots=True)
class ParallelSentence(_Asked):
    """A source with one or more reference translations."""

    id: str
    source: str
    references: tuple[str, ...] = field(metadata={**_ONE_AS_TEXT, "json": "reference"})

    def __post_init__(self) -> None:
        _check_text("id", self.id)
        _check_text("source", self.source)
        _set_texts(self, "references", least=1, name="reference")
        _check_context(self)


@dataclass(frozen=True, slots=True)
class SourceSentence(_Asked):
    """A source without references, for methods and metrics that need none."""

    id: str
    source: str

    def __post_init__(self) -> None:
        _check_text("id", self.id)
        _check_text("source", self.source)
        _check_context(self)

    @property
    def references(self) -> tuple[str, ...]:
        """None: an empty tuple, so that it can stand where a ParallelSentence does."""
        return ()


@dataclass(frozen=True, slots=True)
class Dependency(_Item):
    """Two words of a sentence that belong together; tokens count from 1, head 0 is the root (CoNLL-U)."""

    id: str
    phenomenon: str
    head: int
    dependent: int
    distance: int

    def __post_init__(self) -> None:
        _check_text("id", self.id)
        _check_text("phenomenon", self.phenomenon)
        for name, least in (("head", 0), ("dependent", 1), ("distance", 0)):
            value = getattr(self, name)
            if type(value) is not int:  # bool is an int to isinstance
                raise BabelscopeError(f"field {name!r} must be a whole number, not {_type_in_words(value)}")
            if value < least:
                raise BabelscopeError(f"field {name!r} must be at least {least}, not {value}")
        _check_extra(self)


Item = MinimalPair | AmbiguousSource | ParallelSentence | SourceSentence | Dependency


def choice_of(item: Item) -> ItemChoice:
    """An item as stored answers are aligned with it."""
    source = "" if isinstance(item, Dependency) else item.source
    if isinstance(item, MinimalPair):
        human = item.extra.get("human_reference")
        return ItemChoice(
            item.id,
            len(item.contrastive),
            empty=not item.can_be_asked,
            source=source,
            texts=(item.correct, *item.contrastive),
            references=(human,) if isinstance(human, str) and human.strip() else (),
        )
    return ItemChoice(item.id, source=source)


# Fields that identify a kind of item. A minimal pair has a `reference` too, and nearly all have a `source`, so that
# these come last.
_KIND_FIELDS: Mapping[type[Item], frozenset[str]] = {
    MinimalPair: frozenset({"correct", "contrastive"}),
    AmbiguousSource: frozenset({"correct_sources", "incorrect_sources"}),
    Dependency: frozenset({"head", "dependent"}),
    ParallelSentence: frozenset({"reference"}),
    SourceSentence: frozenset({"source"}),
}


def kind_of(record: Mapping[str, Any]) -> type[Item]:
    """The kind of item that a JSON object is, by its fields."""
    for kind, telling in _KIND_FIELDS.items():
        if telling & record.keys():
            return kind
    shown = "; ".join(
        f"{kind.__name__} by {', '.join(sorted(names))}" for kind, names in _KIND_FIELDS.items()
    )
    raise BabelscopeError(f"not an item: its fields match no kind (a {shown})")


_NO_JSON = ("extra", "for_scores")
_OWN_FIELDS: dict[type[_Item], list[dataclasses.Field[Any]]] = {}


def _own_fields(kind: type[_Item]) -> list[dataclasses.Field[Any]]:
    if kind not in _OWN_FIELDS:  # cached, since it is needed for every item
        known = [each for each in dataclasses.fields(kind) if each.name not in _NO_JSON]
        _OWN_FIELDS[kind] = sorted(known, key=lambda each: each.name in _CONTEXT_FIELDS)  # written last
    return _OWN_FIELDS[kind]


def _json_name(known: dataclasses.Field[Any]) -> str:
    name: str = known.metadata.get("json", known.name)
    return name


def _check_text(name: str, value: object, *, may_be_empty: bool = False, many: str = "text") -> None:
    if not isinstance(value, str):
        raise BabelscopeError(f"field {name!r} must be {many}, not {_type_in_words(value)}")
    if fault := text_fault(value):
        raise BabelscopeError(f"field {name!r} {fault}: {shorten(value)}")
    if not may_be_empty and not value.strip():
        raise EmptyText(name)


def _set_texts(
    item: _Item, attribute: str, *, least: int = 0, name: str = "", may_be_empty: bool = False
) -> None:
    """Check a field of several texts and make it a tuple; if `least` is 1, a single text is accepted too."""
    name = name or attribute
    value = getattr(item, attribute)
    if isinstance(value, str) and least:
        value = (value,)
    if not isinstance(value, list | tuple):
        wanted = "text or a list of texts" if least else "a list of texts"
        raise BabelscopeError(f"field {name!r} must be {wanted}, not {_type_in_words(value)}")
    if len(value) < least and not may_be_empty:
        raise EmptyText(name)
    for text in value:
        _check_text(name, text, may_be_empty=may_be_empty, many="a list of texts only")
    object.__setattr__(item, attribute, tuple(value))


def _check_context(item: _Asked) -> None:
    """Check languages, context and `extra`."""
    for name in _CONTEXT_FIELDS:
        if (value := getattr(item, name)) is None:
            continue
        if name.startswith("context"):
            _set_texts(item, name, may_be_empty=True)
        else:
            _check_text(name, value, may_be_empty=True)
    _check_extra(item)


def _check_extra(item: _Item) -> None:
    """Raise if `extra` repeats a field of the item or cannot be written as JSON."""
    if not item.extra:
        return
    clash = {_json_name(known) for known in _own_fields(type(item))} & item.extra.keys()
    if clash:
        raise BabelscopeError(f"extra has the item's own field {min(clash)!r}")
    try:
        json.dumps(dict(item.extra), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        reason = "it has a lone surrogate, which is not valid Unicode text"
    except (TypeError, ValueError, RecursionError) as error:
        reason = str(error)
    else:
        return
    raise BabelscopeError(f"fields beyond the item's own cannot be kept as JSON: {reason}")


def _type_in_words(value: object) -> str:
    """The type of a value in plain words, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    for types, words in (
        (int | float, "a number"),
        (str, "text"),
        (list | tuple, "a list"),
        (dict, "an object"),
    ):
        if isinstance(value, types):
            return words
    return type(value).__name__


# --- A test set: items of one kind with unique ids, its digest, and JSON lines in and out --------------------------


_Kind = TypeVar("_Kind", bound=Item)


@dataclass(frozen=True)
class TestSet:
    """Items of one kind, in order."""

    # Keeps pytest from collecting the class because of its name.
    __test__ = False

    name: str
    items: tuple[Item, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many items of the files are left out, by reason."""
    version: int = 1
    """Increased when figures over it change."""

    def __post_init__(self) -> None:
        if not self.items:
            left_out = "".join(f"; {count} left out: {reason}" for reason, count in self.skipped.items())
            raise BabelscopeError(f"the test set {self.name} has no items{left_out}")
        seen: set[str] = set()
        for item in self.items:
            if type(item) is not self.kind:
                raise BabelscopeError(
                    f"the test set {self.name} mixes {self.kind.__name__} and {type(item).__name__}"
                )
            if item.id in seen:
                raise BabelscopeError(f"the test set {self.name} has the id {item.id!r} twice")
            seen.add(item.id)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    @property
    def kind(self) -> type[Item]:
        """The class of its items."""
        return type(self.items[0])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the items, without name and path of the set."""
        return digest_json([self.kind.__name__, [item.as_json() for item in self.items]])

    @property
    def identity(self) -> dict[str, str | int]:
        """What goes into a signature."""
        return {"kind": self.kind.__name__, "digest": self.digest, "version": self.version}

    def items_of(self, kind: type[_Kind], *, what_for: str) -> tuple[_Kind, ...]:
        """The items, if they are of this kind; else an error that names what needs them."""
        if self.kind is not kind:
            raise BabelscopeError(
                f"{what_for} needs {kind.__name__} items, but {self.name} has {self.kind.__name__} items"
            )
        return self.items  # type: ignore[return-value]

    def write(self, path: str | Path) -> None:
        """Write the items as JSON lines; an existing file is replaced at the end, atomically."""
        with replacing(Path(path)) as file:
            for item in self.items:
                file.write(json.dumps(item.as_json(), ensure_ascii=False).encode() + b"\n")


def read_items(path: str | Path, *, skipped: MutableMapping[str, int] | None = None) -> Iterator[Item]:
    """Yield the items of a JSON-lines file; with `skipped`, unusable ones are counted there."""
    return make_items(read_json_lines(path, most=LARGEST_HELD), skipped=skipped)


def make_items(
    rows: Iterable[LocatedRecord], *, skipped: MutableMapping[str, int] | None = None, **how: bool
) -> Iterator[Item]:
    """Yield items made from JSON objects, all of the first one's kind; errors name the place of the object."""
    kind: type[Item] | None = None
    places: dict[str, str] = {}
    for place, record in rows:
        try:
            kind = kind or kind_of(record)
            item = kind.from_json(record, **how)
        except UnusableItem as error:
            if skipped is None:
                fail_at(place, error)
            skipped[error.reason] = skipped.get(error.reason, 0) + 1
            continue
        except BabelscopeError as error:
            fail_at(place, error)
        if item.id in places:
            fail_at(place, f"id {item.id!r} is already used at {places[item.id]}")
        places[item.id] = place
        yield item
