"""Forced choice between a correct translation and variants with an error (paper: minimal-pairs)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, ClassVar

from babelscope.core.comparison import Comparison
from babelscope.core.page import Caveat
from babelscope.core.results import PairedField, Record, Row, Ties, credit, finite_or_none, minus_inf_if_none
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
from babelscope.language.registry import analysis_version
from babelscope.making.machine_tests import rows_of_making
from babelscope.methods.base import Items, Method, Needs, add_to_sampled, require_roles
from babelscope.methods.contrast.figures import (
    Scores,
    figures,
    measure_of,
    score_record,
    tie_credits,
    verdict,
)
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.methods.errors.figures import generated_error_rows
from babelscope.methods.errors.method import detect_in_pairs
from babelscope.methods.measuring import by_phenomenon, grouped, pair_texts, sources
from babelscope.methods.queue import Entry
from babelscope.methods.view import one
from babelscope.stats.intervals import clustered_mean, clustered_proportion
from babelscope.stats.paired import Tested, paired_difference, tested_rows
from babelscope.systems.contract import ask_sample, ask_score, ask_translate, relocate_errors, scored_as_json
from babelscope.systems.registry import require
from babelscope.testsets.items import NO_SOURCE, MinimalPair, choice_of
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

# --- Correct and contrastive translation token by token: where they differ, and what each token adds ---------------


@dataclass(frozen=True, slots=True)
class Step:
    """A token of one translation or of both, and what it adds to total(correct) - total(contrastive)."""

    correct: str | None
    contrastive: str | None
    difference: float


def variant_as_json(correct: Scored, contrastive: Scored) -> Record:
    """A contrastive variant as it is stored, without the prefix that it shares with the correct translation.

    `at` is the index of the first token that differs. Equal prefixes have equal log-probabilities, so `tokens`
    and `logprobs` are stored from there on; `total` is the sum over all tokens, in nats.
    """
    at = _shared_prefix_length(correct.tokens, contrastive.tokens)
    whole = scored_as_json(contrastive)
    new = {"tokens": whole["tokens"][at:], "logprobs": whole["logprobs"][at:]}
    return {**whole, "at": at, **new, "total": finite_or_none(contrastive.total)}


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
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return number
    return min(len(one), len(other))


def stored_score(answer: Mapping[str, Any], how: Scoring) -> float:
    """The score of a stored answer that has all its tokens."""
    return score_tokens([minus_inf_if_none(each) for each in answer["logprobs"]], how)


def variant_score(record: Record, variant: Mapping[str, Any], how: Scoring) -> float:
    """The score of a contrastive variant, stored without the prefix that it shares with the correct one."""
    at = variant.get("at", 0)
    if how == "probability" or "total" not in variant:
        return stored_score({"logprobs": [*record["correct"]["logprobs"][:at], *variant["logprobs"]]}, how)
    total = minus_inf_if_none(variant["total"])
    return total / (len(variant["logprobs"]) + at) if how == "mean" else total


# --- How far a system's own alternatives are from its 1-best -------------------------------------------------------

SECOND, SAMPLE = "second", "sample"


def sample(items: Sequence[MinimalPair], settings: ContrastSettings, seed: int) -> frozenset[int]:
    """Places of the items whose sources are asked about: at most `spread`, each source once."""
    first: dict[str, int] = {}
    for place, item in enumerate(items):
        if item.can_be_asked:
            first.setdefault(item.source, place)
    places = list(first.values())
    if settings.discrepancy == "none" or not settings.spread:
        return frozenset()
    order = stream(seed, "contrast/spread").permutation(len(places))
    return frozenset(places[number] for number in order[: settings.spread])


def ask_spread(
    systems: Mapping[str, Any],
    items: Sequence[MinimalPair],
    records: Mapping[int, Record],
    settings: ContrastSettings,
    seed: int,
) -> dict[int, Record]:
    """For each sampled item the second-best translation and a sample, where the system gives them for nothing."""
    system = systems["system"]
    how = properties(system)
    places = [place for place, record in records.items() if "best" in record and "correct" in record]
    # Servers would be paid for it, and stored answers have no more than they have.
    if not places or how.costly or how.stored or how.asked_as_a_whole:
        return {}
    questions = [items[place].question for place in places]
    found: dict[int, dict[str, Any]] = {place: {} for place in places}
    if settings.beam > 1 and "translate" in capabilities(system):
        try:
            lists = ask_translate(system, questions, beam=settings.beam, n_best=2)
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


def spread_rows(records: Sequence[Record], settings: ContrastSettings) -> Iterator[Row]:
    """`spread`: mean of score(1-best) - score(alternative), for the second-best translation and for a sample."""
    for kind in (SECOND, SAMPLE):
        known, distances = [], []
        for record in records:
            other = record.get("spread", {}).get(kind)
            if not other or "best" not in record:
                continue
            best, its = (stored_score(each, settings.score) for each in (record["best"], other))
            if math.isfinite(best) and math.isfinite(its):
                known.append(record)
                distances.append(best - its)
        if known:
            yield Row("spread", clustered_mean(distances, sources(known)), {"of": kind})


CAUTION = "not comparable between models (section 3.2): compare test sets under one model, not models"
"""What must be said where the discrepancies of several systems stand beside each other."""


def discrepancy_caveats(system: str, rows: Sequence[Row]) -> Iterator[Caveat]:
    """How far the pairs are from the system's output, measured by its own alternatives."""
    second, drawn = (one(rows, "spread", of=kind) for kind in (SECOND, SAMPLE))
    whole = [row for row in rows if row.name == "discrepancy" and "phenomenon" not in row.labels]
    # Of one kind of reference there is one figure, without that label.
    distances = [row for row in whole if "reference" in row.labels] or whole
    kinds = {
        str(row.labels["reference"])
        for row in rows
        if row.name == "discrepancy" and "reference" in row.labels
    }
    machine = next((row for row in distances if row.labels.get("reference") == "machine"), None)
    for row in distances:
        kind = row.labels.get("reference") or ", ".join(kinds)
        nearer = [
            (words, each)
            for words, each in (
                ("its second-best one", second),
                ("machine references", machine if kind == "human" else None),
                ("a sample of its own", drawn),
            )
            if each is not None and each.estimate.high < row.estimate.low
        ]
        if not nearer:
            continue
        beyond = ", ".join(words for words, _ in nearer)
        yield Caveat(
            system,
            f"pairs with {kind} references are farther from its translation than {beyond}: errors there say "
            "little.",
        )
    if not any(row.name == "discrepancy" for row in rows):
        yield Caveat(
            system,
            "how far the pairs are from its own translations is not known: it may never make such errors.",
        )


# --- Forced choice between a correct translation and variants with an error (paper: minimal-pairs) -----------------


def judge(records: Sequence[Record], settings: ContrastSettings) -> list[Record]:
    """The records with scores, verdict, discrepancy, and the errors that detectors find in the 1-best."""
    known = [record for record in records if "best" in record]
    looks = known and settings.detect_in_output != "no" and analysis_version()
    detected = iter(detect_in_pairs(known) if looks else ())
    found = []
    for record in records:
        verdicts = score_record(_scores(record, settings), clipped=settings.discrepancy == "clipped")
        if looks:
            verdicts |= next(detected) if "best" in record else {}
        elif settings.detect_in_output != "no" and "detected" in record:
            verdicts["detected"] = record["detected"]  # by an analyzer that is not installed here
        kept = {name: value for name, value in record.items() if name not in _JUDGED_FIELDS + _LAST_FIELDS}
        last = {name: record[name] for name in _LAST_FIELDS if name in record}
        found.append({**kept, **verdicts, **last})
    return found


_JUDGED_FIELDS = ("scores", "verdict", "discrepancy", "detected")
# What a run adds to judged records; it stays there, so that one that is judged again has the same bytes.
_LAST_FIELDS = ("spread", "extra")


def _scores(record: Record, settings: ContrastSettings) -> Scores:
    if "correct" not in record:  # a run of stored scores has no token log-probabilities
        stored = {name: minus_inf_if_none(record["scores"].get(name)) for name in ("correct", "best")}
        known = "best" in record["scores"] and settings.discrepancy != "none"
        others = tuple(map(minus_inf_if_none, record["scores"]["contrastive"]))
        return Scores(stored["correct"], others, stored["best"] if known else None)
    known = "best" in record and settings.discrepancy != "none"
    return Scores(
        stored_score(record["correct"], settings.score),
        tuple(variant_score(record, each, settings.score) for each in record["contrastive"]),
        stored_score(record["best"], settings.score) if known else None,
    )


NO_VARIANT = (
    "it has no contrastive variant: nothing to prefer (--without-variants correct counts it as correct)"
)


def ask(
    systems: Mapping[str, Any], items: Sequence[MinimalPair], settings: ContrastSettings, _seed: int
) -> list[Record]:
    """One record per item: token log-probabilities of every variant, and of the 1-best where it is needed."""
    system = systems["system"]
    if "item_scores" in capabilities(system):
        return _records_of_stored_scores(system, items, settings)
    if not all(item.can_be_asked for item in items):
        left = iter(ask(systems, [item for item in items if item.can_be_asked], settings, _seed))
        return [next(left) if item.can_be_asked else _unasked_record(item, settings) for item in items]
    asked = [(item.question, text) for item in items for text in (item.correct, *item.contrastive)]
    # Each text is scored once: cheaper, and equal texts get equal scores whatever the batches.
    once = list(dict.fromkeys(asked))
    with relocate_errors(lambda what, number: f"{_first_item_with(items, *once[number - 1])}: {what}"):
        found = dict(zip(once, ask_score(system, once), strict=True))
    may = settings.discrepancy == "auto" and "translate" in capabilities(system)
    needs_best = may or settings.needs_translations
    best = _one_best_by_question(system, items, settings.beam) if needs_best else {}
    return [_record(item, found, best.get(item.question)) for item in items]


def check_system(system: Any, items: Sequence[MinimalPair], settings: ContrastSettings) -> None:
    """Refuse a system that cannot translate where settings need it; one that reads sources where there are none."""
    if "item_scores" in capabilities(system):
        return
    if settings.needs_translations:
        require(system, "translate", what_for="contrast with these settings")
    without = [item for item in items if NO_SOURCE in item.extra]
    reads = properties(system).reads_source
    if without and reads:
        raise BabelscopeError(
            f"item {without[0].id} has no source, which {system.name} would be asked to translate; give a language "
            "model that scores texts by themselves (llm:NAME?prompt=none), or read the pairs with ?continued=yes"
        )
    if not reads and len(without) < len(items):
        raise BabelscopeError(
            f"{system.name} scores texts by themselves (prompt=none), but the pairs have sources; leave that out"
        )


def _unasked_record(item: MinimalPair, settings: ContrastSettings) -> Record:
    """The record of an item that no system can be asked about."""
    if item.contrastive:
        return {"unanswered": "it has an empty text, which no system can be asked about"}
    return _stored_record(item, None, settings, "")


def _record(item: MinimalPair, found: Mapping[tuple[Question, str], Scored], best: Scored | None) -> Record:
    correct = found[item.question, item.correct]
    return {
        "source": item.source,
        "phenomenon": item.phenomenon,
        "reference": item.reference,
        "correct": scored_as_json(correct),
        "contrastive": [variant_as_json(correct, found[item.question, text]) for text in item.contrastive],
        **({} if best is None else {"best": scored_as_json(best)}),
    }


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


# Warn if accuracy is below this share of chance level, and if chance gives that with less than this probability.
_FAR_BELOW = 0.8
_UNLIKELY = 0.001


def _records_of_stored_scores(
    system: Any, items: Sequence[MinimalPair], settings: ContrastSettings
) -> list[Record]:
    """Records from stored scores: they have the texts, but no tokens."""
    if settings.detect_in_output == "yes":
        raise BabelscopeError(
            "score files have no translations to look for errors in; detect_in_output must be no"
        )
    found: list[ItemScores | None] = system.item_scores([choice_of(item) for item in items])
    known = [scores for scores in found if scores is not None and scores.others]
    if settings.discrepancy in ("paper", "clipped") and any(scores.best is None for scores in known):
        raise BabelscopeError(f"{system.name} has no column for the 1-best, which the discrepancy needs")
    warn_if_direction_looks_wrong(known, system.name, system.fingerprint.settings.get("direction", "higher"))
    return [
        _stored_record(item, scores, settings, system.name) for item, scores in zip(items, found, strict=True)
    ]


def _stored_record(
    item: MinimalPair, scores: ItemScores | None, settings: ContrastSettings, name: str
) -> Record:
    """The record of an item with stored scores, or of one without variants, which needs none."""
    if not item.contrastive and settings.without_variants == "skip":
        return {"unanswered": NO_VARIANT}
    if not item.contrastive:
        scores = scores or ItemScores(-math.inf, ())  # a file may leave it out: nothing is compared
    elif scores is None or not scores.others:
        return {"unanswered": f"{name} has no score of a variant of it"}
    best = {} if scores.best is None else {"best": finite_or_none(scores.best)}
    return {
        "source": item.source,
        "phenomenon": item.phenomenon,
        "reference": item.reference,
        "texts": {"correct": item.correct, "contrastive": list(item.contrastive)},
        "scores": {
            "correct": finite_or_none(scores.correct),
            "contrastive": [finite_or_none(each) for each in scores.others],
            **best,
        },
    }


def warn_if_direction_looks_wrong(found: Sequence[ItemScores], name: str, direction: str) -> None:
    """Warn if accuracy is significantly and far below chance: higher scores may be worse in this file."""
    from scipy.stats import binomtest

    if not found:
        return
    # With k contrastive variants, guessing picks the correct one with probability 1 / (k + 1).
    chance = math.fsum(1 / (1 + len(scores.others)) for scores in found) / len(found)
    worth = credit("half")
    good = math.fsum(worth[verdict(Scores(scores.correct, scores.others))] for scores in found)
    accuracy = good / len(found)
    if accuracy >= _FAR_BELOW * chance:
        return
    if binomtest(math.ceil(good), len(found), chance, alternative="less").pvalue < _UNLIKELY:
        other = "lower" if direction == "higher" else "higher"
        warnings.warn(
            f"{name}: accuracy {accuracy:.3f} is far below chance ({chance:.3f}); the direction looks wrong: "
            f"are {other} scores better in this file (--direction {other})?",
            stacklevel=3,
        )


def output_error_rows(records: Sequence[Record], *, ties: Ties, controls: Sequence[str]) -> Iterator[Row]:
    """`forced_errors` and `generated_errors` for each phenomenon and reference kind."""
    known = [record for record in records if "detected" in record]
    generated = generated_error_rows(known, controls=controls)
    for members, row in zip(by_phenomenon(known).values(), generated, strict=True):
        wrong = [1.0 - worth for worth in tie_credits(members, ties)]
        forced = clustered_proportion(wrong, sources(members))
        labels = {name: value for name, value in row.labels.items() if name != "note"}
        yield from [Row("forced_errors", forced, labels), row]


def reference_differences(group: Comparison, settings: Any, _seed: int) -> list[Row]:
    """`machine_minus_human` of each system and phenomenon: accuracy on machine minus human references.

    Of sources with both kinds of references; each source counts once.
    """
    tests: list[Tested] = []
    for column in group.results:
        groups = by_phenomenon(column.records)
        for phenomenon in dict.fromkeys(name for name, _ in groups):
            human, machine = (
                _mean_credit_by_source(groups.get((phenomenon, kind), []), settings.ties)
                for kind in ("human", "machine")
            )
            both = sorted(human.keys() & machine.keys())
            if both:
                values = [machine[source] - human[source] for source in both]
                labels = {"system": column.name, "phenomenon": phenomenon}
                tests.append((labels, *paired_difference(values, both, verdicts=True), {}))
    return tested_rows("machine_minus_human", tests)


def _mean_credit_by_source(records: Sequence[Record], ties: Ties) -> dict[str, float]:
    """Mean accuracy of each source's pairs."""
    found = grouped(zip(sources(records), tie_credits(records, ties), strict=True))
    return {source: math.fsum(some) / len(some) for source, some in found.items()}


def summarize(records: Sequence[Record], settings: ContrastSettings, _seed: int) -> list[Row]:
    """Accuracy and discrepancy by phenomenon and reference, expected false positives, errors in own translations."""
    chosen: dict[str, Any] = {"ties": settings.ties, "controls": settings.controls}
    return [
        *figures(records, **chosen),
        *spread_rows(records, settings),
        *output_error_rows(records, **chosen),
        *rows_of_making(records),
    ]


def comparable(settings: ContrastSettings) -> list[PairedField]:
    """Accuracy, by phenomenon and kind of reference."""
    return [
        PairedField(
            "verdict",
            of="{phenomenon}",
            by=("phenomenon", "reference"),
            worth=dict(credit(settings.ties)),
        )
    ]


def queue(records: Sequence[Record], _settings: ContrastSettings) -> list[Entry]:
    """The correct translation of each item and its variants, in an order that tells nothing; once for all systems."""
    found: dict[str, Entry] = {}
    for record in records:
        correct, variants = pair_texts(record)
        texts = {correct, *variants}
        if record["id"] in found or not _can_be_asked(record["source"], [correct, *variants]):
            continue
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
        found[record["id"]] = Entry(line, (record["id"],), (record["phenomenon"], record["reference"]))
    return list(found.values())


def _can_be_asked(source: str, texts: Sequence[str]) -> bool:
    distinct = 2 <= len(set(texts)) == len(texts) <= len(ascii_uppercase)
    return distinct and all(text.strip() for text in (source, *texts))


class Contrast(Method):
    """forced choice between correct and contrastive translations, and how far they are from the 1-best"""

    name = "contrast"
    items = (MinimalPair,)
    requires: ClassVar[Needs] = {"system": ("score",)}
    Settings = ContrastSettings
    part_labels = frozenset({"phenomenon", "reference", "origin", "word"})
    cautions: ClassVar[Mapping[str, str]] = {"discrepancy": CAUTION}
    measure_of = staticmethod(measure_of)

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        if systems is not None:
            instead: Mapping[Capability, Capability] = {"score": "item_scores", "translate": "item_scores"}
            advice = "it can be asked in words: --by-answer, in a study the method contrast_answers"
            require_roles(self, systems, instead=instead, otherwise={"reply": advice})
            check_system(systems["system"], items, self.settings)

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        records = ask(systems, items, self.settings, seed)
        sampled = sample(items.whole, self.settings, seed)
        return add_to_sampled(
            records,
            items,
            sampled,
            lambda some: ask_spread(systems, items.whole, some, self.settings, seed),
        )

    def judge(self, records: Sequence[Record]) -> list[Record]:
        return judge(records, self.settings)

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:
        return summarize(records, self.settings, seed)

    def paired(self) -> list[PairedField]:
        return comparable(self.settings)

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:
        return reference_differences(comparison, self.settings, seed)
