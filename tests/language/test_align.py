"""Word alignment: Pharaoh files, and the aligner in process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from babelscope.language.align import (
    SYMMETRIZATIONS,
    align,
    align_ways,
    alignment_scorer,
    parse_links,
    read_pharaoh,
)
from babelscope.util.errors import BabelscopeError

NOUNS = {"dog": "Hund", "cat": "Katze", "horse": "Pferd", "bird": "Vogel"}
VERBS = {"sees": "sieht", "likes": "mag", "hears": "hört"}
PAIRS = [
    (["the", noun, verb, "the", other], ["das", NOUNS[noun], VERBS[verb], "das", NOUNS[other]])
    for noun in NOUNS
    for verb in VERBS
    for other in NOUNS
]


def test_links_in_and_out() -> None:
    links = parse_links("0-0 2-1 ", "f:1", 3, 2)
    assert links == ((0, 0), (2, 1))
    assert parse_links("", "f:1", 0, 0) == ()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("0-0 3-1", "f:7: the link 3-1 points at source word 3, but the source has 3 words"),
        ("0-2", "f:7: the link 0-2 points at target word 2, but the target has 2 words"),
        ("0-", "f:7: '0-' is no link"),
        ("1:2", "f:7: '1:2' is no link"),
        ("-1-0", "f:7: '-1-0' is no link"),
        ("٣-٠", "is no link"),
    ],
)
def test_bad_links_are_told_with_their_place(line: str, told: str) -> None:
    with pytest.raises(BabelscopeError) as caught:
        parse_links(line, "f:7", 3, 2)
    assert told in str(caught.value)


def test_a_file_of_links(tmp_path: Path) -> None:
    path = tmp_path / "a.align"
    path.write_text("0-0\n\n1-0 0-1\n")
    assert read_pharaoh(path, [(1, 1), (2, 2), (2, 2)], parallel_to="b") == [((0, 0),), (), ((1, 0), (0, 1))]
    with pytest.raises(BabelscopeError, match=r"b has 2, .*a\.align has 3"):
        read_pharaoh(path, [(1, 1), (2, 2)], parallel_to="b")
    with pytest.raises(BabelscopeError, match=r"a\.align:3: the link 1-0 points at source word 1"):
        read_pharaoh(path, [(1, 1), (2, 2), (1, 2)], parallel_to="b")


def test_the_aligner_finds_word_by_word_translations() -> None:
    pytest.importorskip("thot")
    straight = tuple((position, position) for position in range(5))
    for how in ("forward", "reverse", *SYMMETRIZATIONS):
        # An empty side has no links, and does not move those of the others.
        links = align([*PAIRS, ([], ["das"])], how)
        assert len(links) == len(PAIRS) + 1
        assert links[-1] == ()
        assert sum(found == straight for found in links) >= 0.9 * len(PAIRS), how
    assert align(PAIRS) == align(PAIRS)
    assert align([]) == []


def test_several_ways_are_those_of_each_alone() -> None:
    pytest.importorskip("thot")
    hows = ("reverse", "intersection", "union", "forward")
    assert align_ways(PAIRS, hows) == [align(PAIRS, how) for how in hows]
    reverse, both, union, forward = ([set(links) for links in found] for found in align_ways(PAIRS, hows))
    assert both == [one & other for one, other in zip(forward, reverse, strict=True)]
    assert union == [one | other for one, other in zip(forward, reverse, strict=True)]


def test_one_direction_gives_each_word_one_link() -> None:
    pytest.importorskip("thot")
    pairs = [([*source, "indeed"], target) for source, target in PAIRS]
    for links in align(pairs):
        targets = [target for _, target in links]
        assert len(targets) == len(set(targets))
    for links in align(pairs, "reverse"):
        sources = [source for source, _ in links]
        assert len(sources) == len(set(sources))


def test_a_score_is_the_mean_of_both_directions() -> None:
    pytest.importorskip("thot")
    there = alignment_scorer(PAIRS)
    back = alignment_scorer([(target, source) for source, target in PAIRS])
    (source, target), other = PAIRS[1], PAIRS[-1][1]
    right, wrong = there(source, target), there(source, other)
    assert right is not None
    assert wrong is not None
    assert right > wrong
    assert right == pytest.approx(back(target, source))
    assert there(["never", "seen"], target) is None


def test_what_cannot_be_aligned_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("thot")
    with pytest.raises(BabelscopeError, match="there is no alignment 'sideways'; known: forward"):
        align(PAIRS, "sideways")
    with pytest.raises(BabelscopeError, match="more than 1024 words, too many to align"):
        align([(["a"] * 1100, ["b"])])
    monkeypatch.setitem(sys.modules, "thot.alignment", None)
    with pytest.raises(BabelscopeError, match=r"\.\[align\]"):
        align(PAIRS)
