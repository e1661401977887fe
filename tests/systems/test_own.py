"""docs/howto/own-model.md: a module with `encode` and `step` gets every method."""

from __future__ import annotations

import contextlib
import io
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from babelscope.core.system import capabilities
from babelscope.decoding.model import Vocabulary
from babelscope.decoding.stepwise import Stepwise
from babelscope.systems.models.custom import CustomModel
from babelscope.util.errors import BabelscopeError, SystemFailure

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "own-model.md"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page's block leaves behind, and what it printed as `printed`."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    left: dict[str, Any] = {"__name__": "own_models"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block, str(PAGE), "exec"), left)
    return {**left, "printed": printed.getvalue()}


def test_the_page_s_block_runs_and_prints_accuracies(page):
    assert page["printed"] == "5 mine 40\n"
    assert any(row.estimate.n for row in page["result"].rows)
    assert len(page["samples"]) == 5
    assert {"translate", "score", "sample", "top_k", "next_tokens"} <= set(capabilities(page["system"]))


def test_its_scores_are_those_of_its_own_steps(page):
    system, best = page["system"], page["best"]
    memory = system.encode(["The judge reads the letter ."])
    node, fed, total = 0, system.vocabulary.prefix[0], 0.0
    for number, token in enumerate(system.tokens.ids_of(best)):
        logs = system.step(memory, [node], [fed])
        total += float(logs[0, token])
        node, fed = number + 1, token
    assert best.total == pytest.approx(total, abs=1e-3)


def opened(page: dict[str, Any], network: Any, *, digest: str = "", **changed: Any) -> CustomModel:
    known: dict[str, Any] = {"size": 1501, "prefix": (1500,), "eos": 0, "masked": (1500,)}
    vocabulary = Vocabulary(**{**known, "source_limit": None, "target_limit": 100, **changed})
    return CustomModel("mine", Stepwise(network, vocabulary), page["tokens"], digest=digest)


def changed_network(page: dict[str, Any], **functions: Any) -> Any:
    """The page's network with other methods, each given the network's own one."""
    network = page["Mean"](1501, 8).eval()
    for name, function in functions.items():
        own = getattr(network, name)
        setattr(network, name, lambda *given, own=own, function=function: function(own, *given))
    return network


def keeps_count(own: Any, encoded: Any, states: Any, tokens: Any, calls: list[int] = []) -> Any:  # noqa: B006
    calls.append(1)
    logits, after = own(encoded, states, tokens)
    return logits * len(calls), after


STEPS: dict[str, tuple[Any, str]] = {
    "no states": (lambda own, *given: own(*given)[0], "as states; encode gave a tuple of 1"),
    "too few columns": (
        lambda own, *given: (own(*given)[0][:, :9], own(*given)[1]),
        r"they must be \[3, 1501\]",
    ),
    "a grown state": (
        lambda own, *given: (own(*given)[0], (own(*given)[1][0].repeat(1, 2),)),
        "a state's dimensions never change",
    ),
    "probabilities": (
        lambda own, *given: (own(*given)[0].softmax(-1), own(*given)[1]),
        "returned probabilities",
    ),
    "batch norm": (
        lambda own, *given: (own(*given)[0] - own(*given)[0].mean(0), own(*given)[1]),
        "answers change with the batch",
    ),
    "first row": (
        lambda own, *given: (own(*given)[0] + own(*given)[0][:1].roll(1, 1), own(*given)[1]),
        "a row must depend on its own row only",
    ),
    "memory": (keeps_count, "keeps something of earlier calls"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_breaks_its_contract_is_refused(page, name):
    step, told = STEPS[name]
    with pytest.raises(BabelscopeError, match=told):
        opened(page, changed_network(page, step=step))


@pytest.mark.parametrize(
    ("encode", "told"),
    [
        (lambda own, source, real: own(source, torch.ones_like(real)), r"padding .* must change nothing"),
        (lambda own, *given: own(*given)[0], "must return two tuples of tensors"),
    ],
)
def test_an_encoder_that_breaks_its_contract_is_refused(page, encode, told):
    with pytest.raises(BabelscopeError, match=told):
        opened(page, changed_network(page, encode=encode))


def test_nan_is_refused_where_targets_are_scored(page):
    def breaks_late(own: Any, encoded: Any, states: Any, tokens: Any) -> Any:
        logits, after = own(encoded, states, tokens)
        return torch.where(
            (tokens == 0)[:, None] | (tokens > 20)[:, None] & (tokens < 1500)[:, None], math.nan, logits
        ), after

    system = opened(page, changed_network(page, step=breaks_late))
    with pytest.raises(SystemFailure, match="NaN"):
        system.score([("The judge sleeps .", "Der Richter schläft .")])


def test_a_network_in_training_mode_is_refused(page):
    with pytest.raises(BabelscopeError, match="training mode"):
        opened(page, page["Mean"](1501, 8))


def test_log_probabilities_are_as_good_as_logits(page):
    network = page["Mean"](1501, 8).eval()
    plain = opened(page, network).score([("The judge sleeps .", "Der Richter .")])[0].total
    own = network.step
    network.step = lambda *given: (own(*given)[0].log_softmax(-1), own(*given)[1])
    assert opened(page, network).score([("The judge sleeps .", "Der Richter .")])[0].total == pytest.approx(
        plain
    )


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"eos": 1501}, "its ids are 0 to 1500"),
        ({"eos": 5}, "ends sentences with the id 5, but its tokenizer with 0"),
        ({"masked": (0,)}, "masks its eos"),
        ({"size": 1600}, r"a tensor \[3, 1501\] as logits; they must be \[3, 1600\]"),
        ({"prefix": ()}, "prefix is empty"),
        ({"prefix": (-1,)}, "prefix has the id -1"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_refused(page, changed, told):
    with pytest.raises(BabelscopeError, match=told):
        opened(page, page["Mean"](1501, 8).eval(), **changed)


def test_the_fingerprint_follows_the_weights_and_the_vocabulary(page):
    network = page["Mean"](1501, 8).eval()
    system = opened(page, network)
    first = system.fingerprint.digest
    assert first == opened(page, network).fingerprint.digest
    assert first != opened(page, network, target_limit=50).fingerprint.digest
    assert first != opened(page, network, masked=(1500, 1)).fingerprint.digest
    with torch.no_grad():
        network.embedding.weight[3, 3] += 1e-3
    assert system.fingerprint.digest != first


def test_a_network_without_weights_needs_a_digest(page):
    class Uniform:
        def encode(self, *_: Any) -> Any:
            return (), ()

        def step(self, *given: Any) -> Any:
            return torch.zeros(len(given[2]), 1501), ()

    with pytest.raises(BabelscopeError, match=r"Uniform has no weights .* digest="):
        opened(page, Uniform())
    total = opened(page, Uniform(), digest="uniform").score([("x", "Richter")])[0]
    assert total.logprobs == pytest.approx([-math.log(1500)] * len(total.logprobs))
