"""Programs and servers that change during a run, or answer what cannot be: noticed before anything is stored."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from pathlib import Path

import pytest

from babelscope.runs.study import run_study
from babelscope.systems.contract import scored_from_json
from babelscope.systems.registry import open_system
from babelscope.testsets import AmbiguousSource, TestSet
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.text import json_number

PYTHON = shlex.quote(sys.executable)
# Translates every source by its word; in its second run it is edited first, as by somebody at work.
PROGRAM = """import os, pathlib, sys
me, count = pathlib.Path(__file__), pathlib.Path("count")
runs = int(count.read_text()) if count.exists() else 0
count.write_text(str(runs + 1))
if runs == EDITED: me.write_text(me.read_text().replace("WORD = 'a'", "WORD = 'b'"))
WORD = 'a'
for line in sys.stdin: print(WORD)
"""
STUDY = f"""
[[systems]]
name = "program"
spec = "cmd:{PYTHON} program.py"
[[tests]]
spec = "tests.jsonl"
[[methods]]
name = "condition"
evaluator = "toy:2"
preflight = 0
[run]
chunk = 2
"""


@pytest.fixture
def study(tmp_path: Path, toy_schemes: None) -> Path:  # noqa: ARG001
    items = [AmbiguousSource(f"{n}", f"a {n}", (f"r {n}",), (f"w {n}",), "male") for n in range(6)]
    TestSet("tests", tuple(items)).write(tmp_path / "tests.jsonl")
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "program.py").write_text(PROGRAM.replace("EDITED", "1"))
    return tmp_path / "study.toml"


def test_a_program_edited_in_the_middle_stores_nothing_more(study, tmp_path):
    right = (tmp_path / "program.py").read_text()
    with pytest.raises(SystemFailure, match=r"program.py was changed or removed while it was in use"):
        run_study(study, out=tmp_path / "run")
    stored = (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    assert [json.loads(line)["translation"] for line in stored] == ["a", "a"]
    # The changed program is another system, and cannot go on with the run; the old one can.
    with pytest.raises(BabelscopeError, match=r"holds another run \(config.systems\[0\].model"):
        run_study(study, out=tmp_path / "run")
    (tmp_path / "program.py").write_text(right)
    assert run_study(study, out=tmp_path / "run").rows
    stored = (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    assert [json.loads(line)["translation"] for line in stored] == ["a"] * 6


def test_a_program_that_is_only_touched_goes_on(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys\nfor line in sys.stdin: print('a')\n")
    system = open_system(f"cmd:{PYTHON} {program}")
    before = system.fingerprint
    os.utime(program, (1, 1))
    assert system.translate(["x"])[0][0].text == "a"
    program.unlink()
    with pytest.raises(SystemFailure, match="was changed or removed"):
        system.translate(["x"])
    assert system.fingerprint == before


def test_a_boolean_is_no_number_wherever_numbers_are_read(tmp_path):
    assert [json_number(each) for each in (0, -1.5, True, False, "1", None, [1], 10**400)] == [
        0.0, -1.5, None, None, None, None, None, None,
    ]  # fmt: skip
    stored = {"text": "a", "tokens": ["a"], "notes": []}
    assert scored_from_json({**stored, "logprobs": [None]}).logprobs == (-math.inf,)
    with pytest.raises(ValueError, match="False is not a number"):
        scored_from_json({**stored, "logprobs": [False]})
    (tmp_path / "lists.jsonl").write_text('{"id": 1, "text": "a", "logprob": false}\n')
    with pytest.raises(BabelscopeError, match=r"lists.jsonl:1: logprob must be a number, not 'false'"):
        open_system(f"lists:{tmp_path / 'lists.jsonl'}")
