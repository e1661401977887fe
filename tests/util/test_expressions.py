"""Expressions of strangers end in time, in little memory, and without ending anything else."""

from __future__ import annotations

import resource
import time

import pytest

from babelscope.util.errors import BabelscopeError
from babelscope.util.expressions import TooCostlyError, check_expression, has_expression, has_word

HOSTILE = {
    "backtracks without end": ("(a|aa)+$", "a" * 60 + "b"),
    "calls itself": ("(?:(?R)|a)", "a" * 100),
    "takes all memory to compile": ("((a{1000}){1000}){1000}", "a"),
    "takes all time to compile": ("(" * 8 + "[a-z]b" + "){40}" * 8, "a"),
    "is nested too deeply": ("(?:" * 4000 + "a" + ")" * 4000, "a"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_expression_costs_little_and_the_next_one_is_answered(name: str) -> None:
    pattern, text = HOSTILE[name]
    began = time.monotonic()
    check_expression(pattern)
    with pytest.raises(TooCostlyError):
        has_expression(pattern, text)
    assert time.monotonic() - began < 60
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 3 * 2**20
    assert has_expression("b+", "abc")
    assert not has_expression("B", "abc")
    assert has_expression("B", "abc", ignore_case=True)


def test_words_and_faults() -> None:
    assert has_word("a.b", "x a.b y")
    assert not has_word("a.b", "x acb y")
    assert not has_word("Bank", "Banken, bank")
    assert has_word("Bank", "die bank", ignore_case=True)
    with pytest.raises(BabelscopeError, match="is no regular expression"):
        check_expression("(")
    with pytest.raises(BabelscopeError, match="more than 20,000 characters"):
        check_expression("a" * 20_001)
