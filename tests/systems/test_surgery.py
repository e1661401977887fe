"""Weights with one tensor removed, renamed, of another shape or added: always an error that names it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from babelscope import BabelscopeError, open_system
from tests.support import models

FAMILIES = ("marian", "m2m100", "t5", "llama")
IGNORABLE = {"final_logits_bias"}
"""What Marian's class lists as ignorable where it is missing: it is zero then, not random."""
LANGUAGES = "source=English&target=German"
Weights = dict[str, torch.Tensor]


def removed(weights: Weights, name: str) -> Weights:
    return {each: tensor for each, tensor in weights.items() if each != name}


def renamed(weights: Weights, name: str) -> Weights:
    return {**removed(weights, name), f"{name}_old": weights[name]}


def reshaped(weights: Weights, name: str) -> Weights:
    tensor = weights[name]
    return {**weights, name: torch.cat([tensor, tensor[:1]])}


def added(weights: Weights, name: str) -> Weights:
    return {**weights, f"{name}_old": torch.zeros(2)}


OPERATIONS: tuple[Callable[[Weights, str], Weights], ...] = (removed, renamed, reshaped, added)


@pytest.fixture(scope="module", params=FAMILIES)
def original(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Weights]:
    folder = tmp_path_factory.mktemp(request.param) / "model"
    if request.param == "llama":
        models.build_causal(folder)
    else:
        models.build(request.param, folder)
    return request.param, folder, load_file(folder / "model.safetensors")


def spec(family: str, folder: Path) -> str:
    return f"llm:{folder}?{LANGUAGES}&max_length=48" if family == "llama" else models.spec(family, folder)


def refused(family: str, folder: Path, weights: Weights, into: Path) -> str:
    """What opening the model says with these weights in the place of its own."""
    shutil.copytree(folder, into)
    save_file(weights, into / "model.safetensors", metadata={"format": "pt"})
    try:
        with pytest.raises(BabelscopeError) as error:
            open_system(spec(family, into))
    finally:
        shutil.rmtree(into)
    return str(error.value)


def cases(weights: Weights) -> Iterator[tuple[Callable[[Weights, str], Weights], str]]:
    for name in weights:
        for operate in OPERATIONS:
            if not (operate is removed and name in IGNORABLE):
                yield operate, name


def test_some_tensors(original, tmp_path):
    """Every ninth case of the grid, so that all operations and all parts of the network come up."""
    family, folder, weights = original
    for number, (operate, name) in enumerate(cases(weights)):
        if number % 9 == 0:
            assert name in refused(family, folder, operate(weights, name), tmp_path / str(number))


def test_a_model_of_the_other_kind_is_sent_to_the_right_scheme(original):
    family, folder, _ = original
    wrong, right = (f"hf:{folder}", "llm") if family == "llama" else (f"llm:{folder}?{LANGUAGES}", "hf")
    with pytest.raises(BabelscopeError, match=f"open it as {right}:"):
        open_system(wrong)


def test_transformers_says_nothing_beside(original, tmp_path, capfd):
    family, folder, weights = original
    refused(family, folder, removed(weights, list(weights)[-1]), tmp_path / "copy")
    assert "LOAD REPORT" not in capfd.readouterr().err
