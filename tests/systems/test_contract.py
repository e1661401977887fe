"""What every local system promises: scores, batches, flags, samples, search, refusals, fingerprints."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.core.system import Budget, Drawing, Scored, capabilities
from babelscope.systems.contract import ask_sample, ask_score, ask_translate
from babelscope.systems.registry import find_scheme, open_system
from babelscope.util.errors import BabelscopeError
from tests.support.models import FAMILIES, SOURCES, TARGETS, build_causal, spec

KINDS = (*FAMILIES, "transformers", "llama", "llama-chat", "gpt2", "ct2", "ensemble")
PAIRS = list(zip(SOURCES, TARGETS, strict=True))
SHORT = Drawing(max_length=6)
Named = Callable[..., str]


@pytest.fixture(scope="module")
def named(checkpoint: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Named:
    """The name of a small system of each kind."""

    @functools.cache
    def made(kind: str) -> Path:
        folder = tmp_path_factory.mktemp(kind) / "model"
        if kind == "ct2":
            converters = pytest.importorskip("ctranslate2").converters
            converters.TransformersConverter(str(checkpoint("marian"))).convert(str(folder))
            return folder
        family, _, chat = kind.partition("-")
        return build_causal(folder, chat=bool(chat), kind=family)

    def name(kind: str, longest: int = 48) -> str:
        if kind in FAMILIES:
            return spec(kind, checkpoint(kind), max_length=longest)
        if kind == "transformers":
            return spec("marian", checkpoint("marian"), max_length=longest, forward="transformers")
        if kind == "ct2":
            return f"ct2:{made(kind)}?tokenizer={checkpoint('marian')}&max_length={longest}"
        if kind == "ensemble":
            seeds = (checkpoint("marian", seed=seed) for seed in (1, 2))
            return f"ensemble:{','.join(spec('marian', folder, max_length=longest) for folder in seeds)}"
        return f"llm:{made(kind)}?source=English&target=German&max_length={longest}"

    return name


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def system(kind: str, named: Named) -> Any:
    return open_system(named(kind))


def assert_rescored(system: Any, source: str, answers: list[Scored], end: str) -> None:
    """Answers have the log-probabilities of their tokens, and say whether they came to an end."""
    for one, again in zip(answers, ask_score(system, [(source, each) for each in answers]), strict=True):
        assert ("unfinished" in one.notes) == (one.tokens[-1] != end)
        assert again.tokens == one.tokens
        assert again.logprobs == pytest.approx(one.logprobs, abs=1e-4)


@pytest.fixture(scope="module")
def end(system: Any) -> str:
    """The token that ends a target."""
    [scored] = system.score(PAIRS[:1])
    return str(scored.tokens[-1])


def test_it_can_do_what_its_scheme_says(kind, system, named):
    assert capabilities(system) == find_scheme(named(kind)).capabilities


@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_company_does_not_change_a_score(system, data):
    """Batch size, order, padding, repeated sources and repeated targets change nothing beyond 1e-4 per token."""
    numbers = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
    for member in getattr(system, "members", [system]):
        setattr(
            member,
            "_batch" if hasattr(member, "_batch") else "_budget",
            data.draw(st.sampled_from([1, 40, 200, 4096])),
        )
    asked = [(SOURCES[i], TARGETS[j]) for i, j in numbers]
    for pair, scored in zip(asked, ask_score(system, asked), strict=True):
        [alone] = ask_score(system, [pair])
        assert scored.text == pair[1]
        assert scored.tokens == alone.tokens
        assert scored.logprobs == pytest.approx(alone.logprobs, abs=1e-4)


def test_translations_carry_the_tokens_generated(system, end):
    answers = ask_translate(system, SOURCES[:3], beam=3, n_best=2)
    assert [len(group) for group in answers] == [2, 2, 2]
    for source, group in zip(SOURCES, answers, strict=False):
        assert group[0].tokens != group[1].tokens
        assert_rescored(system, source, group, end)
    with pytest.raises(BabelscopeError, match="beam of 2 cannot give 3"):
        system.translate(SOURCES, beam=2, n_best=3)


def test_samples_are_answers_like_any_other(system, end):
    asked = [*SOURCES[:2], SOURCES[0]]
    answers = ask_sample(system, asked, n=20, seed=1, drawing=SHORT)
    assert answers[0] == answers[2] != answers[1]
    for seed in (1, 2):
        [more] = ask_sample(system, asked[1:2], n=25, seed=seed, drawing=SHORT)
        assert ([each.tokens for each in more[:20]] == [each.tokens for each in answers[1]]) == (seed == 1)
    for source, group in zip(asked, answers, strict=True):
        assert_rescored(system, source, group, end)
        assert all(len(each.tokens) == 6 or each.tokens[-1] == end for each in group)
    drawn = answers[0]
    assert any("unfinished" in each.notes for each in drawn), "six tokens are too few for some"
    # In the order drawn: sorted ones would begin with the most probable.
    assert [each.total for each in drawn] != sorted((each.total for each in drawn), reverse=True)
    cold = Drawing(temperature=1e-4, max_length=4)
    assert len({each.tokens for each in ask_sample(system, asked[:1], n=9, seed=1, drawing=cold)[0]}) == 1
    with pytest.raises(BabelscopeError, match="at least one sample must be drawn, not 0"):
        system.sample(asked[:1], n=0, seed=1)


def test_no_beam_and_no_sample_beats_the_proven_best(kind, system, named, end):
    if "top_k" not in capabilities(system):
        pytest.skip("it does not search")
    for found in system.top_k(SOURCES[:1], k=2, budget=Budget(expansions=20)):
        assert_rescored(system, SOURCES[0], list(found.found), end)
    short = open_system(named(kind, 3))
    for source, best in zip(SOURCES[:2], short.top_k(SOURCES[:2], k=1), strict=True):
        assert best.exact
        rivals = [*short.translate([source], beam=4)[0], *short.sample([source], n=20, seed=1)[0]]
        ended = [each.total for each in rivals if "unfinished" not in each.notes]
        assert best.found[0].total >= max(ended, default=-math.inf) - 1e-4


def test_what_cannot_be_asked_is_refused_with_its_place(kind, system):
    long = "dog " * 2000
    no_limit = kind in ("t5", "mt5")
    for source in ("", "  ", "a\nb", "a\rb", "a\0b", "a\ud800b", *([] if no_limit else [long])):
        for ask in (
            lambda source=source: system.translate([SOURCES[0], source]),
            lambda source=source: system.score([(SOURCES[0], ""), (source, "")]),
            lambda source=source: system.sample([SOURCES[0], source], n=1, seed=1),
        ):
            with pytest.raises(BabelscopeError, match=r"^source 2 (is|has|makes)"):
                ask()
    with pytest.raises(BabelscopeError, match=r"^target 1 has \d+ tokens"):
        system.score([(SOURCES[0], long)])
    with pytest.raises(BabelscopeError, match="not in the vocabulary"):
        system.score([(SOURCES[0], Scored("x", ("no such piece", "</s>"), (-1.0, -1.0)))])
    with pytest.raises(BabelscopeError, match="has no tokens"):
        system.score([(SOURCES[0], Scored("x"))])


def test_the_fingerprint_is_of_content_and_options(kind, named):
    one, same, other = (open_system(named(kind, longest)).fingerprint.digest for longest in (48, 48, 47))
    assert one == same != other
