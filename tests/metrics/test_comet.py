"""`--metric comet` in an environment of its own, with a stand-in for unbabel-comet, installed by hash."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from babelscope.metrics import comet
from babelscope.metrics.base import allow_only, find_metric, is_allowed
from babelscope.metrics.comet import COMET, KIWI, environment
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support.stub_comet import build_source, build_wheel, write_requirements
from tests.support.toy_fixtures import Babelscope


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which the environment is made once, for all tests of this file that need it ready."""
    folder = tmp_path_factory.mktemp("comet")
    (folder / "wheels").mkdir()
    write_requirements(folder / "own.txt", folder / "wheels", build_wheel(folder / "wheels"))
    with pytest.MonkeyPatch.context() as patch:
        _set(patch, folder)
        frozen = _freeze()
        COMET.prepare(yes=True)
        KIWI.prepare(yes=True)
        assert _freeze() == frozen, "our own environment is as it was"
    yield folder
    for worker in comet._open.values():
        worker.close()


def _set(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setenv("BABELSCOPE_ENVIRONMENTS", str(folder / "environments"))
    patch.setenv("BABELSCOPE_COMET_REQUIREMENTS", str(folder / "own.txt"))
    patch.setenv("STUB_MODELS", str(folder))


def _freeze() -> str:
    """What pip says is installed beside us."""
    command = [sys.executable, "-m", "pip", "freeze", "--all"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def ready(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    _set(monkeypatch, made)
    return made


def test_scores_come_from_the_other_environment(ready: Path) -> None:
    assert COMET.sentence(["a b", "c"], [["a c"], ["d"]], ["x", "y"]) == [0.5, 0]
    # Of several references the best one counts; the worker stays open.
    assert COMET.sentence(["a b"], [["z", "a b", "a c"]], ["x"]) == [1]
    assert KIWI.sentence(["a b"], [()], ["b a"]) == [1], "the reference-free one is shown none"
    assert KIWI.sentence(["a b"], [["a b"]], ["b"]) == [0.5]
    loads = (ready / "loads").read_text().splitlines()
    assert len(loads) == len(set(loads)) == 2, "each model is loaded once"
    assert COMET.sentence([], [], []) == []


def test_it_is_made_once_and_reused(ready: Path, babelscope: Babelscope) -> None:
    marker = environment().folder / "ready.json"
    before = marker.stat().st_mtime_ns
    downloads = (ready / "downloads").read_text()
    ran = babelscope("data", "get", "comet", "cometkiwi")
    assert (ran.code, "comet: ready" in ran.out) == (0, True), ran.err
    assert "not the z-scores" in " ".join(ran.out.split())
    assert marker.stat().st_mtime_ns == before
    assert (ready / "downloads").read_text() == downloads
    assert len(list((ready / "environments").glob("unbabel-comet-*"))) == 1


def test_a_signature_has_the_model_and_the_packages(ready: Path) -> None:
    identity = find_metric("comet").identity
    assert re.fullmatch(r"comet wmt22-comet-da model [0-9a-f]{8} packages [0-9a-f]{8}", identity)
    assert str(ready) not in identity


@pytest.mark.parametrize(
    ("name", "scores", "identity"),
    [
        ("comet:wmt20-comet-da", [-0.5], "comet wmt20-comet-da model"),
        ("comet:Unbabel/XCOMET-XL?bound=2", [0.5], "comet XCOMET-XL model"),
        ("comet:wmt20-comet-qe-da?reference=no", [-1], "comet wmt20-comet-qe-da model"),
    ],
)
def test_any_model_can_be_named(
    ready: Path, babelscope: Babelscope, name: str, scores: list[float], identity: str
) -> None:
    assert ready
    metric = find_metric(name)
    with pytest.raises(BabelscopeError, match=re.escape(f"make them with: babelscope data get {name}")):
        metric.sentence(["a b"], [["a c"]], ["x"])
    done = babelscope("data", "get", name, "--yes")
    assert done.code == 0, done.err
    assert metric.sentence(["a b"], [["a c"]], ["x"]) == scores
    assert metric.identity.startswith(identity)
    assert metric.identity.split()[6:] == name.split("?")[1:]
    assert metric.scale.best_quality == (2 if "bound" in name else 1)
    assert ("z-scores" in metric.scale.describe()) == (name == "comet:wmt20-comet-da")
    with allow_only([]):
        assert not is_allowed(name)


def test_a_model_that_needs_references_is_refused_without(ready: Path) -> None:
    assert ready
    free = find_metric("comet:wmt22-comet-da?reference=no")
    free.prepare(yes=True)
    with pytest.raises(BabelscopeError, match=r"leave \?reference=no out"):
        free.sentence(["a b"], [()], ["x"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("infinite", "comet gave nan as a score; it must be a finite number"),
        ("missing", "comet gave 1 scores of 2 translations"),
        ("die", "comet exited with code 9; its standard error ends: 'out of memory'"),
    ],
)
def test_a_bad_answer_is_refused_and_the_next_is_right(ready: Path, text: str, told: str) -> None:
    assert ready
    with pytest.raises(SystemFailure, match=re.escape(told.split(";")[0])) as caught:
        COMET.sentence([text, "b"], [["a"], ["b"]], ["x", "y"])
    assert told in str(caught.value)
    assert COMET.sentence(["a"], [["a"]], ["x"]) == [1]


def test_a_model_that_was_changed_is_not_loaded(ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(ready.glob("Unbabel--wmt22-comet-da/model.ckpt"))
    was = path.read_bytes()
    monkeypatch.setattr(comet, "_open", {})
    path.write_bytes(was + b" ")
    with pytest.raises(SystemFailure, match="has changed since it was downloaded for comet"):
        COMET.sentence(["a"], [["a"]], ["x"])
    path.write_bytes(was)
    assert COMET.sentence(["a"], [["a"]], ["x"]) == [1]


def test_in_a_run_and_judged_again(ready: Path, babelscope: Babelscope) -> None:
    """The table says that the scale is not that of the paper; a run's own name for it starts nothing."""
    asked = ("space", "--system", "lab:student", "--tests", "lab:parallel?n=2&seed=1", "--k", "2")
    few = ("--samples", "2", "--set", "mbr_samples=2", "--metric", "comet", "--metric", "cometkiwi")
    ran = babelscope(*asked, *few, "--out", "run", "--all")
    assert ran.code == 0, ran.err
    assert "not the z-scores of wmt20-comet-da" in " ".join(ran.out.split())
    loads = (ready / "loads").read_text()
    for worker in comet._open.values():
        worker.close()
    again = babelscope("space", "--rejudge", "run", "--json")
    assert again.code == 0, again.err
    assert "are those stored in the run" in again.err
    assert (ready / "loads").read_text() == loads
    with allow_only([]):
        assert not is_allowed("comet")


def test_nothing_is_downloaded_unasked(
    tmp_path: Path, made: Path, babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set(monkeypatch, made)
    monkeypatch.setenv("BABELSCOPE_ENVIRONMENTS", str(tmp_path / "elsewhere"))
    (tmp_path / "a.en").write_text("A dog sleeps.\n")
    for asked in (
        ("translate", "--system", "lab:student", "a.en", "--decode", "mbr", "--metric", "comet"),
        ("data", "get", "comet"),
    ):
        ran = babelscope(*asked)
        told = " ".join(ran.err.split())
        assert ran.code == 2
        assert "each held to its SHA-256" in told
        assert (
            "nothing was done, since there is no terminal to ask on; agree by `babelscope data get comet --yes`"
            in told
        )
        assert r"\n" not in ran.err
    ran = babelscope("space", "--system", "lab:student", "--tests", "sources:a.en", "--metric", "cometkiwi")
    assert "make them with: babelscope data get cometkiwi" in ran.err
    assert list((tmp_path / "elsewhere").iterdir()) == []
    with pytest.raises(BabelscopeError, match="make them with: babelscope data get comet"):
        COMET.sentence(["a"], [["a"]], ["x"])


def test_a_package_of_another_hash_is_refused(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set(monkeypatch, made)
    monkeypatch.setenv("BABELSCOPE_ENVIRONMENTS", str(tmp_path / "elsewhere"))
    pinned = f"unbabel-comet==9.0 --hash=sha256:{'0' * 64}"
    other = write_requirements(tmp_path / "other.txt", made / "wheels", pinned)
    monkeypatch.setenv("BABELSCOPE_COMET_REQUIREMENTS", str(other))
    with pytest.raises(SystemFailure, match="could not be made"):
        COMET.prepare(yes=True)
    assert not environment().is_ready


def test_a_source_distribution_is_refused_before_its_code_runs(
    tmp_path: Path, made: Path, babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set(monkeypatch, made)
    monkeypatch.setenv("BABELSCOPE_ENVIRONMENTS", str(tmp_path / "elsewhere"))
    pinned = build_source(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    other = write_requirements(tmp_path / "other.txt", tmp_path, pinned)
    monkeypatch.setenv("BABELSCOPE_COMET_REQUIREMENTS", str(other))
    ran = babelscope("data", "get", "comet", "--yes")
    assert (ran.code, "could not be made" in ran.err) == (1, True), ran.err
    assert not (tmp_path / "ran").exists()


def test_killed_in_the_middle_and_made_again(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A half-made environment is never used: the marker is written last, and what is left is removed."""
    _set(monkeypatch, made)
    monkeypatch.setenv("BABELSCOPE_ENVIRONMENTS", str(tmp_path / "elsewhere"))
    command = [sys.executable, "-m", "babelscope", "data", "get", "comet", "--yes"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    folder = environment().folder
    for _ in range(6000):
        if (folder / "pyvenv.cfg").exists():
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert folder.exists()
    assert not environment().is_ready
    (folder / "left-over").write_text("of the first attempt")
    # The step under way may go on without its parent, and has the lock until it ends.
    for _ in range(600):
        try:
            COMET.prepare(yes=True)
        except BabelscopeError as error:
            if "in use by another process" not in str(error):
                raise
            time.sleep(0.1)
        else:
            break
    assert environment().is_ready
    assert not (folder / "left-over").exists()
    assert COMET.sentence(["a b"], [["a c"]], ["x"]) == [0.5]


def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("BABELSCOPE_ENVIRONMENTS", str(tmp_path / "open"))
    with pytest.raises(BabelscopeError, match="can be written by everybody"):
        COMET.prepare(yes=True)


def test_the_packages_are_pinned_by_hash() -> None:
    """Every requirement has a version and a hash, and the pins are those that exclude ours."""
    text = (resources.files("babelscope.metrics") / "comet-requirements.txt").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[a-z])", text.strip())
    assert len(entries) > 50
    assert all(re.match(r"[a-z0-9._-]+==\S+", each) and "--hash=sha256:" in each for each in entries)
    assert "://" not in text
    assert re.search(r"^unbabel-comet==2\.2\.6 ", text, re.MULTILINE)
    assert re.search(r"^numpy==1\.", text, re.MULTILINE)
