"""`translate` and `score`: lines in, the same number of lines out, or a sentence why not."""

from __future__ import annotations

import gc
import json
import math
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.system import Scored
from babelscope.metrics.mbr import expected_utility, mbr_decode
from tests.support.toy_fixtures import Babelscope, Ran
from tests.support.toys import ToySystem

SOURCES = ["a b", "b c", "ca"]
TARGETS = ["ab", "", "cab"]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))
SCORE = "score --system toy:1 in.txt --target out.txt"
MBR = "translate --decode mbr --system toy:1 in.txt --n 9"
LIST = """0 ||| ab ab ||| -1.0
0 ||| ab cb ||| -2.0
0 ||| cb cb ||| -2.5
2 ||| ba ||| -0.5
2 ||| ab ||| -0.25
"""
TOY = ToySystem(salt="1")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{source}\n" for source in SOURCES))
    (tmp_path / "out.txt").write_text("".join(f"{target}\n" for target in TARGETS))
    (tmp_path / "list.txt").write_text(LIST)
    (tmp_path / "alternatives.tsv").write_text("ab\tab\tcb\nba\nabc\tab c\n")


def drawn(n: int, seed: int = 0) -> list[list[str]]:
    return [[each.text for each in own] for own in TOY.sample(SOURCES, n=n, seed=seed)]


def parts(ran: Ran) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Lines about sources, and figures."""
    return [row for row in ran.rows if "source" in row], [row for row in ran.rows if "name" in row]


def test_a_translation_a_line_from_a_file_or_stdin(babelscope: Babelscope) -> None:
    expected = "".join(f"{answers[0].text}\n" for answers in TOY.translate(SOURCES))
    assert babelscope("translate --system toy:1 in.txt").out == expected
    assert babelscope("translate --system toy:1", stdin=b"a b\nb c\nca").out == expected
    assert babelscope("translate --system toy:1 -", stdin=b"a b\nb c\nca\n").out == expected
    assert babelscope("translate --system toy:1", stdin=b"").out == ""


def test_n_best_are_separated_by_tabs(babelscope: Babelscope) -> None:
    right = TOY.translate(SOURCES, beam=6, n_best=3)
    ran = babelscope("translate --system toy:1 --beam 6 --n 3 in.txt")
    assert ran.out.split("\n")[:-1] == ["\t".join(each.text for each in answers) for answers in right]


def test_several_systems_are_told_apart(babelscope: Babelscope) -> None:
    ran = babelscope("translate --system toy:1 --system toy:2 in.txt")
    assert [line.split("\t")[0] for line in ran.out.split("\n")[:-1]] == ["toy:1"] * 3 + ["toy:2"] * 3
    ran = babelscope("translate --system toy:1 --system toy:1 in.txt")
    assert (ran.code, "two systems are called toy:1; give one another name" in ran.err) == (2, True)


def test_to_writes_a_file_and_nothing_else(babelscope: Babelscope, tmp_path: Path) -> None:
    expected = babelscope("translate --system toy:1 in.txt").out
    ran = babelscope("translate --system toy:1 --to deep/out.txt in.txt")
    assert (ran.code, ran.out) == (0, "")
    assert (tmp_path / "deep" / "out.txt").read_text() == expected
    ran = babelscope("translate --system toy:1 --to in.txt/x in.txt")
    assert (ran.code, ran.out) == (1, "")
    assert "cannot be written" in ran.err


@pytest.mark.parametrize("command", ["translate in.txt", SCORE.replace(" --system toy:1", "")])
def test_the_cache_asks_once_and_is_checked(babelscope: Babelscope, tmp_path: Path, command: str) -> None:
    asked = (command, "--system", f"toy:1?log={tmp_path}/log", "--cache", "--json")
    assert len({babelscope(*asked).out for _ in range(2)}) == 1
    assert (tmp_path / "log").read_text().count("\n") == 3
    gc.collect()  # closes the cache, as the end of the process would
    (tmp_path / "cache.sqlite").write_bytes(b"garbage" * 1000)
    ran = babelscope(*asked)
    assert (ran.code, ran.out) == (2, "")
    assert "cache.sqlite is damaged" in ran.err


def test_a_translation_that_is_no_line_is_refused(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ToySystem, "translate", lambda _self, sources, **_: [[Scored("a\nb")] for _ in sources]
    )
    ran = babelscope("translate --system toy:1 in.txt")
    assert ran.code == 2
    assert "a translation has a line break inside: 'a\\nb'; use --json" in ran.err
    first, *_ = babelscope("translate --system toy:1 --json in.txt").rows
    assert first["translations"] == [{"text": "a\nb", "tokens": [], "logprobs": [], "notes": []}]


@pytest.mark.parametrize("cache", ["", " --cache"])
@pytest.mark.parametrize("command", ["translate --system toy:1 long.txt", SCORE.replace("out", "long")])
def test_a_line_the_system_refuses_is_told_with_file_and_line(
    babelscope: Babelscope, tmp_path: Path, cache: str, command: str
) -> None:
    # Repeated lines are asked once by the cache, which must not shift the count.
    (tmp_path / "long.txt").write_text("a\na\nb\n" * 100 + "c" * 10_000 + "\n")
    (tmp_path / "in.txt").write_text("a\n" * 301)
    ran = babelscope(f"{command} --to made.txt{cache}")
    assert ran.code == 2
    assert ran.err == "babelscope: error: long.txt:301 has 10000 tokens, but toy:1 takes 1000\n"
    assert not (tmp_path / "made.txt").exists()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_end_is_told_on_a_terminal(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    ran = babelscope("translate --system toy:1 in.txt")
    assert ran.out.count("\n") == 3
    assert ("babelscope: 3 lines translated by toy:1\n" in ran.err) == terminal


def test_samples_of_a_source_are_on_its_line(babelscope: Babelscope) -> None:
    expected = "".join("\t".join(texts) + "\n" for texts in drawn(5, seed=7))
    asked = "translate --decode sample --system toy:1 --n 5"
    assert babelscope(f"{asked} in.txt --seed 7").out == expected
    assert babelscope(f"{asked} - --seed 7", stdin=b"a b\nb c\nca\n").out == expected
    assert babelscope(f"{asked} in.txt").out != expected
    both = babelscope(f"{asked} in.txt --system toy:2").out.split("\n")[:-1]
    assert [line.split("\t")[0] for line in both] == ["toy:1"] * 3 + ["toy:2"] * 3


def test_scores_and_the_row_over_all(babelscope: Babelscope) -> None:
    *rows, whole = babelscope(f"{SCORE} --json").rows
    right = TOY.score(PAIRS)
    assert [(row["source"], row["target"]) for row in rows] == PAIRS
    for row, scored in zip(rows, right, strict=True):
        assert (row["tokens"], row["logprobs"]) == (list(scored.tokens), list(scored.logprobs))
        assert (row["total"], row["mean"]) == (scored.total, scored.mean)
    assert (whole["name"], whole["system"], whole["n"], whole["tokens"]) == ("all", "toy:1", 3, 8)
    assert whole["value"] == pytest.approx(sum(each.total for each in right) / 8)
    assert whole["low"] <= whole["value"] <= whole["high"]
    assert whole["signature"].startswith("likelihood|")


def test_an_impossible_target_is_null_and_counted(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("ab\nx\nc\n")
    _, impossible, _, whole = babelscope(f"{SCORE} --json").rows
    assert impossible["logprobs"][0] is None
    assert (impossible["total"], impossible["mean"]) == (None, None)
    assert (whole["n"], whole["infinite"]) == (2, 1)
    assert "\t-inf\t" in babelscope(SCORE).out


def test_no_line_at_all_is_no_figure(babelscope: Babelscope, tmp_path: Path) -> None:
    for name in ("in.txt", "out.txt"):
        (tmp_path / name).write_text("")
    (whole,) = babelscope(f"{SCORE} --json").rows
    assert (whole["value"], whole["n"]) == (None, 0)


def test_a_list_is_weighed_by_its_probabilities(babelscope: Babelscope) -> None:
    asked = "translate --decode mbr --system lists:?beam=list.txt in.txt --json"
    lines, [figure] = parts(babelscope(asked))
    weights = [math.exp(each) for each in (-1.0, -2.0, -2.5)]
    right = mbr_decode(["ab ab", "ab cb", "cb cb"], expected_utility("chrf", weights=weights))
    assert (lines[0]["translation"]["text"], lines[0]["weights"]) == (right.text, "probability")
    assert lines[0]["utility"] == pytest.approx(right.utility)
    assert lines[1]["unanswered"] == "no list of this sentence"
    assert (figure["n"], figure["skipped"]) == (2, 1)
    counted = parts(babelscope(f"{asked} --set weights=count"))[0][0]
    assert counted["utility"] == pytest.approx(mbr_decode(["ab ab", "ab cb", "cb cb"]).utility)
    # The first of the list, as beam search has them.
    cut = parts(babelscope(f"{asked} --n 1"))[0]
    assert [line["translation"] and line["translation"]["text"] for line in cut] == ["ab ab", None, "ba"]


def test_text_has_translations_only(babelscope: Babelscope) -> None:
    right = [mbr_decode(texts) for texts in drawn(9, seed=3)]
    assert babelscope(f"{MBR} --seed 3").out == "".join(f"{each.text}\n" for each in right)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (f"{MBR} --metric chfr", "did you mean chrf?"),
        (f"{MBR} --metric bleu --set aggregate=1", "bleu has no linear-time form"),
        (f"{MBR} --temperature 0", "a temperature is above 0"),
        (
            "translate --decode mbr in.txt --system lists:?beam=list.txt&top=list.txt",
            "name one of top= and beam=",
        ),
        ("translate --decode mbr in.txt --system cmd:cat", "--decode mbr needs a system that"),
        ("translate --decode sample --system toy:1 in.txt --n 0", "'--n'"),
        (
            "translate --decode sample --system toy:1 in.txt --set top_p=1.5",
            "top-p is above 0 and at most 1, not 1.5",
        ),
        (
            "translate --decode sample --system toy:1 in.txt --temperature 2",
            "draws from its whole distribution only",
        ),
        (
            "translate --system toy:1 in.txt --seed 9",
            "--seed has no effect here: it only applies to --decode sample",
        ),
        (
            "translate --system toy:1 in.txt --set max_length=9",
            "--set max_length has no effect here: it only applies to",
        ),
        ("translate --system toy:1 in.txt --decode sample --metric ter", "it only applies to --decode mbr"),
        (f"{MBR} --beam 9", "--beam has no effect here: it only applies to --decode beam"),
        (f"{MBR} --set length=3", "--set length has no effect here: it only applies to --decode exact"),
        ("translate --system toy:1 in.txt --n 6", "a beam of 5 has no 6 best translations; use --beam 6"),
        ("translate --system toy:1 in.txt --tests lab:parallel", "not both"),
        ("translate --system lab:teacher --tests references:in.txt", "a system may need the sources"),
    ],
)
def test_bad_input_is_told(babelscope: Babelscope, command: str, told: str) -> None:
    ran = babelscope(command)
    assert (ran.code, told in ran.err, ran.out) == (2, True, ""), ran.err


def test_a_test_set_has_sources_and_its_ids_name_lists(babelscope: Babelscope, tmp_path: Path) -> None:
    items = [{"id": f"item-{n}", "source": source} for n, source in enumerate(SOURCES)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    by_tests = babelscope("translate --decode mbr --n 9 --json --system toy:1 --tests a.jsonl").out
    assert by_tests == babelscope(f"{MBR} --json").out
    lines = [{"id": "item-2", "text": text, "logprob": -number} for number, text in enumerate(("ab", "b"), 1)]
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    listed = "translate --decode mbr --n 9 --json --system lists:?top=l.jsonl"
    found = parts(babelscope(f"{listed} --tests a.jsonl"))[0]
    assert [row.get("n") for row in found] == [None, None, 2]
    (tmp_path / "r.de").write_text("a\nb\nc\n")
    for more, told in (
        ("--tests references:r.de --metric cmd:cat", "may need the sources, and references:r.de has none"),
    ):
        ran = babelscope(f"{listed} {more}")
        assert (ran.code, told in ran.err) == (2, True), ran.err
