"""Readers of what people are asked and what they answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from babelscope.annotate import answers as given
from babelscope.annotate.items import read_tasks
from babelscope.stats.agreement import parse_earlier, parse_judgements, parse_verdicts
from babelscope.stats.correlation import parse_scores
from babelscope.testsets import pattern_files
from babelscope.util.json_lines import read_json_lines
from tests.fuzz.fuzzing import Counts, Target
from tests.fuzz.targets import PAIR, count, lines

_CASES: tuple[dict[str, Any], ...] = (
    {"task": "assessment", "id": 1, "source": "A cat.", "translation": "Katze.", "system": "s"},
    {"task": "ranking", "id": "2", "source": "A cat.", "translations": ["Katze.", "Kater."]},
    {
        "task": "mucow",
        "id": "3",
        "source": "On the banks.",
        "word": "bank",
        "translation": "Ufer",
        "lemmas": ["Ufer"],
        "wrong_lemmas": ["Bank"],
        "questions": ["Is it right?"],
    },
    {
        "task": "winomt",
        "id": "4",
        "source": "The nurse.",
        "occupation": "nurse",
        "translation": "",
        "gold": "male",
    },
    {
        "task": "challenge",
        "id": "5",
        "source": "Er gibt auf",
        "tokens": ["Er", "gibt", "auf"],
        "head": 2,
        "dependent": 3,
        "head_form": "gibt",
        "phenomenon": "particle",
        "reference": "He gives up",
    },
    {
        "task": "extraction",
        "id": "7",
        "source": "Er gibt auf",
        "head": "gibt",
        "dependent": "auf",
        "distance": 0,
    },
    {"task": "choice", "id": "6", "source": "A cat.", "translations": ["Katze.", "Hund."], "gold": "A"},
    {"task": "machine-reference", **PAIR, "translation": "Hund", "correction": "Der Hund"},
)


def _tasks(folder: Path) -> Counts:
    tasks = read_tasks(folder / "a.jsonl", "assessment")
    for task in tasks:
        json.dumps([task.digest, task.question, [block.pieces for block in task.blocks]]).encode()
    return count(folder / "a.jsonl"), len(tasks)


def _answer(task: str, **answer: Any) -> dict[str, Any]:
    return {"id": "1", "item": f"d-{task}", "task": task, "answer": answer, "annotator": "me", "time": "t"}


_ANSWERS = (
    _answer("assessment", score=70),
    _answer("ranking", scores=[10, 20], overall=3),
    _answer("mucow", label="Correct Sense"),
    _answer("challenge", label="Real"),
    _answer("machine-reference", label="Wrong", correction="Der Hund"),
)


def _agreement(folder: Path) -> None:
    from babelscope.annotate.agreement import agreement_between_people, agreement_with_method

    paths = [folder / "q.answers.a.jsonl", folder / "q.answers.b.jsonl"]
    said = given.read_annotators(paths)
    tasks = given.items_of(paths)
    records = pattern_files.read_verdicts(folder / "records.jsonl")
    agreement_with_method(said, tasks, records, name="m", field="score")
    agreement_between_people(said, tasks)


def _answer_file(folder: Path) -> None:
    file = given.AnswerFile(folder / "q.jsonl", "a", read_tasks(folder / "q.jsonl", "mucow"))
    file.close()


_JUDGED = {
    "label": ["Male"],
    "Sample ID": "7",
    "Index": "3",
    "Gold Gender": "male",
    "Source Sentence": "A nurse.",
    "Word": "nurse",
}
_EARLIER = b'Index,Find entity? [Y/N],Gender? [M/F/N]\r\n3,Y,M\r\n4,N,\r\n5,Y,"F"\r\n'


def _earlier(folder: Path) -> None:
    from babelscope.cli.agreement import _table as csv_table

    parse_earlier(csv_table(folder / "a.csv"), str(folder / "a.csv"))


def _human_scores(folder: Path) -> None:

    from babelscope.stats.correlation import human_correlations

    human, metric = (
        parse_scores(read_json_lines(folder / name), average=True) for name in ("a.jsonl", "b.jsonl")
    )
    human_correlations(human, {"m": metric})


def _queue(folder: Path) -> None:
    from babelscope.methods.challenge.annotation import answers

    answers(read_json_lines(folder / "a.jsonl"))
    answers(given.read_judged(folder / "q.answers.me.jsonl"))


PEOPLE = (
    Target("tasks to annotate", _tasks, [{"a.jsonl": lines(case)} for case in _CASES]),
    Target(
        "answers",
        _agreement,
        [
            {
                "q.answers.a.jsonl": lines(one),
                "q.answers.b.jsonl": lines({**one, "annotator": "b"}),
                "records.jsonl": lines({"id": "1", "system": "", "correct": True, "score": 0.5, "weight": 2}),
            }
            for one in _ANSWERS
        ],
    ),
    Target(
        "answer file",
        _answer_file,
        [{"q.jsonl": lines(*_CASES), "q.answers.a.jsonl": lines(*_ANSWERS)}],
        changes_files=True,
        share=0.5,
    ),
    Target(
        "released annotations",
        lambda folder: (
            count(folder / "a.jsonl"),
            len(parse_judgements(read_json_lines(folder / "a.jsonl"), "winomt")),
        ),
        [{"a.jsonl": lines(_JUDGED, {**_JUDGED, "Sample ID": "8"})}],
    ),
    Target("WinoMT's annotations", _earlier, [{"a.csv": _EARLIER}]),
    Target(
        "verdicts",
        lambda folder: (
            count(folder / "a.jsonl"),
            len(parse_verdicts(pattern_files.read_verdicts(folder / "a.jsonl"), "winomt")),
        ),
        [{"a.jsonl": lines({"id": 3, "correct": True, "weight": 0.5, "sentence": "A", "predicted": "male"})}],
    ),
    Target(
        "human scores",
        _human_scores,
        [
            {
                name: lines(
                    *({"system": system, "id": id, "score": 0.1 * id} for system in "ab" for id in (1, 2, 3))
                )
                for name in ("a.jsonl", "b.jsonl")
            }
        ],
        share=0.3,
    ),
    Target(
        "queues",
        _queue,
        [
            {
                "a.jsonl": lines({"id": "1", "answer": "Not real"}, {"id": "2", "answer": None}),
                "q.answers.me.jsonl": lines({**_answer("challenge", label="Not real"), "id": "1"}),
            }
        ],
    ),
)
