"""What systems are asked about minimal pairs: to score each variant, and to translate the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import Scored, System, capabilities
from babelscope.core.question import Question
from babelscope.core.results import Record
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.methods.contrast.tokens import parting
from babelscope.systems.asking import ask_score, ask_translate, relocate_errors, scored_as_json
from babelscope.testsets.items import MinimalPair


def ask(
    systems: Mapping[str, Any], items: Sequence[MinimalPair], settings: ContrastSettings, _seed: int
) -> list[Record]:
    """A record an item: the scores of each variant and of the 1-best, and where variants part."""
    system = systems["system"]
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
