"""Rule files: alternatives, conditions on other words, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from babelscope.language.rule_files import read_rules
from babelscope.language.ud import parse_tree
from babelscope.language.ud_rules import Finder, choose_rules
from babelscope.util.errors import BabelscopeError


def written(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_several_tables_of_a_name_are_alternatives(tmp_path: Path) -> None:
    text = '[[a]]\ndependent = { upos = "ADP" }\n[[a]]\ndependent = { upos = "ADV" }\norder = "after"\n'
    own = read_rules(written(tmp_path, text))
    assert [rule.name for rule in own] == ["a", "a"]
    lines = ["1\tup\tup\tADP\t_\t_\t2\tx\t_\t_", "2\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_"]
    lines += ["3\tnow\tnow\tADV\t_\t_\t2\tx\t_\t_"]
    finder = Finder(choose_rules(["a"], more=own))
    assert [each.dependent for each in finder(parse_tree(lines, "toy"), "source")] == [1, 3]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[a]\ndependent = { upos = 'X' }\norder = 'left'", "rule 'a': order: Input should be"),
        ("[b]\ndependent = { upos = 'X' }\nheads = {}", "rule 'b': heads: Unexpected"),
        ("[a]\ndependent.upos = 'X'\n[a.head]\nlemma = [1]", "rule 'a': head.lemma.0: Input should be"),
        ("x = 1", "must be a table"),
        ("[all]\ndependent = { upos = 'X' }", "this name is taken"),
        ("[b]\nhead = { upos = 'X' }", "must say what the dependent is like"),
    ],
)
def test_a_bad_rule_is_refused_by_its_name(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BabelscopeError) as caught:
        read_rules(written(tmp_path, text))
    assert told in str(caught.value)


def test_not_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(BabelscopeError, match=r"not TOML.*line 2"):
        read_rules(written(tmp_path, "[a]\ndependent = { upos = X }"))


def test_a_value_is_no_pattern_of_characters_and_nothing_hangs(tmp_path: Path) -> None:
    nasty = "(a+)+$"
    own = read_rules(written(tmp_path, f"[a]\ndependent = {{ form = '{nasty}' }}"))
    finder = Finder(own, roots=True)
    began = time.monotonic()
    for form, places in (("a" * 100_000 + "b", []), (nasty, [1])):
        parsed = parse_tree([f"1\t{form}\t_\tX\t_\t_\t0\troot\t_\t_"], "toy")
        assert [each.dependent for each in finder(parsed, "source")] == places
    assert time.monotonic() - began < 2


def test_too_many_rules_are_refused(tmp_path: Path) -> None:
    text = "\n".join(f"[r{number}]\ndependent = {{ upos = 'X' }}" for number in range(201))
    with pytest.raises(BabelscopeError, match="201 rules"):
        read_rules(written(tmp_path, text))
