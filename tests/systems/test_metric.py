"""Metrics as systems: they score both texts of a pair against its human reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from babelscope import open_system
from babelscope.metrics.base import Segment, sentence_qualities
from babelscope.testsets.items import MinimalPair, choice_of
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

PAIRS: list[dict[str, Any]] = [
    {"id": "1", "source": "Drei.", "correct": "There are three.", "contrastive": ["There are four.", "Three is."],
     "human_reference": "There are three of them."},
    {"id": "2", "source": "Es ist alt.", "correct": "It is old.", "contrastive": "It isn't new at all.",
     "human_reference": "It isn't new."},
]  # fmt: skip


def pairs(**changes: object) -> list[MinimalPair]:
    common = {"phenomenon": "numbers", "reference": "machine", **changes}
    return [MinimalPair.from_json({**each, **common}) for each in PAIRS]


def test_scores_are_those_of_the_metric() -> None:
    items = pairs()
    for name in ("chrf", "bleu", "ter"):
        found = open_system(f"metric:{name}").item_scores([choice_of(item) for item in items])
        for item, scores in zip(items, found, strict=True):
            segments = [
                Segment(item.source, text, (item.extra["human_reference"],))
                for text in (item.correct, *item.contrastive)
            ]
            assert [scores.correct, *scores.others] == sentence_qualities(name, segments)


def test_what_cannot_be_scored() -> None:
    chosen = [choice_of(item) for item in pairs(human_reference=" ")]
    with pytest.raises(BabelscopeError, match="item 1 has no human_reference"):
        open_system("metric:chrf").item_scores(chosen)
    with pytest.raises(BabelscopeError, match="says nothing after the colon; example: metric:chrf"):
        open_system("metric:")
    with pytest.raises(BabelscopeError, match="there is no metric 'chfr'"):
        open_system("metric:chfr")


def test_a_metric_is_tested_by_contrast(babelscope: Babelscope, tmp_path: Path) -> None:
    lines = [json.dumps({**each, "phenomenon": "numbers", "reference": "machine"}) for each in PAIRS]
    (tmp_path / "pairs.jsonl").write_text("".join(f"{line}\n" for line in lines))
    ran = babelscope("contrast", "--metric", "chrf", "--tests", "pairs.jsonl", "--format", "json")
    (row,) = (row for row in ran.rows if row["name"] == "numbers")
    assert row["system"] == "metric:chrf"
    assert (row["value"], row["n"]) == (0.5, 2), "it prefers the wrong text that is closer to the reference"
    again = babelscope("contrast", "--system", "metric:chrf", "--tests", "pairs.jsonl", "--format", "json")
    assert again.rows == ran.rows
    command = "cmd:sed s/.*/0/?bound=1"
    ran = babelscope("contrast", "--metric", command, "--tests", "pairs.jsonl", "--format", "json")
    (row,) = (row for row in ran.rows if row["name"] == "numbers")
    assert (row["ties"], row["system"]) == (2, f"metric:{command}")
    assert "needs --system" in babelscope("contrast", "--tests", "pairs.jsonl").err


def test_figures_of_demetr(shared: Path, babelscope: Babelscope) -> None:
    """Those of docs/howto/metrics.md, of one file."""
    tests = f"demetr:{shared}/data/demetr/critical_id11_gender.json"
    ran = babelscope("contrast", "--metric", "chrf", "--metric", "bleu", "--tests", tests, "--format", "json")
    errors = {row["system"]: 1 - row["value"] for row in ran.rows if row["name"] == "critical_id11_gender"}
    assert errors == pytest.approx({"metric:chrf": 0.1239, "metric:bleu": 0.0841}, abs=1e-4)
