"""Forced choice by answer: systems are asked in words which of two is better, in both orders."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import field_validator

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Estimate, PairedField, Record, Row, Ties, credit
from babelscope.core.settings import Metavar, Option, Rerun
from babelscope.core.system import Replies, Scored
from babelscope.core.tables import Note, Table, Verdict
from babelscope.methods.base import Items, Method, Needs, add_to_sampled
from babelscope.methods.condition.ask import (
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
    evaluator_notes,
    evaluator_tables,
    passed_of,
    preflight_rows,
)
from babelscope.methods.measuring import group_records, mark_parts, sources
from babelscope.methods.reporting import (
    Figure,
    ItemView,
    Shown,
    TextLine,
    Tone,
    complement,
    count_notes,
    find_row,
    pivot,
    summary_table,
)
from babelscope.stats.intervals import clustered_mean, clustered_proportion
from babelscope.systems.contract import ask_reply
from babelscope.systems.registry import require
from babelscope.testsets.items import NO_SOURCE, AmbiguousSource, MinimalPair
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_bytes

Letter = Literal["A", "B"]
BETTER = (
    "Here are a text and two translations of it.\n\nText: {source}\n\nTranslation A: {first}\n\n"
    "Translation B: {second}\n\nWhich translation is better? Answer with A or B, and nothing else."
)
RENDERED = (
    "Here are a translation and two texts.\n\nTranslation: {translation}\n\nText A: {first}\n\nText "
    "B: {second}\n\n"
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
    """The letter that an answer is, with nothing beyond it; None for an answer that was cut off or refused."""
    found = _LETTER.fullmatch(reply["text"]) if reply["ended"] == "whole" else None
    return None if found is None else "A" if found[1] == "A" else "B"


class PromptedChoiceSettings(Conditioned):
    """What is asked, and whose translations are judged."""

    question: Option[Annotated[Rerun[str], Metavar("FILE|TEXT")]] = ""
    """The question, as text or a file. For minimal pairs it contains {source}, {first} and {second} (translations);
    for ambiguous sources {translation}, {first} and {second} (sources with cues). A is the first, B the second.
    [default: a shipped question]"""
    undecided: Ties = "half"
    """Credit for an undecided item: half (chance), wrong or correct."""

    @field_validator("question")
    @classmethod
    def _read(cls, question: str) -> str:
        if not question or "{" in question:
            return question
        try:
            return read_bytes(question).decode()
        except UnicodeDecodeError:
            raise BabelscopeError(f"{question}: not UTF-8") from None


# --- Answers in both orders ----------------------------------------------------------------------------------------

Choice = Literal["right", "wrong", "first", "second", "none"]
"""Both orders name the right one, or the wrong one; the first or the second, whatever it is; or one names neither."""
_CHOICES: Mapping[tuple[Letter | None, ...], Choice] = {
    ("A", "B"): "right",
    ("B", "A"): "wrong",
    ("A", "A"): "first",
    ("B", "B"): "second",
}
_BIAS = {"first": 1.0, "second": -1.0, "right": 0.0, "wrong": 0.0}


def _ask_both_orders(
    system: Replies, prompt: str, asked: Sequence[tuple[Mapping[str, str], Sequence[tuple[str, str]]]]
) -> list[list[Record]]:
    """For each (other texts, pairs of right and wrong) the answers: right one first, then right one second."""
    prompts = [
        fill(prompt, {**texts, "first": first, "second": second})
        for texts, pairs in asked
        for right, wrong in pairs
        for first, second in ((right, wrong), (wrong, right))
    ]
    # Each prompt is asked once: pairs may be repeated.
    once = list(dict.fromkeys(prompts))
    found = dict(zip(once, ask_reply(system, once), strict=True))
    replies = (
        {"text": text[:_KEPT] + ("…" if len(text) > _KEPT else ""), "ended": found[each].ended}
        for each in prompts
        for text in [found[each].text]
    )
    return [
        [
            {"right": right, "wrong": wrong, "replies": [next(replies), next(replies)]}
            for right, wrong in pairs
        ]
        for _, pairs in asked
    ]


def _choices_of(asked: Sequence[Record]) -> list[Choice]:
    """What two answers choose together: the right one stood first when the first was given."""
    return [_CHOICES.get(tuple(map(letter_of, each["replies"])), "none") for each in asked]


def _ahead(choices: Sequence[Choice]) -> int:
    """How many more choices are right than wrong."""
    return choices.count("right") - choices.count("wrong")


def _pair_sides(right: Sequence[str], wrong: Sequence[str]) -> list[tuple[str, str]]:
    """Sources for the right sense next to sources for a wrong one, so that each is asked about."""
    both = zip(itertools.cycle(right), itertools.cycle(wrong), strict=False)
    return list(itertools.islice(both, max(len(right), len(wrong))))


# --- The method ---------------------------------------------------------------------------------------------------

_NOT_LIKELIHOODS = (
    "shares of answers, not likelihoods: not comparable with contrast, condition or other questions."
)
_NEITHER = {
    "neither": "questions answered otherwise than by A or B alone",
    "cut": "answers cut off at the length limit",
    "refused": "questions that got no answer",
}
_TOLD = {
    "right": "right in both orders",
    "wrong": "wrong in both orders",
    "first": "the first in both orders",
    "second": "the second in both orders",
    "none": "no answer in one order",
}
_TONES: Mapping[float, Tone] = {0.0: "errors", 0.5: "some", 1.0: "none"}


_OF_TRANSLATIONS = ("translations", "beam", "preflight")
"""Settings without effect on minimal pairs, which have their translations."""


class PromptedChoice(Method):
    """Prompted choice: asked in words

    Asked in words, does a system choose the right one of two?

    About minimal pairs, the system is asked which translation is better: the right one, or one with an error. About
    ambiguous sources, the system translates, and an evaluator (the system itself unless another is named) is asked
    which of two sources with a cue its translation renders. The evaluator is first tested on translations whose
    meaning is known.

    Each choice is asked twice, with the right one first and with the right one second. It counts as made if both
    answers name the same one; else, or if an answer is not A or B alone, it is undecided.

    Position bias is the share of choices in which the first is named in both orders, minus that of the second: 0 if
    the order does not matter, 1 if always the first is named.

    The figures are shares of answers in words, not likelihoods. A system may write what it would not choose, and
    choose what it would not write: do not compare them with figures of contrast or condition, nor answers to one
    question with answers to another.
    """

    name = "prompted_choice"
    items = (MinimalPair, AmbiguousSource)
    requires: ClassVar[Needs] = {"system": (), "evaluator": ()}
    Settings = PromptedChoiceSettings
    settings: PromptedChoiceSettings

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        pairs = isinstance(items[0], MinimalPair)
        if systems is None:
            self._check_settings(pairs)
            return
        system = systems["system"]
        if not pairs:
            require(system, "translate", what_for=self.label)
            require(systems.get("evaluator", system), "reply", what_for=self.label)
            check_system(system, items, self.settings)
            return
        require(system, "reply", what_for=self.label)
        if without := [item.id for item in items if NO_SOURCE in item.extra]:
            raise BabelscopeError(
                f"item {without[0]} has no source, so that {system.name} cannot be asked which "
                f"translation is better"
            )

    def _check_settings(self, pairs: bool) -> None:
        """Refuse what has no effect on minimal pairs, and a question without its places."""
        unused = [name for name in _OF_TRANSLATIONS if name in self.settings.model_fields_set]
        unused += ["evaluator"] if "evaluator" in self.roles else []
        if pairs and unused:
            raise BabelscopeError(
                f"{unused[0]} has no effect on minimal pairs, about which the system itself is asked"
            )
        places = [f"{{{name}}}" for name in ("source" if pairs else "translation", "first", "second")]
        missing = [place for place in places if place not in self.settings.question]
        if self.settings.question and missing:
            raise BabelscopeError(f"question has no {missing[0]}; it needs {', '.join(places)}")

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        """One record per item: what was chosen between, and the answers in both orders."""
        if isinstance(items[0], MinimalPair):
            return self._ask_pairs(systems["system"], items)
        return self._ask_sources({"evaluator": systems["system"], **systems}, items, seed)

    def _ask_pairs(self, system: Replies, items: Items) -> list[Record]:
        """How the system chooses between the right translation and each variant."""
        asked = [
            ({"source": item.source}, [(item.correct, other) for other in item.contrastive])
            for item in items
            if item.can_be_asked
        ]
        answers = iter(_ask_both_orders(system, self.settings.question or BETTER, asked))
        return [
            {
                "source": item.source,
                "phenomenon": item.phenomenon,
                "reference": item.reference,
                "asked": next(answers),
            }
            if item.can_be_asked
            else {"unanswered": "it has an empty text or no variant: there is nothing to choose from"}
            for item in items
        ]

    def _ask_sources(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        """The translation of each item, and which sources with a cue the evaluator says that it renders."""
        translated = translations_or_reasons(systems["system"], items, self.settings)
        reasons = [_reason_for_none(item, each) for item, each in zip(items, translated, strict=True)]
        texts = ["" if isinstance(each, str) else each.text for each in translated]
        asked = [
            ({"translation": text}, _pair_sides(item.correct_sources, item.incorrect_sources))
            for item, text, reason in zip(items, texts, reasons, strict=True)
            if not reason
        ]
        answers = iter(_ask_both_orders(systems["evaluator"], self.settings.question or RENDERED, asked))
        records: list[Record] = [
            {"unanswered": reason}
            if reason
            else {
                "source": item.source,
                "category": item.category,
                "gold": item.gold,
                "translation": text,
                "evaluator": systems["evaluator"].name,
                "asked": next(answers),
            }
            for item, text, reason in zip(items, texts, reasons, strict=True)
        ]
        return add_to_sampled(
            records,
            items,
            sample(items.whole, self.settings, seed),
            lambda some: self._ask_known(systems, items.whole, some, seed),
        )

    def _ask_known(
        self,
        systems: Mapping[str, Any],
        items: Sequence[AmbiguousSource],
        records: Mapping[int, Record],
        seed: int,
    ) -> dict[int, Record]:
        """For each sampled item: what the evaluator answers about its known translations."""
        evaluator = systems["evaluator"]
        made = known_translations(systems, items, list(records), self.settings, seed)
        # Translations with words exchanged measure the noise of likelihoods, and answers have none.
        known = [each for each in made.translations if each.by != "exchange"]
        asked = [({"translation": each.text}, _pair_sides(each.correct, each.incorrect)) for each in known]
        told: dict[int, list[Record]] = {place: [] for place in records}
        answers = _ask_both_orders(evaluator, self.settings.question or RENDERED, asked)
        for each, own in zip(known, answers, strict=True):
            told[each.place].append({**each.described, "asked": own})
        itself = systems["system"].fingerprint == evaluator.fingerprint
        return {
            place: {"preflight": {"known": told[place], **made.stored(place), "itself": itself}}
            for place in records
        }

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with choices and verdict."""
        judged = []
        for record in records:
            choices = _choices_of(record["asked"])
            # What a run adds stays last, so that a record that is judged again has the same bytes.
            last: Record = {name: record[name] for name in ("preflight", "extra") if name in record}
            kept = {name: each for name, each in record.items() if name not in ("choices", "verdict", *last)}
            judged.append({**kept, "choices": choices, "verdict": _verdict(record, choices), **last})
        return judged

    @property
    def worth(self) -> dict[str, float]:
        """What each verdict counts."""
        return {"correct": 1.0, "wrong": 0.0, "undecided": credit(self.settings.undecided)["tie"]}

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """The rows over all items, then by phenomenon and reference or by category; the test of the evaluator."""
        parts = group_records((tuple((name, each[name]) for name in _by(each)), each) for each in records)
        rows = list(self._rows(records, {}))
        for labels, members in parts.items():
            rows += self._rows(members, dict(labels))
        if records and "evaluator" in records[0]:
            rows += preflight_rows(preflight_of(records), str(records[0]["evaluator"]))
        return mark_parts(rows, *_GROUPINGS)

    def _rows(self, records: Sequence[Record], labels: Mapping[str, str]) -> Iterator[Row]:
        verdicts = Counter(record["verdict"] for record in records)
        counts = {each: verdicts[each] for each in ("correct", "wrong", "undecided")}
        decided = [record for record in records if record["verdict"] != "undecided"]
        # Where nothing is decided, half of each item would be an accuracy of 50 % that nobody measured.
        counted = records if decided or self.settings.undecided != "half" else []
        accuracy = clustered_proportion([self.worth[each["verdict"]] for each in counted], sources(counted))
        yield Row("answer_accuracy", accuracy, labels, counts)
        right = [float(record["verdict"] == "correct") for record in decided]
        yield Row("answer_accuracy_decided", clustered_proportion(right, sources(decided)), labels, counts)
        left = [float(record["verdict"] == "undecided") for record in records]
        yield Row("answer_undecided", clustered_proportion(left, sources(records)), labels, counts)
        yield _position_bias(records, labels)
        yield _answered(records, labels)

    def paired(self) -> list[PairedField]:
        """Accuracy by answer, over all items and by group."""
        return [
            PairedField("verdict", of="answer_accuracy", by=by, worth=self.worth)
            for by in ((), ("phenomenon", "reference"), ("category",))
        ]

    def tables(self, comparison: Comparison) -> list[Table]:
        by = _by(comparison.results[0].records[0]) if comparison.results[0].records else ("category",)
        shown = [
            Shown("accuracy by answer", lambda row: row.name == "answer_accuracy", "percent"),
            Shown("of what is decided", lambda row: row.name == "answer_accuracy_decided", "percent"),
            Shown("undecided", lambda row: row.name == "answer_undecided", "percent"),
            Shown("position bias", lambda row: row.name == "position_bias"),
            Shown("answered A or B", lambda row: row.name == "answer_given", "percent"),
        ]
        return [
            summary_table(
                comparison,
                self._figures,
                title=f"Choice by answer: {comparison.tests}",
                notes=[*self._notes(comparison)],
                threshold=self.settings.error_threshold,
            ),
            *pivot(comparison, "Choice by answer", by, shown, name=f"by-{by[0]}"),
            *evaluator_tables(comparison),
        ]

    def _figures(self, result: SystemResult) -> Iterator[Figure]:
        """Error rates over all items and by group; then what is undecided, and the position bias."""
        verdict: Verdict | None = None if _passed(result) == "yes" else "unknown"
        rates = [row for row in result.rows if row.name == "answer_accuracy_decided" and row.estimate.n]
        rates = rates[1:] if len(rates) == 2 else rates  # one group is all items
        for row in rates:
            labels = [str(row.labels[name]) for name in _GROUPINGS if name in row.labels]
            part, group = ", ".join(labels), {"group": labels[0]} if labels else {}
            of = "items" if "category" in rates[-1].labels else "pairs"
            yield Figure(
                f"error rate of decided {of}{f', {part}' if part else ''}",
                complement(row.estimate),
                is_error=True,
                verdict=verdict,
                query={"verdict": "wrong", **group},
            )
        undecided, bias = (find_row(result.rows, name) for name in ("answer_undecided", "position_bias"))
        if undecided and undecided.estimate.n:
            yield Figure("undecided", undecided.estimate)
        if bias and bias.estimate.n:
            yield Figure("position bias", bias.estimate, "plain")

    def _notes(self, comparison: Comparison) -> Iterator[Note]:
        for result in comparison.results:
            if _passed(result) != "yes":
                yield from evaluator_notes(result, preflight_of(result.records).reasons)
        yield Note(_NOT_LIKELIHOODS)
        undecided = "without a decision: the order of the two changes the answer, or it names neither"
        yield from count_notes(comparison, {"undecided": undecided})
        for result in comparison.results:
            row = find_row(result.rows, "answer_given")
            for name, words in _NEITHER.items():
                if row and row.counts[name]:
                    yield Note(f"{row.counts[name]} {words}.", result.name)

    def show(self, record: Record) -> ItemView:
        by = _by(record)[0]
        worth, group = self.worth[record["verdict"]], record[by]
        return ItemView(
            record["source"],
            [group],
            group,
            verdict=record["verdict"],
            tone=_TONES[worth],
            value=worth,
            facts=", ".join(_TOLD[each] for each in dict.fromkeys(record["choices"])),
            answer=lambda: _lines(record),
            group_name=by,
        )


_GROUPINGS = ("phenomenon", "reference", "category")


def _by(record: Record) -> tuple[str, ...]:
    """Fields of a record that figures are given by; the first is what items are grouped by on the page."""
    return ("category",) if "category" in record else ("phenomenon", "reference")


def _passed(result: SystemResult) -> str:
    """Whether the evaluator can be believed; a system that is asked about pairs is not tested."""
    tested = any("evaluator" in row.labels for row in result.rows)
    return passed_of(result.rows) if tested else "yes"


def _verdict(record: Record, choices: Sequence[Choice]) -> str:
    """Of a pair, correct if the right one is chosen over every variant; of a translation, that of the majority."""
    if "category" in record:
        ahead = _ahead(choices)
        return "correct" if ahead > 0 else "wrong" if ahead < 0 else "undecided"
    decided = all(each == "right" for each in choices)
    return "wrong" if "wrong" in choices else "correct" if decided else "undecided"


def _lines(record: Record) -> list[TextLine]:
    lines: list[TextLine] = [("translation", record["translation"])] if "translation" in record else []
    for each in record["asked"]:
        lines += [("right", each["right"]), ("wrong", each["wrong"])]
        places = ("right one first", "right one second")
        lines += [
            (f"answer, {place}", reply["text"] or f"({reply['ended']})")
            for place, reply in zip(places, each["replies"], strict=True)
        ]
    return lines


def _position_bias(records: Sequence[Record], labels: Mapping[str, str]) -> Row:
    """Share of pairs with the first chosen in both orders, minus that with the second; 0 if order does not matter."""
    pairs = [(record, choice) for record in records for choice in record["choices"]]
    known = [(record, choice) for record, choice in pairs if choice != "none"]
    values = [_BIAS[choice] for _, choice in known]
    mean = clustered_mean(values, sources(record for record, _ in known), within=(-1.0, 1.0))
    found = Counter(choice for _, choice in known)
    counts = {"first": found["first"], "second": found["second"], "unanswered": len(pairs) - len(known)}
    return Row("position_bias", mean, labels, counts)


def _answered(records: Sequence[Record], labels: Mapping[str, str]) -> Row:
    """Share of questions whose answer is A or B and nothing else; the others by kind."""
    replies = [
        (record, reply) for record in records for asked in record["asked"] for reply in asked["replies"]
    ]
    given = [float(letter_of(reply) is not None) for _, reply in replies]
    ended = Counter(reply["ended"] for _, reply in replies)
    neither = len(replies) - int(sum(given)) - ended["cut"] - ended["refused"]
    counts = {"neither": neither, "cut": ended["cut"], "refused": ended["refused"]}
    share = clustered_proportion(given, sources(record for record, _ in replies))
    return Row("answer_given", share, labels, counts)


def _reason_for_none(item: AmbiguousSource, translated: Scored | str) -> str:
    """Why an item cannot be asked about; "" if it can."""
    if isinstance(translated, str):
        return translated
    if not translated.text.strip():
        return "its translation is empty: there is nothing to ask about"
    if not (item.correct_sources and item.incorrect_sources):
        return "it has no source with a cue for one of the senses"
    return ""


def preflight_of(records: Sequence[Record]) -> Preflight:
    """The test of the evaluator of a job, from its records."""
    if not any(record.get("preflight") for record in records):
        why = "it was not tested on translations whose meaning is known"
        return concluded([Check("accuracy", "unknown", Estimate.empty(), why)])
    truths = [_truth(number, records[number], known) for number, known in counted_known(records)]
    return concluded(accuracy_checks(records, truths))


def _truth(number: int, record: Record, known: Mapping[str, Any]) -> Truth:
    """A known translation; its margin: how many more pairs of sources are decided for its truth than against it."""
    ahead, truth = _ahead(_choices_of(known["asked"])), bool(known["truth"])
    margin = float(ahead if truth else -ahead)
    return Truth(number, record["category"], truth, margin, str(known["by"]), is_independent(known, record))
