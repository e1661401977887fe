"""A system in Ray workers answers as it does here; workers die, and nothing is lost, doubled or changed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.core.system import Budget, Fingerprint, capabilities
from babelscope.runs.execute import run_method
from babelscope.runs.study import run_study
from babelscope.systems.cache import cached
from babelscope.systems.clusters import connect, disconnect
from babelscope.systems.ray import Call, Worker, balanced_parts, spread
from babelscope.systems.registry import open_system
from babelscope.testsets import ParallelSentence, load
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support import mortal_toys
from tests.support.listening import LOOPBACK, children, listening
from tests.support.mortal_toys import MortalToy
from tests.support.same_runs import assert_same
from tests.support.toys import ToySystem

SOURCES = [f"{'abc'[number % 3] * (number % 7 + 1)} {number}" for number in range(30)]
PAIRS = [(source, "abc"[: number % 4]) for number, source in enumerate(SOURCES)]


@pytest.fixture(scope="module")
def ray(toy_folders: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Ray with two CPUs, started as we start it, whose workers know the toys."""
    ray = pytest.importorskip("ray")
    folder = tmp_path_factory.mktemp("mortal")
    mortal_toys.install(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *toy_folders]))
        patch.setenv("RAY_worker_niceness", "0")  # else every other process goes first
        patch.syspath_prepend(folder)
        study = tmp_path_factory.mktemp("study")
        with contextlib.chdir(study):
            connect(2, None, 1)
        path = ray.get(ray.remote(lambda: sys.path).remote())
        assert str(study) not in path, "workers would import what lies in a study's folder"
        assert str(folder) in path
        yield ray
        disconnect()


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 50)), max_size=30),
    st.integers(1, 5),
)
def test_parts_are_balanced(asked, most):
    sources, sizes = [source for source, _ in asked], [size for _, size in asked]
    parts = balanced_parts(sources, sizes, most)
    assert sorted(number for part in parts for number in part) == list(range(len(asked)))
    held = [{sources[number] for number in part} for part in parts]
    assert all(len(each) <= most for each in held)
    assert sum(map(len, held)) == len(set(sources)), "a source was torn apart"
    totals = [sum(sizes[number] for number in part) for part in parts]
    largest = max((sum(size for other, size in asked if other == source) for source in sources), default=0)
    assert max(totals) - min(totals) <= largest


def test_a_spread_system_is_the_plain_one(ray, toy_schemes, tmp_path):  # noqa: ARG001
    plain = ToySystem("toy:1", salt="1")
    for either in ("toy:1", plain):
        with spread(either, workers=2, part=4) as system:
            assert system.name == plain.name
            assert system.fingerprint == plain.fingerprint
            assert capabilities(system) == capabilities(plain) == {"translate", "score", "sample"}
            assert system.score(PAIRS) == plain.score(PAIRS)
            assert system.translate(SOURCES, beam=3, n_best=2) == plain.translate(SOURCES, beam=3, n_best=2)
            assert system.sample(SOURCES, n=3, seed=5) == plain.sample(SOURCES, n=3, seed=5)
            assert system.score([]) == []
            items = [ParallelSentence(str(n), s, ("ab",)) for n, s in enumerate(SOURCES)]
            theirs = run_method("likelihood", plain, items, chunk=3)
            for ours in (system, cached(system, tmp_path / "cache.sqlite")):
                result = run_method("likelihood", ours, items, chunk=3)
                assert (result.to_json(), result.records) == (theirs.to_json(), theirs.records)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_cluster_of_ours_listens_on_loopback_only(ray):  # noqa: ARG001
    found = listening(children(os.getpid()))
    names = {name for own in found.values() for name in own}
    assert {"gcs_server", "raylet"} <= names, "Ray's processes must be among those looked at"
    assert found.keys() <= LOOPBACK


def test_models_search_and_score_alike(ray, tmp_path):  # noqa: ARG001
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        plain = open_system("lab:student")
        sources = [
            item.source
            for item in load("lab:parallel?n=8&seed=3").items
            if isinstance(item, ParallelSentence)
        ]
        budget = Budget(expansions=100)
        with spread("lab:student", workers=1, part=None) as system:
            assert capabilities(plain) - capabilities(system) == {"next_tokens"}
            assert system.fingerprint == plain.fingerprint
            found = system.top_k(sources, k=3, budget=budget)
            assert found == plain.top_k(sources, k=3, budget=budget)
            # A hypothesis is scored by its own tokens, which must survive the way.
            pairs = [(source, each) for source, top in zip(sources, found, strict=True) for each in top.found]
            assert system.score(pairs) == plain.score(pairs)
            remembered = cached(system, tmp_path / "cache.sqlite")
            assert remembered.at_once == system.at_once == 2
            assert remembered.score(pairs) == plain.score(pairs)
    finally:
        torch.set_num_threads(threads)


def test_errors_come_back_as_themselves(ray, tmp_path):  # noqa: ARG001
    with spread(MortalToy("mortal", tmp_path), workers=1, part=2) as system:
        with pytest.raises(SystemFailure, match=r"^the server is down$"):
            system.score([("fail", "a")])
        with pytest.raises(ZeroDivisionError, match="a bug"):
            system.score([("bug", "a")])
        # The number is that of the whole call, in whatever part the source was.
        for place in (1, 12, len(PAIRS)):
            bad = [*PAIRS[: place - 1], ("\0", "a"), *PAIRS[place:]]
            with pytest.raises(BabelscopeError, match=f"^source {place} has a NUL"):
                system.score(bad)
        assert len(system.score(PAIRS)) == len(PAIRS)
    with pytest.raises(SystemFailure, match="were stopped"):
        system.score(PAIRS)
    with pytest.raises(BabelscopeError, match="names no system"):
        spread("nothing:1", workers=1)
    with pytest.raises(BabelscopeError, match="give its name"):
        spread(cached(ToySystem(), tmp_path / "cache.sqlite"), workers=1)
    with pytest.raises(BabelscopeError, match="needs 1 CPU and 1 GPU, which no machine"):
        spread("toy:1", gpus=1)
    with pytest.raises(BabelscopeError, match=r"cannot join 192\.0\.2\.1:6379 too"):
        spread("toy:1", address="192.0.2.1:6379")


def test_a_dead_workers_part_goes_to_another(ray, tmp_path):  # noqa: ARG001
    plain = ToySystem()
    pairs = [*PAIRS[:5], ("die once", "a"), *PAIRS[5:]]
    with spread(MortalToy("mortal", tmp_path), workers=1, part=3) as system:
        with pytest.warns(RuntimeWarning, match=r"a worker died, and another was asked to score \d sources"):
            assert system.score(pairs) == plain.score(pairs)
        assert len(set(system_processes(tmp_path))) == 2
        with pytest.raises(SystemFailure, match=r"3 workers in a row .* score 1 source with mortal, 'die'"):
            system.score([("die", "a")])
        assert len(set(system_processes(tmp_path))) == 2 + 2
        assert system.score(PAIRS) == plain.score(PAIRS), "it goes on with new workers"


def system_processes(folder: Path) -> list[int]:
    return MortalToy("", folder).processes()


def test_a_worker_refuses_another_system(toy_schemes):  # noqa: ARG001
    _, _, answer = Worker(".").ask(Call("toy:1", (), "score", PAIRS, fingerprint=Fingerprint("toy 2")))
    assert isinstance(answer, BabelscopeError)
    assert "is not what the first worker opened" in str(answer)
    assert "toy 2" in str(answer)


def test_warnings_come_back(toy_schemes, monkeypatch):  # noqa: ARG001
    import warnings

    monkeypatch.setattr(ToySystem, "_asked", lambda *_: warnings.warn("it is hot", stacklevel=1))
    toy = ToySystem(salt="1")
    _, warned, answer = Worker(".").ask(Call("toy:1", (), "score", PAIRS[:1], {}, toy.fingerprint))
    assert (len(answer), warned) == (1, ["it is hot"])


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BabelscopeError, match=r"pip install '\.\[ray\]'"):
        spread("lab:teacher")


def test_impossible_workers_are_refused():
    impossible = {
        "workers": (0, "0 workers: at least one is needed"),
        "cpus": (0, "a worker cannot have 0 CPUs"),
        "gpus": (-1, "a worker cannot have 1 CPUs and -1 GPUs"),
        "part": (0, "0 sources at once: a worker needs at least one"),
    }
    for name, (value, told) in impossible.items():
        with pytest.raises(BabelscopeError, match=told):
            spread("lab:teacher", **{name: value})  # type: ignore[arg-type]


STUDY = """
[[systems]]
name = "one"
spec = "mortal:{folder}?salt=1"
[[systems]]
name = "two"
spec = "mortal:{folder}?salt=2"
[[tests]]
name = "tests"
spec = "parallel:source.txt,reference.txt"
[[methods]]
name = "likelihood"
[run]
chunk = 5
"""
ITEMS = 80


def write_study(folder: Path) -> Path:
    (folder / "source.txt").write_text("".join(f"a{number}\n" for number in range(ITEMS)))
    (folder / "reference.txt").write_text("".join(f"{'ab' * (number % 5)}c\n" for number in range(ITEMS)))
    path = folder / "study.toml"
    path.write_text(STUDY.format(folder=folder))
    return path


@pytest.mark.slow
def test_two_kills_change_nothing_in_a_study(
    ray,  # noqa: ARG001
    babelscope,
    tmp_path,
):
    study = write_study(tmp_path)
    run_study(study, out=tmp_path / "plain")
    (tmp_path / "processes").unlink()
    (tmp_path / "slow").touch()
    records = tmp_path / "spread" / "records.jsonl"
    killed: list[int] = []

    def kill_after(stored: int) -> None:
        """Kill whoever was asked last, as soon as so many records are stored."""
        while not records.exists() or records.read_bytes().count(b"\n") < stored:
            time.sleep(0.005)
        last = next(pid for pid in reversed(system_processes(tmp_path)) if pid not in killed)
        os.kill(last, signal.SIGKILL)
        killed.append(last)

    killer = threading.Thread(target=lambda: [kill_after(stored) for stored in (10, 50)], daemon=True)
    killer.start()
    ran = babelscope(
        "run", str(study), "--ray", "--set", "workers=2", "--out", str(tmp_path / "spread"), "--json", "--no-report"
    )  # fmt: skip
    assert ran.code == 0, ran.err
    killer.join(timeout=10)
    assert len(killed) == 2
    assert ran.err.count("a worker died, and another was asked to score 5 sources") == 2
    assert len(set(system_processes(tmp_path))) > 2, "the dead were replaced"
    assert_same(tmp_path / "spread", tmp_path / "plain")
    stored = [json.loads(line) for line in records.read_text().split("\n")[:-1]]
    keys = [(record["system"], record["item"]) for record in stored]
    assert keys == [(system, item) for system in ("one", "two") for item in range(ITEMS)]
    assert all("name" in json.loads(line) for line in ran.out.split("\n")[:-1]), "Ray keeps off stdout"


def test_what_was_answered_before_an_error_is_stored(ray, tmp_path):  # noqa: ARG001
    study = write_study(tmp_path)
    (tmp_path / "source.txt").write_text("".join(f"{'fail' if n == 63 else n}\n" for n in range(ITEMS)))
    with pytest.raises(SystemFailure, match="the server is down"):
        run_study(study, out=tmp_path / "run", ray="", workers=2)
    assert (tmp_path / "run" / "records.jsonl").read_bytes().count(b"\n") == 60


def test_an_address_where_nobody_is_is_told_at_once():
    pytest.importorskip("ray")
    with pytest.raises(BabelscopeError, match=r"no Ray cluster can be joined at 127\.0\.0\.1:1 .*refused"):
        connect(1, "127.0.0.1:1", 1)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        (["--ray", "--set", "workers=3"], ""),
        (["--ray", "head:6379"], "head:6379"),
        (["--ray=10.0.0.1:6379"], "10.0.0.1:6379"),
        ([], None),
    ],
)
def test_an_address_need_not_follow(babelscope, monkeypatch, arguments, address, first):
    seen: dict[str, Any] = {}

    def ran(study, **options):
        seen.update(options, study=study)
        raise BabelscopeError("seen")

    monkeypatch.setattr("babelscope.runs.study.run_study", ran)
    monkeypatch.setattr(
        "babelscope.runs.trust.ask_permission", lambda path, **_: path
    )  # there is no such file
    told = babelscope("run", *(["study.toml", *arguments] if first else [*arguments, "study.toml"]))
    assert told.err == "babelscope: error: seen\n"
    assert (seen["study"], seen["ray"]) == (Path("study.toml"), address)
    assert seen["workers"] == (3 if "--set" in arguments else None)
