"""What both kinds of pattern matching share: settings, translations and files parallel to them, tables."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Record, Row
from babelscope.core.settings import ErrorSettings, Rerun
from babelscope.core.system import TOLD, Scored, System, told_counts
from babelscope.core.tables import Table
from babelscope.language.base import GenderRules, Morphology
from babelscope.language.fitness import check_language, other_language
from babelscope.language.registry import LANGUAGES
from babelscope.methods.base import ANSWER_FILES, Method
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
from babelscope.systems.stored.reading import Given
from babelscope.systems.stored.translations import TranslationsFile
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.pattern_files import match_translations
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import open_to_read

WITHOUT_NEUTRAL = "male and female"


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
        """Digests in the place of paths; those of files about one system's answers apart.

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


def open_morphology(target: str, rules: GenderRules = "published") -> Morphology:
    """The gender analysis of a target language, as in WinoMT (Stanovsky et al. 2019, section 3)."""
    known = {code: each.morphology for code, each in LANGUAGES.all().items() if each.morphology}
    if target not in known:
        raise BabelscopeError(f"there is no WinoMT morphology for {target!r}; known: {', '.join(known)}")
    return known[target](rules)


def check_translations(records: Sequence[Record], target: str, tool: str) -> None:
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
    counts |= told_counts(Counter(note for record in records for note in record.get("notes", ())))
    return [replace(row, labels={**labels, **row.labels}, counts={**row.counts, **counts}) for row in rows]


TranslationOrReason = Scored | str
"""A translation, or the reason for none."""
_SHOWN = ("translation", "translated_as", "predicted", "right_words", "wrong_words", "lemmas")


class PatternMethod(Method):
    """A method that judges translations by known words or word forms."""

    items = (AmbiguousSource,)
    title: ClassVar[str]
    """Of the first table."""
    accuracy: ClassVar[str]
    """The figure whose complement is the error rate."""
    other_figures: ClassVar[Mapping[str, str]]
    """Further figures of the first table, and what they are called there."""
    group: ClassVar[str]
    """The field of a record by which its items are grouped."""

    def translations(
        self, systems: Mapping[str, Any], items: Sequence[AmbiguousSource]
    ) -> list[TranslationOrReason]:
        """The system's translation of each item, or the reason for none.

        An item without an answer keeps its place: files are parallel to all items, not to those answered.
        """
        with relocate_errors(lambda what, number: f"item {items[number - 1].id}: the {what}"):
            answers = ask_answered(
                lambda asked: ask_translate(systems["system"], asked, beam=self.settings.beam),
                [item.question for item in items],
            )
        return [answer if isinstance(answer, str) else answer[0] for answer in answers]

    def parallel_lines(
        self, system: System, items: Sequence[AmbiguousSource], answers: Sequence[TranslationOrReason]
    ) -> tuple[Sequence[Given], list[int]]:
        """The lines of the system's file of translations, and for each item the number of its line.

        Other files (alignments, lemmas) are parallel to this file, or to the test set if there is none.
        """
        if isinstance(system, TranslationsFile) and system.given:
            numbers = match_translations(items, system.given, what=system.path, skip_missing=True)
            return system.given, [number or 0 for number in numbers]
        texts = ["" if isinstance(answer, str) else answer.text for answer in answers]
        return [Given("", text) for text in texts], list(range(len(items)))

    def tables(self, comparison: Comparison) -> list[Table]:
        return [
            summary_table(
                comparison,
                self._figures,
                title=f"{self.title}: {comparison.tests}",
                notes=count_notes(comparison, {"other_language": "are in another language"}),
                threshold=self.settings.error_threshold,
            ),
            every_figure(comparison),
        ]

    def _figures(self, result: SystemResult) -> Iterator[Figure]:
        """1 - accuracy by gender or category and over all, then other figures over all."""
        for each in result.rows:
            category = str(each.labels.get("category", ""))
            if each.name == self.accuracy and category not in ("", WITHOUT_NEUTRAL) and each.estimate.n:
                query = {"verdict": "wrong", **({} if category == "all" else {"group": category})}
                rate = complement(each.estimate)
                yield Figure(f"error rate, {category}", rate, is_error=True, query=query)
        for name, words in self.other_figures.items():
            if row := find_row(result.rows, name):  # the first is over all
                yield Figure(words, row.estimate)

    def show(self, record: Record) -> ItemView:
        """An item with what decided about its translation."""
        verdicts: Mapping[Any, tuple[str, Tone]] = {True: ("right", "none"), False: ("wrong", "errors")}
        verdict, tone = verdicts.get(record["correct"], ("unknown", "note"))
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


def answered_records(
    answers: Sequence[TranslationOrReason], record: Callable[[int, str], Record]
) -> list[Record]:
    """`record(number, translation)` of each item; `unanswered` with the reason where there is no translation."""
    records = []
    for number, answer in enumerate(answers):
        if isinstance(answer, str):
            records.append({"unanswered": answer})
            continue
        made = dict(record(number, answer.text))
        if notes := [note for note in answer.notes if note in TOLD]:
            made["notes"] = notes
        records.append(made)
    return records


def _answer_lines(record: Record) -> list[TextLine]:
    values = [(name, record.get(name)) for name in _SHOWN]
    return [
        (name.replace("_", " "), ", ".join(value) if isinstance(value, list) else str(value))
        for name, value in values
        if value
    ]
