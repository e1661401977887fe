"""Progress bars: on a terminal and after a while, else nothing at all."""

from __future__ import annotations

import io
import sys
import time

import pytest

import babelscope.util.progress
from babelscope.util.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, patience: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(babelscope.util.progress, "PATIENCE_SECONDS", patience)
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


def test_elsewhere_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert show(monkeypatch, io.StringIO(), patience=0.01) == ""
