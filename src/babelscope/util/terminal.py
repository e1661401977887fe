"""What people read on a terminal: text that steers or hides other text is shown, not obeyed."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

from babelscope.util.characters import PATTERN

# On a terminal, a line break or tab in a name can forge a line or column.
_STEERS = re.compile(f"{PATTERN}|[\\t\\n]")


# Narrower than this, a figure with its interval does not fit.
_NARROWEST = 40


def terminal_width() -> int:
    """Columns that people see: COLUMNS, else those of the terminal, else 80."""
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def visible(text: str, *, keep: str = "") -> str:
    """The text with every character that steers or hides text as an escape, but for those in `keep`."""
    return _STEERS.sub(
        lambda found: found[0] if found[0] in keep else found[0].encode("unicode_escape").decode(), text
    )


def visible_json(line: str) -> str:
    """The same for a line of JSON, which stays JSON of the same value."""
    return _STEERS.sub(lambda found: json.dumps(found[0])[1:-1], line)


class Filtered:
    """A text stream for people: all that is printed to it is made visible on its way."""

    def __init__(self, stream: TextIO, *, name: str = "", may_fail: bool = False) -> None:
        """With `may_fail`, what cannot be written is dropped: messages are no reason to end the work."""
        self.unfiltered = stream
        self._name = name or str(getattr(stream, "name", "output")).strip("<>")
        self._may_fail = may_fail

    def write(self, text: str) -> int:
        self.write_data(visible(text, keep="\n\t"))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def write_data(self, text: str) -> None:
        self._tell_faults(self.unfiltered.write, text)

    def flush(self) -> None:
        self._tell_faults(self.unfiltered.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)

    def _tell_faults(self, write: Any, *arguments: str) -> None:
        try:
            write(*arguments)
        except BrokenPipeError:
            if not self._may_fail:
                raise  # nobody reads any more: no error to be told
        except OSError as error:
            if not self._may_fail:
                from babelscope.util.errors import SystemFailure  # which shows its text through this module

                raise SystemFailure(f"{self._name} cannot be written: {error.strerror or error}") from error


def unfiltered(stream: TextIO) -> TextIO:
    """The stream itself, for what we draw ourselves, such as progress bars."""
    while isinstance(stream, Filtered):
        stream = stream.unfiltered
    return stream


def write_data(line: str, *, is_json: bool) -> None:
    """A line for other programs to stdout: as it is, unless people see it, on a terminal."""
    stream = sys.stdout
    if stream.isatty():
        line = visible_json(line) if is_json else visible(line, keep="\t")
    if isinstance(stream, Filtered):
        stream.write_data(line + "\n")
    else:
        stream.write(line + "\n")


def filter_streams() -> None:
    """Put the filter on stdout and stderr, which may be closed; both are UTF-8, whatever the locale says."""
    _occupy_closed()
    # A file's name may be no text at all; stdin stays None where it is closed, which its readers tell.
    for name, errors in (("stdout", "surrogateescape"), ("stderr", "backslashreplace")):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115
        if isinstance(stream, Filtered):
            continue
        stream.reconfigure(encoding="utf-8", errors=errors)
        setattr(sys, name, cast(TextIO, Filtered(stream, name=name, may_fail=name == "stderr")))


def _occupy_closed() -> None:
    """Where stdin, stdout or stderr is closed, a file opened later would get its number, and what is printed."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
