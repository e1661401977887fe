"""Progress: bars on a terminal after a while, else a plain line now and then."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path

import pytest

from babelscope.util import progress as progress_module
from babelscope.util.progress import progress
from tests.support.toy_fixtures import Babelscope


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, patience: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress_module, "PATIENCE_SECONDS", patience)
    monkeypatch.setenv("TERM", "xterm")
    with progress("counting [bold]sheep", 3) as advance:
        for _ in range(3):
            time.sleep(0.05)
            advance(1)
    return stream.getvalue()


def test_it_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = show(monkeypatch, Terminal(), patience=0.01)
    assert "counting [bold]sheep" in shown
    assert "3/3" in shown


def test_what_is_done_soon_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert show(monkeypatch, Terminal(), patience=5).strip() == ""


def test_elsewhere_no_bar_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert show(monkeypatch, io.StringIO(), patience=0.01) == ""


def test_elsewhere_a_line_is_printed_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "LINE_SECONDS", 0.02)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("counting", 3) as advance, progress("within", 9):
        for _ in range(3):
            advance(1)
            time.sleep(0.1)
    with progress("reading", None):
        time.sleep(0.1)
    lines = stream.getvalue().split("\n")
    assert {"counting: 1 of 3, 0 s", "counting: 3 of 3, 0 s", "reading: 0 s"} <= set(lines)
    assert {line.split(":")[0] for line in lines[:-1]} == {"counting", "reading"}
    assert not {"\r", "\x1b"} & set(stream.getvalue())
    printed = len(lines)
    time.sleep(0.1)
    assert len(stream.getvalue().split("\n")) == printed, "what is over prints nothing more"


def test_a_command_without_a_terminal_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, babelscope: Babelscope, tmp_path: Path
) -> None:
    monkeypatch.setattr(progress_module, "LINE_SECONDS", 0.005)
    (tmp_path / "in.txt").write_text("".join(f"a b {number}\n" for number in range(40)))
    ran = babelscope("translate", "--system", "toy:1?alphabet=abcdef&limit=9", "in.txt", "--beam", "6")
    assert ran.code == 0
    assert re.search(r"^\w+: \d+ of 40, 0 s$", ran.err, re.MULTILINE), ran.err
