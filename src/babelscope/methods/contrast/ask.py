"""Questions about minimal pairs: score each variant and translate the source; or look up stored scores."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import ItemScores, Scored, System, capabilities, properties
from babelscope.core.question import Question
from babelscope.core.results import Record, finite_or_none
from babelscope.core.ties import credit
from babelscope.methods.contrast.figures import Scores, verdict
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.methods.contrast.tokens import variant_as_json
from babelscope.systems.asking import ask_score, ask_translate, relocate_errors, scored_as_json
from babelscope.testsets.items import NO_SOURCE, MinimalPair, choice_of
from babelscope.util.errors import BabelscopeError

NO_VARIANT = (
    "it has no contrastive variant: nothing to prefer (--without-variants correct counts it as correct)"
)


def ask(
    systems: Mapping[str, Any], items: Sequence[MinimalPair], settings: ContrastSettings, _seed: int
) -> list[Record]:
    """A record an item: token log-probabilities of every variant, and of the 1-best where it is needed."""
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
    best = _one_best_by_question(system, items, settings.beam) if _needs_one_best(system, settings) else {}
    return [_record(item, found, best.get(item.question)) for item in items]


def check_system(system: Any, items: Sequence[MinimalPair], _settings: ContrastSettings) -> None:
    """Refuse a system that reads sources for pairs that have none, and the other way round."""
    if "item_scores" in capabilities(system):
        return
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
    if settings.without_variants == "skip":
        return {"unanswered": NO_VARIANT}
    return _stored_record(item, ItemScores(-math.inf, ()), settings, "")


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


def _needs_one_best(system: System, settings: ContrastSettings) -> bool:
    """Whether the 1-best must be asked for."""
    may = settings.discrepancy == "auto" and "translate" in capabilities(system)
    return may or bool(settings.needs)


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
