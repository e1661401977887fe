"""`length_penalty`: every system that decodes takes it, and a checkpoint's 0.0 is 0.0."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from babelscope.lab.plugin import MODELS
from babelscope.lab.training.augmenting import Decoding, open_teacher, translate_ids
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError

SOURCES = ["the old man sleeps .", "a woman sees the dog .", "the doctor is tired because she worked ."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lab's teacher with its tokenizer beside it: unlike random toys, it ends its sentences."""
    to = tmp_path_factory.mktemp("teacher") / "model"
    shutil.copytree(MODELS / "teacher", to)
    return shutil.copytree(MODELS / "tokenizer", to, dirs_exist_ok=True)


def with_penalty(folder: Path, to: Path, penalty: Any) -> Path:
    """A copy of a model folder whose generation_config.json states that penalty."""
    shutil.copytree(folder, to)
    path = to / "generation_config.json"
    stated = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**stated, "length_penalty": penalty}))
    return to


@pytest.mark.parametrize("forward", ["lean", "transformers"])
def test_none_in_a_checkpoint_is_none(forward, folder, tmp_path):
    zero = with_penalty(folder, tmp_path / "zero", 0.0)
    steep = with_penalty(folder, tmp_path / "steep", 2)
    own, other = (open_system(f"hf:{each}?forward={forward}") for each in (zero, steep))
    assert (own.length_penalty, other.length_penalty) == (0.0, 2.0)
    for each in (own, other):
        assert "length_penalty" not in each.fingerprint.settings, "the files say it"
    said = open_system(f"hf:{zero}?forward={forward}&length_penalty=0")
    assert said.fingerprint.digest == own.fingerprint.digest
    one = open_system(f"hf:{zero}?forward={forward}&length_penalty=1")
    assert own.translate(SOURCES, beam=6, n_best=6) == one.translate(
        SOURCES, beam=6, n_best=6, length_penalty=0.0
    )
    assert own.translate(SOURCES, beam=6, n_best=6) != one.translate(SOURCES, beam=6, n_best=6)


@pytest.mark.parametrize("penalty", [math.nan, math.inf, 10**400, "1", [1], True, 11])
@pytest.mark.parametrize("forward", ["lean", "transformers"])
def test_a_checkpoint_that_states_no_penalty_is_refused(penalty, forward, folder, tmp_path):
    changed = with_penalty(folder, tmp_path / "model", penalty)
    with pytest.raises(BabelscopeError, match=r"its length_penalty is .*, not a number from -10|cannot be"):
        open_system(f"hf:{changed}?forward={forward}")


def test_distillation_translates_with_the_teachers_penalty(folder, tmp_path):
    found = {}
    for penalty in (-6.0, 0.0, 6.0):
        teacher = open_teacher(with_penalty(folder, tmp_path / f"t{penalty}", penalty))
        ids = teacher.tokens.encode_sources(SOURCES)
        texts = translate_ids(teacher, ids, Decoding(beam=4))
        longest = 3 * max(map(len, ids)) + 20
        own = open_system(f"hf:{folder}?max_length={longest}&length_penalty={penalty}")
        answers = own.translate(SOURCES, beam=4)
        assert texts == [None if "unfinished" in best.notes else best.text for [best] in answers]
        found[penalty] = texts
    assert found[-6.0] != found[6.0]
