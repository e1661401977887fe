"""Programs that stay open and answer a line with a line."""

from __future__ import annotations

import os
import sys
import time

import pytest

from babelscope.util import process
from babelscope.util.errors import SystemFailure
from babelscope.util.process import Worker

ECHO = """
import os, sys, time
print("ready", flush=True)
for line in sys.stdin:
    if line == "late\\n":
        time.sleep(60)
    if line == "long\\n":
        print("x" * 100000)
    if line == "endless\\n":
        while True:
            print("y" * 1000, end="")
    if line == "end\\n":
        sys.exit("no more")
    print(os.getpid(), line.upper(), end="", flush=True)
"""


def echo(timeout: float = 30.0) -> Worker:
    return Worker("echo", [sys.executable, "-c", ECHO], env=os.environ, timeout=timeout)


def test_a_line_for_a_line_by_one_process():
    program = echo()
    assert program.greeting == "ready"
    first, second = program.ask("ä"), program.ask("b")
    assert (first.split()[1], second.split()[1]) == ("Ä", "B")
    assert first.split()[0] == second.split()[0]
    assert program.ask("long") == "x" * 100000
    program.close()
    assert not program.is_open
    assert not os.path.exists(f"/proc/{first.split()[0]}")


def test_a_late_answer_is_never_taken_for_the_next():
    program = echo(timeout=1.0)
    began = time.monotonic()
    with pytest.raises(SystemFailure, match="echo did not answer within 1 seconds"):
        program.ask("late")
    assert time.monotonic() - began < 20
    assert not program.is_open


def test_one_that_ends_says_why():
    program = echo()
    with pytest.raises(SystemFailure, match="echo exited with code 1; its standard error ends: 'no more'"):
        program.ask("end")
    assert not program.is_open


def test_an_answer_without_end_and_a_program_that_is_not_there(monkeypatch):
    monkeypatch.setattr(process, "LONGEST", 100_000)
    program = echo()
    with pytest.raises(SystemFailure, match="gave an endless answer"):
        program.ask("endless")
    assert not program.is_open
    with pytest.raises(SystemFailure, match="nobody cannot be started: No such file"):
        Worker("nobody", ["/nowhere/nobody"], env={}, timeout=1.0)
