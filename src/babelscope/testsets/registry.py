"""Public test sets and models by name, read from the data folder or downloaded into it."""

from __future__ import annotations

from babelscope.core.registry import did_you_mean
from babelscope.util.errors import BabelscopeError
from babelscope.util.published import LISTS, MODELS, NamedSet
from babelscope.util.published import SETS as SETS


def find_set(name: str) -> NamedSet:
    """The public test set of this name; an error with the closest name if there is none."""
    if name not in SETS:
        hint = did_you_mean(name, [*SETS, *MODELS, *LISTS], "see babelscope data list", cutoff=0.5)
        others = "a model, not a test set" if name in MODELS else "no registered test set"
        kind = "a folder of lists, for --system lists:" if name in LISTS else others
        raise BabelscopeError(f"{name!r} is {kind}; {hint}")
    return SETS[name]


def find_download(name: str) -> NamedSet:
    """The public test set, model or lists of this name."""
    known = {**MODELS, **LISTS}
    return known[name] if name in known else find_set(name)
