"""What people are asked about a finished run: the queue of one of its methods on one of its test sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from babelscope.core.registry import did_you_mean
from babelscope.core.results import Record
from babelscope.methods.base import Method, find_method, method_names, restore_settings
from babelscope.methods.queue import Drawn, draw_queue, find_queue
from babelscope.runs.reading import cells_of_run, read_run
from babelscope.util.damage import explain_damage
from babelscope.util.errors import BabelscopeError

_WORDS = {"method": "methods", "tests": "test sets", "system": "systems"}


def queue_of_run(
    folder: str | Path,
    *,
    method: str = "",
    tests: str = "",
    systems: Sequence[str] = (),
    n: int,
    seed: int = 0,
) -> Drawn:
    """A queue from the records of a run: of the method and test set named, if there are several, and of all systems.

    The same arguments give the same queue.
    """
    found, records, settings = records_of_run(folder, method=method, tests=tests, systems=systems)
    with explain_damage(str(folder)):
        return draw_queue(found, records, settings, n=n, seed=seed)


def records_of_run(
    folder: str | Path, *, method: str = "", tests: str = "", systems: Sequence[str] = ()
) -> tuple[Method, list[Record], Any]:
    """The method that people judge of a run, its records of one test set and of some systems, and its settings."""
    run = read_run(folder)
    cells = cells_of_run(run)
    if not method:
        # A method that has nothing to be judged leaves no choice.
        cells = [cell for cell in cells if _has_queue(cell.kind)] or cells
    for what, chosen in (("method", method), ("tests", tests)):
        name = _one(folder, [str(getattr(cell, what)) for cell in cells], what, chosen)
        cells = [cell for cell in cells if getattr(cell, what) == name]
    for name in systems:
        _known(folder, name, [cell.system for cell in cells], "system")
    cells = [cell for cell in cells if not systems or cell.system in systems]
    found = find_method(cells[0].kind)
    find_queue(found)
    with explain_damage(str(folder)):
        settings = restore_settings(found, run.manifest.methods[cells[0].method].settings)
        return found, [record for cell in cells for record in cell.records], settings


def _has_queue(kind: str) -> bool:
    return kind in method_names() and bool(find_method(kind).queue)


def _one(folder: str | Path, names: Iterable[str], what: str, chosen: str) -> str:
    """The name that was chosen, or the only one there is."""
    known = list(dict.fromkeys(names))
    if chosen:
        return _known(folder, chosen, known, what)
    if len(known) != 1:
        told = f"{', '.join(known)}; choose one with --{what}" if known else "none"
        raise BabelscopeError(f"one of the {_WORDS[what]} of {folder} is judged at a time, and it has {told}")
    return known[0]


def _known(folder: str | Path, name: str, names: Iterable[str], what: str) -> str:
    known = list(dict.fromkeys(names))
    if name not in known:
        hint = did_you_mean(name, known, f"it has {', '.join(known)}")
        raise BabelscopeError(f"{folder} has no {name!r} among its {_WORDS[what]}; {hint}")
    return name
