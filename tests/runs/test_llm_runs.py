"""A study of a decoder-only model: plain, in shards, over Ray, killed and gone on with, the same to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from babelscope.runs.study import run_study
from babelscope.systems.clusters import connect, disconnect
from tests.support.killing import Killer
from tests.support.same_runs import assert_same

STUDY = """
[[systems]]
spec = "lab:llm"
[[tests]]
name = "parallel"
spec = "lab:parallel?n=5&seed=3"
[[tests]]
name = "pairs"
spec = "lab:pairs?n=1&seed=3"
[[tests]]
name = "gender"
spec = "lab:gender?n=4&seed=3"
[[methods]]
name = "space"
tests = ["parallel"]
k = 2
samples = 4
budget_expansions = 40
[[methods]]
name = "contrast"
tests = ["pairs"]
[[methods]]
name = "condition"
tests = ["gender"]
evaluator = "lab:llm"
[run]
chunk = 2
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The study's folder of a plain run, on one thread, as each Ray worker has."""
    import torch

    folder = tmp_path_factory.mktemp("llm")
    (folder / "study.toml").write_text(STUDY)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    run_study(folder / "study.toml", out=folder / "plain")
    yield folder
    torch.set_num_threads(threads)


@pytest.mark.slow
def test_over_ray(plain: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    connect(2, None, 1)
    try:
        run_study(plain / "study.toml", out=tmp_path / "spread", ray="", workers=2)
    finally:
        disconnect()
    assert_same(tmp_path / "spread", plain / "plain")


@pytest.mark.slow
def test_killed_and_gone_on_with(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "study.toml").write_text(STUDY + f'out = "{tmp_path / "killed"}"\n')
    records = tmp_path / "killed" / "records.jsonl"
    at_work, seconds = 0, 0.5
    with Killer("babelscope.runs.study:run_study", [], preload=["babelscope.systems.models.llm"]) as killer:
        while not killer.run(str(tmp_path / "study.toml"), kill_after=seconds):
            at_work += records.exists() and records.stat().st_size > 0
            seconds *= 1.2
    assert at_work
    assert_same(tmp_path / "killed", plain / "plain")
