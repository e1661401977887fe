"""Where commands come from: a line of ours, or the entry point of a package; and what judging ones are made of."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

from babelscope import likelihood, load
from babelscope.runs.execute import run_method
from babelscope.systems.registry import split_name
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

PLUG_IN = '''
import typer
from babelscope.core.registry import Command

def greet(name: str = "you"):
    """Greet somebody. At length."""
    print(f"hello {name}")

group = typer.Typer(help="Many greetings.")
group.command("one")(greet)
group.command("two")(greet)
described = Command("", "Described elsewhere.", "offered:greet")
nothing = 3
'''
OFFERED = ["greet", "group", "described", "nothing"]


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that offers commands in every form, two of which cannot be used."""
    folder = tmp_path / "site"
    info = folder / "offered-1.dist-info"
    info.mkdir(parents=True)
    (folder / "offered.py").write_text(PLUG_IN)
    (folder / "broken.py").write_text("import sys\nsys.exit('no license')\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1\n")
    lines = [f"my-{name} = offered:{name}" for name in OFFERED]
    (info / "entry_points.txt").write_text(
        "\n".join(["[babelscope.commands]", *lines, "my-fault = broken:run"])
    )
    monkeypatch.syspath_prepend(str(folder))
    for name in ("offered", "broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.usefixtures("plug_in")
def test_commands_of_packages_are_listed_and_run(babelscope: Babelscope) -> None:
    listed = babelscope("--help")
    assert (listed.code, listed.err) == (0, "")
    for name, summary in (
        ("my-greet", "Greet somebody."),
        ("my-group", "Many greetings."),
        ("my-described", "Described elsewhere."),
        ("my-fault", "(cannot be used:"),
        ("my-nothing", "(cannot be used:"),
    ):
        (line,) = (line for line in listed.out.split("\n") if line.split()[:1] == [name])
        assert summary in line
    assert babelscope("my-greet", "--name", "her").out == "hello her\n"
    assert babelscope("my-described").out == "hello you\n"
    assert babelscope("my-group", "two", "--name", "him").out == "hello him\n"


@pytest.mark.usefixtures("plug_in")
def test_a_package_that_fails_is_told_in_a_sentence(babelscope: Babelscope) -> None:
    for name, told in (
        ("fault", "fails with SystemExit: no license"),
        ("nothing", "offers 3, not a Command"),
    ):
        ran = babelscope(f"my-{name}")
        assert (ran.code, ran.out, told in ran.err, ran.err.count("\n")) == (2, "", True, 1)


@pytest.mark.parametrize(
    ("text", "name", "spec"),
    [
        ("lab:student", "", "lab:student"),
        ("old=file:old.es?source=in.en", "old", "file:old.es?source=in.en"),
        ("file:old.es?source=in.en", "", "file:old.es?source=in.en"),
        ("our best=cmd:./mt --to=de", "our best", "cmd:./mt --to=de"),
        ("cmd:./mt --to=hf:x", "", "cmd:./mt --to=hf:x"),
        ("a=b=lists:?top=x", "a=b", "lists:?top=x"),
        ("openai:http://host/v1#m?a=http://x", "", "openai:http://host/v1#m?a=http://x"),
    ],
)
def test_a_system_can_be_named(text: str, name: str, spec: str) -> None:
    assert split_name(text) == (name, spec)


def test_rows_have_the_name_of_a_system(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tab\n")
    asked = ("likelihood --tests tsv:t.tsv --json --system", "old=toy:1", "--system", "new=toy:2")
    rows = babelscope(*asked).rows
    assert {row["system"] for row in rows} == {"old", "new"}
    assert "old" in {row.get("system") for row in babelscope(*asked, "--out", "run").rows}


def test_a_name_is_taken_wherever_a_system_is_named(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a\nb\n")
    (tmp_path / "out").write_text("ab\nba\n")
    (tmp_path / "t.tsv").write_text("a\tab\n")
    for command in ("translate in", "score in --target out"):
        asked = (command, "--json", "--system", "old=toy:1", "--system", "new=toy:2")
        assert {row["system"] for row in babelscope(*asked).rows if "system" in row} == {"old", "new"}
    assert {row["system"] for row in babelscope("doctor old=toy:1 --json").rows} == {"old"}
    found = babelscope("check old=toy:1 --text in --source-language en --target-language de --json")
    assert found.rows[0]["system"] == "old", found.err
    study = (
        "[[systems]]\nspec = 'old=toy:1'\n[[tests]]\nspec = 'tsv:t.tsv'\n[[methods]]\nname = 'likelihood'\n"
    )
    (tmp_path / "study.toml").write_text(study)
    assert {row["system"] for row in babelscope("run study.toml --no-report --json").rows} == {"old"}
    (tmp_path / "twice.toml").write_text(study.replace("spec = 'old", "name = 'new'\nspec = 'old"))
    assert "two names for one system" in babelscope("run twice.toml").err
    with contextlib.chdir(tmp_path):
        rows = run_method("likelihood", ["old=toy:1", "toy:2"], "tsv:t.tsv").rows
    assert {row.labels["system"] for row in rows} == {"old", "toy:2"}
    twice = babelscope("score in --target out --system a=toy:1 --system a=toy:2")
    assert (twice.code, "two systems are called a" in twice.err) == (2, True)


def test_likelihood_says_what_the_library_says(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tab\nb\tba\n")
    asked = ("likelihood", "--system", "toy:1", "--tests", "tsv:t.tsv")
    rows = babelscope(*asked, "--json").rows
    right = likelihood(ToySystem("toy:1", salt="1"), load("tsv:t.tsv"))
    assert rows[0].pop("signature") == right.signature
    assert rows == [row.as_json() for row in right.rows]
    kept = babelscope(*asked, "--out", "run")
    assert (kept.code, "perplexity" in kept.out) == (0, True)
    assert (tmp_path / "run" / "records.jsonl").read_text().count("\n") == 2
