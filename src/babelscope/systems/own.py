"""A model of one's own as a system: any open model, with a tokenizer around it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from babelscope.core.answers import Fingerprint
from babelscope.decoding.model import OpenModel
from babelscope.systems.huggingface import HuggingFace
from babelscope.systems.tokenizers import Tokens
from babelscope.util.sealed_files import SealedFiles

_BUDGET = 1024  # decoder tokens in one batch


class OwnSystem(HuggingFace):
    """Translates, samples, searches, scores and gives next-token distributions, all from the model's `step`."""

    def __init__(  # not HuggingFace's, which loads a checkpoint
        self,
        name: str,
        model: OpenModel,
        tokens: Tokens,
        *,
        digest: str,
        source_size: int = 0,
        files: SealedFiles | None = None,
        length_penalty: float = 1.0,
        truncate: bool = False,
        settings: dict[str, Any] | None = None,
    ) -> None:
        """`digest` says which weights these are: two models with one digest are taken for the same.

        `source_size` is the number of source ids, where it is not that of the target ids. `files`, if given, must
        not change while the system is used.
        """
        self.name = name
        self.model = model
        self.tokens = tokens
        self.vocabulary = model.vocabulary
        self.device = model.device
        self.prefix = ""
        self.truncate = truncate
        self.length_penalty = length_penalty
        self.generation = SimpleNamespace(length_penalty=length_penalty)
        self._digest = digest
        self._sealed = files
        self._source_size = source_size or model.vocabulary.size
        self._target_size = model.vocabulary.size
        self._budget = _BUDGET
        self._settings = {"truncate": truncate, "length_penalty": length_penalty, **(settings or {})}

    def check_files(self) -> None:
        if self._sealed is not None:
            self._sealed.check()
        self.tokens.files.check()

    @property
    def fingerprint(self) -> Fingerprint:
        self.check_files()
        return Fingerprint(
            backend=f"own {type(self.model).__name__}",
            model=self._digest,
            tokenizer=self.tokens.digest,
            dtype=str(self.model.dtype).removeprefix("torch."),
            settings=self._settings,
        )
