"""The recipes of docs/metrics.md for BLEURT and MetricX, run as they stand there with stand-ins for the two."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from babelscope.metrics.base import find_metric
from babelscope.util.errors import SystemFailure

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
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
        r"^```python\n(# (\w+\.py),.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    ):
        (tmp_path / script[1]).write_text(script[0])
    for path, text in (("bleurt/score.py", BLEURT), ("metricx24/predict.py", METRICX)):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
        (tmp_path / path).with_name("__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_bleurt(recipes: Path) -> None:
    (recipes / "bleurt" / "score.py").write_text(BLEURT.replace('print("loading")', ""))
    metric = find_metric(
        f"cmd:{sys.executable} bleurt_score.py BLEURT-20?bound=1&batch=1000000&timeout=86400"
    )
    found = metric.sentence(["a b", "c d"], [["a x"], ["y", "c d", "c"]], ["s", "t"])
    assert found == [0.5, 1], "of several references the best"
    assert metric.scale.best_quality == 1


def test_what_a_library_prints_is_no_number(recipes: Path) -> None:
    assert recipes
    metric = find_metric(f"cmd:{sys.executable} bleurt_score.py BLEURT-20?bound=1")
    with pytest.raises(SystemFailure, match="was given 1 lines but wrote 2"):
        metric.sentence(["a"], [["a"]], ["s"])


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
