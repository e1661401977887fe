"""`babelscope annotate RUN`: each method's queue, answered by a script, read by `agreement`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from babelscope.annotate import server
from babelscope.testsets import AmbiguousSource
from tests.annotate.annotating import answer_all
from tests.support.toy_fixtures import Babelscope, read_rows

pytestmark = pytest.mark.usefixtures("exact_toys")

ONE, TWO = (f"toy:{salt}?alphabet=ab&limit=4" for salt in "12")
SYSTEMS = ("--system", ONE, "--system", TWO)
PAIRS = [
    {
        "id": f"{phenomenon}-{n}",
        "source": f"a{n}",
        "correct": "ab" * (1 + n % 3),
        "contrastive": ["ba" * (1 + n % 2)],
        "phenomenon": phenomenon,
        "reference": "human",
    }
    for phenomenon, size in (("often", 12), ("seldom", 4))
    for n in range(size)
]
CUED = [
    AmbiguousSource(
        str(n), f"the cook saw {n}", (f"r{n}",), (f"w{n}",), gold, gold=gold, extra={"occupation": "cook"}
    ).as_json()
    for n in range(12)
    for gold in [("male", "female")[n % 2]]
]
SENTENCES = [{"id": str(n), "source": f"s{n}", "reference": "ab"} for n in range(8)]
WINO = "".join(
    f"{gold}\t1\tThe cook slept {n} because he was tired.\tcook\tpro\n"
    for n, gold in enumerate(["male", "female", "neutral"])
)
FILES = {
    "pairs.jsonl": "".join(json.dumps(each) + "\n" for each in PAIRS),
    "cued.jsonl": "".join(json.dumps(each) + "\n" for each in CUED),
    "sentences.jsonl": "".join(json.dumps(each) + "\n" for each in SENTENCES),
    "wino.tsv": WINO,
    "wino.txt": "Der Koch schlief.\n" * 3,
    "wino.align": "0-0 1-1\n" * 3,
    "en-de.text.txt": "My pen.\nHis pen.\n",
    "en-de.key.tsv": "1\tted\tpen\tstift\tgehege\n" * 2,
    "mucow.de": "Mein Stift.\nSein Gehege.\n",
}
CONTRAST = ("contrast", "--tests", "pairs.jsonl", "--set", "detect_in_output=no", *SYSTEMS)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "serve", lambda _app, _listener: None)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)


def ran(babelscope: Babelscope, *command: str) -> list[dict[str, Any]]:
    """The rows that a command prints; it must end well."""
    return babelscope(*command, "--json").rows


def records_of(run: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["system"], each["id"]): each for each in read_rows(f"{run}/records.jsonl")}


def agreed(rows: list[dict[str, Any]], **labels: str) -> tuple[int, int]:
    """Judgments that a method agrees with, and all of them."""
    (row,) = (row for row in rows if row["name"] == "agreement" and labels.items() <= row.items())
    return row["agreed"], row["judgments"]


def test_people_choose_between_the_translations_of_pairs(babelscope: Babelscope) -> None:
    ran(babelscope, *CONTRAST, "--out", "run")
    (start,) = ran(babelscope, "annotate", "run", "--queue-size", "8", "--no-open")
    assert (start["items"], start["answers"]) == (8, "run.queue.answers.me.jsonl")
    tasks = answer_all("run.queue.jsonl", "anna", lambda task: {"label": task.get("gold")})
    assert sorted(task.id.split("-")[0] for task in tasks) == ["often"] * 6 + ["seldom"] * 2
    unsure = {task.id: label for task, label in zip(tasks, ("None", "More than one"), strict=False)}
    answer_all("run.queue.jsonl", "bert", lambda task: {"label": unsure.get(task.id, "A")})
    rows = ran(babelscope, "agreement", "run.queue.jsonl", "--verdicts", "run")
    (raw,) = (row for row in rows if row["name"] == "agreement" and row["labels"] == "raw")
    same = sum(task.get("gold") == "A" and task.id not in unsure for task in tasks)
    assert (raw["agreed"], raw["n"]) == (same, 8)
    (binary,) = (r for r in rows if r["name"] == "kappa" and r["labels"] == "binary" and "verdicts" not in r)
    assert (binary["n"], binary["skipped"]) == (6, 2)
    records = records_of("run")
    for system in ("toy:1", "toy:2"):
        verdicts = {task.id: records[system, task.id]["verdict"] for task in tasks}
        told = {name: verdict for name, verdict in verdicts.items() if verdict != "tie"}
        right = sum(verdict == "correct" for verdict in told.values())
        assert agreed(rows, system=system, annotators="anna") == (right, len(told))
        of_bert = [
            (verdicts[task.id] == "correct") == (task.get("gold") == "A")
            for task in tasks
            if task.id in told and task.id not in unsure
        ]
        assert agreed(rows, system=system, annotators="bert") == (sum(of_bert), len(of_bert))


def test_of_several_methods_and_test_sets_one_is_chosen(babelscope: Babelscope) -> None:
    other = [{**each, "correct": each["contrastive"][0], "contrastive": "b"} for each in PAIRS[:3]]
    Path("other.jsonl").write_text("".join(json.dumps(each) + "\n" for each in other))
    Path("study.toml").write_text(
        f'[[systems]]\nspec = "{ONE}"\nname = "one"\n'
        '[[tests]]\nspec = "pairs.jsonl"\nname = "pairs"\n[[tests]]\nspec = "other.jsonl"\nname = "other"\n'
        '[[tests]]\nspec = "sentences.jsonl"\nname = "sentences"\n'
        '[[methods]]\nname = "contrast"\ndetect_in_output = "no"\n[[methods]]\nname = "likelihood"\n'
        '[[methods]]\nname = "space"\nk = 2\nsamples = 0\n'
    )
    assert babelscope("run", "study.toml", "--out", "run", "--no-report").code == 0
    for arguments, told in (
        (
            (),
            "one of the methods of run is judged at a time, and it has contrast, space; choose one with --method",
        ),
        (
            ("--method", "contrast"),
            "one of the test sets of run is judged at a time, and it has pairs, other; choose one with --tests",
        ),
        (("--method", "contrsat"), "run has no 'contrsat' among its methods; did you mean contrast?"),
        (("--method", "space", "--system", "zwei"), "run has no 'zwei' among its systems; it has one"),
        (("--method", "likelihood"), "of likelihood has anything that people could judge"),
    ):
        done = babelscope("annotate", "run", *arguments, "--no-open")
        assert (done.code, told in done.err) == (2, True), done.err
    ran(babelscope, "annotate", "run", "--method", "contrast", "--tests", "other", "--no-open")
    tasks = answer_all("run.queue.jsonl", "anna", lambda task: {"label": task.get("gold")})
    assert len(tasks) == 3
    # Items of the other test set have the same ids, and other verdicts.
    verdicts = [
        each["verdict"]
        for each in read_rows("run/records.jsonl")
        if (each["method"], each["tests"]) == ("contrast", "other")
    ]
    decided = [verdict for verdict in verdicts if verdict != "tie"]
    rows = ran(babelscope, "agreement", "run.queue.jsonl", "--verdicts", "run")
    assert agreed(rows, verdicts="contrast") == (decided.count("correct"), len(decided))


def test_a_queue_is_gone_on_with_and_never_written_over(babelscope: Babelscope) -> None:
    ran(babelscope, *CONTRAST, "--out", "run")
    first = babelscope("annotate", "run", "--queue-size", "4", "--no-open", "--json")
    assert first.err == "run.queue.jsonl: 4 of 16 are drawn to be judged\n"
    before = Path("run.queue.jsonl").read_bytes()
    answer_all("run.queue.jsonl", "me", lambda _: {"label": "A"})
    (again,) = ran(babelscope, "annotate", "run", "--queue-size", "4", "--no-open")
    assert (again["judged"], again["items"]) == (4, 4)
    for other in (("--queue-size", "5"), ("--queue-size", "4", "--seed", "1")):
        done = babelscope("annotate", "run", *other, "--no-open")
        assert done.code == 2
        assert "run.queue.jsonl has other items than are drawn from run now" in done.err
    assert Path("run.queue.jsonl").read_bytes() == before


def test_what_cannot_be_drawn_is_told_before_anything_is_asked(babelscope: Babelscope) -> None:
    for command, told in (
        (
            ("annotate", "pairs.jsonl", "--queue-size", "3"),
            "--queue-size only applies to a run folder or a challenge set, but pairs.jsonl is neither",
        ),
        (("annotate", "nowhere"), "nowhere: no such file"),
        (("annotate", "."), "manifest.json"),
    ):
        done = babelscope(*command)
        assert (done.code, told in done.err, done.out) == (2, True, ""), done.err
    assert not list(Path().glob("*q*.jsonl"))


def test_a_method_without_questions_has_no_queue(babelscope: Babelscope) -> None:
    ran(babelscope, "likelihood", "--tests", "sentences.jsonl", "--system", ONE, "--out", "run")
    done = babelscope("annotate", "run", "--queue", "q.jsonl", "--queue-only")
    assert (done.code, "of likelihood has anything that people could judge" in done.err) == (2, True)
    assert not Path("q.jsonl").exists()


def test_a_damaged_run_is_told_in_a_sentence(babelscope: Babelscope) -> None:
    ran(babelscope, *CONTRAST, "--out", "run")
    path = Path("run", "records.jsonl")
    path.write_text("".join(json.dumps({**each, "correct": 3}) + "\n" for each in read_rows(path)))
    done = babelscope("annotate", "run", "--no-open")
    assert (done.code, "changed or damaged" in done.err) == (2, True), done.err
    assert not Path("run.queue.jsonl").exists()
