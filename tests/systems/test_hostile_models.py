"""Model folders made to harm: each ends in a sentence, soon, without much memory, code run or files elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile_folders import CASES, OUTSIDE
from tests.support.models import build_causal, spec

ctranslate2 = pytest.importorskip("ctranslate2")
OPENER = Path(__file__).parents[1] / "support" / "hostile_opener.py"


@pytest.fixture(scope="module")
def outcomes(checkpoint: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process said that opened all hostile folders."""
    place = tmp_path_factory.mktemp("hostile")
    outside = place / OUTSIDE
    shutil.copytree(checkpoint("marian", seed=2), outside)
    os.mkfifo(outside / "pipe")
    good = {"hf": checkpoint("marian"), "t5": checkpoint("t5"), "llm": build_causal(place / "good-llm")}
    good["ct2"] = place / "good-ct2"
    ctranslate2.converters.TransformersConverter(str(good["hf"])).convert(str(good["ct2"]))

    def name(kind: str, folder: Path) -> str:
        if kind == "llm":
            return f"llm:{folder}?source=English&target=German&max_length=60"
        if kind == "ct2":
            return f"ct2:{folder}?tokenizer={good['hf']}"
        return spec("marian" if kind == "hf" else kind, folder)

    hostile = {}
    for case, what in CASES.items():
        folder = place / case
        shutil.copytree(good[what.kind], folder)
        what.spoil(folder)
        hostile[case] = name(what.kind, folder)
    asked = {
        "good": [name(kind, folder) for kind, folder in good.items()],
        "hostile": hostile,
        "outside": str(outside),
    }
    done = subprocess.run(
        [sys.executable, str(OPENER)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "TMPDIR": str(place)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert not (outside / "canary").exists(), "somebody's code was run"
    assert not list(place.glob("babelscope-*")), "temporary folders are taken away"
    return {told["case"]: told for told in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_folder_is_refused_or_held(case, outcomes):
    told = outcomes[case]
    assert told["seconds"] < 10
    assert told["kilobytes"] < 500_000
    assert told["opened"] == [], "a path outside the folder was opened"
    if not CASES[case].said:
        assert told["score"] < 0, told
        return
    assert told.get("ours"), told
    assert re.search(CASES[case].said, told["said"]), told["said"]
    assert "\n" not in told["said"]
    assert "babelscope-" not in told["said"], "the folder is named as its owner knows it"
