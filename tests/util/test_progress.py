"""Progress: bars on a terminal after a while, else a plain line now and then."""

from __future__ import annotations

import io
import re
import sys
import threading
import time

import pytest

from babelscope import load, open_system
from babelscope.testsets import ParallelSentence
from babelscope.util import progress as bars
from babelscope.util.progress import progress, working
from tests.util.test_consent import Terminal


def on_terminal(monkeypatch: pytest.MonkeyPatch, patience: float = 0.01) -> Terminal:
    """From here on, stderr is a terminal. No fixture: pytest's own stderr comes back after the setup of a test."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(bars, "PATIENCE_SECONDS", patience)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return stream


def test_it_is_shown_on_a_terminal_unless_it_is_done_soon(monkeypatch):
    for patience, shown in ((0.01, True), (5, False)):
        terminal = on_terminal(monkeypatch, patience)
        with progress("counting [bold]sheep", 3) as advance:
            for _ in range(3):
                time.sleep(0.05)
                advance(1)
        assert ("counting [bold]sheep" in terminal.getvalue()) == shown
        assert ("3/3" in terminal.getvalue()) == shown


def test_elsewhere_a_line_is_printed_now_and_then(monkeypatch):
    monkeypatch.setattr(bars, "LINE_SECONDS", 0.02)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("counting", 3) as advance, progress("within", 9):
        for _ in range(3):
            advance(1)
            time.sleep(0.1)
    with progress("reading", None):
        time.sleep(0.1)
    lines = stream.getvalue().split("\n")
    assert {"counting: 1 of 3, 0 s, about 0 s left", "counting: 3 of 3, 0 s", "reading: 0 s"} <= set(lines)
    assert {line.split(":")[0] for line in lines[:-1]} == {"counting", "reading"}
    assert not {"\r", "\x1b"} & set(stream.getvalue())
    printed = len(lines)
    time.sleep(0.1)
    assert len(stream.getvalue().split("\n")) == printed, "what is over prints nothing more"


def test_a_search_of_many_sentences_says_how_long_it_will_take_from_the_first_on(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(bars, "LINE_SECONDS", 0.0005)
    system = open_system("lab:teacher")
    test_set = load("lab:parallel?n=20&seed=3")
    sources = [item.source for item in test_set.items_of(ParallelSentence, what_for="a test")]
    with progress("space", 20):
        system.top_k(sources, k=3)
    assert re.search(
        r"^space: 0 of 20, \d s; exact search: \d+ of \d+, \d s, about \d+ s left$", stream.getvalue(), re.M
    )
    size = len(stream.getvalue())
    system.top_k(sources, k=3)
    assert len(stream.getvalue()) == size, "no line of its own"


def test_a_command_without_a_terminal_says_how_far_it_is(monkeypatch, babelscope, tmp_path):
    monkeypatch.setattr(bars, "LINE_SECONDS", 0.005)
    (tmp_path / "in.txt").write_text("".join(f"a b {number}\n" for number in range(40)))
    ran = babelscope("translate", "--system", "toy:1?alphabet=abcdef&limit=9", "in.txt", "--beam", "6")
    assert ran.code == 0
    assert re.search(r"^\w+: \d+ of 40, 0 s(, about \d s left)?$", ran.err, re.MULTILINE), ran.err


def test_work_within_other_work_is_a_line_below_it_and_goes_when_done(
    monkeypatch,
):
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
    terminal = on_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), working("outer"), working("inner"):
        raise KeyboardInterrupt
    assert bars._shown == []
    assert terminal.getvalue().strip() == "", "an error takes the bars away"


def test_how_long_it_will_take_is_shown_even_if_steps_are_far_apart(monkeypatch):
    now = [0.0]
    bar = bars._bars()
    monkeypatch.setattr(bar, "get_time", lambda: now[0])
    task = bar.add_task("work", total=100, of_bytes=False)
    bar.advance(task, 0)
    now[0] = 60.0
    bar.advance(task, 10)
    assert bar.tasks[0].time_remaining == 540


def test_another_thread_has_no_line(monkeypatch):
    terminal = on_terminal(monkeypatch)

    def work() -> None:
        with progress("elsewhere", 3) as advance:
            time.sleep(0.2)
            advance(1)

    with working("loading hf:x[y]"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert "loading hf:x[y]" in terminal.getvalue()
    assert "0:00:00" in terminal.getvalue(), "of unknown length: since when"
    assert "elsewhere" not in terminal.getvalue()
