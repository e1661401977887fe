"""Which sense or gender does a translation have? People are asked what the evaluator was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.results import Record
from babelscope.methods.condition.settings import ConditionSettings
from babelscope.methods.queue import Entry, entry

_MOST_SOURCES = 5  # with cues, for each sense: more are not read
_BY_SOURCES = (
    "Which sense does the translation have: that of the sources for the correct sense, or that of the others?"
)


def queue(records: Sequence[Record], _settings: ConditionSettings) -> list[Entry]:
    """The translations that the evaluator could judge and people can: a gender, or a sense that is told somehow."""
    found = []
    for record in records:
        if record["translation"] is None or record["verdict"] is None:
            continue
        extra = record.get("extra", {})
        told = _gender(record, extra) or _words(extra) or _sources(record, extra)
        if told:
            texts = {"translation": record["translation"], **told}
            found.append(entry(record, group=(record["category"],), **texts))
    return found


def _gender(record: Record, extra: Mapping[str, Any]) -> Record:
    """The occupation whose gender is asked for, where an item says it as WinoMT does."""
    occupation = extra.get("occupation")
    if not _is_text(occupation) or record["gold"] not in ("male", "female"):
        return {}
    return {"task": "winomt", "occupation": occupation, "gold": record["gold"]}


def _words(extra: Mapping[str, Any]) -> Record:
    """The senses by words that translate them, where an item has these as MuCoW does."""
    right, wrong = extra.get("lemmas"), extra.get("wrong_lemmas")
    if not (_is_text(extra.get("word")) and _are_texts(right) and _are_texts(wrong)):
        return {}
    return {"task": "mucow", "word": extra["word"], "correct_sense": right, "wrong_sense": wrong}


def _sources(record: Record, extra: Mapping[str, Any]) -> Record:
    """The senses by the sources with cues, where nothing else tells them; stored scores come without sources."""
    sides = [
        [each["source"] for each in record.get(side, ())] for side in ("under_correct", "under_incorrect")
    ]
    if not all(sides):
        return {}
    right, wrong = ("\n".join(own[:_MOST_SOURCES]) for own in sides)
    word = {"word": extra["word"]} if _is_text(extra.get("word")) else {}
    return {
        "task": "mucow",
        "question": _BY_SOURCES,
        **word,
        "correct_sense": right,
        "wrong_sense": wrong,
    }


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))
