"""Answers with chatter are counted beside the figures of every method that asks for translations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from babelscope.core.answers import Fingerprint, Scored
from babelscope.core.results import Result
from babelscope.report.summary import summarise
from babelscope.runs.execute import run_method
from babelscope.systems.chatter import Chatter
from babelscope.systems.watched import watched
from babelscope.testsets.items import AmbiguousSource, Item, MinimalPair, ParallelSentence

SENTENCES: Sequence[Item] = [
    ParallelSentence(id="1", source="Two dogs run.", references=("Zwei Hunde laufen.",)),
    ParallelSentence(id="2", source="A cat sleeps.", references=("Eine Katze schläft.",)),
]
PAIRS: Sequence[Item] = [
    MinimalPair(
        id="1",
        source="Two dogs run.",
        correct="Zwei Hunde laufen.",
        contrastive=("Zwei Hund laufen.",),
        phenomenon="number",
        reference="human",
    ),
    MinimalPair(
        id="2",
        source="A cat sleeps.",
        correct="Eine Katze schläft.",
        contrastive=("Eine Katze schlafen.",),
        phenomenon="number",
        reference="human",
    ),
]
AMBIGUOUS: Sequence[Item] = [
    AmbiguousSource(
        id=str(number),
        source=source,
        category="c",
        correct_sources=(f"{source} (a)",),
        incorrect_sources=(f"{source} (b)",),
        extra={"word": "dogs", "lemmas": ["hunde", "katze"], "wrong_lemmas": ["vogel"]},
    )
    for number, source in enumerate(["Two dogs run.", "A cat sleeps."], 1)
]


class Chatty:
    """Translates the first sentence with a preamble; scores by length."""

    name = "chatty"
    fingerprint = Fingerprint("chatty")

    def translate(self, questions: Sequence[Any], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:  # noqa: ARG002
        said = {"Two dogs run.": "Here is the translation: Zwei Hunde laufen."}
        return [[_scored(said.get(each.source, "Eine Katze schläft."))] for each in questions]

    def score(self, pairs: Sequence[tuple[Any, Any]]) -> list[Scored]:
        return [_scored(target if isinstance(target, str) else target.text) for _, target in pairs]

    def sample(self, questions: Sequence[Any], *, n: int, seed: int) -> list[list[Scored]]:  # noqa: ARG002
        return [[found] * n for [found] in self.translate(questions)]


def _scored(text: str) -> Scored:
    return Scored(text, (*text, "</s>"), (-0.1,) * (len(text) + 1))


CASES: list[tuple[str, Sequence[Item], dict[str, Any], str]] = [
    ("quality", SENTENCES, {}, "bleu"),
    ("contrast", PAIRS, {"spread": 0}, "all"),
    ("condition", AMBIGUOUS, {"evaluator": Chatty(), "preflight": 0}, "all"),
    ("patterns_mucow", AMBIGUOUS, {}, "precision"),
    ("errors", SENTENCES, {"language": "de"}, "generated_errors"),
    ("space", SENTENCES, {"k": 0, "samples": 3}, "quality"),
]


def run(how: Any, method: str, items: Sequence[Item], settings: dict[str, Any]) -> Result:
    return run_method(method, watched(Chatty(), Chatter(how, "German")), items, **settings)


@pytest.mark.parametrize(("method", "items", "settings", "figure"), CASES, ids=[case[0] for case in CASES])
def test_every_method_counts_it(
    method: str, items: Sequence[Item], settings: dict[str, Any], figure: str
) -> None:
    result = run("count", method, items, settings)
    row = next(row for row in result.rows if row.name == figure)
    assert row.counts["preamble"] == 1
    assert "cleaned" not in row.counts
    told = " ".join(summarise(result, width=80).split())
    assert "a translation with words of the model before it" in told
    cleaned = next(row for row in run("yes", method, items, settings).rows if row.name == figure)
    assert (cleaned.counts["preamble"], cleaned.counts["cleaned"]) == (1, 1)
    plain = next(row for row in run("no", method, items, settings).rows if row.name == figure)
    assert "preamble" not in plain.counts


def test_samples_with_chatter_are_counted_by_draws() -> None:
    rows = run("count", "space", SENTENCES, {"k": 0, "samples": 3}).rows
    drawn = next(row for row in rows if row.labels.get("decoding") == "samples")
    assert drawn.counts["chatter"] == 3


def test_what_is_cut_off_changes_a_figure() -> None:
    counted, cleaned = (run(how, "quality", SENTENCES, {}).rows[0].estimate.value for how in ("count", "yes"))
    assert cleaned == pytest.approx(100)
    assert counted < cleaned
