"""Fixtures that several rooms share."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.support.toy_fixtures", "tests.support.browser", "tests.support.serving"]

# Timing on a shared machine says nothing about correctness; the same examples every time keep CI green or red.
settings.register_profile("babelscope", deadline=None, derandomize=True)
settings.load_profile("babelscope")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Tests run side by side; on tiny models a second thread each only makes them wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def state_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for each test to keep its state in."""
    folder = tmp_path_factory.mktemp("state")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_state(state_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test leaves unfinished or trusts is neither found by others nor left with the user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(next(state_folders)))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared data folder; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("BABELSCOPE_SHARED", Path(__file__).parents[2] / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder} (set BABELSCOPE_SHARED)")
    return folder


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Builds a tiny model folder of a family, once a session."""
    from tests.support import models

    built: dict[tuple[object, ...], Path] = {}

    def build(family: str, **options: object) -> Path:
        key = (family, *sorted(options.items()))
        if key not in built:
            built[key] = models.build(family, tmp_path_factory.mktemp(family) / "model", **options)
        return built[key]

    return build
