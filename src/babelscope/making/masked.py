"""A masked language model from transformers: the words it expects at a gap in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from babelscope.systems.checkpoints import fetch, load_model, position_limit
from babelscope.systems.model_folders import ModelFolder, TokenizerFolder
from babelscope.systems.tokenizers import load_tokenizer
from babelscope.util.errors import BabelscopeError
from babelscope.util.journal import file_stamp

Array = np.ndarray[Any, Any]

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BATCH = 32
_CERTAIN = -50.0


class MaskedModel:
    """A masked language model that is asked for the words it expects at a gap."""

    def __init__(self, name: str, *, revision: str = "", device: str = "auto") -> None:
        """Open a local folder, or a model of the hub such as roberta-large."""
        folder = fetch(name, revision=revision)
        self.name = name
        self._folder = folder
        model = ModelFolder(folder)
        self._tokenizer = load_tokenizer(TokenizerFolder(folder))
        self._network = load_model(
            "AutoModelForMaskedLM", model, device=device, dtype="float32", remote_code=False
        )
        self._files = model.files
        if self._tokenizer.mask_token is None:
            raise BabelscopeError(f"{name} is no masked language model: its tokenizer has no mask token")
        limits = (self._tokenizer.model_max_length, position_limit(self._network.config, folder))
        self._longest = min(limit for limit in limits if limit is not None)

    def files(self) -> list[tuple[str, int, int]]:
        """Stamps of the model's files, to see later whether it is the same model."""
        return [file_stamp(path) for path in sorted(self._folder.iterdir()) if path.is_file()]

    def with_gap(self, before: str, after: str) -> str:
        """A sentence with a gap between two of its words."""
        return f"{before}{self._tokenizer.mask_token} {after}"

    def fits(self, sentence: str) -> bool:
        """Whether a sentence has a gap and is not too long for the model."""
        ids = self._tokenizer(sentence, verbose=False)["input_ids"]
        return self._tokenizer.mask_token_id in ids and len(ids) <= self._longest

    def log_prob_absent(self, sentences: Sequence[str]) -> Array:
        """Log-probability of each token to be in none of the gaps, filled independently [vocabulary], in nats."""
        total: Any = 0.0
        for start in range(0, len(sentences), _BATCH):
            some = sentences[start : start + _BATCH]
            filled = self._logits(some, see_padding=False).double().softmax(-1)
            # A certain token would give -inf, and differences of -inf are NaN.
            total = total + (-filled).log1p().clamp(min=_CERTAIN).sum(0)
        return np.asarray(total.cpu())

    def released_probabilities(self, sentences: Sequence[str]) -> Array:
        """Probabilities of the released code: softmax of logits summed over one unmasked batch [vocabulary]."""
        return np.asarray(self._logits(sentences, see_padding=True).sum(0).double().softmax(-1).cpu())

    def _logits(self, sentences: Sequence[str], *, see_padding: bool) -> Any:
        """Logits at the first gap of each sentence [sentences, vocabulary]."""
        import torch

        rows = self._tokenizer(list(sentences), padding=True, return_tensors="pt").to(self._network.device)
        if see_padding:
            rows["attention_mask"] = torch.ones_like(rows["attention_mask"])
        gaps = (rows["input_ids"] == self._tokenizer.mask_token_id).int().argmax(-1)
        with torch.inference_mode():
            logits = self._network(**rows).logits[torch.arange(len(gaps)), gaps]
        self._files.check()
        return logits

    def tokens(self, scores: Array, *, whole_words: bool) -> Iterator[str]:
        """Yield the texts of tokens with a score above 0, best first; with `whole_words`, only words."""
        for number in np.argsort(-scores, kind="stable"):
            if scores[number] <= 0:
                return
            text = self._tokenizer.decode([int(number)]).strip()
            # A word-internal piece may look like a word, but the word is tokenised otherwise.
            if not whole_words or (_WORD.fullmatch(text) and self._ids(f" {text}") == [number]):
                yield text

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids
