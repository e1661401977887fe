"""From answers in both orders to verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from babelscope.core.results import Estimate, Record, Row
from babelscope.core.ties import Ties, credit
from babelscope.methods.answers.questions import ask_both_orders, letter_of, pair_sides
from babelscope.methods.answers.settings import ConditionAnswersSettings
from babelscope.methods.condition.known import Known, counted_known, is_independent, known_translations
from babelscope.methods.condition.preflight import Check, Preflight, Truth, accuracy_checks, concluded
from babelscope.methods.grouping import group_records, sources
from babelscope.stats.intervals import clustered_mean, clustered_proportion
from babelscope.testsets.items import AmbiguousSource

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
    worth = credit(undecided)
    return {"correct": 1.0, "wrong": 0.0, "undecided": worth["tie"]}


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
