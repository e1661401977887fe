"""The open prefixes of one source in an exact search, and the complete hypotheses found so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from babelscope.decoding.kernels import compact, take_best
from babelscope.decoding.model import Array

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
