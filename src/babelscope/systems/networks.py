"""Networks of causal language models in memory, each once for all systems that ask it."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from babelscope.decoding.families.description import Weights, weights_of
from babelscope.systems.checkpoints import load_model
from babelscope.systems.model_folders import ModelFolder
from babelscope.systems.weights import one_line
from babelscope.util.errors import BabelscopeError, SystemFailure


class LoadedNetwork:
    """A network in memory, shared by all systems that ask it, such as one model under several prompts."""

    def __init__(self, folder: Path, *, device: str, dtype: str, remote_code: bool) -> None:
        model = ModelFolder(folder, remote_code=remote_code)
        self.files = model.files
        self.network = load_model(
            "AutoModelForCausalLM", model, device=device, dtype=dtype, remote_code=remote_code
        )

    @functools.cached_property
    def weights(self) -> Weights:
        """As the lean forward pass reads them: joined matrices are copies."""
        return weights_of(self.network)

    @torch.inference_mode()
    def generate(
        self,
        prompt: Sequence[int],
        name: str,
        ends: Sequence[int],
        *,
        beam: int,
        n_best: int,
        longest: int,
        how: Mapping[str, float],
    ) -> list[list[int]]:
        """What transformers' own beam search puts after a prompt, and what it fills rows with after their ends."""
        ids = torch.tensor([list(prompt)], device=self.network.device)
        try:
            output = self.network.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                num_beams=beam,
                num_return_sequences=n_best,
                do_sample=False,
                max_new_tokens=longest,
                eos_token_id=list(ends),
                pad_token_id=ends[0],
                **how,
            )
        except (ValueError, TypeError, AttributeError) as error:  # as it refuses its generation settings
            raise BabelscopeError(f"{name} cannot generate as it is configured: {one_line(error)}") from error
        rows: list[list[int]] = output[:, len(prompt) :].tolist()
        return rows


_IN_MEMORY: weakref.WeakValueDictionary[tuple[Path, str, str, bool], LoadedNetwork] = (
    weakref.WeakValueDictionary()
)


def load_network(folder: Path, *, device: str, dtype: str, remote_code: bool) -> LoadedNetwork:
    """The network of a folder: the one that another system holds, if its files are unchanged."""
    key = (folder.resolve(), device, dtype, remote_code)
    if (held := _IN_MEMORY.get(key)) is not None:
        with contextlib.suppress(SystemFailure):
            held.files.check()
            return held
    loaded = _IN_MEMORY[key] = LoadedNetwork(folder, device=device, dtype=dtype, remote_code=remote_code)
    return loaded
