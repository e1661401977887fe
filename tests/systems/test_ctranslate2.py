"""`ct2:` agrees with `hf:` on the same checkpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from babelscope.systems.opening import open_system
from babelscope.util.errors import BabelscopeError
from tests.support.models import SOURCES, TARGETS, spec

ctranslate2 = pytest.importorskip("ctranslate2")
Build = Callable[..., Path]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture(scope="module")
def converted(checkpoint: Build, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folders: dict[str, Path] = {}

    def convert(family: str) -> Path:
        if family not in folders:
            to = tmp_path_factory.mktemp("ct2") / family
            ctranslate2.converters.TransformersConverter(str(checkpoint(family))).convert(str(to))
            folders[family] = to
        return folders[family]

    return convert


def names(family: str, checkpoint: Build, converted: Callable[[str], Path]) -> tuple[str, str]:
    folder = checkpoint(family)
    hf = spec(family, folder)
    return hf, f"ct2:{converted(family)}?tokenizer={folder}&" + hf.partition("?")[2]


def test_scores_agree_with_transformers(checkpoint: Build, converted: Callable[[str], Path]) -> None:
    hf, ct2 = (open_system(name) for name in names("marian", checkpoint, converted))
    asked = [*PAIRS, (SOURCES[0], ""), (SOURCES[1], TARGETS[0])]
    for ours, theirs in zip(hf.score(asked), ct2.score(asked), strict=True):
        assert ours.tokens == theirs.tokens
        assert ours.notes == theirs.notes
        assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-3)


def test_other_families_differ_only_by_the_mass_on_pad(
    checkpoint: Build, converted: Callable[[str], Path]
) -> None:
    """Converted Marian models lose their pad; NLLB's keep it, and CTranslate2 cannot be asked to mask it."""
    name, other = names("nllb", checkpoint, converted)
    # The forward pass of transformers masks what its vocabulary says now, the lean one what it said at first.
    hf, ct2 = open_system(f"{name}&forward=transformers"), open_system(other)
    masked, hf.model.vocabulary = hf.model.vocabulary, dataclasses.replace(hf.vocabulary, masked=())
    for ours, theirs in zip(hf.score(PAIRS), ct2.score(PAIRS), strict=True):
        assert ours.tokens == theirs.tokens
        assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-3)
    hf.model.vocabulary = masked
    assert hf.score(PAIRS)[0].total > ct2.score(PAIRS)[0].total


def test_translations_are_scored_by_their_tokens(checkpoint: Build, converted: Callable[[str], Path]) -> None:
    hf, ct2 = (open_system(name) for name in names("marian", checkpoint, converted))
    sources = [source for source in SOURCES if hf.translate([source], beam=2)[0][0].notes == ()]
    assert sources, "some toy translation must end by itself"
    for source, group in zip(sources, ct2.translate(sources, beam=2, n_best=1), strict=True):
        [again] = hf.score([(source, group[0])])
        assert again.logprobs == pytest.approx(group[0].logprobs, abs=1e-3)


def test_bad_input(checkpoint: Build, converted: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(BabelscopeError, match=r"no CTranslate2 model here \(no model.bin\)"):
        open_system(f"ct2:{tmp_path}")
    (tmp_path / "model.bin").write_bytes(b"no model")
    with pytest.raises(BabelscopeError, match="cannot be opened by CTranslate2"):
        open_system(f"ct2:{tmp_path}?tokenizer={checkpoint('marian')}")
    _, name = names("marian", checkpoint, converted)
    system = open_system(name)
    with pytest.raises(BabelscopeError, match=r"source 1 has \d+ tokens, but .* takes 48"):
        system.translate(["dog " * 10_000])
    with pytest.raises(BabelscopeError, match="target 1 has"):
        system.score([(SOURCES[0], "Hund " * 2000)])
    beyond = open_system(name.replace("max_length=48", "max_length=512"))
    with pytest.raises(BabelscopeError, match="CTranslate2 fails: No position encodings are defined"):
        beyond.score([(SOURCES[0], "Hund " * 80)])


def test_the_fingerprint_knows_the_arithmetic(checkpoint: Build, converted: Callable[[str], Path]) -> None:
    _, name = names("marian", checkpoint, converted)
    assert open_system(name).fingerprint.digest == open_system(name).fingerprint.digest
    assert open_system(f"{name}&compute_type=int8").fingerprint.digest != open_system(name).fingerprint.digest
