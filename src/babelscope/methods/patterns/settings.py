"""What can be chosen about either kind of pattern matching."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from babelscope.core.settings import Settings
from babelscope.methods.base import ANSWER_FILES
from babelscope.util.text import open_to_read


class PatternSettings(Settings):
    """Whose translations are judged, and by which files."""

    translations: Path | None = None
    """Translations made elsewhere: a line each, plain or `source ||| translation`, or a log (.jsonl)."""
    beam: int = Field(default=5, ge=1)
    """Beam size of a system that is asked."""

    @field_validator("*")
    @classmethod
    def _is_there(cls, value: Any) -> Any:
        if isinstance(value, Path):
            _digest(value)  # told before any system is asked
        return value


def identity_of(settings: PatternSettings, answer_files: Iterable[str]) -> dict[str, Any]:
    """Digests in the place of paths; those of files about one system's answers apart.

    A run can be judged again where its files are no more; what they were is then in its manifest.
    """
    digests = {
        name: _digest(value) for name, value in settings if isinstance(value, Path) and value.is_file()
    }
    apart = {name: digests[name] for name in answer_files if name in digests}
    return {**digests, **dict.fromkeys(apart, "given"), ANSWER_FILES: apart}


def _digest(path: Path) -> str:
    with open_to_read(path) as file:
        return hashlib.sha256(file.read()).hexdigest()
