"""Ancestral sampling over any open model, many samples of many sources at once.

Samples of a source that begin alike share one row of the forward pass until they part. A sample is made of its own
random numbers, which come from the seed, the source, the sample's number and the token's position, so it does not
depend on how many others are drawn beside it. The probabilities do, in their last digits: a random number that
falls so close to the border between two tokens that rounding could decide is judged by a forward pass of the
sample's prefix alone, which is always the same. So batches change nothing, in float32 and float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from babelscope.core.system import Drawing
from babelscope.decoding.model import Array, Memory, OpenModel, logits_in_pieces, map_on_cores
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

# --- Ancestral sampling over any open model, many samples of many sources at once ----------------------------------


# Samples drawn side by side: so many that the longest ones, left alone at the end, cost little.
_SAMPLES = 3200
# Prefixes fed at once, and logits in all: a forward pass costs a millisecond before it computes anything.
_ROWS = {"cpu": 1024, "cuda": 4096}
_LOGITS = {"cpu": 2**24, "cuda": 2**28}
# Cutting off improbable tokens sorts them in double, several arrays of logits' size.
_CUTS = 8
# Keys and values held at once; when they need more, some samples wait until others are done.
_BYTES = 2**29
# Positions whose random numbers are made together.
_BLOCK = 16
# How far a batch may move a log-probability, in nats; larger than any movement that was measured.
_ROUNDING = {torch.float32: 1e-5, torch.float64: 1e-12}


@dataclass(frozen=True, slots=True)
class Sample:
    """Target ids with the model's own log-probabilities, natural logs; unfinished if the last id is not EOS."""

    ids: list[int]
    logprobs: list[float]


def draw_samples(
    model: OpenModel,
    sources: Sequence[Sequence[int]],
    *,
    n: int,
    seed: int,
    limit: int,
    drawing: Drawing | None = None,
    samples: int = 0,
    rows: int = 0,
) -> list[list[Sample]]:
    """For each source ids its `n` samples of at most `limit` tokens, in the order drawn.

    `samples` are drawn side by side, `rows` prefixes fed at once; 0 for what was measured best.
    """
    if n < 1:
        raise BabelscopeError(f"at least one sample must be drawn, not {n}")
    drawing = drawing or Drawing()
    most = _LOGITS.get(model.device.type, 2**24) // model.vocabulary.size
    if drawing.top_p < 1 or drawing.epsilon > 0:
        most //= _CUTS
    rows = rows or max(1, min(_ROWS.get(model.device.type, 1024), most))
    order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), i))
    cores = torch.get_num_threads() if model.device.type == "cpu" else 1
    size = max(1, min((samples or _SAMPLES) // n, math.ceil(len(order) / cores)))
    batches = [order[start : start + size] for start in range(0, len(order), size)]

    def run(batch: list[int]) -> list[list[Sample]]:
        return _Batch(model, [sources[i] for i in batch], n, seed, limit, drawing, rows).run()

    answers: list[list[Sample]] = [[] for _ in sources]
    for batch, found in zip(batches, map_on_cores(model.device, run, batches), strict=True):
        for i, drawn in zip(batch, found, strict=True):
            answers[i] = drawn
    return answers


class _Batch:
    """Samples of a few sources, all in one tree of prefixes; sample j of source i has number i * n + j."""

    def __init__(
        self,
        model: OpenModel,
        sources: list[Sequence[int]],
        n: int,
        seed: int,
        limit: int,
        drawing: Drawing,
        rows: int,
    ) -> None:
        self.model, self.sources, self.n, self.limit = model, sources, n, limit
        self.drawing, self.rows = drawing, rows
        self.rounding = _ROUNDING.get(model.dtype, 0.0)
        self.memory = model.encode(sources)
        names = [f"sample {' '.join(map(str, source))}" for source in sources]
        self.keys = [stream(seed, name).integers(2**64, size=2, dtype=np.uint64) for name in names]
        self.block = np.full(len(sources), -1)  # whose random numbers `uniforms` has of each source
        self.uniforms = np.empty((len(sources) * n, _BLOCK, 3))
        self.users = np.zeros(0, dtype=np.int64)  # for each node, the samples that go on below it
        self.source = np.repeat(np.arange(len(sources)), n)
        self.node = self.source.copy()  # of each sample's prefix, without the token that is to be fed
        self.token = np.full(len(self.source), model.vocabulary.prefix[0])
        self.ids = np.zeros((len(self.source), 0), dtype=np.int64)
        self.logprobs = np.zeros((len(self.source), 0))
        self.length = np.zeros(len(self.source), dtype=np.int64)

    @torch.inference_mode()
    def run(self) -> list[list[Sample]]:
        """Draw all of them to their end."""
        everyone = np.arange(len(self.source))
        for token in self.model.vocabulary.prefix[1:]:
            for _ in self._feed(everyone):  # what follows is fixed
                pass
            self.token[:] = token
        groups = [everyone]  # each is of one length; those behind the last one wait
        while groups:
            live = groups.pop()
            if len(live) > self.rows and self.memory.bytes_for(len(live)) > _BYTES:
                groups += [live[len(live) // 2 :], live[: len(live) // 2]]
                continue
            self._draw(live, int(self.length[live[0]]))
            ended = (self.token[live] == self.model.vocabulary.eos) | (self.length[live] == self.limit)
            self._leave(live[ended])
            if not ended.all():
                groups.append(live[~ended])
        drawn = [
            Sample(self.ids[i, :length].tolist(), self.logprobs[i, :length].tolist())
            for i, length in enumerate(self.length)
        ]
        return [drawn[start : start + self.n] for start in range(0, len(drawn), self.n)]

    def _draw(self, live: Array, position: int) -> None:
        """Give each of these samples, all of one length, one token more."""
        self._fill_in(live, position)
        uniforms = self.uniforms[live, position % _BLOCK]
        if position == self.ids.shape[1]:
            room = ((0, 0), (0, max(_BLOCK, position)))
            self.ids, self.logprobs = np.pad(self.ids, room), np.pad(self.logprobs, room)
        for some, rows, logits in self._feed(live):
            chosen, logprobs, doubtful = draw(logits, rows, uniforms[some], self.drawing, self.rounding)
            for row in np.unique(rows[doubtful]):
                here = rows == row
                alone = self._alone(int(live[some[here.argmax()]]), position)
                chosen[here], logprobs[here], _ = draw(
                    alone, np.zeros(here.sum(), dtype=np.int64), uniforms[some[here]], self.drawing, 0.0
                )
            self.ids[live[some], position] = self.token[live[some]] = chosen
            self.logprobs[live[some], position] = logprobs
        self.length[live] += 1

    def _feed(self, live: Array) -> Iterator[tuple[Array, Array, Tensor]]:
        """Feed these samples' tokens, each different prefix once.

        Yields which of `live` are in a forward pass, the row of each in it, and its logits [rows, vocabulary].
        """
        memory, size = self.memory, self.model.vocabulary.size
        # Rows of one source stand together, whatever numbers their nodes have.
        key = (self.source[live] * memory.size + self.node[live]) * size + self.token[live]
        prefixes, row, count = np.unique(key, return_inverse=True, return_counts=True)
        parents, tokens = prefixes // size % memory.size, prefixes % size
        order = np.argsort(row, kind="stable")
        for start in range(0, len(prefixes), self.rows):
            rows = slice(start, start + self.rows)
            nodes = memory.add(parents[rows])
            if len(self.users) < len(memory.depth):
                self.users = np.pad(self.users, (0, len(memory.depth) - len(self.users)))
            self.users[nodes] = count[rows]
            logits = self.model.advance(memory, nodes, tokens[rows])
            first, last = np.searchsorted(row[order], (start, start + self.rows))
            some = order[first:last]
            self.node[live[some]] = nodes[row[some] - start]
            yield some, row[some] - start, logits

    def _fill_in(self, live: Array, position: int) -> None:
        """Have the random numbers of this position at hand."""
        block = position // _BLOCK
        for i in np.unique(self.source[live]):
            if self.block[i] != block:
                # A counter of its own for every block, so that a sample's numbers do not depend on n.
                generator = np.random.Generator(np.random.Philox(key=self.keys[i], counter=[0, 0, block, 0]))
                self.uniforms[i * self.n : (i + 1) * self.n] = generator.random((self.n, _BLOCK, 3))
                self.block[i] = block

    def _leave(self, ended: Array) -> None:
        """Give back the nodes that only these samples, all of one length, have used."""
        if len(ended):
            memory = self.memory
            paths = memory.paths[self.node[ended], : memory.depth[self.node[ended[0]]]] + memory.n_sources
            np.subtract.at(self.users, paths, 1)
            memory.give_back(np.unique(paths[self.users[paths] == 0]))

    def _alone(self, number: int, position: int) -> Tensor:
        """Logits [1, vocabulary] after a sample's first tokens, computed without company."""
        memory = self.model.encode([self.sources[self.source[number]]])
        nodes = np.zeros(1, dtype=np.int64)
        for token in (*self.model.vocabulary.prefix, *self.ids[number, :position]):
            nodes = memory.add(nodes)
            logits = self.model.advance(memory, nodes, np.array([token]))
        return logits


def draw(
    logits: Tensor, rows: Array, uniforms: Array, drawing: Drawing, rounding: float
) -> tuple[Array, Array, Array]:
    """A token for each sample, of which i is after row `rows[i]` of logits [rows, vocabulary].

    Returns the tokens, the model's log-probabilities of them, and which could be others if logits moved by
    `rounding`. A sample's three random numbers `uniforms[i]` choose a block of the vocabulary, a part of it and a
    token there. With a single one, a movement of 1e-7 would be much where thousands of tokens share 1e-2.
    """
    logits = logits if logits.dtype == torch.float64 else logits.float()
    kept, unsure = truncate(logits, drawing, rounding)
    probabilities = torch.softmax(kept, 1)
    count, device = kept.shape[1], kept.device
    width = math.ceil(count ** (1 / 3))
    size = width**2
    whole = count // size * size
    masses = [probabilities[:, :whole].view(len(kept), -1, size).sum(2)]
    if whole < count:  # the last block is shorter
        masses.append(probabilities[:, whole:].sum(1, keepdim=True))
    tolerance = 2 * rounding / drawing.temperature
    block, near = _pick(torch.cat(masses, 1).cpu().numpy()[rows], uniforms[:, 0], tolerance)
    inside = torch.from_numpy(rows * count + block * size).to(device)[:, None] + torch.arange(
        size, device=device
    )
    parts = probabilities.take(inside.clamp_(max=probabilities.numel() - 1))
    parts[torch.from_numpy(block * size == whole).to(device), count - whole :] = 0
    parts = parts.view(-1, width, width)
    part, near_part = _pick(parts.sum(2).cpu().numpy(), uniforms[:, 1], tolerance)
    everyone = torch.arange(len(parts), device=device)
    tokens_of = parts[everyone, torch.from_numpy(part).to(device)].cpu().numpy()
    last, near_last = _pick(tokens_of, uniforms[:, 2], tolerance)
    tokens = (block * width + part) * width + last
    if kept is logits:
        logprobs = np.log(tokens_of[np.arange(len(last)), last], dtype=np.float64)
    else:
        chosen = torch.from_numpy(rows * count + tokens).to(device)
        logprobs = torch.log_softmax(logits, 1).take(chosen).double().cpu().numpy()
    return tokens, logprobs, near | near_part | near_last | unsure.cpu().numpy()[rows]


def _pick(weights: Array, uniforms: Array, tolerance: float) -> tuple[Array, Array]:
    """An index for each row of weights [samples, choices], and whether its uniform number is near a border.

    Weights that each move by a factor within 1 +- tolerance / 2 move a border at x by tolerance * x * (1 - x).
    """
    borders = np.cumsum(weights, axis=1, dtype=np.float64)
    borders /= borders[:, -1:]
    chosen = (borders <= uniforms[:, None]).sum(1)
    near: Array = np.abs(borders - uniforms[:, None]) < tolerance * borders * (1 - borders)
    return chosen, np.any(near, axis=1)


def truncate(logits: Tensor, drawing: Drawing, rounding: float = 0.0) -> tuple[Tensor, Tensor]:
    """Logits [rows, vocabulary] after temperature and cuts, and in which rows `rounding` could change a cut."""
    kept = logits if drawing.temperature == 1 else logits / drawing.temperature
    tolerance = 2 * rounding / drawing.temperature
    unsure = torch.zeros(len(kept), dtype=torch.bool, device=kept.device)
    if 0 < drawing.top_k < kept.shape[1]:
        best = kept.topk(drawing.top_k + 1, dim=1).values
        unsure |= best[:, -2] - best[:, -1] < tolerance
        kept = kept.masked_fill(kept < best[:, -2:-1], -math.inf)
    if drawing.top_p < 1:
        logs, _ = torch.log_softmax(kept.double(), 1).sort(dim=1, descending=True)
        masses = logs.exp().cumsum(1)
        unsure |= ((masses - drawing.top_p).abs() < tolerance).any(1)
        last = ((masses < drawing.top_p).sum(1, keepdim=True)).clamp(max=logs.shape[1] - 1)
        following = (last + 1).clamp(max=logs.shape[1] - 1)
        cut = logs.gather(1, last)
        unsure |= ((cut - logs.gather(1, following) < tolerance) & (following > last))[:, 0]
        kept = kept.masked_fill(torch.log_softmax(kept.double(), 1) < cut, -math.inf)
    if drawing.epsilon > 0:
        logs, least = torch.log_softmax(kept.double(), 1), math.log(drawing.epsilon)
        top = logs.amax(1, keepdim=True)
        cut = top.clamp(max=least)
        near = ((logs - cut).abs() < tolerance).sum(1)
        unsure |= near > (top < least)[:, 0].long()  # a best token below epsilon is near itself
        kept = kept.masked_fill(logs < cut, -math.inf)
    return kept, unsure


# --- Sampling without replacement: stochastic beam search, and estimators that know how it samples -----------------


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
    normalized: bool = False,
) -> float:
    """Expectation of `values`, one per sample, under the model: unbiased, or (normalized) with less variance."""
    weights = importance_weights(totals, threshold)
    total = float(weights @ np.asarray(values, dtype=np.float64))
    return total / float(weights.sum()) if normalized else total
