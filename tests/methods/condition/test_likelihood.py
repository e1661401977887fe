"""The likelihood of a translation in each reading: mean of logs, total, arithmetic mean of token probabilities."""

from __future__ import annotations

import math

import pytest

from babelscope.core.answers import Scored
from babelscope.methods.condition.ask import score_as_json
from babelscope.methods.condition.figures import best_of_side, score_of
from babelscope.util.errors import BabelscopeError

SURE_THEN_NOT = Scored("a b", ("a", "b"), (math.log(0.9), math.log(0.01)))
EVEN = Scored("a b", ("a", "b"), (math.log(0.2), math.log(0.2)))
SIDE = [{"source": "first", **score_as_json(SURE_THEN_NOT)}, {"source": "second", **score_as_json(EVEN)}]


def test_the_reading_decides_which_source_is_best() -> None:
    total, best = best_of_side(SIDE, "total")
    assert (total, best) == (pytest.approx(2 * math.log(0.2)), "second")
    assert best_of_side(SIDE, "mean") == (pytest.approx(math.log(0.2)), "second")
    literal, best = best_of_side(SIDE, "probability")
    assert (literal, best) == (pytest.approx(math.log(0.455)), "first")
    # As a score, c / (c + i) of the arithmetic means themselves.
    assert score_of(math.log(0.455) - math.log(0.2)) == pytest.approx(0.455 / 0.655)


def test_an_older_run_without_token_probabilities_must_be_asked_again() -> None:
    with pytest.raises(BabelscopeError, match="ask the evaluator again"):
        best_of_side([{"source": "s", "total": -1.0, "tokens": 2}], "probability")
