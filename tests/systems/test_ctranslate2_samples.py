"""Samples of `ct2:`: drawn from the model's distribution, reproducible, scored by teacher forcing."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chisquare

from babelscope.core.answers import Drawing, capabilities
from babelscope.systems.asking import ask_sample
from babelscope.systems.opening import open_system
from babelscope.util.errors import BabelscopeError
from tests.support.models import SOURCES, spec

ctranslate2 = pytest.importorskip("ctranslate2")
Build = Callable[..., Path]
Both = Callable[[str], tuple[Any, Any]]


@pytest.fixture(scope="module")
def both(checkpoint: Build, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """The same checkpoint as `hf:` and as `ct2:`, of samples of at most six tokens."""
    known: dict[str, tuple[Any, Any]] = {}

    def opened(family: str) -> tuple[Any, Any]:
        if family not in known:
            folder, to = checkpoint(family), tmp_path_factory.mktemp("ct2") / family
            ctranslate2.converters.TransformersConverter(str(folder)).convert(str(to))
            hf = spec(family, folder)
            known[family] = (
                open_system(f"{hf}&forward=transformers"),  # which can be told later not to mask pad
                open_system(f"ct2:{to}?tokenizer={folder}&{hf.partition('?')[2]}"),
            )
        return known[family]

    return opened


SHORT = Drawing(max_length=6)


@pytest.mark.parametrize("family", ["marian", "nllb"])
def test_samples_have_the_log_probabilities_of_their_tokens(
    both: Both, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    hf, ct2 = both(family)
    assert "sample" in capabilities(ct2)
    (drawn,) = ask_sample(ct2, SOURCES[:1], n=150, seed=1, drawing=SHORT)
    unfinished = [each for each in drawn if "unfinished" in each.notes]
    ended = [each for each in drawn if "unfinished" not in each.notes]
    assert unfinished
    assert ended
    assert max(len(each.tokens) for each in drawn) == 6
    assert {len(each.tokens) for each in unfinished} == {6}
    if family == "nllb":  # CTranslate2 gives some of the mass to padding, which `hf:` masks, and may draw it
        monkeypatch.setattr(hf.model, "vocabulary", dataclasses.replace(hf.vocabulary, masked=()))
    proper = [each for each in drawn if "<pad>" not in each.tokens]
    assert len(proper) > 100
    for each, right in zip(proper, hf.score([(SOURCES[0], each) for each in proper]), strict=True):
        assert each.tokens == right.tokens
        assert each.logprobs == pytest.approx(right.logprobs, abs=1e-3)
    for each, right in zip(ended, ct2.score([(SOURCES[0], each) for each in ended]), strict=True):
        assert each.logprobs == pytest.approx(right.logprobs, abs=1e-4)


def test_the_first_token_is_drawn_from_the_model_s_distribution(both: Both) -> None:
    _, ct2 = both("marian")
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


def test_samples_depend_on_question_and_seed_alone(both: Both) -> None:
    _, ct2 = both("marian")
    first = ask_sample(ct2, SOURCES[:2], n=30, seed=1, drawing=SHORT)
    again = ask_sample(ct2, [SOURCES[1], SOURCES[0], SOURCES[1]], n=50, seed=1, drawing=SHORT)
    assert [each.tokens for each in again[0][:30]] == [each.tokens for each in first[1]]
    assert again[0] == again[2] != again[1]
    assert ask_sample(ct2, SOURCES[:1], n=30, seed=2, drawing=SHORT)[0] != first[0]
    # In the order drawn: sorted ones would begin with the most probable.
    totals = [each.total for each in first[0]]
    assert totals != sorted(totals, reverse=True)


def test_temperature_is_heeded_and_cuts_are_refused(both: Both) -> None:
    _, ct2 = both("marian")
    cold = Drawing(temperature=0.01, max_length=6)
    assert len({each.tokens for each in ask_sample(ct2, SOURCES[:1], n=20, seed=1, drawing=cold)[0]}) == 1
    for drawing in (Drawing(top_k=3), Drawing(top_p=0.9), Drawing(epsilon=0.1)):
        with pytest.raises(BabelscopeError, match="leave top-k, top-p and epsilon out"):
            ask_sample(ct2, SOURCES[:1], n=1, seed=1, drawing=drawing)
    with pytest.raises(BabelscopeError, match="at least one sample must be drawn, not 0"):
        ct2.sample(SOURCES[:1], n=0, seed=1)
