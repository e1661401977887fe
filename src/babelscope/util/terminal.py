"""Terminal output: control and invisible characters are escaped, so that no text can steer the terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

from babelscope.util.characters import PATTERN

# A line break or tab inside a name could fake a line or column.
_STEERS = re.compile(f"{PATTERN}|[\\t\\n]")


# Narrower than this, a figure with its interval does not fit.
_NARROWEST = 40


def terminal_width() -> int:
    """Columns that people see: COLUMNS, else those of the terminal, else 80."""
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def visible(text: str, *, keep: str = "") -> str:
    """The text with control and invisible characters as escapes, except those in `keep`."""
    return _STEERS.sub(
        lambda found: found[0] if found[0] in keep else found[0].encode("unicode_escape").decode(), text
    )


def visible_json(line: str) -> str:
    """As `visible`, for a line of JSON, which keeps its value."""
    return _STEERS.sub(lambda found: json.dumps(found[0])[1:-1], line)


class Filtered:
    """A text stream that passes everything printed through `visible`."""

    def __init__(self, stream: TextIO, *, name: str = "", may_fail: bool = False) -> None:
        """With `may_fail`, write errors are ignored: a lost message must not end the work."""
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
        self._write_checked(self.unfiltered.write, text)

    def flush(self) -> None:
        self._write_checked(self.unfiltered.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)

    def _write_checked(self, write: Any, *arguments: str) -> None:
        try:
            write(*arguments)
        except BrokenPipeError:
            if not self._may_fail:
                raise  # the reader has gone; the shell ends quietly
        except OSError as error:
            if not self._may_fail:
                from babelscope.util.errors import (
                    SystemFailure,
                )  # imported late: errors.py imports this module

                raise SystemFailure(f"{self._name} cannot be written: {error.strerror or error}") from error


def unfiltered(stream: TextIO) -> TextIO:
    """The stream under the filter, for what we draw ourselves, such as progress bars."""
    while isinstance(stream, Filtered):
        stream = stream.unfiltered
    return stream


def write_data(line: str, *, is_json: bool) -> None:
    """Print a line of data to stdout: unchanged to a file or pipe, escaped on a terminal."""
    stream = sys.stdout
    if stream.isatty():
        line = visible_json(line) if is_json else visible(line, keep="\t")
    if isinstance(stream, Filtered):
        stream.write_data(line + "\n")
    else:
        stream.write(line + "\n")


def filter_streams() -> None:
    """Filter stdout and stderr, which may be closed, and set both to UTF-8 whatever the locale."""
    _occupy_closed()
    # File names may be invalid UTF-8, so stdout must pass on their bytes. A closed stdin stays None.
    for name, errors in (("stdout", "surrogateescape"), ("stderr", "backslashreplace")):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115
        if isinstance(stream, Filtered):
            continue
        stream.reconfigure(encoding="utf-8", errors=errors)
        setattr(sys, name, cast(TextIO, Filtered(stream, name=name, may_fail=name == "stderr")))


def _occupy_closed() -> None:
    """Fill closed descriptors 0 to 2: a file opened later would get the number, and receive what is printed."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
