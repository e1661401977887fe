"""Beyond two: neutral cues, tags before the source, and how many male translations there are for a female one."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope import condition
from babelscope.core.results import Record, Result, Row
from babelscope.core.system import Asked, Fingerprint, Scored, Target, as_question
from babelscope.lab.experiments.demo import decided_by_all, lost_in
from babelscope.methods.condition.figures import ConditionSettings
from babelscope.methods.condition.method import Condition
from babelscope.methods.patterns.mucow import MucowSettings
from babelscope.methods.patterns.winomt import WinomtSettings
from babelscope.stats.intervals import proportion
from babelscope.testsets import AmbiguousSource, TestSet, load
from tests.support.results import comparison_of as group_of
from tests.support.toy_fixtures import Babelscope

WORDS = {"male": "Koch", "female": "Köchin", "neutral": "Kochkraft"}


class GenderReader:
    """An evaluator that finds a translation likely if the cue, in brackets or a tag, says its gender."""

    name = "reader"
    fingerprint = Fingerprint("reader")

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        found = []
        for asked, target in pairs:
            source, text = as_question(asked).source, str(target)
            told = next(
                name for name in ("female", "male", "neutral") if f"{name}]" in source or f"{name}>" in source
            )
            likely = WORDS[told] in text.split()
            found.append(Scored(text, ("x",), (math.log(0.9 if likely else 0.1),)))
        return found


def judged(tmp_path: Path, options: str, translations: Sequence[str], golds: Sequence[str]) -> Result:
    rows = (f"{gold}\t1\tThe cook slept {n} times.\tcook\n" for n, gold in enumerate(golds))
    (tmp_path / "w.tsv").write_text("".join(rows))
    items = load(f"winomt:{tmp_path}/w.tsv?{options}").items_of(AmbiguousSource, what_for="this test")
    given = [
        AmbiguousSource.from_json({**item.as_json(), "translation": text})
        for item, text in zip(items, translations, strict=True)
    ]
    return condition("items:translations", given, evaluator=GenderReader(), protocol="paper", preflight=0)


def named(result: Result, name: str, **labels: str) -> Row:
    (row,) = (row for row in result.rows if row.name == name and labels.items() <= dict(row.labels).items())
    return row


def test_three_genders(tmp_path: Path) -> None:
    golds = ["male", "female", "neutral", "neutral", "neutral"]
    texts = ["Der Koch", "Der Koch", "Die Kochkraft", "Der Koch", "Die Köchin"]
    result = judged(tmp_path, "genders=three", texts, golds)
    assert [record["verdict"] for record in result.records] == [
        "correct",
        "wrong",
        "correct",
        "wrong",
        "wrong",
    ]
    assert named(result, "neutral unweighted").estimate.value == pytest.approx(1 / 3)
    assert named(result, "minimum").labels["lowest"] == "female"
    ratio = named(result, "male_to_female")
    assert (ratio.estimate.value, ratio.estimate.n) == (pytest.approx(3), 4)
    assert {name: count for name, count in ratio.counts.items() if name != "skipped"} == {
        "male": 3, "female": 1, "neutral": 1, "meant_male": 1, "meant_female": 1, "meant_neutral": 3,
    }  # fmt: skip
    for name, share in (("male", 1 / 3), ("female", 1 / 3), ("neutral", 1 / 3)):
        assert named(
            result, "translated as", category="neutral", **{"as": name}
        ).estimate.value == pytest.approx(share)
    assert named(result, "translated as", category="female", **{"as": "male"}).estimate.value == 1


@pytest.mark.parametrize("options", ["neutral=no", "tag=<{}>", "paper_cues=yes"])
def test_two_genders_by_words_tags_and_as_released(tmp_path: Path, options: str) -> None:
    golds = ["male", "female"] * 10
    texts = ["Der Koch"] * 15 + ["Die Köchin"] * 5
    result = judged(tmp_path, options, texts, golds)
    ratio, share = named(result, "male_to_female"), proportion(15, 20)
    assert (ratio.estimate.value, ratio.estimate.n) == (pytest.approx(3), 20)
    assert ratio.estimate.low == pytest.approx(share.low / (1 - share.low), rel=0.05)
    assert named(result, "all").estimate.value == pytest.approx(sum(
        (gold == "male") == ("Koch" in text.split()) for gold, text in zip(golds, texts, strict=True)
    ) / 20)  # fmt: skip
    assert not any(row.name == "translated as" for row in result.rows)
    last = Condition().tables(result.groups[0])[0].lines[-1]
    assert (last.cells[0], last.cells[-1]) == ("male per female", "unknown")


def test_only_male_forms_make_an_infinite_ratio(tmp_path: Path) -> None:
    row = named(judged(tmp_path, "neutral=no", ["Der Koch"] * 4, ["male", "female"] * 2), "male_to_female")
    assert row.estimate.value == math.inf
    assert 0 < row.estimate.low < math.inf
    written: dict[str, Any] = json.loads(json.dumps(row.as_json()))
    assert (written["value"], written["female"]) == (None, 0)


def record(number: int, margin: float, noise: float = 0.1) -> Record:
    verdict = "undecided" if abs(margin) <= noise else "correct" if margin > 0 else "wrong"
    return {
        "id": f"item-{number}",
        "skipped": None,
        "verdict": verdict,
        "correct_logprob": -1.0,
        "incorrect_logprob": -1.0 - margin,
    }


def records(*margins: float) -> list[Record]:
    return [record(number, margin) for number, margin in enumerate(margins)]


GROUP = group_of(
    {
        "teacher": records(1.0, 0.5, 2.0, -1.0, 0.05, 1.0),
        "control": records(0.2, 0.9, 0.3, 1.0, 1.0, -1.0),
        "student": records(-0.5, -0.6, 1.0, -2.0, -3.0, -2.0),
    }
)


def test_the_largest_gap_to_the_least_sure_keeper_is_first() -> None:
    found = lost_in(GROUP, "student", ["teacher", "control"])
    # Item 2 is right in all, 3 wrong in the teacher, 4 undecided in the teacher, 5 wrong in the control.
    assert [own["student"]["id"] for own in found] == ["item-1", "item-0"]
    assert set(found[0]) == {"teacher", "control", "student"}


def test_only_items_with_all_verdicts_are_counted() -> None:
    assert decided_by_all(GROUP, ["student", "control"]) == 6
    assert decided_by_all(GROUP, ["student", "teacher"]) == 5
    skipped = [{**each, "skipped": "no cue"} for each in records(-1.0)]
    assert decided_by_all(group_of({"one": skipped}), ["one"]) == 0


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    items = [AmbiguousSource(f"i{n}", f"a {n}", (f"r {n}",), (f"w {n}",), "c") for n in range(4)]
    TestSet("t", tuple(items)).write(tmp_path / "t.jsonl")
    scores = (0.9, 0.5, 0.5, 0.3)
    (tmp_path / "s.tsv").write_text("".join(f"{math.log(p)!r}\t{math.log(1 - p)!r}\n" for p in scores))


ASKED = (
    "condition",
    "--tests",
    "t.jsonl",
    "--system",
    "items:translations",
    "--evaluator",
    "scores:s.tsv",
    "--json",
)


def figures(babelscope: Babelscope, *more: str) -> tuple[float, float, list[dict[str, Any]]]:
    """Accuracy, weighted accuracy, and the records."""
    run = tempfile.mkdtemp(dir=".")
    rows = {row["name"]: row["value"] for row in babelscope(*ASKED, "--out", run, *more).rows}
    lines = Path(run, "records.jsonl").read_text().splitlines()
    return rows["all"], rows["weighted"], [json.loads(line) for line in lines]


def test_a_protocol_stands_for_several_settings(babelscope: Babelscope) -> None:
    accuracy, weighted, records = figures(babelscope, "--protocol", "paper")
    # Section 3.4: correct is what scores above 0.5; the two ties share the weights 2 and 1.
    assert (accuracy, weighted) == (0.25, 4 / 10)
    assert [record["weight"] for record in records] == [4, 1.5, 1.5, 3]
    accuracy, weighted, records = figures(babelscope, "--protocol", "released")
    assert (accuracy, weighted) == (0.75, pytest.approx(7 / 10))
    assert [record["weight"] for record in records] == [4, 2, 1, 3]
    assert records[0]["score"] == pytest.approx(
        2 ** math.log(0.9) / (2 ** math.log(0.9) + 2 ** math.log(0.1))
    )


def test_studies_and_python_have_it_too() -> None:
    assert ConditionSettings(protocol="paper").ties == "wrong"
    assert ConditionSettings(protocol="paper").preflight == 0
    assert ConditionSettings(protocol="paper", preflight=9).preflight == 9
    assert ConditionSettings(protocol="paper", ties="half").ties == "half"
    assert ConditionSettings().ties == "correct"
    released = ConditionSettings(protocol="released")
    assert (released.tied_weights, released.score_base) == ("order", "2")
    assert WinomtSettings(target="de", protocol="paper").intermediate_rounding == "published"
    assert WinomtSettings(target="de").intermediate_rounding == "exact"
    assert MucowSettings(protocol="paper").word_matching == "conditioning"
    for settings in (released, ConditionSettings(protocol="paper", ties="half")):
        assert ConditionSettings.model_validate(settings.model_dump()) == settings
