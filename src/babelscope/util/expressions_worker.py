"""The process in which `expressions` searches: one JSON line in, [pattern, text, ignore case], and one out.

It answers true, false, null if that is not known in time, or the reason why the pattern is no regular expression.
"""

import functools
import json
import resource
import signal
import sys
from typing import Any

import regex

MEMORY = 2**30
"""Bytes of memory at most."""
SECONDS = 0.2
"""How long a pattern may search one text."""
PROCESSOR_SECONDS = 2.0
"""Processor time after which the process is killed: compiling a pattern cannot be interrupted otherwise."""


@functools.lru_cache(maxsize=1000)
def _compiled(pattern: str, ignore_case: bool) -> Any:
    return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)


def _answer(pattern: str, text: str, ignore_case: bool) -> bool | str | None:
    try:
        return _compiled(pattern, ignore_case).search(text, timeout=SECONDS) is not None
    except (TimeoutError, MemoryError, RecursionError):
        return None
    except regex.error as error:
        return str(error)


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    print("ready", flush=True)
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS)
        answer = json.dumps(_answer(*json.loads(line)))
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(answer, flush=True)


if __name__ == "__main__":
    _main()
