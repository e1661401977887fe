"""Keeps Python processes that we start from importing modules of the working folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_VARIABLE = "PYTHONSAFEPATH"


@contextlib.contextmanager
def safe_import_path() -> Iterator[None]:
    """Start Python processes in the block without the working folder on their import path.

    multiprocessing starts them with `-c`, which puts the working folder before the standard library.
    """
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
