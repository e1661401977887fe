"""An option of a spec that is said twice is refused: one of the two would be swallowed."""

from __future__ import annotations

import pytest

from babelscope.core.specs import split_spec
from babelscope.systems.opening import open_system
from babelscope.testsets.loading import spec_for_scores
from babelscope.util.errors import BabelscopeError


def test_an_option_said_twice_is_refused() -> None:
    with pytest.raises(BabelscopeError, match="the option 'batch' is said twice"):
        open_system("cmd:cat?batch=1&batch=2")


def test_the_spec_for_scores_says_nothing_twice() -> None:
    for spec in ("mucow-scoring:a.json", "mucow-scoring:a.json?empty=yes", "mucow-scoring:a.json?empty=no"):
        made, layout = spec_for_scores(spec)
        assert (made, layout) == ("mucow-scoring:a.json?empty=yes", "interleaved")
        assert split_spec(made, made.partition(":")[2])[0] == "a.json"
