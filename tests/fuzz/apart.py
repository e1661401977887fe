"""Fuzzing in a process of its own, so that an input that kills it, or never ends, is found too."""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.fuzzing import Outcome, Target, draw, fuzz

# Seconds at one input, after which it counts as without end: it may be in a library that hears no signal.
PATIENCE = 900.0


def fuzz_apart(
    target: Target,
    folder: Path,
    inputs: int,
    *,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """As `fuzz`, in a child process; where an input ends that, others try what is before and after it."""
    found = Outcome()
    waiting = [(0, inputs)]
    while waiting:
        first, last = waiting.pop()
        outcome, ended_at, how = _in_child(target, folder, (first, last), seed, advance)
        if outcome is None:
            found.tried += 1
            found.crashes.setdefault(how, []).append(draw(target, seed, ended_at))
            ranges = ((ended_at + 1, last), (first, ended_at))
            waiting += [each for each in ranges if each[0] < each[1]]
            continue
        found.tried += outcome.tried
        found.refused += outcome.refused
        for fault, files in outcome.crashes.items():
            found.crashes.setdefault(fault, []).extend(files)
    return found


def _in_child(
    target: Target, folder: Path, numbers: tuple[int, int], seed: int, advance: Callable[[int], None]
) -> tuple[Outcome | None, int, str]:
    """What a child found; or nothing, at which input it ended, and how."""
    first, last = numbers
    with mmap.mmap(-1, 8) as shared:
        struct.pack_into("q", shared, 0, first)
        result = folder.parent / f"{folder.name}.json"
        child = os.fork()
        if not child:
            code = 1
            try:

                def begin(number: int) -> None:
                    struct.pack_into("q", shared, 0, number)

                outcome = fuzz(target, folder, last, seed=seed, first=first, begin=begin)
                result.write_text(_as_json(outcome))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        code = _wait(child, shared, advance)
        if code == 0:
            return _from_json(result.read_text()), last, ""
        (at,) = struct.unpack_from("q", shared, 0)
        return None, at, f"the process was killed by signal {-code}" if code < 0 else "the process ended"


def _wait(child: int, shared: mmap.mmap, advance: Callable[[int], None]) -> int:
    """The exit code of a child, which is ended when it stays at one input."""
    (seen,) = struct.unpack_from("q", shared, 0)
    since = time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        (number,) = struct.unpack_from("q", shared, 0)
        if number != seen:
            advance(number - seen)
            seen, since = number, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.2)


def _as_json(found: Outcome) -> str:
    crashes = {
        fault: [{name: data.hex() for name, data in files.items()} for files in each]
        for fault, each in found.crashes.items()
    }
    return json.dumps([found.tried, found.refused, crashes])


def _from_json(text: str) -> Outcome:
    tried, refused, crashes = json.loads(text)
    return Outcome(
        tried,
        refused,
        {
            fault: [{name: bytes.fromhex(data) for name, data in files.items()} for files in each]
            for fault, each in crashes.items()
        },
    )
