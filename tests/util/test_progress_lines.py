"""Progress of work within other work, of work of unknown length, and in other threads."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest

import babelscope.util.progress
from babelscope.util.progress import progress, working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """From here on, stderr is a terminal. No fixture: pytest's own stderr comes back after the setup of a test."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(babelscope.util.progress, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return stream


def test_work_of_unknown_length_shows_since_when(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with working("loading hf:x[y]"):
        time.sleep(0.3)
    assert "loading hf:x[y]" in terminal.getvalue()
    assert "0:00:00" in terminal.getvalue()


def test_work_within_other_work_is_a_line_below_it_and_goes_when_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = on_terminal(monkeypatch)
    with progress("outer", 2) as outer:
        with progress("inner", 7) as inner:
            inner(3)
            time.sleep(0.3)
        during = terminal.getvalue()
        outer(1)
        time.sleep(0.3)
        after = terminal.getvalue()[len(during) :]
    assert "outer" in during
    assert "3/7" in during
    assert "1/2" in after
    *_, last = after.split("outer")
    assert "inner" not in last
    assert babelscope.util.progress._shown == []


def test_how_long_it_will_take_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with progress("counting", 1000) as advance:
        for _ in range(8):
            time.sleep(0.1)
            advance(1)
    assert "0:01:" in terminal.getvalue(), "some 100 seconds are left"


def test_an_error_takes_the_bars_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), working("outer"), working("inner"):
        raise KeyboardInterrupt
    assert babelscope.util.progress._shown == []
    assert terminal.getvalue().strip() == ""


def test_another_thread_has_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)

    def work() -> None:
        with progress("elsewhere", 3) as advance:
            time.sleep(0.2)
            advance(1)

    with working("here"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert "here" in terminal.getvalue()
    assert "elsewhere" not in terminal.getvalue()
