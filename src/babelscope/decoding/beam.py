"""Beam search over any open model, many sources at once.

The search is that of transformers' `generate` with early_stopping=False: hypotheses are compared by log-probability
divided by length, EOS included, to the power of the length penalty (0: the log-probability itself), and a source is
done when its best running prefix, so divided, is no better than the worst of `beam` finished ones. A source that is
done leaves the batch.

Groups of a diverse beam search (Vijayakumar et al. 2018, algorithm 1, Hamming diversity) are searched like sources of
their own, except that a group pays for tokens that earlier groups have just chosen. What is found is ranked without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from babelscope.core.system import Diversity
from babelscope.decoding.model import Memory, OpenModel, logits_in_pieces, refuse_nan
from babelscope.util.errors import BabelscopeError

Array = np.ndarray[Any, Any]

# Prefixes fed at once: enough to fill a processor's vector units, few enough to stay in its cache.
_ROWS = 640


@dataclass(slots=True)
class _Finished:
    """The best finished hypotheses of one group, best first: (rank per token, log-probability per token, ids)."""

    width: int
    found: list[tuple[float, float, list[int]]] = field(default_factory=list)

    def add(self, rank: float, score: float, ids: list[int]) -> None:
        self.found.append((rank, score, ids))
        self.found.sort(key=lambda item: -item[0])
        del self.found[self.width :]

    @property
    def worst(self) -> float:
        """What a running prefix must beat; anything will do until the group is full."""
        return self.found[-1][0] if len(self.found) == self.width else -np.inf


@dataclass(frozen=True, slots=True)
class _Step:
    """The best continuations of each group, best first [groups, 2 * width]."""

    scores: Array
    """Log-probabilities."""
    paid: Array
    """For repeating tokens of earlier groups."""
    parents: Array
    tokens: Array
    running: Array
    """[groups, width]: which of them are continued."""

    @property
    def ranks(self) -> Array:
        """What they are ranked by."""
        ranks: Array = self.scores - self.paid
        return ranks


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
    diversity: Diversity | None = None,
) -> list[list[list[int]]]:
    """For each source ids its `n_best` target ids, best first; without prefix, with EOS if reached.

    A hypothesis that has no EOS after `max_length` tokens (0: the model's limit, else 512) is ended there. With
    `exactly`, all have that many tokens, the last of them EOS.
    """
    diversity = diversity or Diversity()
    if beam % diversity.groups:
        raise BabelscopeError(f"a beam of {beam} cannot be split into {diversity.groups} equal groups")
    limit = exactly or max_length or model.vocabulary.target_limit or 512
    answers: list[list[list[int]]] = [[] for _ in sources]
    for batch in _batches(sources, beam):
        some = [sources[i] for i in batch]
        found = _search(model, some, beam, limit, length_penalty, bool(exactly), diversity)
        for i, own in zip(batch, found, strict=True):
            answers[i] = own[:n_best]
    return answers


def _batches(sources: Sequence[Sequence[int]], beam: int) -> Iterator[list[int]]:
    """Numbers of sources, those of like length together, so that few wait for the longest."""
    order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), i))
    size = max(1, _ROWS // beam)
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _search(
    model: OpenModel,
    sources: list[Sequence[int]],
    beam: int,
    limit: int,
    penalty: float,
    at_limit: bool,
    diversity: Diversity,
) -> list[list[list[int]]]:
    """The finished hypotheses of each source, best first; with `at_limit`, EOS comes there and nowhere else."""
    memory = model.encode(sources)
    vocabulary = model.vocabulary
    groups = diversity.groups
    finished = [_Finished(beam // groups) for _ in range(len(sources) * groups)]
    active = np.arange(len(finished))  # the groups still searched; those of a source follow each other
    nodes = active[:, None] // groups  # [active, width]: the memory's node of each running prefix
    tokens = np.full((len(active), 1), vocabulary.prefix[0])  # [active, width]: what is fed next
    history = np.zeros((len(active), 1, 0), dtype=np.int64)  # [active, width, length]
    scores = np.zeros((len(active), 1), dtype=np.float32)  # [active, width]: total log-probability
    paid = np.zeros_like(scores)  # [active, width]: for tokens of earlier groups
    for token in vocabulary.prefix[1:]:
        nodes = memory.add(nodes.ravel())[:, None]
        for _ in logits_in_pieces(model, memory, nodes.ravel(), tokens.ravel()):
            pass
        tokens = np.full_like(tokens, token)
    for length in range(1, limit + 1):
        nodes = memory.add(nodes.ravel()).reshape(tokens.shape)
        ending = None if not at_limit else length == limit
        # Earlier groups have `beam - width` tokens at most, so that `2 * width` others are among these.
        best, chosen = _continuations(model, memory, nodes, tokens, beam + beam // groups, ending)
        step = _choose(best + scores[:, :, None], chosen, paid, active, beam, diversity, vocabulary.eos)
        sequences = np.concatenate([_take(history, step.parents), step.tokens[:, :, None]], axis=2)
        # Only the `width` best may finish; the others are there to keep the group full.
        ended = (step.tokens == vocabulary.eos) | (length == limit)
        ended[:, beam // groups :] = False
        for row, column in zip(*np.nonzero(ended & np.isfinite(step.ranks)), strict=True):
            rank, score = float(step.ranks[row, column]), float(step.scores[row, column])
            ids = sequences[row, column].tolist()
            finished[active[row]].add(rank / length**penalty, score / length**penalty, ids)
        running = step.running
        top = np.where(step.tokens == vocabulary.eos, -np.inf, step.ranks)
        highest = _take(top, running)[:, 0] / length**penalty
        going = np.array([highest[row] > finished[i].worst for row, i in enumerate(active)], dtype=bool)
        if length == limit or not going.any():
            break
        active, running = active[going], running[going]
        nodes = _take(nodes[going], _take(step.parents[going], running))
        tokens, history = _take(step.tokens[going], running), _take(sequences[going], running)
        paid = _take(step.paid[going], running)
        # What has ended stays impossible where there is nothing else to continue.
        scores = np.where(_take(top[going], running) > -np.inf, _take(step.scores[going], running), -np.inf)
    return [_merged(finished[i : i + groups]) for i in range(0, len(finished), groups)]


def _take(values: Array, places: Array) -> Array:
    """Of each row of `values` the columns `places` [rows, columns]."""
    return np.take_along_axis(values, places[:, :, None] if values.ndim == 3 else places, 1)


def _merged(groups: Sequence[_Finished]) -> list[list[int]]:
    """The different hypotheses of a source's groups, by log-probability alone, best first."""
    found = sorted((each for group in groups for each in group.found), key=lambda item: -item[1])
    return [list(ids) for ids in dict.fromkeys(tuple(ids) for _, _, ids in found)]


def _choose(
    scores: Array, tokens: Array, paid: Array, active: Array, beam: int, diversity: Diversity, eos: int
) -> _Step:
    """Choose among continuations [active, width, each] of groups, those of a source one after the other.

    Each group pays for a token as often as running prefixes of earlier groups have chosen it.
    """
    groups, width = diversity.groups, beam // diversity.groups
    kept = min(2 * width, scores[0].size)
    costs = np.empty((len(active), kept), dtype=np.float32)
    places = np.empty((len(active), kept), dtype=np.int64)
    running = np.empty((len(active), min(width, kept)), dtype=np.int64)
    taken = np.full((int(active[-1]) // groups + 1, beam), -1)  # [sources, beam]: what earlier groups chose
    flat = tokens.reshape(len(active), -1)
    for group in range(groups):
        rows = np.flatnonzero(active % groups == group)
        owners = active[rows] // groups
        repeated = (tokens[rows][..., None] == taken[owners, None, None, : group * width]).sum(-1)
        price = paid[rows, :, None] + np.float32(diversity.strength) * repeated.astype(np.float32)
        ranks = (scores[rows] - price).reshape(len(rows), scores[0].size)
        places[rows] = np.argsort(-ranks, axis=1, kind="stable")[:, :kept]
        costs[rows] = _take(price.reshape(ranks.shape), places[rows])
        chosen = _take(flat[rows], places[rows])
        open_ranks = np.where(chosen == eos, -np.inf, _take(ranks, places[rows]))
        running[rows] = np.argsort(-open_ranks, axis=1, kind="stable")[:, :width]
        going_on = np.where(_take(open_ranks, running[rows]) > -np.inf, _take(chosen, running[rows]), -1)
        taken[owners, group * width : group * width + running.shape[1]] = going_on
    parents = places // scores.shape[2]
    return _Step(_take(scores.reshape(flat.shape), places), costs, parents, _take(flat, places), running)


def _continuations(
    model: OpenModel, memory: Memory, nodes: Array, tokens: Array, count: int, ending: bool | None
) -> tuple[Array, Array]:
    """The `count` best next tokens after each of `nodes` [groups, width]: log-probabilities, tokens.

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
    return best.reshape(*nodes.shape, each), chosen.reshape(*nodes.shape, each)
