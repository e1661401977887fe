"""Several open models as one: the mean of their next-token probabilities, over one tree of prefixes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from babelscope.decoding.model import Array, Memory, OpenModel, TargetTree, Vocabulary
from babelscope.util.errors import BabelscopeError


class SharedMemory(Memory):
    """One tree of prefixes; `encoded` has a memory of each member, with its own keys and values."""

    encoded: list[Memory]

    def of(self, number: int) -> Memory:
        """The memory of a member, which sees the tree as it is now."""
        member = self.encoded[number]
        member.size, member.source, member.depth, member.paths = (
            self.size,
            self.source,
            self.depth,
            self.paths,
        )
        member._given_back = self._given_back
        return member

    def bytes_for(self, more: int) -> int:
        return sum(self.of(number).bytes_for(more) for number in range(len(self.encoded)))


class Mixture(OpenModel):
    """The mean of probabilities of members with one target vocabulary.

    A source is the ids of all members' sources, as `join_sources` puts them in one row, since members may read a
    source with different tokens. Prefixes that are fed before the first free token are each member's own.
    """

    def __init__(self, members: Sequence[OpenModel]) -> None:
        self.members = tuple(members)
        self.feeds_logits = any(member.feeds_logits for member in members)
        self.device = members[0].device
        precise = {torch.float32, torch.float64}
        types = [member.dtype for member in members]
        # What rounding may do is decided by the least precise member.
        self.dtype = next(
            (each for each in types if each not in precise),
            torch.float32 if torch.float32 in types else torch.float64,
        )
        self.vocabulary = _common([member.vocabulary for member in members])
        self._widths: list[int] = []

    def encode(self, sources: Sequence[Sequence[int]]) -> Memory:
        parts = zip(*(split_source(source, len(self.members)) for source in sources), strict=True)
        encoded = [member.encode(part) for member, part in zip(self.members, parts, strict=True)]
        return SharedMemory(len(sources), encoded)

    @torch.inference_mode()
    def feed(self, memory: Memory, nodes: Array, tokens: Array) -> Tensor:
        """Hidden states of all members side by side."""
        assert isinstance(memory, SharedMemory)
        hidden = []
        for number, member in enumerate(self.members):
            fed = self._own_tokens(member, tokens, memory.depth[nodes])
            hidden.append(member.feed(memory.of(number), nodes, fed).to(self.device))
        self._widths = [each.shape[1] for each in hidden]
        return torch.cat(hidden, dim=1)

    def _own_tokens(self, member: OpenModel, tokens: Array, depths: Array) -> Array:
        """What a member is fed: its own prefix instead of the mixture's."""
        own = member.vocabulary.prefix
        fixed = depths <= len(own)
        # An id above a smaller member's last one has no name, only a row in the larger one's matrix.
        fed = np.minimum(tokens, member.vocabulary.size - 1)
        fed[fixed] = np.asarray(own)[depths[fixed] - 1]
        return fed

    @torch.inference_mode()
    def read(self, hidden: Tensor) -> Tensor:
        """Logs of the mean probabilities, which serve as logits: they are normalized already."""
        mean: Tensor | None = None
        for member, part in zip(self.members, torch.split(hidden, self._widths, dim=1), strict=True):
            logits = member.read(part.to(member.device, member.dtype)).to(self.device)
            logs = torch.log_softmax(logits if logits.dtype == torch.float64 else logits.float(), dim=1)
            logs = F.pad(logs, (0, self.vocabulary.size - logs.shape[1]), value=-math.inf)
            mean = logs if mean is None else torch.logaddexp(mean, logs)
        assert mean is not None
        return mean - math.log(len(self.members))

    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[Tensor]:
        parts = zip(*(split_source(source, len(self.members)) for source in sources), strict=True)
        answers = []
        for member, part in zip(self.members, parts, strict=True):
            prefix = list(member.vocabulary.prefix)
            own = [replace(tree, tokens=prefix + tree.tokens[len(prefix) :]) for tree in trees]
            answers.append([edges.double().cpu() for edges in member.force(part, own)])
        n = math.log(len(self.members))
        return [torch.stack(same).logsumexp(0) - n for same in zip(*answers, strict=True)]


def _common(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """The vocabulary of all members; they must end and begin alike, names are for the caller to compare."""
    first = vocabularies[0]
    for other in vocabularies[1:]:
        if other.eos != first.eos or len(other.prefix) != len(first.prefix):
            raise BabelscopeError(
                "members of an ensemble must share a vocabulary: these have different end tokens, or one begins with "
                "a language token and another does not"
            )
    limits = [each.target_limit for each in vocabularies if each.target_limit is not None]
    return Vocabulary(
        size=max(each.size for each in vocabularies),
        prefix=first.prefix,
        eos=first.eos,
        masked=tuple(sorted(set(first.masked).intersection(*(each.masked for each in vocabularies)))),
        source_limit=None,
        target_limit=min(limits, default=None),
    )


def join_sources(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """One row of each member's source ids: all but the last one's lengths, then the ids."""
    return (*map(len, rows[:-1]), *(number for row in rows for number in row))


def split_source(joined: Sequence[int], members: int) -> list[tuple[int, ...]]:
    """The members' source ids in a row of `join_sources`."""
    ids = joined[members - 1 :]
    found = []
    for length in joined[: members - 1]:
        found.append(tuple(ids[:length]))
        ids = ids[length:]
    return [*found, tuple(ids)]
