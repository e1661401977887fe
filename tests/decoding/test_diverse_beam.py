"""Diverse beam search against algorithm 1 of Vijayakumar et al. (2018), written out over a whole vocabulary."""

from __future__ import annotations

import math

import pytest

from babelscope import open_system
from babelscope.core.system import Diversity
from babelscope.decoding.beam import beam_search
from babelscope.systems.contract import ask_translate
from babelscope.util.errors import BabelscopeError
from tests.decoding.test_exact import EOS, Table
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

Target = tuple[int, ...]
SOURCES = [(1,), (2,), (3, 4), (5,)]


def by_the_algorithm(
    model: Table, source: Target, *, width: int, groups: int, strength: float, penalty: float, limit: int
) -> list[Target]:
    """Every continuation of every prefix by every word, group by group; (rank, log-probability, ids)."""
    running: list[list[tuple[float, float, Target]]] = [[(0.0, 0.0, ())] for _ in range(groups)]
    finished: list[list[tuple[float, float, Target]]] = [[] for _ in range(groups)]
    done = [False] * groups
    for length in range(1, limit + 1):
        chosen_before: list[int] = []
        for group in range(groups):
            if done[group]:
                continue
            grown: list[tuple[float, float, Target]] = []
            for rank, total, ids in running[group]:
                row = model.row(source, (*model.vocabulary.prefix, *ids)).tolist()
                for token, log in enumerate(row):
                    price = strength * chosen_before.count(token)
                    if log > -math.inf:
                        grown.append((rank + log - price, total + log, (*ids, token)))
            grown.sort(key=lambda each: -each[0])
            for rank, total, ids in grown[:width]:
                if ids[-1] == EOS or length == limit:
                    finished[group].append((rank / length**penalty, total / length**penalty, ids))
            finished[group] = sorted(finished[group], key=lambda each: -each[0])[:width]
            running[group] = [each for each in grown[: 2 * width] if each[2][-1] != EOS][:width]
            chosen_before += [ids[-1] for _, _, ids in running[group]]
            best = max((rank for rank, _, _ in running[group]), default=-math.inf) / length**penalty
            done[group] = len(finished[group]) == width and best <= finished[group][-1][0]
            done[group] = done[group] or not running[group]
    found = sorted((each for own in finished for each in own), key=lambda each: -each[1])
    return list(dict.fromkeys(ids for _, _, ids in found))


@pytest.mark.parametrize("kind", ["random", "sharp", "forced"])
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("strength", [0.3, 2.0])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_groups_are_searched_as_the_algorithm_says(
    kind: str, groups: int, strength: float, penalty: float
) -> None:
    for seed in range(3):
        model = Table(seed, kind, words=3, limit=6)
        found = beam_search(
            model,
            SOURCES,
            beam=2 * groups,
            n_best=2 * groups,
            length_penalty=penalty,
            diversity=Diversity(groups, strength),
        )
        for source, own in zip(SOURCES, found, strict=True):
            expected = by_the_algorithm(
                model, source, width=2, groups=groups, strength=strength, penalty=penalty, limit=6
            )
            assert [tuple(ids) for ids in own] == expected


def test_one_group_is_ordinary_beam_search() -> None:
    system = open_system("lab:student")
    sources = system.tokens.encode_sources(["The dog sleeps in the garden.", "A doctor bought the car."])
    plain = beam_search(system.model, sources, beam=6, n_best=6)
    assert beam_search(system.model, sources, beam=6, n_best=6, diversity=Diversity(1, 9.0)) == plain
    free = beam_search(system.model, sources, beam=6, n_best=6, diversity=Diversity(3, 0.0))
    assert free == beam_search(system.model, sources, beam=2, n_best=2), "groups that cost nothing are equal"
    diverse = beam_search(system.model, sources, beam=6, n_best=6, diversity=Diversity(3, 0.5))
    assert diverse != plain


def test_what_has_no_groups_is_refused() -> None:
    with pytest.raises(BabelscopeError, match="toy has no beam search whose groups could be set"):
        ask_translate(ToySystem(), ["a"], beam=4, diversity=Diversity(2))
    with pytest.raises(BabelscopeError, match="a beam of 5 cannot be split into 2 equal groups"):
        open_system("lab:student").translate(["The dog sleeps."], beam=5, diversity=Diversity(2))


def test_on_the_command_line(babelscope: Babelscope, tmp_path) -> None:
    (tmp_path / "in.en").write_text("The old doctor remembers a lawyer.\n")
    line = f"translate --system lab:student {tmp_path}/in.en --beam 6 --n 6 --no-cache"
    plain = babelscope(*line.split()).out.strip().split("\t")
    diverse = babelscope(*line.split(), "--set", "groups=3", "--set", "diversity=2").out.strip().split("\t")
    assert len(set(diverse)) > 4
    assert diverse != plain
    ran = babelscope(*line.split(), "--set", "diversity=2")
    assert ran.code == 2
    assert "it only applies to --set groups=N" in ran.err
