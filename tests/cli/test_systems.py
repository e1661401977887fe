"""`babelscope systems`: what can be opened, and what is missing for it."""

from __future__ import annotations

import json

from babelscope.cli.systems import _installed
from tests.support.toy_fixtures import Babelscope


def test_every_scheme_is_listed_with_an_example(babelscope: Babelscope) -> None:
    rows = [json.loads(line) for line in babelscope("systems --json").out.split("\n")[:-1]]
    schemes = {row["scheme"]: row for row in rows}
    assert {"hf", "file", "toy"} <= schemes.keys()
    assert schemes["toy"]["capabilities"] == ["sample", "score", "translate"]
    assert all(row["example"].startswith(f"{row['scheme']}:") for row in rows)
    shown = babelscope("systems").out
    assert all(f"{scheme}:  " in shown for scheme in schemes)


def test_what_is_missing_is_told() -> None:
    assert _installed("")
    assert _installed("test")
