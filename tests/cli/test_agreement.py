"""`babelscope agreement --human`: translations scored by metrics beside human scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from babelscope.metrics.base import Segment, sentence_qualities
from tests.support.toy_fixtures import Babelscope

REFERENCE = "der alte Mann liest ein Buch"
TEXTS = [REFERENCE, "der alte Mann liest", "ein Buch der Mann", "Haus"]
RECORDS = [
    {"system": system, "id": number, "source": "s", "translation": text, "references": [REFERENCE]}
    for system, texts in (("one", TEXTS), ("two", TEXTS[::-1]))
    for number, text in enumerate(texts)
]


def write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_translations_are_scored_by_each_metric_higher_is_better(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    records = write(tmp_path / "records.jsonl", RECORDS)
    quality = sentence_qualities("ter", [Segment("s", str(r["translation"]), (REFERENCE,)) for r in RECORDS])
    human = write(
        tmp_path / "human.jsonl",
        [
            {"system": record["system"], "id": record["id"], "score": value}
            for record, value in zip(RECORDS, quality, strict=True)
        ],
    )
    metrics = ("--metric", "ter", "--metric", "chrf")
    rows = babelscope("agreement", records, "--human", human, *metrics, "--json").rows
    values = {
        row["metric"]: row["value"] for row in rows if (row["name"], row["level"]) == ("pearson", "sentence")
    }
    assert list(values) == ["ter", "chrf"]
    assert values["ter"] == pytest.approx(1)
    assert 0.5 < values["chrf"] < 1
    again = write(tmp_path / "again.jsonl", RECORDS)
    both = babelscope("agreement", records, again, "--human", human, "--metric", "ter", "--json").out
    assert {json.loads(line)["metric"] for line in both.split("\n")[:-1]} == {"records ter", "again ter"}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"translation": None}, "records.jsonl:1 needs the texts 'source' and 'translation'"),
        ({"references": []}, "and a list 'references'"),
        ({"references": "der"}, "and a list 'references'"),
    ],
)
def test_records_without_texts_are_told(
    babelscope: Babelscope, tmp_path: Path, changed: dict[str, object], told: str
) -> None:
    records = write(tmp_path / "records.jsonl", [{**RECORDS[0], **changed}])
    human = write(tmp_path / "human.jsonl", [{"system": "one", "id": 0, "score": 1}])
    ran = babelscope("agreement", records, "--human", human, "--metric", "chrf")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
