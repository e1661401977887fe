"""How far the pairs are is measured by the system's own alternatives, and between systems only with a caution."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from babelscope import contrast
from babelscope.core.answers import Scoring, score_tokens
from babelscope.core.results import Estimate, Row
from babelscope.methods.contrast.spread import CAUTION, discrepancy_caveats
from babelscope.testsets import MinimalPair
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

PAIRS = [MinimalPair(str(n), f"a{'bc' * n}", "abc", ("acb",), "p", "human") for n in range(12)]


def test_second_best_and_sample_are_those_of_the_system() -> None:
    toy = ToySystem()
    result = contrast(toy, PAIRS, spread=5, beam=3)
    known = [record for record in result.records if "spread" in record]
    assert len(known) == 5
    rows = {row.labels["of"]: row.estimate for row in result.rows if row.name == "spread"}
    for kind in ("second", "sample"):
        distances = []
        for record in known:
            best, second = toy.translate([record["source"]], beam=3, n_best=2)[0]
            (drawn,) = toy.sample([record["source"]], n=1, seed=0)[0]
            distances.append(best.mean - (second if kind == "second" else drawn).mean)
        assert rows[kind].value == pytest.approx(sum(distances) / 5)
        assert rows[kind].n == 5
    again = contrast(toy, PAIRS, spread=5, beam=3)
    assert [r.get("spread") for r in again.records] == [r.get("spread") for r in result.records]
    assert not any(row.name == "spread" for row in contrast(toy, PAIRS, spread=0).rows)


def rows(human: float, machine: float, second: float, sample: float) -> list[Row]:
    def estimate(value: float) -> Estimate:
        return Estimate(value, value - 0.05, value + 0.05, 100)

    return [
        Row("discrepancy", estimate(human), {"reference": "human"}),
        Row("discrepancy", estimate(machine), {"reference": "machine"}),
        Row("spread", estimate(second), {"of": "second"}),
        Row("spread", estimate(sample), {"of": "sample"}),
    ]


def test_far_is_what_lies_beyond_its_own_alternatives_whatever_the_nats() -> None:
    for scale in (1.0, 10.0):  # the same, for a model of another temperament
        near = discrepancy_caveats("x", rows(0.3 * scale, 0.3 * scale, 0.3 * scale, 3.0 * scale))
        assert near == []
        (far,) = discrepancy_caveats("x", rows(2 * scale, 0.3 * scale, 0.3 * scale, 3.0 * scale))
        assert "its second-best one" in far.text
        assert "machine references" in far.text
        assert "sample" not in far.text
        (beyond,) = discrepancy_caveats("x", rows(4 * scale, 0.3 * scale, 0.3 * scale, 3.0 * scale))
        assert "a sample of its own" in beyond.text
    (unknown,) = discrepancy_caveats("x", [])
    assert "is not known" in unknown.text


def test_between_systems_the_caution_is_said(babelscope: Babelscope, tmp_path: Path) -> None:
    lines = "".join(json.dumps(pair.as_json()) + "\n" for pair in PAIRS)
    (tmp_path / "pairs.jsonl").write_text(lines)
    for name in ("toy:1", "toy:2"):
        assert babelscope("contrast", "--tests", "pairs.jsonl", "--system", name, "--out", name[-1]).code == 0
    said = "not comparable between models"
    assert said in " ".join(babelscope("compare", "1", "2").out.split())
    assert said not in " ".join(babelscope("compare", "1").out.split())
    both = ("contrast", "--tests", "pairs.jsonl", "--system", "toy:1", "--system", "toy:2")
    assert said in " ".join(babelscope(*both).out.split())
    assert CAUTION in babelscope(*both, "--table").out


@pytest.mark.parametrize("how", ["mean", "total", "probability"])
def test_every_reading_of_a_score_is_named_and_computed_as_it_says(how: Scoring) -> None:
    toy = ToySystem()
    result = contrast(toy, PAIRS, score=how, spread=0)
    assert f"score:{how}" in result.signature
    for record, item in zip(result.records, PAIRS, strict=True):
        for text, found in (
            (item.correct, record["scores"]["correct"]),
            (item.contrastive[0], record["scores"]["contrastive"][0]),
        ):
            logs = toy.score([(item.source, text)])[0].logprobs
            probabilities = [math.exp(each) for each in logs]
            expected = {
                "mean": sum(logs) / len(logs),
                "total": sum(logs),
                "probability": math.log(sum(probabilities) / len(probabilities)),
            }[how]
            assert found == pytest.approx(expected)


def test_a_mean_probability_neither_underflows_nor_hides_the_impossible() -> None:
    assert score_tokens([-2000.0, -2000.0], "probability") == pytest.approx(-2000.0)
    assert score_tokens([-math.inf, 0.0], "probability") == pytest.approx(math.log(0.5))
    assert score_tokens([-math.inf], "probability") == -math.inf


def test_protocols_are_words_for_settings(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair.as_json()) + "\n" for pair in PAIRS))
    asked = ("contrast", "--tests", "pairs.jsonl", "--system", "toy:1", "--json")
    for protocol, ties, discrepancy in (("paper", "wrong", "paper"), ("released", "correct", "clipped")):
        ran = babelscope(*asked, "--protocol", protocol)
        said = babelscope(*asked, "--ties", ties, "--discrepancy", discrepancy)
        assert ran.out == said.out
    refused = babelscope(*asked, "--protocol", "paper", "--ties", "half")
    assert refused.code == 2
    assert "--protocol paper means --ties wrong" in refused.err
