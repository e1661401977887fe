"""A language model fed token by token against its own forward pass over whole texts."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from babelscope.decoding.causal import Causal
from babelscope.decoding.model import Vocabulary, score_targets
from babelscope.util.errors import BabelscopeError
from tests.support.models import build_causal

PROMPTS = [(5, 9, 200, 7), (11,), (30, 31, 32, 33, 34, 35, 36)]
END = 0


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Causal:
    import transformers

    folder = build_causal(tmp_path_factory.mktemp("causal"), kind=request.param)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    size = network.get_input_embeddings().weight.shape[0]
    return Causal(network, Vocabulary(size, (0,), END, (), None, 2))


def plain(network: Any, ids: list[int]) -> torch.Tensor:
    """Log-probabilities of the next token [vocabulary] after a text, without batch, padding or cache."""
    with torch.inference_mode():
        logits = network(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
    found: torch.Tensor = logits.float().log_softmax(0)
    return found


def test_prefixes_of_several_prompts_are_what_the_network_says(model: Causal) -> None:
    """Rows of different depths and prompts in one step, shared beginnings, prompts of unequal length."""
    memory = model.encode(PROMPTS)
    first = memory.size
    after = model.step(memory, [0, 1, 2], [0, 0, 0])
    for row, prompt in enumerate(PROMPTS):
        assert torch.allclose(after[row], plain(model.network, [*prompt]), atol=1e-4)
    roots = list(range(first, first + 3))
    model.step(memory, [roots[2]], [77])
    node = memory.size - 1
    mixed = model.step(memory, [roots[0], node, roots[0], roots[1]], [44, 12, 45, 46])
    fed = [[*PROMPTS[0], 44], [*PROMPTS[2], 77, 12], [*PROMPTS[0], 45], [*PROMPTS[1], 46]]
    for row, ids in enumerate(fed):
        assert torch.allclose(mixed[row], plain(model.network, ids), atol=1e-4)


def test_teacher_forcing_is_what_the_network_says(model: Causal) -> None:
    targets = [[4, 5, END], [4, 6, END], [END]]
    answers = dict(score_targets(model, PROMPTS[:2], [targets, targets[:1]], budget=1024))
    for source, group in ((0, targets), (1, targets[:1])):
        for target, row in zip(group, answers[source], strict=True):
            expected = [
                plain(model.network, [*PROMPTS[source], *target[:place]])[token].item()
                for place, token in enumerate(target)
            ]
            assert row == pytest.approx(expected, abs=1e-4)


def test_a_network_without_keys_of_its_prompt_is_refused() -> None:
    class Recurrent:
        device, dtype = torch.device("cpu"), torch.float32

        def __call__(self, **_options: Any) -> Any:
            class Output:
                past_key_values = object()

            return Output()

    with pytest.raises(BabelscopeError, match="it can be scored"):
        Causal(Recurrent(), Vocabulary(5, (0,), END, (), None, 2)).encode([(1, 2)])
