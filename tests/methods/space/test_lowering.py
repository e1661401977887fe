"""A run judged again with a smaller k: what people judge, and what is then compared with their answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from babelscope.annotate.answers import answer_path
from babelscope.annotate.items import read_tasks
from tests.support.toy_fixtures import Babelscope

TESTS = "lab:parallel?n=6&seed=1"
SPACE = ("space", "--system", "lab:student", "--tests", TESTS, "--samples", "0")
BOTH = ("--metric", "chrf", "--metric", "ter")


def records_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def run(babelscope: Babelscope, tmp_path: Path) -> Path:
    """A run with k = 4, and what people said of lists of 3 from it."""
    assert babelscope(*SPACE, *BOTH, "--k", "4", "--out", "run", "--records", "r4.jsonl").code == 0
    ran = babelscope(
        "space",
        "--rejudge",
        "run",
        "--k",
        "3",
        "--annotate",
        "queue.jsonl",
        "--records",
        "r3.jsonl",
        "--json",
    )
    assert ran.code == 0, ran.err
    queue = tmp_path / "queue.jsonl"
    for annotator, step in (("anna", 1), ("bert", 2)):
        lines = [
            {
                "id": task.id,
                "item": task.digest,
                "task": task.kind,
                "system": task.system,
                "answer": {"scores": [90, 50, 10], "overall": 1 + (number * step) % 5},
                "annotator": annotator,
            }
            for number, task in enumerate(sorted(read_tasks(queue, None), key=lambda task: task.id))
        ]
        answer_path(queue, annotator).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_the_queue_and_the_figures_are_those_of_the_smaller_k(run: Path, babelscope: Babelscope) -> None:
    assert babelscope(*SPACE, *BOTH, "--k", "3", "--records", "right.jsonl").code == 0
    lowered, right = records_of(run / "r3.jsonl"), records_of(run / "right.jsonl")
    for ours, theirs in zip(lowered, right, strict=True):
        assert [each["text"] for each in ours["top"]["found"]] == [
            each["text"] for each in theirs["top"]["found"]
        ]
        for measure in ("top_krg", "top_kqrg"):
            assert ours[measure] == pytest.approx(theirs[measure])
            assert ours["gains"]["ter"][measure] == pytest.approx(theirs["gains"]["ter"][measure])
        # Beam search of another width would have found other lists: nothing is said about them.
        assert (ours["beam"], ours["beam_kqrg"], ours["missed_by"]["beam-list"]) == ([], None, None)
    queue = {line["id"]: line for line in records_of(run / "queue.jsonl")}
    for record in right:
        assert queue[record["id"]]["translations"] == [each["text"] for each in record["top"]["found"]]


def test_its_signature_is_not_that_of_a_run_with_this_k(run: Path, babelscope: Babelscope) -> None:
    assert run
    shown = babelscope("space", "--rejudge", "run", "--k", "3", "--json").out
    asked = babelscope(*SPACE, *BOTH, "--k", "3", "--json").out
    again = babelscope("space", "--rejudge", "run", "--k", "4", "--json").out
    first = [json.loads(out.splitlines()[0])["signature"] for out in (shown, asked, again)]
    assert len({signature.rpartition("|")[2] for signature in first}) == 3
    rows = [json.loads(line) for line in shown.splitlines()]
    assert not {"expansions", "beam_minus_exact"} & {row["name"] for row in rows}
    # The 1-best has the beam that it had; beam search's list would have been of another width.
    assert {row["decoding"] for row in rows if row["name"] == "search_error"} == {"beam"}


def test_a_larger_k_needs_other_answers(run: Path, babelscope: Babelscope) -> None:
    assert run
    ran = babelscope("space", "--rejudge", "run", "--k", "5")
    assert (ran.code, "k can be lowered after a run, and not raised from 4 to 5" in ran.err) == (2, True)
    ran = babelscope("space", "--rejudge", "run", "--beam", "4")
    assert "beam cannot be changed after a run" in ran.err


def test_correlate_reads_the_answers_for_each_metric(run: Path, babelscope: Babelscope) -> None:
    asked = ("correlate", "r3.jsonl", "--field", "top_kqrg", "--json")
    ran = babelscope(*asked, "--human", "queue.jsonl")
    assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert {row["metric"] for row in rows} == {"r3 chrf", "r3 ter"}
    # By hand: the mean of both annotators against kQRG by TER.
    by_id = {record["id"]: record["gains"]["ter"]["top_kqrg"] for record in records_of(run / "r3.jsonl")}
    judged = sorted(line["id"] for line in records_of(run / "queue.jsonl"))
    human = [((1 + number % 5) + (1 + 2 * number % 5)) / 2 for number in range(len(judged))]
    scores = [by_id[name] for name in judged]
    [row] = [r for r in rows if (r["metric"], r["name"], r["level"]) == ("r3 ter", "pearson", "sentence")]
    assert row["value"] == pytest.approx(_pearson(human, scores))
    assert row["n"] == len(judged)
    alone = babelscope(*asked, "--human", "queue.answers.anna.jsonl")
    assert alone.code == 0, alone.err


def _pearson(first: list[float], second: list[float]) -> float:
    means = [sum(each) / len(each) for each in (first, second)]
    pairs = [(a - means[0], b - means[1]) for a, b in zip(first, second, strict=True)]
    spread = sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs)
    return float(sum(a * b for a, b in pairs) / spread**0.5)


@pytest.mark.parametrize("command", ["correlate", "agreement"])
def test_lists_of_another_length_are_refused(run: Path, babelscope: Babelscope, command: str) -> None:
    """The trial had a Pearson of 0.9653 between lists of 5 and verdicts at k = 10, without a word."""
    assert run
    if command == "correlate":
        ran = babelscope("correlate", "r4.jsonl", "--field", "top_kqrg", "--human", "queue.jsonl")
    else:
        ran = babelscope("agreement", "queue.jsonl", "--verdicts", "r4.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert "people judged a list of 3 translations, but the score at" in ran.err
    assert "--rejudge RUN --k 3" in ran.err


def test_unfinished_answers_are_left_out_and_labels_refused(run: Path, babelscope: Babelscope) -> None:
    path = run / "queue.answers.anna.jsonl"
    lines = records_of(path)
    lines[0]["answer"]["overall"] = None
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = babelscope("correlate", "r3.jsonl", "--field", "top_kqrg", "--human", path.name)
    assert "1 unfinished answers are left out" in ran.err
    lines[0] |= {"task": "winomt", "answer": {"label": "Male"}}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = babelscope("correlate", "r3.jsonl", "--field", "top_kqrg", "--human", path.name)
    assert (ran.code, "answered with labels, not with scores" in ran.err) == (2, True)
