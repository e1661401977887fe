"""The public names: all there, and `import babelscope` costs nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import babelscope


def test_every_public_name_can_be_had() -> None:
    for name in babelscope.__all__:
        assert getattr(babelscope, name) is not None
    assert set(dir(babelscope)) == set(babelscope.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = babelscope.nonsense


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(str(babelscope.__file__)).read_text())
    stated = {
        alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    stated |= {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert {name for name in stated if name and not name.startswith("_")} | {"__version__"} == set(
        babelscope.__all__
    )


def test_importing_babelscope_imports_nothing_heavy() -> None:
    code = "import sys, babelscope; print([m for m in ('numpy', 'torch', 'pydantic', 'typer') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
