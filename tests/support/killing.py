"""Runs things in child processes that are killed at a given moment, without paying for start-up each time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType

# Forks a child for every line read: call a function in it, and kill it after so many seconds.
_SERVER = """
import importlib, os, signal, sys, time, traceback
module, function = sys.argv[1].split(":")
work = getattr(importlib.import_module(module), function)
for preloaded in sys.argv[2:]:
    importlib.import_module(preloaded)
print("ready", flush=True)
for line in sys.stdin:
    seconds, *arguments = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if not child:
        try:
            work(*arguments)
        except BaseException as error:
            if not getattr(error, "exit_code", 0) == 1:  # a disk or server that failed is part of some tests
                traceback.print_exc()
                os._exit(3)
            os._exit(1)
        os._exit(0)
    if seconds:
        time.sleep(float(seconds))
        os.kill(child, signal.SIGKILL)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

# What a study of toys imports; else most kills would hit the imports.
STUDY_IMPORTS = (
    "babelscope.methods.likelihood",
    "statsmodels.stats.multitest",
    "statsmodels.stats.proportion",
    "babelscope.testsets.registry",
    "tests.support.toys",
)


class Killer:
    """Calls `module:function` again and again, each time in a process that may be killed."""

    def __init__(self, work: str, path: Sequence[str], *, preload: Sequence[str] = ()) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:0] = {list(path)!r}\n{_SERVER}", work, *preload],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.code = 0
        """Of the child that ended last: 0, -9 if it was killed, 1 if a disk or server failed."""
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == "ready\n"

    def run(self, *arguments: str, kill_after: float | None = None, may_fail: bool = False) -> bool:
        """Whether it came to its end before it was killed, or failed where that may be."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(
            "\t".join(["" if kill_after is None else str(kill_after), *arguments]) + "\n"
        )
        self._server.stdin.flush()
        code = self.code = int(self._server.stdout.readline())
        assert code in (0, -9) or (may_fail and code == 1), f"the child failed with {code}"
        return code == 0

    def __enter__(self) -> Killer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()
