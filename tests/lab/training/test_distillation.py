"""Distillation: the search against transformers' own, resumable translation, a student of a teacher."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from babelscope.lab.training import augmenting
from babelscope.lab.training.augmenting import translate_ids
from babelscope.lab.training.distillation import distill
from babelscope.lab.training.train import train
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import PAIRS, learn, quick, write_pairs


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    learn(folder, folder / "model", quick(steps=150, label_smoothing=0.1, dev_every=75))
    return folder / "model"


def test_one_process_at_a_time_works_in_a_folder(teacher: Path, tmp_path: Path) -> None:
    source, target = write_pairs(tmp_path / "text")
    ready = "import sys; from babelscope.util.files import locked_folder; from pathlib import Path\n"
    hold = "with locked_folder(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    first = subprocess.Popen(
        [sys.executable, "-c", ready + hold, str(tmp_path / "out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert first.stdin is not None
    assert first.stdout is not None
    assert first.stdout.readline() == b"held\n"
    for attempt in (
        lambda: distill(teacher, source, tmp_path / "out", quick(steps=2), quiet=True),
        lambda: train(source, target, tmp_path / "out", quick(steps=2), quiet=True),
    ):
        with pytest.raises(BabelscopeError, match="out is in use by another process; wait for it, or use"):
            attempt()
    assert list((tmp_path / "out").iterdir()) == []
    first.communicate()
    assert not (tmp_path / "out").exists()
    distill(teacher, source, tmp_path / "out", quick(steps=2), beam=1, quiet=True)


def test_a_student_learns_what_its_teacher_says(teacher: Path, tmp_path: Path) -> None:
    from babelscope.cli.lab import app

    source, _ = write_pairs(tmp_path / "text")
    words = ["train", "--teacher", str(teacher), "--source", str(source), "--shape", "tiny"]
    words += [
        "--steps",
        "20",
        "--dev-source",
        str(source),
        "--seed",
        "3",
        "--set",
        "threads=1",
        "--set",
        "quiet=yes",
    ]
    out = tmp_path / "student"
    result = CliRunner().invoke(app, [*words, "--json", "--out", str(out)])
    assert result.exit_code == 0, result.exception
    assert json.loads(result.stdout)["name"] == "dev_loss"
    card = json.loads((out / "card.json").read_text())
    said = (out / "distilled" / "train.target").read_text().split("\n")[:-1]
    assert len(said) == len(PAIRS) == card["pairs"]
    assert card["distilled"]["beam"] == 5
    assert (out / "vocab.json").read_bytes() == (teacher / "vocab.json").read_bytes()
    again = shlex.split(card["command"])[2:-1]
    CliRunner().invoke(app, [*again, str(tmp_path / "again"), "--set", "quiet=yes"])
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()


def test_students_of_several_seeds_share_their_teacher_s_translations(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from babelscope.cli.lab import app

    asked: list[int] = []
    monkeypatch.setattr(
        augmenting, "translate_ids", lambda *given: asked.append(len(given[1])) or translate_ids(*given)
    )
    source, target = write_pairs(tmp_path / "text")
    words = ["train", "--teacher", str(teacher), "--source", str(source), "--dev-source", str(source)]
    words += [
        "--dev-target",
        str(target),
        "--shape",
        "tiny",
        "--steps",
        "3",
        "--set",
        "threads=1",
        "--set",
        "quiet=yes",
    ]
    result = CliRunner().invoke(app, [*words, "--seeds", "2", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.exception
    assert sum(asked) == len(PAIRS)
    for seed in (1, 2):
        assert (tmp_path / "out" / f"seed-{seed}" / "card.json").exists()


def test_a_teacher_that_never_ends_is_named(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, _ = write_pairs(tmp_path / "text")
    monkeypatch.setattr(augmenting, "translate_ids", lambda _, ids, __: [None] * len(ids))
    told = f"{len(PAIRS)} of {len(PAIRS)} translations by .* has the teacher learned enough"
    with pytest.raises(BabelscopeError, match=told):
        distill(teacher, source, tmp_path / "out", quick(steps=2), beam=1, quiet=True)


def test_bad_distillation_is_refused_before_any_translation(teacher: Path, tmp_path: Path) -> None:
    source, target = write_pairs(tmp_path / "text")
    recipe = quick(steps=2)
    with pytest.raises(BabelscopeError, match=r"no such folder; a teacher is .*, without hf:"):
        distill(tmp_path / "nobody", source, tmp_path / "out", recipe)
    with pytest.raises(BabelscopeError, match="needs its source as well"):
        distill(teacher, source, tmp_path / "out", recipe, dev_target=target)
    few, _ = write_pairs(tmp_path / "few", PAIRS[:1])
    with pytest.raises(BabelscopeError, match="has 1 of at least 100 sentences"):
        distill(teacher, few, tmp_path / "out", recipe)
    assert not (tmp_path / "out").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").touch()
    with pytest.raises(BabelscopeError, match="is not empty"):
        distill(teacher, source, tmp_path / "full", recipe)
    distill(teacher, source, tmp_path / "out", recipe, beam=1, quiet=True)
    with pytest.raises(BabelscopeError, match=r"another configuration: seed: 1 there, 2 here"):
        distill(teacher, source, tmp_path / "out", quick(steps=2, seed=2), beam=1)
    with pytest.raises(BabelscopeError, match=r"another configuration: decoding.beam: 1 there, 2 here"):
        distill(teacher, source, tmp_path / "out", recipe, beam=2)
