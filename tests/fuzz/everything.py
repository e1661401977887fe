"""All that is fuzzed, and where."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz import commands, targets_runs
from tests.fuzz.fuzzing import Target
from tests.fuzz.targets import TEST_SETS
from tests.fuzz.targets_made import ELSEWHERE, LANGUAGE, STUDIES
from tests.fuzz.targets_people import PEOPLE

READERS = (*TEST_SETS, *LANGUAGE, *ELSEWHERE, *STUDIES, *PEOPLE)
_MEMORY = Path("/dev/shm")


def all_targets() -> list[Target]:
    """Readers, our own files, servers' answers, the command line; the toys must be installed."""
    runs = targets_runs.finished_runs()
    return [*READERS, *targets_runs.targets(runs), *commands.targets(runs)]


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory where the system has one, since a million inputs are written."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        yield Path(folder)
