"""Tokens with a line break: those that end a line, and those that have the end of its text with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from babelscope.systems.checkpoints import check_ids
from babelscope.systems.tokenizers import library_errors
from babelscope.util.errors import BabelscopeError

_BEFORE = "a"
"""Stands before a token that is read: some tokenizers drop the space of a text's first token."""


@dataclass(frozen=True, slots=True)
class LineEnds:
    """How a line may end in a vocabulary."""

    end: int
    """The token that stands for all of those with nothing but white space before their line break."""
    others: Sequence[int] = ()
    """The others of those."""
    closing: Sequence[Sequence[int]] = ()
    """Tokens with text before their line break (a full stop, say), those with the same text together."""
    first: Mapping[int, int] = field(default_factory=dict)
    """For each token of `closing`, the first of its group."""


def find_line_ends(tokenizer: Any, size: int, name: str) -> LineEnds:
    """The tokens below `size` that have a line break; errors begin with `name`."""
    with library_errors(f"{name}: its tokenizer fails"):
        usual = tokenizer(f"{_BEFORE}\n", add_special_tokens=False)["input_ids"]
        texts = _texts(tokenizer, min(size, len(tokenizer)))
    check_ids([usual], size, name)
    ends = []
    closing: dict[tuple[str, int], list[int]] = {}
    for token, text in enumerate(texts):
        before, line_break, _ = text.partition("\n")
        if line_break and not before.strip():
            ends.append(token)
        elif line_break:
            # Bytes that are no character look alike as text, whatever they are.
            apart = token if "\N{REPLACEMENT CHARACTER}" in before else -1
            closing.setdefault((before.rstrip(), apart), []).append(token)
    if not ends:
        raise BabelscopeError(
            f"{name}: its tokenizer has no token for a line break, so that a line break ends nothing; say end=eos"
        )
    end = int(usual[-1]) if usual and usual[-1] in ends else ends[0]
    groups = list(closing.values())
    return LineEnds(
        end,
        [each for each in ends if each != end],
        groups,
        {token: group[0] for group in groups for token in group},
    )


def _texts(tokenizer: Any, size: int) -> list[str]:
    """What each token adds to a text."""
    first = list(tokenizer(_BEFORE, add_special_tokens=False)["input_ids"])
    rows = [[*first, token] for token in range(size)]
    if tokenizer.is_fast:
        found = tokenizer.backend_tokenizer.decode_batch(rows, skip_special_tokens=False)
    else:
        found = [tokenizer.decode(row, clean_up_tokenization_spaces=False) for row in rows]
    return [text.removeprefix(_BEFORE) for text in found]
