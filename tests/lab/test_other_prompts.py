"""`lab:llm` knows one prompt: answers to any other are noted, counted and told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import babelscope as bs
from babelscope.report.summary import summarise
from babelscope.systems.prompts import shipped_names

SOURCE = "The dog sees the cat."


def notes_of(system: Any) -> set[str]:
    """The notes on a score, a translation, a sample and a hypothesis, all of which have `other_prompt` or none."""
    answers = [
        system.score([(SOURCE, "Der Hund.")])[0],
        system.translate([SOURCE], beam=1)[0][0],
        system.sample([SOURCE], n=1, seed=1)[0][0],
    ]
    found = {"other_prompt" in each.notes for each in answers}
    assert len(found) == 1
    return {"other_prompt"} if found == {True} else set()


@pytest.mark.parametrize("prompt", [*shipped_names(), "{text}"])
def test_each_shipped_prompt(prompt: str) -> None:
    system = bs.open_system(f"lab:llm?prompt={prompt}")
    assert notes_of(system) == (set() if prompt == "lines" else {"other_prompt"})


def test_its_own_prompt_in_a_file_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('name = "mine"\ntemplate = "{source}: {text}\\n{target}:"\n', encoding="utf-8")
    own = bs.open_system(f"lab:llm?prompt={path}")
    assert notes_of(own) == set()
    assert "noted" not in own.fingerprint.settings
    assert own.fingerprint.model == bs.open_system("lab:llm").fingerprint.model


def test_examples_and_another_language_are_another_prompt(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("A dog.\tEin Hund.\n", encoding="utf-8")
    path = tmp_path / "shots.toml"
    path.write_text('template = "{source}: {text}\\n{target}:"\nexamples = "pairs.tsv"\n', encoding="utf-8")
    assert notes_of(bs.open_system(f"lab:llm?prompt={path}")) == {"other_prompt"}
    assert notes_of(bs.open_system("lab:llm?target=French")) == {"other_prompt"}
    scored = bs.open_system("lab:llm?prompt=none").score([("", "Der Hund.")])[0]
    assert "other_prompt" in scored.notes


def test_a_summary_says_it_first() -> None:
    pairs = bs.load("lab:pairs?n=1")
    how: dict[str, Any] = {"detect_in_output": "no", "spread": 0}
    result = bs.contrast(bs.open_system("lab:llm?prompt=question"), pairs, **how)
    row = next(row for row in result.rows if row.name == "all")
    assert row.counts["other_prompt"] == row.estimate.n
    told = " ".join(summarise(result, width=80).split())
    kept = told.partition("Keep in mind: ")[2]
    assert kept.startswith(
        f"lab:llm?prompt=question: {row.estimate.n} items were asked by another prompt than the only one"
    )
    assert not any(
        "other_prompt" in row.counts for row in bs.contrast(bs.open_system("lab:llm"), pairs, **how).rows
    )


def test_likelihood_counts_it_too() -> None:
    tests = bs.load("lab:parallel?n=2")
    rows = bs.likelihood(bs.open_system("lab:llm?prompt=question"), tests).rows
    assert [row.counts["other_prompt"] for row in rows] == [2, 2]
    assert not any(
        "other_prompt" in row.counts for row in bs.likelihood(bs.open_system("lab:llm"), tests).rows
    )
