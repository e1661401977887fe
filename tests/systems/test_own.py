"""docs/own-models.md: a module with `encode` and `step` gets every method."""

from __future__ import annotations

import contextlib
import io
import math
import re
from pathlib import Path
from typing import Any

import pytest

import babelscope as bs
from babelscope.core.answers import Budget, capabilities

PAGE = Path(__file__).parents[2] / "docs" / "own-models.md"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page's block leaves behind, and what it printed as `printed`."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    left: dict[str, Any] = {"__name__": "own_models"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block, str(PAGE), "exec"), left)
    return {**left, "printed": printed.getvalue()}


def test_the_page_s_block_runs_and_prints_accuracies(page: dict[str, Any]) -> None:
    assert "contrast" in page["printed"]
    assert any(row.estimate.n for row in page["result"].rows)
    assert len(page["samples"]) == 5
    assert {"translate", "score", "sample", "top_k", "next_tokens"} <= set(capabilities(page["system"]))


def test_its_scores_are_those_of_its_own_steps(page: dict[str, Any]) -> None:
    system, best = page["system"], page["best"]
    memory = system.encode(["The judge reads the letter ."])
    node, fed, total = 0, system.vocabulary.prefix[0], 0.0
    for number, token in enumerate(system.tokens.ids_of(best)):
        logs = system.step(memory, [node], [fed])
        total += float(logs[0, token])
        node, fed = number + 1, token
    assert best.total == pytest.approx(total, abs=1e-3)


def test_batches_change_nothing(page: dict[str, Any]) -> None:
    system = page["system"]
    pairs = [("The judge sleeps .", "Der Richter schläft ."), ("She reads a long letter .", "Sie liest .")]
    together = [each.total for each in system.score(pairs)]
    assert together == pytest.approx([system.score([pair])[0].total for pair in pairs], abs=1e-4)


def test_it_searches_exactly_within_a_budget(page: dict[str, Any]) -> None:
    (found,) = page["system"].top_k(["The judge sleeps ."], k=1, budget=Budget(expansions=300))
    assert found.expansions <= 400
    assert found.bound <= 0 or math.isinf(found.bound)


def test_other_methods_take_it(page: dict[str, Any]) -> None:
    result = bs.likelihood(page["system"], bs.load("lab:parallel?n=10"))
    assert result.rows
