"""Odd files given to commands: each is read, or refused in one sentence with exit code 2; never a traceback."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from babelscope.util.text import LONGEST_LINE, LONGEST_RECORD
from tests.support.toy_fixtures import Babelscope

PAIR = {
    "id": "1",
    "source": "a",
    "correct": "ab",
    "contrastive": ["abc"],
    "phenomenon": "p",
    "reference": "human",
}
STUDY = (
    '[[systems]]\nspec = "toy:1"\n[[tests]]\nspec = "pairs.jsonl"\n[[methods]]\nname = "contrast"\n'
    'detect_in_output = "no"\n'
)
WORDS = "1\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tgeht\tgehen\tVERB\t_\t_\t0\troot\t_\t_\n\n"


def pair(**changes: Any) -> bytes:
    return json.dumps({**PAIR, **changes}).encode() + b"\n"


def without(name: str) -> bytes:
    return json.dumps({key: value for key, value in PAIR.items() if key != name}).encode() + b"\n"


# Content of a file, and what is said of it; None where it is read.
TEXT: dict[str, tuple[bytes, str | None]] = {
    "empty": (b"", None),
    "no newline at the end": (b"a\nb", None),
    "byte order mark": (b"\xef\xbb\xbfa\n", None),
    "carriage returns": (
        b"a\r\nb\r\n",
        "in:1 has a line break inside, a carriage return at its end as in Windows files",
    ),
    "NUL": (b"a\0b\n", "in:1 has a NUL character"),
    "only newlines": (b"\n\n\n", "is empty"),
    "only spaces": (b"a\n   \n", "is empty"),
    "Latin-1": ("schön\n".encode("latin-1"), "in:1: not UTF-8"),
    "UTF-16": ("a\n".encode("utf-16"), "in:1: not UTF-8"),
    "UTF-32": ("a\n".encode("utf-32-le"), "in:1 has a NUL character"),
    "lone surrogate": (b"a\n\xed\xa0\x80\n", "in:2: not UTF-8"),
    "overlong encoding": (b"\xc0\x80\n", "in:1: not UTF-8"),
    "cut character": (b"a\xc3", "in:1: not UTF-8"),
    "line separator": ("a\u2028b\n".encode(), r"in:1 has the line separator U\+2028"),
    "next line": ("a\x85b\n".encode(), r"in:1 has the line separator U\+0085"),
    "form feed": (b"a\fb\n", r"in:1 has the line separator U\+000C"),
    "escape sequence": (b"\x1b[31mred\n", None),
    "right to left": ("\u202eabc\n".encode(), None),
    "combining marks": (("a" + "\u0301" * 900 + "\n").encode(), None),
    "astral": ("😀🏴\U0010ffff\n".encode(), None),
    "a long line": (b"x" * (LONGEST_LINE + 1), "in:1 has more than 1 MiB"),
    "ten million characters": (b"a\n" + b"x" * 10_000_000, "in:2 has more than 1 MiB"),
    "zeros": (b"\0" * 5_000_000, "in:1 has more than 1 MiB"),
    "gzip": (gzip.compress(b"a\n"), "in:1: not UTF-8"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "in:1: not UTF-8"),
}
ITEMS: dict[str, tuple[bytes, str | None]] = {
    "good": (pair(), None),
    "empty": (b"", "has no items"),
    "byte order mark": (b"\xef\xbb\xbf" + pair(), "in:1: not JSON"),
    "carriage returns": (pair().replace(b"\n", b"\r\n"), None),
    "an empty line": (pair() + b"\n" + pair(id="2"), "in:2: an empty line"),
    "the same id twice": (pair() * 2, "in:2: id '1' is already used at in:1"),
    "a field missing": (without("correct"), "in:1: field 'correct' is missing"),
    "no kind": (b'{"id": "1"}\n', "in:1: not an item: its fields match no kind"),
    "two kinds": (
        pair() + b'{"id": "2", "source": "a", "reference": "b"}\n',
        "in:2: field 'correct' is missing",
    ),
    "a number for text": (pair(source=1), "in:1: field 'source' must be text, not a number"),
    "null for text": (pair(source=None), "in:1: field 'source' must be text, not null"),
    "an object for text": (pair(source={}), "in:1: field 'source' must be text, not an object"),
    "empty text": (pair(source=" "), "in:1: field 'source' is empty"),
    "no variants": (pair(contrastive=[]), "in:1: field 'contrastive' is empty"),
    "numbers for variants": (pair(contrastive=[1]), "must be a list of texts only"),
    "a line break in text": (pair(source="a\nb"), "in:1: field 'source' has a line break"),
    "a lone surrogate": (pair(source="\ud800"), "in:1: field 'source' has a lone surrogate"),
    "a lone surrogate beside": (pair(note="\ud800"), "lone surrogate"),
    "wrong reference": (pair(reference="nobody"), "must be human or machine"),
    "a list": (b"[]\n", "in:1: each line must be a JSON object"),
    "text": (b"hello\n", "in:1: not JSON"),
    "NaN": (b'{"a": NaN}\n', "in:1: not JSON that can be read: NaN"),
    "infinity beside": (pair(note=1)[:-3] + b"1e999}\n", "cannot be kept as JSON"),
    "a name twice": (b'{"id": "1", "id": "2"}\n', "in:1: .*the name 'id' occurs twice"),
    "a million brackets": (b"[" * 1_000_000, "in:1: not JSON that can be read"),
    "a million digits": (b'{"id": ' + b"9" * 1_000_000 + b"}\n", "in:1: not JSON that can be read"),
    "two hundred nests": (pair(note=1)[:-3] + b"[" * 200 + b"]" * 200 + b"}\n", "nested more than 100 deep"),
    "one object on many lines": (json.dumps(PAIR, indent=1).encode(), "in:1: not JSON"),
    "a long record": (pair(note="x" * LONGEST_RECORD), "in:1 has more than 16 MiB"),
    "a million names": (
        b"{" + b",".join(b'"%d":1' % n for n in range(10**5)) + b',"7":1}\n',
        "in:1: .*the name '7' occurs twice",
    ),
}
STUDIES: dict[str, tuple[bytes, str | None]] = {
    "good": (STUDY.encode(), None),
    "empty": (b"", "systems: field required"),
    "Latin-1": ("name = 'schön'".encode("latin-1"), "not UTF-8"),
    "not TOML": (b"[[[", "not TOML"),
    "a key twice": (b"a = 1\na = 2\n", "not TOML"),
    "unknown key": (STUDY.encode() + b"[run]\nchunks = 3\n", "did you mean chunk"),
    "unknown method": (STUDY.replace('"contrast"', '"contrasts"').encode(), "did you mean contrast"),
    "no such tests": (
        STUDY.replace("pairs.jsonl", "nothing.jsonl").encode(),
        r"tests\[0\]: nothing.jsonl: no such",
    ),
    "the same system twice": ((STUDY + '[[systems]]\nspec = "toy:1"\n').encode(), "two systems"),
    "a negative chunk": (STUDY.encode() + b"[run]\nchunk = -1\n", "run.chunk"),
    "a huge number": (b"seed = " + b"9" * 100_000, "not TOML"),
    "a thousand tables": (b"[" + b".".join([b"a"] * 1000) + b"]\n", "a key has more than 32 parts"),
    "ten million bytes": (b"#" * 10_000_000, "in has more than 256 KiB"),
    "a NUL in a name": (STUDY.encode().replace(b"pairs.jsonl", b"pairs\\u0000.jsonl"), r"tests\[0\]"),
    "the tests a device": (STUDY.replace("pairs.jsonl", "/dev/zero").encode(), "is not a regular file"),
}
PARSES: dict[str, tuple[bytes, str | None]] = {
    "good": (WORDS.encode(), None),
    "carriage returns": (WORDS.replace("\n", "\r\n").encode(), "not with CR LF"),
    "nine columns": (b"1\ta\t_\t_\t_\t_\t0\troot\t_\n\n", "a line has 10 columns, this one 9"),
    "no root": (WORDS.replace("0\troot", "1\troot").encode(), "cycle"),
    "two roots": (WORDS.replace("2\tnsubj", "0\troot").encode(), "a tree has one root, this one 2"),
    "a head beyond": (WORDS.replace("2\tnsubj", "9\tnsubj").encode(), "but it has 2 words"),
    "a head of many digits": (WORDS.replace("2\tnsubj", "9" * 5000 + "\tnsubj").encode(), "no number"),
    "a comment only": (b"# nothing\n\n", "it has no words"),
    "text": (b"hello world\n", "a line has 10 columns"),
}
CASES = [
    (command, name, data, told)
    for command, inputs in (
        (("translate", "--system", "toy:1", "in"), TEXT),
        (("contrast", "--system", "toy:1", "--tests", "in", "--set", "detect_in_output=no", "--json"), ITEMS),
        (("run", "in", "--out", "out", "--no-report", "--json"), STUDIES),
        (("make", "challenge", "--parses", "in", "--json"), PARSES),
    )
    for name, (data, told) in inputs.items()
]


def test_there_are_enough() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize(
    ("command", "data", "told"),
    [pytest.param(command, data, told, id=f"{command[0]}: {name}") for command, name, data, told in CASES],
)
def test_odd_content(
    babelscope: Babelscope, tmp_path: Path, command: tuple[str, ...], data: bytes, told: str | None
) -> None:
    (tmp_path / "in").write_bytes(data)
    (tmp_path / "pairs.jsonl").write_bytes(pair())
    _ends_well(babelscope(*command), told)


def _ends_well(ran: Any, told: str | None) -> None:
    assert "Traceback" not in ran.err
    if told is None:
        assert (ran.code, ran.err.count("error")) == (0, 0), ran.err
        return
    *_, last = ran.err.rstrip("\n").split("\n")
    assert ran.code == 2, ran.err
    assert re.search(told, last), last
    assert last.startswith("babelscope: error: ")
    assert last.isprintable()
    assert len(last) < 2500


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)  # a short name, since sockets' are


PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda _: None, "no such file"),
    "a folder": (lambda path: path.mkdir(), "is a folder"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "no such file"),
    "a link to itself": (lambda path: path.symlink_to(path), "cannot be read: Too many levels"),
    "a device without end": (lambda path: path.symlink_to("/dev/zero"), "has more than"),
    "a socket": (_socket, "cannot be read"),
    "the terminal of nobody": (lambda path: path.symlink_to("/dev/tty"), "cannot be read"),
    "a name that is too long": (lambda _: None, "File name too long"),
}


@pytest.mark.parametrize("command", ["translate --system toy:1", "contrast --system toy:1 --tests", "run"])
@pytest.mark.parametrize("what", sorted(PLACES))
def test_odd_places(babelscope: Babelscope, tmp_path: Path, what: str, command: str) -> None:
    make, told = PLACES[what]
    name = "a" * 300 + ".jsonl" if "too long" in what else "in.jsonl"
    if what == "the terminal of nobody" and os.isatty(0):
        pytest.skip("there is a terminal")
    make(tmp_path / name)
    ran = babelscope(*command.split(" "), name)
    assert ran.code == 2, ran.err
    assert "Traceback" not in ran.err
    assert told in ran.err or "is a folder" in ran.err


def test_odd_standard_input(babelscope: Babelscope) -> None:
    command = ("translate", "--system", "toy:1", "-")
    assert babelscope(*command, stdin=b"a\nb").code == 0
    _ends_well(babelscope(*command, stdin=b"a\n" + b"x" * 3_000_000), "stdin:2 has more than 1 MiB")
    _ends_well(babelscope(*command, stdin=b"\xff\n"), "stdin:1: not UTF-8")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a\n")
    (tmp_path / "in").chmod(0)
    _ends_well(babelscope("translate", "--system", "toy:1", "in"), "cannot be read: Permission denied")
