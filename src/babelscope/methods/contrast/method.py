"""Forced choice between a correct translation and variants with an error (paper: minimal-pairs)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any, ClassVar

from babelscope.core.charts import Chart
from babelscope.core.comparison import Comparison
from babelscope.core.results import (
    PairedField,
    Record,
    Row,
    credit,
    finite_or_none,
    grouped,
    minus_inf_if_none,
)
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
from babelscope.making.machine_tests import question_of, rows_of_making
from babelscope.methods.base import Items, Method, Needs, add_to_sampled, require_roles
from babelscope.methods.contrast import tables
from babelscope.methods.contrast.figures import (
    SAMPLE,
    SECOND,
    errors_of,
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
from babelscope.methods.measuring import by_phenomenon, mark_parts, pair_texts, sources
from babelscope.methods.queue import Entry
from babelscope.methods.reporting import ItemView, TextLine, Token, Tone, shared_prefix
from babelscope.stats.intervals import clustered_mean, clustered_proportion
from babelscope.stats.paired import Tested, paired_difference, tested_rows
from babelscope.systems.contract import ask_sample, ask_score, ask_translate, scored_as_json
from babelscope.systems.registry import require
from babelscope.testsets.items import NO_SOURCE, MinimalPair, choice_of
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

NO_VARIANT = (
    "it has no contrastive variant: nothing to prefer (--set without_variants=correct counts it as correct)"
)
_JUDGED_FIELDS = ("scores", "verdict", "discrepancy", "detected")
# What a run adds to judged records; it stays last, so that a record that is judged again has the same bytes.
_LAST_FIELDS = ("spread", "extra")
DETECTED = "error detected in its own translation"
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

    The same figure has two readings (sections 5 and 6 of the paper). Pairs with human references test robustness:
    whether the system still knows the right one in text that it would not write. Pairs with machine references test
    behavior: what it does when it translates.

    Controls are errors that no system is known to make. What forced choice reports for them is false, so they
    measure how far to believe the rest. The error rate beyond controls is our estimate, not the paper's; the
    smallest one that these pairs and controls would show in 80 % of cases stands beside it. Controls alone clear no
    error type.

    How the figures of an error type are read together. confirmed: its own translations have the error, too. beyond
    controls: preferred more often than controls explain, but not seen in its own translations. forced choice only:
    neither its own translations nor controls show whether this is more than a false alarm. not in its output: not
    seen there, and there are too few controls to compare with. too few controls: too few to tell whether this is
    more than false alarms. like controls: preferred no more often than false alarms on controls explain. false
    alarm: its own translations have the error less often than forced choice reports. never preferred: it was right
    in all pairs. too few pairs: fewer than 10. Only confirmed and beyond controls are called errors; what nothing
    speaks for or against is unknown.
    """

    name = "contrast"
    items = (MinimalPair,)
    requires: ClassVar[Needs] = {"system": ("score",)}
    tests_metrics: ClassVar[bool] = True
    """Whether a metric can be tested, too (`--metric`): it only has to score texts."""
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
                f"{system.name} scores texts by themselves (prompt=none), but the pairs have sources: "
                "leave prompt=none out"
            )

    # --- Asking ----------------------------------------------------------------------------------------------------

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        """One record per item: token log-probabilities of every variant, and of the 1-best where it is needed."""
        system = systems["system"]
        if "item_scores" in capabilities(system):
            return self._records_of_stored_scores(system, items)
        asked = iter(self._ask_pairs(system, [item for item in items if item.can_be_asked]))
        empty = "it has an empty text, which no system can be asked about"
        records = [
            next(asked) if item.can_be_asked else self._stored_record(item, None, empty) for item in items
        ]
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
        found = dict(zip(once, ask_score(system, once), strict=True))
        may = self.settings.discrepancy == "auto" and "translate" in capabilities(system)
        best: Mapping[Question, Scored] = {}
        if may or self.settings.needs_translations:
            best = _one_best_by_question(system, items, self.settings.beam)
        return [_record(item, found, best.get(item.question)) for item in items]

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
        if direction := system.fingerprint.settings.get("direction"):
            warn_if_direction_looks_wrong(known, system.name, direction)
        missing = f"{system.name} has no score of a variant of it"
        return [self._stored_record(item, scores, missing) for item, scores in zip(items, found, strict=True)]

    def _stored_record(self, item: MinimalPair, scores: ItemScores | None, missing: str) -> Record:
        """The record of an item with stored scores, or of one without variants, which needs none."""
        if item.contrastive and (scores is None or not scores.others):
            return {"unanswered": missing}
        if not item.contrastive and self.settings.without_variants == "skip":
            return {"unanswered": NO_VARIANT}
        scores = scores or ItemScores(-math.inf, ())  # a file may leave it out: nothing is compared
        texts = {"correct": item.correct, "contrastive": list(item.contrastive)}
        return {**_about(item), "texts": texts, "scores": scores_as_json(scores)}

    def _sample(self, items: Sequence[MinimalPair], seed: int) -> frozenset[int]:
        """Places of the items whose alternatives are asked for: at most `spread`, each source once."""
        if self.settings.discrepancy == "none":
            return frozenset()
        known = grouped((item.source, place) for place, item in enumerate(items) if item.can_be_asked)
        places = [own[0] for own in known.values()]
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
            known = []
            for record in records:
                if "best" in record and kind in record.get("spread", {}):
                    best, other = (
                        _stored_score(each, self.settings.score)
                        for each in (record["best"], record["spread"][kind])
                    )
                    known.append((best - other, record["source"]))
            finite = [each for each in known if math.isfinite(each[0])]
            if finite:
                distances, owners = zip(*finite, strict=True)
                yield Row("spread", clustered_mean(distances, owners), {"of": kind})

    def _output_error_rows(self, records: Sequence[Record]) -> Iterator[Row]:
        """`forced_errors` and `generated_errors` for each phenomenon and reference kind."""
        known = [record for record in records if "detected" in record]
        generated = generated_error_rows(known, controls=self.settings.controls)
        for members, row in zip(by_phenomenon(known).values(), generated, strict=True):
            forced = clustered_proportion(errors_of(members, self.settings.ties), sources(members))
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
        tones: Mapping[float, Tone] = {1.0: "none", 0.5: "some", 0.0: "errors"}
        distance = record.get("discrepancy")
        facts = [] if distance is None else [f"discrepancy {distance:.2f}"]
        detected = [DETECTED] if record.get("detected", {}).get("best") else []
        return ItemView(
            record["source"] or "(empty)",
            groups=(record["phenomenon"], group),
            heading=group,
            lines=[("right", correct), *(("with the error", each) for each in variants)],
            verdict="right" if record["verdict"] == "correct" else record["verdict"],
            tone=tones[credit(self.settings.ties)[record["verdict"]]],
            also=detected,
            value=margin(record),
            facts=", ".join([*facts, *detected]),
            answer=lambda: _lines(record),
            questions=self._questions(record, correct, variants),
            value_name="margin: log-probability of the right translation minus that of the wrong one; below 0 the "
            "error wins",
            group_name="error type",
            colors="difference",
        )

    def _questions(self, record: Record, correct: str, variants: Sequence[str]) -> list[Entry]:
        if self.settings.ask_people == "pairs":
            return _which_is_right(record, correct, variants)
        asked = question_of(record)
        group = (record["phenomenon"], asked["reason"]) if asked else ()
        return [Entry({**asked, "tests": record["tests"]}, (record["id"],), group)] if asked else []


def _which_is_right(record: Record, correct: str, variants: Sequence[str]) -> list[Entry]:
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


def _lines(record: Record) -> list[TextLine]:
    """The right translation and the strongest wrong one, token by token, and what it would write itself."""
    lines: list[TextLine] = []
    if record.get("correct", {}).get("tokens"):
        scores = [minus_inf_if_none(each) for each in record["scores"]["contrastive"]]
        lines += _token_lines(record["correct"], record["contrastive"][scores.index(max(scores))])
    if "best" in record:
        lines.append(("its own translation", record["best"]["text"]))
    return lines


def _token_lines(correct: Record, variant: Record) -> list[TextLine]:
    """The tokens of both translations with what they add to total(correct) - total(contrastive), in nats.

    The tokens that differ have no partner, so each gets the sum over all of them. In the suffix that both share, a
    difference shows how the error changes the probability of what follows. Of a long shared prefix only the end is
    shown.
    """
    at = variant["at"]
    ours, theirs = correct["tokens"][at:], variant["tokens"]
    here, there = (
        [minus_inf_if_none(each) for each in logprobs]
        for logprobs in (correct["logprobs"][at:], variant["logprobs"])
    )
    shared = shared_prefix(ours[::-1], theirs[::-1])
    left, right = len(ours) - shared, len(theirs) - shared
    net = _finite(sum(here[:left]) - sum(there[:right]))
    start = at - _SHARED_TOKENS_SHOWN if at > 2 * _SHARED_TOKENS_SHOWN else 0
    before: list[Token] = [("…", None)] if start else []
    before += [(token, None) for token in correct["tokens"][start:at]]
    after: list[Token] = [
        (token, None if one == other else _finite(one - other))
        for token, one, other in zip(ours[left:], here[left:], there[right:], strict=True)
    ]
    return [
        ("right", [*before, *((token, net, 1) for token in ours[:left]), *after]),
        ("with the error", [*before, *((token, net, 1) for token in theirs[:right]), *after]),
    ]


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
    at = shared_prefix(correct.tokens, contrastive.tokens)
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
    answers = ask_translate(system, asked, beam=beam)
    found = {question: answer[0] for question, answer in zip(asked, answers, strict=True)}
    # Some systems return text without log-probabilities; ask them to score it.
    bare = [(question, best.text) for question, best in found.items() if not best.has_scores]
    for (question, _), scored in zip(bare, ask_score(system, bare) if bare else (), strict=True):
        notes = tuple(dict.fromkeys((*found[question].notes, *scored.notes)))
        found[question] = replace(scored, notes=notes)
    return found


def warn_if_direction_looks_wrong(found: Sequence[ItemScores], name: str, direction: str) -> None:
    """Warn if accuracy is significantly and far below chance: higher scores may be worse in this file."""
    from scipy.stats import binomtest

    if not found:
        return
    # With k contrastive variants, guessing picks the correct one with probability 1 / (k + 1).
    chance = math.fsum(1 / (1 + len(scores.others)) for scores in found) / len(found)
    good = math.fsum(credit("half")[verdict(scores)] for scores in found)
    p = binomtest(math.ceil(good), len(found), chance, alternative="less").pvalue
    if good / len(found) < _FAR_BELOW * chance and p < _UNLIKELY:
        other = "lower" if direction == "higher" else "higher"
        warnings.warn(
            f"{name}: accuracy {good / len(found):.3f} is far below chance ({chance:.3f}); the direction looks "
            f"wrong: are {other} scores better in this file (direction={other})?",
            stacklevel=3,
        )
