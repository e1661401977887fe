"""What only Python can ask, as rows: distinct samples, a model of one's own, results as they print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SOURCES = ["He does not come .", "The judge reads the letter ."]


def distinct() -> Iterator[dict[str, Any]]:
    """Samples without replacement, in the order drawn."""
    import babelscope as bs
    from babelscope.decoding.sampling import estimated_mean

    for name in ("lab:student", "lab:llm"):
        drawn = bs.open_system(name).sample_distinct(SOURCES, n=6, seed=2, max_length=12)
        for number, (samples, threshold) in enumerate(drawn):
            totals = [sample.total for sample in samples]
            yield {
                "name": name,
                "id": number,
                "threshold": threshold,
                "samples": list(map(_told, samples)),
                "mean": estimated_mean([float(len(each.tokens)) for each in samples], totals, threshold),
            }


def _told(scored: Any) -> dict[str, Any]:
    return {"text": scored.text, "logprobs": list(scored.logprobs), "notes": list(scored.notes)}


def own_model() -> Iterator[dict[str, Any]]:
    """A GRU with `encode` and `step`: translations, samples, exact search, scores and a method."""
    import torch
    from torch import Tensor, nn

    import babelscope as bs
    from babelscope.core.system import Budget
    from babelscope.decoding.model import Vocabulary
    from babelscope.decoding.stepwise import Stepwise
    from babelscope.lab.plugin import MODELS
    from babelscope.systems.models.custom import CustomModel
    from babelscope.systems.models.tokenizers import Tokens

    class Mean(nn.Module):
        """Starts from the mean of its source's embeddings."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(1501, 16)
            self.cell = nn.GRUCell(16, 16)

        def encode(self, source: Tensor, real: Tensor) -> tuple[tuple[Tensor], tuple[Tensor]]:
            mean = (self.embedding(source) * real[..., None]).sum(1) / real.sum(1, keepdim=True)
            return (mean,), (mean,)

        def step(self, encoded: Any, states: Any, tokens: Tensor) -> tuple[Tensor, tuple[Tensor]]:
            state = self.cell(self.embedding(tokens) + encoded[0], states[0])
            return state @ self.embedding.weight.t(), (state,)

    torch.manual_seed(1)
    vocabulary = Vocabulary(
        size=1501, prefix=(1500,), eos=0, masked=(1500,), source_limit=None, target_limit=60
    )
    system = CustomModel("mine", Stepwise(Mean().eval(), vocabulary), Tokens(MODELS / "tokenizer"))
    asked = [(source, "Er kommt nicht .") for source in SOURCES]
    for number, source in enumerate(SOURCES):
        yield {
            "id": number,
            "translation": _told(system.translate([source], beam=3)[0][0]),
            "samples": list(map(_told, system.sample([source], n=2, seed=1)[0])),
            "score": _told(system.score(asked)[number]),
            "top": list(map(_told, system.top_k([source], k=2, budget=Budget(expansions=50))[0].found)),
        }
    for row in bs.contrast(system, bs.load("lab:pairs?n=1"), spread=2).rows:
        yield row.as_json()
