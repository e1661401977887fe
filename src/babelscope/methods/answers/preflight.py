"""Can this evaluator judge by answers? The known translations of `condition`, asked about in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.results import Estimate, Record
from babelscope.methods.answers.judge import choice_of
from babelscope.methods.answers.questions import ask_both_orders, pair_sides
from babelscope.methods.answers.settings import ConditionAnswersSettings
from babelscope.methods.condition.known import Known, known_translations
from babelscope.methods.condition.makers import counted_known, is_independent
from babelscope.methods.condition.preflight import Check, Preflight, Truth, accuracy_checks, concluded
from babelscope.testsets.items import AmbiguousSource


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
