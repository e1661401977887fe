"""Opens systems one after the other in one process, and prints what became of each; see test_hostile_models."""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from typing import Any

from babelscope import BabelscopeError, open_system

PAIRS = [("two dogs run", "zwei Hunde laufen")]
_PATIENCE = 20


def hung(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    asked = json.load(sys.stdin)
    opened: list[str] = []
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    for name in asked["good"]:  # imports, and memory that any model takes
        open_system(name).score(PAIRS)
    with open("/proc/self/statm") as file:
        address_space = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (address_space + 2**31, resource.RLIM_INFINITY))
    signal.signal(signal.SIGALRM, hung)
    for case, name in asked["hostile"].items():
        opened.clear()
        before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        signal.alarm(_PATIENCE)
        told: dict[str, Any] = {"case": case, "error": "", "said": ""}
        try:
            told["score"] = open_system(name).score(PAIRS)[0].total
        except BaseException as error:
            told |= {
                "error": type(error).__name__,
                "said": str(error),
                "ours": isinstance(error, BabelscopeError),
            }
        signal.alarm(0)
        told["seconds"] = time.monotonic() - start
        told["kilobytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        told["opened"] = [path for path in opened if path.startswith(asked["outside"])]
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
