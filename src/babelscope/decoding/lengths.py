"""Lengths in exact search: the greatest one admitted, and a first bound for length-normalised scores."""

from __future__ import annotations

import math
from collections.abc import Sequence

from babelscope.core.answers import LengthRule
from babelscope.decoding.beam import beam_search
from babelscope.decoding.model import OpenModel, score_targets
from babelscope.util.errors import BabelscopeError

# Narrowest and widest beam of the first bound.
_NARROWEST, _WIDEST = 16, 64


def greatest_length(model: OpenModel, lengths: LengthRule) -> int | None:
    """The most tokens of a hypothesis, EOS included; None for no limit."""
    own = model.vocabulary.target_limit
    if own is not None and lengths.exactly > own:
        raise BabelscopeError(
            f"there is no hypothesis of {lengths.exactly} tokens: the model's own limit is {own}, "
            "its end of sentence included"
        )
    limit = lengths.exactly or min(filter(None, (own, lengths.at_most)), default=None)
    if limit is None and lengths.penalty:
        raise BabelscopeError(
            "a model without a length limit cannot be searched by length-normalised scores, since a prefix that "
            "goes on for ever may end above every bound; say a greatest length (--max-length)"
        )
    return limit


def beam_ranks(
    model: OpenModel, sources: Sequence[Sequence[int]], k: int, lengths: LengthRule
) -> list[list[tuple[float, list[int]]]]:
    """For each source, ranks and ids of up to `k` hypotheses that beam search finds under the same rule."""
    ranked: list[list[tuple[float, list[int]]]] = [[] for _ in sources]
    beam = min(max(_NARROWEST, k), _WIDEST)
    found = beam_search(
        model,
        sources,
        beam=beam,
        n_best=min(beam, k),
        max_length=greatest_length(model, lengths) or 0,
        length_penalty=lengths.penalty,
        exactly=lengths.exactly,
    )
    ended = [[ids for ids in group if ids[-1] == model.vocabulary.eos] for group in found]
    some = [number for number, group in enumerate(ended) if group]
    scored = score_targets(model, [sources[i] for i in some], [ended[i] for i in some], budget=1024)
    for place, rows in scored:
        ranks = [lengths.rank(math.fsum(row), len(row)) for row in rows]
        ranked[some[place]] = list(zip(ranks, ended[some[place]], strict=True))
    return ranked
