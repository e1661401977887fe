"""Questions about MuCoW's sentences: translations, with lemmas and earlier verdicts from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.results import Record
from babelscope.methods.patterns.asking import answered_records, ask_translations, match_file_lines
from babelscope.methods.patterns.mucow.settings import MucowSettings
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.pattern_files import read_lemmas, read_verdicts
from babelscope.util.errors import BabelscopeError


def ask(
    systems: Mapping[str, Any], items: Sequence[AmbiguousSource], settings: MucowSettings, _seed: int
) -> list[Record]:
    """A record an item: its translation, its lemmas and its earlier verdict where files have them."""
    for item in items:
        if not all(isinstance(item.extra.get(name), list) for name in ("lemmas", "wrong_lemmas")):
            raise BabelscopeError(
                f"item {item.id} is none of MuCoW: it needs lists of words `lemmas` and `wrong_lemmas`"
            )
    stored = {} if settings.verdicts is None else match_verdicts(items, read_verdicts(settings.verdicts))
    answers = ask_translations(systems, items, settings)
    given, numbers = match_file_lines(settings.translations, items, answers)
    if settings.lemmas is not None:
        parallel_to = str(settings.translations or "the test set")
        given = read_lemmas(settings.lemmas, given, parallel_to=parallel_to)

    def record(number: int, text: str) -> Record:
        item, line = items[number], given[numbers[number]]
        if settings.word_matching == "stored" and item.id not in stored:
            return {"unanswered": f"{settings.verdicts} has no verdict"}
        return {
            "source": item.source,
            **{name: item.extra.get(name) for name in ("word", "corpus", "domain")},
            "category": item.category,
            "right_words": item.extra["lemmas"],
            "wrong_words": item.extra["wrong_lemmas"],
            "translation": text,
            "given_lemmas": line.lemmas,
            "folded": line.folded,
            **({"stored": stored[item.id]} if item.id in stored else {}),
        }

    return answered_records(answers, record)


def match_verdicts(
    items: Sequence[AmbiguousSource], verdicts: Sequence[tuple[str, Mapping[str, Any]]]
) -> dict[str, bool | None]:
    """Earlier verdicts by item id, matched by source and word; duplicates are matched in order."""
    waiting: dict[tuple[Any, Any], list[str]] = {}
    for item in items:
        waiting.setdefault((item.source, item.extra.get("word")), []).append(item.id)
    found: dict[str, bool | None] = {}
    for place, verdict in verdicts:
        same = waiting.get((verdict.get("source"), verdict.get("word")))
        if not same:
            raise BabelscopeError(f"{place}: no item of the test set has this source and word")
        correct = verdict.get("correct")
        if correct is not None and not isinstance(correct, bool):
            raise BabelscopeError(f"{place}: field 'correct' must be true, false or null")
        found[same.pop(0)] = correct
    return found
