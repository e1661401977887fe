"""Trying a reader on broken files: it reads them, or says in one sentence why not; nothing else may happen."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import resource
import signal
import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import visible
from tests.fuzz.mutating import mutate

# Seconds that an input may take: of a processor, since the machine may be busy, and, since it may wait, by the clock.
LONGEST, LONGEST_WAIT = 2.0, 600.0
# Bytes of address space that it may take beyond what the process has when it begins.
MOST_MEMORY = 500_000_000
# Seconds by the clock after which the process is ended: a library may hear no signal.
PATIENCE = 900.0

Files = Mapping[str, bytes]
"""The files of an input by name."""
Counts = tuple[int, int]
"""How many lines or items went in, and how many came out or were counted as left out."""


@dataclass(frozen=True)
class Target:
    """What is tried: a reader, and good inputs to break."""

    name: str
    read: Callable[[Path], object]
    """Reads the files of a folder. `Counts`, if it returns them, must be the same number twice."""
    seeds: Sequence[Files]
    broken: Sequence[str] = ()
    """Which files are broken; all of them if none is named."""
    share: float = 1.0
    """How many inputs it gets, compared with other targets; less where one costs more."""


@dataclass
class Outcome:
    """What came of a target."""

    tried: int = 0
    refused: int = 0
    """Inputs that were refused in a sentence."""
    crashes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Numbers of inputs by what went wrong, and where."""

    def add(self, number: int, fault: str | None) -> None:
        self.tried += 1
        self.refused += fault == ""
        if fault:
            self.crashes[fault].append(number)


class Hang(BaseException):
    """An input took too long; no exception for others to catch."""


def draw(target: Target, seed: int, number: int) -> dict[str, bytes]:
    """The input of this number: a good one with one or two of its files broken."""
    dice = Random(f"{target.name} {seed} {number}")
    files = dict(dice.choice(target.seeds))
    names = sorted(target.broken or files)
    for name in dice.sample(names, min(len(names), dice.choice((1, 1, 1, 2)))):
        other = dice.choice([each[name] for each in target.seeds if name in each])
        files[name] = mutate(files[name], dice, other)
    return files


def fuzz(target: Target, folder: Path, numbers: range, seed: int = 0) -> Outcome:
    """Try inputs in a child process, so that one that kills it is found too; another goes on after it."""
    found = Outcome()
    log = folder.parent / f"{folder.name}.log"
    start = numbers.start
    while start < numbers.stop:
        log.write_bytes(b"")
        child = os.fork()
        if not child:
            code = 1
            try:
                _try_inputs(target, folder, range(start, numbers.stop), seed, log)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        lines = log.read_text().split("\n")
        for line in lines[:-1]:
            number, _, fault = line.partition(" ")
            found.add(int(number), None if fault == "ok" else fault)
        start = numbers.stop
        if status:
            assert lines[-1], "a good input was not read"
            start = int(lines[-1]) + 1
            found.add(start - 1, f"the process ended with {os.waitstatus_to_exitcode(status)}")
    return found


def _try_inputs(target: Target, folder: Path, numbers: range, seed: int, log: Path) -> None:
    """Log each number before its input is tried, and what came of it afterwards."""
    # Read each good input once without bounds: what is imported and compiled then is not the next one's doing.
    for files in target.seeds:
        _fill(folder, files)
        with warnings.catch_warnings(action="ignore"), contextlib.suppress(BabelscopeError):
            target.read(folder)
    with open(log, "wb", buffering=0) as file:
        for number in numbers:
            file.write(str(number).encode())
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            fault = try_files(target, folder, draw(target, seed, number))
            file.write(f" {'ok' if fault is None else fault}\n".encode())


def try_files(target: Target, folder: Path, files: Files) -> str | None:
    """None if the files were read, "" if they were refused in a sentence, else what went wrong, and where."""
    _fill(folder, files)
    begun = time.process_time()
    try:
        with warnings.catch_warnings(action="ignore"), _limits():
            counts = target.read(folder)
    except (MemoryError, Hang) as error:
        told = _told(error)
        gc.collect()
        return told
    except BabelscopeError as error:
        # What is too much for the memory is told in a sentence too, but it should not have been asked for.
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, MemoryError):
            cause = cause.__cause__ or cause.__context__
        return _told(cause) if cause else sentence_fault(str(error))
    except Exception as error:
        return _told(error)
    if (took := time.process_time() - begun) > LONGEST:
        return f"took {took:.0f} s of processor time"
    if isinstance(counts, tuple) and counts[0] != counts[1]:
        return f"a line was lost: {counts[0]} went in, {counts[1]} came out"
    return None


def sentence_fault(told: str) -> str:
    """Why a message is not one sentence for a person, or ""."""
    if not told.strip() or len(told) > 5000:
        return f"a message of {len(told)} characters: {told[:60]!r}"
    # What fonts do not know is shown as a box; what steers or hides text must not be there.
    return "" if visible(told) == told else f"a message that is not one line of text: {told[:60]!r}"


def _told(error: BaseException) -> str:
    """What was raised, and the deepest line of ours that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    last = ([frame for frame in frames if "/babelscope/" in frame.filename] or frames)[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno} ({last.name})"


@contextlib.contextmanager
def _limits() -> Iterator[None]:
    """Bounds on time and on the address space; raises Hang or MemoryError in the block."""

    def ring(*_: object) -> None:
        raise Hang("it took too long")

    before = [(number, signal.signal(number, ring)) for number in (signal.SIGPROF, signal.SIGALRM)]
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    try:
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT)
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_MEMORY, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before:
            signal.signal(number, handler)


def _fill(folder: Path, files: Files) -> None:
    """Make the folder hold these files and no others."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
