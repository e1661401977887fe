"""Writing a file so that it is there as a whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from babelscope.errors import BabelscopeError, SystemFailure


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when the block ends well; otherwise `path` stays as it was."""
    if not path.name:
        raise BabelscopeError(f"{str(path)!r} is a folder; name a file to be written")
    # Beside its target, since a rename is atomic within one file system only.
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(unfinished, "xb") as file:
            yield file
        os.replace(unfinished, path)
    except OSError as error:
        raise SystemFailure(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):  # renamed, or never made
            unfinished.unlink()
        for folder in made:
            with contextlib.suppress(OSError):  # not empty, as it should be when all went well
                folder.rmdir()
