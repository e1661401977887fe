"""What systems are asked about minimal pairs: to score each variant and translate the source, or stored scores."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import Choice, ItemScores, Scored, System, capabilities
from babelscope.core.question import Question
from babelscope.core.results import Record, finite_or_none
from babelscope.core.ties import credit
from babelscope.methods.contrast.figures import Scores, verdict
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.methods.contrast.tokens import parting
from babelscope.systems.asking import ask_score, ask_translate, relocate_errors, scored_as_json
from babelscope.testsets.items import MinimalPair
from babelscope.util.errors import BabelscopeError


def ask(
    systems: Mapping[str, Any], items: Sequence[MinimalPair], settings: ContrastSettings, _seed: int
) -> list[Record]:
    """A record an item: the scores of each variant and of the 1-best, and where variants part."""
    system = systems["system"]
    if "item_scores" in capabilities(system):
        return _stored(system, items, settings)
    if not all(item.can_be_asked for item in items):
        left = iter(ask(systems, [item for item in items if item.can_be_asked], settings, _seed))
        empty = {"unanswered": "it has an empty text or no variant, which no system can be asked about"}
        return [next(left) if item.can_be_asked else dict(empty) for item in items]
    asked = [(item.question, text) for item in items for text in (item.correct, *item.contrastive)]
    # Each text once: it is cheaper, and rounding cannot make a difference between a text and itself.
    once = list(dict.fromkeys(asked))
    with relocate_errors(lambda what, number: f"{_asker(items, *once[number - 1])}: {what}"):
        found = dict(zip(once, ask_score(system, once), strict=True))
    best = _translations(system, items, settings.beam) if _wants_best(system, settings) else {}
    return [_record(item, found, best.get(item.question)) for item in items]


def _record(item: MinimalPair, found: Mapping[tuple[Question, str], Scored], best: Scored | None) -> Record:
    correct = found[item.question, item.correct]
    return {
        "source": item.source,
        "phenomenon": item.phenomenon,
        "reference": item.reference,
        "correct": scored_as_json(correct),
        "contrastive": [parting(correct, found[item.question, text]) for text in item.contrastive],
        **({} if best is None else {"best": scored_as_json(best)}),
    }


def _wants_best(system: System, settings: ContrastSettings) -> bool:
    """Whether the 1-best is asked for."""
    may = settings.discrepancy == "auto" and "translate" in capabilities(system)
    return may or bool(settings.needs)


def _translations(system: Any, items: Sequence[MinimalPair], beam: int) -> dict[Question, Scored]:
    """The 1-best of each source, scored by the tokens it was generated with."""
    asked = list(dict.fromkeys(item.question for item in items))
    with relocate_errors(lambda what, number: f"{_asker(items, asked[number - 1])}: {what}"):
        found = [answer[0] for answer in ask_translate(system, asked, beam=beam)]
    # Systems rescore what they generate; those that give bare text are asked to score it.
    bare = [number for number, scored in enumerate(found) if not scored.has_scores]
    rescored = ask_score(system, [(asked[number], found[number].text) for number in bare]) if bare else []
    for number, scored in zip(bare, rescored, strict=True):
        notes = tuple(dict.fromkeys((*found[number].notes, *scored.notes)))
        found[number] = Scored(scored.text, scored.tokens, scored.logprobs, notes)
    return dict(zip(asked, found, strict=True))


def _asker(items: Sequence[MinimalPair], question: Question, target: str | None = None) -> str:
    """The first item that a question is asked for, to tell where a text that is refused stands."""
    found = (
        item
        for item in items
        if item.question == question and target in (None, item.correct, *item.contrastive)
    )
    return f"item {next(found).id}"


# Below this share of what chance gives, and this unlikely by chance, a direction is called into question.
_FAR_BELOW = 0.8
_UNLIKELY = 0.001


def _stored(system: Any, items: Sequence[MinimalPair], settings: ContrastSettings) -> list[Record]:
    """Records of scores that stand in a file: with the texts, but without tokens."""
    if settings.detect_in_output == "yes":
        raise BabelscopeError(
            "score files have no translations to look for errors in; detect_in_output must be no"
        )
    choices = [Choice(item.id, len(item.contrastive), empty=not item.can_be_asked) for item in items]
    found: list[ItemScores | None] = system.item_scores(choices)
    known = [scores for scores in found if scores is not None and scores.others]
    if settings.discrepancy in ("paper", "clipped") and any(scores.best is None for scores in known):
        raise BabelscopeError(f"{system.name} has no column for the 1-best, which the discrepancy needs")
    question_direction(known, system.name, system.fingerprint.settings.get("direction", "higher"))
    return [_stored_record(item, scores, system.name) for item, scores in zip(items, found, strict=True)]


def _stored_record(item: MinimalPair, scores: ItemScores | None, name: str) -> Record:
    if scores is None or not scores.others:
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


def question_direction(found: Sequence[ItemScores], name: str, direction: str) -> None:
    """Warn of scores whose accuracy is far, and not by accident, below what guessing would give."""
    from scipy.stats import binomtest

    if not found:
        return
    # Of one correct and k contrastive variants, chance prefers the correct one once in k + 1 times.
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
