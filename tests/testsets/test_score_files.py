"""Score files that do not fit their test set, or have no scores in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from babelscope.testsets.score_files import Stored, read_scores, read_tests
from babelscope.util.errors import BabelscopeError


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Four items of MuCoW's format with 2, 2, 1 and 1 contrastive variants."""
    monkeypatch.chdir(tmp_path)
    entries = [
        {
            "source": f"source {number}",
            "reference": "a reference",
            "ambig word": "bank",
            "sense": "money",
            "origin": "news",
            "errors": [{"contrastive": f"v {k}", "replacement": "r", "type": "t"} for k in range(variants)],
        }
        for number, variants in enumerate((2, 2, 1, 1))
    ]
    Path("suite.json").write_text(json.dumps(entries))
    return "mucow-scoring:suite.json"


def test_scores_are_matched_with_items_and_turned(suite: str) -> None:
    Path("scores").write_text("1\t2\t3\n2\t2\t3\t1\n3\t1\n1\tinf\n")
    tests, found = read_scores("scores", read_tests(suite), direction="lower")
    assert [item["source"] for item in tests.items] == [f"source {number}" for number in range(4)]
    assert found == [
        Stored(-1, (-2, -3)),
        Stored(-2, (-2, -3), -1),
        Stored(-3, (-1,)),
        Stored(-1, (-float("inf"),)),
    ]


@pytest.mark.parametrize(
    ("folder", "told"), [("nowhere", "nowhere: no such folder"), (".", "is no DistilLingEval set")]
)
def test_a_folder_that_is_no_set_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BabelscopeError, match=told):
        read_tests(f"distil-lingeval:{folder}")


@pytest.mark.parametrize(
    ("lines", "chosen", "told"),
    [
        (
            ["1"] * 9,
            {},
            "scores has 9 lines; suite has 4 items: 10 lines in the layout blocks, 10 lines in the layout "
            "interleaved, 4 lines in the layout columns",
        ),
        (["1\t2\t3"] * 3, {}, "scores has 3 lines; suite has 4 items: 4 lines in the layout columns"),
        (
            ["1\t2"] * 4,
            {},
            "scores:1 has 2 columns; it must have 3 (correct, contrastive) or 4 (and the 1-best)",
        ),
        (["1"] * 9 + ["1\t2"], {}, "scores:10 has 2 columns; the layout interleaved has one"),
        (["1"] * 4 + ["one"] + ["1"] * 5, {}, "scores:5: 'one' is not a number"),
        (["1"] * 4 + [""] + ["1"] * 5, {}, "scores:5: '' is not a number"),
        (["1"] * 2 + ["nan"] + ["1"] * 7, {}, "scores:3: 'nan' is no score"),
        (["1"] * 9 + ["-inf"], {}, "scores:10: '-inf' is better than any score; is the direction right?"),
        (["1"] * 9 + ["inf"], {"direction": "higher"}, "scores:10: 'inf' is better than any score"),
    ],
)
def test_bad_files_are_told(suite: str, lines: list[str], chosen: dict[str, Any], told: str) -> None:
    Path("scores").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(BabelscopeError) as error:
        read_scores("scores", read_tests(suite), **{"direction": "lower", **chosen})
    assert told in str(error.value)
