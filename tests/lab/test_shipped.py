"""What the lab offers as a plug-in: models that open, translate and are small, test sets, queries and parsers."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from babelscope import contrast, load, open_system
from babelscope.core.registry import resolve
from babelscope.core.results import credit
from babelscope.lab.experiments.truth import evaluate
from babelscope.lab.grammar.worlds import EASY, HARD
from babelscope.lab.plugin import MODELS
from babelscope.lab.shipped import model_names, read_card
from babelscope.lab.training.checkpoints import CARD
from babelscope.lab.training.recipe import jobs
from babelscope.lab.training.text import FILES
from babelscope.making.flows import read_queries
from babelscope.testsets.items import AmbiguousSource, MinimalPair, ParallelSentence
from babelscope.util.errors import BabelscopeError


def test_all_kinds_are_there_and_small() -> None:
    assert {"teacher", "student", "control", "unsmoothed", "llm"} <= set(model_names(EASY))
    assert sum(path.stat().st_size for path in (MODELS / "llm").iterdir()) < 2_000_000
    assert {"hard-teacher", "hard-student", "hard-control", "hard-unsmoothed"} <= set(model_names(HARD))
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) < 25_000_000


def test_every_model_has_a_card_and_opens() -> None:
    for name in model_names():
        known = read_card(name)
        assert known["dev_loss"] < 1, name
        assert known["command"].startswith("babelscope lab "), name
        system = open_system(f"lab:{name}")
        [[scored]] = system.translate(["The dog sleeps in the garden."])
        assert scored.text.endswith("."), name
        assert scored.notes == ()
    assert read_card("unsmoothed")["label_smoothing"] == 0
    assert "distilled" in read_card("student")


def test_the_teacher_knows_its_grammar() -> None:
    """A small share of `babelscope lab evaluate`, on sentences of its own."""
    rows = evaluate(open_system("lab:teacher"), n=60, seed=4711)
    figures = {(row.name, row.labels.get("category")): row.estimate.value for row in rows}
    for name in ("agreement", "case", "particle", "order"):
        assert figures[name, None] >= 0.95, name
    assert figures["gender", "female"] >= 0.85
    assert figures["sense", "rare"] >= 0.6


def test_names_that_are_not_there() -> None:
    with pytest.raises(BabelscopeError, match="no lab model 'teecher'; did you mean lab:teacher"):
        open_system("lab:teecher")
    with pytest.raises(BabelscopeError, match="there are parallel, challenge, pairs, gender, "):
        load("lab:nothing")
    with pytest.raises(BabelscopeError, match=r"no lab queries 'verbs'; there are occupations, senses"):
        read_queries("lab:verbs")


def test_lab_test_sets() -> None:
    kinds = {
        "parallel": ParallelSentence,
        "pairs": MinimalPair,
        "gender": AmbiguousSource,
        "senses": AmbiguousSource,
    }
    for name, kind in kinds.items():
        tests = load(f"lab:{name}?n=4&seed=8")
        assert tests.kind is kind
        assert tests.digest == load(f"lab:{name}?n=4&seed=8").digest
        assert tests.digest != load(f"lab:{name}?n=4&seed=9").digest


def test_pronouns_need_the_sentences_before() -> None:
    """Chance is one in three: whoever does not read as far as the thing gets one item right of each three."""
    tests = load("lab:pronouns?n=90&seed=8")
    reads = {0: 60, 1: 40, 2: 20, 3: 0}

    def errors(spec: str) -> float:
        result = contrast(open_system(spec), tests, discrepancy="none")
        return sum(1 - credit("half")[record["verdict"]] for record in result.records)

    for sentences, wrong in reads.items():
        spec = f"lab:context?context={sentences}&context_target=no"
        assert errors(spec) == pytest.approx(wrong, abs=1), spec
        if sentences:
            assert errors(f"{spec}&context_order=random") > 45, spec
            assert errors(spec.replace("lab:context", "lab:student")) > 45, spec
    with pytest.warns(match="does not read context"):
        assert errors("lab:student") == 60


def test_models_are_made_after_what_they_need() -> None:
    all_jobs = jobs([1, 2, 3])
    assert len({job.name for job in all_jobs}) == len(all_jobs) == 14
    for place, job in enumerate(all_jobs):
        needed = {Path(need).parent.name for need in job.needs}
        assert needed <= {earlier.name for earlier in all_jobs[:place]}
        if job.name.startswith("teacher"):
            assert all(need.endswith(FILES[-1]) for need in job.needs), "no teacher waits for another's end"
        if job.name.startswith("student"):
            assert job.needs == (f"{job.name.replace('student', 'teacher')}/{CARD}",)


HOME = Path(__file__).parents[2]
DECLARED = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
PLACES = [
    (group, name, place)
    for group, entries in DECLARED.items()
    for name, place in entries.items()
    if place.startswith("babelscope.lab")
]


@pytest.mark.parametrize(("group", "name", "place"), PLACES)
def test_what_is_declared_is_there_and_installed(group: str, name: str, place: str) -> None:
    assert resolve(place) is not None
    (installed,) = metadata.entry_points(group=group, name=name)
    assert installed.value == place


def test_nothing_below_the_command_line_names_the_lab() -> None:
    package = HOME / "src" / "babelscope"
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] not in ("lab", "cli"):
            assert not re.search(r"babelscope[./]lab\b", path.read_text(encoding="utf-8")), path
