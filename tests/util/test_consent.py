"""The user is asked at a terminal, and elsewhere told which option agrees."""

from __future__ import annotations

import io
import sys

import pytest

from babelscope.util.consent import require_consent
from babelscope.util.errors import BabelscopeError


class Terminal(io.StringIO):
    def __init__(self, text: str = "", *, terminal: bool = True) -> None:
        super().__init__(text)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize("typed", ["y\n", "YES\n", "\n", "", "n\n"])
def test_at_a_terminal(monkeypatch, typed):
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    if typed.strip().lower().startswith("y"):
        require_consent("This takes 3 GB.\nContinue?", instead="add --yes", refused="nothing was done")
    else:
        with pytest.raises(BabelscopeError, match="nothing was done"):
            require_consent("This takes 3 GB.\nContinue?", instead="add --yes", refused="nothing was done")
    assert shown.getvalue() == "This takes 3 GB.\nContinue? [y/N] "


@pytest.mark.parametrize("where", ["stdin", "stderr"])
def test_elsewhere_the_error_says_how_to_agree(monkeypatch, where):
    monkeypatch.setattr(sys, "stdin", Terminal("y\n", terminal=where != "stdin"))
    monkeypatch.setattr(sys, "stderr", shown := Terminal(terminal=where != "stderr"))
    with pytest.raises(BabelscopeError, match="add --yes"):
        require_consent("Continue?", instead="add --yes", refused="nothing was done")
    assert shown.getvalue() == ""
