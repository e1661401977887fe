"""Runs of the methods that ask in words: in shards, merged, and judged again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.replies import Reply
from babelscope.runs import opening
from babelscope.runs.rejudging import rejudge
from babelscope.runs.shards import merge
from babelscope.runs.study import Study, run_study
from babelscope.testsets import AmbiguousSource, MinimalPair
from babelscope.testsets.sets import TestSet
from tests.support.same_runs import assert_same
from tests.support.toys import ToySystem

ITEMS: dict[str, list[Any]] = {
    "contrast_answers": [
        MinimalPair(f"p{n}", f"s {n}", "ab ca", ("ab", "ca"), "cut", "human") for n in range(7)
    ],
    "condition_answers": [
        AmbiguousSource(f"a{n}", f"a {n}", (f"r {n}", f"s {n}"), (f"w {n}",), "x" if n % 2 else "y")
        for n in range(7)
    ],
}


class Talker(ToySystem):
    """A toy that answers prompts: A, B or nothing, by a hash of the prompt."""

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        return [
            Reply(("A", "B", "neither")[hashlib.sha256(each.encode()).digest()[0] % 3]) for each in prompts
        ]


@pytest.fixture(params=sorted(ITEMS))
def study(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    method = str(request.param)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(opening, "open_system", lambda spec, **_: Talker(spec))
    TestSet("items", tuple(ITEMS[method])).write(tmp_path / "items.jsonl")
    evaluator = {"evaluator": "talker"} if method == "condition_answers" else {}
    return {
        "systems": [{"spec": "first"}, {"spec": "second"}],
        "tests": [{"spec": "items.jsonl"}],
        "methods": [{"name": method, **evaluator}],
        "run": {"chunk": 2},
    }


def run(study: dict[str, Any], folder: str, **changed: Any) -> Path:
    (method,) = study["methods"]
    wanted = Study.model_validate({**study, "methods": [{**method, **changed}]})
    run_study(wanted, out=folder)
    return Path(folder)


def test_merged_shards_are_the_plain_run(study: dict[str, Any]) -> None:
    plain = run(study, "plain")
    for number in (2, 1):
        run_study(Study.model_validate(study), out=f"part-{number}", shard=f"{number}/2")
    merge(["part-1", "part-2"], "merged")
    assert_same(plain, Path("merged"))


def test_a_run_judged_again_is_the_run_that_would_have_been(study: dict[str, Any]) -> None:
    first, other = run(study, "first"), run(study, "other", undecided="wrong")
    rejudge(first, {}, out="same")
    assert_same(first, Path("same"))
    rejudge(first, {"undecided": "wrong"}, out="again")
    assert_same(other, Path("again"))
