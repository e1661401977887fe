"""Minimal pairs in one language: texts scored by themselves (eq. 1), and own continuations as machine references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from babelscope import contrast, load, open_system
from babelscope.core.answers import Scored
from babelscope.making.machine_references import machine_references
from babelscope.making.machine_tests import with_machine_references
from babelscope.testsets import MinimalPair
from babelscope.util.errors import BabelscopeError
from tests.support.models import build_causal
from tests.support.toys import ToySystem

ROWS = [
    {"sentence_good": "The cats sleep here.", "sentence_bad": "The cats sleeps here.", "UID": "agreement"},
    {"sentence_good": "A dog barks.", "sentence_bad": "A dog bark.", "UID": "agreement"},
    {"sentence_good": "Who came?", "sentence_bad": "What came?", "UID": "animacy"},
]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_causal(tmp_path_factory.mktemp("causal"), kind="gpt2")


def test_eq_1_with_no_source(pairs: Path, model: Path) -> None:
    system = open_system(f"llm:{model}?prompt=none")
    tests = load(f"sentences:{pairs}")
    result = contrast(system, tests, score="total")
    assert not any(row.name == "discrepancy" for row in result.rows)
    tokenizer, network = system.tokens.tokenizer, system.network
    for record, row in zip(result.records, ROWS, strict=True):
        for text, found in (
            (row["sentence_good"], record["scores"]["correct"]),
            (row["sentence_bad"], record["scores"]["contrastive"][0]),
        ):
            end = tokenizer.eos_token_id  # the only special token that it has: it begins and ends a text
            ids = [end, *tokenizer(text, add_special_tokens=False)["input_ids"], end]
            with torch.inference_mode():
                logs = network(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(-1)
            expected = sum(float(logs[place, ids[place + 1]]) for place in range(len(ids) - 1))
            assert found == pytest.approx(expected, abs=1e-3)
    assert {row.name for row in result.rows} >= {"agreement", "animacy"}


def test_pairs_and_systems_that_do_not_fit_are_refused(pairs: Path, model: Path) -> None:
    with pytest.raises(BabelscopeError, match="has no source"):
        contrast(ToySystem(), load(f"sentences:{pairs}"))
    with pytest.raises(BabelscopeError, match="the pairs have sources"):
        contrast(open_system(f"llm:{model}?prompt=none"), load(f"sentences:{pairs}?continued=yes"))
    with pytest.raises(BabelscopeError, match="chat=yes has no effect"):
        open_system(f"llm:{model}?prompt=none&chat=yes")
    (pairs.parent / "bad.jsonl").write_text('{"sentence_good": "a"}\n')
    with pytest.raises(BabelscopeError, match=r"bad\.jsonl:1: sentence_good and sentence_bad must be texts"):
        load(f"sentences:{pairs.parent}/bad.jsonl")


def test_what_both_sentences_begin_with_is_continued(pairs: Path, model: Path) -> None:
    tests = load(f"sentences:{pairs}?continued=yes")
    assert tests.skipped == {"no shared beginning": 1}
    first = tests.items[0]
    assert isinstance(first, MinimalPair)
    assert (first.source, first.correct, first.contrastive) == ("The cats", "sleep here.", ("sleeps here.",))
    result = contrast(open_system(f"llm:{model}?prompt={{text}}&max_length=20"), tests, spread=0)
    assert any(row.name == "discrepancy" for row in result.rows)


class Continuing:
    """Continues as it is told."""

    name = "continuing"

    def __init__(self, **said: str) -> None:
        self.said = said

    def translate(self, questions: Any, **_how: Any) -> list[list[Scored]]:
        return [[Scored(self.said[each.source.split()[-1]])] for each in questions]


@pytest.mark.parametrize(
    ("continuation", "verdict", "contrastive"),
    [
        ("sleep all day.", "kept", "sleeps all day."),
        ("sleep.", "dropped", None),  # another word than "sleep"
        ("slept well.", "dropped", None),
        ("", "dropped", None),
    ],
)
def test_an_own_continuation_is_kept_if_it_begins_with_the_right_words(
    pairs: Path, continuation: str, verdict: str, contrastive: str | None
) -> None:
    tests = load(f"sentences:{pairs}?continued=yes")
    items = tests.items_of(MinimalPair, what_for="a test")
    first, second = machine_references(items, [Continuing(cats=continuation, dog="barks.")])
    assert first.verdict == verdict
    assert (first.pair.contrastive[0] if first.pair else None) == contrastive
    assert second.pair is not None
    assert (second.pair.correct, second.pair.contrastive) == ("barks.", ("bark.",))
    made = with_machine_references(tests, [Continuing(cats=continuation, dog="barks.")], seed=0)
    result = contrast(ToySystem(alphabet="abcdefghijklmnopqrstuvwxyzTA. ", limit=4), made, spread=0)
    (kept,) = (row for row in result.rows if row.name == "kept" and row.labels["phenomenon"] == "agreement")
    assert kept.estimate.value == (1.0 if verdict == "kept" else 0.5)
