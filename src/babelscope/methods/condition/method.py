"""Contrastive conditioning: decides by cued sources which sense a translation has (Vamvas and Sennrich 2021)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from babelscope.core.charts import Bar, Chart, Forest, Histogram, Key, point
from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import (
    PairedField,
    Record,
    Row,
    credit,
    finite_or_none,
    grouped,
    minus_inf_if_none,
)
from babelscope.core.system import count_flags
from babelscope.core.tables import Column, Line, Note, Table
from babelscope.methods.base import Items, Method, Needs, add_to_sampled, require_roles
from babelscope.methods.condition.ask import ask_items, ask_known, check_system, sample
from babelscope.methods.condition.figures import (
    ConditionSettings,
    accuracy_rows,
    best_of_side,
    class_rows,
    margin_of_record,
    score_of,
    undecided_rows,
    verdict_of,
    with_weights,
)
from babelscope.methods.condition.preflight import (
    corrected_row,
    evaluator_notes,
    evaluator_tables,
    passed_of,
    preflight_of,
    preflight_rows,
)
from babelscope.methods.measuring import mark_parts
from babelscope.methods.queue import Entry, entry
from babelscope.methods.reporting import (
    NOT_RIGHT,
    Figure,
    ItemView,
    Shown,
    TextLine,
    Token,
    Tone,
    complement,
    count_notes_of,
    find_row,
    pivot,
    shared_prefix,
    summary_table,
    tooltip,
)
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.mucow import NO_CATEGORY

NO_CUE = "no cue"
IMPOSSIBLE = "impossible"
# What `complete` adds, and adds anew when a run is judged again.
_OF_ALL_RECORDS = ("noise", "weight")
_VERDICTS: Mapping[str, tuple[str, Tone]] = {
    "correct": ("right", "none"),
    "wrong": ("wrong", "errors"),
    "tie": ("tie", "some"),
    "undecided": ("undecided", "note"),
}
_STATES = {"yes": "passed", "no": "failed", "unknown": "unknown"}
_HARDLY, _MANY_UNSURE = 0.01, 0.2
"""Scores so near to 0.5 are hardly surer than a coin; above this share of them, a note is shown."""
_COUNTED = {
    "no_cue": "have no cue and were skipped",
    "impossible": "are impossible to the evaluator and were skipped",
    "empty": "have an empty translation",
    "truncated": "were too long and were cut",
    "unfinished": "have a translation that was not finished",
}


class Condition(Method):
    """Disambiguation: the meaning that was meant

    Does the system translate the sense or the gender that the source means?

    The system translates an ambiguous sentence. An evaluator, another translation model, then scores how likely that
    translation is if the source said the right meaning outright (a right cue), and how likely if it said another (a
    wrong cue). The translation is right if it is likelier with the right cue. No reference is needed.

    Error rates are 1 - accuracy. All but the unweighted and the corrected one are weighted: verdicts count the more,
    the surer the evaluator was. A system that always takes the most frequent meaning has a low error rate, and a high
    one in its worst category.

    Before it is believed, the evaluator is tested on translations whose meaning is known: references, and
    translations of sentences that say the right or the wrong meaning outright. Where it has not passed, verdicts are
    unknown. Those within its noise, the size of its mistakes there, are counted; by the strict protocol
    they are undecided, and error rates are of the others. The corrected error rate allows for what the evaluator
    misjudges, by its error rates there.
    """

    name = "condition"
    items = (AmbiguousSource,)
    requires: ClassVar[Needs] = {"system": ("translate",), "evaluator": ("score",)}
    Settings = ConditionSettings
    settings: ConditionSettings

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        if systems is not None:
            advice = "it can be asked in words, by prompted_choice"
            require_roles(self, systems, instead={"score": "item_scores"}, otherwise={"reply": advice})
            check_system(systems["system"], items, self.settings)

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        """One record per item: its translation and scores, and those of known translations of sampled items."""
        return add_to_sampled(
            ask_items(systems, items, self.settings),
            items,
            sample(items.whole, self.settings, seed),
            lambda some: ask_known(systems, items.whole, some, self.settings, seed),
        )

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with the best log-probability of each side, score and verdict, or the reason for none."""
        judged = []
        for record in records:
            stored = {name: value for name, value in record.items() if name not in _OF_ALL_RECORDS}
            found: dict[str, float | None] = {}
            for side in ("correct", "incorrect"):
                if f"under_{side}" in record:
                    found[side], best = best_of_side(record[f"under_{side}"], self.settings.likelihood)
                    stored[f"{side}_source"] = best
                else:  # stored scores have the best of each side only
                    found[side] = minus_inf_if_none(record[f"{side}_logprob"])
            judged.append({**stored, **self._verdict(found["correct"], found["incorrect"])})
        return judged

    def _verdict(self, correct: float | None, incorrect: float | None) -> Record:
        """The fields of a verdict: log-probabilities of both sides, score, verdict, or the reason for none."""
        if correct is None or incorrect is None:
            fields = ("correct_logprob", "incorrect_logprob", "score", "verdict", "correct")
            return {**dict.fromkeys(fields), "skipped": NO_CUE}
        margin = correct - incorrect
        verdict = None if math.isnan(margin) else verdict_of(margin, self.settings.ties)
        return {
            "correct_logprob": finite_or_none(correct),
            "incorrect_logprob": finite_or_none(incorrect),
            "score": None if verdict is None else score_of(margin, self.settings.score_base),
            "verdict": verdict,
            "correct": None if verdict in (None, "tie") else verdict == "correct",
            "skipped": IMPOSSIBLE if verdict is None else None,
        }

    def complete(self, records: Sequence[Record]) -> list[Record]:
        """The records with what depends on all of them: the evaluator's noise, and weights (section 3.4)."""
        noise = preflight_of(records, self.settings.likelihood).noise
        found = [{**record, "noise": noise} for record in records]
        if noise is not None and self.settings.protocol == "strict":
            for record in found:  # a margin within the noise (nats) is undecided
                if not record["skipped"] and abs(margin_of_record(record)) <= noise:
                    record |= {"verdict": "undecided", "correct": None}
        return with_weights(found, self.settings.tied_weights)

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """Accuracy by category, weighted and unweighted; corrected, or what is undecided; the evaluator's test."""
        if any("noise" not in record for record in records):
            records = self.complete(records)
        rows = accuracy_rows(records, self.settings.tied_weights)
        tested = preflight_of(records, self.settings.likelihood)
        if self.settings.protocol == "strict":
            rows += undecided_rows(records)
        if self.settings.protocol == "checked" and tested.passed == "yes":
            rows.append(corrected_row(records, tested.truths))
        rows += class_rows(records)
        rows += preflight_rows(tested)
        notes = Counter(note for record in records for note in record["notes"])
        counts = {
            "no_cue": sum(record["skipped"] == NO_CUE for record in records),
            "impossible": sum(record["skipped"] == IMPOSSIBLE for record in records),
            "given": sum(record["given"] for record in records),
            "empty": sum(record["translation"] == "" for record in records),
            **{note: notes[note] for note in ("truncated", "changed", "unfinished")},
            **count_flags(notes),
        }
        evaluator = {"evaluator": str(records[0]["evaluator"])} if records else {}
        counted = [
            Row(
                row.name,
                row.estimate,
                {**evaluator, **row.labels},
                {**row.counts, **counts} if row.name in ("minimum", "all") else row.counts,
            )
            for row in rows
        ]
        return mark_parts(counted, "category")

    def paired(self) -> list[PairedField]:
        """Weighted accuracy of the worst category; unweighted accuracy, over all and by category."""
        worth = dict(credit(self.settings.ties))
        return [
            PairedField(
                "verdict",
                of="minimum",
                worth=worth,
                worst_of="category",
                weight="weight",
                unranked=(NO_CATEGORY,),
            ),
            PairedField("verdict", of="all", worth=worth),
            PairedField("verdict", of="{category} unweighted", by=("category",), worth=worth),
        ]

    def tables(self, comparison: Comparison) -> list[Table]:
        became = Shown("translated as", lambda row: row.name == "translated as", "percent")
        return [
            summary_table(
                comparison,
                _figures,
                title=f"Wrong meaning: {comparison.tests}",
                more=["evaluator"],
                notes=[note for result in comparison.results for note in self._notes(result)],
                threshold=self.settings.error_threshold,
            ),
            *pivot(
                comparison,
                "Accuracy by category",
                ("category",),
                [
                    Shown("weighted accuracy", lambda row: _is_accuracy(row, "category"), "percent"),
                    Shown("unweighted accuracy", lambda row: _is_accuracy(row, "none"), "percent"),
                ],
                name="by-category",
            ),
            *pivot(
                comparison, "What each class was translated as", ("category", "as"), [became], name="by-class"
            ),
            *evaluator_tables(comparison),
            *([_least_certain(comparison, most)] if (most := self.settings.least_certain) else []),
        ]

    def _notes(self, result: SystemResult) -> Iterator[Note]:
        """What must be known about the evaluator and the items."""
        if passed_of(result.rows) != "yes":
            reasons = preflight_of(result.records, self.settings.likelihood).reasons
            yield from evaluator_notes(result, reasons)
        yield from (Note(text, result.name) for text in _warnings(result))
        yield from count_notes_of(result.name, result.rows, _COUNTED)

    def charts(self, comparison: Comparison) -> list[Chart]:
        """Accuracy by category, and how sure the evaluator is of each system."""
        bars = grouped(
            (
                category,
                Bar(result.name, point(row.estimate), tooltip(f"{result.name}, {category}", row.estimate)),
            )
            for result in comparison.results
            for category, row in _categories(result.rows).items()
        )
        systems = [Key(result.name, result.name) for result in comparison.results]
        found = [
            Chart(
                f"Accuracy by category: {comparison.tests}",
                Forest(list(bars.items()), "weighted accuracy", systems, domain=(0.0, 1.0), bars=True),
                "The share of sentences whose translation has the meaning that was meant, the evaluator’s surest "
                "verdicts counting most. Lines are 95 % intervals.",
            )
        ]
        for result in comparison.results:
            rows = [row for row in result.rows if row.name == "confidence"]
            bins = [(str(row.labels["bin"]), row.counts["items"], row.counts["correct"]) for row in rows]
            neither = [row.counts.get("ties", 0) + row.counts.get("undecided", 0) for row in rows]
            found.append(
                Chart(
                    f"How sure the evaluator is: {result.name}, {comparison.tests}",
                    Histogram(result.name, bins, "confidence, from … on", neither),
                    "Confidence is the distance of the evaluator’s score from one half, 0.5 at most. Each bar "
                    "counts sentences from the number below it to the next. Verdicts far left are little more than "
                    "guesses.",
                )
            )
        return found

    def show(self, record: Record) -> ItemView:
        """An item with its margin; people are asked for the gender or sense of the translation."""
        reference = record.get("extra", {}).get("reference")
        lines: list[TextLine] = [("meant", record["gold"])] if record["gold"] else []
        if isinstance(reference, str):
            lines.append(("reference", reference))
        verdict, tone = _VERDICTS.get(record["verdict"], ("skipped", "note"))
        margin = None if record["skipped"] else finite_or_none(margin_of_record(record))
        return ItemView(
            record["source"],
            groups=(record["category"],),
            heading=record["category"],
            lines=lines,
            verdict=verdict,
            tone=tone,
            value=margin,
            facts=record["skipped"] or f"score {record['score']:.3f}",
            answer=lambda: _answer_lines(record),
            questions=_questions(record),
            value_name="margin: log-probability per token with the right cue minus that with the wrong cue; below 0 "
            "it is wrong",
            group_name="category",
        )


# --- Tables --------------------------------------------------------------------------------------------------------


def _is_accuracy(row: Row, weighting: str) -> bool:
    return row.labels.get("weighting") == weighting and not row.name.startswith("minimum")


def _categories(rows: Sequence[Row]) -> dict[str, Row]:
    """Weighted accuracy by category."""
    return {
        str(row.labels["category"]): row
        for row in rows
        if "category" in row.labels and row.labels.get("weighting") == "category"
    }


def _figures(result: SystemResult) -> Iterator[Figure]:
    """Error rates: the worst category's leads, as in the paper (section 4.2); then other figures."""
    rows = result.rows
    passed = passed_of(rows)
    categories = _categories(rows) if len(_categories(rows)) > 1 else {}
    lowest = find_row(rows, "minimum")
    worst = str(lowest.labels.get("lowest", "")) if lowest and categories else ""
    rates: list[tuple[str, Row | None, str]] = [
        ("worst category", lowest if worst else None, worst),
        ("weighted", find_row(rows, "weighted"), ""),
        ("corrected", find_row(rows, "corrected"), ""),
        ("unweighted", find_row(rows, "all"), ""),
        *((name, row, name) for name, row in categories.items()),
    ]
    for label, row, group in rates:
        if row is not None and row.estimate.n:
            yield Figure(
                f"error rate, {label}",
                complement(row.estimate),
                is_error=True,
                verdict=None if passed == "yes" else "unknown",
                query={"verdict": NOT_RIGHT, **({"group": group} if group else {})},
                more=[_STATES[passed]],
            )
    if decided := find_row(rows, "decided"):
        yield Figure("decided by the evaluator", decided.estimate, more=[_STATES[passed]])
    if ratio := find_row(rows, "male_to_female"):
        yield Figure("male per female", ratio.estimate, "plain", more=[_STATES[passed]])


def _warnings(result: SystemResult) -> Iterator[str]:
    """Verdicts that say little, known translations that no reference supports, and what undecided items may hide."""
    rows = result.rows
    whole, test = find_row(rows, "all"), find_row(rows, "preflight")
    if passed_of(rows) == "yes" and whole and (unsure := whole.counts["within_noise"]):
        yield f"{unsure} of {whole.estimate.n} verdicts are within the evaluator’s noise."
    unchecked = test.counts.get("unchecked", 0) if test else 0
    if test and unchecked and unchecked > test.counts["known_wrong"] / 2:
        yield (
            f"no reference bears out {unchecked} of {test.counts['known_wrong']} pairs of translations by the "
            f"{test.labels['known_by']} that the evaluator was tested with."
        )
    decided, worst, best = (find_row(rows, name) for name in ("decided", "worst case", "best case"))
    if decided and worst and best and (undecided := decided.counts["undecided"]):
        text = f"{undecided} of {decided.estimate.n} sentences are undecided, within the evaluator’s noise"
        if worst.estimate.n:
            low, high = (f"{100 * (1 - end):.1f} %" for end in (best.estimate.high, worst.estimate.low))
            text += f": {low} to {high} of all are wrong"
        yield f"{text}."
    if result.roles.get("evaluator") == result.fingerprint:
        yield "it is its own evaluator: what it misunderstands, it may misjudge in the same way."
    scores = [record["score"] for record in result.records if not record["skipped"]]
    unsure = sum(abs(score - 0.5) < _HARDLY for score in scores)
    if scores and unsure / len(scores) > _MANY_UNSURE:
        yield (
            f"in {unsure} of {len(scores)} sentences the evaluator could hardly decide (score within "
            f"{_HARDLY} of 0.5)."
        )


def _least_certain(comparison: Comparison, n: int) -> Table:
    """The n items of each system whose score is closest to 0.5, closest first, as in the paper's tables A5 and A6.

    Each has the source with the right cue and the one with a wrong cue that make its translation likeliest, with the
    evaluator's score under each: the geometric mean of the probabilities of its tokens, or by `likelihood`.
    """
    fields = ("id", "category", "gold", "verdict", "source", "translation")
    sides = ("correct", "incorrect")
    lines = []
    for result in comparison.results:
        judged = [record for record in result.records if not record["skipped"]]
        for record in sorted(judged, key=lambda record: abs(margin_of_record(record)))[:n]:
            cued = [record.get(f"{side}_source") for side in sides]  # unknown of stored scores
            scores = [math.exp(minus_inf_if_none(record[f"{side}_logprob"])) for side in sides]
            cells = [*(record[name] for name in fields), *cued, *scores, record["score"]]
            lines.append(Line([result.name, *cells], result.name))
    headings: list[str | Column] = [
        *("system", "item", "category", "meant", "verdict", "source", "translation"),
        *("with the right cue", "with a wrong cue", "score, right cue", "score, wrong cue"),
        Column("right of both", digits=5),
    ]
    return Table(f"Least certain: {comparison.tests}", headings, lines, 9, "least-certain")


# --- Single items --------------------------------------------------------------------------------------------------

_MOST_SOURCES = 5
"""Sources with cues that an annotator reads for each sense."""
_BY_SOURCES = (
    "Which sense does the translation have: that of the sources for the correct sense, or that of the others?"
)


def _answer_lines(record: Record) -> list[TextLine]:
    text = record["translation"]
    lines: list[TextLine] = [("translation", "(not known)" if text is None else text or "(empty)")]
    right, wrong = record.get("correct_source"), record.get("incorrect_source")
    if right and wrong:
        lines += [("right cue", mark_difference(right, wrong)), ("wrong cue", mark_difference(wrong, right))]
    return lines


def mark_difference(text: str, other: str) -> list[Token]:
    """The words of a text; marked from the first to the last word in which it differs from `other`."""
    mine, theirs = text.split(" "), other.split(" ")
    start = shared_prefix(mine, theirs)
    end = len(mine) - shared_prefix(mine[start:][::-1], theirs[start:][::-1])
    return [
        (word if not place else f" {word}", None, int(start <= place < end))
        for place, word in enumerate(mine)
    ]


def _questions(record: Record) -> list[Entry]:
    """The gender of an occupation as in WinoMT, or a sense by words that translate it or by sources with cues."""
    if record["translation"] is None or record["verdict"] is None:
        return []
    extra = record.get("extra", {})
    word = {"word": extra["word"]} if _are_texts([extra.get("word")]) else {}
    lemmas = [extra.get(name) for name in ("lemmas", "wrong_lemmas")]
    # Stored scores come without sources.
    sides = [
        [each["source"] for each in record.get(f"under_{side}", ())][:_MOST_SOURCES]
        for side in ("correct", "incorrect")
    ]
    if _are_texts([extra.get("occupation")]) and record["gold"] in ("male", "female"):
        shown = {"task": "winomt", "occupation": extra["occupation"], "gold": record["gold"]}
    elif word and all(map(_are_texts, lemmas)):
        shown = {"task": "mucow", **word, "correct_sense": lemmas[0], "wrong_sense": lemmas[1]}
    elif all(sides):
        ours, theirs = map("\n".join, sides)
        senses = {"correct_sense": ours, "wrong_sense": theirs}
        shown = {"task": "mucow", "question": _BY_SOURCES, **word, **senses}
    else:
        return []
    return [entry(record, group=(record["category"],), translation=record["translation"], **shown)]


def _are_texts(value: object) -> bool:
    """Whether a field of an item that was read from a file is a list of texts, none of them blank."""
    return isinstance(value, list) and bool(value) and all(isinstance(e, str) and e.strip() for e in value)
