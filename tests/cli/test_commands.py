"""Where commands come from: a line of ours, or the entry point of a package; and what judging ones are made of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from babelscope import likelihood, load
from babelscope.cli.judging import function_of
from babelscope.cli.shell import ShellCommand
from babelscope.core.options import Option
from babelscope.methods.command import JudgingCommand
from babelscope.methods.likelihood import Likelihood
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

PLUG_IN = '''
import typer
from babelscope.core.options import Command
from babelscope.methods.command import JudgingCommand
from babelscope.methods.likelihood import Likelihood

def greet(name: str = "you"):
    """Greet somebody. At length."""
    print(f"hello {name}")

group = typer.Typer(help="Many greetings.")
group.command("one")(greet)
group.command("two")(greet)
described = Command("", "Described elsewhere.", "offered:greet")
judging = JudgingCommand("", "Judge by a plug-in.", "likelihood", Likelihood.Settings)
nothing = 3
'''
OFFERED = ["greet", "group", "described", "judging", "nothing"]


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
        ("my-judging", "Judge by a plug-in."),
        ("my-fault", "(cannot be used:"),
        ("my-nothing", "(cannot be used:"),
    ):
        (line,) = (line for line in listed.out.split("\n") if line.split()[:1] == [name])
        assert summary in line
    assert babelscope("my-greet", "--name", "her").out == "hello her\n"
    assert babelscope("my-described").out == "hello you\n"
    assert babelscope("my-group", "two", "--name", "him").out == "hello him\n"
    assert "--references" in babelscope("my-judging", "--help").out


@pytest.mark.usefixtures("plug_in")
def test_a_package_that_fails_is_told_in_a_sentence(babelscope: Babelscope) -> None:
    for name, told in (
        ("fault", "fails with SystemExit: no license"),
        ("nothing", "offers 3, not a Command"),
    ):
        ran = babelscope(f"my-{name}")
        assert (ran.code, ran.out, told in ran.err, ran.err.count("\n")) == (2, "", True, 1)


def test_options_fill_settings(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tab\n")
    command = JudgingCommand(
        "c",
        "Judge.",
        "likelihood",
        Likelihood.Settings,
        options=(Option("quick", "Only one.", bool, setting="references", value="first"),),
        show=lambda _result, given: f"{sorted(given.settings.items())} {sorted(given.said)}",
    )
    assert babelscope("--version").code == 0  # goes to the folder of the test
    shell = typer.Typer(rich_markup_mode=None)
    shell.command("c", cls=ShellCommand)(function_of(command))
    from typer.testing import CliRunner

    asked = ["--system", "toy:1", "--tests", "tsv:t.tsv"]
    for arguments, shown in (
        ([], "[] []"),
        (["--quick"], "[('references', 'first')] ['references']"),
    ):
        assert CliRunner().invoke(shell, [*asked, *arguments]).stdout.startswith(f"{shown}\n\n")


def test_likelihood_says_what_the_library_says(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tab\nb\tba\n")
    asked = ("likelihood", "--system", "toy:1", "--tests", "tsv:t.tsv")
    rows = babelscope(*asked, "--json").rows
    right = likelihood(ToySystem("toy:1", salt="1"), load("tsv:t.tsv"))
    assert rows[0].pop("signature") == right.signature
    assert rows == [row.as_json() for row in right.rows]
    kept = babelscope(*asked, "--out", "run", "--records", "items.jsonl")
    assert (kept.code, "perplexity" in kept.out) == (0, True)
    assert (tmp_path / "items.jsonl").read_text() == (tmp_path / "run" / "records.jsonl").read_text()
