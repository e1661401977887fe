"""MuCoW by known words (Raganato et al. 2019)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import field_validator, model_validator

from babelscope.core.results import PairedField, Record, Row
from babelscope.core.settings import Metavar, Option, Rerun
from babelscope.core.system import System
from babelscope.core.tokenizers import is_unspaced, require_spaces
from babelscope.language.registry import lemmatize
from babelscope.methods.measuring import group_records, mark_parts
from babelscope.methods.patterns.base import (
    PatternMethod,
    PatternSettings,
    label_rows,
    match_in_order,
    note_language,
    parallel_to,
    require_target,
)
from babelscope.stats.intervals import f1, proportion
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.mucow import NO_CATEGORY
from babelscope.testsets.pattern_files import read_lemmas, read_verdicts
from babelscope.util.errors import BabelscopeError


class MucowSettings(PatternSettings):
    """Where lemmas come from, and how words are split and compared."""

    presets: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
        "protocol": {"paper": {"word_matching": "conditioning"}}
    }

    answer_files: ClassVar[tuple[str, ...]] = ("lemmas", "verdicts")

    lemmas: Rerun[Path | None] = None
    """Lemmas of the translations, line-parallel."""
    lemmatize: Option[Annotated[str, Metavar("LANGUAGE")]] = ""
    """Lemmatize the translations: de, ru or uk."""
    verdicts: Rerun[Path | None] = None
    """Verdicts of an earlier run (records.jsonl) to compare with; with word_matching=stored, to use."""
    word_matching: Literal["auto", "mucow", "conditioning", "stored"] = "auto"
    """Matching of words. mucow: like MuCoW's authors. conditioning: like the conditioning paper. auto: mucow, or
    conditioning for that paper's log, whose lemmas lack accents. stored: use the verdicts of `verdicts`."""
    compound_mark: str = ""
    """Mark within compounds in the lemmas, such as #, to remove."""

    protocol: Option[Literal["default", "paper"]] = "default"
    """paper: match words like the conditioning paper's baseline."""

    @field_validator("lemmatize")
    @classmethod
    def _is_known(cls, language: str) -> str:
        if language:
            lemmatize([], language)  # an unknown one is refused before any system is asked
        return language

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.lemmas is not None and self.lemmatize:
            raise ValueError("lemmas and lemmatize exclude each other")
        return self


class Mucow(PatternMethod):
    """Senses of words, by known words and lemmas

    Is the word translated in the sense that the source means?

    A translation is right if a known word of the right sense is among its tokens or lemmas, and wrong if one of
    another sense is. Error rates are 1 - precision: they are of translations with a known word, and coverage is the
    share of these.
    """

    name = "patterns_mucow"
    Settings = MucowSettings
    settings: MucowSettings
    title = "Wrong sense"
    accuracy = "precision"
    other_figures: ClassVar = ("recall_b", "coverage")
    names: ClassVar = {
        "coverage": "translations with a known word (coverage)",
        "precision": "correct of those with a known word (precision)",
        "recall_a": "correct of correct and unknown (recall A)",
        "recall_b": "correct of all (recall B)",
        "f1_a": "F1 of precision and recall A",
        "f1_b": "F1 of precision and recall B",
        "same_verdict": "same verdict as in the given file",
    }
    group = "category"

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        super().check(items, systems)
        for item in items:
            if not all(isinstance(item.extra.get(name), list) for name in ("lemmas", "wrong_lemmas")):
                raise BabelscopeError(
                    f"item {item.id} is none of MuCoW: it needs lists of words `lemmas` and `wrong_lemmas`"
                )

    def fields(
        self, system: System, items: Sequence[AmbiguousSource], texts: Sequence[str | None]
    ) -> list[Record]:
        """Known words, and lemmas and an earlier verdict where files have them."""
        settings = self.settings
        stored = self._stored_verdicts(items)
        given, numbers = self.parallel_lines(system, items, texts)
        if settings.lemmas is not None:
            given = read_lemmas(settings.lemmas, given, parallel_to=parallel_to(system))
        found: list[Record] = []
        for item, number in zip(items, numbers, strict=True):
            if settings.word_matching == "stored" and item.id not in stored:
                found.append({"unanswered": f"{settings.verdicts} has no verdict"})
                continue
            found.append(
                {
                    **{name: item.extra.get(name) for name in ("word", "corpus", "domain")},
                    "category": item.category,
                    "right_words": item.extra["lemmas"],
                    "wrong_words": item.extra["wrong_lemmas"],
                    "given_lemmas": given[number].lemmas,
                    "folded": given[number].folded,
                    **({"stored": stored[item.id]} if item.id in stored else {}),
                }
            )
        return found

    def _stored_verdicts(self, items: Sequence[AmbiguousSource]) -> dict[str, bool | None]:
        """Earlier verdicts by item id, matched by source and word."""
        listed = []
        for place, verdict in () if self.settings.verdicts is None else read_verdicts(self.settings.verdicts):
            correct = verdict.get("correct")
            if correct is not None and not isinstance(correct, bool):
                raise BabelscopeError(f"{place}: field 'correct' must be true, false or null")
            error = f"{place}: no item of the test set has this source and word"
            listed.append(((verdict.get("source"), verdict.get("word")), correct, error))
        return match_in_order([((item.source, item.extra.get("word")), item.id) for item in items], listed)

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with lemmas and a verdict: correct, wrong, or unknown (null)."""
        settings = self.settings
        rules = self._rules(records)
        lemmas: list[str | None] = [record["given_lemmas"] for record in records]
        if settings.lemmatize and all(own is None for own in lemmas):
            require_target(records, settings.lemmatize, "the lemmatizer")
            texts = [record["translation"] for record in records]
            lemmas = [" ".join(own) for own in lemmatize(texts, settings.lemmatize)]
        if rules != "stored":
            _require_words(records, lemmas)
        judged = []
        for record, own in zip(records, lemmas, strict=True):
            correct, where = record.get("stored"), None
            if rules != "stored":
                correct, where = _verdict(record, (own or "").replace(settings.compound_mark, ""), rules)
            fields = {"lemmas": own, "correct": correct, "found_in": where}
            judged.append({**note_language(record, settings.lemmatize), **fields})
        return judged

    def _rules(self, records: Sequence[Record]) -> str:
        """The name of the rules to use; `auto` decides by the form of the lemmas."""
        if self.settings.word_matching != "auto":
            return self.settings.word_matching
        return "conditioning" if any(record["folded"] for record in records) else "mucow"

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """Coverage, precision, both recalls and F1s, over all and by group; agreement with earlier verdicts.

        Recall A is correct / (correct + unknown), which the suite's tables show; recall B is correct / all,
        which its papers define (comment in its evaluation script; Scherrer et al. 2020).
        """
        rows = _rows(records, {"category": "all"})
        # Frequent and infrequent senses; senses in and out of the training data's domain.
        for grouping in ("category", "domain"):
            known = [each for each in records if each.get(grouping) not in (None, NO_CATEGORY)]
            for name, group in group_records((each[grouping], each) for each in known).items():
                rows += _rows(group, {grouping: name})
        rules = self._rules(records)
        if rules != "stored" and (compared := [record for record in records if "stored" in record]):
            same = sum(record["correct"] is record["stored"] for record in compared)
            estimate = proportion(same, len(compared))
            rows.append(Row("same_verdict", estimate, {"category": "all"}, {"same": same}))
        return mark_parts(label_rows(rows, {"rules": rules}, records), "category")

    def paired(self) -> list[PairedField]:
        return [
            PairedField("correct", of="precision,category=all"),
            PairedField("correct", of="precision", by=("category",), unranked=(NO_CATEGORY,)),
        ]

    def question(self, record: Record) -> Record:
        """Which sense, where words of right and wrong ones are known."""
        if not (record["right_words"] and record["wrong_words"]):
            return {}
        word = {"word": record["word"]} if record["word"] else {}
        senses = {"correct_sense": record["right_words"], "wrong_sense": record["wrong_words"]}
        return {"task": "mucow", **word, **senses}


def _rows(records: Sequence[Record], labels: Mapping[str, str]) -> list[Row]:
    verdicts = [record["correct"] for record in records]
    correct, wrong, unknown = (verdicts.count(each) for each in (True, False, None))
    found = {
        "coverage": proportion(correct + wrong, len(records)),
        "precision": proportion(correct, correct + wrong),
        "recall_a": proportion(correct, correct + unknown),
        "recall_b": proportion(correct, len(records)),
        # A wrong verdict is a false positive; with recall B it is a false negative too.
        "f1_a": f1(correct, wrong + unknown),
        "f1_b": f1(correct, unknown, both=wrong),
    }
    counts = {"correct": correct, "wrong": wrong, "unknown": unknown}
    return [Row(name, estimate, labels, counts) for name, estimate in found.items()]


def fold(word: str) -> str:
    """A word in lower case without accents, as the lemmas in the released logs are."""
    plain = unicodedata.normalize("NFKD", word.lower().replace("ß", "ss"))
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


_RULES = {
    # The suite's own evaluation; Moses leaves hyphenated words together.
    "mucow": (re.compile(r"\w+(?:-\w+)*|[^\w\s]"), str.lower),
    # That of the conditioning paper (appendix E): hyphenated words are split.
    "conditioning": (re.compile(r"\w+|[^\w\s]"), fold),
}
"""How a translation is split into tokens, and how words are normalized before they are compared."""


def _require_words(records: Sequence[Record], lemmas: Sequence[str | None]) -> None:
    """Refuse translations without spaces in which words of such a script are looked for, unless there are lemmas."""
    texts = [
        record["translation"]
        for record, own in zip(records, lemmas, strict=True)
        if not own and any(map(is_unspaced, (*record["right_words"], *record["wrong_words"])))
    ]
    require_spaces(
        texts, what="the translations", todo="give them as --set lemmas=FILE, words apart by spaces"
    )


def _verdict(record: Record, lemmas: str, rules: str) -> tuple[bool | None, str | None]:
    """The verdict (None if no word is known), and whether tokens or lemmas decided it."""
    tokens, normalize = _RULES[rules]
    right, wrong = (set(map(normalize, record[f"{side}_words"])) for side in ("right", "wrong"))
    places = {"tokens": tokens.findall(record["translation"]), "lemmas": lemmas.split(" ")}
    for where, words in places.items():
        found = set(map(normalize, words))
        if found & wrong:
            return False, where
        if found & right:
            return True, where
    return None, None
