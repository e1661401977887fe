"""Public test sets and models by name, read from the data folder or downloaded into it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files

from babelscope.core.registry import did_you_mean
from babelscope.language.published_models import MODELS
from babelscope.util.errors import BabelscopeError
from babelscope.util.published import NamedSet, Project, PublishedFile, SetPart


def _read_sets() -> dict[str, NamedSet]:
    known = tomllib.loads((files("babelscope.testsets") / "published.toml").read_text("utf-8"))
    projects = {
        name: Project(**{**fields, "languages": tuple(fields["languages"])})
        for name, fields in known["projects"].items()
    }
    parts = [
        SetPart(name, **{**fields, "files": tuple(PublishedFile(**file) for file in fields["files"])})
        for name, fields in known["parts"].items()
    ]
    return {
        name: NamedSet(
            name,
            own["description"],
            projects[own["project"]],
            tuple(part for part in parts if part.name.startswith(name)),
        )
        for name, own in known["sets"].items()
    }


SETS: Mapping[str, NamedSet] = _read_sets()
"""Every public test set of `published.toml`, by name."""


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
