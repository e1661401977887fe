"""What every metric keeps: scale, corpus score, identity, empty texts, order; sacreBLEU's own numbers; intervals."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.metrics.base import (
    METRICS,
    OUT_OF_PROCESS,
    Metric,
    Scale,
    Segment,
    find_metric,
    sentence_qualities,
)
from babelscope.metrics.corpus import corpus_estimate, source_groups, sums_without
from babelscope.metrics.ranking import kqrg, quality_bound
from babelscope.util.errors import BabelscopeError

OURS = [name for name in METRICS.built_in if name not in OUT_OF_PROCESS]
# The share of the translation's words that a reference has: for each line a number, or for each list a list.
SHARE = """
import json, sys
def share(given):
    references = given["reference"] if isinstance(given["reference"], list) else [given["reference"]]
    words = given["hypothesis"].split()
    return max(sum(word in own.split() for word in words) / max(1, len(words)) for own in references)
if "open" in sys.argv:
    print("ready", flush=True)
for line in sys.stdin:
    given = json.loads(line)
    print(json.dumps([share(each) for each in given]) if "open" in sys.argv else share(given), flush=True)
"""


@dataclass(frozen=True)
class Words(Metric):
    """A plug-in's: how many words a hypothesis has."""

    def sentence(self, hypotheses, references, sources=()):  # noqa: ARG002
        return [float(len(text.split())) for text in hypotheses]


WORDS = Words("words", Scale(0, None), version=2)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("metric") / "share.py"
    path.write_text(SHARE)
    return path


@pytest.fixture(params=[*OURS, "cmd", "cmd open", "words"])
def metric(request: pytest.FixtureRequest, script: Path) -> Metric:
    """Every kind of metric that is computed without a download."""
    if request.param == "words":
        return WORDS
    program = f"cmd:{sys.executable} {script}"
    known = {"cmd": f"{program}?bound=1", "cmd open": f"{program} open?bound=1&open=yes&batch=2"}
    return find_metric(known.get(request.param, request.param))


TEXTS = [
    "die Katze sieht einen Vogel im Garten",
    "die Katze sieht den Vogel im Garten",
    "Garten die Vögel",
    "",
]
REFERENCES = [[TEXTS[0]], [TEXTS[0], "die Katze sieht den Vogel dort"], [TEXTS[0]], [TEXTS[0]]]
SOURCES = ["s", "t", "u", "v"]


def test_values_lie_on_the_scale_in_sentences_statistics_and_pairs(metric: Metric) -> None:
    scores = metric.sentence(TEXTS, REFERENCES, SOURCES)
    low, high = metric.scale.low, metric.scale.high
    assert all((low or 0) <= each <= (math.inf if high is None else high) + 1e-9 for each in scores)
    rows = metric.statistics(TEXTS, REFERENCES, SOURCES)
    assert [metric.of_statistics(row) for row in rows] == pytest.approx(scores)
    assert math.isnan(metric.corpus(0 * rows.sum(axis=0)))
    pairs = metric.pairwise(TEXTS, [TEXTS[0], TEXTS[1]], "s")
    assert pairs[:, 0] == pytest.approx(np.array(metric.sentence(TEXTS, [[TEXTS[0]]] * 4, ["s"] * 4)))
    segments = [Segment(*each) for each in zip(SOURCES, TEXTS, map(tuple, REFERENCES), strict=True)]
    twice = sentence_qualities(metric, [*segments, *segments])
    assert twice == pytest.approx([metric.scale.quality(each) for each in scores] * 2)


def test_each_sentence_is_judged_by_its_own_references_in_any_order(metric: Metric) -> None:
    whole, order = metric.statistics(TEXTS, REFERENCES, SOURCES), [2, 0, 3, 1]
    texts, references, sources = ([some[n] for n in order] for some in (TEXTS, REFERENCES, SOURCES))
    turned = metric.statistics(texts, references, sources)  # type: ignore[arg-type]
    assert turned == pytest.approx(whole[order])
    alone = [metric.statistics([t], [r], [s])[0] for t, r, s in zip(TEXTS, REFERENCES, SOURCES, strict=True)]
    assert np.array(alone) == pytest.approx(whole)


def test_nothing_is_nothing_and_a_corpus_needs_references(metric: Metric) -> None:
    assert metric.sentence([], [], []) == []
    with pytest.raises(BabelscopeError, match="2 translations cannot be compared with 1 references"):
        metric.statistics(["a", "b"], [["a"]], ["s", "t"])
    for count in (0, 1):
        with pytest.raises(BabelscopeError, match="needs sentences, and at least one reference of each"):
            metric.statistics(["a"] * count, [[]] * count, ["s"] * count)


@pytest.mark.parametrize("name", OURS)
def test_a_reference_is_perfect_and_an_empty_translation_worthless(name: str) -> None:
    assert (find_metric(name).name, find_metric(name).identity) == (name, name)
    values = sentence_qualities(name, [Segment("s", text, (TEXTS[0],)) for text in TEXTS])
    assert values == sorted(values, reverse=True)
    assert (values[0], values[3]) == (pytest.approx(1), 0)
    assert values[1] > values[2]


@pytest.mark.parametrize(
    ("scale", "value", "quality", "best"),
    [
        (Scale(0, 100, "higher", "percent"), 25.0, 0.25, 1.0),
        (Scale(0, None, "lower", "percent"), 150.0, -0.5, 1.0),
        (Scale(0, 1, "higher", "share"), 0.3, 0.3, 1.0),
        (Scale(0, 1, "lower", "share"), 0.3, 0.7, 1.0),
        (Scale(None, None), -0.2, -0.2, None),
        (Scale(0, 25, "lower"), 4.0, -4.0, 0.0),
        (Scale(None, 5.0), 3.0, 3.0, 5.0),
    ],
)
def test_a_value_as_a_quality(scale: Scale, value: float, quality: float, best: float | None) -> None:
    assert scale.quality(value) == pytest.approx(quality)
    assert scale.best_quality == best


def test_a_plug_in_is_found_and_has_the_mean_as_corpus_score(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SimpleNamespace(name="words", value="plugin:WORDS", load=lambda: WORDS)

    def entries(*, group: str, name: str = "words") -> list[object]:
        return [entry] if (group, name) == ("babelscope.metrics", "words") else []

    monkeypatch.setattr("importlib.metadata.entry_points", entries)
    assert find_metric("words") is find_metric(WORDS) is WORDS
    assert WORDS.identity == "words 2"
    found = corpus_estimate("words", ["a", "a b c", "a b"], [["x"], ["y"], ["z"]])
    # A mean: Student's interval of 1, 3 and 2.
    reach = 4.302653 / math.sqrt(3)
    assert (found.value, found.low, found.high) == pytest.approx((2.0, max(2 - reach, 0.0), 2 + reach))


def test_the_bound_of_kqrg_is_that_of_the_scale() -> None:
    assert [quality_bound(find_metric(name)) for name in METRICS.built_in] == [1.0] * len(METRICS.built_in)
    assert quality_bound(find_metric("cmd:cat?bound=25")) == 25.0
    for metric in (find_metric("cmd:cat"), WORDS):
        with pytest.raises(BabelscopeError, match=r"highest quality that \S+ can give.*cmd:COMMAND\?bound=1"):
            quality_bound(metric)
    assert kqrg([25.0, 25.0], bound=25.0) == pytest.approx(1)
    assert kqrg([5.0, 4.0], bound=10.0) == pytest.approx(kqrg([0.5, 0.4]))
    assert kqrg([5.0, 4.0], normalize="ideal", bound=10.0) == kqrg([5.0, 4.0], normalize="ideal")


# -- sacreBLEU's numbers, and multi-bleu by its formula ----------------------------------------------------

THEIRS: dict[str, tuple[Any, Any]] = {
    "bleu": (sacrebleu.BLEU(force=True), sacrebleu.BLEU(effective_order=True)),
    "chrf": (sacrebleu.CHRF(), sacrebleu.CHRF()),
    "chrf++": (sacrebleu.CHRF(word_order=2), sacrebleu.CHRF(word_order=2)),
    "ter": (sacrebleu.TER(), sacrebleu.TER()),
}
LINES = st.lists(st.sampled_from(["der", "Hund", "Der", "sieht,", "Katze.", "ä", "1,5"]), max_size=6).map(
    " ".join
)
CORPORA = st.lists(
    st.tuples(LINES, st.lists(LINES.filter(bool), min_size=1, max_size=3)), min_size=1, max_size=4
)


@pytest.mark.parametrize("name", THEIRS)
@settings(max_examples=40)
@given(CORPORA)
def test_they_are_sacrebleus_numbers(name: str, lines: list[tuple[str, list[str]]]) -> None:
    texts, references = [text for text, _ in lines], [own for _, own in lines]
    metric, (corpus, sentence) = find_metric(name), THEIRS[name]
    for text, own, ours in zip(texts, references, metric.sentence(texts, references), strict=True):
        assert ours == pytest.approx(sentence.sentence_score(text, own).score)
    streams = [[own[i] if i < len(own) else None for own in references] for i in range(3)]
    theirs = corpus.corpus_score(texts, [each for each in streams if any(each)]).score
    assert corpus_score(name, texts, references) == pytest.approx(theirs)


def test_a_corpus_without_long_n_grams_has_no_bleu() -> None:
    """sacreBLEU has effective order for sentences only: a corpus of two-word sentences scores 0."""
    texts = ["der Hund", "die Katze"]
    assert corpus_score("bleu", texts, [[text] for text in texts]) == 0
    assert sentence_qualities("bleu", [Segment("s", texts[0], (texts[0],))]) == [pytest.approx(1)]


HYPOTHESES = ["The old man gave it up .", "she sat There , alone , all day", "a child", "no word fits here"]
RIGHT = [
    ["the old man gave it up ."],
    ["she sat there , alone , the whole day", "She was there all day"],
    ["a small child sat down"],
    ["quite another text"],
]


def multi_bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool) -> float:
    """Papineni's formula over words between spaces: clipped counts, closest reference length, no smoothing."""

    def words(text: str) -> list[str]:
        return (text.lower() if lowercase else text).split()

    def grams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    correct, total, length, reference_length = [0] * 4, [0] * 4, 0, 0
    for hypothesis, own in zip(hypotheses, references, strict=True):
        tokens = words(hypothesis)
        length += len(tokens)
        reference_length += min((abs(len(words(r)) - len(tokens)), len(words(r))) for r in own)[1]
        for n in range(1, 5):
            most: Counter[tuple[str, ...]] = Counter()
            for reference in own:
                most |= grams(words(reference), n)
            correct[n - 1] += (grams(tokens, n) & most).total()
            total[n - 1] += max(0, len(tokens) - n + 1)
    penalty = min(0.0, 1 - reference_length / length)
    return 100 * math.exp(penalty + sum(math.log(c / t) for c, t in zip(correct, total, strict=True)) / 4)


def corpus_score(name: str, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    metric = find_metric(name)
    return metric.corpus(metric.statistics(hypotheses, references).sum(axis=0))


@pytest.mark.parametrize(("name", "lowercase"), [("multi-bleu", False), ("multi-bleu-lc", True)])
def test_multi_bleu_is_its_formula(name: str, lowercase: bool) -> None:
    expected = multi_bleu(HYPOTHESES, RIGHT, lowercase=lowercase)
    assert corpus_score(name, HYPOTHESES, RIGHT) == pytest.approx(expected, abs=1e-9)
    assert corpus_score(name, HYPOTHESES[2:], RIGHT[2:]) == 0
    assert find_metric(name).sentence(["a b c d x"], [["a b c y z"]])[0] > 0, "sentences are smoothed"


def test_case_and_tokens_matter_as_the_names_say() -> None:
    lowered = [[text.lower() for text in own] for own in RIGHT]
    expected = corpus_score("bleu", [text.lower() for text in HYPOTHESES], lowered)
    assert corpus_score("bleu-lc", HYPOTHESES, RIGHT) == pytest.approx(expected, abs=1e-9)
    assert expected > corpus_score("bleu", HYPOTHESES, RIGHT)
    # 13a sets the full stop apart, multi-bleu takes the words as they stand.
    apart, together = ["we gave it up again ."], [["we gave it up again."]]
    assert corpus_score("bleu", apart, together) == pytest.approx(100)
    assert corpus_score("multi-bleu", apart, together) < 100


# -- intervals over sentences and sources ------------------------------------------------------------------


def test_alike_or_too_few_sentences_have_no_interval() -> None:
    perfect = corpus_estimate("chrf", TEXTS[:3], [[text] for text in TEXTS[:3]])
    assert (perfect.value, perfect.no_interval) == (pytest.approx(100), "all 3 sentences alike")
    found = corpus_estimate("chrf", ["eins zwei drei", "ganz anders"], [["eins zwei drei"], ["fünf sechs"]])
    assert (found.no_interval, found.n) == ("2 sentences", 2)


def test_sentences_of_one_source_are_left_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.arange(12.0).reshape(6, 2)
    parts = [np.arange(6), np.array([0, 2]), np.array([1, 3, 4, 5])]
    whole, first, rest = sums_without(columns, parts, np.arange(6))
    assert np.allclose(whole, first + rest)
    assert whole.tolist() == [(columns.sum(axis=0) - row).tolist() for row in columns]
    assert first[1].tolist() == columns[[0, 2]].sum(axis=0).tolist(), "a sentence of another part"
    groups = source_groups(["a", "b", "a", "c"])
    assert groups.tolist() == [0, 1, 0, 2]
    (found,) = sums_without(np.array([[1.0], [2.0], [4.0], [8.0]]), [np.arange(4)], groups)
    assert found.tolist() == [[10.0], [13.0], [7.0]]
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
