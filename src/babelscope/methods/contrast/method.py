"""Forced choice between a correct translation and variants with an error (paper: minimal-pairs)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, ClassVar

from babelscope.core.charts import Chart
from babelscope.core.comparison import Comparison
from babelscope.core.results import PairedField, Record, Row, credit, finite_or_none, minus_inf_if_none
from babelscope.core.system import (
    Capability,
    ItemScores,
    Question,
    Scored,
    Scoring,
    capabilities,
    properties,
    score_tokens,
)
from babelscope.core.tables import Table
from babelscope.language.registry import analysis_version
from babelscope.making.machine_tests import rows_of_making
from babelscope.methods.base import Items, Method, Needs, add_to_sampled, require_roles
from babelscope.methods.contrast import tables
from babelscope.methods.contrast.figures import (
    SAMPLE,
    SECOND,
    figures,
    margin,
    score_record,
    scores_as_json,
    tie_credits,
    verdict,
)
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.methods.errors.figures import generated_error_rows
from babelscope.methods.errors.method import detect_in_pairs
from babelscope.methods.measuring import by_phenomenon, grouped, mark_parts, pair_texts, sources
from babelscope.methods.queue import Entry
from babelscope.methods.reporting import ItemView, TextLine, Token, Tone
from babelscope.stats.intervals import clustered_mean, clustered_proportion
from babelscope.stats.paired import Tested, paired_difference, tested_rows
from babelscope.systems.contract import ask_sample, ask_score, ask_translate, relocate_errors, scored_as_json
from babelscope.systems.registry import require
from babelscope.testsets.items import NO_SOURCE, MinimalPair, choice_of
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

NO_VARIANT = (
    "it has no contrastive variant: nothing to prefer (--without-variants correct counts it as correct)"
)
_JUDGED_FIELDS = ("scores", "verdict", "discrepancy", "detected")
# What a run adds to judged records; it stays last, so that a record that is judged again has the same bytes.
_LAST_FIELDS = ("spread", "extra")
DETECTED = "error in its own translation, says the detector"
_SHARED_TOKENS_SHOWN = 5
"""Tokens of a long shared prefix that are shown before the first that differs."""
# Warn if accuracy is below this share of chance level, and if chance gives that with less than this probability.
_FAR_BELOW = 0.8
_UNLIKELY = 0.001


class Contrast(Method):
    """Minimal pairs: forced to choose

    Does the system find the right translation more likely than one with a small error in it?

    A minimal pair is a right translation and a copy with one error (a “not” left out, a wrong article). The system
    is not asked to translate: it says which of the two it finds more likely. Accuracy is the share of pairs in which
    that is the right one; the rest prefers the error.

    Discrepancy is by how much the system finds its own translation more likely than the preferred one of the pair, in
    nats (natural-log units) per token. Where it is large, the pair is not what the system would write, and what it
    prefers there says little about what it does when it translates. It compares test sets under one system, not
    systems.

    Controls are errors that no system is known to make. What forced choice reports for them is false, so they measure
    how far to believe the rest: excess errors are those beyond what controls predict.

    How the figures of an error type are read together. real: its own translations have the error, too. beyond:
    preferred more often than controls explain, but not seen in its own translations. forced only: neither its own
    translations nor controls show whether this is more than a false alarm. not seen: not in its own translations, and
    there are too few controls to compare with. few controls: too few to tell whether this is more than false alarms.
    as controls: preferred no more often than false alarms on controls explain. false: its own translations have the
    error less often than forced choice reports. none: the error was never preferred. too few: fewer than 10 pairs.
    Only real and beyond are called errors; what nothing speaks for or against is unknown.
    """

    name = "contrast"
    items = (MinimalPair,)
    requires: ClassVar[Needs] = {"system": ("score",)}
    Settings = ContrastSettings
    settings: ContrastSettings

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        if systems is None:
            if self.settings.without_variants == "correct" and all(item.contrastive for item in items):
                raise BabelscopeError(
                    "without_variants has no effect: all items have variants; ?empty=yes reads those without, too"
                )
            return
        instead: Mapping[Capability, Capability] = {"score": "item_scores", "translate": "item_scores"}
        advice = "it can be asked in words, by prompted_choice"
        require_roles(self, systems, instead=instead, otherwise={"reply": advice})
        system = systems["system"]
        if "item_scores" in capabilities(system):
            protocol = self.settings.preset_by({"protocol": self.settings.protocol})
            if "score" in self.settings.model_fields_set and "score" not in protocol:
                raise BabelscopeError(
                    f"score has no effect on {system.name}: stored scores are compared as they are"
                )
            return
        if self.settings.needs_translations:
            require(system, "translate", what_for="contrast with these settings")
        without = [item for item in items if NO_SOURCE in item.extra]
        reads = properties(system).reads_source
        if without and reads:
            raise BabelscopeError(
                f"item {without[0].id} has no source, which {system.name} would be asked to translate; give a "
                "language model that scores texts by themselves (llm:NAME?prompt=none), or read the pairs with "
                "?continued=yes"
            )
        if not reads and len(without) < len(items):
            raise BabelscopeError(
                f"{system.name} scores texts by themselves (prompt=none), but the pairs have sources; leave that out"
            )

    # --- Asking ----------------------------------------------------------------------------------------------------

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        """One record per item: token log-probabilities of every variant, and of the 1-best where it is needed."""
        system = systems["system"]
        if "item_scores" in capabilities(system):
            return self._records_of_stored_scores(system, items)
        asked = iter(self._ask_pairs(system, [item for item in items if item.can_be_asked]))
        records = [next(asked) if item.can_be_asked else self._unasked_record(item) for item in items]
        return add_to_sampled(
            records,
            items,
            self._sample(items.whole, seed),
            lambda some: self._ask_alternatives(system, items.whole, some, seed),
        )

    def _ask_pairs(self, system: Any, items: Sequence[MinimalPair]) -> list[Record]:
        asked = [(item.question, text) for item in items for text in (item.correct, *item.contrastive)]
        # Each text is scored once: cheaper, and equal texts get equal scores whatever the batches.
        once = list(dict.fromkeys(asked))
        with relocate_errors(lambda what, number: f"{_first_item_with(items, *once[number - 1])}: {what}"):
            found = dict(zip(once, ask_score(system, once), strict=True))
        may = self.settings.discrepancy == "auto" and "translate" in capabilities(system)
        best: Mapping[Question, Scored] = {}
        if may or self.settings.needs_translations:
            best = _one_best_by_question(system, items, self.settings.beam)
        return [_record(item, found, best.get(item.question)) for item in items]

    def _unasked_record(self, item: MinimalPair) -> Record:
        """The record of an item that no system can be asked about."""
        if item.contrastive:
            return {"unanswered": "it has an empty text, which no system can be asked about"}
        return self._stored_record(item, None, "")

    def _records_of_stored_scores(self, system: Any, items: Sequence[MinimalPair]) -> list[Record]:
        """Records from stored scores: they have the texts, but no tokens."""
        if self.settings.detect_in_output == "yes":
            raise BabelscopeError(
                "score files have no translations to look for errors in; detect_in_output must be no"
            )
        found: list[ItemScores | None] = system.item_scores([choice_of(item) for item in items])
        known = [scores for scores in found if scores is not None and scores.others]
        # Under a protocol a file without 1-bests has no discrepancy.
        needed = self.settings.discrepancy in ("paper", "clipped") and self.settings.protocol == "checked"
        if needed and any(scores.best is None for scores in known):
            raise BabelscopeError(f"{system.name} has no column for the 1-best, which the discrepancy needs")
        direction = system.fingerprint.settings.get("direction", "higher")
        warn_if_direction_looks_wrong(known, system.name, direction)
        pairs = zip(items, found, strict=True)
        return [self._stored_record(item, scores, system.name) for item, scores in pairs]

    def _stored_record(self, item: MinimalPair, scores: ItemScores | None, name: str) -> Record:
        """The record of an item with stored scores, or of one without variants, which needs none."""
        if not item.contrastive and self.settings.without_variants == "skip":
            return {"unanswered": NO_VARIANT}
        if not item.contrastive:
            scores = scores or ItemScores(-math.inf, ())  # a file may leave it out: nothing is compared
        elif scores is None or not scores.others:
            return {"unanswered": f"{name} has no score of a variant of it"}
        texts = {"correct": item.correct, "contrastive": list(item.contrastive)}
        return {**_about(item), "texts": texts, "scores": scores_as_json(scores)}

    def _sample(self, items: Sequence[MinimalPair], seed: int) -> frozenset[int]:
        """Places of the items whose alternatives are asked for: at most `spread`, each source once."""
        if self.settings.discrepancy == "none" or not self.settings.spread:
            return frozenset()
        first: dict[str, int] = {}
        for place, item in enumerate(items):
            if item.can_be_asked:
                first.setdefault(item.source, place)
        places = list(first.values())
        order = stream(seed, "contrast/spread").permutation(len(places))
        return frozenset(places[number] for number in order[: self.settings.spread])

    def _ask_alternatives(
        self, system: Any, items: Sequence[MinimalPair], records: Mapping[int, Record], seed: int
    ) -> dict[int, Record]:
        """The second-best translation and a sample of each item, where the system gives them for nothing."""
        how, beam = properties(system), self.settings.beam
        places = [place for place, record in records.items() if "best" in record and "correct" in record]
        # Servers would be paid for it, and stored answers have no more than they have.
        if not places or how.costly or how.stored or how.asked_as_a_whole:
            return {}
        questions = [items[place].question for place in places]
        found: dict[int, dict[str, Any]] = {place: {} for place in places}
        if beam > 1 and "translate" in capabilities(system):
            try:
                lists = ask_translate(system, questions, beam=beam, n_best=2)
            except BabelscopeError:  # it gives one translation only
                lists = []
            for place, question, answers in zip(places, questions, lists, strict=False):
                for second in answers[1:]:
                    scored = second if second.has_scores else ask_score(system, [(question, second.text)])[0]
                    found[place][SECOND] = scored_as_json(scored)
        if "sample" in capabilities(system):
            for place, drawn in zip(places, ask_sample(system, questions, n=1, seed=seed), strict=True):
                if drawn[0].has_scores:
                    found[place][SAMPLE] = scored_as_json(drawn[0])
        return {place: {"spread": each} for place, each in found.items() if each}

    # --- Judging ---------------------------------------------------------------------------------------------------

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with scores, verdict, discrepancy, and the errors that detectors find in the 1-best."""
        detects = self.settings.detect_in_output != "no"
        known = [record for record in records if "best" in record]
        looks = known and detects and analysis_version()
        detected = iter(detect_in_pairs(known) if looks else ())
        found = []
        for record in records:
            verdicts = score_record(self._scores(record), clipped=self.settings.discrepancy == "clipped")
            if looks:
                verdicts |= next(detected) if "best" in record else {}
            elif detects and "detected" in record:
                verdicts["detected"] = record["detected"]  # by an analyzer that is not installed here
            left = _JUDGED_FIELDS + _LAST_FIELDS
            kept = {name: value for name, value in record.items() if name not in left}
            last = {name: record[name] for name in _LAST_FIELDS if name in record}
            found.append({**kept, **verdicts, **last})
        return found

    def _scores(self, record: Record) -> ItemScores:
        how, measured = self.settings.score, self.settings.discrepancy != "none"
        if "correct" not in record:  # a run of stored scores has no token log-probabilities
            stored = record["scores"]
            best = minus_inf_if_none(stored["best"]) if measured and "best" in stored else None
            others = tuple(map(minus_inf_if_none, stored["contrastive"]))
            return ItemScores(minus_inf_if_none(stored["correct"]), others, best)
        return ItemScores(
            _stored_score(record["correct"], how),
            tuple(_variant_score(record, each, how) for each in record["contrastive"]),
            _stored_score(record["best"], how) if measured and "best" in record else None,
        )

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """Accuracy and discrepancy by phenomenon and reference, expected false positives, errors in own output."""
        rows = [
            *figures(records, ties=self.settings.ties, controls=self.settings.controls),
            *self._spread_rows(records),
            *self._output_error_rows(records),
            *rows_of_making(records),
        ]
        return mark_parts(rows, "phenomenon", "reference", "origin", "word")

    def _spread_rows(self, records: Sequence[Record]) -> Iterator[Row]:
        """`spread`: mean of score(1-best) - score(alternative), for the second-best translation and for a sample."""
        for kind in (SECOND, SAMPLE):
            known = [record for record in records if "best" in record and kind in record.get("spread", {})]
            distances = [
                _stored_score(record["best"], self.settings.score)
                - _stored_score(record["spread"][kind], self.settings.score)
                for record in known
            ]
            finite = [place for place, each in enumerate(distances) if math.isfinite(each)]
            if finite:
                owners = sources(known[place] for place in finite)
                yield Row(
                    "spread", clustered_mean([distances[place] for place in finite], owners), {"of": kind}
                )

    def _output_error_rows(self, records: Sequence[Record]) -> Iterator[Row]:
        """`forced_errors` and `generated_errors` for each phenomenon and reference kind."""
        known = [record for record in records if "detected" in record]
        generated = generated_error_rows(known, controls=self.settings.controls)
        for members, row in zip(by_phenomenon(known).values(), generated, strict=True):
            wrong = [1.0 - worth for worth in tie_credits(members, self.settings.ties)]
            forced = clustered_proportion(wrong, sources(members))
            labels = {name: value for name, value in row.labels.items() if name != "note"}
            yield from [Row("forced_errors", forced, labels), row]

    def paired(self) -> list[PairedField]:
        """Accuracy, by phenomenon and kind of reference."""
        worth = dict(credit(self.settings.ties))
        return [PairedField("verdict", of="{phenomenon}", by=("phenomenon", "reference"), worth=worth)]

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:  # noqa: ARG002
        """`machine_minus_human` of each system and phenomenon: accuracy on machine minus human references.

        Of sources with both kinds of references; each source counts once.
        """
        tests: list[Tested] = []
        for result in comparison.results:
            groups = by_phenomenon(result.records)
            for phenomenon in dict.fromkeys(name for name, _ in groups):
                human, machine = (
                    self._mean_credit_by_source(groups.get((phenomenon, kind), []))
                    for kind in ("human", "machine")
                )
                if both := sorted(human.keys() & machine.keys()):
                    values = [machine[source] - human[source] for source in both]
                    labels = {"system": result.name, "phenomenon": phenomenon}
                    tests.append((labels, *paired_difference(values, both, verdicts=True), {}))
        return tested_rows("machine_minus_human", tests)

    def _mean_credit_by_source(self, records: Sequence[Record]) -> dict[str, float]:
        found = grouped(zip(sources(records), tie_credits(records, self.settings.ties), strict=True))
        return {source: math.fsum(some) / len(some) for source, some in found.items()}

    # --- Showing ---------------------------------------------------------------------------------------------------

    def tables(self, comparison: Comparison) -> list[Table]:
        first = tables.summary(comparison, self.settings.ties, self.settings.error_threshold)
        return [first, *tables.more_tables(comparison)]

    def charts(self, comparison: Comparison) -> list[Chart]:
        return tables.charts(comparison)

    def show(self, record: Record) -> ItemView:
        """The pair, what the system prefers token by token, and which translation an annotator finds right."""
        group = tables.group_name(record["phenomenon"], record["reference"])
        correct, variants = pair_texts(record)
        tones: Mapping[str, Tone] = {"half": "some", "correct": "none", "wrong": "errors"}
        verdicts: Mapping[str, tuple[str, Tone]] = {
            "correct": ("right", "none"),
            "wrong": ("wrong", "errors"),
            "tie": ("tie", tones[self.settings.ties]),
        }
        told, tone = verdicts[record["verdict"]]
        distance = record.get("discrepancy")
        facts = [] if distance is None else [f"discrepancy {distance:.2f}"]
        detected = [DETECTED] if record.get("detected", {}).get("best") else []
        return ItemView(
            record["source"] or "(empty)",
            (record["phenomenon"], group),
            group,
            [("right", correct), *(("with the error", each) for each in variants)],
            told,
            tone,
            detected,
            margin(record),
            ", ".join([*facts, *detected]),
            lambda: _lines(record),
            _questions(record, correct, variants),
            "margin: log-probability of the right translation minus that of the wrong one; below 0 the error wins",
            "error type",
            "difference",
        )


def _questions(record: Record, correct: str, variants: Sequence[str]) -> list[Entry]:
    """Which translation is right, in an order that reveals nothing; the same for all systems."""
    texts = {correct, *variants}
    distinct = 2 <= len(texts) == 1 + len(variants) <= len(ascii_uppercase)
    if not distinct or not all(text.strip() for text in (record["source"], *texts)):
        return []
    # Neither the order of the file nor that of the letters may tell which is which.
    shown = sorted(texts, key=lambda text: digest_json([record["id"], record["source"], text]))
    line = {
        "id": record["id"],
        "tests": record["tests"],
        "task": "choice",
        "source": record["source"],
        "translations": shown,
        "gold": ascii_uppercase[shown.index(correct)],
    }
    return [Entry(line, (record["id"],), (record["phenomenon"], record["reference"]))]


# --- Correct and contrastive translation token by token ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """A token of one translation or of both, and what it adds to total(correct) - total(contrastive)."""

    correct: str | None
    contrastive: str | None
    difference: float


def token_view(record: Record, variant: int = 0) -> list[Step]:
    """The tokens of a stored pair side by side: shared prefix, what differs, shared suffix.

    In the suffix a difference shows how the error changes the probability of what follows.
    """
    correct, contrastive = record["correct"], record["contrastive"][variant]
    at = contrastive["at"]
    ours, theirs = correct["tokens"][at:], contrastive["tokens"]
    here = [minus_inf_if_none(each) for each in correct["logprobs"][at:]]
    there = [minus_inf_if_none(each) for each in contrastive["logprobs"]]
    end = _shared_prefix_length(ours[::-1], theirs[::-1])
    before = [Step(token, token, 0.0) for token in correct["tokens"][:at]]
    left = [Step(token, None, log) for token, log in zip(ours[: len(ours) - end], here, strict=False)]
    right = [Step(None, token, -log) for token, log in zip(theirs[: len(theirs) - end], there, strict=False)]
    shared = zip(ours[len(ours) - end :], here[len(here) - end :], there[len(there) - end :], strict=True)
    # Two impossible tokens do not differ.
    after = [Step(token, token, 0.0 if one == other else one - other) for token, one, other in shared]
    return [*before, *left, *right, *after]


def _shared_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common prefix."""
    apart = (number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(apart, min(len(one), len(other)))


def _lines(record: Record) -> list[TextLine]:
    """The right translation and the strongest wrong one, token by token, and what it would write itself."""
    lines: list[TextLine] = []
    if record.get("correct", {}).get("tokens"):
        scores = [minus_inf_if_none(each) for each in record["scores"]["contrastive"]]
        ours, theirs = _color_tokens(token_view(record, scores.index(max(scores))))
        lines += [("right", ours), ("with the error", theirs)]
    if "best" in record:
        lines.append(("its own translation", record["best"]["text"]))
    return lines


def _color_tokens(steps: Sequence[Step]) -> tuple[list[Token], list[Token]]:
    """The tokens of both translations with what they add to the difference of log-probabilities, in nats.

    The tokens that differ have no partner, so each gets the sum over all of them. Of a long shared prefix only
    the end is kept.
    """
    parted = [step for step in steps if None in (step.correct, step.contrastive)]
    net = _finite(sum(step.difference for step in parted)) if parted else 0.0
    shared = next((place for place, step in enumerate(steps) if step.contrastive != step.correct), 0)
    left_out = shared - _SHARED_TOKENS_SHOWN if shared > 2 * _SHARED_TOKENS_SHOWN else 0
    ours: list[Token] = [("…", None)] if left_out else []
    theirs: list[Token] = list(ours)
    for step in steps[left_out:]:
        if step.correct is not None and step.contrastive is not None:
            token: Token = (step.correct, _finite(step.difference) if step.difference else None)
            ours.append(token)
            theirs.append(token)
        elif step.correct is not None:
            ours.append((step.correct, net, 1))
        elif step.contrastive is not None:
            theirs.append((step.contrastive, net, 1))
    return ours, theirs


def _finite(number: float) -> float:
    """Clamp to 100 nats: JSON has no infinity, and colors do not go beyond."""
    return 0.0 if math.isnan(number) else max(-100.0, min(100.0, number))


# --- Records -------------------------------------------------------------------------------------------------------


def _record(item: MinimalPair, found: Mapping[tuple[Question, str], Scored], best: Scored | None) -> Record:
    correct = found[item.question, item.correct]
    others = [_variant_as_json(correct, found[item.question, text]) for text in item.contrastive]
    own = {} if best is None else {"best": scored_as_json(best)}
    return {**_about(item), "correct": scored_as_json(correct), "contrastive": others, **own}


def _about(item: MinimalPair) -> Record:
    return {"source": item.source, "phenomenon": item.phenomenon, "reference": item.reference}


def _variant_as_json(correct: Scored, contrastive: Scored) -> Record:
    """A contrastive variant as it is stored, without the prefix that it shares with the correct translation.

    `at` is the index of the first token that differs. Equal prefixes have equal log-probabilities, so `tokens`
    and `logprobs` are stored from there on; `total` is the sum over all tokens, in nats.
    """
    at = _shared_prefix_length(correct.tokens, contrastive.tokens)
    whole = scored_as_json(contrastive)
    new = {"tokens": whole["tokens"][at:], "logprobs": whole["logprobs"][at:]}
    return {**whole, "at": at, **new, "total": finite_or_none(contrastive.total)}


def _stored_score(answer: Mapping[str, Any], how: Scoring) -> float:
    """The score of a stored answer that has all its tokens."""
    return score_tokens([minus_inf_if_none(each) for each in answer["logprobs"]], how)


def _variant_score(record: Record, variant: Mapping[str, Any], how: Scoring) -> float:
    """The score of a contrastive variant, stored without the prefix that it shares with the correct one."""
    at = variant.get("at", 0)
    if how == "probability" or "total" not in variant:
        return _stored_score({"logprobs": [*record["correct"]["logprobs"][:at], *variant["logprobs"]]}, how)
    total = minus_inf_if_none(variant["total"])
    return total / (len(variant["logprobs"]) + at) if how == "mean" else total


def _one_best_by_question(system: Any, items: Sequence[MinimalPair], beam: int) -> dict[Question, Scored]:
    """The 1-best of each question, with the log-probabilities of the tokens that were generated."""
    asked = list(dict.fromkeys(item.question for item in items))
    with relocate_errors(lambda what, number: f"{_first_item_with(items, asked[number - 1])}: {what}"):
        found = [answer[0] for answer in ask_translate(system, asked, beam=beam)]
    # Some systems return text without log-probabilities; ask them to score it.
    bare = [number for number, scored in enumerate(found) if not scored.has_scores]
    rescored = ask_score(system, [(asked[number], found[number].text) for number in bare]) if bare else []
    for number, scored in zip(bare, rescored, strict=True):
        notes = tuple(dict.fromkeys((*found[number].notes, *scored.notes)))
        found[number] = Scored(scored.text, scored.tokens, scored.logprobs, notes)
    return dict(zip(asked, found, strict=True))


def _first_item_with(items: Sequence[MinimalPair], question: Question, target: str | None = None) -> str:
    """The first item with this question (and target), to name in an error about a refused text."""
    found = (
        item
        for item in items
        if item.question == question and target in (None, item.correct, *item.contrastive)
    )
    return f"item {next(found).id}"


def warn_if_direction_looks_wrong(found: Sequence[ItemScores], name: str, direction: str) -> None:
    """Warn if accuracy is significantly and far below chance: higher scores may be worse in this file."""
    from scipy.stats import binomtest

    if not found:
        return
    # With k contrastive variants, guessing picks the correct one with probability 1 / (k + 1).
    chance = math.fsum(1 / (1 + len(scores.others)) for scores in found) / len(found)
    worth = credit("half")
    good = math.fsum(worth[verdict(scores)] for scores in found)
    accuracy = good / len(found)
    if accuracy >= _FAR_BELOW * chance:
        return
    if binomtest(math.ceil(good), len(found), chance, alternative="less").pvalue < _UNLIKELY:
        other = "lower" if direction == "higher" else "higher"
        warnings.warn(
            f"{name}: accuracy {accuracy:.3f} is far below chance ({chance:.3f}); the direction looks wrong: "
            f"are {other} scores better in this file (direction={other})?",
            stacklevel=3,
        )
