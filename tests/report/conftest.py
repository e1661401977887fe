"""A real run on the lab, small: every method, two systems; and the page made of it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from babelscope.lab.experiments.demo import write_flows
from babelscope.report.page import write_report
from babelscope.runs.study import Study, run_study

STUDY = {
    "study": {"name": "small"},
    "systems": [{"name": "teacher", "spec": "lab:teacher"}, {"name": "student", "spec": "lab:student"}],
    "tests": [
        {"name": "sentences", "spec": "lab:challenge?n=24&seed=2026"},
        {"name": "a few", "spec": "lab:parallel?n=4&seed=2026"},
        {"name": "pairs", "spec": "lab:pairs?n=3&seed=2026"},
        {"name": "he and she", "spec": "lab:gender?n=8&seed=2026"},
    ],
    "methods": [
        {"name": "likelihood", "tests": ["sentences"]},
        {"name": "contrast"},
        {"name": "condition", "evaluator": "lab:teacher"},
        {
            "name": "challenge",
            "tests": ["sentences"],
            "distances": [0, 1, 2],
            "matched_corpora": 10,
            "length_corpora": 4,
        },
        {
            "name": "space",
            "tests": ["a few"],
            "k": 4,
            "samples": 20,
            "curves": True,
        },
    ],
}


@pytest.fixture(scope="session")
def lab_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder, with the counts of a Sankey diagram and the report; made once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = base / "lab-run"
    with open(base / "lab-run.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "report.html").exists():
            run_study(Study.model_validate(STUDY), out=folder)
            write_flows(folder, 10)
            write_report([folder], folder / "report.html")
    return folder


@pytest.fixture(scope="session")
def lab_page(lab_run: Path) -> Path:
    """Its report."""
    return lab_run / "report.html"
