"""Fixtures that several rooms share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
pytest_plugins = ["toy_fixtures", "browser"]

# Timing on a shared machine says nothing about correctness; the same examples every time keep CI green or red.
settings.register_profile("babelscope", deadline=None, derandomize=True)
settings.load_profile("babelscope")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Tests run side by side; on tiny models a second thread each only makes them wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands keep of unfinished work is not kept in the user's own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


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
    import models

    built: dict[tuple[object, ...], Path] = {}

    def build(family: str, **options: object) -> Path:
        key = (family, *sorted(options.items()))
        if key not in built:
            built[key] = models.build(family, tmp_path_factory.mktemp(family) / "model", **options)
        return built[key]

    return build
