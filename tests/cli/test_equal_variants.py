"""A variant equal to the correct translation leaves nothing to choose: it is refused, or counted as skipped."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.toy_fixtures import Babelscope

PAIR = {"source": "a b", "correct": "ab", "phenomenon": "swap", "reference": "human"}
CONTRAST = ("contrast --system toy:1",)


def test_in_a_file_of_ones_own_it_is_an_error_that_names_the_item(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    pairs = [{**PAIR, "id": "good", "contrastive": "ba"}, {**PAIR, "id": "bad", "contrastive": ["ba", "ab"]}]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in pairs))
    ran = babelscope(*CONTRAST, "--tests", "pairs.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(
        "babelscope: error: pairs.jsonl:2: item 'bad' has a contrastive translation that"
    )
    assert ran.err.count("\n") == 1


def test_in_a_published_set_it_is_left_out_and_told(babelscope: Babelscope, tmp_path: Path) -> None:
    folder = tmp_path / "swap.human"
    folder.mkdir()
    for name, lines in {
        "src.en": "a b\nb a\n",
        "tgt.correct.de": "ab\nba\n",
        "tgt.incorrect.de": "ab\nab\n",
    }.items():
        (folder / name).write_text(lines)
    ran = babelscope(*CONTRAST, "--tests", f"distil-lingeval:{folder}")
    assert (ran.code, ran.err) == (0, "")
    assert "1 answer judged" in ran.out
    assert "1 item was skipped" in ran.out
    assert "1 variant equal to the correct translation" in " ".join(ran.out.split())
