"""Corpora in parts: what is made is the same to the byte, and memory does not grow with the corpus."""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import itertools
import os
import signal
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.lab.grammar import corpus as lab
from babelscope.making import ray_tasks
from babelscope.making.challenge import Corpus, Search
from babelscope.making.challenge.search import run_search
from babelscope.making.pairs import PairsOfFiles, make_lines
from babelscope.making.ray_tasks import ray_map
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support.stored import unfinished
from tests.support.toy_fixtures import Babelscope

N = 120
PAIRS = {"type": "polarity_particle_nicht_del", "kind": "human", "seed": 3, "choose": "one", "mode": None}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab")
    lab.make_corpus(folder, N, seed=5, name="c")
    return folder


def corpus(folder: Path, **other: Any) -> Corpus:
    files: dict[str, Any] = {"parses": folder / "c.en.conllu", "alignments": folder / "c.align", **other}
    return Corpus(folder / "c.en", folder / "c.de", **files)


def pairs_of(folder: Path, **options: Any) -> PairsOfFiles:
    pytest.importorskip("HanTa")
    pytest.importorskip("german_nouns.config")
    return PairsOfFiles(folder / "c.en", folder / "c.de", {**PAIRS, **options})


def in_parts(search: Search, size: int, **how: bool) -> bytes:
    """What `--ray` does, in this process."""
    written = b""
    for part in map(search.of_part, search.split(size)):
        lines, done = run_search(part, **{"write": True, **how})
        written += lines.encode()
        search.absorb(done)
    return written


@settings(max_examples=30)
@given(size=st.integers(1, N + 5), only_found=st.booleans(), exact=st.booleans())
def test_a_challenge_set_made_in_parts_is_the_same(
    folder: Path, size: int, only_found: bool, exact: bool
) -> None:
    whole, split = Search(corpus(folder)), Search(corpus(folder))
    assert in_parts(split, size, only_found=only_found) == b"".join(whole.lines(only_found=only_found))
    assert split.rows(exact=exact) == whole.rows(exact=exact)
    assert split.finder.trees == whole.finder.trees == N


def test_bad_sentences_are_told_and_counted_as_without_parts(folder: Path, tmp_path: Path) -> None:
    trees = (folder / "c.en.conllu").read_text().split("\n\n")
    trees[40] = trees[40].replace("\t0\troot", "\t99\troot")
    trees[90] = "# text = nothing"
    (tmp_path / "bad.conllu").write_text("\n\n".join(trees))
    bad = corpus(folder, parses=tmp_path / "bad.conllu")
    whole, split = (Search(bad, skip_bad=True) for _ in range(2))
    assert in_parts(split, 11) == b"".join(whole.lines())
    assert list(split.skipped.items()) == list(whole.skipped.items())
    assert sum(split.skipped.values()) == 2
    assert split.rows() == whole.rows()
    told = []
    for make in (lambda: in_parts(Search(bad), 11), lambda: b"".join(Search(bad).lines())):
        with pytest.raises(BabelscopeError, match=r"bad\.conllu:\d+: sentence 41: ") as raised:
            make()
        told.append(str(raised.value))
    assert told[0] == told[1]


def test_what_cannot_be_split_is_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BabelscopeError, match="learned from the whole corpus"):
        Search(corpus(folder, alignments=None)).split(10)
    (tmp_path / "short").write_text("0-0\n")
    with pytest.raises(BabelscopeError, match=rf"c\.en has {N}, .*short has 1"):
        Search(corpus(folder, alignments=tmp_path / "short")).split(10)
    (tmp_path / "nothing").write_text("")
    empty = tmp_path / "nothing"
    nothing = Corpus(empty, empty, empty, alignments=empty)
    with pytest.raises(BabelscopeError, match="nothing has no sentences"):
        in_parts(Search(nothing), 10)


@pytest.mark.parametrize("choose", ["one", "all"])
@pytest.mark.parametrize("size", [1, 13, N + 1])
def test_pairs_made_in_parts_are_the_same(folder: Path, size: int, choose: str) -> None:
    made = pairs_of(folder, type="np_agreement", choose=choose)
    whole = b"".join(made.lines())
    assert "".join(lines for lines, _ in map(make_lines, made.parts(size))).encode() == whole
    assert whole.count(b"\n") > N / 4


class Reader(io.RawIOBase):
    """A file without end that is never far ahead of what is made of it; `made` counts that."""

    made = 0

    def __init__(self, units: list[bytes], ahead: int) -> None:
        self._lines = ((number, line) for number, unit in _numbered(units) for line in unit.splitlines(True))
        self._ahead = ahead

    def seek(self, *_: int) -> int:
        return 0

    def read(self, _size: int = -1) -> bytes:
        return b""  # only asked for by who counts lines, for a progress bar

    def readline(self, _size: int | None = -1) -> bytes:
        number, line = next(self._lines)
        assert number <= Reader.made + self._ahead, "the corpus is held, not streamed"
        return line


def _numbered(units: list[bytes]) -> Iterator[tuple[int, bytes]]:
    return enumerate(itertools.cycle(units))


@pytest.fixture
def endless(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lab's files go on and on."""

    @contextlib.contextmanager
    def reading(path: str | Path) -> Iterator[Reader]:
        data = Path(path).read_bytes()
        units = (
            [tree + b"\n\n" for tree in data.split(b"\n\n")[:-1]]
            if path == folder / "c.en.conllu"
            else data.splitlines(True)
        )
        assert len(units) == N
        yield Reader(units, ahead=1000)  # the first thousand lines tell how words are divided

    monkeypatch.setattr("babelscope.util.text.open_to_read", reading)
    monkeypatch.setattr(Reader, "made", 0)


@pytest.mark.usefixtures("endless")
@pytest.mark.parametrize("what", ["challenge", "pairs"])
def test_memory_does_not_grow_with_the_corpus(folder: Path, what: str) -> None:
    lines = pairs_of(folder).lines(_advance) if what == "pairs" else _advanced(Search(corpus(folder)).lines())

    def held_after(count: int) -> int:
        """Bytes that are held when so many more sentences are read."""
        end = Reader.made + count
        while Reader.made < end:
            next(lines)
        gc.collect()  # Python's own spare tuples and lists, too
        return tracemalloc.get_traced_memory()[0]

    held_after(2 * N)  # what is remembered of words and tags is remembered then
    tracemalloc.start()
    try:
        before, after = held_after(N), held_after(8 * N)
    finally:
        tracemalloc.stop()
    # A sentence that was kept would be some hundred bytes at least.
    assert after - before < 8 * N * 50


def _advance(count: int) -> None:
    Reader.made += count


def _advanced(lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        _advance(1)
        yield line


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from babelscope.systems.clusters import connect, disconnect

    connect(2, None, 1)
    yield ray
    disconnect()


@pytest.mark.slow
@pytest.mark.usefixtures("ray")
def test_ray_tells_errors_as_themselves(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text((folder / "c.align").read_text().replace("0-0", "99-0"))
    with pytest.raises(BabelscopeError, match=r"bad:1: sentence 1: the link 99-0 points at source word 99"):
        list(
            ray_map(
                functools.partial(run_search, write=True),
                [Search(corpus(folder, alignments=tmp_path / "bad"))],
            )
        )
    with pytest.raises(ZeroDivisionError):
        list(ray_map(functools.partial(divmod, 1), [0]))


@pytest.mark.slow
@pytest.mark.usefixtures("ray")
def test_a_worker_that_dies_is_replaced_but_not_forever(tmp_path: Path) -> None:
    def die(_number: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def die_once(number: int) -> int:
        if number % 3 == 1 and not (tmp_path / str(number)).exists():
            (tmp_path / str(number)).touch()
            die(number)
        return number

    assert list(ray_map(die_once, range(6))) == [0, 1, 2, 3, 4, 5]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "4"]
    with pytest.raises(SystemFailure, match="given up after 4 workers died"):
        list(ray_map(die, [0]))


@pytest.mark.slow
@pytest.mark.usefixtures("ray")
def test_workers_go_on_where_one_process_was_stopped(
    babelscope: Babelscope, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ["--source", str(folder / "c.en"), "--reference", str(folder / "c.de")]
    marks = ["--parses", str(folder / "c.en.conllu"), "--set", f"alignments={folder / 'c.align'!s}"]
    made = ["make", "challenge", *files, *marks, "--json"]
    whole = babelscope(*made, "--to", "whole.jsonl")
    monkeypatch.setattr(ray_tasks, "SENTENCES", 25)
    real = Search.lines

    def lines(self: Search, *arguments: Any, **options: Any) -> Iterator[bytes]:
        if self.corpus.first > 50:
            raise SystemFailure("the disk is gone")
        return real(self, *arguments, **options)

    monkeypatch.setattr(Search, "lines", lines)
    assert babelscope(*made, "--to", "split.jsonl").code == 1
    monkeypatch.setattr(Search, "lines", real)
    assert unfinished() == ["from sentence 1 on", "from sentence 26 on"]
    handed: list[int] = []
    order = ray_tasks.ray_map
    monkeypatch.setattr(
        ray_tasks,
        "ray_map",
        lambda work, tasks, address: order(
            work, (handed.append(t.corpus.first) or t for t in tasks), address
        ),
    )
    assert babelscope(*made, "--ray", "--to", "split.jsonl").out == whole.out
    assert handed == [51, 76, 101]
    assert (tmp_path / "split.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
