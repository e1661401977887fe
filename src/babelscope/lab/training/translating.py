"""Translates text for training with a trained model: by beam search, or by sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from babelscope.lab.training.tokenizer import find_special_token
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import text_fault

Unusable = Literal["", "source too long", "unfinished", "empty", "special token", "not one line of text"]
"""Why a translation cannot be trained on; "" if it can."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How translations are found: by a beam of this size, or drawn from the model with this seed."""

    beam: int = 5
    sampling_seed: int | None = None
    """None for beam search."""

    def as_json(self) -> dict[str, Any]:
        if self.sampling_seed is None:
            return {"beam": self.beam}
        return {"sampling_seed": self.sampling_seed}


def open_teacher(folder: Path, *, device: str = "auto") -> Any:
    """Open a model that translates for others: any folder that `hf:` or `lab:` opens without options."""
    from babelscope.lab.training.opening import open_trained

    if not folder.is_dir():
        raise BabelscopeError(
            f"{folder}: no such folder; a teacher is the folder of a trained model, "
            "without hf: or lab: before it"
        )
    opened = open_trained(str(folder), folder, device=device)
    if not hasattr(getattr(opened, "tokens", None), "encode_sources"):
        raise BabelscopeError(
            f"{folder}: translations to train on need a model with an encoder and a decoder"
        )
    return opened


def translate_ids(teacher: Any, ids: Sequence[list[int]], how: Decoding) -> list[str | None]:
    """A translation of each source's ids, None where it did not end."""
    # A translation three times as long as its source does not end.
    longest = 3 * max(map(len, ids)) + 20
    longest = min(longest, teacher.vocabulary.target_limit or longest)
    if how.sampling_seed is None:
        from babelscope.decoding.beam import beam_search

        found = beam_search(
            teacher.model, ids, beam=how.beam, max_length=longest, length_penalty=teacher.length_penalty
        )
        rows = [best[0] for best in found]
    else:
        from babelscope.decoding.sampling import draw_samples

        drawn = draw_samples(teacher.model, ids, n=1, seed=how.sampling_seed, limit=longest)
        rows = [samples[0].ids for samples in drawn]
    ended = [row[-1] == teacher.vocabulary.eos for row in rows]
    return [text if end else None for text, end in zip(teacher.tokens.decode(rows), ended, strict=True)]


def why_unusable(translation: str | None) -> Unusable:
    """Why a translation cannot be trained on, "" if it can."""
    if translation is None:
        return "unfinished"
    if not translation.strip():
        return "empty"
    if find_special_token(translation):
        return "special token"
    return "not one line of text" if text_fault(translation) else ""
