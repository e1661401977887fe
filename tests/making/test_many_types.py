"""Minimal pairs of several error types at once."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from babelscope.language.registry import error_types
from babelscope.making.pairs import make_pairs
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

SOURCES = ["He does not come.", "She sings the song."]
REFERENCES = ["Er kommt nicht.", "Sie singt das Lied."]
TYPES = ["np_agreement", "polarity_particle_nicht_del", "compound"]


def test_the_pairs_are_those_of_each_type_alone() -> None:
    together = list(make_pairs(TYPES, SOURCES, REFERENCES, seed=3))
    alone = [pair for each in TYPES for pair in make_pairs(each, SOURCES, REFERENCES, seed=3)]
    assert sorted(together, key=lambda pair: pair.id) == sorted(alone, key=lambda pair: pair.id)
    assert len(together) >= 2


def test_a_mode_must_be_one_of_some_type() -> None:
    assert list(make_pairs([*TYPES, "clause_omission"], SOURCES, REFERENCES, mode="clean"))
    with pytest.raises(BabelscopeError, match="has no mode 'clean'; it has strict, as-released"):
        list(make_pairs(TYPES, SOURCES, REFERENCES, mode="clean"))


@pytest.mark.parametrize("to", [[], ["--to", "out"]])
def test_the_command_says_what_each_type_gave(babelscope: Babelscope, tmp_path: Path, to: list[str]) -> None:
    (tmp_path / "en").write_text("".join(f"{text}\n" for text in SOURCES))
    (tmp_path / "de").write_text("".join(f"{text}\n" for text in REFERENCES))
    files = ["--source", "en", "--reference", "de", *to]
    ran = babelscope("make", "pairs", "--type", "all", "--language", "de", *files)
    assert ran.code == 0, ran.err
    counts = {line.split()[0]: int(line.split()[1]) for line in ran.err.splitlines()}
    assert list(counts) == list(error_types("de"))
    assert counts["compound"] == 0
    written = (tmp_path / "out").read_text() if to else ran.out
    assert sum(counts.values()) == len(written.splitlines()) >= 3
