"""The commands on the pages of docs/measured about papers: each runs, and prints the figures that the page quotes."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.toy_fixtures import Babelscope

PAGES = Path(__file__).parents[1] / "docs" / "measured"
BLOCK = re.compile(r"^```sh(?P<marks>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced `sh` block of a page, run in a folder of its own.

    Its words after `sh`: `slow` (left to `make test-all`), `shared` (needs `$SHARED`, the public data).
    """

    name: str
    marks: frozenset[str]
    text: str


def blocks() -> list[Block]:
    """All blocks of all pages, named by page and line."""
    found = []
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            line = text[: match.start()].count("\n") + 1
            marks = frozenset(match["marks"].split())
            found.append(Block(f"{page.stem}:{line}", marks, match["text"]))
    return found


def steps(block: Block) -> list[tuple[str, list[str]]]:
    """Commands of a block, each with what its output must hold: the lines `# -> ...` after it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith("# -> "):
            found[-1][1].append(line.removeprefix("# -> ").strip())
        elif line.strip() and not line.startswith("#"):
            found.append((line, []))
    return found


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.slow] if "slow" in each.marks else [])
        for each in blocks()
    ],
)
def test_a_block_of_a_page_runs(
    block: Block,
    babelscope: Babelscope,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Every command of the block ends with exit code 0 and prints what the page says."""
    assert block.marks <= {"slow", "shared"}, f"{block.name}: unknown words after sh"
    if "shared" in block.marks:
        monkeypatch.setenv("SHARED", str(request.getfixturevalue("shared")))
    for command, quoted in steps(block):
        program, *arguments = shlex.split(os.path.expandvars(command))
        assert program == "babelscope", f"{block.name}: only babelscope is run: {command}"
        done = babelscope(*arguments)
        assert done.code == 0, f"{command}\n{done.err}"
        missing = [figure for figure in quoted if figure not in done.out]
        assert not missing, f"{command}\ndoes not print {missing}:\n{done.out}"
