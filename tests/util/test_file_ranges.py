"""Stretches of files: read apart, they are the whole, with the same numbers and the same errors."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from babelscope.language.ud import read_trees, tree_ranges
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import FileRange, count_lines, line_ranges, parallel_rows, read_lines, stream_lines

SIZES = st.integers(1, 9)


@example(["\ufeff"], False, 1)
@given(
    st.lists(st.sampled_from(["", "a", "zwei Wörter", " ", "\u2028", "\ufeff", "\ufeffa", "x" * 50])),
    st.booleans(),
    SIZES,
)
def test_lines_read_in_stretches_are_the_file(lines, ends, size):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_bytes("\n".join(lines).encode() + (b"\n" if ends and lines else b""))
        whole = read_lines(path, keep_separators=True)
        assert list(stream_lines(path)) == whole
        assert count_lines(path) == len(whole)
        stretches = line_ranges(path, size)
        assert [each.count for each in stretches[:-1]] == [size] * (len(stretches) - 1)
        assert sum(each.count or 0 for each in stretches) == len(whole)
        for each in stretches:
            assert each.number == each.line
            here = list(stream_lines(path, each))
            assert here == whole[each.number - 1 : each.number - 1 + (each.count or 0)]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3))), st.integers(0, 2), st.booleans(), SIZES)
def test_trees_read_in_stretches_are_the_file(sentences, before, ends, size):
    """Sentences of so many words and comments; any number of blank lines may stand between them."""
    text = "\n" * before
    for number, (words, blank) in enumerate(sentences, 1):
        text += f"# sent_id = ß{number}\n"
        for word in range(1, words + 1):
            text += f"{word}\tw{number}\t_\tX\t_\t_\t{word - 1}\tdep\t_\t_\n"
        text += "\n" * blank
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trees"
        path.write_bytes(text.encode() if ends else text.encode().rstrip(b"\n"))
        whole = list(read_trees(path))
        assert len(whole) == len(sentences)
        stretches = tree_ranges(path, size)
        # Trees know their number and their line in the file, so these are compared too.
        assert [tree for each in stretches for tree in read_trees(path, part=each)] == whole
        assert [each.count for each in stretches[:-1]] == [size] * (len(stretches) - 1)


def test_faults_are_told_with_their_line_in_the_file(tmp_path):
    (tmp_path / "text").write_bytes(b"a\nb\nc\n\xff\n")
    last = line_ranges(tmp_path / "text", 3)[-1]
    assert last == FileRange(number=4, line=4, byte=6, count=1)
    with pytest.raises(BabelscopeError, match="text:4: not UTF-8"):
        list(stream_lines(tmp_path / "text", last))
    (tmp_path / "trees").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n" * 2 + "1\tb\n")
    with pytest.raises(BabelscopeError, match=r"trees:5: sentence 3: a line has 10 columns"):
        list(read_trees(tmp_path / "trees", part=tree_ranges(tmp_path / "trees", 2)[-1]))


def test_what_cannot_be_shared_is_told(tmp_path):
    (tmp_path / "text.gz").write_bytes(gzip.compress(b"a\nb\n"))
    assert list(stream_lines(tmp_path / "text.gz")) == ["a", "b"]
    with pytest.raises(BabelscopeError, match=r"text\.gz is gzipped.*unzip it first"):
        line_ranges(tmp_path / "text.gz", 2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BabelscopeError, match="pipe is not a regular file, so workers cannot share it"):
        line_ranges(tmp_path / "pipe", 2)
    with pytest.raises(BabelscopeError, match="no such file"):
        line_ranges(tmp_path / "nothing", 2)


def test_columns_must_be_equally_long():
    rows = parallel_rows([("here", iter("ab")), ("there", iter("abcd"))], 5)
    assert [next(rows), next(rows)] == [(5, ("a", "a")), (6, ("b", "b"))]
    with pytest.raises(BabelscopeError, match="here has 6, there has 8"):  # four were before
        next(rows)
