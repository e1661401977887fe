"""Agreement of answers given on the page: with each other, with verdicts, with scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from babelscope.annotate.agreement import agreement_between_people, agreement_with_method
from babelscope.annotate.answers import find_answers, items_of, read_annotators
from babelscope.annotate.queue import read_tasks
from babelscope.core.results import Row
from babelscope.stats.agreement import cohens_kappa, krippendorffs_alpha
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_json_lines
from tests.annotate.annotating import answer_all, item, write_items
from tests.support.toy_fixtures import Babelscope


def answer(items: Path, answers: Mapping[str, Sequence[Any]], kind: str | None = None) -> Path:
    """Write what annotators say about the items in order; None where one says nothing."""
    for name, given in answers.items():
        # Called once per item, in order.
        answer_all(items, name, partial(lambda left, _: next(left), iter(given)), kind)
    return items


def people(items: Path) -> list[Row]:
    paths = find_answers([items])
    return agreement_between_people(read_annotators(paths), items_of(paths))


def values(rows: Sequence[Row], name: str, **labels: str) -> list[float]:
    found = [row for row in rows if row.name == name and labels.items() <= row.labels.items()]
    return [row.estimate.value for row in found]


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    kinds = [item("challenge", n, source=f"Er nahm {n} an .") for n in range(6)]
    return write_items(tmp_path / "queue.jsonl", kinds)


RIGHT, WRONG, NOT, OPEN = "Translated right", "Translated wrong", "Not real", "Cannot tell"


def test_two_have_a_kappa_for_each_question_and_three_an_alpha_too(queue: Path) -> None:
    said: dict[str, Sequence[Any]] = {
        "anna": [RIGHT, WRONG, NOT, RIGHT, OPEN, None],
        "bert": [RIGHT, RIGHT, NOT, NOT, RIGHT, RIGHT],
    }
    rows = people(answer(queue, said))
    assert {row.name for row in rows} == {"kappa", "agreement"}
    (raw,) = [row for row in rows if row.name == "kappa" and row.labels["labels"] == "raw"]
    assert raw.estimate == cohens_kappa(said["anna"][:5], said["bert"][:5])
    assert raw.counts == {"only_first": 0, "only_second": 1, "skipped": 0}
    # Real or not: item 5 was left open by one. Right or wrong: both must find it real.
    assert values(rows, "agreement", labels="real") == [pytest.approx(3 / 4)]
    assert values(rows, "agreement", labels="binary") == [pytest.approx(1 / 2)]

    said["carl"] = [RIGHT, WRONG, NOT, RIGHT, RIGHT, None]
    rows = people(answer(queue, {"carl": said["carl"]}))
    assert len(values(rows, "kappa", labels="raw")) == 3
    alphas = {row.labels["labels"]: row for row in rows if row.name == "alpha"}
    units = [[each for each in unit if each] for unit in zip(*said.values(), strict=True)]
    assert alphas["raw"].estimate == krippendorffs_alpha(units)
    assert (alphas["raw"].estimate.n, alphas["raw"].counts) == (5, {"single": 1, "skipped": 0})
    assert alphas["raw"].labels["annotators"] == "anna, bert, carl"
    assert (alphas["real"].estimate.n, alphas["binary"].estimate.n) == (4, 2)


def test_scores_are_correlated_and_unfinished_lists_counted(tmp_path: Path) -> None:
    lists = [item("ranking", n, source=f"It rains {n}.") for n in range(4)]
    items = write_items(tmp_path / "lists.jsonl", lists)
    anna: list[dict[str, Any]] = [{"scores": [10 * n, 20, 30 + n], "overall": 1 + n} for n in range(4)]
    bert: list[dict[str, Any]] = [{"scores": [5 * n, 10, 15], "overall": 5 - n} for n in range(3)]
    unfinished = {"scores": [1, None, 2], "overall": None}
    rows = people(answer(items, {"anna": anna, "bert": [*bert, unfinished]}))
    assert values(rows, "spearman", labels="overall") == [pytest.approx(-1)]
    (pearson,) = [row for row in rows if row.name == "pearson" and row.labels["labels"] == "scores"]
    firsts, seconds = ([score for each in own[:3] for score in each["scores"]] for own in (anna, bert))
    assert pearson.estimate.value == pytest.approx(np.corrcoef(firsts, seconds)[0, 1])
    assert pearson.counts == {"common": 9, "unfinished": 1}
    assert values(rows, "alpha", labels="overall")[0] < 0


def test_one_alone_agrees_with_nobody(queue: Path) -> None:
    with pytest.raises(BabelscopeError, match="agreement on challenge needs the answers of two"):
        people(answer(queue, {"anna": [RIGHT] * 6}))


def test_verdicts_are_held_against_people(queue: Path) -> None:
    said: dict[str, Sequence[Any]] = {
        "anna": [RIGHT, WRONG, NOT, RIGHT, OPEN, WRONG],
        "bert": [RIGHT, RIGHT, NOT, None, None, WRONG],
    }
    paths = find_answers([answer(queue, said)])
    verdicts = ["correct", "wrong", "wrong", "tie", "correct", "correct"]
    records = [
        (f"r:{n}", {"id": f"SECRET-{n}", "system": "SECRET", "verdict": verdict, "correct": {"text": "x"}})
        for n, verdict in enumerate(verdicts)
    ]
    rows = agreement_with_method(read_annotators(paths), items_of(paths), records, name="contrast")
    found = {row.labels["annotators"]: row for row in rows if row.name == "agreement"}
    # anna: right on 0 and 1, wrong on 5; bert: right on 0, wrong on 1 and 5.
    assert found["anna"].counts == {"judgments": 3, "agreed": 2, "open": 2, "undecided": 1, "missing": 0}
    assert found["all"].estimate.value == pytest.approx(3 / 6)
    assert found["all"].estimate.n == 3  # items
    assert values(rows, "kappa", annotators="anna") == [
        cohens_kappa(["True", "False", "False"], ["True", "False", "True"]).value
    ]
    few = agreement_with_method(read_annotators(paths), {}, records[:1], name="few")
    assert few[0].counts["missing"] == 5


def test_whose_verdict_it_is_must_be_clear(tmp_path: Path) -> None:
    bare = [{**item("assessment", n), "system": ""} for n in range(3)]
    items = write_items(tmp_path / "bare.jsonl", bare)
    paths = find_answers([answer(items, {"anna": [{"score": 10 * n} for n in range(3)]})])
    said = read_annotators(paths)
    records = [
        (f"r:{n}", {"id": f"SECRET-{n}", "system": name, "score": float(n)})
        for name in ("a", "b")
        for n in range(3)
    ]
    rows = agreement_with_method(said, {}, records[:3], name="r")
    assert values(rows, "pearson", level="sentence") == [pytest.approx(1)]
    with pytest.raises(BabelscopeError, match="item SECRET-0 has verdicts on 2 systems"):
        agreement_with_method(said, {}, records, name="r")
    with pytest.raises(BabelscopeError, match="r:0: item SECRET-0 has a verdict already, at r:0"):
        agreement_with_method(said, {}, [*records[:3], records[0]], name="r")
    with pytest.raises(BabelscopeError, match="r:0 has no number in `top_kqrg`; name the right one"):
        agreement_with_method(said, {}, records[:3], name="r", field="top_kqrg")
    with pytest.raises(BabelscopeError, match="none of the judged items"):
        agreement_with_method(said, {}, [("r:9", {"id": "other", "score": 1.0})], name="r")


def test_scores_of_systems_are_correlated_as_in_table_4(tmp_path: Path, babelscope: Babelscope) -> None:
    systems = ("a", "b", "c")
    lists = [
        item("ranking", f"{n}", source=f"It rains {n}.", system=name) for name in systems for n in range(4)
    ]
    items = write_items(tmp_path / "lists.jsonl", lists)
    overall = {"anna": [1, 2, 1, 2, 3, 3, 2, 3, 5, 4, 5, 5], "bert": [1, 1, 1, 2, 3, 2, 2, 3, 5, 5, 5, 4]}
    answer(
        items,
        {name: [{"scores": [1, 2, 3], "overall": each} for each in own] for name, own in overall.items()},
    )
    run = tmp_path / "run"
    run.mkdir()
    cell = {"method": "space", "tests": "t", "item": 0}
    records = [
        {**cell, "system": each["system"], "id": each["id"], "top_kqrg": n / 12}
        for n, each in enumerate(lists)
    ]
    write_items(run / "records.jsonl", records)
    ran = babelscope("agreement", str(items), "--verdicts", str(run), "--json")
    assert (ran.code, ran.err) == (0, "")
    found = {(row["annotators"], row["level"], row["name"]): row for row in ran.rows if "verdicts" in row}
    mean = np.mean(list(overall.values()), axis=0)
    sentence = found["all", "sentence", "pearson"]
    assert sentence["value"] == pytest.approx(np.corrcoef(mean, np.arange(12))[0, 1])
    assert (sentence["n"], sentence["metric"], sentence["verdicts"]) == (12, "top_kqrg", "space")
    assert found["anna", "system", "spearman"]["value"] == pytest.approx(1)
    assert found["anna", "system", "spearman"]["n"] == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing.jsonl"], "nothing.jsonl: no such file"),
        (["other.jsonl"], "other.jsonl has no answers of `babelscope annotate`; released files need --task"),
        (["queue.jsonl", "other.jsonl"], "other.jsonl has no answers"),
        (["queue.jsonl", "--set", "field=x"], "--field only applies to the records of --verdicts"),
    ],
)
def test_bad_usage_is_told(queue: Path, babelscope: Babelscope, arguments: list[str], told: str) -> None:
    answer(queue, {"anna": [RIGHT] * 6, "bert": [RIGHT] * 6})
    write_items(queue.with_name("other.jsonl"), [item("mucow")])
    ran = babelscope("agreement", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_the_gender_asked_for_is_read_from_the_items(tmp_path: Path) -> None:
    golds = ["male", "female", "neutral"]
    items = write_items(tmp_path / "w.jsonl", [item("winomt", n, gold=gold) for n, gold in enumerate(golds)])
    both = "Both / Neutral / Ambiguous"
    answer(items, {"anna": ["Male", both, both], "bert": ["Female", both, "Male"]})
    (binary,) = [row for row in people(items) if row.name == "agreement" and row.labels["labels"] == "binary"]
    assert (binary.estimate.value, binary.estimate.n, binary.counts["skipped"]) == (0.5, 2, 1)
    items.unlink()
    paths = sorted(tmp_path.glob("*.answers.*"))
    with pytest.raises(BabelscopeError, match="it must lie beside the answers, unchanged"):
        agreement_between_people(read_annotators(paths), items_of(paths))


@pytest.mark.parametrize(
    ("task", "raw", "decided"),
    [("mucow", (0.376238, 185), (0.917526, 96)), ("winomt", (0.952534, 200), (0.952696, 200))],
)
def test_the_published_labels_given_as_answers_have_the_published_kappas(
    shared: Path, tmp_path: Path, task: str, raw: tuple[float, int], decided: tuple[float, int]
) -> None:
    folder = shared / "data" / "human-validation" / task
    released = {
        name: {row["Sample ID"]: row for _, row in read_json_lines(folder / f"en-de.annotator{name}.jsonl")}
        for name in "12"
    }
    samples = {**released["2"], **released["1"]}
    items = write_items(tmp_path / "queue.jsonl", [{**row, "id": sample} for sample, row in samples.items()])
    said = {
        name: [own[sample]["label"][0] if sample in own else None for sample in samples]
        for name, own in released.items()
    }
    kappas = [row for row in people(answer(items, said, task)) if row.name == "kappa"]
    assert [(round(row.estimate.value, 6), row.estimate.n) for row in kappas] == [raw, decided]


def test_many_annotators_are_refused_before_every_two_are_compared(tmp_path: Path) -> None:
    items = write_items(tmp_path / "q.jsonl", [item("assessment", 1)])
    (task,) = read_tasks(items)
    line = {"id": task.id, "item": task.digest, "task": task.kind, "answer": {"score": 1}}
    write_items(
        tmp_path / "q.answers.x.jsonl", [{**line, "item": str(n), "annotator": f"a{n}"} for n in range(5000)]
    )
    with pytest.raises(
        BabelscopeError, match="5,000 annotators: every two are compared, so 100 are the most"
    ):
        people(items)
