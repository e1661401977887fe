"""Regular expressions that somebody else wrote: limited in time and memory, both to compile and to match.

A pattern of 30 characters can take all memory to compile, and one of 10 can search a text forever. So they are
searched for in a process of their own (`expressions_worker`), which is killed and started again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
from functools import lru_cache
from pathlib import Path

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.process import Worker
from babelscope.util.text import shorten

LONGEST = 20_000
"""Characters of an expression at most."""
_PATIENCE = 120.0
"""Seconds without an answer, on a machine that is busy; the worker limits its own processor time."""


class TooCostlyError(Exception):
    """An expression that takes too much time or memory to tell whether a text has it."""


class _Searcher:
    """The worker, started when it is first asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._hopeless: set[tuple[str, bool]] = set()

    def search(self, pattern: str, text: str, ignore_case: bool) -> bool:
        with self._lock:
            if (pattern, ignore_case) in self._hopeless:
                raise TooCostlyError
            if self._worker is None or not self._worker.is_open:
                command = [sys.executable, "-P", str(Path(__file__).with_name("expressions_worker.py"))]
                self._worker = Worker("expressions", command, env=os.environ, timeout=_PATIENCE)
            try:
                answer = json.loads(self._worker.ask(json.dumps([pattern, text, ignore_case])))
            except SystemFailure:  # it used up its time, or its memory
                self._hopeless.add((pattern, ignore_case))
                raise TooCostlyError from None
        if answer is None:
            raise TooCostlyError
        if isinstance(answer, str):
            raise BabelscopeError(f"{shorten(pattern)} is no regular expression: {answer}")
        return bool(answer)


_SEARCHER = _Searcher()


def has_expression(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Whether the text has a match of an expression; TooCostlyError if that cannot be told within the limits."""
    return _SEARCHER.search(pattern, text, ignore_case)


def has_word(word: str, text: str, *, ignore_case: bool = False) -> bool:
    """Whether the text has a whole word, or words."""
    return _word(word, ignore_case).search(text) is not None


@lru_cache(maxsize=20_000)
def _word(word: str, ignore_case: bool) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE if ignore_case else 0)


def check_expression(pattern: str) -> None:
    """Refuse what is no regular expression; one that is only costly is found out when it is searched for."""
    if len(pattern) > LONGEST:
        raise BabelscopeError(f"an expression has more than {LONGEST:,} characters: {shorten(pattern)}")
    with contextlib.suppress(TooCostlyError):
        has_expression(pattern, "")
