"""`ct2:` agrees with `hf:` on the same checkpoint."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy.stats import chisquare

from babelscope.core.system import Drawing
from babelscope.systems.contract import ask_sample
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError
from tests.support.models import SOURCES, TARGETS, spec

ctranslate2 = pytest.importorskip("ctranslate2")
Build = Callable[..., Path]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture(scope="module")
def converted(checkpoint: Build, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    @functools.cache
    def convert(family: str) -> Path:
        to = tmp_path_factory.mktemp("ct2") / family
        ctranslate2.converters.TransformersConverter(str(checkpoint(family))).convert(str(to))
        return to

    return convert


def names(family: str, checkpoint: Build, converted: Callable[[str], Path]) -> tuple[str, str]:
    folder = checkpoint(family)
    hf = spec(family, folder)
    return hf, f"ct2:{converted(family)}?tokenizer={folder}&" + hf.partition("?")[2]


def test_scores_agree_with_transformers(checkpoint, converted):
    hf, ct2 = (open_system(name) for name in names("marian", checkpoint, converted))
    asked = [*PAIRS, (SOURCES[0], ""), (SOURCES[1], TARGETS[0])]
    for ours, theirs in zip(hf.score(asked), ct2.score(asked), strict=True):
        assert ours.tokens == theirs.tokens
        assert ours.notes == theirs.notes
        assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-3)


def test_other_families_differ_only_by_the_mass_on_pad(checkpoint, converted):
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


def test_bad_input(checkpoint, converted, tmp_path):
    with pytest.raises(BabelscopeError, match=r"no CTranslate2 model here \(no model.bin\)"):
        open_system(f"ct2:{tmp_path}")
    (tmp_path / "model.bin").write_bytes(b"no model")
    with pytest.raises(BabelscopeError, match="cannot be opened by CTranslate2"):
        open_system(f"ct2:{tmp_path}?tokenizer={checkpoint('marian')}")
    _, name = names("marian", checkpoint, converted)
    system = open_system(name)
    for drawing in (Drawing(top_k=3), Drawing(top_p=0.9), Drawing(epsilon=0.1)):
        with pytest.raises(BabelscopeError, match="leave top-k, top-p and epsilon out"):
            ask_sample(system, SOURCES[:1], n=1, seed=1, drawing=drawing)
    assert open_system(f"{name}&compute_type=int8").fingerprint.digest != system.fingerprint.digest
    beyond = open_system(name.replace("max_length=48", "max_length=512"))
    with pytest.raises(BabelscopeError, match="CTranslate2 fails: No position encodings are defined"):
        beyond.score([(SOURCES[0], "Hund " * 80)])


def test_the_first_token_is_drawn_from_the_model_s_distribution(checkpoint, converted):
    ct2 = open_system(names("marian", checkpoint, converted)[1])
    n = 1000
    (drawn,) = ask_sample(ct2, SOURCES[:1], n=n, seed=3, drawing=Drawing(max_length=1))
    firsts = {each.tokens[0]: each.logprobs[0] for each in drawn}
    counts = Counter(each.tokens[0] for each in drawn)
    expected = {token: n * math.exp(logprob) for token, logprob in firsts.items()}
    common = [token for token, number in expected.items() if number >= 5]
    rest = n - math.fsum(expected[token] for token in common)
    others = n - sum(counts[token] for token in common)
    assert len(common) > 10
    seen = [*(counts[token] for token in common), others]
    assert chisquare(seen, [*(expected[token] for token in common), rest]).pvalue > 1e-4
