"""Public test sets and models by name, read from the data folder or downloaded into it."""

from __future__ import annotations

from babelscope.core.registry import did_you_mean
from babelscope.util.errors import BabelscopeError
from babelscope.util.published import MODELS, NamedSet
from babelscope.util.published import SETS as SETS


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
