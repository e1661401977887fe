"""Networks with more output rows than their tokenizer has tokens: what is generated, named, noted and scored."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import babelscope as bs
from babelscope.core.answers import Budget, Scored
from babelscope.core.notes import told_counts
from babelscope.util.errors import BabelscopeError
from tests.support.models import SOURCES, build, build_causal, spec

MORE = 7
KINDS = ("llama", "gpt2", "marian", "t5", "m2m100")


def padded(kind: str, folder: Path) -> tuple[str, int]:
    """A tiny model with rows that no token has, and how many rows it had before."""
    import transformers as t

    causal = kind in ("llama", "gpt2")
    build_causal(folder, kind=kind) if causal else build(kind, folder)
    loader: Any = t.AutoModelForCausalLM if causal else t.AutoModelForSeq2SeqLM
    network = loader.from_pretrained(folder)
    before = network.get_output_embeddings().weight.shape[0]
    torch.manual_seed(5)
    network.resize_token_embeddings(before + MORE, mean_resizing=False)
    with torch.no_grad():
        network.get_output_embeddings().weight[before:].normal_(0, 1.5)
    network.save_pretrained(folder)
    name = f"llm:{folder}?source=English&target=German&max_length=8&end=eos" if causal else spec(kind, folder)
    return name, before


@pytest.fixture(scope="module", params=KINDS)
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, int]:
    name, before = padded(request.param, tmp_path_factory.mktemp("padded") / request.param)
    return bs.open_system(name), before


def unnamed_in(answers: list[list[Scored]]) -> list[Scored]:
    return [each for group in answers for each in group if "unnamed" in each.notes]


def test_what_has_no_name_is_shown_noted_and_scored_as_it_was_drawn(system: tuple[Any, int]) -> None:
    model, before = system
    drawn = model.sample(SOURCES[:2], n=30, seed=1)
    found = unnamed_in(drawn)
    assert found, "the rows were drawn"
    for each in found:
        ids = [int(number) for token in each.tokens for number in re.findall(r"^<id (\d+)>$", token)]
        assert ids
        assert "<id" not in each.text
        assert "None" not in each.text
        assert "unfinished" in each.notes or "changed" in each.notes, "its text is not its tokens"
    named = [each for group in drawn for each in group if "unnamed" not in each.notes]
    assert not any(token.startswith("<id ") for each in named for token in each.tokens)
    for source, group in zip(SOURCES, drawn, strict=False):
        for one, again in zip(group, model.score([(source, each) for each in group]), strict=True):
            assert again.tokens == one.tokens
            assert again.logprobs == pytest.approx(one.logprobs, abs=1e-4)
    assert told_counts({"unnamed": len(found)}) == {"unnamed": len(found)}
    assert model.vocabulary.size >= before + MORE


def test_rows_without_a_token_are_part_of_the_distribution(system: tuple[Any, int]) -> None:
    model, before = system
    memory = model.encode([SOURCES[0]])
    first = model.step(memory, [0], [model.vocabulary.prefix[0]]).double().exp()[0]
    assert first.sum().item() == pytest.approx(1.0, abs=1e-5)
    assert first[before:].sum().item() > 1e-6


def test_searches_keep_such_hypotheses(system: tuple[Any, int]) -> None:
    model, _ = system
    sources = list(SOURCES[:2])
    translated = model.translate(sources, beam=4, n_best=4)
    found = model.top_k(sources, k=20, budget=Budget(expansions=300))
    for answers in (translated, [list(each.found) for each in found]):
        for each in (one for group in answers for one in group):
            assert ("unnamed" in each.notes) == any(token.startswith("<id ") for token in each.tokens)
    assert unnamed_in([list(each.found) for each in found])


def test_tokens_of_another_vocabulary_are_refused_in_a_sentence(system: tuple[Any, int]) -> None:
    model, _ = system
    for token in ("no such token", "<id 3>", "<id 3", "<id 999999999999>"):
        with pytest.raises(BabelscopeError, match="is not in the vocabulary"):
            model.score([(SOURCES[0], Scored("x", (token,), (0.0,)))])
