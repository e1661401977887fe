"""What steers or hides text is shown on a terminal, not obeyed; data for other programs stays as it is."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import select
import subprocess
import sys
import unicodedata
import warnings
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.testsets import AmbiguousSource, TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.progress import hub_bar
from babelscope.util.terminal import HIDDEN, PATTERN, Filtered, mark_hidden, visible, visible_json
from babelscope.util.text import shorten

HOSTILE = "a\x1b]0;owned\x07\u202eb\x9b2J"
SHOWN = r"a\x1b]0;owned\x07\u202eb\x9b2J"
PAIR = {"source": "a", "correct": "ab", "contrastive": ["ba"], "phenomenon": "p", "reference": "human"}
MAIN = "from babelscope.cli import main; main()"


def steered(text: str) -> set[str]:
    """What of a text would steer a terminal."""
    return {char for char in HIDDEN.findall(text) if char not in "\n\t"}


# -- texts ---------------------------------------------------------------------------------------------


def test_every_control_and_format_character_is_decided():
    """What Unicode calls control or format is hidden, but for what is said to be text."""
    kept = {
        number
        for number in range(0x110000)
        if unicodedata.category(chr(number)) in ("Cc", "Cf", "Zl", "Zp", "Cs")
        and not HIDDEN.match(chr(number))
    }
    joiners = set(map(ord, "\t\n\xad\u200b\u200c\u200d\u180e"))
    # Signs that are seen: Arabic and Syriac marks, Kaithi and Egyptian ones.
    seen = {
        *range(0x600, 0x606),
        0x6DD,
        0x70F,
        0x890,
        0x891,
        0x8E2,
        0x110BD,
        0x110CD,
        *range(0x13430, 0x13440),
    }
    assert joiners <= kept <= joiners | seen


def test_pages_have_the_same_table_and_show_numbers():
    script = (files("babelscope.util") / "visible.js").read_text("utf-8")
    pattern = re.sub(r"\\U0*([0-9a-f]+)", r"\\u{\1}", PATTERN)
    assert f"/({pattern}+)/u" in script
    assert mark_hidden("abc\u202e\u2066d") == "abc⟦U+202E⟧⟦U+2066⟧d"
    assert mark_hidden("a" + "\u2060" * 2004) == "a" + "⟦U+2060⟧" * 4 + "⟦2,000 more⟧"


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
def test_what_steers_or_hides_is_shown(text, shown):
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
        "漢字　かな 葛\U000e0100",
        "עברית العربية",
        "e\u0301\u00a0x\u00ad",
        r"C:\x1b \u202e",
    ],
)
def test_ordinary_text_of_every_script_stays(text):
    assert visible(text) == text
    assert visible_json(text) == text


@pytest.mark.parametrize("text", ["", "a'b", 'a"b', "'\"", "\\n\n\x1b", "a" * 61, "Straße"])
def test_a_text_is_quoted_in_messages_as_python_does(text):
    assert shorten(text, 61) == repr(text)
    assert shorten("می‌خواهم\u202e") == "'می‌خواهم\\u202e'"


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_hidden_is_left_and_json_stays_what_it_is(text):
    assert not HIDDEN.search(visible(text))
    assert "\n" not in visible(text)
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
        ("condition", "--tests", "cued.jsonl", "--system", "toy:1", "--evaluator", f"toy:{HOSTILE}", "--all"),
        ("contrast", "--tests", "pairs.jsonl", "--system", f"toy:{HOSTILE}", "--out", f"run {HOSTILE}"),
    ],
)
def test_no_command_lets_through_what_it_read(babelscope, tmp_path, command):
    items(tmp_path)
    ran = babelscope(*command)
    assert ran.code == 0, ran.err
    assert not steered(ran.out + ran.err)
    assert SHOWN in ran.out, "it is there, and can be seen"


def test_usage_and_errors(babelscope):
    for arguments in (("translate", f"--{HOSTILE}"), (HOSTILE,), ("run", HOSTILE)):
        ran = babelscope(*arguments)
        assert ran.code == 2
        assert not steered(ran.out + ran.err)
        assert SHOWN[:10] in ran.err


def test_loggers_and_warnings(babelscope, monkeypatch):
    def log() -> tuple[dict[str, object], list[str]]:
        for name in ("transformers", "huggingface_hub", "httpx", "ray", "py.warnings"):
            logger = logging.getLogger(name)
            # As these libraries do when they are imported, which is after `main` has begun.
            handler = logging.StreamHandler()
            monkeypatch.setattr(logger, "handlers", [handler])
            monkeypatch.setattr(logger, "disabled", False)
            logger.error("%s says %s", name, HOSTILE)
        warnings.warn(f"beware\nbabelscope: error: {HOSTILE}", stacklevel=1)
        return {}, []

    monkeypatch.setattr("babelscope.systems.registry.load_schemes", log)
    ran = babelscope("systems")
    assert ran.code == 0
    assert not steered(ran.err)
    assert ran.err.count(SHOWN) == 6
    assert f"babelscope: warning: beware\\nbabelscope: error: {SHOWN}\n" in ran.err


def test_a_traceback_of_ours_too(tmp_path):
    code = (
        "import babelscope.runs.study, sys\n"
        "class Odd(Exception): __str__ = lambda self: 'odd ' + self.args[0]\n"
        f"def fail(*_, **__): raise Odd({HOSTILE!r})\n"
        "babelscope.runs.study.run_study = fail\n"
        "sys.argv = ['babelscope', 'run', 'study.toml']\n"
    )
    (tmp_path / "study.toml").write_text(
        "[[systems]]\nspec = 'lab:teacher'\n[[tests]]\nspec = 'x'\n[[methods]]\nname = 'likelihood'\n"
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


def test_data_is_as_it_is_in_pipes_and_files(babelscope, tmp_path):
    command = given_translations(tmp_path)
    assert babelscope(*command).out == f"{HOSTILE}\U000e0041\n"
    line = babelscope(*command, "--json").out
    assert "\u202e" in line
    assert json.loads(line)["translations"][0]["text"] == f"{HOSTILE}\U000e0041"
    babelscope(*command, "--to", "out")
    assert (tmp_path / "out").read_text() == f"{HOSTILE}\U000e0041\n"


def test_data_is_made_visible_on_a_terminal(babelscope, tmp_path, monkeypatch):
    command = given_translations(tmp_path)
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    assert babelscope(*command).code == 0
    assert terminal.shown() == f"{SHOWN}\\U000e0041\n"
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    assert babelscope(*command, "--json").code == 0
    assert not steered(terminal.shown())
    assert json.loads(terminal.shown())["translations"][0]["text"] == f"{HOSTILE}\U000e0041"


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


def test_a_bar_is_drawn_and_takes_nothing_from_stdout(toy_folders, tmp_path):
    (tmp_path / "a.en").write_text("a\n" * 6)
    (tmp_path / "study").write_text("")
    code = (
        "import sys, warnings, babelscope.util.progress\n"
        "babelscope.util.progress.PATIENCE_SECONDS = 0.01\n"
        "import babelscope.cli.common\n"
        "from tests.support import toys\n"
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


def test_the_hub_s_bar_is_drawn(monkeypatch):
    from huggingface_hub.utils.tqdm import enable_progress_bars

    enable_progress_bars()  # which transformers switches off when it loads a model
    monkeypatch.setattr(sys, "stderr", Filtered(err := Terminal()))
    with hub_bar()(total=2, desc=f"Fetching {HOSTILE}", disable=False) as bar:
        bar.update(2)
    assert "\r" in err.shown()
    assert f"Fetching {SHOWN}" in err.shown()
    assert "\u202e" not in err.shown()
