"""Asking the user before something large or lasting is done."""

from __future__ import annotations

import sys

from babelscope.util.errors import BabelscopeError


def require_consent(what: str, *, yes: bool) -> None:
    """Print on stderr what will be done; go on if the user agrees, or has by `yes`.

    Without a terminal there is nobody to ask: an error that names the option.
    """
    print(what, file=sys.stderr)
    if yes:
        return
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise BabelscopeError("nothing was done, since there is no terminal to ask on; agree with --yes")
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BabelscopeError("nothing was done, since you did not agree")
