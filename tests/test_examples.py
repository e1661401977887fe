"""The notebooks in examples/ run from top to bottom, on the lab alone; published figures where the data is there."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def run(notebook: Path) -> str:
    """What the cells of a notebook print and show, one after the other in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, notebook.name, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
            html = value._repr_html_() if hasattr(value, "_repr_html_") else None
            shown.append(html or repr(value))
    plt.close("all")
    return "\n".join(shown)


@pytest.mark.parametrize("notebook", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_on_the_lab_alone(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BABELSCOPE_SHARED", str(tmp_path / "absent"))
    monkeypatch.chdir(tmp_path)
    assert "<table>" in run(notebook)
    cells = json.loads(notebook.read_text())["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")], (
        "clear the outputs"
    )


@pytest.mark.slow
def test_table_8_is_the_published_one(
    shared: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BABELSCOPE_SHARED", str(shared))
    run(next(path for path in EXAMPLES if path.stem == "hypothesis-space"))
    lines = capsys.readouterr().out.splitlines()
    table = [line.split(", ")[1:] for line in lines if line.startswith(("Transformer", "w/"))]
    assert len(table) == 3
    for published_empty, empty, published_kqrg, kqrg in table:
        assert (float(empty), float(kqrg)) == (float(published_empty), float(published_kqrg))
