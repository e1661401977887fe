"""A plug-in adds one of everything by entry points, and its runs outlive it (docs/inside/extending.md)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

import babelscope
from babelscope.annotate.answers import AnswerFile
from babelscope.annotate.queue import read_tasks

PACKAGE = Path(__file__).parent / "plugin"
ZOO = (
    ("zoo", "the lion sleeps today", "der Löwe schläft heute"),
    ("zoo", "a parrot says Hallo", "ein Papagei sagt Hallo"),
    ("zoo", "a seal eats fish", "eine Robbe frisst Fisch"),
    ("home", "the cat sees the dog", "die Katze sieht den Hund"),
    ("home", "Anna and Otto", "Anna und Otto"),
    ("home", "the dog barks", "der Hund bellt"),
)
ASKED = ("--tests", "parrot:zoo.tsv", "--system", "parrot:polly", "--system", "parrot:short?words=2")
STUDY = """
[study]
by = ["domain"]
[[systems]]
spec = "parrot:polly"
[[systems]]
spec = "parrot:short?words=2"
name = "short"
[[tests]]
spec = "parrot:zoo.tsv"
name = "zoo"
[[tests]]
spec = "pairs.jsonl"
name = "pairs"
[[methods]]
name = "echo"
threshold = 0.4
[[methods]]
name = "likelihood"
[[methods]]
name = "contrast"
detect_in_output = "yes"
[run]
chunk = 2
"""
TITLE, CLAIM, PICTURE = "Echo: what is repeated", "Translations that only repeat the source", "Echoes: "


@dataclass(frozen=True)
class Home:
    """A folder of texts, and the command line in it, with the plug-in installed or without."""

    folder: Path
    site: Path

    def start(self, *arguments: object, installed: bool = True) -> subprocess.Popen[str]:
        """A command in a process of its own."""
        path = [*([str(self.site)] if installed else []), os.environ.get("PYTHONPATH", "")]
        command = [sys.executable, "-m", "babelscope", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=pipe, stderr=pipe, text=True
        )

    def run(self, *arguments: object, installed: bool = True) -> str:
        """What a command prints; it must end well, and warn of nothing but that nobody can check its language."""
        with self.start(*arguments, installed=installed) as process:
            out, err = process.communicate()
        warned = [line for line in err.split("\n") if "warning" in line and "py3langid" not in line]
        assert (process.returncode, warned) == (0, []), err
        return out

    def rows(self, *arguments: object, installed: bool = True) -> list[dict[str, Any]]:
        """The JSON objects that it prints."""
        return [json.loads(line) for line in self.run(*arguments, "--json", installed=installed).splitlines()]

    def same_run(self, one: str, other: str) -> bool:
        files = ("records.jsonl", "summary.json")
        return all(
            (self.folder / one / file).read_bytes() == (self.folder / other / file).read_bytes()
            for file in files
        )

    def page(self, *runs: str, installed: bool = True) -> str:
        self.run("report", *runs, "-o", "page.html", installed=installed)
        return (self.folder / "page.html").read_text("utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The plug-in installed by pip, without a network, in a folder of its own; and texts to try it on."""
    folder = tmp_path_factory.mktemp("home")
    site, copy = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("build") / "plugin"
    shutil.copytree(PACKAGE, copy)  # building leaves files beside the sources
    options = (
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--quiet",
        "--disable-pip-version-check",
    )
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", site, copy], check=True)
    (folder / "zoo.tsv").write_text("".join("\t".join(line) + "\n" for line in ZOO), encoding="utf-8")
    for place, name in ((1, "zoo.en"), (2, "zoo.xx")):
        (folder / name).write_text("".join(f"{line[place]}\n" for line in ZOO), encoding="utf-8")
    (folder / "all.toml").write_text(STUDY, encoding="utf-8")
    return Home(folder, site)


@pytest.fixture(scope="module")
def pairs(home: Home) -> Path:
    """Minimal pairs of the plug-in's error type."""
    home.run(
        "make", "pairs", "--type", "parrot_stutter", "--source", "zoo.en", "--reference", "zoo.xx",
        "--to", "pairs.jsonl",
    )  # fmt: skip
    return home.folder / "pairs.jsonl"


@pytest.fixture(scope="module")
def study(home: Home, pairs: Path) -> str:
    """A run of everything."""
    assert pairs.exists()
    home.run("run", "all.toml", "--out", "study")
    return "study"


def value(rows: list[dict[str, Any]], name: str, **labels: object) -> Any:
    """The value of the only row with these labels and no part of the items, unless one is named."""
    wanted: Mapping[str, object] = {"name": name, "by": None, **labels}
    (found,) = (row for row in rows if all(row.get(key) == each for key, each in wanted.items()))
    return found["value"]


def test_no_file_of_ours_names_it() -> None:
    for path in Path(babelscope.__file__).parent.rglob("*"):
        if path.suffix in (".py", ".js", ".css", ".html", ".txt"):
            assert "parrot" not in path.read_text("utf-8"), path


def test_what_it_offers_is_listed(home: Home) -> None:
    listed = home.run("--help")
    assert "How often does the system repeat the source" in listed
    assert "Say it again." in listed
    assert "parrot" in {row["scheme"] for row in home.rows("systems")}
    (type_,) = home.rows("make", "pairs", "--list-types", "--language", "xx", "--json")
    assert (type_["name"], type_["detector"]) == ("parrot_stutter", True)
    assert home.run("parrot", "hi", "--times", 3) == "hi hi hi\n"


def test_its_method_judges_its_system_on_its_format(home: Home) -> None:
    rows = home.rows("echo", *ASKED, "--threshold", 0.6, "--group-by", "domain")
    polly, short = ({"system": name, "method": "echo"} for name in ("parrot:polly", "parrot:short"))
    assert (value(rows, "all", **polly), value(rows, "all", **short)) == (1, pytest.approx(2 / 6))
    assert value(rows, "all", **short, by="domain", domain="home") == pytest.approx(2 / 3)
    assert value(rows, "all", **short, by="domain", domain="zoo") == 0
    # Two of four words, four times, and two of three.
    assert value(rows, "repeated", **short) == pytest.approx((4 * 2 / 4 + 2 * 2 / 3) / 6)


@pytest.mark.slow
def test_its_metric_is_taken_wherever_one_is(home: Home) -> None:
    zoo = [
        {"id": str(number), "source": source, "reference": reference, "domain": domain,
         "dependencies": [{"phenomenon": "particle", "head": 1, "dependent": 3, "distance": 1}]}
        for number, (domain, source, reference) in enumerate(ZOO)
    ]  # fmt: skip
    (home.folder / "challenge.jsonl").write_text("".join(json.dumps(each) + "\n" for each in zoo))
    asked = ("--tests", "challenge.jsonl", "--metric", "parrot_overlap", "--group-by", "domain")
    more = ("--set", "matched_corpora=5", "--set", "length_corpora=4", "--set", "length_sizes=3")
    printed = home.run("challenge", "--system", "parrot:polly", *asked, *more, "--out", "challenge", "--all")
    # Hallo is one of four words of a reference, Anna and Otto are two of three.
    assert f"{(1 / 4 + 2 / 3) / 6:.3f} [" in printed
    assert ">parrot_overlap</th>" in home.page("challenge", installed=False)
    assert home.run(
        "translate",
        "--decode",
        "mbr",
        "--system",
        "parrot:polly",
        "zoo.en",
        "--n",
        3,
        "--metric",
        "parrot_overlap",
    )
    translated = [
        {"system": "polly", "id": str(number), "source": source, "translation": source, "references": [reference],
         "score": number}
        for number, (_, source, reference) in enumerate(ZOO)
    ]  # fmt: skip
    (home.folder / "said.jsonl").write_text("".join(json.dumps(each) + "\n" for each in translated))
    rows = home.rows("agreement", "said.jsonl", "--human", "said.jsonl", "--metric", "parrot_overlap")
    assert "parrot_overlap" in str(rows)


@pytest.mark.slow
def test_its_tokenizer_splits_words(home: Home) -> None:
    asked = ("quality", "--tests", "parrot:zoo.tsv", "--system", "parrot:polly", "--metric", "bleu")
    rows = home.rows(*asked, "--tokenize", "pairs")
    split = [[_in_pairs(text) for text in (source, reference)] for _, source, reference in ZOO]
    expected = sacrebleu.corpus_bleu(
        [said for said, _ in split], [[right for _, right in split]], tokenize="none", force=True
    )
    assert value(rows, "bleu") == pytest.approx(expected.score, abs=1e-9)
    assert "|tokenize:pairs|" in rows[0]["signature"]


def _in_pairs(text: str) -> str:
    return re.sub(r"(..)", r"\1 ", text.replace(" ", ""))


@pytest.mark.slow
def test_its_metric_judges_a_hypothesis_space(home: Home) -> None:
    asked = ("--tests", "lab:parallel?n=2", "--system", "lab:student", "--k", 2, "--samples", 2)
    rows = home.rows("space", *asked, "--metric", "parrot_overlap", "--out", "space")
    assert any(row["name"] == "top_kqrg" for row in rows) or "kqrg" in str(rows)
    assert home.rows("compare", "space", installed=False) == home.rows("compare", "space")


@pytest.mark.slow
def test_its_error_type_makes_pairs_and_its_detector_is_heard(home: Home, pairs: Path) -> None:
    made = [json.loads(line) for line in pairs.read_text("utf-8").splitlines()]
    assert {pair["phenomenon"] for pair in made} == {"parrot_stutter"}
    (first,) = (pair for pair in made if pair["id"] == "parrot_stutter/6")
    assert first["contrastive"] in ("der Hund hund bellt", "der Hund bellt bellt")
    rows = home.rows(
        "contrast", "--tests", "pairs.jsonl", "--system", "parrot:polly", "--set", "detect_in_output=yes"
    )
    (heard,) = (row for row in rows if row["name"] == "generated_errors")
    assert (heard["phenomenon"], heard["found"], heard["false_alarms"]) == ("parrot_stutter", len(made), 0)


@pytest.mark.slow
def test_a_study_of_it_is_the_same_in_shards(home: Home, study: str) -> None:
    for number in (1, 2):
        home.run("run", "all.toml", "--shard", f"{number}/2", "--out", f"shard-{number}")
    home.run("run", "--merge", "shard-1", "shard-2", "--out", "merged", "--no-report")
    assert home.same_run(study, "merged")


@pytest.mark.slow
def test_a_study_of_it_is_the_same_over_ray(home: Home, study: str) -> None:
    pytest.importorskip("ray")
    home.run("run", "all.toml", "--ray", "--set", "workers=2", "--out", "over-ray", "--no-report")
    assert home.same_run(study, "over-ray")


def test_a_run_is_judged_again_under_another_threshold(home: Home) -> None:
    home.run("echo", *ASKED, "--threshold", 0.4, "--out", "lenient")
    rows = home.rows("echo", "--rejudge", "lenient", "--threshold", 0.6, "--out", "strict")
    assert rows == home.rows("echo", *ASKED, "--threshold", 0.6, "--out", "asked")
    assert home.same_run("asked", "strict")
    assert value(rows, "all", system="parrot:short") == pytest.approx(2 / 6)
    assert value(home.rows("compare", "lenient"), "all", system="parrot:short") == 1


def test_people_judge_what_its_queue_asks(home: Home) -> None:
    home.run("echo", *ASKED, "--out", "judged")
    home.run("annotate", "judged", "--queue", "echo.jsonl", "--queue-size", 4, "--queue-only")
    drawn = [json.loads(line) for line in (home.folder / "echo.jsonl").read_text("utf-8").splitlines()]
    # Two of three sentences of each domain, as each system translated them.
    assert sorted(line["id"] in ("1", "2", "3") for line in drawn) == [False] * 4 + [True] * 4
    assert {line["system"] for line in drawn} == {"parrot:polly", "parrot:short"}
    command = ("annotate", "judged", "--queue-size", 4, "--queue", "again.jsonl", "--no-open", "--json")
    with home.start(*command) as serving:
        assert serving.stdout is not None
        started = json.loads(serving.stdout.readline())
        serving.terminate()
    assert (started["items"], Path(started["answers"]).name) == (8, "again.answers.me.jsonl")
    assert (home.folder / "again.jsonl").read_bytes() == (home.folder / "echo.jsonl").read_bytes()
    tasks = read_tasks(home.folder / "echo.jsonl")
    answers = AnswerFile(home.folder / "echo.jsonl", "anna", tasks)
    for task in tasks:  # whoever repeats more is liked less
        answers.save(task, {"score": 20 if task.system == "parrot:polly" else 60})
    answers.close()
    rows = home.rows("agreement", "echo.jsonl", "--verdicts", "judged", "--set", "field=share")
    assert value(rows, "pearson", level="sentence", annotators="anna") < -0.9


def test_its_runs_are_reported_and_compared_without_it(home: Home, study: str) -> None:
    with_it, without = (home.page(study, installed=installed) for installed in (True, False))
    assert all(text in with_it for text in (TITLE, CLAIM, f"{PICTURE}zoo", "Minimal pairs"))
    assert all(text in without for text in (TITLE, "Figures: zoo", "Minimal pairs"))
    assert CLAIM not in without
    rows = home.rows("compare", study, installed=False)
    assert rows == home.rows("compare", study)
    paired = [row for row in rows if row["name"] == "difference"]
    of_words = next(row for row in paired if row["method"] == "echo" and row.get("measure") == "share")
    assert (of_words["wins"], of_words["losses"], of_words["value"]) == (0, 6, pytest.approx(1 - 10 / 18))


@pytest.mark.slow
def test_two_of_its_runs_are_compared_without_it(home: Home) -> None:
    for name, system in (("one", "parrot:polly"), ("other", "parrot:short?words=2")):
        home.run("echo", "--tests", "parrot:zoo.tsv", "--system", system, "--threshold", 0.6, "--out", name)
    rows = home.rows("compare", "one", "other", installed=False)
    assert rows == home.rows("compare", "one", "other")
    verdicts = next(row for row in rows if row["name"] == "difference" and "measure" not in row)
    assert (verdicts["losses"], verdicts["ties"], verdicts["n"]) == (4, 2, 6)
    page = home.page("one", "other", installed=False)
    assert all(text in page for text in (TITLE, "parrot:polly", "parrot:short?words=2"))


@pytest.mark.slow
def test_without_it_what_is_missing_is_named(home: Home) -> None:
    for arguments, told in (
        (("run", "all.toml", "--out", "nothing"), "'parrot:zoo.tsv' is neither"),
        (("echo", *ASKED), "No such command 'echo'"),
    ):
        with pytest.raises(AssertionError, match=told):
            home.run(*arguments, installed=False)
