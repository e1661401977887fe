"""MuCoW by known words: among the tokens of a translation, then among its lemmas (Raganato et al. 2019)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from babelscope.core.results import Record, Row
from babelscope.stats.intervals import Array, proportion, resampled_counts
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.mucow import NO_CATEGORY
from babelscope.util.errors import BabelscopeError

GROUPINGS = ("category", "domain")
"""Frequent and infrequent senses, and senses in and out of the training data's domain."""


class Translated(NamedTuple):
    """A translation, and the lemmas of its words with spaces between, if there are any."""

    text: str
    lemmas: str | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """How a translation's words are told apart and compared with the known ones."""

    name: str
    tokens: re.Pattern[str]
    normal: Callable[[str], str]


def fold(word: str) -> str:
    """A word in small letters without accents; the log's lemmas are stored so."""
    plain = word.lower().replace("ß", "ss")
    return "".join(
        letter for letter in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(letter)
    )


RULES = {
    rules.name: rules
    for rules in (
        # The suite's own evaluation; Moses leaves hyphenated words together.
        Rules("mucow", re.compile(r"\w+(?:-\w+)*|[^\w\s]"), str.lower),
        # That of the conditioning paper (appendix E): hyphenated words are split.
        Rules("conditioning", re.compile(r"\w+|[^\w\s]"), fold),
    )
}


def judge(
    items: Sequence[AmbiguousSource],
    translations: Sequence[Translated | None],
    *,
    rules: str = "mucow",
    compound_mark: str = "",
) -> list[Record]:
    """A record for every item that has a translation: correct, wrong, or unknown (null).

    A known wrong word makes it wrong, whatever else is there. Lemmas are asked only if no token is known.
    """
    if rules not in RULES:
        raise BabelscopeError(f"there are no rules {rules!r}; known: {', '.join(RULES)}")
    records = []
    for item, translation in zip(items, translations, strict=True):
        if translation is None:
            continue
        right, wrong = item.extra.get("lemmas"), item.extra.get("wrong_lemmas")
        if not isinstance(right, list) or not isinstance(wrong, list):
            raise BabelscopeError(
                f"item {item.id} is none of MuCoW: it needs lists of words `lemmas` and `wrong_lemmas`"
            )
        correct, where = _verdict(translation, right, wrong, RULES[rules], compound_mark)
        records.append(
            {
                **_described(item),
                "translation": translation.text,
                "lemmas": translation.lemmas,
                "correct": correct,
                "found_in": where,
            }
        )
    return records


def from_verdicts(
    items: Sequence[AmbiguousSource], verdicts: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[Record]:
    """Records of verdicts stored earlier, matched by source and word, identical ones in order."""
    waiting: dict[tuple[Any, Any], list[AmbiguousSource]] = {}
    for item in items:
        waiting.setdefault((item.source, item.extra.get("word")), []).append(item)
    records = []
    for place, verdict in verdicts:
        same = waiting.get((verdict.get("source"), verdict.get("word")))
        if not same:
            raise BabelscopeError(f"{place}: no item of the test set has this source and word")
        correct = verdict.get("correct")
        if correct is not None and not isinstance(correct, bool):
            raise BabelscopeError(f"{place}: field 'correct' must be true, false or null")
        item = same.pop(0)
        records.append({**_described(item), "translation": verdict.get("translation"), "correct": correct})
    return records


def _described(item: AmbiguousSource) -> Record:
    return {
        "id": item.id,
        "source": item.source,
        "word": item.extra.get("word"),
        "corpus": item.extra.get("corpus"),
        "category": item.category,
        "domain": item.extra.get("domain"),
    }


def _verdict(
    translation: Translated, right: list[str], wrong: list[str], rules: Rules, compound_mark: str
) -> tuple[bool | None, str | None]:
    known_right = {rules.normal(word) for word in right}
    known_wrong = {rules.normal(word) for word in wrong}
    lemmas = translation.lemmas or ""
    if compound_mark:
        lemmas = lemmas.replace(compound_mark, "")
    for where, words in (("tokens", rules.tokens.findall(translation.text)), ("lemmas", lemmas.split(" "))):
        found = {rules.normal(word) for word in words}
        if found & known_wrong:
            return False, where
        if found & known_right:
            return True, where
    return None, None


_KINDS: tuple[bool | None, ...] = (True, False, None)


def summarise(
    records: Sequence[Record], rng: np.random.Generator, *, counts: Mapping[str, int] | None = None
) -> list[Row]:
    """Coverage, precision, both recalls and F1s, over all and by group.

    Recall A is correct / (correct + unknown), which the suite's tables show; recall B is correct / all,
    which its papers define (comment in its evaluation script; Scherrer et al. 2020).
    """
    rows: list[Row] = []
    for labels, group in _groups(records):
        cells = [_KINDS.index(record["correct"]) for record in group]
        correct, wrong, unknown = (cells.count(kind) for kind in range(3))
        shown = {"correct": correct, "wrong": wrong, "unknown": unknown, **(counts or {})}
        known = correct + wrong
        plain = {
            "coverage": proportion(known, len(cells)),
            "precision": proportion(correct, known),
            "recall_a": proportion(correct, correct + unknown),
            "recall_b": proportion(correct, len(cells)),
        }
        f1 = dict(zip(("f1_a", "f1_b"), resampled_counts(cells, 3, _f1, rng), strict=True))
        rows += [Row(name, estimate, labels, shown) for name, estimate in (plain | f1).items()]
    return rows


def same_verdicts(records: Sequence[Record], stored: Sequence[Record]) -> Row:
    """How many items are judged as they were before."""
    before = {record["id"]: record["correct"] for record in stored}
    compared = [record for record in records if record["id"] in before]
    same = sum(record["correct"] is before[record["id"]] for record in compared)
    return Row("same_verdict", proportion(same, len(compared)), {"category": "all"}, {"same": same})


def _groups(records: Sequence[Record]) -> list[tuple[dict[str, str | int], list[Record]]]:
    groups: list[tuple[dict[str, str | int], list[Record]]] = [({"category": "all"}, list(records))]
    for grouping in GROUPINGS:
        for name in sorted({str(r[grouping]) for r in records if r.get(grouping) not in (None, NO_CATEGORY)}):
            groups.append(({grouping: name}, [r for r in records if r.get(grouping) == name]))
    return groups


def _f1(counts: Array) -> Array:
    """F1 with recall A and with recall B: 2 correct / (what precision and recall divide by)."""
    correct, wrong, unknown = (counts[..., kind].astype(float) for kind in range(3))
    sums = [2 * correct + wrong + unknown, 2 * correct + 2 * wrong + unknown]
    return np.stack(
        [np.divide(2 * correct, whole, out=np.zeros_like(whole), where=whole > 0) for whole in sums]
    )
