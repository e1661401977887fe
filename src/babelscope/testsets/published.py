"""The public test sets of `published.toml`: where each is published, sizes and SHA-256 of its files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files

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
