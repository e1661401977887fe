"""Public test sets and models by name, read from the data folder or downloaded into it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from babelscope.core.registry import did_you_mean
from babelscope.language.published_models import MODELS
from babelscope.testsets.published import SETS
from babelscope.testsets.sets import TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.published import NamedSet, SetPart, data_folder, fetch


def named_sets() -> Mapping[str, NamedSet]:
    """Every public test set that `load` and `babelscope data` know, by name; nothing is downloaded."""
    return SETS


def find_set(name: str) -> NamedSet:
    """The public test set of this name; an error with the closest name if there is none."""
    if name not in SETS:
        hint = did_you_mean(name, [*SETS, *MODELS], "see babelscope data list", cutoff=0.5)
        kind = "a model, not a test set" if name in MODELS else "no registered test set"
        raise BabelscopeError(f"{name!r} is {kind}; {hint}")
    return SETS[name]


def find_download(name: str) -> NamedSet:
    """The public test set or model of this name."""
    return MODELS[name] if name in MODELS else find_set(name)


def load_named(name: str, data_dir: str | Path | None = None, **options: bool | int | str) -> TestSet:
    """Load all parts of a named set, with options of their format.

    Parts that are missing and cannot be downloaded are counted as skipped.
    """
    from babelscope.testsets.loading import read_format

    wanted = find_set(name)
    status = {fetched.file: fetched.status for fetched in fetch(wanted, data_dir)}
    read: list[TestSet] = []
    skipped: dict[str, int] = {}
    for part in wanted.parts:
        if all(status[file] == "missing" for file in part.files):
            reason = f"{part.name} is not in the data folder, and its checksum is not known to us"
            skipped[reason] = part.items
            continue
        made = read_format(part.format, data_folder(data_dir) / part.path, **options)
        _check_count(part, made)
        read.append(made)
        for reason, count in made.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
    return TestSet(name, tuple(item for made in read for item in made.items), skipped, wanted.version)


def _check_count(part: SetPart, made: TestSet) -> None:
    """Raise if a part has not as many items, skipped ones included, as were published."""
    count = len(made) + sum(made.skipped.values())
    if count != part.items:
        raise BabelscopeError(
            f"{part.name} has {count} items in the data folder, but {part.items} are published"
        )
