"""Rank-sensitive training: of two translations of a source, the better one is to be the more probable one.

Section 5.1 of the hypothesis-space paper suggests it. The candidates are the network's own n-best lists, judged by
chrF against the reference and added to the cross-entropy, as in BRIO (Liu et al. 2022). The loss is not BRIO's margin
but RankNet's (Burges et al. 2005), which needs none: -log(p / (p + q)), where p and q are the probabilities of the
better and the worse translation as a whole, because that is what orders the hypothesis space (equation 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from babelscope.decoding.beam import beam_search
from babelscope.decoding.model import OpenModel
from babelscope.lab.training.text import EOS, Array, Batch, Pieces, make_batch
from babelscope.metrics.chrf import pairwise_chrf


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates with their sources, and rows of the better and the worse one of each pair [pairs, 2]."""

    batch: Batch
    pairs: Array


def find_candidates(model: OpenModel, pieces: Pieces, batch: Batch, count: int) -> Candidates | None:
    """The `count` best finished hypotheses of every `count`-th source, or None if no two differ in chrF.

    So there are about as many candidates as sources in the batch, and they need about as much memory.
    """
    rows = range(0, len(batch.source), count)
    sources = [batch.source[row][batch.source[row] != pieces.pad].tolist() for row in rows]
    longest = min(3 * max(map(len, sources)) + 20, model.vocabulary.target_limit or 512)
    lists = beam_search(model, sources, beam=count, n_best=count, max_length=longest, length_penalty=0)
    decode = pieces.target_side.decode
    owners: list[int] = []
    targets: list[list[int]] = []
    pairs: list[tuple[int, int]] = []
    for row, found in zip(rows, lists, strict=True):
        finished = [ids for ids in found if ids[-1] == EOS]
        reference = batch.target[row][batch.target[row] != pieces.pad].tolist()
        quality = pairwise_chrf(decode(finished), decode([reference]))[:, 0] if finished else np.zeros(0)
        first = len(targets)
        pairs += [(first + one, first + other) for one, other in np.argwhere(quality[:, None] > quality)]
        owners += [row] * len(finished)
        targets += finished
    if not pairs:
        return None
    padded = np.full((len(targets), max(map(len, targets))), pieces.pad)
    for place, ids in enumerate(targets):
        padded[place, : len(ids)] = ids
    return Candidates(make_batch(batch.source[owners], padded, pieces.pad), np.array(pairs))


def ranking_loss(logprobs: Tensor, rows: Array, candidates: Candidates) -> Tensor:
    """Mean loss per pair, in nats, of log-probabilities [tokens] that belong to these rows of the candidates."""
    totals = logprobs.new_zeros(len(candidates.batch.target))
    totals = totals.index_add(0, torch.from_numpy(rows).to(logprobs.device), logprobs)
    better, worse = torch.from_numpy(candidates.pairs).to(logprobs.device).unbind(1)
    return F.softplus(totals[worse] - totals[better]).mean()
