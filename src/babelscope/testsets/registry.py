"""Public test sets, releases and models by name, read from the data folder or downloaded into it."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

from babelscope.core.registry import did_you_mean
from babelscope.util import published
from babelscope.util.errors import BabelscopeError
from babelscope.util.published import MODELS, NamedSet, Project, PublishedFile, SetPart

VARIABLE = "BABELSCOPE_REGISTRY"
"""Environment variable with registries, separated by spaces."""


def _read_releases() -> tuple[dict[str, NamedSet], dict[str, NamedSet]]:
    """The public releases by name, each with all its files, and the test sets in them."""
    room = files("babelscope.testsets")
    known = tomllib.loads((room / "releases.toml").read_text("utf-8"))
    listed = _read_files((room / "releases.tsv").read_text("utf-8"))
    releases: dict[str, NamedSet] = {}
    sets: dict[str, NamedSet] = {}
    for name, fields in known.items():
        project = Project(
            fields["repository"],
            tuple(fields.get("languages", ("", ""))),
            fields["license"],
            fields["citation"],
        )
        release = _Release(name, fields["what"], project, listed[project.repository])
        for rule in fields.get("sets", ()):
            sets |= release.sets(**rule)
        releases[name] = release.whole()
    return releases, sets


def _read_files(text: str) -> dict[str, dict[str, PublishedFile]]:
    """The files of each repository by their path in it; `local` is left to the release."""
    found: dict[str, dict[str, PublishedFile]] = {}
    repository = commit = folder = ""
    for line in text.splitlines()[1:]:
        first, *rest = line.split("\t")
        if first:
            repository, (commit, folder) = first, rest
            continue
        name, size, sha256 = rest
        path = f"{folder}/{name}" if folder else name
        file = PublishedFile("", f"{repository}/{commit}/{path}", int(size), sha256)
        found.setdefault(repository, {})[path] = file
    return found


class _Release:
    """A public repository: its files, and which of them are test sets."""

    def __init__(self, name: str, what: str, project: Project, listed: Mapping[str, PublishedFile]) -> None:
        self.name, self.what, self.project, self.listed = name, what, project, listed
        self._used: dict[str, PublishedFile] = {}

    def sets(self, name: str, files: str, format: str, path: str = r"\g<0>") -> dict[str, NamedSet]:
        """The test sets of a rule of releases.toml."""
        parts: dict[str, dict[str, list[PublishedFile]]] = {}
        languages: dict[str, tuple[str, str]] = {}
        for each, file in self.listed.items():
            if not (match := re.fullmatch(files, each)):
                continue
            kept = self._used[each] = replace(file, local=f"{self.name}/{each}")
            own = match.expand(name).lower()
            named = match.groupdict()
            languages[own] = tuple(  # type: ignore[assignment]
                named.get(side, known).lower()
                for side, known in zip(("source", "target"), self.project.languages, strict=True)
            )
            parts.setdefault(own, {}).setdefault(match.expand(path), []).append(kept)
        return {
            own: NamedSet(
                own,
                self.what,
                replace(self.project, languages=languages[own]),
                tuple(
                    SetPart(own, format, f"{self.name}/{read}", 0, tuple(its)) for read, its in found.items()
                ),
            )
            for own, found in parts.items()
        }

    def whole(self) -> NamedSet:
        """All its files; those beside sets lie in a folder of their own, unseen by formats that read folders."""
        rest = f"{self.name}/other" if self._used else self.name
        its = tuple(
            self._used.get(path) or replace(file, local=f"{rest}/{path}")
            for path, file in self.listed.items()
        )
        return NamedSet(self.name, self.what, self.project, (SetPart(self.name, "", self.name, 0, its),))


RELEASES, _IN_RELEASES = _read_releases()
SETS: Mapping[str, NamedSet] = {**published.SETS, **_IN_RELEASES, **published.SETS}
"""Every public test set, by name."""


def registered_sets(registries: Sequence[str] = ()) -> Mapping[str, NamedSet]:
    """The test sets that others published, by name, from these registries and those of $BABELSCOPE_REGISTRY."""
    if not registries and not os.environ.get(VARIABLE):
        return {}
    # Imported late: it needs pydantic, and most runs name no registry.
    from babelscope.testsets.publishing import read_registries

    return read_registries([*registries, *os.environ.get(VARIABLE, "").split()])


def find_set(name: str, more: Mapping[str, NamedSet] | None = None) -> NamedSet:
    """The public test set of this name, or one of `more`; an error with the closest name if there is none."""
    known = {**(more or {}), **SETS}
    if name not in known:
        hint = did_you_mean(name, [*known, *RELEASES, *MODELS], "see babelscope data list", cutoff=0.5)
        kind = "no registered test set"
        if name in MODELS:
            kind = "a model, not a test set"
        elif name in RELEASES:
            kind = "a release, not a test set"
            named = ", ".join(sets_of(name))
            hint = f"name one of its sets: {named}" if named else "it has no sets"
        raise BabelscopeError(f"{name!r} is {kind}; {hint}")
    return known[name]


def sets_of(release: str) -> list[str]:
    """The names of the test sets of a release."""
    repository = RELEASES[release].project.repository
    return [
        name
        for name, each in _IN_RELEASES.items()
        if each.project.repository == repository and name not in published.SETS
    ]


def find_download(name: str, more: Mapping[str, NamedSet] | None = None) -> NamedSet:
    """What can be downloaded by this name: a model, a release or a folder or file of one, or a test set."""
    if found := MODELS.get(name) or RELEASES.get(name):
        return found
    if name not in SETS and (found := _part_of_release(name)):
        return found
    return find_set(name, more)


def _part_of_release(name: str) -> NamedSet | None:
    """The files of a release whose path is, or begins with, what follows its name."""
    release, _, path = name.rstrip("/").partition("/")
    if release not in RELEASES or not path:
        return None
    whole = RELEASES[release]

    def within(file: PublishedFile) -> bool:
        return f"{file.remote.split('/', 3)[3]}/".startswith(f"{path}/")

    its = tuple(file for file in whole.files if within(file))
    return replace(whole, name=name, parts=(replace(whole.parts[0], files=its),)) if its else None
