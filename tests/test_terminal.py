"""What steers or hides text is shown on a terminal, not obeyed; data for other programs stays as it is."""

from __future__ import annotations

import io
import json
import logging
import os
import select
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.errors import BabelscopeError
from babelscope.progress import hub_bar, progress
from babelscope.testsets import AmbiguousSource, TestSet
from babelscope.text import shorten
from babelscope.util.characters import HIDDEN
from babelscope.util.terminal import Filtered, visible, visible_json
from toy_fixtures import Babelscope

HOSTILE = "a\x1b]0;owned\x07\u202eb\x9b2J"
SHOWN = r"a\x1b]0;owned\x07\u202eb\x9b2J"
PAIR = {"source": "a", "correct": "ab", "contrastive": ["ba"], "phenomenon": "p", "reference": "human"}
MAIN = "from babelscope.cli import main; main()"


def steered(text: str) -> set[str]:
    """What of a text would steer a terminal."""
    return {char for char in HIDDEN.findall(text) if char not in "\n\t"}


# -- texts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("a\x00b\r\n\t\x7f", r"a\x00b\r\n\t\x7f"),
        ("\x85\x9b", r"\x85\x9b"),
        ("\u061c\u200e\u200f\u202a\u202e\u2066\u2069", r"\u061c\u200e\u200f\u202a\u202e\u2066\u2069"),
        ("\u2028\u2029\ufeff\ufff9\ufffb", r"\u2028\u2029\ufeff\ufff9\ufffb"),
        ("\U000e0001\U000e0041\U000e007f", r"\U000e0001\U000e0041\U000e007f"),
        ("\udc80", r"\udc80"),
    ],
)
def test_what_steers_or_hides_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert str(BabelscopeError(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Straße, naïve, œuvre – “so” … 5 %",
        "می‌خواهم",  # with ZWNJ
        "क्‍ष",  # with ZWJ
        "👩‍👩‍👧 🏳️‍🌈",
        "ភាសា​ខ្មែរ",  # with ZWSP
        "漢字　かな",
        "עברית العربية",
        "e\u0301\u00a0x\u00ad",
        r"C:\x1b \u202e",
    ],
)
def test_ordinary_text_of_every_script_stays(text: str) -> None:
    assert visible(text) == text
    assert visible_json(text) == text


@pytest.mark.parametrize("text", ["", "a'b", 'a"b', "'\"", "\\n\n\x1b", "a" * 61, "Straße"])
def test_a_text_is_quoted_in_messages_as_python_does(text: str) -> None:
    assert shorten(text, 61) == repr(text)
    assert shorten("می‌خواهم\u202e") == "'می‌خواهم\\u202e'"


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_hidden_is_left_and_json_stays_what_it_is(text: str) -> None:
    assert not HIDDEN.search(visible(text))
    line = json.dumps(text, ensure_ascii=False)
    assert not HIDDEN.search(visible_json(line))
    assert json.loads(visible_json(line)) == text


# -- commands ------------------------------------------------------------------------------------------


def items(folder: Path) -> None:
    """Test sets whose every name is hostile."""
    cued = [
        AmbiguousSource(f"i{n}{HOSTILE}", f"a {n}", (f"r {n}",), (f"w {n}",), f"{'fm'[n]}{HOSTILE}")
        for n in range(2)
    ]
    TestSet("t", tuple(cued)).write(folder / "cued.jsonl")
    pairs = [{**PAIR, "id": f"{n}{HOSTILE}", "phenomenon": f"p {HOSTILE}"} for n in range(2)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    sentences = [{"id": f"{n} {HOSTILE}", "source": f"s {n}", "reference": "ab"} for n in range(3)]
    (folder / "tests.jsonl").write_text("".join(json.dumps(each) + "\n" for each in sentences))


@pytest.mark.parametrize(
    "command",
    [
        ("condition", "--tests", "cued.jsonl", "--system", "toy:1", "--evaluator", f"toy:{HOSTILE}"),
        ("contrast", "--tests", "pairs.jsonl", "--system", f"toy:{HOSTILE}", "--free", "no", "--table"),
        ("contrast", "--tests", "pairs.jsonl", "--system", f"toy:{HOSTILE}", "--out", f"run {HOSTILE}"),
    ],
)
def test_no_command_lets_through_what_it_read(
    babelscope: Babelscope, tmp_path: Path, command: tuple[str, ...]
) -> None:
    items(tmp_path)
    ran = babelscope(*command)
    assert ran.code == 0, ran.err
    assert not steered(ran.out + ran.err)
    assert SHOWN in ran.out, "it is there, and can be seen"


def test_cases_of_a_space(babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import toys
    from enumerated import Enumerated

    monkeypatch.setattr(toys.ToySystem, "top_k", Enumerated.top_k, raising=False)
    monkeypatch.setattr(toys.ToySystem, "space", Enumerated.space, raising=False)
    items(tmp_path)
    small = ("--k", "3", "--samples", "4", "--cases", "3", "--out", f"run {HOSTILE}")
    ran = babelscope("space", "--tests", "tests.jsonl", "--system", "toy:1?alphabet=ab&limit=4", *small)
    assert ran.code == 0, ran.err
    assert not steered(ran.out + ran.err)
    assert f"item 0 {SHOWN}" in ran.out
    assert f"run {SHOWN}" in ran.err
    compared = babelscope("compare", f"run {HOSTILE}")
    assert not steered(compared.out + compared.err)
    assert f"run {SHOWN}: " in compared.out


def test_usage_and_errors(babelscope: Babelscope) -> None:
    for arguments in (("translate", f"--{HOSTILE}"), (HOSTILE,), ("run", HOSTILE)):
        ran = babelscope(*arguments)
        assert ran.code == 2
        assert not steered(ran.out + ran.err)
        assert SHOWN[:10] in ran.err


def test_loggers_and_warnings(babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch) -> None:
    def log() -> dict[str, object]:
        for name in ("transformers", "huggingface_hub", "httpx", "ray", "py.warnings"):
            logger = logging.getLogger(name)
            # As these libraries do when they are imported, which is after `main` has begun.
            handler = logging.StreamHandler()
            monkeypatch.setattr(logger, "handlers", [handler])
            monkeypatch.setattr(logger, "disabled", False)
            logger.error("%s says %s", name, HOSTILE)
        warnings.warn(f"beware\nbabelscope: error: {HOSTILE}", stacklevel=1)
        return {}

    monkeypatch.setattr("babelscope.systems.opening.schemes", log)
    ran = babelscope("systems")
    assert ran.code == 0
    assert not steered(ran.err)
    assert ran.err.count(SHOWN) == 6
    assert f"babelscope: warning: beware\\nbabelscope: error: {SHOWN}\n" in ran.err


def test_what_transformers_itself_logs(tmp_path: Path) -> None:
    code = (
        "import babelscope.systems.opening as opening\n"
        "def log():\n"
        "    from transformers.utils import logging\n"
        "    import huggingface_hub.utils.logging as hub\n"
        f"    logging.get_logger('transformers').warning({HOSTILE!r})\n"
        f"    hub.get_logger('huggingface_hub').warning({HOSTILE!r})\n"
        f"    logging.get_logger('transformers').warning_advice({HOSTILE!r})\n"
        "    return {}\n"
        "opening.schemes = log\n"
        "import sys; sys.argv = ['babelscope', 'systems']\n"
    )
    ran = subprocess.run([sys.executable, "-c", code + MAIN], capture_output=True, cwd=tmp_path, check=True)
    err = ran.stderr.decode()
    assert not steered(err)
    assert err.count(SHOWN) == 3


def test_a_traceback_of_ours_too(tmp_path: Path) -> None:
    code = (
        "import babelscope.study, sys\n"
        "class Odd(Exception): __str__ = lambda self: 'odd ' + self.args[0]\n"
        f"def fail(*_, **__): raise Odd({HOSTILE!r})\n"
        "babelscope.study.run_study = fail\n"
        "sys.argv = ['babelscope', 'run', 'study.toml']\n"
    )
    ran = subprocess.run([sys.executable, "-c", code + MAIN], capture_output=True, cwd=tmp_path, check=False)
    assert not steered(ran.stderr.decode())
    assert f"odd {SHOWN}" in ran.stderr.decode()


# -- data for other programs ---------------------------------------------------------------------------


class Terminal(io.TextIOWrapper):
    """Stdout or stderr on a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True

    def shown(self) -> str:
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]


def given_translations(folder: Path) -> tuple[str, ...]:
    (folder / "a.en").write_text("a\n")
    (folder / "given").write_text(f"{HOSTILE}\U000e0041\n")
    return ("translate", "--system", "file:given", "a.en")


def test_data_is_as_it_is_in_pipes_and_files(babelscope: Babelscope, tmp_path: Path) -> None:
    command = given_translations(tmp_path)
    assert babelscope(*command).out == f"{HOSTILE}\U000e0041\n"
    line = babelscope(*command, "--json").out
    assert "\u202e" in line
    assert json.loads(line)["translations"][0]["text"] == f"{HOSTILE}\U000e0041"
    babelscope(*command, "--out", "out")
    assert (tmp_path / "out").read_text() == f"{HOSTILE}\U000e0041\n"


def test_data_is_made_visible_on_a_terminal(
    babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = given_translations(tmp_path)
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    assert babelscope(*command).code == 0
    assert terminal.shown() == f"{SHOWN}\\U000e0041\n"
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    assert babelscope(*command, "--json").code == 0
    assert not steered(terminal.shown())
    assert json.loads(terminal.shown())["translations"][0]["text"] == f"{HOSTILE}\U000e0041"


def test_text_for_people_in_a_file_is_visible_too(babelscope: Babelscope, tmp_path: Path) -> None:
    items(tmp_path)
    babelscope("contrast", "--tests", "pairs.jsonl", "--system", "toy:1", "--out", f"run {HOSTILE}")
    assert babelscope("compare", f"run {HOSTILE}", "--out", "table").code == 0
    assert not steered((tmp_path / "table").read_text())


# -- progress bars -------------------------------------------------------------------------------------


def on_a_terminal(command: list[str], **options: object) -> bytes:
    """What a process shows that has a terminal as stderr."""
    leader, follower = os.openpty()
    shown = b""
    with subprocess.Popen(command, stderr=follower, **options) as process:  # type: ignore[call-overload]
        os.close(follower)
        while process.poll() is None or select.select([leader], [], [], 0.1)[0]:
            if select.select([leader], [], [], 0.1)[0]:
                try:
                    shown += os.read(leader, 65536)
                except OSError:  # the other end is closed
                    break
    os.close(leader)
    return shown


def test_a_bar_is_drawn_and_takes_nothing_from_stdout(toy_folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("a\n" * 6)
    (tmp_path / "study").write_text("")
    code = (
        "import sys, warnings, babelscope.progress\n"
        "babelscope.progress.PATIENCE_SECONDS = 0.01\n"
        "import babelscope.cli.common\n"
        "import toys\n"
        "right = toys.ToySystem.translate\n"
        "def slow(self, sources, **options):\n"
        "    import time; time.sleep(0.5)\n"
        f"    warnings.warn({HOSTILE!r})\n"
        f"    print({HOSTILE!r}, file=sys.stderr)\n"
        "    return right(self, sources, **options)\n"
        "toys.ToySystem.translate = slow\n"
        "sys.argv = ['babelscope', 'translate', '--system', 'toy:1', 'a.en']\n"
    )
    environment = {**os.environ, "TERM": "xterm"}
    paths = [*toy_folders, environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    with open(tmp_path / "out", "wb") as out:
        shown = on_a_terminal(
            [sys.executable, "-c", code + MAIN], stdout=out, cwd=tmp_path, env=environment
        ).decode()
    assert (tmp_path / "out").read_text().count("\n") == 6, "translations are where they belong"
    assert "translating" in shown
    assert "\x1b[" in shown, "rich draws its bar"
    assert "\x1b]0;owned" not in shown
    assert "\u202e" not in shown
    assert shown.count(SHOWN) == 2


def test_prints_go_through_the_filter_while_a_bar_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    import babelscope.progress

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(babelscope.progress, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(sys, "stdout", Filtered(out := Terminal()))
    monkeypatch.setattr(sys, "stderr", Filtered(err := Terminal()))
    with progress(f"going {HOSTILE}", 2) as advance:
        time.sleep(0.3)
        print(HOSTILE)
        print(HOSTILE, file=sys.stderr)
        advance(2)
    shown = err.shown() + out.shown()
    assert shown.count(f"\n{SHOWN}") + shown.count(f"K{SHOWN}") >= 2
    assert f"going {SHOWN}" in shown
    for hidden in ("\x1b]0", "\x07", "\u202e", "\x9b"):
        assert hidden not in shown
    assert isinstance(sys.stdout, Filtered)
    assert sys.stdout.unfiltered is out


def test_the_hub_s_bar_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub.utils import enable_progress_bars

    enable_progress_bars()  # which transformers switches off when it loads a model
    monkeypatch.setattr(sys, "stderr", Filtered(err := Terminal()))
    with hub_bar()(total=2, desc=f"Fetching {HOSTILE}", disable=False) as bar:
        bar.update(2)
    assert "\r" in err.shown()
    assert f"Fetching {SHOWN}" in err.shown()
    assert "\u202e" not in err.shown()


# -- streams that are closed, full or read by nobody -----------------------------------------------------


def broken_pipe() -> io.TextIOWrapper:
    read, write = os.pipe()
    os.close(read)
    return io.TextIOWrapper(open(write, "wb"), encoding="utf-8")


def full_disk() -> io.TextIOWrapper:
    return io.TextIOWrapper(open("/dev/full", "wb"), encoding="utf-8")


FILES = {
    "a.en": "a cat\na b c\n",
    "pairs.jsonl": "".join(json.dumps({**PAIR, "id": str(n)}) + "\n" for n in range(2)),
    "cued.jsonl": "".join(
        json.dumps(AmbiguousSource(str(n), f"a {n}", ("r",), ("w",), "male").as_json()) + "\n"
        for n in range(2)
    ),
    "tests.jsonl": "".join(
        json.dumps({"id": str(n), "source": "a", "reference": "ab", "dependencies": []}) + "\n"
        for n in range(2)
    ),
    "human.jsonl": "".join(
        json.dumps({"system": s, "id": i, "score": i * 0.2}) + "\n" for s in "ab" for i in (1, 2)
    ),
    "words.json": '{"cat": {"src_forms": ["cat"], "tgt_forms_male": ["cat"], "tgt_forms_female": ["c"]}}',
    "study.toml": '[[systems]]\nspec = "toy:1"\n[[tests]]\nspec = "tests.jsonl"\n'
    '[[methods]]\nname = "likelihood"\n',
}
COMMANDS = [
    each.split()
    for each in """
translate --system toy:1 a.en
translate --system toy:1 a.en --json
sample --system toy:1 --source a.en --n 2
score --system toy:1 --source a.en --target a.en
contrast --system toy:1 --tests pairs.jsonl --free no --records o
contrast --system toy:1 --tests pairs.jsonl --free no --json --records o
condition --tests cued.jsonl --system toy:1 --evaluator toy:2 --records o
challenge --tests tests.jsonl --system toy:1 --metric chrf --draws 2 --resamples 100 --records o
run study.toml
run study.toml --json
correlate human.jsonl --human human.jsonl
patterns flow --source a.en --data a.en --words words.json --flows o
make types
systems
data list
data show distil-lingeval --json
lab models
lab corpus --n 3 --stats
--version
--help
""".strip().split("\n")
]


@pytest.fixture
def files(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("stdout", "code", "told"),
    [
        (lambda: None, 0, ""),
        (full_disk, 1, "babelscope: error: stdout cannot be written: No space left on device\n"),
        (broken_pipe, 1, ""),
    ],
    ids=["closed", "full", "read by nobody"],
)
def test_a_stdout_that_cannot_be_written(
    babelscope: Babelscope,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    stdout: Callable[[], object],
    code: int,
    told: str,
) -> None:
    monkeypatch.setattr(sys, "stdout", stdout())
    ran = babelscope(*command)
    said = [line for line in ran.err.split("\n") if line.startswith("babelscope: error")]
    assert (ran.code, said) == (code, told.split("\n")[:-1])
    assert "Traceback" not in ran.err
    assert "Exception ignored" not in ran.err
    if "o" in command:
        assert (tmp_path / "o").stat().st_size, "what it kept is kept all the same"


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("stderr", [lambda: None, full_disk, broken_pipe], ids=["closed", "full", "pipe"])
def test_a_stderr_that_cannot_be_written_changes_nothing(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch, stderr: Callable[[], object]
) -> None:
    right = babelscope("run", "study.toml", "--out", "right").out
    monkeypatch.setattr(sys, "stderr", stderr())
    ran = babelscope("run", "study.toml", "--out", "run")
    assert (ran.code, ran.out) == (0, right)
    assert babelscope("run", "nothing.toml").code == 2


def test_in_a_shell(toy_folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(FILES["study.toml"])
    (tmp_path / "tests.jsonl").write_text(FILES["tests.jsonl"])
    paths = [*toy_folders, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def shell(line: str) -> tuple[int, str]:
        ran = subprocess.run(
            ["bash", "-c", f"set -o pipefail; babelscope() {{ {sys.executable} -m babelscope \"$@\"; }}; {line}"],
            capture_output=True, text=True, cwd=tmp_path, env=environment, check=False,
        )  # fmt: skip
        return ran.returncode, ran.stderr

    assert shell("babelscope run study.toml --no-report >&-")[0] == 0
    assert shell("babelscope systems >&- 2>&- <&-") == (0, "")
    assert shell("babelscope translate --system toy:1 <&-") == (
        2,
        "babelscope: error: stdin is closed; name a file of sources\n",
    )
    assert shell("babelscope systems > /dev/full") == (
        1,
        "babelscope: error: stdout cannot be written: No space left on device\n",
    )


def test_nothing_that_is_opened_later_takes_the_place_of_stdout(
    toy_folders: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.en").write_text("a\n")
    code = (
        "import os, sys\nos.close(1)\nsys.stdout = None\n"
        "sys.argv = ['babelscope', 'translate', '--system', 'toy:1?log=log', 'a.en']\n"
        "import toys\nright = toys.ToySystem._asked\n"
        "def asked(self, question):\n"
        "    right(self, question)\n"
        "    os.write(1, b'from a library in C')\n"
        "toys.ToySystem._asked = asked\n"
    )
    paths = [*toy_folders, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run([sys.executable, "-c", code + MAIN], cwd=tmp_path, env=environment, check=True)
    assert b"in C" not in b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
