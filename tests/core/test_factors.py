"""Factors of systems: what is refused, and words that tell groups of systems apart."""

from __future__ import annotations

import pytest

from babelscope.core.factors import but, check_factors, check_kinds_of_factors, told_apart


def test_words_are_only_of_what_differs() -> None:
    groups = [but({"width": 1, "kind": "a", "smoothed": True}), but({"width": 2, "kind": "a"})]
    assert told_apart(groups) == ["smoothed, width 1", "without smoothed, width 2"]
    assert told_apart(groups[:1]) == [""]
    assert told_apart([]) == []


def test_a_factor_is_of_one_kind() -> None:
    check_kinds_of_factors({"a": {"width": 1}, "b": {"width": 2.5}, "c": {}})
    with pytest.raises(ValueError, match="'width' is a number of 'a' and a text of 'b'"):
        check_kinds_of_factors({"a": {"width": 256}, "b": {"width": "512"}})
    with pytest.raises(ValueError, match="'distilled' is true or false of 'a' and a number of 'b'"):
        check_kinds_of_factors({"a": {"distilled": True}, "b": {"distilled": 0}})


def test_too_many_are_refused() -> None:
    assert len(check_factors({f"f{n}": n for n in range(50)})) == 50
    with pytest.raises(ValueError, match="may have 50 factors, not 51"):
        check_factors({f"f{n}": n for n in range(51)})
