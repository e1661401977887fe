"""Asking the user before anything runs code of strangers, or sends them texts."""

from __future__ import annotations

import sys

from babelscope.util.errors import BabelscopeError


def require_consent(question: str, *, instead: str, refused: str) -> None:
    """Ask on stderr, and raise `refused` unless the user agrees.

    Without a terminal there is nobody to ask: the error is `instead`, which names the option that agrees.
    """
    if not at_a_terminal():
        raise BabelscopeError(instead)
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BabelscopeError(refused)


def at_a_terminal() -> bool:
    """Whether the user can read a question and answer it."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())
