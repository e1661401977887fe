"""Hostile files, names and answers end in one sentence, in time that grows with their length."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.hostile.commands import files
from tests.support.toy_fixtures import Babelscope

SPACES = " " * 60_000


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (f'{SPACES}\n[" "]\n', "own.toml:2: rule ' ': a rule has a name of at most 100 characters"),
        (f'[r]\n# {SPACES}x\n" " = 1\n', "own.toml:3: rule 'r' knows no ' '"),
    ],
)
def test_a_rule_with_a_name_of_spaces_is_found_in_no_time(
    babelscope: Babelscope, tmp_path: Path, rules: str, told: str
) -> None:
    for name in ("a.conllu", "parsed.de", "parsed.en"):
        (tmp_path / name).write_text(files()[name])
    (tmp_path / "own.toml").write_text(rules)
    begun = time.process_time()
    ran = babelscope(
        *("make", "challenge", "--parses", "a.conllu", "--source", "parsed.de", "--reference", "parsed.en"),
        *("--own-rules", "own.toml", "--count"),
    )
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert time.process_time() - begun < 20  # 70 s when it grew with the square


def test_a_prompt_with_a_key_of_spaces_is_found_in_no_time(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("a\n")
    (tmp_path / "p.toml").write_text(f'{SPACES}#\n" " = 1\n')
    begun = time.process_time()
    ran = babelscope("translate", "--system", "lab:llm?prompt=p.toml", "a.en")
    assert (ran.code, ran.out) == (2, "")
    assert "p.toml:2: a prompt has no key ' '" in ran.err
    assert time.process_time() - begun < 20
