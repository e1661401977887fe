"""Tables of judging commands, `run` and `merge` by name and in every format; charts as files; unknown methods."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from babelscope.testsets import MinimalPair, TestSet
from tests.support.sealing import seal
from tests.support.toy_fixtures import Babelscope

STUDY = """
[[systems]]
name = "one"
spec = "toy:1"
[[systems]]
name = "two"
spec = "toy:2"
[[tests]]
name = "pairs"
spec = "pairs.jsonl"
[[methods]]
name = "contrast"
"""
COMMANDS = {
    "judging": "contrast --system toy:1 --system toy:2 --tests pairs.jsonl",
    "run": "run study.toml --no-report",
    "merge": "run --merge shard-1 shard-2 --out merged --no-report",
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, babelscope: Babelscope, request: pytest.FixtureRequest) -> None:
    pairs = [
        MinimalPair(str(n), f"s {n}", "ab", ("ba",), f"p_{n % 2}", "human", extra={"domain": f"d{n % 3}"})
        for n in range(24)
    ]
    TestSet("pairs", tuple(pairs)).write(tmp_path / "pairs.jsonl")
    (tmp_path / "study.toml").write_text(STUDY)
    if "merge" in request.node.name:
        for number in (1, 2):
            assert babelscope("run study.toml --shard", f"{number}/2", "--out", f"shard-{number}").code == 0


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("names", [[], ["paper"], ["differences", "summary"]], ids=["first", "one", "two"])
def test_tables_by_name_in_every_format(babelscope: Babelscope, command: str, names: list[str]) -> None:
    asked = [COMMANDS[command], *(p for n in names for p in ("--table", n))]
    count = max(1, len(names))
    ran = {format: babelscope(*asked, "--format", format) for format in ("markdown", "latex", "csv")}
    assert {(each.code, each.err) for each in ran.values()} == {(0, "")}
    assert len(re.findall(r"^\|---", ran["markdown"].out, re.MULTILINE)) == count
    latex = ran["latex"].out
    begun, ended = (Counter(re.findall(rf"\\{word}{{(.*?)}}", latex)) for word in ("begin", "end"))
    assert begun == ended
    assert begun["tabular"] == count
    assert latex.count("{") - latex.count(r"\{") == latex.count("}") - latex.count(r"\}")
    rows = list(csv.reader(ran["csv"].out.split("\n")))
    values = [float(cell) for row in rows for cell in row if re.fullmatch(r"-?\d\.\d+", cell)]
    assert len(values) > 4, "numbers are numbers, in full"
    for format, start in (("markdown", "`"), ("latex", "% "), ("csv", "# ")):
        last = ran[format].out.rstrip("\n").split("\n")[-1]
        assert last.startswith(f"{start}contrast|"), "the signature"


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_table_is_refused_with_the_known_ones(babelscope: Babelscope, command: str) -> None:
    ran = babelscope(COMMANDS[command], "--table", "nothing")
    assert (ran.code, ran.out) == (2, "")
    known = "there is no table 'nothing' here; there are summary, paper, distances, differences"
    assert known in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_one_row_per_line_however_it_is_asked_for(babelscope: Babelscope, command: str) -> None:
    asked = COMMANDS[command]
    rows = babelscope(asked, "--format", "json").rows
    assert {"name", "value", "low", "high", "n"} <= rows[0].keys()
    if command != "merge":  # which makes its folder once
        assert rows == babelscope(asked, "--json").rows


def test_each_value_of_a_field_has_a_table(babelscope: Babelscope) -> None:
    asked = "contrast --system toy:1 --tests pairs.jsonl --group-by domain"
    rows = [row for row in babelscope(asked, "--json").rows if "by" in row and row["name"] == "p_0"]
    text = babelscope(asked).out
    for row in rows:
        table = text.partition(f"domain {row['domain']}: ")[2].partition("\n\n")[0]
        assert f"{100 * (1 - row['value']):.3g} [" in table


def test_seeds_have_a_table(babelscope: Babelscope, tmp_path: Path) -> None:
    seeds = STUDY.replace('"toy:1"', '"toy:1"\nfactors = { seed = 1 }').replace(
        '"toy:2"', '"toy:2"\nfactors = { seed = 2 }'
    )
    (tmp_path / "study.toml").write_text(seeds)
    ran = babelscope("run study.toml --no-report --table seeds --format csv")
    assert (ran.code, ran.err) == (0, "")
    lines = list(csv.DictReader(line for line in ran.out.split("\n") if not line.startswith("#")))
    assert {line["n"] for line in lines} == {"2"}
    assert all(float(line["sd"]) >= 0 for line in lines)


@pytest.mark.parametrize("format", ["pdf", "svg", "png"])
def test_charts_become_files(babelscope: Babelscope, tmp_path: Path, format: str) -> None:
    assert babelscope("run study.toml --no-report --out run").code == 0
    asked = ("report run --to page.html --figures figures --figure-format", format)
    assert babelscope(*asked).code == 0
    begins = {"pdf": b"%PDF", "svg": b"<svg", "png": b"\x89PNG"}[format]
    made = list((tmp_path / "figures").iterdir())
    assert {path.suffix for path in made} == {f".{format}"}
    assert any(path.stem == "contrast-pairs-error-rates" or "difference" in path.stem for path in made)
    assert all(path.read_bytes().startswith(begins) for path in made)


def test_a_run_of_a_method_that_is_not_installed_is_reported_and_compared(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    assert babelscope("run study.toml --no-report --out run").code == 0
    for name in ("manifest.json", "records.jsonl", "summary.json"):
        path = tmp_path / "run" / name
        path.write_text(path.read_text("utf-8").replace('"contrast"', '"politeness"'), encoding="utf-8")
    seal(tmp_path / "run")
    assert babelscope("report run --to page.html").code == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Figures: pairs" in page
    assert "Minimal pairs" in page, "its title is stored in the manifest"
    rows = babelscope("compare run --json").rows
    stored = json.loads((tmp_path / "run" / "summary.json").read_text("utf-8"))
    differences = [row for row in rows if row["name"] == "difference"]
    assert [row["value"] for row in differences] == [
        row["value"] for row in stored["comparisons"] if row["name"] == "difference"
    ]
