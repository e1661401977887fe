"""Python processes of our own, kept from importing what lies in the working folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_VARIABLE = "PYTHONSAFEPATH"


@contextlib.contextmanager
def safe_import_path() -> Iterator[None]:
    """Python processes started in the block have no working folder on their import path.

    multiprocessing starts them with `-c`, which would put it first, before the standard library.
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
