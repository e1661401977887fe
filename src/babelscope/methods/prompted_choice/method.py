"""The questions of a forced choice by answer, and what an answer says."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import field_validator

from babelscope.core.results import Estimate, PairedField, Record, Row, Ties, credit
from babelscope.core.settings import MethodSettings, Rerun
from babelscope.core.system import Replies, Scored
from babelscope.methods.base import Items, Method, Needs, add_to_sampled
from babelscope.methods.condition.ask import (
    Known,
    check_system,
    counted_known,
    is_independent,
    known_translations,
    sample,
    translations_or_reasons,
)
from babelscope.methods.condition.figures import Conditioned
from babelscope.methods.condition.preflight import (
    Check,
    Preflight,
    Truth,
    accuracy_checks,
    concluded,
    preflight_rows,
)
from babelscope.methods.measuring import group_records, sources
from babelscope.stats.intervals import clustered_mean, clustered_proportion
from babelscope.systems.contract import ask_reply
from babelscope.testsets.items import NO_SOURCE, AmbiguousSource, MinimalPair
from babelscope.util.errors import BabelscopeError

Letter = Literal["A", "B"]
BETTER = (
    "Here are a text and two translations of it.\n\nText: {source}\n\nTranslation A: {first}\n\n"
    "Translation B: {second}\n\nWhich translation is better? Answer with A or B, and nothing else."
)
RENDERED = (
    "Here are a translation and two texts.\n\nTranslation: {translation}\n\nText A: {first}\n\nText B: {second}\n\n"
    "Of which text is it the better translation? Answer with A or B, and nothing else."
)
# The letter by itself, after a word for it at most: "A", "(b)" is none, "**B**", "Answer: A.", "Translation B".
_LETTER = re.compile(r"\W*(?:(?i:the|answer|translation|text|option|is)\W+)*([AB])\W*")
_KEPT = 200
"""Characters of an answer that are stored; a longer one is never a letter."""


def fill(prompt: str, texts: Mapping[str, str]) -> str:
    """The prompt with its places filled, all at once: a text may itself have something in braces."""
    return re.sub(r"\{(\w+)\}", lambda place: texts.get(place[1], place[0]), prompt)


def letter_of(reply: Mapping[str, str]) -> Letter | None:
    """The letter that an answer says and nothing beyond; an answer that was cut off or refused says none."""
    found = _LETTER.fullmatch(reply["text"]) if reply["ended"] == "whole" else None
    return None if found is None else "A" if found[1] == "A" else "B"


def ask_both_orders(
    system: Replies, prompt: str, choices: Sequence[tuple[Mapping[str, str], str, str]]
) -> list[list[Record]]:
    """For each (other texts, right, wrong) the answers: right one first, then right one second."""
    asked = [
        fill(prompt, {**texts, "first": first, "second": second})
        for texts, right, wrong in choices
        for first, second in ((right, wrong), (wrong, right))
    ]
    # Each prompt is asked once: pairs may be repeated.
    once = list(dict.fromkeys(asked))
    found = dict(zip(once, ask_reply(system, once), strict=True))
    replies: list[Record] = [
        {"text": text[:_KEPT] + ("…" if len(text) > _KEPT else ""), "ended": found[each].ended}
        for each in asked
        for text in [found[each].text]
    ]
    return [replies[start : start + 2] for start in range(0, len(replies), 2)]


def pair_sides(right: Sequence[str], wrong: Sequence[str]) -> list[tuple[str, str]]:
    """Sources for the right sense beside sources for a wrong one, so that each is asked about."""
    both = zip(itertools.cycle(right), itertools.cycle(wrong), strict=False)
    return list(itertools.islice(both, max(len(right), len(wrong))))


def _check(prompt: str, what: str) -> str:
    places = [f"{{{name}}}" for name in (what, "first", "second")]
    if missing := [place for place in places if place not in prompt]:
        raise ValueError(f"has no {missing[0]}; it needs {', '.join(places)}")
    return prompt


class ContrastAnswersSettings(MethodSettings):
    """How pairs are asked about."""

    prompt: Rerun[str] = BETTER
    """The question, with {source}, {first} and {second}; A names the first translation, B the second."""
    undecided: Ties = "half"
    """What an item counts as on which both orders give no choice: half (chance), wrong or correct."""

    _has_places = field_validator("prompt")(functools.partial(_check, what="source"))


class ConditionAnswersSettings(Conditioned):
    """Whose translations are judged, and how the evaluator is asked about them."""

    prompt: Rerun[str] = RENDERED
    """The question, with {translation}, {first} and {second}; A names the first source with a cue, B the second."""
    undecided: Ties = "half"
    """What an item counts as on which both orders give no choice: half (chance), wrong or correct."""

    _has_places = field_validator("prompt")(functools.partial(_check, what="translation"))


# --- From answers in both orders to verdicts -----------------------------------------------------------------------

Choice = Literal["right", "wrong", "first", "second", "none"]
"""Both orders name the right one, or the wrong one; the first or the second, whatever it is; or one names neither."""


def choice_of(replies: Sequence[Mapping[str, str]]) -> Choice:
    """What two answers choose together: the right one stood first when the first was given."""
    letters = tuple(letter_of(each) for each in replies)
    chosen: dict[Any, Choice] = {
        ("A", "B"): "right",
        ("B", "A"): "wrong",
        ("A", "A"): "first",
        ("B", "B"): "second",
    }
    return chosen.get(letters, "none")


def judge_pairs(records: Sequence[Record], _settings: object) -> list[Record]:
    """The records with choices and verdict: correct if the right one is chosen beside every variant."""
    judged = []
    for record in records:
        choices = [choice_of(each["replies"]) for each in record["asked"]]
        decided = all(each == "right" for each in choices)
        verdict = "wrong" if "wrong" in choices else "correct" if decided else "undecided"
        judged.append(_with_verdict(record, choices, verdict))
    return judged


def judge_senses(records: Sequence[Record], _settings: object) -> list[Record]:
    """The records with choices and verdict: that of the majority of the pairs of sources that are decided."""
    judged = []
    for record in records:
        choices = [choice_of(each["replies"]) for each in record["asked"]]
        ahead = choices.count("right") - choices.count("wrong")
        verdict = "correct" if ahead > 0 else "wrong" if ahead < 0 else "undecided"
        judged.append(_with_verdict(record, choices, verdict))
    return judged


def _with_verdict(record: Record, choices: Sequence[Choice], verdict: str) -> Record:
    # What a run adds stays last, so that a record that is judged again has the same bytes.
    last: Record = {name: record[name] for name in ("preflight", "extra") if name in record}
    kept = {name: value for name, value in record.items() if name not in ("choices", "verdict", *last)}
    return {**kept, "choices": list(choices), "verdict": verdict, **last}


_BIAS = {"first": 1.0, "second": -1.0, "right": 0.0, "wrong": 0.0}
Labels = Mapping[str, str | int]


def worth_of(undecided: Ties) -> dict[str, float]:
    """What each verdict counts."""
    return {"correct": 1.0, "wrong": 0.0, "undecided": credit(undecided)["tie"]}


def figures(records: Sequence[Record], undecided: Ties, by: Sequence[str]) -> list[Row]:
    """The rows over all items, then over those that have the same values of the fields `by`."""
    parts = group_records((tuple((name, each[name]) for name in by), each) for each in records)
    rows = list(_rows(records, undecided, {}))
    for labels, members in parts.items():
        rows += _rows(members, undecided, dict(labels))
    return rows


def _rows(records: Sequence[Record], undecided: Ties, labels: Labels) -> Iterator[Row]:
    worth = worth_of(undecided)
    verdicts = Counter(record["verdict"] for record in records)
    counts = {each: verdicts[each] for each in ("correct", "wrong", "undecided")}
    owners = sources(records)
    decided = [record for record in records if record["verdict"] != "undecided"]
    # Where nothing is decided, half of each item would be an accuracy of 50 % that nobody measured.
    counted = records if decided or undecided != "half" else []
    accuracy = clustered_proportion([worth[record["verdict"]] for record in counted], sources(counted))
    yield Row("answer_accuracy", accuracy, labels, counts)
    right = [float(record["verdict"] == "correct") for record in decided]
    yield Row("answer_accuracy_decided", clustered_proportion(right, sources(decided)), labels, counts)
    left = clustered_proportion([float(record["verdict"] == "undecided") for record in records], owners)
    yield Row("answer_undecided", left, labels, counts)
    yield _position_bias(records, labels)
    yield _answered(records, labels)


def _position_bias(records: Sequence[Record], labels: Labels) -> Row:
    """Share of pairs with the first chosen in both orders, minus that with the second; 0 if order does not matter."""
    pairs = [(record, choice) for record in records for choice in record["choices"]]
    known = [(record, choice) for record, choice in pairs if choice != "none"]
    mean = clustered_mean(
        [_BIAS[choice] for _, choice in known], sources(r for r, _ in known), within=(-1.0, 1.0)
    )
    found = Counter(choice for _, choice in known)
    counts = {"first": found["first"], "second": found["second"], "unanswered": len(pairs) - len(known)}
    return Row("position_bias", mean, labels, counts)


def _answered(records: Sequence[Record], labels: Labels) -> Row:
    """Share of questions whose answer is A or B and nothing else; the others by kind."""
    replies = [
        (record, reply) for record in records for asked in record["asked"] for reply in asked["replies"]
    ]
    given = [float(letter_of(reply) is not None) for _, reply in replies]
    ended = Counter(reply["ended"] for _, reply in replies)
    neither = len(replies) - int(sum(given)) - ended["cut"] - ended["refused"]
    counts = {"neither": neither, "cut": ended["cut"], "refused": ended["refused"]}
    return Row(
        "answer_given", clustered_proportion(given, sources(record for record, _ in replies)), labels, counts
    )


def ask_known(
    systems: Mapping[str, Any],
    items: Sequence[AmbiguousSource],
    records: Mapping[int, Record],
    settings: ConditionAnswersSettings,
    seed: int,
) -> dict[int, Record]:
    """For each sampled item: what the evaluator answers about its known translations."""
    evaluator = systems["evaluator"]
    made = known_translations(systems, items, list(records), settings, seed)
    # Translations with words exchanged measure the noise of likelihoods, and answers have none.
    known = [each for each in made.translations if each.by != "exchange"]
    choices = [({"translation": each.text}, *pair) for each in known for pair in _pairs(each)]
    answers = iter(ask_both_orders(evaluator, settings.prompt, choices))
    told: dict[int, list[Record]] = {place: [] for place in records}
    for each in known:
        asked = [{"right": right, "wrong": wrong, "replies": next(answers)} for right, wrong in _pairs(each)]
        told[each.place].append({**each.described, "asked": asked})
    itself = systems["system"].fingerprint == evaluator.fingerprint
    return {
        place: {"preflight": {"known": told[place], **made.stored(place), "itself": itself}}
        for place in records
    }


def _pairs(known: Known) -> list[tuple[str, str]]:
    return pair_sides(known.correct, known.incorrect)


def preflight_of(records: Sequence[Record]) -> Preflight:
    """The test of the evaluator of a cell, from its records."""
    if not any(record.get("preflight") for record in records):
        why = "it was not tested on translations whose meaning is known"
        return concluded([Check("accuracy", "unknown", Estimate.of_nothing(), why)])
    truths = [_judged(number, records[number], known) for number, known in counted_known(records)]
    return concluded(accuracy_checks(records, truths))


def _judged(number: int, record: Record, known: Mapping[str, Any]) -> Truth:
    """A known translation; its margin: how many more pairs of sources are decided for its truth than against it."""
    choices = [choice_of(each["replies"]) for each in known["asked"]]
    ahead = choices.count("right") - choices.count("wrong")
    truth = bool(known["truth"])
    margin = float(ahead if truth else -ahead)
    return Truth(number, record["category"], truth, margin, str(known["by"]), is_independent(known, record))


# --- Forced choice by answer ---------------------------------------------------------------------------------------


def ask_pairs(
    systems: Mapping[str, Any], items: Sequence[MinimalPair], settings: ContrastAnswersSettings, _seed: int
) -> list[Record]:
    """One record per item: how the system chose between the right translation and each variant, in both orders."""
    asked = [item for item in items if item.can_be_asked]
    choices = [({"source": each.source}, each.correct, other) for each in asked for other in each.contrastive]
    answers = iter(ask_both_orders(systems["system"], settings.prompt, choices))
    return [
        {
            "source": item.source,
            "phenomenon": item.phenomenon,
            "reference": item.reference,
            "asked": [
                {"right": item.correct, "wrong": other, "replies": next(answers)}
                for other in item.contrastive
            ],
        }
        if item.can_be_asked
        else {"unanswered": "it has an empty text or no variant: there is nothing to choose from"}
        for item in items
    ]


def check_pairs(system: Any, items: Sequence[MinimalPair], _settings: ContrastAnswersSettings) -> None:
    """Refuse pairs without sources: nothing says what they translate."""
    if without := [item.id for item in items if NO_SOURCE in item.extra]:
        raise BabelscopeError(
            f"item {without[0]} has no source, so that {system.name} cannot be asked which translation is better"
        )


def ask_senses(
    systems: Mapping[str, Any],
    items: Sequence[AmbiguousSource],
    settings: ConditionAnswersSettings,
    _seed: int,
) -> list[Record]:
    """One record per item: its translation, and which sources with a cue the evaluator says that it renders."""
    translated = translations_or_reasons(systems["system"], items, settings)
    reasons = [_reason_for_none(item, each) for item, each in zip(items, translated, strict=True)]
    texts = ["" if isinstance(each, str) else each.text for each in translated]
    choices = [
        ({"translation": text}, right, wrong)
        for item, text, reason in zip(items, texts, reasons, strict=True)
        if not reason
        for right, wrong in _sides(item)
    ]
    answers = iter(ask_both_orders(systems["evaluator"], settings.prompt, choices))
    return [
        {"unanswered": reason}
        if reason
        else {
            "source": item.source,
            "category": item.category,
            "gold": item.gold,
            "translation": text,
            "evaluator": systems["evaluator"].name,
            "asked": [
                {"right": right, "wrong": wrong, "replies": next(answers)} for right, wrong in _sides(item)
            ],
        }
        for item, text, reason in zip(items, texts, reasons, strict=True)
    ]


def _reason_for_none(item: AmbiguousSource, translated: Scored | str) -> str:
    """Why an item cannot be asked about; "" if it can."""
    if isinstance(translated, str):
        return translated
    if not translated.text.strip():
        return "its translation is empty: there is nothing to ask about"
    if not (item.correct_sources and item.incorrect_sources):
        return "it has no source with a cue for one of the senses"
    return ""


def _sides(item: AmbiguousSource) -> list[tuple[str, str]]:
    return pair_sides(item.correct_sources, item.incorrect_sources)


class ContrastAnswers(Method):
    """forced choice between correct and contrastive translations, asked in words, in both orders"""

    name = "contrast_answers"
    items = (MinimalPair,)
    requires: ClassVar[Needs] = {"system": ("reply",)}
    Settings = ContrastAnswersSettings
    part_labels = frozenset({"phenomenon", "reference"})

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        super().check(items, systems)
        if systems is not None:
            check_pairs(systems["system"], items, self.settings)

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        return ask_pairs(systems, items, self.settings, seed)

    def judge(self, records: Sequence[Record]) -> list[Record]:
        return judge_pairs(records, self.settings)

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        return figures(records, self.settings.undecided, ("phenomenon", "reference"))

    def paired(self) -> list[PairedField]:
        by, worth = ("phenomenon", "reference"), worth_of(self.settings.undecided)
        return [PairedField("verdict", of="answer_accuracy", by=by, worth=worth)]


class ConditionAnswers(Method):
    """accuracy of disambiguation: an evaluator says in words which source with a cue a translation renders"""

    name = "condition_answers"
    items = (AmbiguousSource,)
    requires: ClassVar[Needs] = {"system": ("translate",), "evaluator": ("reply",)}
    Settings = ConditionAnswersSettings
    part_labels = frozenset({"category"})

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        super().check(items, systems)
        if systems is not None:
            check_system(systems["system"], items, self.settings)

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        records = ask_senses(systems, items, self.settings, seed)
        sampled = sample(items.whole, self.settings, seed)
        return add_to_sampled(
            records,
            items,
            sampled,
            lambda some: ask_known(systems, items.whole, some, self.settings, seed),
        )

    def judge(self, records: Sequence[Record]) -> list[Record]:
        return judge_senses(records, self.settings)

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        evaluator = str(records[0].get("evaluator", "")) if records else ""
        rows = figures(records, self.settings.undecided, ("category",))
        return [*rows, *preflight_rows(preflight_of(records), evaluator)]

    def paired(self) -> list[PairedField]:
        worth = worth_of(self.settings.undecided)
        return [
            PairedField("verdict", of="answer_accuracy", worth=worth),
            PairedField("verdict", of="answer_accuracy", by=("category",), worth=worth),
        ]
