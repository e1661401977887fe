"""What both kinds of pattern matching share: settings, translations and files parallel to them, tables."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Record, Row, grouped
from babelscope.core.settings import ErrorSettings, Rerun
from babelscope.core.system import REPORTED_FLAGS, System, count_flags
from babelscope.core.tables import Table
from babelscope.language.fitness import check_language, other_language
from babelscope.methods.base import ANSWER_FILES, Items, Method
from babelscope.methods.queue import entry
from babelscope.methods.reporting import (
    Figure,
    ItemView,
    TextLine,
    Tone,
    complement,
    count_notes,
    every_figure,
    find_row,
    summary_table,
)
from babelscope.systems.contract import ask_answered, ask_translate, relocate_errors
from babelscope.systems.stored.formats import Given
from babelscope.systems.stored.translations import TranslationsFile
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.pattern_files import match_translations
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import open_to_read

WITHOUT_NEUTRAL = "male and female"
_SHOWN = ("translation", "translated_as", "predicted", "right_words", "wrong_words", "lemmas")
_VERDICTS: Mapping[Any, tuple[str, Tone]] = {
    True: ("right", "none"),
    False: ("wrong", "errors"),
    None: ("unknown", "note"),
}


class PatternSettings(ErrorSettings):
    """Whose translations are judged, and by which files."""

    beam: Rerun[int] = Field(default=5, ge=1)
    """Beam size of a system that is asked."""

    answer_files: ClassVar[tuple[str, ...]] = ()
    """Fields that name files about one system's answers."""

    @property
    def is_whole(self) -> bool:
        """Alignments are made of, and files are parallel to, all translations."""
        return True

    @field_validator("*")
    @classmethod
    def _is_there(cls, value: Any) -> Any:
        if isinstance(value, Path):
            _digest(value)  # a missing file is reported before any system is asked
        return value

    def identity(self) -> Mapping[str, Any]:
        """Digests in place of paths; those of files about one system's answers separately.

        A run can be judged again where its files no longer exist; their digests are then in its manifest.
        """
        digests = {
            name: _digest(value) for name, value in self if isinstance(value, Path) and value.is_file()
        }
        apart = {name: digests[name] for name in self.answer_files if name in digests}
        return {**digests, **dict.fromkeys(apart, "given"), ANSWER_FILES: apart}


def _digest(path: Path) -> str:
    with open_to_read(path) as file:
        return hashlib.sha256(file.read()).hexdigest()


class PatternMethod(Method):
    """A method that judges translations by known words or word forms."""

    items = (AmbiguousSource,)
    title: ClassVar[str]
    """Of the first table."""
    accuracy: ClassVar[str]
    """The figure whose complement is the error rate."""
    other_figures: ClassVar[Sequence[str]]
    """Further figures of the first table."""
    names: ClassVar[Mapping[str, str]]
    """What figures are called in tables."""
    group: ClassVar[str]
    """The field of a record by which its items are grouped."""

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        """One record per item: its translation, and what `fields` adds; or the reason for none."""
        with relocate_errors(lambda what, number: f"item {items[number - 1].id}: the {what}"):
            answers = ask_answered(
                lambda asked: ask_translate(systems["system"], asked, beam=self.settings.beam),
                [item.question for item in items],
            )
        # An item without an answer keeps its place: files are parallel to all items, not to those answered.
        texts = [None if isinstance(answer, str) else answer[0].text for answer in answers]
        records: list[Record] = []
        for item, answer, fields in zip(
            items, answers, self.fields(systems["system"], items, texts), strict=True
        ):
            if isinstance(answer, str):
                records.append({"unanswered": answer})
                continue
            record = {"source": item.source, "translation": answer[0].text, **fields}
            notes = [note for note in answer[0].notes if note in REPORTED_FLAGS]
            records.append({**record, "notes": notes} if notes else record)
        return records

    def fields(
        self, system: System, items: Sequence[AmbiguousSource], texts: Sequence[str | None]
    ) -> Sequence[Record]:
        """What judging needs of each item and of the files parallel to its translation (None: no answer)."""
        raise NotImplementedError

    def parallel_lines(
        self, system: System, items: Sequence[AmbiguousSource], texts: Sequence[str | None]
    ) -> tuple[Sequence[Given], list[int]]:
        """The lines of the system's file of translations, and for each item the number of its line.

        Other files (alignments, lemmas) are parallel to this file, or to the test set if there is none.
        """
        if isinstance(system, TranslationsFile) and system.given:
            numbers = match_translations(items, system.given, what=system.path, skip_missing=True)
            return system.given, [number or 0 for number in numbers]
        return [Given("", text or "") for text in texts], list(range(len(items)))

    def tables(self, comparison: Comparison) -> list[Table]:
        return [
            summary_table(
                comparison,
                self._figures,
                title=f"{self.title}: {comparison.tests}",
                notes=count_notes(comparison, {"other_language": "are in another language"}),
                threshold=self.settings.error_threshold,
            ),
            every_figure(comparison, self.names),
        ]

    def _figures(self, result: SystemResult) -> Iterator[Figure]:
        """1 - accuracy by gender or category and over all, then other figures over all."""
        for each in result.rows:
            category = str(each.labels.get("category", ""))
            if each.name == self.accuracy and category not in ("", WITHOUT_NEUTRAL) and each.estimate.n:
                query = {"verdict": "wrong", **({} if category == "all" else {"group": category})}
                rate = complement(each.estimate)
                yield Figure(f"error rate, {category}", rate, is_error=True, query=query)
        for name in self.other_figures:
            if row := find_row(result.rows, name):  # the first is over all
                yield Figure(self.names[name], row.estimate)

    def show(self, record: Record) -> ItemView:
        """An item with what decided about its translation."""
        verdict, tone = _VERDICTS[record["correct"]]
        group = str(record[self.group])
        question = self.question(record)
        shown = {"translation": record["translation"], **question}
        return ItemView(
            record["source"],
            groups=(group,),
            heading=group,
            verdict=verdict,
            tone=tone,
            answer=lambda: _answer_lines(record),
            questions=[entry(record, group=(group,), **shown)] if question else (),
            group_name="gender" if self.group == "gold" else self.group,
        )

    def question(self, record: Record) -> Record:
        """The task of an annotator, and what is shown beside the translation; empty if nothing can be asked."""
        raise NotImplementedError


def parallel_to(system: System) -> str:
    """What the lines of further files are parallel to, for messages."""
    return system.path if isinstance(system, TranslationsFile) and system.given else "the test set"


def _answer_lines(record: Record) -> list[TextLine]:
    return [
        (name.replace("_", " "), ", ".join(value) if isinstance(value, list) else value)
        for name in _SHOWN
        if (value := record.get(name))
    ]


def require_target(records: Sequence[Record], target: str, tool: str) -> None:
    """Refuse translations that are, all together, in another language than the tool is for."""
    texts = [record["translation"] for record in records]
    check_language(texts, target, what="the translations", needed_by=tool)


def note_language(record: Record, target: str) -> Record:
    """The record, with the field `other_language` if its translation is clearly in another one than the target."""
    other = other_language(record["translation"], target) if target else None
    kept = {name: value for name, value in record.items() if name != "other_language"}
    return {**kept, "other_language": other} if other else kept


def label_rows(rows: Sequence[Row], labels: Mapping[str, str], records: Sequence[Record]) -> list[Row]:
    """The rows with labels, and the number of translations in other languages and with chatter, if there are any."""
    others = sum("other_language" in record for record in records)
    counts = {"other_language": others} if others else {}
    counts |= count_flags(Counter(note for record in records for note in record.get("notes", ())))
    return [replace(row, labels={**labels, **row.labels}, counts={**row.counts, **counts}) for row in rows]


def match_in_order(
    items: Sequence[tuple[Hashable, str]], listed: Sequence[tuple[Hashable, Any, str]]
) -> dict[str, Any]:
    """Item id -> what a list says of it; of items with the same key, the first is the first in the list.

    `items` are (key, id); `listed` are (key, value, error if no item has this key).
    """
    waiting = grouped(items)
    found: dict[str, Any] = {}
    for key, value, error in listed:
        if not waiting.get(key):
            raise BabelscopeError(error)
        found[waiting[key].pop(0)] = value
    return found
