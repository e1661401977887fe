"""What cannot be done is refused before any system is asked, with the names of method and test set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from babelscope.methods.base import set_up
from babelscope.methods.jobs import Job
from babelscope.runs.execute import chunk_size
from babelscope.testsets import ParallelSentence
from babelscope.testsets.items import TestSet

PARTICLE = {"phenomenon": "particle", "side": "source", "head": 2, "dependent": 5, "distance": 2}
STUDY = """
[[systems]]
spec = "toy:1"
[[tests]]
name = "dependencies"
spec = "challenge.jsonl"
[[tests]]
name = "sentences"
spec = "plain.jsonl"
[[methods]]
name = "challenge"
"""


@pytest.fixture(autouse=True)
def no_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Test sets of a few sentences, and no system that may be asked."""

    def refuse(*_: object) -> None:
        raise AssertionError("a system was asked")

    monkeypatch.setattr(Job, "judge", refuse)
    sentences = [{"id": str(n), "source": f"a {n}", "reference": "b", "domain": f"d{n}"} for n in range(60)]
    for name, found in (("challenge", [PARTICLE]), ("plain", None)):
        more = {} if found is None else {"dependencies": found}
        lines = [json.dumps({**each, **more}) + "\n" for each in sentences]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            ("challenge", "--tests", "plain.jsonl"),
            "challenge cannot judge the test set plain: item 0 has no field 'dependencies'",
        ),
        (
            ("challenge", "--tests", "challenge.jsonl", "--set", "queue_distances=7"),
            "challenge cannot judge the test set challenge: there is no dependency of distance 7 to be annotated",
        ),
        (
            ("challenge", "--tests", "challenge.jsonl", "--set", "answers=plain.jsonl.missing"),
            "plain.jsonl.missing",
        ),
        (("likelihood", "--tests", "plain.jsonl", "--group-by", "domian"), "items have no field 'domian'"),
        (
            ("likelihood", "--tests", "plain.jsonl", "--group-by", "domain"),
            "items have 60 values of 'domain'",
        ),
    ],
)
def test_a_command_that_must_fail_asks_nobody(babelscope, asked, told):
    ran = babelscope(*asked, "--system", "toy:1")
    assert ran.code == 2
    assert told in " ".join(ran.err.split())


def test_a_parallel_set_beside_a_challenge_set_is_named(babelscope, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    ran = babelscope("run", "study.toml")
    assert ran.code == 2
    told = " ".join(ran.err.split())
    assert "challenge cannot judge the test set sentences: item 0 has no field 'dependencies'" in told
    assert "if it is not for challenge, say tests = [...] in its table" in told


def test_a_seed_group_of_one_system_is_refused(babelscope, tmp_path):
    study = STUDY.replace('name = "sentences"\nspec = "plain.jsonl"', "").replace("[[tests]]\n\n", "")
    (tmp_path / "study.toml").write_text(f'[study]\nseed_groups = ["toy:*"]\n{study}')
    ran = babelscope("run", "study.toml")
    assert (ran.code, "needs at least two systems" in " ".join(ran.err.split())) == (2, True)


def test_items_that_take_seconds_are_asked_in_small_chunks():
    tests = [TestSet("t", tuple(ParallelSentence(str(n), "a", ("b",)) for n in range(300)))]
    space, likelihood = set_up("space", {}), set_up("likelihood", {})
    assert chunk_size([likelihood], [], tests) == 128
    assert chunk_size([space], [], tests) == 16
    assert chunk_size([likelihood, space], [], tests) == 16
    assert chunk_size([space], [], tests, 50) == 50
