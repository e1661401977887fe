"""Modes of marks alone are not empty, and are counted all the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from babelscope.methods.space.figures import _is_wordless
from tests.support.toy_fixtures import Babelscope


@pytest.mark.parametrize(
    ("text", "reference", "wordless"),
    [
        (".", "Ein Hund.", True),
        (" … ", "Ein Hund.", True),
        ("", "Ein Hund.", False),  # empty, which is counted as such
        ("犬", "Ein Hund.", False),
        ("3.", "Drei.", False),
        ("!", "!!!", False),  # nothing is missing
    ],
)
def test_what_is_wordless(text: str, reference: str, wordless: bool) -> None:
    assert _is_wordless(text, ["?", reference]) == wordless


def test_a_model_whose_modes_are_full_stops_is_told_of(tmp_path: Path, babelscope: Babelscope) -> None:
    """Without it, a model that has nothing to say but a full stop has no empty mode, and nothing to be warned of."""
    lists = [[".", "Ein Hund."], [".", "Eine Katze."], ["", "Ein Tier."], ["Ein Tier.", "."]]
    lines = [
        json.dumps({"id": number, "text": text, "logprob": -1.0 - place})
        for number, texts in enumerate(lists)
        for place, text in enumerate(texts)
    ]
    (tmp_path / "top.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "ref.de").write_text("Ein Hund.\nEine Katze.\nEin Tier.\nEin Tier.\n", encoding="utf-8")
    given = ("space", "--nbest", f"top={tmp_path / 'top.jsonl'}", "--reference", str(tmp_path / "ref.de"))
    told = [json.loads(line) for line in babelscope(*given, "--json").out.splitlines()]
    (row,) = [each for each in told if each.get("name") == "empty_mode" and each.get("view") == "tokens"]
    assert (row["value"], row["empty"], row["wordless"]) == (0.25, 1, 2)
    assert "2 items have a most probable translation of marks alone" in " ".join(
        babelscope(*given).out.split()
    )
