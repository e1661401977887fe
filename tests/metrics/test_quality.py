"""Quality is sacreBLEU's own number; RIBES is ours; what is asked outside is checked before it is believed."""

from __future__ import annotations

import json
import math
import re
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
from babelscope.metrics.ribes import sentence_ribes
from babelscope.util.errors import BabelscopeError, SystemFailure

OUTPUT = ["der Hund schläft", "die Katze sieht den Vogel im Garten", "es regnet heute in der Stadt nicht"]
ONE = [
    ["der Hund schläft"],
    ["die Katze sieht einen Vogel im Garten"],
    ["heute regnet es in der Stadt nicht"],
]
SEVERAL = [[*ONE[0], "ein Hund schläft"], ONE[1], [*ONE[2], "es regnet heute in der Stadt nicht"]]


@pytest.mark.parametrize("references", [ONE, SEVERAL])
@pytest.mark.parametrize(
    ("metric", "theirs"),
    [
        ("bleu", sacrebleu.BLEU()),
        ("chrf", sacrebleu.CHRF()),
        ("chrf++", sacrebleu.CHRF(word_order=2)),
        ("ter", sacrebleu.TER()),
    ],
)
def test_it_is_sacrebleus_number(metric: str, theirs: Any, references: list[list[str]]) -> None:
    streams = [[group[i] if i < len(group) else None for group in references] for i in range(2)]
    streams = [stream for stream in streams if any(stream)]
    ours = corpus_estimate(metric, OUTPUT, references)
    assert ours.value == pytest.approx(theirs.corpus_score(OUTPUT, streams).score)
    assert ours.low <= ours.value <= ours.high
    assert ours.low < ours.high
    assert ours.n == 3


def test_a_perfect_translation_has_no_spread() -> None:
    perfect = corpus_estimate("chrf", [group[0] for group in ONE], ONE)
    assert perfect.value == pytest.approx(100)
    assert perfect.no_interval == f"all {len(ONE)} sentences alike"


THEIRS = {
    "chrf": sacrebleu.CHRF(),
    "chrf++": sacrebleu.CHRF(word_order=2),
    "bleu": sacrebleu.BLEU(effective_order=True),
    "ter": sacrebleu.TER(),
}
TEXTS = st.lists(st.sampled_from(["der", "Hund", "Der", "sieht,", "Katze.", "ä", "1,5"]), max_size=6).map(
    " ".join
)


@pytest.mark.parametrize("metric", THEIRS)
@settings(max_examples=40)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS.filter(bool), min_size=1, max_size=3))
def test_a_sentence_has_sacrebleus_number(metric: str, hypotheses: list[str], references: list[str]) -> None:
    segments = [Segment("s", each, tuple(references)) for each in hypotheses]
    for ours, text in zip(sentence_qualities(metric, segments), hypotheses, strict=True):
        theirs = THEIRS[metric].sentence_score(text, references).score / 100
        assert ours == pytest.approx(1 - theirs if metric == "ter" else theirs)


@pytest.mark.parametrize("metric", [name for name in METRICS.built_in if name not in OUT_OF_PROCESS])
def test_higher_is_better_and_a_reference_is_perfect(metric: str) -> None:
    reference = ("die Katze sieht einen Vogel im Garten",)
    texts = [reference[0], "die Katze sieht den Vogel im Garten", "Vogel Garten die", ""]
    values = sentence_qualities(metric, [Segment("s", text, reference) for text in texts])
    assert values[0] == pytest.approx(1)
    assert sorted(values, reverse=True) == values
    assert values[1] > values[2]
    assert values[3] == 0


def test_an_unknown_metric_is_told() -> None:
    with pytest.raises(BabelscopeError, match=r"no metric 'chfr'; .* did you mean chrf\?"):
        sentence_qualities("chfr", [])
    with pytest.raises(BabelscopeError, match="asked by cmd:COMMAND"):
        sentence_qualities("bleurt", [Segment("s", "h", ("r",))])


# Judges by the number of characters shared with the reference's beginning; writes what it was asked beside it.
JUDGE = """
import json, os, sys
lines = [json.loads(line) for line in sys.stdin]
open(sys.argv[1], "w").write(json.dumps(lines))
for each in lines:
    reference = each["reference"] if isinstance(each["reference"], str) else each["reference"][0]
    print(len(os.path.commonprefix([each["hypothesis"], reference])) / len(reference))
"""
SEGMENTS = [
    Segment("ein\u2028Tag", "abx", ("abcd",)),
    Segment("zwei", "", ("ab", "cd")),
    Segment("ein\u2028Tag", "abx", ("abcd",)),
]


def test_a_command_gets_each_segment_once_and_answers_with_numbers(tmp_path: Path) -> None:
    script, seen = tmp_path / "judge.py", tmp_path / "seen.json"
    script.write_text(JUDGE)
    values = sentence_qualities(f"cmd:{sys.executable} {script} {seen}", SEGMENTS)
    assert values == [0.5, 0.0, 0.5]
    assert json.loads(seen.read_text()) == [
        {"source": "ein\u2028Tag", "hypothesis": "abx", "reference": "abcd"},
        {"source": "zwei", "hypothesis": "", "reference": ["ab", "cd"]},
    ]


def test_a_file_of_numbers_is_found_by_segment(tmp_path: Path) -> None:
    numbers, lines = tmp_path / "scores.txt", tmp_path / "segments.jsonl"
    lines.write_text("".join(each.as_line() + "\n" for each in SEGMENTS[:2]))
    numbers.write_text("-0.25\n7e-1\n")
    quality = f"file:{numbers}?source={lines}"
    assert sentence_qualities(quality, [SEGMENTS[1], *SEGMENTS]) == [0.7, -0.25, 0.7, -0.25]
    with pytest.raises(BabelscopeError, match="has no line"):
        sentence_qualities(quality, [Segment("drei", "a", ("b",))])


@pytest.mark.parametrize("written", ["nan", "inf", "", "0,5"])
def test_what_is_no_number_is_refused(tmp_path: Path, written: str) -> None:
    numbers, lines = tmp_path / "scores.txt", tmp_path / "segments.jsonl"
    lines.write_text("".join(each.as_line() + "\n" for each in SEGMENTS[:2]))
    numbers.write_text(f"0.5\n{written}\n")
    with pytest.raises(BabelscopeError, match=r"as the quality of ''; it must be a finite number"):
        sentence_qualities(f"file:{numbers}?source={lines}", SEGMENTS)


def test_wrong_counts_are_refused(tmp_path: Path) -> None:
    numbers, lines = tmp_path / "scores.txt", tmp_path / "segments.jsonl"
    lines.write_text(SEGMENTS[0].as_line() + "\n")
    numbers.write_text("1\n2\n")
    with pytest.raises(BabelscopeError, match="equally many lines"):
        sentence_qualities(f"file:{numbers}?source={lines}", SEGMENTS[:1])
    with pytest.raises(SystemFailure, match="given 2 lines but wrote 1"):
        sentence_qualities("cmd:head -c 2?timeout=20", SEGMENTS)
    assert math.isclose(sentence_qualities("cmd:sed s/.*/0.5/", SEGMENTS)[0], 0.5)


def test_two_sentences_are_too_few() -> None:
    first, second = "eins zwei drei vier", "fünf sechs sieben acht"
    found = corpus_estimate("chrf", [first, "ganz anders"], [[first], [second]])
    assert (found.no_interval, found.n) == ("2 sentences", 2)
    assert 20 < found.value < 80


def test_a_corpus_without_long_n_grams_has_no_bleu() -> None:
    """sacreBLEU has effective order for sentences only: a corpus of two-word sentences scores 0."""
    texts = ["der Hund", "die Katze"]
    found = corpus_estimate("bleu", texts, [[text] for text in texts])
    assert found.value == 0 == sacrebleu.corpus_bleu(texts, [texts]).score
    assert sentence_qualities("bleu", [Segment("s", texts[0], (texts[0],))]) == [pytest.approx(1)]


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


@pytest.mark.parametrize("name", [name for name in METRICS.built_in if name not in OUT_OF_PROCESS])
def test_ours_have_values_on_their_scales_in_sentences_statistics_and_pairs(name: str) -> None:
    metric = find_metric(name)
    assert (metric.name, metric.version, metric.identity) == (name, 1, name)
    texts, references = (
        ["der Hund bellt laut", "ein Haus"],
        [["der Hund bellt laut"], ["das alte Haus steht"]],
    )
    scores = metric.sentence(texts, references)
    low = metric.scale.low
    assert low is not None
    assert all(low <= each <= (metric.scale.high or math.inf) + 1e-9 for each in scores)
    rows = metric.statistics(texts, references)
    assert [metric.of_statistics(row) for row in rows] == pytest.approx(scores)
    pairs = metric.pairwise(texts, [own[0] for own in references], "source")
    assert np.diag(pairs) == pytest.approx(np.array(scores))
    qualities = sentence_qualities(metric, [Segment("", texts[1], tuple(references[1]))])
    assert qualities == [metric.scale.quality(scores[1])]
    assert metric.sentence([], []) == []


@dataclass(frozen=True)
class Words(Metric):
    """A plug-in's: how many words a hypothesis has."""

    def sentence(self, hypotheses, references, sources=()):  # noqa: ARG002
        return [float(len(text.split())) for text in hypotheses]


WORDS = Words("words", Scale(0, None), version=2)


def test_a_plug_in_is_found_and_has_the_mean_as_corpus_score(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SimpleNamespace(name="words", value="plugin:WORDS", load=lambda: WORDS)

    def entries(*, group: str, name: str = "words") -> list[object]:
        return [entry] if (group, name) == ("babelscope.metrics", "words") else []

    monkeypatch.setattr("importlib.metadata.entry_points", entries)
    assert find_metric("words") is WORDS
    assert find_metric(WORDS) is WORDS
    assert WORDS.identity == "words 2"
    found = corpus_estimate("words", ["a", "a b c", "a b"], [["x"], ["y"], ["z"]])
    # A mean: Student's interval of 1, 3 and 2.
    reach = 4.302653 / math.sqrt(3)
    assert (found.value, found.low, found.high) == pytest.approx((2.0, max(2 - reach, 0.0), 2 + reach))


def test_the_bound_of_kqrg_is_the_scale_s_or_the_caller_s() -> None:
    assert [quality_bound(find_metric(name)) for name in METRICS.built_in] == [1.0] * len(METRICS.built_in)
    outside = find_metric("cmd:cat?bound=25")
    assert (outside.scale.high, quality_bound(outside)) == (25.0, 25.0)
    for metric in (find_metric("cmd:cat"), WORDS):
        with pytest.raises(BabelscopeError, match=r"highest quality that \S+ can give.*cmd:COMMAND\?bound=1"):
            quality_bound(metric)
    assert kqrg([25.0, 25.0], bound=25.0) == pytest.approx(1)
    assert kqrg([5.0, 4.0], bound=10.0) == pytest.approx(kqrg([0.5, 0.4]))
    assert kqrg([5.0, 4.0], normalize="ideal", bound=10.0) == kqrg([5.0, 4.0], normalize="ideal")


def test_what_is_outside_counts_by_content_with_a_bound_if_named(tmp_path: Path) -> None:
    numbers, segments, moved = (tmp_path / name for name in ("numbers", "segments", "moved"))
    numbers.write_text("0.5\n")
    moved.write_text("0.5\n")
    segments.write_text(Segment("s", "h", ("r",)).as_line() + "\n")
    program = f"cmd:{sys.executable} -c pass"
    specs = [f"file:{numbers}?source={segments}", f"file:{numbers}?source={segments}&bound=1", program]
    identities = [find_metric(spec).identity for spec in [*specs, f"{program}?bound=1"]]
    assert len(set(identities)) == 4
    assert [each.split()[0] for each in identities] == ["file"] * 2 + ["cmd"] * 2
    assert find_metric(f"file:{moved}?source={segments}").identity == identities[0]
    assert find_metric(f"{program}?batch=2").identity == identities[2]
    found = corpus_estimate(specs[0], ["h"], [["r"]], sources=["s"])
    assert (found.value, found.n) == (0.5, 1)


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("cmd:", "says nothing after the colon"),
        ("file:?source=x", "says nothing after the colon"),
        ("cmd:cat?bound=0", "bound=0 is not a positive number"),
        ("cmd:cat?bound=inf", "bound=inf is not a positive number"),
        ("cmd:cat?bound=much", "bound=much is not a number"),
        ("cmd:cat?bond=1", "unknown option 'bond'; did you mean bound"),
        ("cmd:no-such-command", "is not found or not executable"),
        ("cmd:env KEY=x cat", "must hold no secret"),
        ("file:nowhere?source=nowhere", "nowhere: no such file"),
        ("file:numbers", r"needs \?source=SEGMENTS"),
        ("http:x", "there is no metric 'http:x'"),
    ],
)
def test_metrics_that_cannot_be_opened(spec: str, fault: str) -> None:
    with pytest.raises(BabelscopeError, match=fault):
        find_metric(spec)


def test_a_segment_has_one_number_and_its_source(tmp_path: Path) -> None:
    numbers, segments = tmp_path / "numbers", tmp_path / "segments"
    line = Segment("s", "h", ("r",)).as_line() + "\n"
    segments.write_text(2 * line)
    numbers.write_text("1\n2\n")
    with pytest.raises(BabelscopeError, match=r"segments:2 repeats a segment .* another number"):
        find_metric(f"file:{numbers}?source={segments}")
    numbers.write_text("1\n1\n")
    metric = find_metric(f"file:{numbers}?source={segments}")
    assert metric.sentence(["h"], [["r"]], ["s"]) == [1.0]
    with pytest.raises(BabelscopeError, match="needs the source of every translation"):
        metric.sentence(["h"], [["r"]])


word_lists = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "mat", "."]), min_size=1, max_size=9)
corpora = st.lists(st.tuples(word_lists, word_lists), min_size=1, max_size=6)


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


HYPOTHESES = ["The old man gave it up .", "she sat There , alone , all day", "a child", "no word fits here"]
REFERENCES = [
    ["the old man gave it up ."],
    ["she sat there , alone , the whole day", "She was there all day"],
    ["a small child sat down"],
    ["quite another text"],
]


def multi_bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool) -> float:
    """Papineni's formula over words between spaces: clipped counts, closest reference length, no smoothing."""

    def words(text: str) -> list[str]:
        return (text.lower() if lowercase else text).split()

    correct, total, length, reference_length = [0] * 4, [0] * 4, 0, 0
    for hypothesis, own in zip(hypotheses, references, strict=True):
        tokens = words(hypothesis)
        length += len(tokens)
        reference_length += min((abs(len(words(r)) - len(tokens)), len(words(r))) for r in own)[1]
        for n in range(1, 5):
            counts = grams(tokens, n)
            most: Counter[tuple[str, ...]] = Counter()
            for reference in own:
                most |= grams(words(reference), n)
            correct[n - 1] += (counts & most).total()
            total[n - 1] += counts.total()
    if not all(correct):
        return 0.0
    penalty = min(0.0, 1 - reference_length / length)
    return 100 * math.exp(penalty + sum(math.log(c / t) for c, t in zip(correct, total, strict=True)) / 4)


def grams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def corpus_score(name: str, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    metric = find_metric(name)
    return metric.corpus(np.asarray(metric.statistics(hypotheses, references)).sum(axis=0))


@pytest.mark.parametrize(("name", "lowercase"), [("multi-bleu", False), ("multi-bleu-lc", True)])
def test_multi_bleu_is_its_formula(name: str, lowercase: bool) -> None:
    expected = multi_bleu(HYPOTHESES, REFERENCES, lowercase=lowercase)
    assert expected > 0
    assert corpus_score(name, HYPOTHESES, REFERENCES) == pytest.approx(expected, abs=1e-9)
    assert corpus_score(name, HYPOTHESES[2:], REFERENCES[2:]) == 0


def test_case_and_tokens_matter_as_the_names_say() -> None:
    lowered = [[text.lower() for text in own] for own in REFERENCES]
    expected = corpus_score("bleu", [text.lower() for text in HYPOTHESES], lowered)
    assert corpus_score("bleu-lc", HYPOTHESES, REFERENCES) == pytest.approx(expected, abs=1e-9)
    assert corpus_score("bleu-lc", HYPOTHESES, REFERENCES) > corpus_score("bleu", HYPOTHESES, REFERENCES)
    # 13a sets the full stop apart, multi-bleu takes the words as they stand.
    apart, together = ["we gave it up again ."], [["we gave it up again."]]
    assert corpus_score("bleu", apart, together) == pytest.approx(100)
    assert corpus_score("multi-bleu", apart, together) < 100


def test_sentences_without_a_long_match_are_smoothed() -> None:
    metric = find_metric("multi-bleu")
    assert metric.sentence(["a b c d x"], [["a b c y z"]])[0] > 0


PAGE = Path(__file__).parents[2] / "docs" / "howto" / "bleurt.md"
# The share of the candidate's words that the reference has.
BLEURT = """
print("loading")
class BleurtScorer:
    def __init__(self, checkpoint):
        assert checkpoint == "BLEURT-20", checkpoint
    def score(self, *, references, candidates, batch_size):
        pairs = zip(references, candidates, strict=True)
        return [sum(word in a.split() for word in b.split()) / len(b.split()) for a, b in pairs]
"""
# 25 errors less 10 for each word of the candidate that the reference has, or without references the source.
METRICX = """
import argparse, json
parser = argparse.ArgumentParser()
for name in ("tokenizer", "model_name_or_path", "max_input_length", "batch_size", "input_file", "output_file"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--qe", action="store_true")
given = parser.parse_args()
assert (given.model_name_or_path, given.tokenizer) == ("google/model", "google/tokenizer")
print("Predicting")
with open(given.input_file) as lines, open(given.output_file, "w") as out:
    for line in lines:
        row = json.loads(line)
        assert row.keys() == {"source", "hypothesis", "reference"}
        assert not (given.qe and row["reference"])
        if row["hypothesis"] == "lost":
            continue
        known = row["source" if given.qe else "reference"].split()
        shared = sum(word in known for word in row["hypothesis"].split())
        out.write(json.dumps({**row, "prediction": 25 - 10 * shared}) + "\\n")
"""


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the scripts of the page, and stand-ins that their imports find."""
    for script in re.findall(
        r'^```python title="(\w+\.py)"\n(.*?)^```$', PAGE.read_text(), re.MULTILINE | re.DOTALL
    ):
        (tmp_path / script[0]).write_text(script[1])
    for path, text in (("bleurt/score.py", BLEURT), ("metricx24/predict.py", METRICX)):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
        (tmp_path / path).with_name("__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_bleurt(recipes: Path) -> None:
    (recipes / "bleurt" / "score.py").write_text(BLEURT.replace('print("loading")', ""))
    metric = find_metric(
        f"cmd:{sys.executable} bleurt_score.py BLEURT-20?bound=1&batch=1000000&timeout=86400"
    )
    found = metric.sentence(["a b", "c d"], [["a x"], ["y", "c d", "c"]], ["s", "t"])
    assert found == [0.5, 1], "of several references the best"
    assert metric.scale.best_quality == 1


def test_what_a_library_prints_is_no_number(recipes: Path) -> None:
    assert recipes
    metric = find_metric(f"cmd:{sys.executable} bleurt_score.py BLEURT-20?bound=1")
    with pytest.raises(SystemFailure, match="was given 1 lines but wrote 2"):
        metric.sentence(["a"], [["a"]], ["s"])


def test_metricx(recipes: Path) -> None:
    assert recipes
    spec = f"cmd:{sys.executable} metricx_score.py google/model google/tokenizer"
    metric = find_metric(f"{spec}?bound=1&batch=1000000&timeout=86400")
    found = metric.sentence(["a b", "c"], [["a b"], ["y", "c"]], ["s", "t"])
    assert found == pytest.approx([1 - 5 / 25, 1 - 15 / 25])
    free = find_metric(f"{spec} qe?bound=1&reference=no")
    assert free.sentence(["a b"], [["a b"]], ["a"]) == pytest.approx([1 - 15 / 25])
    assert not free.reads_references
    with pytest.raises(SystemFailure, match="1 predictions of 2 segments"):
        metric.sentence(["a b", "lost"], [["a"], ["y"]], ["s", "t"])
