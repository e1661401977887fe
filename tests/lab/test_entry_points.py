"""The lab is a plug-in: what it offers is named in pyproject.toml, and nowhere else."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from babelscope.core.registry import resolve
from babelscope.language.parsers import UDPIPE_MODELS
from babelscope.methods.patterns.flow import QUERIES, read_queries
from babelscope.systems.opening import SCHEMES, open_system
from babelscope.testsets.loading import FORMATS
from babelscope.util.errors import BabelscopeError

HOME = Path(__file__).parents[2]
DECLARED = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
PLACES = [
    (group, name, place)
    for group, entries in DECLARED.items()
    for name, place in entries.items()
    if place.startswith("babelscope.lab")
]


@pytest.mark.parametrize(("group", "name", "place"), PLACES)
def test_what_is_declared_is_there_and_installed(group: str, name: str, place: str) -> None:
    assert resolve(place) is not None
    (installed,) = metadata.entry_points(group=group, name=name)
    assert installed.value == place


def test_every_registry_finds_what_the_lab_offers() -> None:
    assert SCHEMES.find("lab").opener == "babelscope.lab.shipped:open_lab"
    assert FORMATS.find("lab").reader == "babelscope.lab.shipped:read_lab"
    assert callable(QUERIES.find("lab"))
    assert {"lab-de", "lab-en"} <= set(UDPIPE_MODELS.names())
    assert all(UDPIPE_MODELS.find(name).is_file() for name in ("lab-de", "lab-en"))


def test_nothing_below_the_command_line_names_the_lab() -> None:
    package = HOME / "src" / "babelscope"
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] not in ("lab", "cli"):
            assert not re.search(r"babelscope[./]lab\b", path.read_text(encoding="utf-8")), path


def test_an_unknown_name_is_told_with_those_that_are_known() -> None:
    with pytest.raises(BabelscopeError, match=r"no lab queries 'verbs'; there are occupations, senses"):
        read_queries("lab:verbs")
    with pytest.raises(BabelscopeError, match=r"no lab model 'techer'; did you mean lab:teacher\?"):
        open_system("lab:techer")
