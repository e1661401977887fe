"""Hostile files, names and answers end in one sentence, in time that grows with their length."""

from __future__ import annotations

import json
import time

import pytest

from tests.support.serving import Request

SPACES = " " * 60_000


def test_a_prompt_with_a_key_of_spaces_is_found_in_no_time(babelscope, tmp_path):
    (tmp_path / "a.en").write_text("a\n")
    (tmp_path / "p.toml").write_text(f'{SPACES}#\n" " = 1\n')
    begun = time.process_time()
    ran = babelscope("translate", "--system", "lab:llm?prompt=p.toml", "a.en")
    assert (ran.code, ran.out) == (2, "")
    assert "p.toml:2: a prompt has no key ' '" in ran.err
    assert time.process_time() - begun < 20


def test_a_key_echoed_deep_inside_an_answer_ends_in_a_sentence(babelscope, tmp_path, serve, monkeypatch):
    monkeypatch.setenv("MT_KEY", "sesame-4711")
    (tmp_path / "a.en").write_text("a\n")

    def echo(request: Request) -> tuple[int, dict[str, str], bytes]:
        key = json.dumps(request.headers["Authorization"])
        return 200, {}, f'{{"translations": ["b"], "deep": {"[" * 600}{key}{"]" * 600}}}'.encode()

    ran = babelscope("translate", "--system", f"{serve(echo).url}/?token_env=MT_KEY", "a.en")
    assert (ran.code, ran.out) == (1, "")
    assert "nested more than 100 deep" in ran.err
    assert ran.err.count("\n") == 1
    assert "sesame" not in ran.err


@pytest.mark.parametrize("option", ["--system", "--tests", "--metric"])
def test_a_name_of_more_than_4096_characters_is_refused(babelscope, option):
    names = {"--system": "lab:teacher", "--tests": "lab:parallel?n=2", "--metric": "cmd:cat"}
    given = {**names, option: f"{names[option]}?x={'%25' * 2000}"}
    ran = babelscope("quality", *(word for pair in given.items() for word in pair))
    assert (ran.code, ran.out) == (2, "")
    assert "characters, and a name with its options has at most 4096" in ran.err


def test_a_name_encoded_again_and_again_is_read_in_no_time(babelscope, tmp_path):
    """`run` decodes every text of a study until nothing changes, lest a program hide in it."""
    (tmp_path / "s.toml").write_text(
        '[[systems]]\nspec = "lab:teacher"\n[[tests]]\nspec = "lab:pairs?n=2"\n'
        f'[[methods]]\nname = "contrast"\nlist = ["%{"25" * 100_000}3A"]\n'
    )
    begun = time.process_time()
    assert babelscope("run", "s.toml").code == 2
    assert time.process_time() - begun < 20
