"""Sampling without replacement: stochastic beam search, and estimators that know how it samples.

Every complete hypothesis has a log-probability perturbed by its own Gumbel noise; the n largest are a sample
without replacement (Kool, van Hoof and Welling 2019, Stochastic Beams and Where to Find Them). A prefix's perturbed
log-probability is the largest below it, so a beam search finds them: noise is drawn top down, given that maximum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from babelscope.decoding.cores import map_on_cores
from babelscope.decoding.model import Array, Memory, OpenModel, logits_in_pieces
from babelscope.decoding.sampling import Sample
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

# Children whose noise is drawn at once; several arrays of doubles are made of them.
_PIECE = 2**22


@dataclass(frozen=True, slots=True)
class Distinct:
    """Different samples of one source, in the order in which sampling without replacement draws them."""

    samples: list[Sample]
    threshold: float
    """The largest perturbed log-probability that was not drawn (kappa); minus infinity if all were."""


def draw_distinct(
    model: OpenModel, sources: Sequence[Sequence[int]], *, n: int, seed: int, limit: int
) -> list[Distinct]:
    """For each source ids `n` different samples of at most `limit` tokens; fewer where there are not so many.

    Each source is searched by itself, so neither batch size nor other sources can change its samples.
    """
    if n < 1:
        raise BabelscopeError(f"at least one sample must be drawn, not {n}")
    return list(
        map_on_cores(model.device, lambda source: _search(model, source, n, seed, limit), list(sources))
    )


@torch.inference_mode()
def _search(model: OpenModel, source: Sequence[int], n: int, seed: int, limit: int) -> Distinct:
    memory, vocabulary = model.encode([source]), model.vocabulary
    name = f"without replacement {' '.join(map(str, source))}"
    nodes, tokens = np.zeros(1, dtype=np.int64), np.array(vocabulary.prefix[:1])
    for token in vocabulary.prefix[1:]:
        nodes = memory.add(nodes)
        model.feed(memory, nodes, tokens)
        tokens = np.array([token])
    ids, logprobs = np.zeros((1, 0), dtype=np.int64), np.zeros((1, 0))
    # Any number would give the same samples, but only a Gumbel a threshold without bias.
    perturbed = stream(seed, name).gumbel(size=1)
    leaves: list[tuple[float, Sample]] = []
    for length in range(1, limit + 1):
        nodes = memory.add(nodes)
        generator = stream(seed, f"{name}, {length}")
        # One more than asked for: the threshold. In the order of prefixes, since which noise a prefix meets next
        # must not depend on its rank.
        children, rows, chosen, logs = _best_children(
            model, memory, nodes, tokens, logprobs.sum(1), perturbed, n + 1, generator
        )
        cut = _largest(np.append(children, [leaf for leaf, _ in leaves]), n + 1)
        best = np.flatnonzero(children >= cut)
        rows, chosen, perturbed = rows[best], chosen[best], children[best]
        ids = np.concatenate([ids[rows], chosen[:, None]], axis=1)
        logprobs = np.concatenate([logprobs[rows], logs[best, None]], axis=1)
        ended = (chosen == vocabulary.eos) | (length == limit)
        leaves = [leaf for leaf in leaves if leaf[0] >= cut]
        leaves += [
            (float(perturbed[i]), Sample(ids[i].tolist(), logprobs[i].tolist()))
            for i in np.flatnonzero(ended)
        ]
        if ended.all():
            break
        nodes, tokens = nodes[rows[~ended]], chosen[~ended]
        ids, logprobs, perturbed = ids[~ended], logprobs[~ended], perturbed[~ended]
    leaves.sort(key=lambda leaf: -leaf[0])
    return Distinct([drawn for _, drawn in leaves[:n]], leaves[n][0] if len(leaves) > n else -math.inf)


def _best_children(
    model: OpenModel,
    memory: Memory,
    nodes: Array,
    tokens: Array,
    totals: Array,
    perturbed: Array,
    n: int,
    generator: np.random.Generator,
) -> tuple[Array, Array, Array, Array]:
    """Of the children of `nodes`, the n with the largest perturbed log-probabilities and a few more: that, the place
    of their parent, token and log-probability, in the order of parents and tokens."""
    kept = []
    for piece, logits in logits_in_pieces(model, memory, nodes, tokens, most=_PIECE):
        logs = torch.log_softmax(logits.double().cpu(), dim=1).numpy()
        noise = generator.gumbel(size=logs.shape)
        noise += totals[piece, None] + logs
        children = _given_their_maximum(noise, perturbed[piece]).ravel()
        best = np.flatnonzero((children >= _largest(children, n)) & (children > -math.inf))
        rows, chosen = np.divmod(best, model.vocabulary.size)
        kept.append((children[best], rows + piece.start, chosen, logs[rows, chosen]))
    values, parents, chosen, logs = (np.concatenate(each) for each in zip(*kept, strict=True))
    return values, parents, chosen, logs


def _largest(values: Array, n: int) -> float:
    """The n-th largest value; minus infinity if there are not so many."""
    return float(np.partition(values, -n)[-n]) if len(values) >= n else -math.inf


def _given_their_maximum(perturbed: Array, maximum: Array) -> Array:
    """Gumbels [rows, children] moved so that the largest of a row is `maximum` [rows] (appendix B.3 there)."""
    with np.errstate(divide="ignore"):
        below = np.log(-np.expm1(perturbed - perturbed.max(1, keepdims=True)))
    moved = maximum[:, None] - perturbed + below
    answer: Array = maximum[:, None] - np.maximum(0, moved) - np.log1p(np.exp(-np.abs(moved)))
    return answer


def importance_weights(totals: Sequence[float] | Array, threshold: float) -> Array:
    """p / q of drawn samples: their probability by that of being drawn, given the threshold (section 4.1 there).

    `totals` are the samples' log-probabilities, natural logs. Weighted so, sums of any function over the samples
    estimate its expectation without bias; the weights alone estimate 1.
    """
    logs = np.asarray(totals, dtype=np.float64)
    if threshold == -math.inf:
        return np.exp(logs)
    drawn = -np.expm1(-np.exp(logs - threshold))
    # Far below the threshold q is exp(log p - threshold), whether or not that is a number.
    with np.errstate(invalid="ignore"):
        weights: Array = np.where(drawn > 0, np.exp(logs) / drawn, math.exp(threshold))
    return weights


def estimated_mean(
    values: Sequence[float] | Array,
    totals: Sequence[float] | Array,
    threshold: float,
    *,
    normalised: bool = False,
) -> float:
    """Expectation of `values`, one a sample, under the model: unbiased, or (normalised) with less variance."""
    weights = importance_weights(totals, threshold)
    total = float(weights @ np.asarray(values, dtype=np.float64))
    return total / float(weights.sum()) if normalised else total
