"""The user is asked at a terminal, and elsewhere told which option agrees."""

from __future__ import annotations

import io
import sys

import pytest

from babelscope.util.environments import require_consent
from babelscope.util.errors import BabelscopeError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_at_a_terminal(monkeypatch):
    for typed in ("y\n", "YES\n", "\n", ""):
        monkeypatch.setattr(sys, "stdin", Terminal(typed))
        monkeypatch.setattr(sys, "stderr", shown := Terminal())
        if typed.strip():
            require_consent("This takes 3 GB.", yes=False)
        else:
            with pytest.raises(BabelscopeError, match="nothing was done, since you did not agree"):
                require_consent("This takes 3 GB.", yes=False)
        assert shown.getvalue() == "This takes 3 GB.\nContinue? [y/N] "


def test_elsewhere_an_option_agrees(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(BabelscopeError, match=r"nothing was done.*--yes"):
        require_consent("This takes\n  3 GB.", yes=False)
    require_consent("This takes 3 GB.", yes=True)
    assert capsys.readouterr().err == "This takes\n  3 GB.\nThis takes 3 GB.\n"
