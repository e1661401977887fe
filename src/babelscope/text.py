"""Lines of text: UTF-8, split on "\\n" only, faults told with file and line."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from babelscope.errors import BabelscopeError, at
from babelscope.util.terminal import visible

# Where other tools, and str.splitlines, would break a line; we break at "\n" only.
SEPARATORS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def shorten(text: str, width: int = 60) -> str:
    """A text as shown in messages: quoted as by `repr`, what steers or hides text escaped, cut."""
    text = text if len(text) <= width else text[: width - 1] + "…"
    # Not `repr` itself, which takes the joiners that many scripts are written with for unprintable.
    quote = '"' if "'" in text and '"' not in text else "'"
    return quote + visible(text.replace("\\", "\\\\").replace(quote, f"\\{quote}")) + quote


def check_texts(texts: Iterable[str], *, what: str, allow_empty: bool = False) -> None:
    """Refuse what no system can be asked: empty text, NUL, line breaks, lone surrogates."""
    for number, text in enumerate(texts, 1):
        reason = text_fault(text)
        if reason is None and not text.strip() and not allow_empty:
            reason = "is empty"
        if reason:
            raise BabelscopeError(f"{what} {number} {reason}: {shorten(text)}")


def check_name(name: str) -> str:
    """A system's or test set's name, which is stored with results; a file's name need be no text at all."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise BabelscopeError(f"{name!r} is not valid Unicode text; rename the file") from None
    return name


def text_fault(text: str) -> str | None:
    """Why `text` cannot be one line of UTF-8 text, or None."""
    if "\n" in text or "\r" in text:
        return "has a line break inside"
    if "\0" in text:
        return "has a NUL character"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "has a lone surrogate, which is not valid Unicode text"
    return None


def read_lines(path: str | Path, *, keep_separators: bool = False) -> list[str]:
    """The lines of a UTF-8 file; a last line without a newline counts, an empty file has none.

    Unicode line separators inside a line are refused, since other tools would count lines differently,
    unless `keep_separators` (for published files, whose lines are defined by "\\n" alone).
    """
    return parse_lines(read_bytes(path), path, keep_separators=keep_separators)


def read_bytes(path: str | Path) -> bytes:
    """A file's content, or one clear sentence why not."""
    with reading(path) as file:
        return file.read()


@contextlib.contextmanager
def reading(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to read bytes from; what the disk refuses is told in a sentence."""
    if "\0" in str(path):  # which no file's name can have
        raise BabelscopeError(f"{path}: no such file")
    try:
        with open(path, "rb") as file:
            yield file
    except FileNotFoundError:
        raise BabelscopeError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise BabelscopeError(f"{path} is a folder, not a file") from None
    except OSError as error:
        raise BabelscopeError(f"{path} cannot be read: {error.strerror or error}") from error


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(read_bytes(path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BabelscopeError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    except (ValueError, RecursionError) as error:  # not TOML, or numbers and nests too large for Python
        raise BabelscopeError(f"{path}: not TOML: {error}") from None


def whole_number(text: str) -> int | None:
    """The number that up to 18 digits stand for, or None; Python refuses thousands of digits with an error."""
    return int(text) if text.isdecimal() and len(text) <= 18 else None


def parse_lines(data: bytes, path: str | Path, *, keep_separators: bool = False) -> list[str]:
    """The same for bytes already read; `path` is for the messages."""
    raw = data.split(b"\n")
    if raw[-1] == b"":
        raw.pop()
    lines = []
    for number, line in enumerate(raw, 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BabelscopeError(
                f"{at(path, number)}: not UTF-8 ({error.reason} at byte {error.start})"
            ) from None
        fault = text_fault(text)
        if fault is None and not keep_separators:
            fault = next(
                (f"has the line separator U+{ord(c):04X} inside" for c in SEPARATORS if c in text), None
            )
        if fault:
            raise BabelscopeError(f"{at(path, number)} {fault}: {shorten(text)}")
        lines.append(text)
    return lines


def require_equal_counts(counts: dict[str, int]) -> None:
    """Refuse line-parallel files of unequal length, naming each with its count."""
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise BabelscopeError(f"line-parallel files must have equally many lines, but {told}")
