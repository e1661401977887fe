"""`babelscope condition --judge winomt|mucow` and `agreement`, from files to rows; bad files are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.toy_fixtures import Babelscope

SOURCES = ["The cook slept because he was tired.", "The cook slept because she was tired."]
WINOMT = f"male\t1\t{SOURCES[0]}\tcook\tpro\nfemale\t1\t{SOURCES[1]}\tcook\tanti\n"
GERMAN = ["Der Koch schlief, weil er müde war.", "Die Köchin schlief, weil sie müde war."]
MUCOW = (
    "condition",
    "--judge",
    "mucow",
    "--tests",
    "mucow:en-de?all=yes",
    "--system",
    "file:out.de?format=auto",
)
FILE = ("--system", "out.txt=file:out.txt?format=auto")
WINO = ("condition", "--judge", "winomt", "--tests", "winomt:test.tsv?neutral=yes", *FILE, "--target", "de")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text(WINOMT)
    lines = [f"{source} ||| {german}\n" for source, german in zip(SOURCES, GERMAN, strict=True)]
    # In the other order: they are matched by their source.
    (tmp_path / "out.txt").write_text("".join(reversed(lines)))
    (tmp_path / "out.align").write_text("0-0 1-1\n0-0 1-1\n")
    (tmp_path / "en-de.text.txt").write_text("My pen.\nA pig in its pen.\n")
    (tmp_path / "en-de.key.tsv").write_text("1\tted\tpen\tstift\tgehege\n2\tted\tpen\tgehege\tstift\n")
    (tmp_path / "out.de").write_text("Meine Stifte.\nEin Schwein mit Stift.\n")
    (tmp_path / "lemmas.de").write_text("mein stift .\nein schwein mit stift .\n")


def test_a_run_is_judged_again_without_its_files(babelscope: Babelscope, tmp_path: Path) -> None:
    ran = babelscope(*WINO, "--set", "alignments=out.align", "--out", "run", "--group-by", "gold", "--json")
    assert ran.code == 0
    assert {row.get("gold") for row in ran.rows} >= {"male", "female"}
    for name in ("out.txt", "out.align", "test.tsv"):
        (tmp_path / name).unlink()
    again = babelscope("condition --judge winomt --rejudge run --set gender_rules=sound --json")
    assert again.rows[0].items() >= {"rules": "sound", "alignment": "given", "value": 1.0}.items()
    assert (
        babelscope("condition --judge winomt --rejudge run --json").rows[0]["signature"]
        == ran.rows[0]["signature"]
    )
    assert again.rows[0]["signature"] != ran.rows[0]["signature"]
    refused = babelscope("condition --judge winomt --rejudge run --set beam=2")
    assert "beam cannot be changed after a run" in refused.err


def test_a_study_in_parts_is_refused(babelscope: Babelscope, tmp_path: Path) -> None:
    study = """
[[systems]]
spec = "file:out.txt?format=pairs"
[[tests]]
name = "jobs"
spec = "winomt:test.tsv"
[[methods]]
name = "patterns_winomt"
target = "de"
alignments = "out.align"
"""
    (tmp_path / "study.toml").write_text(f"{study}[run]\nchunk = 1\n")
    ran = babelscope("run study.toml --out parts")
    assert "patterns_winomt asks a test set as a whole: remove chunk = 1" in ran.err


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("out.align", "0-0 1-1\n0-0 99-1\n", "out.align:2: the link 99-1 points at source word 99"),
        ("out.align", "0-0\n", "out.txt has 2, out.align has 1"),
        ("out.txt", f"{SOURCES[0]} ||| {GERMAN[0]}\n{GERMAN[1]}\n", "out.txt:2 has no ||| between"),
        (
            "out.txt",
            f"{SOURCES[0]} ||| {GERMAN[0]}\nXx yy. ||| {GERMAN[1]}\n",
            "out.txt has no translation of",
        ),
        (
            "out.txt",
            f"{GERMAN[0]}\n",
            "out.txt has translations of 1 sources, but the test set test has 2",
        ),
        ("test.tsv", "male\t1\n", "test.tsv:1 has 2 columns"),
    ],
)
def test_bad_files_are_told(
    babelscope: Babelscope, tmp_path: Path, name: str, content: str, told: str
) -> None:
    (tmp_path / name).write_text(content)
    ran = babelscope(*WINO, "--set", "alignments=out.align", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_bad_usage_is_told(babelscope: Babelscope) -> None:
    for arguments, told in (
        ((*WINO, "--set", "stereotypical=test.tsv"), "stereotypical and anti_stereotypical go together"),
        ((*WINO, "--set", "alignments=none"), "none: no such file"),
        ((*WINO[:-1], "xx"), "no WinoMT morphology for 'xx'; known: de, ar, cs, es"),
        (WINO[:-2], "target: field required"),
        ((*WINO[:5], "--target", "de"), "condition needs --system"),
        (
            (*MUCOW, "--set", "lemmas=lemmas.de", "--lemmatize", "de"),
            "lemmas and lemmatize exclude each other",
        ),
        (("agreement", "--task", "mucow", "out.de"), "out.de:1: not JSON"),
        (("agreement", "--task", "winomt", "a.csv", "b.csv"), "a.csv: no such file"),
    ):
        ran = babelscope(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert told in ran.err


def test_agreement_of_annotators_and_a_method(babelscope: Babelscope, tmp_path: Path) -> None:
    babelscope(*WINO, "--set", "alignments=out.align", "--out", "run", "--json")
    for name, labels in (("a", ["Male", "Female"]), ("b", ["Male", "Male"])):
        lines = [
            {
                "label": [label],
                "Sample ID": str(n),
                "Index": str(n),
                "Gold Gender": gold,
                "Source Sentence": s,
            }
            for n, (label, gold, s) in enumerate(zip(labels, ["male", "female"], SOURCES, strict=True))
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    heading = "Index,Entity,Sentence,Find entity? [Y/N],Gender? [M/F/N],Comments"
    (tmp_path / "old.csv").write_bytes(f"{heading}\r\n0,x,y,Y,M,\r\n1,x,y,N,F,\r\n".encode())
    ran = babelscope("agreement --task winomt a.jsonl b.jsonl old.csv --patterns run --json")
    *rows, method = ran.rows
    assert [(row["annotators"], row["n"]) for row in rows if row["name"] == "kappa"] == [
        ("a, b", 2),
        ("a, b", 2),
        ("a, old", 1),
        ("b, old", 1),
    ]
    assert method.items() >= {"verdicts": "run", "value": 0.75, "judgments": 4, "agreed": 3}.items()
    assert "needs files of at least two annotators" in babelscope("agreement --task winomt a.jsonl").err


def test_the_published_agreement(babelscope: Babelscope, shared: Path) -> None:
    data = shared / "data"
    people = [str(data / "human-validation" / "mucow" / f"en-de.annotator{n}.jsonl") for n in (1, 2)]
    log = str(data / "mucow" / "pattern-matching-log" / "en-de.ensemble.jsonl")
    command = ("agreement --task mucow", *people, "--patterns", log, "--json")
    published = babelscope(*command, "--set", "protocol=paper").rows[-1]
    assert (published["agreed"], published["covered"], published["judgments"]) == (14, 908, 192)
    assert round(100 * published["value"], 1) == 83.8
    sound = babelscope(*command).rows[-1]
    assert (sound["agreed"], sound["covered"], round(100 * sound["value"], 2)) == (13, 716, 80.29)
    winomt = data / "winomt"
    people = [str(data / "human-validation" / "winomt" / f"en-de.annotator{n}.jsonl") for n in (1, 2)]
    earlier = str(data / "human-validation" / "winomt" / "en-de.previous-work.csv")
    babelscope(
        *(
            "condition",
            "--judge",
            "winomt",
            "--tests",
            f"winomt:{winomt / 'test.tsv'}?neutral=yes",
            "--target",
            "de",
        ),
        *("--system", f"file:{winomt / 'translations' / 'aws.en-de.txt'}?format=auto"),
        *(
            "--set",
            f"alignments={winomt / 'alignments' / 'aws.en-de.align'!s}",
            "--out",
            "aws",
            "--json",
        ),
    )
    asked = ("agreement --task winomt", *people, earlier, "--patterns", "aws", "--json")
    rows = babelscope(*asked).rows
    kappas = [(round(row["value"], 6), row["n"]) for row in rows if row["name"] == "kappa"]
    assert kappas == [(0.952534, 200), (0.952696, 200), (0.274139, 88), (0.296026, 84)]
    assert (rows[-1]["agreed"], rows[-1]["judgments"], rows[-1]["value"]) == (345, 400, 0.8625)
