"""What can be chosen about either kind of pattern matching."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from babelscope.core.results import Record, Row
from babelscope.core.settings import MethodSettings, Rerun
from babelscope.core.system import TOLD, Scored, told_counts
from babelscope.language.base import GenderRules, Morphology
from babelscope.language.fitness import check_language, other_language
from babelscope.language.registry import LANGUAGES
from babelscope.methods.base import ANSWER_FILES
from babelscope.systems.contract import ask_answered, ask_translate, relocate_errors
from babelscope.systems.translation_files import Given, read_translations
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.pattern_files import match_translations
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import open_to_read


class PatternSettings(MethodSettings):
    """Whose translations are judged, and by which files."""

    translations: Rerun[Path | None] = None
    """Translations made elsewhere: a line each, plain or `source ||| translation`, or a log (.jsonl)."""
    beam: Rerun[int] = Field(default=5, ge=1)
    """Beam size of a system that is asked."""

    @property
    def is_whole(self) -> bool:
        """Alignments are made of, and files are parallel to, all translations."""
        return True

    @field_validator("*")
    @classmethod
    def _is_there(cls, value: Any) -> Any:
        if isinstance(value, Path):
            _digest(value)  # told before any system is asked
        return value


def identity_of(settings: PatternSettings, answer_files: Iterable[str]) -> dict[str, Any]:
    """Digests in the place of paths; those of files about one system's answers apart.

    A run can be judged again where its files are no more; what they were is then in its manifest.
    """
    digests = {
        name: _digest(value) for name, value in settings if isinstance(value, Path) and value.is_file()
    }
    apart = {name: digests[name] for name in answer_files if name in digests}
    return {**digests, **dict.fromkeys(apart, "given"), ANSWER_FILES: apart}


def _digest(path: Path) -> str:
    with open_to_read(path) as file:
        return hashlib.sha256(file.read()).hexdigest()


# --- What both pattern-matching methods ask: translations, and files parallel to them ------------------------------

TranslationOrReason = Scored | str
"""A translation, or the reason for none."""


def ask_translations(
    systems: Mapping[str, Any], items: Sequence[AmbiguousSource], settings: PatternSettings
) -> list[TranslationOrReason]:
    """The system's translation of each item, or the reason for none.

    An item without an answer keeps its place: files are parallel to all items, not to those answered.
    """
    with relocate_errors(lambda what, number: f"item {items[number - 1].id}: the {what}"):
        answers = ask_answered(
            lambda asked: ask_translate(systems["system"], asked, beam=settings.beam),
            [item.question for item in items],
        )
    return [answer if isinstance(answer, str) else answer[0] for answer in answers]


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


def match_file_lines(
    path: Path | None, items: Sequence[AmbiguousSource], answers: Sequence[TranslationOrReason]
) -> tuple[list[Given], list[int]]:
    """The lines of a file of translations, and for each item the number of its line.

    Other files (alignments, lemmas) are parallel to this file, or to the test set if there is none.
    """
    texts = [None if isinstance(answer, str) else answer.text for answer in answers]
    if path is None:
        return [Given("", text or "") for text in texts], list(range(len(items)))
    given = read_translations(path)
    matched = match_translations(items, given, what=str(path), skip_missing=True)
    for item, text, number in zip(items, texts, matched, strict=True):
        if text is not None and (number is None or given[number].translation.split() != text.split()):
            raise BabelscopeError(f"{path} has another translation of item {item.id} than the system gave")
    return given, [number or 0 for number in matched]


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


def count_other_languages(rows: Sequence[Row], records: Sequence[Record]) -> list[Row]:
    """The rows, each with the number of translations in other languages and with chatter, if there are any."""
    others = sum("other_language" in record for record in records)
    told = {"other_language": others} if others else {}
    told |= told_counts(Counter(note for record in records for note in record.get("notes", ())))
    return [Row(row.name, row.estimate, row.labels, {**row.counts, **told}) for row in rows]
