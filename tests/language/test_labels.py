"""Error types bring their own labels: nothing below them knows any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from babelscope.language.base import ErrorType
from babelscope.language.registry import ERROR_TYPES, error_label, error_type, error_types

ERROR = ErrorType("mumble", "de", "It is mumbled.", lambda _sentence: [], label="words that are mumbled")


@pytest.fixture
def mumbling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Installs a distribution that offers the error type `mumble`, at a place of your choice."""
    info = tmp_path / "mumbling-1.dist-info"
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(place: str) -> None:
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mumbling\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[babelscope.error_types]\nmumble = {place}\n")
        error_type.cache_clear()

    yield install
    error_type.cache_clear()


def test_every_error_type_of_ours_has_a_label_of_its_own() -> None:
    labels = [error_types()[name].label for name in ERROR_TYPES.built_in]
    assert all(labels)
    assert len(set(labels)) == len(labels)
    assert error_label("polarity_particle_nicht_del") == "‘nicht’ (not) left out"


def test_an_error_type_of_a_plug_in_brings_its_label(mumbling: Callable[[str], None]) -> None:
    assert error_label("mumble") == "mumble"
    mumbling(f"{__name__}:ERROR")
    assert error_label("mumble") == "words that are mumbled"


def test_what_is_not_known_or_cannot_be_loaded_is_called_by_its_name(
    mumbling: Callable[[str], None],
) -> None:
    assert error_label("my_own_type") == "my own type"
    mumbling("no_such_module:ERROR")
    assert error_label("mumble") == "mumble"
