"""Corpus scores from sums of statistics: sacreBLEU's own, and sentences that parts and systems leave out together."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from babelscope.metrics.base import find_metric
from babelscope.metrics.corpus import corpus_estimate, source_groups, sums_without
from babelscope.metrics.ribes import sentence_ribes
from babelscope.util.errors import BabelscopeError

words = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "mat", "."]), min_size=1, max_size=9)
corpora = st.lists(st.tuples(words, words), min_size=1, max_size=6)


@given(corpora)
def test_sums_make_the_scores_of_sacrebleu_and_the_mean_of_ribes(
    pairs: list[tuple[list[str], list[str]]],
) -> None:
    translations = [" ".join(one) for one, _ in pairs]
    references = [[" ".join(other)] for _, other in pairs]
    streams = [[own[0] for own in references]]
    for metric, right in (
        ("bleu", sacrebleu.corpus_bleu(translations, streams).score),
        ("chrf", sacrebleu.corpus_chrf(translations, streams).score),
        ("ribes", math.fsum(sentence_ribes(one, [other]) for one, other in pairs) / len(pairs)),
    ):
        statistics = find_metric(metric).statistics(translations, references)
        assert find_metric(metric).corpus(statistics.sum(axis=0)) == pytest.approx(right, abs=1e-9)
    for name, theirs in (("bleu", sacrebleu.sentence_bleu), ("chrf", sacrebleu.sentence_chrf)):
        ours = find_metric(name)
        rows = ours.statistics(translations, references)
        for row, translation, own in zip(rows, translations, references, strict=True):
            assert ours.of_statistics(row) == pytest.approx(theirs(translation, own).score)


def test_references_may_differ_in_number() -> None:
    translations, references = ["a cat sat", "on the mat"], [["a cat sat", "the cat"], ["on a mat"]]
    for metric in ("bleu", "chrf", "ribes"):
        statistics = find_metric(metric).statistics(translations, references)
        alone = [
            find_metric(metric).statistics([t], [r])[0] for t, r in zip(translations, references, strict=True)
        ]
        assert np.array_equal(statistics, np.array(alone))
    with pytest.raises(BabelscopeError, match="2 translations cannot be held against 1 references"):
        find_metric("bleu").statistics(translations, references[:1])
    nothing: list[list[list[str]]] = [[], [[]]]
    for metric in ("bleu", "chrf", "ribes"):
        for some in nothing:
            with pytest.raises(BabelscopeError, match="needs sentences, and at least one reference of each"):
                find_metric(metric).statistics(translations[: len(some)], some)


def test_nothing_has_no_score() -> None:
    for metric in ("bleu", "chrf", "ribes"):
        columns = find_metric(metric).statistics(["a"], [["a"]]).shape[1]
        assert math.isnan(find_metric(metric).corpus(np.zeros(columns)))


def test_parts_leave_out_the_same_sentences() -> None:
    columns = np.arange(12.0).reshape(6, 2)
    parts = [np.arange(6), np.array([0, 2]), np.array([1, 3, 4, 5])]
    whole, first, rest = sums_without(columns, parts, np.arange(6))
    assert np.allclose(whole, first + rest)
    assert whole.tolist() == [(columns.sum(axis=0) - row).tolist() for row in columns]
    assert first[1].tolist() == columns[[0, 2]].sum(axis=0).tolist(), "a sentence of another part"


def test_sentences_of_one_source_are_left_out_together() -> None:
    groups = source_groups(["a", "b", "a", "c"])
    assert groups.tolist() == [0, 1, 0, 2]
    (found,) = sums_without(np.array([[1.0], [2.0], [4.0], [8.0]]), [np.arange(4)], groups)
    assert found.tolist() == [[10.0], [13.0], [7.0]]


def test_many_sources_are_left_out_in_groups_by_their_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("babelscope.metrics.corpus.MOST_GROUPS", 2)
    texts = ["a", "b", "c", "d", "e"]
    groups = source_groups(texts)
    assert sorted(np.bincount(groups).tolist()) == [2, 3]
    assert source_groups([*texts[::-1], *texts]).tolist() == [*groups[::-1], *groups], "in any order"


def test_repeated_sentences_make_no_interval_narrower() -> None:
    said = ["the cat sat", "a dog ran off", "on a mat", "that is it", "no"]
    right = [["a cat sat"], ["a dog ran away"], ["on the mat"], ["that was it"], ["no no"]]
    texts = ["s1", "s2", "s3", "s4", "s5"]
    once = corpus_estimate("chrf", said, right, sources=texts)
    twice = corpus_estimate("chrf", said * 2, right * 2, sources=texts * 2)
    assert (twice.value, twice.low, twice.high) == pytest.approx((once.value, once.low, once.high))
    assert (once.n, twice.n) == (5, 10)
    few = corpus_estimate("chrf", said[:2] * 3, right[:2] * 3, sources=texts[:2] * 3)
    assert few.no_interval == "2 source sentences"
