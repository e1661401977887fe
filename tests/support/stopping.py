"""Runs a command in a process that kills itself at its n-th change of a file or statement of SQL."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# Read at import, so that a forked child need not.
import babelscope.cli
import babelscope.lab.experiments.truth
import babelscope.lab.grammar.corpus
import babelscope.making.cue_search
import babelscope.making.machine_references
import babelscope.making.ray_tasks
import babelscope.methods.base
import babelscope.methods.condition
import babelscope.methods.contrast
from babelscope.core.system import Scored
from babelscope.language.german.analysis import default_analyzer
from babelscope.systems.cache import Store
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

with contextlib.suppress(BabelscopeError):  # what it needs may not be installed
    default_analyzer()

PART = "-- stored --"


def run(words: str, kill_at: str, work: str, out: str) -> None:
    """`babelscope WORDS` (JSON) in small parts, killed at event `kill_at` (0: never); `work` logs what is done.

    A write that is killed has written half of its bytes.
    """
    with open(out, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", 1)
    log = Path(work)
    _small_parts()
    _logged(log)
    _mortal(int(kill_at))
    sys.argv = ["babelscope", *json.loads(words)]
    try:
        babelscope.cli.main()
    except SystemExit as ended:
        sys.stdout.flush()
        if ended.code:
            raise


def _small_parts() -> None:
    babelscope.making.ray_tasks.SENTENCES = 64
    babelscope.making.cue_search._ASKED_AT_ONCE = 20
    babelscope.making.machine_references._CHUNK = 3
    babelscope.lab.experiments.truth._CHUNK = 5
    babelscope.lab.grammar.corpus._CHUNK = 20
    setattr(ToySystem, "_scored", _scored)  # noqa: B010
    setattr(babelscope.making.cue_search, "MaskedModel", FakeMasked)  # noqa: B010


def _note(log: Path, what: str) -> None:
    with open(log, "a") as file:
        file.write(what + "\n")


def _logged(log: Path) -> None:
    """Note every part of a corpus that is made, and when something was stored."""
    import babelscope.making.challenge.search as search
    import babelscope.making.pairs as pairs

    def noting(function: Callable[..., Any], what: str) -> Callable[..., Any]:
        def noted(*arguments: Any, **options: Any) -> Any:
            _note(log, what)
            return function(*arguments, **options)

        return noted

    babelscope.lab.grammar.corpus._make_part = noting(babelscope.lab.grammar.corpus._make_part, "drawn")
    search.run_search = noting(search.run_search, "searched")
    pairs.make_lines = noting(pairs.make_lines, "made")
    FakeMasked.log_prob_absent = noting(FakeMasked.log_prob_absent, "masked")  # type: ignore[method-assign]
    keep = Store.keep

    def kept(self: Store, values: Mapping[str, Any]) -> None:
        keep(self, values)
        _note(log, PART)

    Store.keep = kept  # type: ignore[method-assign]


def _mortal(kill_at: int) -> None:
    left = [kill_at]
    opened = Store._open

    def traced(store: Store) -> sqlite3.Connection:
        database = opened(store)
        database.set_trace_callback(mortal(lambda _statement: None))
        return database

    setattr(Store, "_open", traced)  # noqa: B010

    def mortal(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                if function is write:
                    function(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return called

    write = os.write
    for name in ("write", "fsync", "replace", "unlink", "ftruncate"):
        setattr(os, name, mortal(getattr(os, name)))


def _scored(_self: ToySystem, source: str, text: str, tokens: tuple[str, ...]) -> Scored:
    """Every token is possible, of whatever alphabet."""
    seen = [hashlib.sha256(f"{source}\0{n}\0{token}".encode()).digest()[0] for n, token in enumerate(tokens)]
    return Scored(text, tokens, tuple(math.log((1 + each) / 300) for each in seen))


class FakeMasked:
    """Expects, in a sentence of a sense, the words it was told of."""

    WORDS = ("wild", "furry", "wooden", "long", "old", "new")

    def __init__(self, name: str) -> None:
        self.name = name

    def files(self) -> list[Any]:
        return []

    def with_gap(self, before: str, after: str) -> str:
        return f"{before}_ {after}"

    def fits(self, _sentence: str) -> bool:
        return True

    def log_prob_absent(self, sentences: list[str]) -> Any:
        import numpy as np

        return np.array([-0.1 - (sum(map(len, sentences)) * 7919 * (n + 1) % 97) / 97 for n in range(6)])

    def tokens(self, scores: Any, *, whole_words: bool) -> Any:
        assert whole_words
        return (self.WORDS[n] for n in sorted(range(6), key=lambda n: -scores[n]) if scores[n] > 0)
