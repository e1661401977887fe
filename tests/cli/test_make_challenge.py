"""`babelscope make challenge`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from babelscope.cli.make import app
from babelscope.lab.grammar import corpus as lab
from babelscope.util.errors import BabelscopeError

N = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lab")
    lab.make_corpus(made, N, seed=5, name="c")
    return made


def run(*arguments: object) -> str:
    asked = ["challenge", *map(str, arguments)]
    result = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(*arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*arguments, "--json").splitlines()]


def test_counting_in_parses_alone(folder: Path) -> None:
    parses = ("--parses", folder / "c.de.conllu", "--language", "de", "--count")
    (row,) = rows(*parses, "--phenomenon", "particle", "--min-distance", 1)
    labels = [json.loads(line) for line in (folder / "c.labels.jsonl").read_text().splitlines()]
    gold = [
        [one for one in each["phenomena"] if one["name"] == "particle" and one["side"] == "de"]
        for each in labels
    ]
    wide = [[one for one in own if one["distance"] >= 1] for own in gold]
    assert row["sentences"] == sum(map(bool, wide)) > 0
    assert row["instances"] == sum(map(len, wide))
    assert (row["phenomenon"], row["min_distance"], row["rules"], row["language"]) == (
        "particle",
        1,
        "sound",
        "de",
    )
    assert row["low"] <= row["value"] == row["sentences"] / N <= row["high"]
    assert (row["n"], row["skipped"]) == (N, 0)
    every = rows(*parses)
    assert [(row["phenomenon"], row["min_distance"]) for row in every] == [
        (name, distance) for name in ("particle", "reflexive") for distance in range(4)
    ]
    assert "particle" in run(*parses, "--exact")


def test_a_challenge_set_that_the_rest_of_the_program_reads(folder: Path, tmp_path: Path) -> None:
    import babelscope as bs
    from babelscope.methods.challenge.sets import read_instances

    out = tmp_path / "set.jsonl"
    texts = ("--source", folder / "c.en", "--reference", folder / "c.de", "--alignments", folder / "c.align")
    made = rows(*texts, "--parses", folder / "c.en.conllu", "--language", "en", "--to", out)
    tests = bs.load(str(out))
    assert len(tests) == N
    assert tests.kind.__name__ == "ParallelSentence"
    found = [one.phenomenon for item in tests for one in read_instances(item.extra, item.id)]
    # Lexical phenomena at any distance, reordering from its limit on.
    counted = {
        row["phenomenon"]: row["instances"]
        for row in made
        if row["name"] == "share" and row.get("min_distance") in (0, 5)
    }
    assert counted == {name: found.count(name) for name in counted}
    assert counted["particle"] > 0
    assert counted["reordering"] > counted["reordering_normalised"] > 0
    assert next(row["phenomenon"] for row in made if row["name"] == "length_difference") == "all"
    assert sum(row["name"] == "length_difference" for row in made) == len(made) / 2
    run(*texts, "--parses", folder / "c.en.conllu", "--only-found", "--to", tmp_path / "some.jsonl")
    assert 0 < len(bs.load(str(tmp_path / "some.jsonl"))) < N
    run(*texts, "--phenomenon", "reordering", "--min-displacement", 99, "--to", out)
    assert not any(item.extra["dependencies"] for item in bs.load(str(out)))


def test_own_rules(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[subject]\ndependent = { relation = "nsubj" }\nhead = { upos = "VERB" }\n')
    parses = ("--parses", folder / "c.en.conllu", "--own-rules", path, "--count")
    (row,) = rows(*parses, "--phenomenon", "subject", "--min-distance", 0)
    assert row["sentences"] > N / 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give --to FILE for a challenge set, or --count"),
        (["--count"], "needs a source and a reference, or parses to count in"),
        (["--parses", "{c}.en.conllu", "--to", "x"], "a challenge set needs --source and --reference"),
        (["--parses", "{c}.en.conllu", "--count", "--to", "x"], "give --to FILE"),
        (["--parses", "{c}.missing", "--count"], "no such file"),
        (["--source", "{c}.en", "--count"], "belong together"),
        (
            ["--source", "{c}.en", "--reference", "{c}.de", "--parser", "malt:de", "--count"],
            "a parser is udpipe:",
        ),
        (["--parses", "{c}.en.conllu", "--phenomenon", "partikel", "--count"], "did you mean particle"),
    ],
)
def test_wrong_use_is_told(folder: Path, arguments: list[str], told: str) -> None:
    with pytest.raises(BabelscopeError) as caught:
        run(*(each.format(c=folder / "c") for each in arguments))
    assert told in str(caught.value)


def test_a_failed_run_leaves_no_file(folder: Path, tmp_path: Path) -> None:
    links = (folder / "c.align").read_text().replace("0-0", "0-77", 1)
    (tmp_path / "bad.align").write_text(links)
    out = tmp_path / "set.jsonl"
    texts = (
        "--source",
        folder / "c.en",
        "--reference",
        folder / "c.de",
        "--alignments",
        tmp_path / "bad.align",
    )
    with pytest.raises(BabelscopeError, match=r"bad\.align:\d+: sentence \d+: the link 0-77"):
        run(*texts, "--to", out)
    assert not out.exists()
    assert rows(*texts, "--skip-bad", "--to", out)[0]["skipped"] == 1
    assert len(out.read_text().splitlines()) == N - 1


def test_the_shell_command_ends_with_2_and_says_where(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.conllu"
    text = (folder / "c.en.conllu").read_text(encoding="utf-8")
    path.write_text(text.replace("\t0\troot", "\t1\troot", 1), encoding="utf-8")
    asked = [
        sys.executable,
        "-m",
        "babelscope",
        "make",
        "challenge",
        "--count",
        "--json",
        "--parses",
        str(path),
    ]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"error: {path}:1: sentence 1: heads go round in a cycle" in done.stderr


def test_the_command_imports_nothing_heavy() -> None:
    code = "import sys, babelscope.cli.make; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"torch", "numpy", "scipy", "statsmodels"} & set(loaded.split())
