"""Contrastive conditioning: decides by cued sources which sense a translation has (Vamvas and Sennrich 2021)."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from babelscope.core.options import Option, reads
from babelscope.core.results import (
    Estimate,
    PairedField,
    Record,
    Row,
    credit,
    finite_or_none,
    minus_inf_if_none,
)
from babelscope.core.system import told_counts
from babelscope.methods.base import Items, Method, Needs, add_to_sampled, require_roles
from babelscope.methods.command import Given, JudgingCommand, Tables
from babelscope.methods.condition.ask import FEW, ask, ask_known, check_system, sample
from babelscope.methods.condition.figures import (
    ConditionSettings,
    accuracy_rows,
    best_of_side,
    class_rows,
    decided_items,
    is_decided,
    least_certain,
    margin_of,
    margin_of_record,
    score_of,
    undecided_rows,
    verdict_of,
)
from babelscope.methods.condition.preflight import Truth, preflight_of, preflight_rows
from babelscope.methods.measuring import grouped
from babelscope.methods.prompted_choice import command as by_answer
from babelscope.methods.queue import Entry, entry
from babelscope.stats.detection import Counted, corrected_bounds
from babelscope.stats.weighted import effective_size, weighted_share
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.mucow import NO_CATEGORY
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import terminal_width, visible, wrap
from babelscope.util.text import quoted

if TYPE_CHECKING:
    from babelscope.core.results import Record, Result


NO_CUE = "no cue"
IMPOSSIBLE = "impossible"
UNDECIDED = "undecided"
# What `complete` adds, and adds anew when a run is judged again.
_OF_ALL_RECORDS = ("noise", "weight")


def judge(records: Sequence[Record], settings: ConditionSettings) -> list[Record]:
    """The records with the best log-probability of each side, score and verdict, or the reason for none."""
    judged = []
    for record in records:
        if "under_correct" in record:
            (correct, right), (incorrect, wrong) = (
                best_of_side(record[side], settings.likelihood)
                for side in ("under_correct", "under_incorrect")
            )
            sources = {"correct_source": right, "incorrect_source": wrong}
        else:  # stored scores have the best of each side only
            correct, incorrect = (
                minus_inf_if_none(record[f"{side}_logprob"]) for side in ("correct", "incorrect")
            )
            sources = {}
        stored = {name: value for name, value in record.items() if name not in _OF_ALL_RECORDS}
        judged.append({**stored, **sources, **_verdict(correct, incorrect, settings)})
    return judged


def _verdict(correct: float | None, incorrect: float | None, settings: ConditionSettings) -> Record:
    """The fields of a verdict: log-probabilities of both sides, score, verdict, or the reason for none."""
    if correct is None or incorrect is None:
        fields = ("correct_logprob", "incorrect_logprob", "score", "verdict", "correct")
        return {**dict.fromkeys(fields), "skipped": NO_CUE}
    margin = margin_of(correct, incorrect)
    verdict = None if math.isnan(margin) else verdict_of(margin, settings.ties)
    return {
        "correct_logprob": finite_or_none(correct),
        "incorrect_logprob": finite_or_none(incorrect),
        "score": None if verdict is None else score_of(margin, settings.score_base),
        "verdict": verdict,
        "correct": None if verdict in (None, "tie") else verdict == "correct",
        "skipped": IMPOSSIBLE if verdict is None else None,
    }


def complete(records: Sequence[Record], settings: ConditionSettings) -> list[Record]:
    """All records of a cell with what depends on all of them: the evaluator's noise, and weights (section 3.4)."""
    noise = preflight_of(records, settings).noise
    found = [{**record, "noise": noise} for record in records]
    if noise is not None and settings.protocol == "strict":
        for record in found:  # a margin within the noise (nats) is undecided
            if not record["skipped"] and abs(margin_of_record(record)) <= noise:
                record |= {"verdict": UNDECIDED, "correct": None}
    weights = iter(decided_items(found, settings.tied_weights).weights)
    return [{**record, "weight": next(weights) if is_decided(record) else None} for record in found]


def corrected_row(records: Sequence[Record], truths: Sequence[Truth]) -> Row:
    """The share of correct translations behind the evaluator's verdicts, by its error rates on known translations.

    How often right translations are taken for wrong is known from those as they are written. Wrong ones are of two
    kinds: made under a wrong cue, which may be translated too and give them away, and with the sense alone exchanged.
    Which kind a system's errors are is not known, so the interval holds those by either rate, and the value is by the
    rate of both together.
    """
    judged = decided_items(records)
    right = [each for each in truths if each.right and each.by != "exchange"]
    wrong = [each for each in truths if not each.right]
    kinds = [[each for each in wrong if (each.by == "exchange") == kind] for kind in (False, True)]
    rates = [_found(kind) for kind in kinds if len(kind) >= FEW] or [_found(wrong)]
    taken, tested = _found(right)
    share = corrected_share(judged.worth, judged.sources, _found(wrong), rates, (tested - taken, tested))
    counts = {"known_right": len(right), "known_wrong": len(wrong)}
    labels = {"evaluator": records[0]["evaluator"]} if records else {}
    return Row("corrected", share, labels, counts)


def _found(truths: Sequence[Truth]) -> Counted:
    """Of how many items, how many are judged as they are; several known translations of one item count as one."""
    credits = grouped((each.item, each.credit) for each in truths)
    return math.fsum(sum(own) / len(own) for own in credits.values()), len(credits)


def corrected_share(
    worth: Sequence[float], sources: Sequence[str], found: Counted, kinds: Sequence[Counted], false: Counted
) -> Estimate:
    """The corrected accuracy from 0 to 1: `found` and each of `kinds` of wrong ones found, `false` of right ones.

    Where it leaves 0 to 1 it is cut, and the interval reaches as far as without correction.
    """
    if not worth or not found[1] or not false[1]:
        return Estimate.of_nothing()
    ones = [1.0] * len(worth)
    plain, size = weighted_share(worth, sources, ones), effective_size(worth, sources, ones)
    alarms = ((1 - plain.value) * size, size)
    if found[0] / found[1] <= false[0] / false[1]:
        return Estimate(plain.value, 0.0, 1.0, len(worth))
    errors = float(corrected_bounds(alarms, found, false)[0])
    ends = [float(end) for kind in kinds for end in corrected_bounds(alarms, kind, false)[1]]
    low, high = (0.0, 1.0) if any(map(math.isnan, ends)) else (1 - max(ends), 1 - min(ends))
    value = min(max(1 - errors, 0.0), 1.0)
    if value in (0.0, 1.0):
        low, high = min(low, plain.low), max(high, plain.high)
    return Estimate(value, min(max(low, 0.0), value), max(min(high, 1.0), value), len(worth))


def summarize(records: Sequence[Record], settings: ConditionSettings, _seed: int) -> list[Row]:
    """Accuracy by category, weighted and unweighted, corrected or with what is undecided; the evaluator's test."""
    if any("noise" not in record for record in records):
        records = complete(records, settings)
    rows = accuracy_rows(records, settings.tied_weights)
    tested = preflight_of(records, settings)
    if settings.protocol == "strict":
        rows += undecided_rows(records)
    if settings.protocol == "checked" and tested.passed == "yes":
        rows.append(corrected_row(records, tested.truths))
    rows += class_rows(records)
    rows += preflight_rows(tested, str(records[0]["evaluator"]) if records else "")
    notes = Counter(note for record in records for note in record["notes"])
    counts = {
        "no_cue": sum(record["skipped"] == NO_CUE for record in records),
        "impossible": sum(record["skipped"] == IMPOSSIBLE for record in records),
        "given": sum(record["given"] for record in records),
        "empty": sum(record["translation"] is not None and not record["translation"] for record in records),
        **{note: notes[note] for note in ("truncated", "changed", "unfinished")},
        **told_counts(notes),
    }
    return [
        Row(row.name, row.estimate, row.labels, {**row.counts, **counts})
        if row.name in ("minimum", "all")
        else row
        for row in rows
    ]


def comparable(settings: ConditionSettings) -> list[PairedField]:
    """Weighted accuracy of the worst category; unweighted accuracy, over all and by category."""
    worth = dict(credit(settings.ties))
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
        told = _words(extra) or _sources(record, extra)
        if _is_text(extra.get("occupation")) and record["gold"] in ("male", "female"):  # as WinoMT has it
            told = {"task": "winomt", "occupation": extra["occupation"], "gold": record["gold"]}
        if told:
            texts = {"translation": record["translation"], **told}
            found.append(entry(record, group=(record["category"],), **texts))
    return found


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
    return {"task": "mucow", "question": _BY_SOURCES, **word, "correct_sense": right, "wrong_sense": wrong}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


class Condition(Method):
    """accuracy of disambiguation, judged by an evaluator under sources with cues"""

    name = "condition"
    items = (AmbiguousSource,)
    requires: ClassVar[Needs] = {"system": ("translate",), "evaluator": ("score",)}
    Settings = ConditionSettings
    part_labels = frozenset({"category"})

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        if systems is not None:
            advice = "it can be asked in words: --by-answer, in a study the method condition_answers"
            require_roles(self, systems, instead={"score": "item_scores"}, otherwise={"reply": advice})
            check_system(systems["system"], items, self.settings)

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        records = ask(systems, items, self.settings, seed)
        sampled = sample(items.whole, self.settings, seed)
        return add_to_sampled(
            records,
            items,
            sampled,
            lambda some: ask_known(systems, items.whole, some, self.settings, seed),
        )

    def judge(self, records: Sequence[Record]) -> list[Record]:
        return judge(records, self.settings)

    def complete(self, records: Sequence[Record]) -> list[Record]:
        return complete(records, self.settings)

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:
        return summarize(records, self.settings, seed)

    def paired(self) -> list[PairedField]:
        return comparable(self.settings)

    @staticmethod
    def measure_of(row: Row) -> str:
        return "accuracy" if row.name == "all" else ""


# --- `babelscope condition`: which sense translations have ---------------------------------------------------------

_INDENT = " " * 4


def _check(given: Given) -> None:
    """Refuse what would leave a choice open, before anything is loaded."""
    asked = {"evaluator", "translations", "ask-all", "ask-missing", "skip-missing", "beam", "preflight"}
    by_answer.check(given, frozenset(asked))
    if given["system"] and given["translations"] is not None:
        raise BabelscopeError("--system and --translations exclude each other")
    if given["rejudge"] is None and (given["evaluator"] is None) == (given["scores"] is None):
        raise BabelscopeError("condition needs either --evaluator or --scores")
    if given["system"] and given["scores"] is not None:
        raise BabelscopeError("--scores are those of given translations: leave --system out")
    if given["ask-all"] and given["ask-missing"]:
        raise BabelscopeError("--ask-all and --ask-missing exclude each other")


def _study(given: Given) -> Tables:
    """Files of translations and of scores are systems, and so are the translations that the items have."""
    tables: dict[str, Any] = {}
    settings = dict(given.settings)
    missing = "missing=skip" if given["skip-missing"] else "missing=error"
    if (path := given["translations"]) is not None:
        tables["systems"] = [{"spec": f"file:{path}?format=auto&{missing}", "name": path.name}]
        settings["translations"] = "system"  # the file's, also where an item has one
    elif not given["system"]:
        tables["systems"] = [{"spec": f"items:translations?{missing}", "name": "given"}]
    if given["scores"] is not None:
        settings["evaluator"] = f"scores:{given['scores']}?layout=columns"
    if given["by-answer"]:
        both = frozenset({"evaluator", "translations", "beam", "preflight"})
        settings = by_answer.settings_of(dataclasses.replace(given, settings=settings), both)
        return {**tables, "methods": [{"name": "condition_answers", **settings}]}
    return {**tables, "methods": [{"name": "condition", **settings}]}


def _show(result: Result, given: Given) -> str:
    """The least certain items of each system."""
    lines = []
    for system in (
        dict.fromkeys(record["system"] for record in result.records) if given["show-uncertain"] else ()
    ):
        own = [record for record in result.records if record["system"] == system]
        lines.append(f"least certain, {visible(system)}:")
        lines += [_line(record) for record in least_certain(own, given["show-uncertain"])]
    return "\n".join(lines)


def _line(record: Record) -> str:
    item = visible(f"{record['category']}  item {record['id']}")
    texts = [text for text in (record["source"], record["translation"]) if text is not None]
    first = f"{record['score']:.5f}  {record['verdict']:7}  {item}"
    lines = [wrap(quoted(text), terminal_width(), indent=_INDENT, hanging=_INDENT) for text in texts]
    return "\n".join([first, *(line for wrapped in lines for line in wrapped)])


COMMAND = JudgingCommand(
    "condition",
    "Test if the sense or gender meant is the one translated. By contrastive conditioning: an evaluator scores "
    "the translation under sources with cues.",
    "condition",
    ConditionSettings,
    "condition_answers",
    options=(
        Option(
            "evaluator",
            "The system that judges them; may be the same.",
            metavar="SYSTEM",
            role="read",
            setting="evaluator",
            not_with=("rejudge", "scores"),
        ),
        dataclasses.replace(
            reads(
                "translations",
                "Translations instead of a system: one line per item, plain or `source ||| translation`.",
            ),
            not_with=("rejudge",),
        ),
        dataclasses.replace(
            reads(
                "scores",
                "Instead of an evaluator: best correct and best incorrect log score, one line per item.",
            ),
            not_with=("rejudge",),
        ),
        Option(
            "ask-all",
            "Ask the system also where an item has a translation.",
            bool,
            setting="translations",
            value="system",
            only_with=("system",),
        ),
        Option(
            "ask-missing",
            "Ask the system only where an item has no translation.",
            bool,
            setting="translations",
            value="given",
            only_with=("system",),
        ),
        Option(
            "skip-missing",
            "Count items without a translation instead of stopping.",
            bool,
            not_with=("system", "rejudge"),
        ),
        Option(
            "show-uncertain",
            "List so many items of which the evaluator is least sure.",
            int,
            0,
            metavar="N",
            minimum=0,
            not_with=("json",),
        ),
        *by_answer.options("{translation}, {first} and {second}"),
    ),
    changed={
        "tests": {"help": "The test set: sources with cues."},
        "system": {"help": "Whose translations are judged; may be repeated."},
    },
    check=_check,
    study=_study,
    show=_show,
)
