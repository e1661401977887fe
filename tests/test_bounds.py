"""Every reader has bounds: what is too long, too large, too deep or no file is told, not held or waited for."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import threading
import tracemalloc
from collections.abc import Iterator

import pytest

from babelscope.lab.training.text import read_side
from babelscope.language.ud import read_trees
from babelscope.runs.study import read_study, run_study
from babelscope.testsets import load
from babelscope.testsets.readers import read_mucow_scoring, read_parallel
from babelscope.util import text
from babelscope.util import text as text_module
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import parse_json, parse_toml, read_bytes, read_json_lines, read_lines

MIB = 1 << 20


@contextlib.contextmanager
def holding_at_most(most: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def test_a_line_has_a_bound_and_the_rest_of_it_is_not_held(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"ok\n" + b"x" * text.LONGEST_LINE + b"\n" + b"y" * (40 * MIB))
    for read in (read_lines, lambda path: list(text_module.stream_lines(path)), text_module.count_lines):
        with (
            holding_at_most(10 * MIB),
            pytest.raises(BabelscopeError, match=r"a:3 has more than 1 MiB, too much for one line"),
        ):
            read(path)
    path.write_bytes(b"x" * text.LONGEST_LINE)
    assert [len(line) for line in read_lines(path)] == [text.LONGEST_LINE]


def test_a_record_has_a_bound(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": "' + b"x" * text.LONGEST_RECORD + b'"}\n')
    with (
        holding_at_most(40 * MIB),
        pytest.raises(BabelscopeError, match=r"a\.jsonl:1 has more than 16 MiB"),
    ):
        next(read_json_lines(path))
    path.write_bytes(b'{"a": "' + b"x" * (2 * MIB) + b'"}\n')  # longer than a line of text may be
    assert len(list(read_json_lines(path))) == 1


@pytest.mark.parametrize(
    ("read", "most"),
    [(read_bytes, "16 MiB"), (read_mucow_scoring, "16 MiB"), (read_study, "256 KiB")],
)
def test_a_document_has_a_bound(tmp_path, read, most):
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.truncate(300 * MIB)
    with (
        holding_at_most(40 * MIB),
        pytest.raises(BabelscopeError, match=f"a has more than {most}, too much for one document"),
    ):
        read(path)


def test_what_is_held_has_a_bound_in_all(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"ab\n" * 100)
    monkeypatch.setattr(text, "LARGEST_HELD", 299)
    with pytest.raises(BabelscopeError, match="a has more than"):
        read_lines(tmp_path / "a")
    assert text_module.count_lines(tmp_path / "a") == 100  # streams have none


def test_corpora_and_lists_of_translations_are_no_documents(tmp_path):
    """They may have more than a document: they are held line by line."""
    (tmp_path / "a").write_bytes(b"abc def\n" * (text.LARGEST_DOCUMENT // 8 + 1))
    assert len(read_side(tmp_path / "a")[0]) == text.LARGEST_DOCUMENT // 8 + 1
    assert len(text.read_line_bytes(tmp_path / "a")) > text.LARGEST_DOCUMENT


def test_devices_without_end_are_told():
    with pytest.raises(BabelscopeError, match="/dev/zero:1 has more than 1 MiB"):
        read_lines("/dev/zero")
    with pytest.raises(BabelscopeError, match="/dev/zero has more than 16 MiB"):
        read_mucow_scoring("/dev/zero")
    with pytest.raises(BabelscopeError, match="/dev/zero:1 has more than 16 MiB"):
        load("jsonl:/dev/zero")


def test_test_sets_named_on_the_command_line_may_be_pipes(tmp_path):
    def feed(name: str, data: bytes) -> None:
        os.mkfifo(tmp_path / name)
        threading.Thread(target=(tmp_path / name).write_bytes, args=(data,), daemon=True).start()

    feed("en", b"a\nb\n")
    feed("de", b"c\nd\n")
    assert len(read_parallel([tmp_path / "en", tmp_path / "de"])) == 2
    feed("corpus", b"a\nb\n")
    assert list(text_module.stream_lines(tmp_path / "corpus")) == ["a", "b"]


def test_files_named_in_a_study_must_be_regular(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for spec in ("parallel:pipe,pipe", "jsonl:pipe", "/dev/zero", "mucow-scoring:pipe"):
        (tmp_path / "study.toml").write_text(
            f"[[systems]]\nspec = 'lab:student'\n[[tests]]\nspec = '{spec}'\n[[methods]]\nname = 'likelihood'\n"
        )
        with pytest.raises(BabelscopeError, match=r"tests\[0\]: .* is no regular file"):
            run_study(tmp_path / "study.toml", out=tmp_path / "out")


def _bomb(*parts: bytes) -> bytes:
    return b"".join(gzip.compress(part, mtime=0) for part in parts)


def test_gzip_expands_within_bounds(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(_bomb(b"\0" * (60 * MIB)))  # 60 kB
    for read in (text_module.count_lines, lambda path: list(read_trees(path))):
        with holding_at_most(10 * MIB), pytest.raises(BabelscopeError, match=r"a\.gz:1 has more than 1 MiB"):
            read(path)
    path.write_bytes(_bomb((b"a" * 1000 + b"\n") * (30 << 10)))
    with pytest.raises(BabelscopeError, match="expands to more than 100 times its size, as no text does"):
        text_module.count_lines(path)


def test_gzip_is_unpacked_once_and_members_follow_one_another(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(_bomb(b"a\nb", b"c\n", b"d\n"))
    assert list(text_module.stream_lines(path)) == ["a", "bc", "d"]
    path.write_bytes(_bomb(_bomb(b"a\n")))
    with pytest.raises(BabelscopeError, match=r"a\.gz:1: not UTF-8"):
        list(text_module.stream_lines(path))


def test_a_parsed_sentence_has_a_bound(tmp_path):
    path = tmp_path / "a.conllu"
    with path.open("wb") as file:
        for number in range(1, 20):
            file.write(f"{number}\t".encode() + b"x" * (MIB - 100) + b"\t_" * 4 + b"\t0\troot\t_\t_\n")
    with pytest.raises(BabelscopeError, match=r"a\.conllu:17: a sentence has more than"):
        list(read_trees(path))


def test_messages_have_a_bound(tmp_path):
    path = tmp_path / "a.jsonl"
    item = json.dumps({"id": "x" * MIB, "source": "a", "reference": "b"})
    path.write_text(f"{item}\n{item}\n")
    with pytest.raises(BabelscopeError, match=r"a\.jsonl:2: id 'xxx.*a\.jsonl:1") as caught:
        load(path)
    assert len(str(caught.value)) < 2100
    rows = "".join(f"{number}\tx\t_\t_\t_\t_\t0\troot\t_\t_\n" for number in range(1, 5000))
    (tmp_path / "a.conllu").write_text(rows)
    with pytest.raises(BabelscopeError, match=r"one root, this one 4999: words 1, 2, .*, …$"):
        list(read_trees(tmp_path / "a.conllu"))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"[" * MIB, "not JSON that can be read"),
        (b'{"a":' * 10**5, "not JSON that can be read"),
        (b"[" * 103 + b"]" * 103, "nested more than 100 deep"),
        (b"9" * MIB, "a number has 1048576 digits"),
        (b"-" + b"9" * 301, "a number has 302 digits"),
        (b"NaN", "NaN is not a JSON value"),
        (b"{" + b",".join(b'"%d":1' % n for n in range(10**5)) + b',"7":1}', "'7' stands twice"),
    ],
)
def test_json_that_would_take_all_there_is(data, told):
    with pytest.raises(BabelscopeError, match=told):
        parse_json(data, "a.json")


@pytest.mark.parametrize(
    "data",
    [
        "a = " + "[" * 10**5,
        ".".join("a" * 1000) + " = 1",
        "x={" + "a . " * 40 + "b=1}",
        "a = " + "{b=" * 150 + "1" + "}" * 150,
        "a = " + "9" * 10**5,
    ],
)
def test_toml_that_would_take_all_there_is(data):
    with pytest.raises(BabelscopeError, match=r"a\.toml: not TOML"):
        parse_toml(data.encode(), "a.toml")
