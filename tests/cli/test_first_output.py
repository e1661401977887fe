"""Commands import only what they need, since some libraries take seconds to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from babelscope.systems.marian_folders import read_marian, read_marian_pieces
from babelscope.systems.model_folders import ModelFolder, TokenizerFolder

LAB = Path(__file__).parents[2] / "src" / "babelscope" / "lab" / "models"
HEAVY = {"numba", "numpy", "pandas", "scipy", "sklearn", "statsmodels", "sympy", "torch", "transformers"}
# transformers brings sympy, torch._dynamo, scipy.optimize and sacremoses along.
NOT_TO_SCORE = {"numba", "pandas", "sacremoses", "sympy", "torch._dynamo", "transformers"}
NOT_TO_TRANSLATE = NOT_TO_SCORE - {"numba"}


def imported(folder: Path, *arguments: str) -> set[str]:
    """The names of all modules that a command has imported when it ends."""
    code = (
        "import sys\n"
        "from babelscope.cli import main\n"
        f"sys.argv = ['babelscope', *{list(arguments)!r}]\n"
        "try: main()\n"
        "except SystemExit as ended: assert not ended.code, ended.code\n"
        "finally: open('modules.txt', 'w').write('\\n'.join(sys.modules))\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
    return set((folder / "modules.txt").read_text(encoding="utf-8").split("\n"))


@pytest.mark.parametrize(
    "arguments", [("--help",), ("score", "--help"), ("contrast", "--help"), ("systems",)]
)
def test_help_imports_no_heavy_library(arguments: tuple[str, ...], tmp_path: Path) -> None:
    found = imported(tmp_path, *arguments)
    assert "babelscope.cli" in found
    assert not found & HEAVY


def test_scoring_with_marian_imports_torch_and_little_else(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("two dogs run\n", encoding="utf-8")
    (tmp_path / "target").write_text("zwei Hunde\n", encoding="utf-8")
    found = imported(tmp_path, "score", "--system", "lab:teacher", "--source", "source", "--target", "target")
    assert "torch" in found
    assert not found & NOT_TO_SCORE


def test_translating_with_marian_imports_no_transformers(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("two dogs run\n", encoding="utf-8")
    found = imported(tmp_path, "translate", "--system", "lab:student", "source")
    assert "numba" in found
    assert not found & NOT_TO_TRANSLATE


ENCODER_DECODERS = sorted(path for path in LAB.glob("*/model.safetensors") if path.parent.name != "llm")


@pytest.mark.parametrize("path", ENCODER_DECODERS, ids=lambda path: path.parent.name)
def test_every_shipped_encoder_decoder_is_read_without_transformers(path: Path) -> None:
    assert read_marian(ModelFolder(path.parent), device="cpu") is not None


def test_the_shipped_tokenizer_is_read_without_transformers() -> None:
    assert read_marian_pieces(TokenizerFolder(LAB / "tokenizer")) is not None
