"""A model of one's own as a system: any open model, with a tokenizer around it."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import torch

from babelscope.core.system import Fingerprint
from babelscope.decoding.model import OpenModel
from babelscope.decoding.stepwise import Stepwise, check_rows
from babelscope.systems.models.hf import HuggingFace
from babelscope.systems.models.tokenizers import Tokens
from babelscope.util.digests import SealedFiles
from babelscope.util.errors import BabelscopeError

_BUDGET = 1024  # decoder tokens in one batch


class CustomModel(HuggingFace):
    """Translates, samples, searches, scores and gives next-token distributions, all from the model's `step`."""

    def __init__(  # not HuggingFace's, which loads a checkpoint
        self,
        name: str,
        model: OpenModel,
        tokens: Tokens,
        *,
        digest: str = "",
        source_size: int = 0,
        source_length: int = 0,
        files: SealedFiles | None = None,
        length_penalty: float = 1.0,
        truncate: bool = False,
        settings: dict[str, Any] | None = None,
    ) -> None:
        """`digest` says which weights these are: two models with one digest are taken for the same.

        Without one, it is that of the network's weights, taken anew each time that the fingerprint is asked for.
        `source_size` is the number of source ids, where it is not that of the target ids; `source_length` is how
        many tokens every source has, where all have the same. `files`, if given, must not change while the system
        is used.
        """
        self.name = name
        self.model = model
        self.tokens = tokens
        self.vocabulary = model.vocabulary
        self.prefix = ""
        self.truncate = truncate
        self.length_penalty = length_penalty
        self._digest = digest
        self._sealed = files
        self._source_size = source_size or model.vocabulary.size
        self._budget = _BUDGET
        self._settings = {"truncate": truncate, "length_penalty": length_penalty, **(settings or {})}
        self._check()
        if isinstance(model, Stepwise):
            check_rows(model, self._source_size, (source_length,) * 3 if source_length else (7, 2, 4))

    def _check(self) -> None:
        """Refuse what would give wrong scores without an error."""
        eos = self.vocabulary.eos
        (row,) = self.tokens.encode_targets(["a"], eos=eos)
        if row[-1] != eos:
            raise BabelscopeError(
                f"{self.name}: its vocabulary ends sentences with the id {eos}, but its tokenizer with {row[-1]}"
            )
        if not self._digest:
            digest_weights(self.model)

    def check_files(self) -> None:
        if self._sealed is not None:
            self._sealed.check()
        self.tokens.files.check()

    @property
    def fingerprint(self) -> Fingerprint:
        self.check_files()
        known = dataclasses.asdict(self.vocabulary)
        vocabulary = {name: list(each) if isinstance(each, tuple) else each for name, each in known.items()}
        return Fingerprint(
            backend=f"own {type(self.model).__name__}",
            model=self._digest or digest_weights(self.model),
            tokenizer=self.tokens.digest,
            dtype=str(self.model.dtype).removeprefix("torch."),
            settings={**self._settings, "vocabulary": vocabulary},
        )


def digest_weights(model: OpenModel) -> str:
    """SHA-256 over the names, shapes, types and numbers of a network's weights and buffers."""
    network = getattr(model, "network", model)
    if not isinstance(network, torch.nn.Module) or not (weights := network.state_dict()):
        raise BabelscopeError(
            f"{type(network).__name__} has no weights that tell it apart; identify the model with digest="
        )
    whole = hashlib.sha256(type(network).__qualname__.encode())
    for name, tensor in sorted(weights.items()):
        whole.update(f"\0{name}\0{tensor.dtype}\0{list(tensor.shape)}\0".encode())
        whole.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()
