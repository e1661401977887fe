"""The k most probable translations over the whole space, proven.

Batched branch and bound. A prefix loses probability with every token, so one that is no more probable than the
k-th best complete hypothesis found so far need not be continued (hypothesis-space, section 3.2.1). The paper goes
depth first, one prefix a forward pass. Here a greedy probe finds a first bound (every prefix it passes could end);
then the most probable open prefixes of several sources are expanded together. All live in one tree of keys and
values, where a prefix's row is given back as soon as nothing can come of it.

Hypotheses are token sequences that end in EOS, within the model's own length limit; the empty one (EOS alone) and
those with an unknown token are among them, as they are in the model. Scores are sums of natural logs, in double;
the final ones are those of teacher forcing. Ties go to the shorter one, then to the smaller token ids.

A `LengthRule` admits some lengths, and may rank by total / length ** penalty. As totals only fall, no continuation of
a prefix of total s ranks above s / longest ** penalty: the same search, with a lower threshold. It begins with what
beam search finds, since a good first bound saves most of the work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from babelscope.core.system import Budget, LengthRule
from babelscope.decoding.beam import beam_search
from babelscope.decoding.kernels import children_above, compact, release, take_best
from babelscope.decoding.model import Array, OpenModel, map_on_cores, refuse_nan, rows_at_once, score_targets
from babelscope.util.errors import BabelscopeError
from babelscope.util.progress import progress

# --- The open prefixes of one source in an exact search, and the complete hypotheses found so far ------------------


# Prefixes taken at once are at most a quarter of those expanded before: a small space would else be overrun before
# its bound is known.
_SHARE, _FEW = 4, 4
# How many nats below the best hypothesis the children of probed prefixes are opened at a time.
_REACH = 2.0
# Children of probed prefixes looked through at once, and opened at once: 6 MB of open prefixes.
_CHILDREN = 2**17
_OPENED = 2**18
# Scores are held against a floor in single precision.
_ROUNDING = 1e-4


@dataclass(slots=True)
class Frontier:
    """The search for one source: its open prefixes and the complete hypotheses found."""

    number: int
    k: int
    slack: float
    stretch: float = 1.0
    """The greatest length to the power of the penalty. A prefix only loses probability, so that no continuation has a
    higher rank than the prefix's score divided by this."""
    complete: list[tuple[float, list[int]]] = field(default_factory=list)
    """Ranks and ids, best first: the k best, and what rounding may have put behind them. Without a length penalty a
    rank is the score itself."""
    bound: float = -math.inf
    """Rank of the k-th best complete hypothesis."""
    n_open: int = 0
    """Entries used in the three arrays below; 0 when the search is over."""
    probing: bool = True
    """True during the greedy probe, when only the best child of the last prefix is open."""
    deferred: list[tuple[Array, Array, Array]] = field(default_factory=list)
    """Children of probed prefixes, thousands each while the bound is low: blocks of scores [prefixes], nodes
    [prefixes] and log-probabilities [prefixes, vocabulary], -inf for children that are open already."""
    opened_down_to: float = math.inf
    """All deferred children that score above this have been opened."""
    scores: Array = field(default_factory=lambda: np.empty(64))
    parents: Array = field(default_factory=lambda: np.empty(64, dtype=np.int64))
    tokens: Array = field(default_factory=lambda: np.empty(64, dtype=np.int64))
    expanded: list[Array] = field(default_factory=list)
    """Scores of the prefixes whose next tokens were asked for."""
    expansions: int = 0
    mass: float = 0.0
    unseen: float = -math.inf
    """Score of the best prefix still open when the budget ended."""
    seconds: float = 0.0
    """Its share of the time that its steps took."""

    @property
    def lowest_rank(self) -> float:
        """Only a hypothesis ranked above this can be one of the k best."""
        return self.bound - self.slack

    @property
    def threshold(self) -> float:
        """Only a prefix that scores above this can lead to one of the k best."""
        return self.lowest_rank * self.stretch

    @property
    def best(self) -> float:
        """Only a prefix that scores above this can lead to a better hypothesis than all found."""
        return self.complete[0][0] * self.stretch

    def minimum(self, last: float) -> int:
        """How many of the expanded prefixes could lead to a better hypothesis than the last one found."""
        least = (last + self.slack) * self.stretch
        return int(np.count_nonzero(np.concatenate(self.expanded) > least)) if self.expanded else 0

    def add(self, rank: float, ids: list[int]) -> None:
        """Add a hypothesis, unless it is there: one that beam search found may be found again."""
        if any(ids == known for _, known in self.complete):
            return
        self.complete.append((rank, ids))
        self.complete.sort(key=lambda each: (-each[0], len(each[1]), each[1]))
        if len(self.complete) >= self.k:
            self.bound = self.complete[self.k - 1][0]
            while self.complete[-1][0] < self.lowest_rank:
                self.complete.pop()

    def push(self, scores: Array, parents: Array, tokens: Array) -> None:
        """Open prefixes, each a node and the token to feed after it."""
        needed = self.n_open + len(scores)
        if needed > len(self.scores):
            room = max(needed, len(self.scores) * 3 // 2)
            for name in ("scores", "parents", "tokens"):  # one by one: a wide space's fill memory
                old = getattr(self, name)
                new = np.empty(room, dtype=old.dtype)
                new[: self.n_open] = old[: self.n_open]
                setattr(self, name, new)
        here = slice(self.n_open, needed)
        self.scores[here], self.parents[here], self.tokens[here] = scores, parents, tokens
        self.n_open = needed

    def still_probing(self) -> bool:
        """True while the probe may find a better hypothesis than those it has passed."""
        if self.probing and self.complete:
            self.probing = bool(self.scores[: self.n_open].max(initial=-math.inf) > self.best)
        return self.probing

    def deferred_may_lead(self) -> bool:
        """True if a deferred child may score above every open prefix."""
        return float(self.scores[: self.n_open].max(initial=-math.inf)) < self.opened_down_to

    def merge_deferred(self) -> None:
        """Merge blocks of one prefix into blocks of several: fewer to scan, each small enough to copy."""
        if len(self.deferred) < 2 or len(self.deferred[0][0]) > 1:
            return
        some = _CHILDREN // self.deferred[0][2].shape[1]
        if some < 2:
            return
        singles, self.deferred = self.deferred, []
        while singles:
            scores, nodes, logprobs = (np.concatenate(each) for each in zip(*singles[:some], strict=True))
            del singles[:some]
            self.deferred.append((scores, nodes, logprobs))

    def next_floor(self) -> float:
        """Floor for the next deferred batch: best minus `_REACH`, higher where more than `_OPENED` children are above
        it, never below the threshold."""
        best = max(float((scores + logprobs.max(axis=1)).max()) for scores, _, logprobs in self.deferred)
        if self.complete:
            best = min(best, self.best)
        lower = best - _REACH
        floor = lower if self.threshold < lower < best else self.threshold
        above = np.empty(0)
        for scores, _, logprobs in self.deferred:
            totals = scores[:, None] + logprobs
            above = np.append(above, totals[totals > floor])
            if len(above) > _OPENED:
                above = np.partition(above, -_OPENED)[-_OPENED:]
        if len(above) == _OPENED:
            floor = max(floor, float(above.min()) - _ROUNDING)
        self.opened_down_to = floor
        return floor

    @property
    def max_take(self) -> int:
        """Most prefixes that one step may take."""
        return max(_FEW, self.expansions // _SHARE)

    def take(self, count: int, window: float) -> tuple[Array, Array, Array]:
        """Remove and return the best open prefixes; their entries stay empty until `prune`.

        Prefixes in the upper half between the best one and the best hypothesis are taken beyond the window too:
        expanding them is hardly ever needless.
        """
        n, count = self.n_open, min(count, self.max_take)
        found = self.best if self.complete else math.inf
        return take_best(
            self.scores[:n], self.parents[:n], self.tokens[:n], count, window, found, self.threshold
        )

    def prune(self) -> Array:
        """Compact the arrays once half of the entries are unused; return the nodes of entries below the threshold."""
        n = self.n_open
        self.n_open, dropped = compact(self.scores[:n], self.parents[:n], self.tokens[:n], self.threshold)
        return dropped

    def stop(self) -> Array:
        """End the search without a proof; return the nodes of all open and deferred prefixes."""
        pool = self.scores[: self.n_open]
        waiting = [float((scores + logprobs.max(axis=1)).max()) for scores, _, logprobs in self.deferred]
        self.unseen = max(float(pool.max()), *waiting) if waiting else float(pool.max())
        dropped = [self.parents[: self.n_open][pool > -math.inf], *(nodes for _, nodes, _ in self.deferred)]
        self.deferred.clear()
        self.n_open = 0
        return np.concatenate(dropped)

    def forget(self) -> None:
        """Free what only a search under way needs: finished ones wait for the others to be rescored."""
        self.deferred.clear()
        self.scores, self.parents, self.tokens = (
            self.scores[:0].copy(),
            self.parents[:0].copy(),
            self.tokens[:0].copy(),
        )

    def bytes_for(self, more: int) -> int:
        """Bytes held after `more` prefixes are opened: three arrays, a fourth while one of them grows, and the
        deferred children."""
        needed, held = self.n_open + more, len(self.scores)
        room = held if needed <= held else max(needed, held * 3 // 2)
        return 4 * self.scores.itemsize * room + sum(logprobs.nbytes for _, _, logprobs in self.deferred)


# Rows of logits made and reduced at once, and most logits: they should stay in a processor's cache, and a wide
# vocabulary's take memory.
_PIECE = 128
_LOGITS = 2**22


@torch.inference_mode()
def reduce_logits(
    model: OpenModel, hidden: Tensor, room: Array, probed: Array
) -> tuple[Array, Array, Array, Array, dict[int, Array]]:
    """After each row that was fed: log-probability of EOS [rows]; then row, token and log-probability of all other
    tokens above `room` [rows], in the order of rows; but of `probed` rows, by their number, those of all tokens
    [vocabulary], -inf for EOS."""
    eos = model.vocabulary.eos
    parts: list[tuple[Array, ...]] = []
    whole: dict[int, Array] = {}
    room = np.where(probed, math.inf, room)
    some = max(1, min(_PIECE, _LOGITS // model.vocabulary.size))
    for start in range(0, len(hidden), some):
        piece = slice(start, start + some)
        logits = model.read(hidden[piece]).float()
        tops = logits.amax(1)
        if logits.device.type == "cpu":
            norms, rows, tokens, logprobs = children_above(logits.numpy(), tops.numpy(), room[piece], eos)
        else:
            norms, rows, tokens, logprobs = plain_children_above(logits, tops, room[piece], eos)
        refuse_nan(norms)
        parts.append((logits[:, eos].double().cpu().numpy() - norms, rows + start, tokens, logprobs))
        for place in np.flatnonzero(probed[piece]).tolist():
            logits[place, eos] = -math.inf
            whole[start + place] = logits[place].cpu().numpy() - np.float32(norms[place])
        del logits  # frees a wide vocabulary's logits before the next piece is made
    ends, rows, tokens, logprobs = (np.concatenate(each) for each in zip(*parts, strict=True))
    return ends, rows, tokens, logprobs, whole


def plain_children_above(
    logits: Tensor, tops: Tensor, threshold: Array, eos: int
) -> tuple[Array, Array, Array, Array]:
    """`kernels.children_above` in tensor operations, for other devices than a processor."""
    norms = (logits - tops[:, None]).exp_().sum(1).double().log_() + tops
    cut = (torch.from_numpy(threshold).to(logits.device) + norms).float()
    alive = torch.nonzero(tops > cut)[:, 0]
    left = logits.index_select(0, alive)
    left[:, eos] = -math.inf
    row, tokens = torch.nonzero(left > cut[alive, None], as_tuple=True)
    logprobs = left[row, tokens] - norms[alive[row]]
    found = (norms, alive[row], tokens, logprobs)
    return tuple(each.cpu().numpy() for each in found)  # type: ignore[return-value]


# Narrowest and widest beam of the first bound.
_NARROWEST_BEAM, _WIDEST_BEAM = 16, 64


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
            "a model without a length limit cannot be searched by length-normalized scores, since a prefix that "
            "goes on for ever may end above every bound; say a greatest length (--set max_length)"
        )
    return limit


def beam_ranks(
    model: OpenModel, sources: Sequence[Sequence[int]], k: int, lengths: LengthRule
) -> list[list[tuple[float, list[int]]]]:
    """For each source, ranks and ids of up to `k` hypotheses that beam search finds under the same rule."""
    ranked: list[list[tuple[float, list[int]]]] = [[] for _ in sources]
    beam = min(max(_NARROWEST_BEAM, k), _WIDEST_BEAM)
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


# --- The k most probable translations over the whole space, proven -------------------------------------------------


# Prefixes fed at once: enough to fill a processor's vector units, few enough to stay in its cache.
_ROWS = {"cpu": 512, "cuda": 4096}
# Sources searched at once; the others wait, so that memory is that of a few searches.
_AT_ONCE = 96
# Sources encoded together.
_GROUP = 192
# Bytes of a child while it is opened: row, token and log-probability, in pieces and put together; total and parent;
# then score, parent and token in arrays that grow by half.
_CHILD = 96
# Prefixes of one source taken at once lie within a window of the best, in nats. A wide one fills batches, but
# expands in vain; it is widened while less than _LITTLE of all expansions are, and narrowed above twice that.
_WINDOW, _NARROWEST, _WIDEST, _LITTLE = 0.1, 0.05, 0.3, 0.01
# How far the rounding of a score may reach, in nats: what is this close to the bound is kept and rescored. A float64
# network's answers pass through float32, too.
_SLACK = {torch.float64: 1e-4, torch.float32: 1e-4}
_HALF_SLACK = 0.05
_ANY_LENGTH = LengthRule()


@dataclass(frozen=True, slots=True)
class ExactResult:
    """The result of one source's search, as token ids; `core.answers.TopK` is the same with text."""

    ids: list[list[int]]
    logprobs: list[list[float]]
    exact: bool
    bound: float
    mass: float
    expansions: int
    minimum: int
    seconds: float


def exact_search(
    model: OpenModel,
    sources: Sequence[Sequence[int]],
    *,
    k: int,
    budget: Budget | None = None,
    lengths: LengthRule | None = None,
    rows: int = 0,
) -> list[ExactResult]:
    """For each source its `k` best target ids; `rows` prefixes are fed at once (0: as many as suit)."""
    if k < 1:
        raise BabelscopeError(f"the {k} most probable translations cannot be searched for; k is at least 1")
    budget, lengths = budget or Budget(), lengths or _ANY_LENGTH
    rows = rows or rows_at_once(model, _ROWS.get(model.device.type, 256))
    answers: list[ExactResult | None] = [None] * len(sources)
    order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), i))

    def run(group: list[int]) -> None:
        own = [sources[i] for i in group]
        finished: list[Frontier] = []
        for sentence in _Search(model, own, k, budget, rows, lengths).run():
            finished.append(sentence)
            advance(1)
        for number, found in _rescored(model, own, finished, lengths):
            answers[group[number]] = found

    threads = torch.get_num_threads() if model.device.type == "cpu" else 1
    size = min(_GROUP, math.ceil(len(order) / threads)) or 1
    parts = math.ceil(len(order) / size)
    groups = [order[part::parts] for part in range(parts)]  # each has short and long sources
    with progress("exact search", len(sources), within=True) as advance:
        for _ in map_on_cores(model.device, run, groups):
            pass
    return [answer for answer in answers if answer is not None]


def _rescored(
    model: OpenModel,
    sources: Sequence[Sequence[int]],
    sentences: Sequence[Frontier],
    lengths: LengthRule,
) -> Iterator[tuple[int, ExactResult]]:
    """Score the candidates of each source by teacher forcing, put them in order and cut at k."""
    some = [sentence for sentence in sentences if sentence.complete]
    candidates = [[ids for _, ids in sentence.complete] for sentence in some]
    scored = dict(score_targets(model, [sources[each.number] for each in some], candidates, budget=1024))
    scores = {sentence.number: scored[place] for place, sentence in enumerate(some)}
    for sentence in sentences:
        yield sentence.number, _answer(sentence, scores.get(sentence.number, []), lengths)


def _answer(sentence: Frontier, scores: list[list[float]], lengths: LengthRule) -> ExactResult:
    """The result of a finished search, from the candidates' rescored tokens."""
    candidates = [ids for _, ids in sentence.complete]
    totals = [math.fsum(row) for row in scores]
    ranks = [lengths.rank(total, len(row)) for total, row in zip(totals, scores, strict=True)]
    drift = max((abs(a - b) for a, (b, _) in zip(ranks, sentence.complete, strict=True)), default=0.0)
    best = sorted(range(len(ranks)), key=lambda i: (-ranks[i], len(candidates[i]), candidates[i]))
    best = best[: sentence.k]
    # What beam search gave to begin with need not have been come across again.
    met = math.fsum(math.exp(totals[i]) for i in best) if lengths != _ANY_LENGTH else 0.0
    last = ranks[best[-1]] if len(best) == sentence.k else -math.inf
    # Beyond the slack, rounding could have pruned a better hypothesis: nothing is proven.
    sound = drift <= sentence.slack
    unseen = min(0.0, sentence.unseen / sentence.stretch + sentence.slack)
    return ExactResult(
        [candidates[i] for i in best],
        [scores[i] for i in best],
        exact=sentence.unseen == -math.inf and sound,
        bound=max(unseen, last) if sound else 0.0,
        mass=max(sentence.mass, met),
        expansions=sentence.expansions,
        minimum=sentence.minimum(last),
        seconds=sentence.seconds,
    )


class _Search:
    """Several sources searched in one tree."""

    def __init__(
        self,
        model: OpenModel,
        sources: Sequence[Sequence[int]],
        k: int,
        budget: Budget,
        rows: int,
        lengths: LengthRule = _ANY_LENGTH,
    ) -> None:
        self.model, self.k, self.budget, self.rows, self.lengths = model, k, budget, rows, lengths
        limit = greatest_length(model, lengths)
        self.stretch = 1.0 if limit is None else float(limit**lengths.penalty)
        self.known = beam_ranks(model, sources, k, lengths) if lengths != _ANY_LENGTH else []
        """Of each source, hypotheses to begin with: with the low bound of a greedy probe, most prefixes stay open."""
        self.memory = model.encode(sources)
        self.window, self.expanded, self.in_vain = _WINDOW, 0, 0
        self.eos, self.prefix = model.vocabulary.eos, model.vocabulary.prefix
        self.deepest = math.inf if limit is None else limit + len(self.prefix) - 1
        """Nodes at this depth can only end: another token would leave no room for EOS."""
        self.parent = np.full(len(sources), -1)
        self.token = np.full(len(sources), -1)
        self.references = np.zeros(len(sources), dtype=np.int64)
        """Children of each node, open or expanded; a node without any is freed."""
        self.start = np.arange(len(sources))
        for token in self.prefix[:-1]:
            self.start = self._nodes(self.start, np.full(len(sources), token))
            model.feed(self.memory, self.start, np.full(len(sources), token))

    def run(self) -> Iterator[Frontier]:
        """Yield each sentence when its search ends."""
        waiting = list(reversed(range(self.memory.n_sources)))
        active: list[Frontier] = []
        while waiting or active:
            while waiting and len(active) < _AT_ONCE:
                active.append(self._begin(waiting.pop()))
            self._step(active)
            for sentence in active:
                if sentence.n_open and self._spent(sentence):
                    self._stop(sentence)
            self._save_memory(active, min(len(waiting), _AT_ONCE - len(active)))
            for sentence in [each for each in active if not each.n_open]:
                active.remove(sentence)
                self._adapt(sentence)
                sentence.forget()
                yield sentence

    def _adapt(self, sentence: Frontier) -> None:
        """Widen or narrow the window by the share of needless expansions in finished searches."""
        self.expanded += sentence.expansions
        self.in_vain += sentence.expansions - sentence.minimum(sentence.bound)
        if self.in_vain < _LITTLE * self.expanded:
            self.window = min(_WIDEST, 1.5 * self.window)
        elif self.in_vain > 2 * _LITTLE * self.expanded:
            self.window = max(_NARROWEST, self.window / 1.5)

    def _begin(self, number: int) -> Frontier:
        slack = _SLACK.get(self.model.dtype, _HALF_SLACK)
        sentence = Frontier(number, self.k, slack, self.stretch)
        for rank, ids in self.known[number] if self.known else ():
            sentence.add(rank, ids)
        self.references[self.start[number]] += 1
        sentence.push(np.zeros(1), self.start[[number]], np.array([self.prefix[-1]]))
        return sentence

    def _step(self, active: Sequence[Frontier]) -> None:
        """Expand the best open prefixes of all active sentences in one forward pass."""
        began = time.monotonic()
        owners, taken = self._take(active)
        scores, parents, tokens = (np.concatenate(each) for each in zip(*taken, strict=True))
        sizes = [len(each[0]) for each in taken]
        nodes = self._nodes(parents, tokens)
        hidden = self.model.feed(self.memory, nodes, tokens)
        threshold = np.repeat([owner.threshold for owner in owners], sizes)
        room = threshold - scores
        deepest = self.memory.depth[nodes] >= self.deepest
        room[deepest] = math.inf
        probed = np.repeat([owner.probing for owner in owners], sizes) & ~deepest
        ends, rows, children, logprobs, whole = reduce_logits(self.model, hidden, room, probed)
        if self.lengths.exactly:
            ends[~deepest] = -math.inf
        # Complete hypotheses first, so that the children are held against the newest bounds.
        first = np.cumsum([0, *sizes])
        complete = scores + ends
        ranks = complete / (self.memory.depth[nodes] - len(self.prefix) + 1.0) ** self.lengths.penalty
        mass = np.add.reduceat(np.exp(complete), first[:-1]).tolist()
        hits = np.flatnonzero(ranks > np.repeat([owner.lowest_rank for owner in owners], sizes))
        for row in hits[np.argsort(-ranks[hits], kind="stable")]:
            owner = owners[int(np.searchsorted(first, row, side="right")) - 1]
            if ranks[row] > owner.lowest_rank:
                owner.add(float(ranks[row]), self._ids(nodes[row]))
        totals = scores[rows] + logprobs
        if len(hits):
            good = totals > np.repeat([owner.threshold for owner in owners], sizes)[rows]
            rows, children, totals = rows[good], children[good], totals[good]
        # Hold one temporary reference; `_drop` below frees childless nodes.
        self.references[nodes] = 1 + np.bincount(rows, minlength=len(nodes))
        above = nodes[rows]
        cuts = np.searchsorted(rows, first).tolist()
        starts = first.tolist()
        for number, owner in enumerate(owners):
            start, end = starts[number], starts[number + 1]
            if probed[start]:
                self._defer(owner, scores[start], nodes[start], whole[start])
            owner.expanded.append(scores[start:end])
            owner.expansions += end - start
            owner.mass += mass[number]
            mine = slice(cuts[number], cuts[number + 1])
            if mine.start < mine.stop:
                owner.push(totals[mine], above[mine], children[mine])
        self._drop(nodes)
        for owner in owners:
            self._drop(owner.prune())
            if not owner.n_open:
                self._open_deferred(owner)
        each_row = (time.monotonic() - began) / len(nodes)
        for owner, size in zip(owners, sizes, strict=True):
            owner.seconds += size * each_row

    def _take(self, active: Sequence[Frontier]) -> tuple[list[Frontier], list[tuple[Array, Array, Array]]]:
        """Share the rows of a step among sentences: the sentences that get rows, and the prefixes each takes."""
        turn = sorted(active, key=lambda each: each.n_open)  # few open prefixes leave rows to others
        for sentence in turn:
            if not sentence.still_probing():
                self._open_deferred(sentence)
        room, owners, taken = min(self.rows, self._rows_that_fit(active)), [], []
        for position, sentence in enumerate(turn):
            share = max(1, room // (len(turn) - position))
            if self.budget.expansions is not None:
                share = min(share, self.budget.expansions - sentence.expansions)
            taken.append(sentence.take(share, self.window))
            owners.append(sentence)
            room -= len(taken[-1][0])
            if room <= 0:
                break
        return owners, taken

    def _defer(self, sentence: Frontier, score: float, node: int, logprobs: Array) -> None:
        """Push the best child of a probed prefix onto the frontier; defer its other children."""
        best = int(logprobs.argmax())
        if score + float(logprobs[best]) <= sentence.threshold:
            return
        sentence.push(score + logprobs[[best]].astype(np.float64), np.array([node]), np.array([best]))
        logprobs[best] = -math.inf
        sentence.deferred.append((np.array([score]), np.array([node]), logprobs[None]))
        self.references[node] += 2

    def _open_deferred(self, sentence: Frontier) -> None:
        """Move deferred children into the frontier: those due next, or all above the threshold; ends the probe."""
        sentence.probing = sentence.probing and not sentence.deferred
        sentence.merge_deferred()
        rest = sentence.opened_down_to <= sentence.threshold
        while sentence.deferred and (rest or sentence.deferred_may_lead()):
            floor = sentence.threshold if rest else sentence.next_floor()
            for block in sentence.deferred:
                self._open(sentence, floor, *block)
            if floor == sentence.threshold:
                self._drop(np.concatenate([nodes for _, nodes, _ in sentence.deferred]))
                sentence.deferred.clear()

    def _open(self, sentence: Frontier, floor: float, scores: Array, nodes: Array, logprobs: Array) -> None:
        """Push the children of `nodes` that score above `floor`; `logprobs` is [nodes, vocabulary]."""
        cut = (floor - scores).astype(np.float32)[:, None]
        rows, children = np.divmod(np.flatnonzero(logprobs > cut), logprobs.shape[1])
        sentence.push(scores[rows] + logprobs[rows, children], nodes[rows], children)
        logprobs[rows, children] = -math.inf
        self.references[nodes] += np.bincount(rows, minlength=len(nodes))

    def _nodes(self, parents: Array, tokens: Array) -> Array:
        """New nodes in the tree; their parents keep the reference that the open prefix had."""
        nodes = self.memory.add(parents)
        if self.memory.size > len(self.parent):
            more = len(self.memory.depth) - len(self.parent)
            self.parent, self.token, self.references = (
                np.concatenate([each, np.zeros(more, dtype=np.int64)])
                for each in (self.parent, self.token, self.references)
            )
        self.parent[nodes], self.token[nodes] = parents, tokens
        self.references[nodes] = 0
        return nodes

    def _ids(self, node: int) -> list[int]:
        """The tokens of the hypothesis that ends after `node`, EOS included."""
        memory = self.memory
        path = memory.paths[node, len(self.prefix) : memory.depth[node]] + memory.n_sources
        return [*self.token[path].tolist(), self.eos]

    def _drop(self, nodes: Array) -> None:
        """Take one reference from a node for each time it occurs in `nodes`; free those without any."""
        if len(nodes):
            memory = self.memory
            memory.give_back(release(nodes, self.references, self.parent, memory.depth, memory.n_sources))

    def _spent(self, sentence: Frontier) -> bool:
        """True if a sentence has used up its expansions or seconds."""
        most, seconds = self.budget.expansions, self.budget.seconds
        return (most is not None and sentence.expansions >= most) or (
            seconds is not None and sentence.seconds >= seconds
        )

    def _save_memory(self, active: Sequence[Frontier], beginning: int) -> None:
        """Stop the largest searches until the next step, with `beginning` new ones, fits the memory budget."""
        if self.budget.bytes is None:
            return
        size = self.model.vocabulary.size
        while any(each.n_open for each in active):
            more = min(self.rows, beginning + sum(each.max_take for each in active if each.n_open))
            # What a probe passes is kept whole; and at least one prefix is expanded, whatever its children are.
            probed = beginning + sum(each.probing for each in active if each.n_open)
            if self._held(active, more) + (probed * 4 + _CHILD) * size <= self.budget.bytes:
                return
            self._stop(max(active, key=lambda each: each.bytes_for(0) if each.n_open else -1))

    def _held(self, active: Sequence[Frontier], more: int) -> int:
        """Bytes of keys and values after `more` further nodes, and of open prefixes; the largest search may grow."""
        grown = max(
            (each.bytes_for(self.model.vocabulary.size) - each.bytes_for(0) for each in active), default=0
        )
        return self.memory.bytes_for(more) + grown + sum(each.bytes_for(0) for each in active if each.n_open)

    def _rows_that_fit(self, active: Sequence[Frontier]) -> int:
        """How many prefixes may be expanded at once if all of their children stay open."""
        if self.budget.bytes is None:
            return self.rows
        left = self.budget.bytes - self._held(active, 0)
        return max(1, left // (_CHILD * self.model.vocabulary.size))

    def _stop(self, sentence: Frontier) -> None:
        self._drop(sentence.stop())
