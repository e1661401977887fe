"""Quality is sacreBLEU's own number; RIBES is ours; what is asked outside is checked before it is believed."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.metrics.base import METRICS, OUT_OF_PROCESS, Segment, sentence_qualities
from babelscope.metrics.corpus import corpus_estimate
from babelscope.metrics.ribes import sentence_ribes
from babelscope.metrics.tokenisers import MTEVAL_13A
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


def test_the_same_stream_gives_the_same_interval() -> None:
    first, again = (corpus_estimate("bleu", OUTPUT, ONE) for _ in range(2))
    assert first == again


def test_bad_input_and_nothing() -> None:
    with pytest.raises(BabelscopeError, match="3 translations cannot be held against 2 references"):
        corpus_estimate("bleu", OUTPUT, ONE[:2])
    assert corpus_estimate("bleu", [], []).n == 0


def test_corpus_ribes_is_the_mean_over_13a_tokens() -> None:
    ours = corpus_estimate("ribes", OUTPUT, SEVERAL)
    lists = [[MTEVAL_13A.split(each) for each in group] for group in SEVERAL]
    scores = [sentence_ribes(MTEVAL_13A.split(text), own) for text, own in zip(OUTPUT, lists, strict=True)]
    assert ours.value == pytest.approx(math.fsum(scores) / len(scores))
    assert ours.low <= ours.value <= ours.high <= 1


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


def test_ter_can_be_below_zero() -> None:
    (value,) = sentence_qualities("ter", [Segment("s", "a b c d", ("x",))])
    assert value == -3


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


def test_one_sentence_says_nothing_about_others() -> None:
    found = corpus_estimate("chrf", OUTPUT[1:2], ONE[1:2])
    assert 50 < found.value < 100
    assert (found.no_interval, found.n) == ("1 sentence", 1)


def test_a_corpus_without_long_n_grams_has_no_bleu() -> None:
    """sacreBLEU has effective order for sentences only: a corpus of two-word sentences scores 0."""
    texts = ["der Hund", "die Katze"]
    found = corpus_estimate("bleu", texts, [[text] for text in texts])
    assert found.value == 0 == sacrebleu.corpus_bleu(texts, [texts]).score
    assert sentence_qualities("bleu", [Segment("s", texts[0], (texts[0],))]) == [pytest.approx(1)]
