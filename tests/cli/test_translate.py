"""`babelscope translate`: lines in, the same number of lines out, or a sentence why not."""

from __future__ import annotations

import gc
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from babelscope.core.answers import Scored
from tests.support import toys
from tests.support.toy_fixtures import Babelscope


@pytest.fixture(autouse=True)
def sources(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a b\nb c\nca\n")


def best(sources: Sequence[str], salt: str = "1", **options: int) -> list[list[Scored]]:
    return toys.ToySystem(salt=salt).translate(sources, **options)


SOURCES = ["a b", "b c", "ca"]


def test_a_line_a_source_from_a_file_or_stdin(babelscope: Babelscope) -> None:
    expected = "".join(f"{answers[0].text}\n" for answers in best(SOURCES))
    assert babelscope("translate", "--system", "toy:1", "in.txt").out == expected
    assert babelscope("translate", "--system", "toy:1", stdin=b"a b\nb c\nca").out == expected
    assert babelscope("translate", "--system", "toy:1", "-", stdin=b"a b\nb c\nca\n").out == expected
    assert babelscope("translate", "--system", "toy:1", stdin=b"").out == ""


def test_n_best_are_separated_by_tabs(babelscope: Babelscope) -> None:
    expected = ["\t".join(each.text for each in answers) for answers in best(SOURCES, beam=6, n_best=3)]
    ran = babelscope("translate", "--system", "toy:1", "--beam", "6", "--n-best", "3", "in.txt")
    assert ran.out.split("\n")[:-1] == expected
    ran = babelscope("translate", "--system", "toy:1", "--beam", "2", "--n-best", "3", "in.txt")
    assert (ran.code, ran.err) == (
        2,
        "babelscope: error: a beam of 2 has no 3 best translations; say --beam 3\n",
    )


def test_json_has_tokens_and_scores(babelscope: Babelscope) -> None:
    ran = babelscope(
        "translate", "--system", "toy:1", "--system", "toy:2", "--json", "--n-best", "2", "in.txt"
    )
    rows = [json.loads(line) for line in ran.out.split("\n")[:-1]]
    assert [(row["system"], row["source"]) for row in rows] == [
        (system, source) for system in ("toy:1", "toy:2") for source in SOURCES
    ]
    right = [answers for salt in ("1", "2") for answers in best(SOURCES, salt, n_best=2)]
    for row, answers in zip(rows, right, strict=True):
        for shown, answer in zip(row["translations"], answers, strict=True):
            assert shown["text"] == answer.text
            assert shown["logprobs"] == list(answer.logprobs)
            assert (shown["total"], shown["mean"]) == (answer.total, answer.mean)


def test_several_systems_are_told_apart(babelscope: Babelscope) -> None:
    ran = babelscope("translate", "--system", "toy:1", "--system", "toy:2", "in.txt")
    assert [line.split("\t")[0] for line in ran.out.split("\n")[:-1]] == ["toy:1"] * 3 + ["toy:2"] * 3
    ran = babelscope("translate", "--system", "toy:1", "--system", "toy:1", "in.txt")
    assert (ran.code, ran.err) == (2, "babelscope: error: two systems are called toy:1\n")


def test_out_writes_a_file_and_nothing_else(babelscope: Babelscope, tmp_path: Path) -> None:
    expected = babelscope("translate", "--system", "toy:1", "in.txt").out
    ran = babelscope("translate", "--system", "toy:1", "--to", "deep/out.txt", "in.txt")
    assert (ran.code, ran.out) == (0, "")
    assert (tmp_path / "deep" / "out.txt").read_text() == expected
    ran = babelscope("translate", "--system", "toy:1", "--to", "in.txt/x", "in.txt")
    assert (ran.code, ran.out) == (1, "")
    assert "cannot be written" in ran.err


def test_what_is_unfinished_is_counted_on_stderr(babelscope: Babelscope) -> None:
    ran = babelscope("translate", "--system", "toy:1?limit=1&alphabet=abcdefgh", "--n-best", "5", "in.txt")
    answers = toys.ToySystem(salt="1", limit=1, alphabet="abcdefgh").translate(SOURCES, n_best=5)
    unfinished = sum("unfinished" in each.notes for row in answers for each in row)
    assert unfinished
    assert ran.err == f"babelscope: translations with notes: {unfinished} unfinished\n"


def test_the_cache_answers_again(babelscope: Babelscope, tmp_path: Path) -> None:
    outputs = [
        babelscope("translate", "--system", f"toy:1?log={tmp_path}/log", "--cache", "--json", "in.txt").out
        for _ in range(2)
    ]
    assert outputs[0] == outputs[1]
    assert (tmp_path / "log").read_text().count("\n") == 3
    gc.collect()  # closes the cache, as the end of the process would
    (tmp_path / "cache.sqlite").write_bytes(b"garbage" * 1000)
    ran = babelscope("translate", "--system", "toy:1", "--cache", "in.txt")
    assert (ran.code, ran.out) == (2, "")
    assert "cache.sqlite, the cache, is damaged" in ran.err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a\n\nb\n", "in.txt:2 is empty"),
        (b"a\n \t\n", "in.txt:2 is empty"),
        (b"a\nb\0\n", "in.txt:2 has a NUL character"),
        (b"a\r\nb\n", "in.txt:1 has a line break inside"),
        ("a\nb\u2028c\n".encode(), "in.txt:2 has the line separator U+2028 inside"),
        (b"a\n\xed\xa0\x80\n", "in.txt:2: not UTF-8"),
        (b"a\n\xff\n", "in.txt:2: not UTF-8"),
    ],
)
def test_hostile_lines_are_told_with_file_and_line(
    babelscope: Babelscope, tmp_path: Path, content: bytes, told: str
) -> None:
    (tmp_path / "in.txt").write_bytes(content)
    for arguments, stdin in ((["in.txt"], b""), ([], content)):
        ran = babelscope("translate", "--system", "toy:1", *arguments, stdin=stdin)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(
            f"babelscope: error: {told if arguments else told.replace('in.txt', 'stdin')}"
        )
        assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("system", "told"),
    [
        ("toi:1", "did you mean toy:?"),
        ("toy:", "says nothing after the colon"),
        ("toy:1?lmit=2", "did you mean limit?"),
        ("mute:1", "mute gave 2 answers to 3 questions"),
        ("nan:1", "a system gave nan as the log-probability"),
    ],
)
def test_bad_systems_are_told(babelscope: Babelscope, system: str, told: str) -> None:
    ran = babelscope("translate", "--system", system, "in.txt")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_a_translation_that_is_no_line_is_refused(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        toys.ToySystem, "translate", lambda _self, sources, **_: [[Scored("a\nb")] for _ in sources]
    )
    ran = babelscope("translate", "--system", "toy:1", "in.txt")
    assert ran.code == 2
    assert "a translation has a line break inside: 'a\\nb'; use --json" in ran.err
    ran = babelscope("translate", "--system", "toy:1", "--json", "in.txt")
    assert json.loads(ran.out.split("\n")[0])["translations"] == [
        {"text": "a\nb", "tokens": [], "logprobs": [], "notes": []}
    ]


@pytest.mark.parametrize("cache", [(), ("--cache",)])
def test_a_line_the_system_refuses_is_told_with_file_and_line(
    babelscope: Babelscope, tmp_path: Path, cache: tuple[str, ...]
) -> None:
    # Repeated lines are asked once by the cache, which must not shift the count.
    (tmp_path / "in.txt").write_text("a\na\nb\n" * 100 + "c" * 10_000 + "\n")
    ran = babelscope("translate", "--system", "toy:1", "--to", "out.txt", *cache, "in.txt")
    assert ran.code == 2
    assert ran.err == "babelscope: error: in.txt:301 has 10000 tokens, but toy:1 takes 1000\n"
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_end_is_told_on_a_terminal(
    babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    (tmp_path / "two.en").write_text("a\nb\n")
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    ran = babelscope("translate", "--system", "toy:1", "two.en")
    assert ran.out.count("\n") == 2
    assert ("babelscope: 2 lines translated by toy:1\n" in ran.err) == terminal
