"""Commands that go on where they were stopped: what systems answered is kept until the output is there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from babelscope.cli.shell import GO_ON, telling_what_is_kept
from babelscope.util.journal import Keep, keeping
from babelscope.util.version import __version__


@contextlib.contextmanager
def going_on(
    command: str, out: Path | None, systems: Sequence[Any], **asked: Any
) -> Iterator[tuple[Keep, list[Any]]]:
    """Gives a function that keeps other parts of the work, and the systems, whose answers are kept.

    `asked` is all else that the output depends on: only the same question goes on. The block must write or print all
    output, since what was kept is deleted when the block ends without an error.
    """
    from babelscope.systems.kept import Kept

    known = [[system.name, system.fingerprint.as_json()] for system in systems]
    question = {"command": command, "version": __version__, "systems": known, **asked}
    with telling_what_is_kept(f"what systems answered is kept; {GO_ON}"), keeping(out, question) as parts:
        yield parts.part, [Kept(system, parts.part) for system in systems]
