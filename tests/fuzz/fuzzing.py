"""Trying a reader on broken files: it reads them, or says in one sentence why not; nothing else may happen."""

from __future__ import annotations

import contextlib
import gc
import resource
import signal
import time
import traceback
import warnings
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

Files = Mapping[str, bytes]
"""The files of an input by name."""
Counts = tuple[int, int]
"""How many lines or items went in, and how many came out or were counted as left out."""


@dataclass(frozen=True)
class Target:
    """What is tried: a reader, and good inputs to break."""

    name: str
    read: Callable[[Path], Counts | None]
    """Reads the files of a folder. A count of what went in and what came out must be the same number."""
    seeds: Sequence[Files]
    broken: Sequence[str] = ()
    """Which files are broken; all of them if none is named."""
    share: float = 1.0
    """How many inputs it gets, as against other targets; less where one costs more."""
    changes_files: bool = False
    """Whether it writes to the folder, which is then made anew for every input."""


@dataclass
class Outcome:
    """What came of a target."""

    tried: int = 0
    refused: int = 0
    """Inputs that were told to be bad."""
    crashes: dict[str, list[Files]] = field(default_factory=dict)
    """Inputs by what went wrong, and where."""


_LONGEST_MESSAGE = 5000


class Hang(BaseException):
    """An input took too long; no exception for others to catch."""


def draw(target: Target, seed: int, number: int) -> dict[str, bytes]:
    """The input of this number: a good one with one or two of its files broken."""
    dice = Random(f"{target.name} {seed} {number}")
    files = dict(dice.choice(target.seeds))
    names = sorted(target.broken or files)
    for name in dice.sample(names, min(len(names), dice.choice((1, 1, 1, 2)))):
        others = [each[name] for each in target.seeds if name in each]
        files[name] = mutate(files[name], dice, others)
    return files


def fuzz(
    target: Target,
    folder: Path,
    inputs: int,
    *,
    seed: int = 0,
    first: int = 0,
    advance: Callable[[int], None] = lambda _: None,
    begin: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Try the inputs from `first` to `inputs` in a folder of its own; `begin` is told each before it is tried."""
    found = Outcome()
    there: dict[str, bytes] = {}
    warm_up(target, folder)
    _empty(folder)
    with warnings.catch_warnings(), _alarm():
        warnings.simplefilter("ignore")
        for number in range(first, inputs):
            begin(number)
            files = draw(target, seed, number)
            if target.changes_files:
                there = {}
                _empty(folder)
            _write(folder, files, there)
            fault = attempt(target, folder)
            found.tried += 1
            found.refused += fault == ""
            if fault:
                found.crashes.setdefault(fault, []).append(files)
            if number % 1000 == 999:
                advance(1000)
    advance(inputs % 1000)
    return found


def warm_up(target: Target, folder: Path) -> None:
    """Read each good input once without bounds: what is imported and compiled then is not the next one's doing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for files in target.seeds:
            _empty(folder)
            _write(folder, files, {})
            with contextlib.suppress(BabelscopeError):
                target.read(folder)


def attempt(target: Target, folder: Path) -> str | None:
    """None if the folder was read, "" if it was refused in a sentence, else what went wrong, and where."""
    begun = time.process_time()
    try:
        _limit(LONGEST, LONGEST_WAIT)
        _limit_memory(MOST_MEMORY)
        try:
            counts = target.read(folder)
        finally:
            _limit_memory(None)
            _limit(0, 0)
    except (MemoryError, Hang) as error:
        told = _told(error)
        gc.collect()
        return told
    except BabelscopeError as error:
        # What is too much for the memory is told in a sentence too, but it should not have been asked for.
        too_much = _caused_by(error, MemoryError)
        return _told(too_much) if too_much else sentence_fault(str(error))
    except Exception as error:
        return _told(error)
    if (took := time.process_time() - begun) > LONGEST:
        return f"{type(target).__name__} took {took:.0f} s of processor time"
    if counts is not None and counts[0] != counts[1]:
        return f"a line was lost: {counts[0]} went in, {counts[1]} came out"
    return None


def try_files(target: Target, folder: Path, files: Files) -> str | None:
    """The same for one input."""
    _empty(folder)
    _write(folder, files, {})
    with warnings.catch_warnings(), _alarm():
        warnings.simplefilter("ignore")
        return attempt(target, folder)


def sentence_fault(told: str) -> str:
    """Why a message is not one sentence for a person, or ""."""
    if not told.strip():
        return "an empty message"
    if len(told) > _LONGEST_MESSAGE:
        return f"a message of {len(told)} characters: {told[:60]!r}"
    # What fonts do not know is shown as a box; what steers or hides text must not be there.
    return "" if visible(told) == told else f"a message that is not one line of text: {told[:60]!r}"


def _caused_by(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, kind):
        cause = cause.__cause__ or cause.__context__
    return cause


def _told(error: BaseException) -> str:
    """What was raised, and the deepest line of ours that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/babelscope/" in frame.filename] or frames
    last = ours[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno} ({last.name})"


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hang("it took too long")

    before = [(number, signal.signal(number, ring)) for number in (signal.SIGPROF, signal.SIGALRM)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _limit(busy: float, waiting: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, busy)
    signal.setitimer(signal.ITIMER_REAL, waiting)


def _limit_memory(more: int | None) -> None:
    """Let this process have `more` bytes of address space than it has; None lifts the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = hard
    if more is not None:
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
        soft = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _write(folder: Path, files: Files, there: dict[str, bytes]) -> None:
    """Write what is not there already; most inputs differ in one file only."""
    for name, data in files.items():
        if there.get(name) != data:
            path = folder / name
            if "/" in name:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            there[name] = data
    for name in there.keys() - files.keys():
        (folder / name).unlink()
        del there[name]


def _empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
