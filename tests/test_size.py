"""Files and functions stay short enough to be read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

import babelscope

SOURCE = Path(babelscope.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION = 700, 60
# Functions that are too long still; nothing is added here.
TO_BE_SPLIT = {"run_study"}


def test_no_file_is_long() -> None:
    sizes = {str(path.relative_to(SOURCE)): path.read_text("utf-8").count("\n") for path in FILES}
    assert not {path: size for path, size in sizes.items() if size > MOST_LINES_OF_A_FILE}


def test_no_function_is_long() -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {function.name}": size
        for path in FILES
        for function in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name not in TO_BE_SPLIT
        if (size := _lines(function, is_command=path.parent.name == "cli")) > MOST_LINES_OF_A_FUNCTION
    }
    assert not found


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef, *, is_command: bool) -> int:
    """A command's signature is its options: of a command, only what it does is counted."""
    first = function.body[0].lineno if is_command else function.lineno
    return (function.end_lineno or 0) - first + 1
