"""What every metric has: a scale that says what is better, a version, and a name by which it is found."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from babelscope.metrics.base import (
    METRICS,
    OUT_OF_PROCESS,
    Metric,
    Scale,
    Segment,
    find_metric,
    sentence_qualities,
)
from babelscope.metrics.corpus import corpus_estimate
from babelscope.metrics.ranking import kqrg, quality_bound
from babelscope.util.errors import BabelscopeError


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
    assert (outside.scale.high, quality_bound(outside), quality_bound(outside, 1.0)) == (25.0, 25.0, 1.0)
    unbounded = find_metric("cmd:cat")
    assert quality_bound(unbounded, 1.0) == 1.0
    for metric, named in ((unbounded, None), (WORDS, None), (unbounded, 0.0), (unbounded, math.inf)):
        with pytest.raises(BabelscopeError, match=r"highest quality that \S+ can give.*cmd:COMMAND\?bound=1"):
            quality_bound(metric, named)
    assert kqrg([25.0, 25.0], bound=25.0) == pytest.approx(1)
    assert kqrg([5.0, 4.0], bound=10.0) == pytest.approx(kqrg([0.5, 0.4]))
    assert kqrg([5.0, 4.0], normalise="ideal", bound=10.0) == kqrg([5.0, 4.0], normalise="ideal")


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
