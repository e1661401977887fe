"""Weights of verdicts, ranked over a test set or among what was annotated; table 3, EN-RU, from its rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from babelscope.stats.agreement import Verdict, parse_judgments, rank_among_annotated
from babelscope.stats.regression import regress
from tests.support.toy_fixtures import Babelscope


def judgment(row: int, gold: str, label: str) -> dict[str, object]:
    return {"Sample ID": f"s{row}", "Index": row, "Gold Gender": gold, "label": [label]}


def test_only_annotated_rows_are_ranked_within_their_category() -> None:
    rows = [(f"f:{n}", judgment(n, "male", "Male")) for n in (0, 2, 3, 5)]
    annotator = parse_judgments(rows, "winomt")
    weights = {0: 90.0, 1: 80.0, 2: 3.0, 3: 3.0, 4: 2.0, 5: 40.0}
    verdicts = [
        Verdict("", True, weight, row=row, category="female" if row == 5 else "male")
        for row, weight in weights.items()
    ]
    ranked = rank_among_annotated([annotator], verdicts)
    assert {each.row: each.weight for each in ranked} == {0: 3.0, 2: 1.5, 3: 1.5, 5: 1.0}


def test_the_command_offers_both(babelscope: Babelscope, tmp_path: Path) -> None:
    labels = {0: "Male", 1: "Female"}
    for name in ("a", "b"):
        lines = [json.dumps(judgment(row, "male", label)) for row, label in labels.items()]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    # Right on row 0, wrong on row 1; of a test set of 100 rows, 99 and 1 below the surest.
    records = [
        {"id": str(row + 1), "correct": True, "weight": weight, "category": "male", "source": ""}
        for row, weight in ((0, 99.0), (1, 1.0), (2, 100.0))
    ]
    (tmp_path / "v.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    asked = ("agreement", "--task", "winomt", "a.jsonl", "b.jsonl", "--verdicts", "v.jsonl", "--json")

    def agreed(*more: str) -> float:
        ran = babelscope(*asked, *more)
        assert ran.code == 0, ran.err
        return float(json.loads(ran.out.splitlines()[-1])["value"])

    assert agreed() == pytest.approx(99 / 100)
    assert agreed("--set", "weights=annotated") == pytest.approx(2 / 3)
    ran = babelscope(*asked[:5], "--set", "weights=annotated")
    assert (ran.code, "has no effect here" in ran.err) == (2, True)


def test_table_3_of_english_russian_differs_from_appendix_h(shared: Path) -> None:
    text = (shared / "papers" / "contrastive-conditioning.txt").read_text(encoding="utf-8")
    after = text[text.index("**EN-RU Models**") :]
    rows, distilled = [], False
    for line in after.split("\n"):
        if re.match(r"(SOTA|Scratch|Student)", line):
            distilled = line.startswith("Student")
        if (numbers := re.findall(r"\d+\.\d", line)) and len(numbers) == 7:
            bleu, *_, rare, _, _, female = map(float, numbers)
            rows.append((bleu, float(distilled), rare, female))
    assert len(rows) == 30
    for place, published, found in ((2, (1.39, -2.14), (1.549, -2.905)), (3, (2.52, -5.21), (2.502, -5.149))):
        result = regress(
            [row[place] for row in rows], {"bleu": [r[0] for r in rows], "distilled": [r[1] for r in rows]}
        )
        ours = tuple(row.estimate.value for row in result[1:])
        assert ours == pytest.approx(found, abs=0.0006)
        assert abs(ours[1] - published[1]) > 0.05, "the paper prints other figures than its rows give"
