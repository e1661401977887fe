"""Entropy, mass and calibration against what toys are known to be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.core.results import Result, Row
from babelscope.methods.space.confidence import kept_tokens
from babelscope.methods.space.view import VIEW
from babelscope.runs.judging import space
from babelscope.testsets import ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.enumerated import Enumerated
from tests.support.toys import EOS, ToySystem

ITEMS = [ParallelSentence(f"i{n}", f"s {n}", ("ab",)) for n in range(8)]


def only(result: Result, name: str, **labels: str | int) -> Row:
    (found,) = [row for row in result.rows if row.name == name and labels.items() <= row.labels.items()]
    return found


def true_entropy(toy: ToySystem, source: str) -> tuple[float, float]:
    """(nats, expected tokens) of a toy without a length limit: its bigrams are a Markov chain that ends."""
    states = ["", *(symbol for symbol in toy.symbols if symbol != EOS)]
    moves = np.array([[toy.next_probabilities(source, a)[b] if b else 0.0 for b in states] for a in states])
    visits = np.linalg.solve(np.eye(len(states)) - moves.T, np.eye(len(states))[0])
    local = [-sum(p * math.log(p) for p in toy.next_probabilities(source, a).values()) for a in states]
    return float(visits @ local), float(visits.sum())


def test_entropy_is_that_of_the_model() -> None:
    toy = ToySystem(alphabet="ab", limit=400)
    result = space(toy, ITEMS, k=0, samples=2000, mbr_samples=2, confidence=True)
    truths = [true_entropy(toy, item.source) for item in ITEMS]
    nats, tokens = (float(np.mean([each[place] for each in truths])) for place in (0, 1))
    entropy = only(result, "entropy", of="translation")
    assert entropy.counts["unfinished"] == 0
    # The spread of -log p within a sentence is about its entropy: four standard errors of the whole.
    assert entropy.estimate.value == pytest.approx(nats, abs=4 * 1.5 * nats / math.sqrt(2000 * len(ITEMS)))
    assert only(result, "entropy", of="token").estimate.value == pytest.approx(nats / tokens, rel=0.03)


def test_samples_of_another_distribution_tell_no_entropy() -> None:
    result = space(Drawn(), ITEMS, k=0, samples=20, mbr_samples=2, confidence=True, temperature=0.5)
    assert "entropy" not in {row.name for row in result.rows}


class Drawn(ToySystem):
    """A toy that takes a temperature, and ignores it."""

    def sample(self, questions: Any, *, n: int, seed: int, drawing: Any = None) -> Any:
        assert drawing.temperature == 0.5
        return super().sample(questions, n=n, seed=seed)


def test_mass_is_the_sum_over_the_most_probable() -> None:
    toy = Enumerated()
    result = space(toy, ITEMS, k=7, samples=0, confidence=True)
    for k in (1, 2, 5, 7):
        right = [sum(math.exp(each.total) for each in toy.space(item.source)[:k]) for item in ITEMS]
        assert only(result, "top_mass", k=k).estimate.value == pytest.approx(np.mean(right))
    assert only(result, "top_mass", k=7).estimate.value == pytest.approx(only(result, "mass").estimate.value)


def test_calibration_by_hand() -> None:
    toy = Enumerated(limit=4)
    items = [
        ParallelSentence(f"i{n}", f"s {n}", (text,)) for n, text in enumerate(["ab", "ba", "b", "aab"] * 5)
    ]
    result = space(toy, items, k=2, samples=0, confidence=True)
    sure, right = [], []
    for item in items:
        best = toy.translate([item.source])[0][0]
        sure += [math.exp(each) for each in best.logprobs[:-1]]
        right += kept_tokens(best.tokens[:-1], item.references[0])
    assert only(result, "token_confidence").estimate.value == pytest.approx(np.mean(sure))
    assert only(result, "token_accuracy").estimate.value == pytest.approx(np.mean(right))
    assert only(result, "overconfidence").estimate.value == pytest.approx(np.mean(sure) - np.mean(right))
    error = 0.0
    for number in range(20):
        own = [(p, r) for p, r in zip(sure, right, strict=True) if number <= p * 20 < number + 1]
        error += abs(sum(p - r for p, r in own))
    found = only(result, "calibration_error")
    assert found.estimate.value == pytest.approx(error / len(sure))
    assert found.estimate.n == len(sure)
    assert found.estimate.no_interval


def test_a_calibrated_model_errs_as_chance_does() -> None:
    """Where tokens are right with the probability that the model gives them, the error is that of chance."""
    rng = np.random.default_rng(0)
    from babelscope.methods.space.confidence import _bin_numbers, _calibration_error

    sure = rng.random(4000)
    errors = [_calibration_error(_bin_numbers(sure), sure, rng.random(4000) < sure) for _ in range(50)]
    assert 0.005 < np.mean(errors) < 0.03
    assert _calibration_error(_bin_numbers(sure), sure, np.ones(4000)) == pytest.approx(0.5, abs=0.02)


TEXTS = st.text("abc", max_size=6)


@given(TEXTS, TEXTS)
def test_kept_tokens_are_those_of_a_shortest_edit(hypothesis: str, reference: str) -> None:
    kept = kept_tokens(hypothesis, reference)
    chosen = [token for token, own in zip(hypothesis, kept, strict=True) if own]
    letters = iter(reference)
    assert all(token in letters for token in chosen)  # in their order
    edits = _distance(hypothesis, reference)
    assert edits >= max(len(hypothesis), len(reference)) - sum(kept)
    if hypothesis == reference:
        assert all(kept)


@given(st.text("ab", max_size=4), st.text("ab", max_size=4))
def test_kept_tokens_against_all_alignments(hypothesis: str, reference: str) -> None:
    alignments = list(_alignments(hypothesis, reference))
    least = min(cost for cost, _ in alignments)
    best = {kept for cost, kept in alignments if cost == least}
    assert tuple(kept_tokens(hypothesis, reference)) in best


def _alignments(a: str, b: str) -> Iterator[tuple[int, tuple[bool, ...]]]:
    """(edits, which letters of a are kept) of every way to turn a into b letter by letter."""
    if not a:
        yield len(b), ()
        return
    for cost, kept in _alignments(a[:-1], b):
        yield cost + 1, (*kept, False)
    if b:
        for cost, kept in _alignments(a[:-1], b[:-1]):
            yield cost + (a[-1] != b[-1]), (*kept, a[-1] == b[-1])
        for cost, kept in _alignments(a, b[:-1]):
            yield cost + 1, kept


def test_bins_and_the_error_by_chance() -> None:
    """Bins hold the tokens of their range; a calibrated model's error is what other random numbers give, too."""
    toy = Enumerated(limit=4)
    items = [ParallelSentence(f"i{n}", f"s {n}", ("ab",)) for n in range(40)]
    result = space(toy, items, k=2, samples=0, confidence=True)
    best = [toy.translate([item.source])[0][0] for item in items]
    sure = np.array([math.exp(each) for own in best for each in own.logprobs[:-1]])
    right = np.array([kept for own in best for kept in kept_tokens(own.tokens[:-1], "ab")], dtype=float)
    seen = 0
    for number in range(20):
        inside = (sure * 20 >= number) & (sure * 20 < number + 1)
        if inside.any():
            label = f"{number / 20:g}-{(number + 1) / 20:g}"
            accuracy, confidence = (
                only(result, name, bin=label).estimate for name in ("bin_accuracy", "bin_confidence")
            )
            assert (accuracy.n, confidence.n) == (inside.sum(), inside.sum())
            assert accuracy.value == pytest.approx(right[inside].mean())
            assert confidence.value == pytest.approx(sure[inside].mean())
            seen += accuracy.n
    assert seen == len(sure)
    bins = np.floor(sure * 20)
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(5000):
        gaps = (rng.random(len(sure)) < sure) - sure
        errors.append(sum(abs(gaps[bins == number].sum()) for number in np.unique(bins)) / len(sure))
    by_chance = only(result, "calibration_error_by_chance").estimate.value
    assert by_chance == pytest.approx(np.mean(errors), abs=4 * float(np.std(errors)) / math.sqrt(200))


def _distance(a: str, b: str) -> int:
    """Levenshtein distance by trying all pairs of equally long subsequences of places."""
    best = len(a) + len(b)
    for size in range(min(len(a), len(b)) + 1):
        for mine in combinations(range(len(a)), size):
            for theirs in combinations(range(len(b)), size):
                aligned = sum(a[i] != b[j] for i, j in zip(mine, theirs, strict=True))
                best = min(best, len(a) + len(b) - 2 * size + aligned)
    return best


def test_it_is_drawn_and_asked_for_only_if_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    from babelscope.methods.space import pictures as module

    monkeypatch.setattr(module, "_FEWEST_TOKENS", 1)
    pictures = module.pictures
    toy = Enumerated()
    items = [ParallelSentence(f"i{n}", f"s {n}", ("ab",)) for n in range(30)]
    plain = space(toy, items, k=3, samples=4)
    assert not {"entropy", "top_mass", "calibration_error"} & {row.name for row in plain.rows}
    assert "confidence" not in plain.signature
    result = space(toy, items, k=3, samples=4, confidence=True)
    (group,) = result.groups
    titles = [picture.title for picture in pictures(group)]
    assert "Is the model as often right as it is sure?" in titles
    assert "How much probability the most probable translations have" in titles
    assert VIEW.section(group).pictures
    mine = [row for row in result.rows if row.name in {each.name for each in plain.rows}]
    assert mine == list(plain.rows)


def test_what_cannot_score_is_refused_before_it_is_asked() -> None:
    class Mute(ToySystem):
        score = None  # type: ignore[assignment]

    with pytest.raises(BabelscopeError, match=r"log-probabilities of given targets.*leave confidence out"):
        space(Mute(), ITEMS, k=0, samples=4, confidence=True)
