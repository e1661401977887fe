"""The command line's shell: fast help, one sentence for bad input, the right exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import babelscope as babelscope_package
from babelscope.cli import app
from babelscope.systems.models.folders import ModelFolder, TokenizerFolder
from babelscope.systems.models.marian import read_marian, read_marian_pieces
from babelscope.util.errors import SystemFailure
from tests.support.toy_fixtures import Babelscope

HEAVY = (
    "torch",
    "transformers",
    "numpy",
    "matplotlib",
    "numba",
    "scipy",
    "statsmodels",
    "httpx",
    "sacrebleu",
    "sqlite3",
)
COMMANDS = (
    "--help",
    "score --help",
    "run --help",
    "make --help",
    "data list --help",
    "lab --help",
)
# transformers brings sympy, torch._dynamo, scipy.optimize and sacremoses along.
NOT_TO_SCORE = {"numba", "pandas", "sacremoses", "sympy", "torch._dynamo", "transformers"}
MAIN = "from babelscope.cli import main; main()"


def python(code: str, *arguments: str, folder: Path | None = None, more: Mapping[str, str] = {}) -> str:
    """What a process of its own prints; it must end well."""
    environment = {**os.environ, **more}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.check_output(command, text=True, encoding="utf-8", cwd=folder, env=environment)


def imported(*commands: str, folder: Path | None = None) -> set[str]:
    """The names of all modules that are imported when commands have ended."""
    code = (
        "import sys\nfrom babelscope.cli import main\n"
        f"for command in {commands!r}:\n"
        "    sys.argv = ['babelscope', *command.split()]\n"
        "    try: main()\n"
        "    except SystemExit as stopped: assert not stopped.code\n"
        "print('\\n' + ' '.join(sys.modules))"
    )
    return set(python(code, folder=folder).rstrip().split("\n")[-1].split())


def test_help_imports_nothing_heavy() -> None:
    assert not imported(*COMMANDS, "systems") & {*HEAVY, "transformers"}
    # The options of a method come from its class, which is imported with its statistics.
    assert not imported("contrast --help") & ({*HEAVY} - {"numpy", "scipy"})
    # For the parameters of a subcommand, typer itself imports pydantic.
    listed = imported("--help")
    assert "pydantic" not in listed
    # Nor is any command imported.
    rooms = ("babelscope.cli", "babelscope.lab", "babelscope.methods")
    ours = ("util", "core", "cli.commands", "cli.shell", "lab.commands", "methods.registry")
    allowed = tuple(f"babelscope.{name}" for name in ours)
    found = {name for name in listed if name.startswith("babelscope.")}
    assert not [name for name in found if not name.startswith(allowed) and name not in rooms]


def test_marian_models_need_torch_and_little_else(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("two dogs run\n", encoding="utf-8")
    (tmp_path / "target").write_text("zwei Hunde\n", encoding="utf-8")
    found = imported("score --system lab:teacher source --target target", folder=tmp_path)
    assert "torch" in found
    assert not found & NOT_TO_SCORE
    found = imported("translate --system lab:student source", folder=tmp_path)
    assert "numba" in found
    assert not found & (NOT_TO_SCORE - {"numba"})


def test_every_shipped_encoder_decoder_is_read_without_transformers() -> None:
    lab = Path(babelscope_package.__file__).parent / "lab" / "models"
    for path in lab.glob("*/model.safetensors"):
        if path.parent.name != "llm":
            assert read_marian(ModelFolder(path.parent), device="cpu") is not None, path
    assert read_marian_pieces(TokenizerFolder(lab / "tokenizer")) is not None


def test_every_scheme_is_listed_with_an_example(babelscope: Babelscope) -> None:
    rows = babelscope("systems --json").rows
    schemes = {row["scheme"]: row for row in rows}
    assert {"hf", "file", "toy"} <= schemes.keys()
    assert schemes["toy"]["capabilities"] == ["sample", "score", "translate"]
    assert all(row["example"].startswith(f"{row['scheme']}:") for row in rows)
    shown = babelscope("systems").out
    assert all(f"{scheme}:  " in shown for scheme in schemes)


def test_the_version_is_told(babelscope: Babelscope) -> None:
    assert babelscope("--version").out == f"babelscope {babelscope_package.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [(), ("trnslate",), ("translate",), ("score", "--sauce", "x"), ("run", "--seed", "x")]
)
def test_wrong_usage_ends_with_two(babelscope: Babelscope, arguments: tuple[str, ...]) -> None:
    ran = babelscope(*arguments)
    assert ran.code == 2
    assert "Traceback" not in ran.err


@pytest.fixture
def study(tmp_path: Path) -> None:
    """A study file that can be read."""
    (tmp_path / "study.toml").write_text(
        "[[systems]]\nspec = 'toy:1'\n[[tests]]\nspec = 't'\n[[methods]]\nname = 'm'\n"
    )


@pytest.mark.usefixtures("study")
def test_a_failure_that_is_not_the_users_ends_with_one(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SystemFailure("the server went away")

    monkeypatch.setattr("babelscope.runs.study.run_study", fail)
    ran = babelscope("run study.toml")
    assert (ran.code, ran.err) == (1, "babelscope: error: the server went away\n")


@pytest.mark.usefixtures("study")
def test_our_own_mistakes_keep_their_traceback(tmp_path: Path) -> None:
    code = (
        "import babelscope.runs.study\n"
        "babelscope.runs.study.run_study = lambda *_, **__: 1 / 0\n"
        "from babelscope.cli import main; import sys\nsys.argv[1:] = ['run', 'study.toml']\nmain()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ran.returncode == 1
    assert "ZeroDivisionError" in ran.stderr


@pytest.mark.usefixtures("study")
def test_an_interrupted_study_says_how_to_go_on(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("babelscope.runs.study.run_study", interrupt)
    ran = babelscope("run study.toml")
    assert (ran.code, ran.err) == (
        130,
        "babelscope: stopped; finished work is kept in the run folder; run the same command again to resume\n",
    )
    monkeypatch.setattr("babelscope.systems.registry.load_schemes", interrupt)
    assert babelscope("systems").code == 130


def test_a_closed_pipe_is_no_error_to_show(toy_folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\n" * 20000)
    asked = ["translate", "--system", "toy:1?limit=3", "--json", "in.txt"]
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(toy_folders)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()


def test_output_is_utf8_whatever_the_locale(toy_folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("ä\n", encoding="utf-8")
    asked = ("translate", "--system", "toy:1", "--json", "in.txt")
    path = {"PYTHONPATH": os.pathsep.join(toy_folders), "PYTHONIOENCODING": "ascii"}
    assert '"source": "ä"' in python(MAIN, *asked, folder=tmp_path, more=path)


def _completed(*words: str) -> list[str]:
    """What bash offers at Tab after these words, then what of this was imported for it."""
    watched = ("numpy", "torch", "babelscope.cli.compare", "babelscope.methods.contrast.command")
    code = (
        "import atexit, sys\nsys.argv = ['babelscope']\nfrom babelscope.cli import main\n"
        f"atexit.register(lambda: print(*[name for name in {watched!r} if name in sys.modules]))\nmain()"
    )
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    return python(code, more={**asked, "_BABELSCOPE_COMPLETE": "complete_bash"}).split("\n")


def test_names_of_commands_are_completed_without_importing_them() -> None:
    assert _completed("babelscope", "co") == ["contrast", "condition", "compare", "", ""]


def test_options_and_subcommands_are_completed() -> None:
    assert "--system" in _completed("babelscope", "contrast", "--s")
    assert _completed("babelscope", "data", "g")[0] == "get"


def test_completion_can_be_installed(tmp_path: Path) -> None:
    code = "import sys; from babelscope.cli import main; sys.argv = ['babelscope', '--install-completion']; main()"
    environment = {**os.environ, "HOME": str(tmp_path)}
    ran = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -c "{code}"; true'],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert "completion installed" in ran.stdout, ran.stderr
    assert "_BABELSCOPE_COMPLETE" in (tmp_path / ".bash_completions" / "babelscope.sh").read_text()


def groups() -> list[tuple[str, ...]]:
    commands: Any = get_command(app)
    return [(), *((name,) for name in commands.commands if hasattr(commands.commands[name], "commands"))]


def listed(text: str) -> dict[str, str]:
    """Summaries by command, put together where they were folded."""
    found: dict[str, str] = {}
    name = ""
    for line in text.split("\n  --help ", 1)[1].splitlines()[1:]:
        if not line.startswith("  "):
            continue
        if line.startswith("  ") and line[2:3].strip():
            name, _, line = line.strip().partition(" ")
        found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found


def test_settings_are_described_whole(babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    shown = " ".join(babelscope("contrast", "--help").out.split())
    assert "ties <half|correct|wrong> Credit for a tie" in shown
    assert "`auto`: if there are 1-bests, and the analysis of a language with detectors is installed" in shown
    assert "corrected for the number of rates (Holm). [default: 0.05]" in shown


@pytest.mark.parametrize("path", groups())
def test_every_summary_is_whole_at_80_columns(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    shown = babelscope(*path, "--help").out
    assert max(map(len, shown.splitlines())) <= 80
    group: Any = get_command(app)
    for word in path:
        group = group.commands[word]
    summaries = listed(shown)
    assert list(summaries) == list(group.commands)
    for name in group.commands:
        help_ = " ".join((group.commands[name].help or "").split())
        assert help_.startswith(summaries[name]), name
        assert summaries[name].endswith((".", "?")), f"{name}: a summary is a sentence or a question"
        assert "..." not in summaries[name]
