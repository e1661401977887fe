"""The command line's shell: fast help, one sentence for bad input, the right exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from babelscope import __version__
from babelscope.util.errors import SystemFailure
from tests.support.toy_fixtures import Babelscope

HEAVY = (
    "torch",
    "transformers",
    "numpy",
    "scipy",
    "statsmodels",
    "pydantic",
    "httpx",
    "sacrebleu",
    "sqlite3",
)
COMMANDS = (
    (),
    ("translate",),
    ("score",),
    ("run",),
    ("systems",),
    ("data",),
    ("data", "list"),
    ("data", "get"),
    ("lab",),
    ("lab", "corpus"),
)


@pytest.mark.parametrize("commands", [COMMANDS[:1], COMMANDS])
def test_help_imports_nothing_heavy(commands: tuple[tuple[str, ...], ...]) -> None:
    code = (
        "import sys\nfrom babelscope.cli import main\n"
        f"for command in {commands!r}:\n"
        "    sys.argv = ['babelscope', *command, '--help']\n"
        "    try: main()\n"
        "    except SystemExit as stopped: assert not stopped.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    shown = subprocess.check_output([sys.executable, "-c", code], text=True)
    # For the parameters of a subcommand, typer itself imports pydantic.
    assert shown.rstrip().split("\n")[-1] == ("[]" if len(commands) == 1 else "['pydantic']")
    assert shown.count("Usage:") == len(commands)


def test_the_version_is_told(babelscope: Babelscope) -> None:
    assert babelscope("--version").out == f"babelscope {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [(), ("trnslate",), ("translate",), ("score", "--sauce", "x"), ("run", "--seed", "x")]
)
def test_wrong_usage_ends_with_two(babelscope: Babelscope, arguments: tuple[str, ...]) -> None:
    ran = babelscope(*arguments)
    assert ran.code == 2
    assert "Traceback" not in ran.err


def test_bad_input_is_one_sentence(babelscope: Babelscope) -> None:
    ran = babelscope("translate --system toyy:1 missing.txt")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "babelscope: error: missing.txt: no such file\n"


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
        "babelscope: stopped; finished work is kept in the run folder; run the same command again to go on\n",
    )
    monkeypatch.setattr("babelscope.systems.opening.load_schemes", interrupt)
    assert babelscope("systems").code == 130


def test_a_closed_pipe_is_no_error_to_show(toy_folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\n" * 20000)
    command = [
        sys.executable,
        "-m",
        "babelscope",
        "translate",
        "--system",
        "toy:1?limit=3",
        "--json",
        "in.txt",
    ]
    command[1:3] = ["-c", "from babelscope.cli import main; main()"]
    process = subprocess.Popen(
        command,
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
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(toy_folders), "PYTHONIOENCODING": "ascii"}
    shown = subprocess.check_output(
        [
            sys.executable,
            "-c",
            "from babelscope.cli import main; main()",
            "translate",
            "--system",
            "toy:1",
            "--json",
            "in.txt",
        ],
        cwd=tmp_path,
        env=environment,
    )
    assert '"source": "ä"' in shown.decode("utf-8")


def _completed(*words: str) -> list[str]:
    """What bash offers at Tab after these words, then what of this was imported for it."""
    watched = ("numpy", "torch", "babelscope.cli.compare", "babelscope.methods.contrast.command")
    code = (
        "import atexit, sys\nsys.argv = ['babelscope']\nfrom babelscope.cli import main\n"
        f"atexit.register(lambda: print(*[name for name in {watched!r} if name in sys.modules]))\nmain()"
    )
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    environment = {**os.environ, **asked, "_BABELSCOPE_COMPLETE": "complete_bash"}
    return subprocess.check_output([sys.executable, "-c", code], text=True, env=environment).split("\n")


def test_names_of_commands_are_completed_without_importing_them() -> None:
    assert _completed("babelscope", "co") == ["contrast", "condition", "compare", "correlate", "", ""]


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
