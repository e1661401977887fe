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
# Children of probed prefixes looked through at once.
_CHILDREN = 2**17


@dataclass(slots=True)
class Frontier:
    """The search for one source: its open prefixes and the complete hypotheses found."""

    number: int
    k: int
    slack: float
    complete: list[tuple[float, list[int]]] = field(default_factory=list)
    """Best first: the k best, and what rounding may have put behind them."""
    bound: float = -math.inf
    """What the k-th best complete hypothesis scores."""
    n: int = 0
    """Places taken in the three arrays below: 0 once nothing is left to be continued."""
    probing: bool = True
    """At first only the best child of the last prefix is open."""
    put_off: list[tuple[Array, Array, Array]] = field(default_factory=list)
    """While there is no bound, or a low one, thousands of a probed prefix's children are worth continuing. They wait
    as prefixes' scores [prefixes], nodes [prefixes] and log-probabilities [prefixes, vocabulary], -inf for those
    that are open."""
    opened: float = math.inf
    """What was put off and is more probable than this is open."""
    scores: Array = field(default_factory=lambda: np.empty(64))
    parents: Array = field(default_factory=lambda: np.empty(64, dtype=np.int64))
    tokens: Array = field(default_factory=lambda: np.empty(64, dtype=np.int64))
    expanded: list[Array] = field(default_factory=list)
    """Scores of the prefixes whose next tokens were asked for."""
    expansions: int = 0
    mass: float = 0.0
    unseen: float = -math.inf
    """The most probable prefix left open when the budget ended."""
    seconds: float = 0.0
    """Its share of the time that its steps took."""

    @property
    def least(self) -> float:
        """A prefix must be more probable than this to be worth continuing."""
        return self.bound - self.slack

    def minimum(self, last: float) -> int:
        """How many of the expanded prefixes are more probable than the last hypothesis found."""
        return (
            int(np.count_nonzero(np.concatenate(self.expanded) > last + self.slack)) if self.expanded else 0
        )

    def add(self, score: float, ids: list[int]) -> None:
        self.complete.append((score, ids))
        self.complete.sort(key=lambda each: (-each[0], len(each[1]), each[1]))
        if len(self.complete) >= self.k:
            self.bound = self.complete[self.k - 1][0]
            while self.complete[-1][0] < self.least:
                self.complete.pop()

    def push(self, scores: Array, parents: Array, tokens: Array) -> None:
        """Open prefixes, each a node and the token to feed after it."""
        needed = self.n + len(scores)
        if needed > len(self.scores):
            room = max(needed, len(self.scores) * 3 // 2)
            for name in ("scores", "parents", "tokens"):  # one by one: a wide space's fill memory
                old = getattr(self, name)
                new = np.empty(room, dtype=old.dtype)
                new[: self.n] = old[: self.n]
                setattr(self, name, new)
        here = slice(self.n, needed)
        self.scores[here], self.parents[here], self.tokens[here] = scores, parents, tokens
        self.n = needed

    def still_probing(self) -> bool:
        """The probe goes on while it may find something better than it has passed."""
        if self.probing and self.complete:
            self.probing = bool(self.scores[: self.n].max(initial=-math.inf) > self.complete[0][0])
        return self.probing

    def opens_next(self) -> bool:
        """Whether something that was put off may be more probable than all that is open."""
        return float(self.scores[: self.n].max(initial=-math.inf)) < self.opened

    def join_put_off(self) -> None:
        """Blocks of one prefix each become blocks of several: fewer to look through, none too large to be copied."""
        if len(self.put_off) < 2 or len(self.put_off[0][0]) > 1:
            return
        some = _CHILDREN // self.put_off[0][2].shape[1]
        if some < 2:
            return
        singles, self.put_off = self.put_off, []
        while singles:
            scores, nodes, logprobs = (np.concatenate(each) for each in zip(*singles[:some], strict=True))
            del singles[:some]
            self.put_off.append((scores, nodes, logprobs))

    def reach(self) -> float:
        """Down to which score to open next: a little below the best there is, and nothing that is not worth it."""
        best = max(float((scores + logprobs.max(axis=1)).max()) for scores, _, logprobs in self.put_off)
        if self.complete:
            best = min(best, self.complete[0][0])
        lower = best - _REACH
        self.opened = lower if self.least < lower < best else self.least
        return self.opened

    @property
    def most(self) -> int:
        """How many prefixes may be taken at once."""
        return max(_FEW, self.expansions // _SHARE)

    def take(self, count: int, window: float) -> tuple[Array, Array, Array]:
        """Remove and return the best open prefixes; their places are empty until `prune`.

        Those halfway down to the best hypothesis found are outside the window, but hardly ever expanded in vain.
        """
        n, count = self.n, min(count, self.most)
        found = self.complete[0][0] if self.complete else math.inf
        return take_best(self.scores[:n], self.parents[:n], self.tokens[:n], count, window, found, self.least)

    def prune(self) -> Array:
        """Close up once half of the places are empty or overtaken by the bound; returns the nodes of the latter."""
        n = self.n
        self.n, dropped = compact(self.scores[:n], self.parents[:n], self.tokens[:n], self.least)
        return dropped

    def stop(self) -> Array:
        """End before the proof; returns the nodes of what is left open."""
        pool = self.scores[: self.n]
        self.unseen = float(pool.max())
        dropped = self.parents[: self.n][pool > -math.inf]
        self.n = 0
        return dropped

    @property
    def bytes(self) -> int:
        """What is held: three arrays, a fourth while they grow, and what was put off."""
        return 4 * self.scores.nbytes + sum(logprobs.nbytes for _, _, logprobs in self.put_off)
