"""Metrics outside of our process: programs, also those that stay open, files of numbers, and the page's recipes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from babelscope.metrics.base import Segment, find_metric, sentence_qualities
from babelscope.metrics.corpus import corpus_estimate
from babelscope.util.errors import BabelscopeError, SystemFailure


def test_an_unknown_metric_is_told() -> None:
    with pytest.raises(BabelscopeError, match=r"no metric 'chfr'; .* did you mean chrf\?"):
        sentence_qualities("chfr", [])
    with pytest.raises(BabelscopeError, match="asked by cmd:COMMAND"):
        sentence_qualities("bleurt", [Segment("s", "h", ("r",))])


SEGMENTS = [
    Segment("ein\u2028Tag", "abx", ("abcd",)),
    Segment("zwei", "", ("ab", "cd")),
    Segment("ein\u2028Tag", "abx", ("abcd",)),
]
# Writes what it was asked beside it, and one number each: the length of the translation.
LENGTHS = """
import json, os, sys
with open(sys.argv[0] + ".log", "a") as log:
    log.write("started\\n")
if "open" in sys.argv:
    print("ready", flush=True)
for line in sys.stdin:
    with open(sys.argv[0] + ".log", "a") as log:
        log.write(line)
    given = json.loads(line)
    if "open" in sys.argv:
        lengths = [len(each["hypothesis"]) for each in given]
        if 7 in lengths:
            os._exit(9)
        print(json.dumps(lengths[:-1] if 8 in lengths else lengths), flush=True)
    else:
        print(len(given["hypothesis"]), flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "lengths.py").write_text(LENGTHS)
    return f"cmd:{sys.executable} {tmp_path / 'lengths.py'}"


def test_a_command_gets_each_segment_once_and_answers_with_numbers(tmp_path: Path, program: str) -> None:
    assert sentence_qualities(program, SEGMENTS) == [3, 0, 3]
    started, *asked = (tmp_path / "lengths.py.log").read_text().splitlines()
    assert [json.loads(line) for line in asked] == [
        {"source": "ein\u2028Tag", "hypothesis": "abx", "reference": "abcd"},
        {"source": "zwei", "hypothesis": "", "reference": ["ab", "cd"]},
    ]
    assert started == "started"


def test_a_program_that_stays_open_is_started_once_for_all_questions(tmp_path: Path, program: str) -> None:
    named = f"{program} open?open=yes"
    metrics = [find_metric(named), find_metric(named)]
    for number in range(4):  # as a run asks: for every chunk, and for every source of MBR decoding
        metric = metrics[number % 2]
        assert metric.pairwise(["a", "bbb"], ["x", "y"], "s").tolist() == [[1, 1], [3, 3]]
    lines = (tmp_path / "lengths.py.log").read_text().splitlines()
    assert [line == "started" for line in lines] == [True, *[False] * 4]
    assert len(json.loads(lines[1])) == 4
    with pytest.raises(SystemFailure, match="gave 1 scores of 2 translations"):
        metrics[0].sentence(["a", "12345678"], [["a"]] * 2, ["s"] * 2)
    with pytest.raises(SystemFailure, match="ended with exit code 9"):
        metrics[0].sentence(["1234567"], [["a"]], ["s"])
    assert metrics[0].sentence(["ab"], [["a"]], ["s"]) == [2], "it is started again"
    (tmp_path / "lengths.py").write_text(LENGTHS + "\n")
    with pytest.raises(SystemFailure, match="was changed or removed while it was in use"):
        metrics[0].sentence(["ab"], [["a"]], ["s"])


def test_a_file_of_numbers_is_found_by_segment(tmp_path: Path) -> None:
    numbers, lines = tmp_path / "scores.txt", tmp_path / "segments.jsonl"
    lines.write_text("".join(each.as_line() + "\n" for each in SEGMENTS[:2]))
    numbers.write_text("-0.25\n7e-1\n")
    quality = f"file:{numbers}?source={lines}"
    assert sentence_qualities(quality, [SEGMENTS[1], *SEGMENTS]) == [0.7, -0.25, 0.7, -0.25]
    with pytest.raises(BabelscopeError, match="has no line"):
        sentence_qualities(quality, [Segment("drei", "a", ("b",))])


@pytest.mark.parametrize("written", ["nan", "inf", "", "0,5"])
def test_what_is_no_number_is_refused(tmp_path: Path, written: str) -> None:
    numbers, lines = tmp_path / "scores.txt", tmp_path / "segments.jsonl"
    lines.write_text("".join(each.as_line() + "\n" for each in SEGMENTS[:2]))
    numbers.write_text(f"0.5\n{written}\n")
    with pytest.raises(BabelscopeError, match=r"as the quality of ''; it must be a finite number"):
        sentence_qualities(f"file:{numbers}?source={lines}", SEGMENTS)


def test_wrong_counts_are_refused(tmp_path: Path) -> None:
    numbers, lines = tmp_path / "scores.txt", tmp_path / "segments.jsonl"
    lines.write_text(SEGMENTS[0].as_line() + "\n")
    numbers.write_text("1\n2\n")
    with pytest.raises(BabelscopeError, match="equally many lines"):
        sentence_qualities(f"file:{numbers}?source={lines}", SEGMENTS[:1])
    with pytest.raises(SystemFailure, match="given 2 lines but wrote 1"):
        sentence_qualities("cmd:head -c 2?timeout=20", SEGMENTS)
    assert sentence_qualities("cmd:sed s/.*/0.5/", SEGMENTS)[0] == 0.5


def test_what_is_outside_counts_by_content_with_a_bound_if_named(tmp_path: Path) -> None:
    numbers, segments, moved = (tmp_path / name for name in ("numbers", "segments", "moved"))
    numbers.write_text("0.5\n")
    moved.write_text("0.5\n")
    segments.write_text(Segment("s", "h", ("r",)).as_line() + "\n")
    program = f"cmd:{sys.executable} -c pass"
    specs = [f"file:{numbers}?source={segments}", f"file:{numbers}?source={segments}&bound=1", program]
    identities = [find_metric(spec).identity for spec in [*specs, f"{program}?bound=1"]]
    assert len(set(identities)) == 4
    assert [each.split()[0] for each in identities] == ["file"] * 2 + ["cmd"] * 2
    assert find_metric(f"file:{moved}?source={segments}").identity == identities[0]
    assert find_metric(f"{program}?batch=2").identity == identities[2]
    found = corpus_estimate(specs[0], ["h"], [["r"]], sources=["s"])
    assert (found.value, found.n) == (0.5, 1)


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("cmd:", "says nothing after the colon"),
        ("file:?source=x", "says nothing after the colon"),
        ("cmd:cat?bound=0", "bound=0 is not a positive number"),
        ("cmd:cat?bound=inf", "bound=inf is not a positive number"),
        ("cmd:cat?bound=much", "bound=much is not a number"),
        ("cmd:cat?bond=1", "unknown option 'bond'; did you mean bound"),
        ("cmd:no-such-command", "is not found or not executable"),
        ("cmd:env KEY=x cat", "must hold no secret"),
        ("cmd:cat?open=yes&shell=yes", "stays open is started without a shell"),
        ("comet:", "says nothing after the colon"),
        ("comet:../model", "names no model of the Hugging Face hub"),
        ("comet:a/b/c", "names no model of the Hugging Face hub"),
        ("file:nowhere?source=nowhere", "nowhere: no such file"),
        ("file:numbers", r"needs \?source=SEGMENTS"),
        ("http:x", "there is no metric 'http:x'"),
    ],
)
def test_metrics_that_cannot_be_opened(spec: str, fault: str) -> None:
    with pytest.raises(BabelscopeError, match=fault):
        find_metric(spec)


def test_a_segment_has_one_number_and_its_source(tmp_path: Path) -> None:
    numbers, segments = tmp_path / "numbers", tmp_path / "segments"
    line = Segment("s", "h", ("r",)).as_line() + "\n"
    segments.write_text(2 * line)
    numbers.write_text("1\n2\n")
    with pytest.raises(BabelscopeError, match=r"segments:2 repeats a segment .* another number"):
        find_metric(f"file:{numbers}?source={segments}")
    numbers.write_text("1\n1\n")
    metric = find_metric(f"file:{numbers}?source={segments}")
    assert metric.sentence(["h"], [["r"]], ["s"]) == [1.0]
    with pytest.raises(BabelscopeError, match="needs the source of every translation"):
        metric.sentence(["h"], [["r"]])


PAGE = Path(__file__).parents[2] / "docs" / "howto" / "bleurt.md"
# The share of the candidate's words that the reference has.
BLEURT = """
print("loading")
class BleurtScorer:
    def __init__(self, checkpoint):
        assert checkpoint == "BLEURT-20", checkpoint
    def score(self, *, references, candidates, batch_size):
        pairs = zip(references, candidates, strict=True)
        return [sum(word in a.split() for word in b.split()) / len(b.split()) for a, b in pairs]
"""
# 25 errors less 10 for each word of the candidate that the reference has, or without references the source.
METRICX = """
import argparse, json
parser = argparse.ArgumentParser()
for name in ("tokenizer", "model_name_or_path", "max_input_length", "batch_size", "input_file", "output_file"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--qe", action="store_true")
given = parser.parse_args()
assert (given.model_name_or_path, given.tokenizer) == ("google/model", "google/tokenizer")
print("Predicting")
with open(given.input_file) as lines, open(given.output_file, "w") as out:
    for line in lines:
        row = json.loads(line)
        assert row.keys() == {"source", "hypothesis", "reference"}
        assert not (given.qe and row["reference"])
        if row["hypothesis"] == "lost":
            continue
        known = row["source" if given.qe else "reference"].split()
        shared = sum(word in known for word in row["hypothesis"].split())
        out.write(json.dumps({**row, "prediction": 25 - 10 * shared}) + "\\n")
"""


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the scripts of the page, and stand-ins that their imports find."""
    for script in re.findall(
        r'^```python title="(\w+\.py)"\n(.*?)^```$', PAGE.read_text(), re.MULTILINE | re.DOTALL
    ):
        (tmp_path / script[0]).write_text(script[1])
    for path, text in (("bleurt/score.py", BLEURT), ("metricx24/predict.py", METRICX)):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
        (tmp_path / path).with_name("__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_bleurt(recipes: Path) -> None:
    spec = f"cmd:{sys.executable} bleurt_score.py BLEURT-20?bound=1&open=yes&timeout=86400"
    with pytest.raises(SystemFailure, match="answered 'ready', which is no list of scores"):
        find_metric(spec).sentence(["a"], [["a"]], ["s"])  # what a library prints is no answer
    (recipes / "bleurt" / "score.py").write_text(BLEURT.replace('print("loading")', ""))
    found = find_metric(spec).sentence(["a b", "c d"], [["a x"], ["y", "c d", "c"]], ["s", "t"])
    assert found == [0.5, 1], "of several references the best"


def test_metricx(recipes: Path) -> None:
    assert recipes
    spec = f"cmd:{sys.executable} metricx_score.py google/model google/tokenizer"
    metric = find_metric(f"{spec}?bound=1&batch=1000000&timeout=86400")
    found = metric.sentence(["a b", "c"], [["a b"], ["y", "c"]], ["s", "t"])
    assert found == pytest.approx([1 - 5 / 25, 1 - 15 / 25])
    free = find_metric(f"{spec} qe?bound=1&reference=no")
    assert free.sentence(["a b"], [["a b"]], ["a"]) == pytest.approx([1 - 15 / 25])
    assert not free.reads_references
    with pytest.raises(SystemFailure, match="1 predictions of 2 segments"):
        metric.sentence(["a b", "lost"], [["a"], ["y"]], ["s", "t"])
