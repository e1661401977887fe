"""Beam search over any open model, many sources at once.

The search is that of transformers' `generate` with early_stopping=False: hypotheses are compared by log-probability
divided by length, EOS included, to the power of the length penalty (0: the log-probability itself), and a source is
done when its best running prefix, so divided, is no better than the worst of `beam` finished ones. A source that is
done leaves the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from babelscope.decoding.model import Memory, OpenModel, logits_in_pieces, refuse_nan

Array = np.ndarray[Any, Any]

# Prefixes fed at once: enough to fill a processor's vector units, few enough to stay in its cache.
_ROWS = 640


@dataclass(slots=True)
class _Finished:
    """The best finished hypotheses of one source, best first: (score a token, ids)."""

    beam: int
    found: list[tuple[float, list[int]]] = field(default_factory=list)

    def add(self, score: float, ids: list[int]) -> None:
        self.found.append((score, ids))
        self.found.sort(key=lambda item: -item[0])
        del self.found[self.beam :]

    @property
    def worst(self) -> float:
        """What a running prefix must beat; anything will do until the beam is full."""
        return self.found[-1][0] if len(self.found) == self.beam else -np.inf


@torch.inference_mode()
def beam_search(
    model: OpenModel,
    sources: Sequence[Sequence[int]],
    *,
    beam: int = 5,
    n_best: int = 1,
    max_length: int = 0,
    length_penalty: float = 1.0,
    exactly: int = 0,
) -> list[list[list[int]]]:
    """For each source ids its `n_best` target ids, best first; without prefix, with EOS if reached.

    A hypothesis that has no EOS after `max_length` tokens (0: the model's limit, else 512) is ended there. With
    `exactly`, all have that many tokens, the last of them EOS.
    """
    limit = exactly or max_length or model.vocabulary.target_limit or 512
    answers: list[list[list[int]]] = [[] for _ in sources]
    for batch in _batches(sources, beam):
        found = _search(model, [sources[i] for i in batch], beam, limit, length_penalty, bool(exactly))
        for i, finished in zip(batch, found, strict=True):
            answers[i] = [ids for _, ids in finished.found[:n_best]]
    return answers


def _batches(sources: Sequence[Sequence[int]], beam: int) -> Iterator[list[int]]:
    """Numbers of sources, those of like length together, so that few wait for the longest."""
    order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), i))
    size = max(1, _ROWS // beam)
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _search(
    model: OpenModel, sources: list[Sequence[int]], beam: int, limit: int, penalty: float, at_limit: bool
) -> list[_Finished]:
    """The finished hypotheses of each source, at most `beam`; with `at_limit`, EOS comes there and nowhere else."""
    memory = model.encode(sources)
    vocabulary = model.vocabulary
    finished = [_Finished(beam) for _ in sources]
    active = np.arange(len(sources))  # the sources still searched
    nodes = active[:, None]  # [active, width]: the memory's node of each running prefix
    tokens = np.full((len(sources), 1), vocabulary.prefix[0])  # [active, width]: what is fed next
    history = np.zeros((len(sources), 1, 0), dtype=np.int64)  # [active, width, length]
    scores = np.zeros((len(sources), 1), dtype=np.float32)  # [active, width]: total log-probability
    for token in vocabulary.prefix[1:]:
        nodes = memory.add(nodes.ravel())[:, None]
        for _ in logits_in_pieces(model, memory, nodes.ravel(), tokens.ravel()):
            pass
        tokens = np.full_like(tokens, token)
    for length in range(1, limit + 1):
        nodes = memory.add(nodes.ravel()).reshape(tokens.shape)
        ending = None if not at_limit else length == limit
        top, parents, chosen = _continuations(model, memory, nodes, tokens, scores, 2 * beam, ending)
        sequences = np.concatenate(
            [np.take_along_axis(history, parents[:, :, None], axis=1), chosen[:, :, None]], axis=2
        )
        # Only the `beam` best may finish; the others are there to keep the beam full.
        ended = (chosen[:, :beam] == vocabulary.eos) | (length == limit)
        for row, column in zip(*np.nonzero(ended & np.isfinite(top[:, :beam])), strict=True):
            finished[active[row]].add(
                float(top[row, column]) / length**penalty, sequences[row, column].tolist()
            )
        top = np.where(chosen == vocabulary.eos, -np.inf, top)
        running = np.argsort(-top, axis=1, kind="stable")[:, :beam]
        best = top[np.arange(len(active)), running[:, 0]] / length**penalty
        going = np.array([best[row] > finished[i].worst for row, i in enumerate(active)], dtype=bool)
        if length == limit or not going.any():
            break
        active, running = active[going], running[going]
        nodes = np.take_along_axis(nodes[going], np.take_along_axis(parents[going], running, 1), 1)
        tokens = np.take_along_axis(chosen[going], running, 1)
        history = np.take_along_axis(sequences[going], running[:, :, None], 1)
        scores = np.take_along_axis(top[going], running, 1)
    return finished


def _continuations(
    model: OpenModel,
    memory: Memory,
    nodes: Array,
    tokens: Array,
    scores: Array,
    count: int,
    ending: bool | None,
) -> tuple[Array, Array, Array]:
    """The `count` best next tokens of each source after `nodes` [sources, width]: scores, parents, tokens.

    `ending`: EOS alone may come (True), or anything else (False).
    """
    vocabulary = model.vocabulary
    each = min(count, vocabulary.size)
    best = np.empty((nodes.size, each), dtype=np.float32)
    chosen = np.empty((nodes.size, each), dtype=np.int64)
    for piece, logits in logits_in_pieces(model, memory, nodes.ravel(), tokens.ravel()):
        logs = torch.log_softmax(logits.float(), dim=-1)
        refuse_nan(logs[:, vocabulary.eos].cpu().numpy())  # softmax spreads a NaN over its row
        if ending is not None:
            is_end = torch.arange(vocabulary.size, device=logs.device) == vocabulary.eos
            logs = logs.masked_fill(~is_end if ending else is_end, -np.inf)
        found = logs.topk(each, dim=1)
        best[piece], chosen[piece] = found.values.cpu().numpy(), found.indices.cpu().numpy()
    totals = (best.reshape(*nodes.shape, each) + scores[:, :, None]).reshape(len(nodes), -1)
    order = np.argsort(-totals, axis=1, kind="stable")[:, :count]
    return (
        np.take_along_axis(totals, order, 1),
        order // each,
        np.take_along_axis(chosen.reshape(len(nodes), -1), order, 1),
    )
