"""What both pattern-matching methods ask: translations, and files parallel to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.core.answers import Scored
from babelscope.core.notes import TOLD
from babelscope.core.results import Record
from babelscope.methods.patterns.settings import PatternSettings
from babelscope.systems.asking import ask_answered, ask_translate, relocate_errors
from babelscope.systems.translation_files import Given, read_translations
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.pattern_files import match_translations
from babelscope.util.errors import BabelscopeError

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
