"""`babelscope compare`: tables for people, rows for scripts, refusals in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.testsets import AmbiguousSource, TestSet
from tests.support.toy_fixtures import Babelscope


@pytest.fixture(autouse=True)
def tests(tmp_path: Path) -> None:
    items = [
        AmbiguousSource(f"i{n}", f"a {n}", (f"r {n}",), (f"w {n}",), "female" if n % 2 else "male")
        for n in range(20)
    ]
    TestSet("t", tuple(items)).write(tmp_path / "t.jsonl")
    TestSet("u", tuple(items[:6])).write(tmp_path / "u.jsonl")


def run(
    babelscope: Babelscope, out: str, *systems: str, tests: str = "t.jsonl", evaluator: str = "toy:e"
) -> None:
    named = [part for system in systems for part in ("--system", system)]
    ran = babelscope("condition", *named, "--evaluator", evaluator, "--tests", tests, "--out", out, "--json")
    assert ran.code == 0, ran.err


def test_sections_as_json(babelscope: Babelscope, tmp_path: Path) -> None:
    systems = [f"toy:{name}{seed}" for name in "st" for seed in ("", "-2", "-3")]
    run(babelscope, "one", *systems)
    run(babelscope, "two", *systems[:3], evaluator="toy:f")
    lines = [f"{name}\t{20 + n * n}\t{int(name[4] == 's')}" for n, name in enumerate(systems)]
    (tmp_path / "bleu.tsv").write_text("\n".join(["system\tbleu\tdistilled", *lines]) + "\n")
    rows = babelscope("compare one --factors bleu.tsv --json").rows
    sections = [row["table"] for row in rows]
    assert list(dict.fromkeys(sections)) == ["figures", "paired", "seeds", "regression"]
    regressed = [row for row in rows if row["table"] == "regression"]
    assert {row["variable"] for row in regressed} == {"intercept", "bleu", "distilled"}
    assert {type(row[name]) for row in regressed for name in ("p", "p_regression", "r_squared")} == {float}
    paired = [row for row in rows if row["table"] == "paired"]
    assert len(paired) == 15 * 4
    assert {type(row[name]) for row in paired for name in ("p", "p_holm")} == {float}
    # The worst category need not be the same one for both systems: then no item is in both.
    assert all(row["wins"] + row["losses"] + row["ties"] == row["n"] for row in paired if "over" not in row)
    assert sum("over" in row for row in paired) == 15
    compared = babelscope("compare one two --json --figure weighted").rows
    found = {(row["over"], row["evaluators"]) for row in compared if row["table"] == "evaluators"}
    assert found >= {("systems", "toy:e, toy:f")}


def test_a_figure_that_is_the_same_for_all_systems_is_not_regressed(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    lines = [f"s{n}\t{n}\t0.5\t{n * n}" for n in range(6)]
    (tmp_path / "t.tsv").write_text("\n".join(["system\tbleu\tsame\tother", *lines]) + "\n")
    asked = ("compare --factors t.tsv --on bleu --figure",)
    assert babelscope(*asked, "other").code == 0
    ran = babelscope(*asked, "same")
    assert (ran.code, ran.out) == (2, "")
    assert "the figure is 0.5 for all 6 systems" in ran.err


def test_an_interval_over_seeds_stays_on_the_scale_and_needs_three_seeds(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    words = ["one two three four five", "six seven eight nine ten", "red green blue white black"]
    for name, good in (("m", 3), ("m-2", 1), ("m-3", 0)):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in [*words[:good], *"xyz"][:3]))
    (tmp_path / "t.tsv").write_text("".join(f"source {n}\t{text}\n" for n, text in enumerate(words)))
    systems = [part for name in ("m", "m-2", "m-3") for part in ("--system", f"file:{name}")]
    for out, some in (("two", systems[:4]), ("three", systems)):
        assert babelscope("quality --tests tsv:t.tsv", *some, "--out", out).code == 0
        rows = [row for row in babelscope("compare", out, "--json").rows if row["table"] == "seeds"]
        (mean,) = (row for row in rows if (row["name"], row["of"]) == ("mean", "chrf"))
        if out == "two":
            assert (mean["low"], mean["high"], mean["no_interval"], mean["n"]) == (None, None, "2 seeds", 2)
        else:
            assert (mean["low"], mean["high"], mean["n"]) == (0, 100, 3)


def test_tables_for_people(babelscope: Babelscope) -> None:
    run(babelscope, "one", "toy:s", "toy:s-2")
    run(babelscope, "two", "toy:t")
    text = babelscope("compare one two").out
    assert text.startswith("condition on t ([95 % interval])\n")
    assert "differences, first system minus second: condition, t ([95 % interval])\n" in text
    assert "wins  losses  ties" in text
    assert "confidence" not in text
    assert text.count("|sha:") == 2, "signatures of both runs"
    markdown = babelscope("compare one two --format markdown").out
    assert "| figure | weighting | category | known_by | passed | toy:s | toy:s-2 | toy:t |" in markdown
    latex = babelscope("compare one two --format latex --to t.tex")
    assert latex.out == ""
    assert Path("t.tex").read_text().count("\\bottomrule") == 3


def test_a_table_alone(babelscope: Babelscope, tmp_path: Path) -> None:
    lines = [f"{n + n % 3}\t{n}\t{'yes' if n % 2 else 'no'}" for n in range(8)]
    (tmp_path / "h.tsv").write_text("\n".join(["accuracy\tbleu\tdistilled", *lines]) + "\n")
    ran = babelscope("compare --factors h.tsv --figure accuracy")
    assert "regression" in ran.out
    assert ran.out.count("distilled") == 1
    only = babelscope("compare --factors h.tsv --figure accuracy --on bleu --json")
    assert len(only.out.split("\n")) == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "compare needs run folders or --factors"),
        (("one", "--json", "--format", "latex"), "--format is given 2 times"),
        (("one", "other"), "other test sets: only"),
        (("one", "--seed-group", "x*"), "the group 'x*' needs at least two systems"),
        (("one", "--factors", "no.tsv"), "no.tsv: no such file"),
        (
            ("one", "--factors", "h.tsv", "--figure", "bleu"),
            "no run has the figure 'bleu'; choose one with --figure",
        ),
        (("--factors", "h.tsv"), "h.tsv has no column 'bleu'; it has a"),
        (
            ("one", "--on", "bleu", "--figure", "all"),
            "nothing says the 'bleu' of systems: no factors in the runs, and no table",
        ),
    ],
)
def test_bad_usage_is_told_in_a_sentence(
    babelscope: Babelscope, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "h.tsv").write_text("a\n1\n")
    run(babelscope, "one", "toy:s")
    if "other" in arguments:
        run(babelscope, "other", "toy:t", tests="u.jsonl")
        assert babelscope("compare", *arguments, "--summary").code == 0
    ran = babelscope("compare", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1
