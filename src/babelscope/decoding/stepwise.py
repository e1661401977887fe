"""Any torch module with `encode` and `step` as an open model: search, sampling and scoring follow from these two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from babelscope.decoding.model import Array, Memory, OpenModel, TargetTree, Vocabulary, pad_rows, refuse_nan
from babelscope.util.errors import BabelscopeError

Encoded = tuple[Tensor, ...]
"""What stays the same for a source: tensors [sources, ...]."""
States = tuple[Tensor, ...]
"""What a prefix is remembered by: tensors [prefixes, ...] whose other dimensions never change."""


class Steps(Protocol):
    """What a network must have. A row of an answer may depend on its own row alone."""

    def encode(self, source: Tensor, real: Tensor) -> tuple[Encoded, States]:
        """Source ids [n, length], and which of them are real: what `step` needs, and the states before any token."""

    def step(self, encoded: Encoded, states: States, tokens: Tensor) -> tuple[Tensor, States]:
        """Feed one token to each prefix [n]: logits of the next one [n, vocabulary], and the states after."""


class Stepwise(OpenModel):
    """An OpenModel over a module's `encode` and `step`; the states of all prefixes are kept."""

    def __init__(
        self,
        network: Steps,
        vocabulary: Vocabulary,
        *,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        _check_vocabulary(vocabulary)
        self.network = network
        self._is_checked = False
        self.feeds_logits = True
        self.vocabulary = vocabulary
        self.device = torch.device(device)
        self.dtype = dtype

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> Memory:
        if getattr(self.network, "training", False):
            raise BabelscopeError(
                "the network is in training mode, in which dropout changes its answers; call its eval() first"
            )
        ids, real = pad_rows(sources, 0, self.device)
        return Memory(len(sources), _checked_encoding(self.network.encode(ids, real), len(sources)))

    @torch.inference_mode()
    def feed(self, memory: Memory, nodes: Array, tokens: Array) -> Tensor:
        encoded, first = memory.encoded
        depth = memory.depth[nodes]
        source = self._tensor(memory.source[nodes])
        states = []
        begun = np.flatnonzero(depth > 1)
        parents = self._tensor(memory.paths[nodes[begun], depth[begun] - 2])
        for number, start in enumerate(first):
            rows = start[source]
            if len(begun):
                earlier = memory.rows(number, parents).view(len(begun), *start.shape[1:])
                rows[self._tensor(begun)] = earlier
            states.append(rows)
        answer = self.network.step(
            tuple(each[source] for each in encoded), tuple(states), self._tensor(tokens)
        )
        logits, after = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
        _check_answer(logits, after, states, (len(nodes), self.vocabulary.size))
        slots = self._tensor(nodes - memory.n_sources)
        for number, each in enumerate(after):
            memory.put(number, slots, each.reshape(len(nodes), -1))
        logits = logits.float().clone()
        if not self._is_checked:
            _refuse_probabilities(logits)
            self._is_checked = True
        logits[:, list(self.vocabulary.masked)] = float("-inf")
        return logits

    @torch.inference_mode()
    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[Tensor]:
        memory = self.encode(sources)
        edges = [torch.empty(len(tree.edge_tokens), device="cpu") for tree in trees]
        levels: dict[int, list[tuple[int, int]]] = {}
        asked: dict[tuple[int, int], list[int]] = {}
        for number, tree in enumerate(trees):
            for place, depth in enumerate(tree.depths):
                levels.setdefault(depth, []).append((number, place))
            for edge, place in enumerate(tree.edge_nodes):
                asked.setdefault((number, place), []).append(edge)
        nodes: dict[tuple[int, int], int] = {(number, -1): number for number in range(len(trees))}
        for depth in sorted(levels):
            level = levels[depth]
            new = memory.add([nodes[number, trees[number].parents[place]] for number, place in level])
            nodes |= zip(level, new.tolist(), strict=True)
            fed = np.array([trees[number].tokens[place] for number, place in level])
            logs = torch.log_softmax(self.feed(memory, new, fed), dim=-1).cpu()
            refuse_nan(logs[:, self.vocabulary.eos].numpy())  # softmax spreads a NaN over its row
            for row, (number, place) in enumerate(level):
                for edge in asked.get((number, place), ()):
                    edges[number][edge] = logs[row, trees[number].edge_tokens[edge]]
        return edges

    def _tensor(self, numbers: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers, dtype=np.int64)).to(self.device)


# Contract of scores: 1e-4 a token in float32. Ten times that is no rounding.
_SAME = 1e-3
_SAME_IF_NARROW = 0.3  # of log-probabilities computed in 16 bits


def check_rows(model: Stepwise, source_size: int, lengths: Sequence[int]) -> None:
    """Refuse a network whose answers depend on padding, on other rows, or on what it was asked before.

    It is asked about sources of these lengths.
    """
    limit = model.vocabulary.source_limit or max(lengths)
    rows = [
        [(3 * place + number) % source_size for place in range(min(length, limit))]
        for number, length in enumerate(lengths, 1)
    ]
    together = _first_steps(model, rows)
    reasons = {
        "asked the same again, its answers differ: it draws at random, or keeps something of earlier calls": (
            _first_steps(model, rows)
        ),
        "answers change with the order of the batch: a row must depend on its own row only": (
            _first_steps(model, rows[::-1]).flip(0)
        ),
        "answers change with the batch: padding (`real`) must change nothing, nor may other rows": (
            torch.cat([_first_steps(model, [row]) for row in rows])
        ),
    }
    most = _SAME if model.dtype in (torch.float32, torch.float64) else _SAME_IF_NARROW
    for reason, found in reasons.items():
        apart = float((found - together).nan_to_num(0.0).abs().max())
        if apart > most:
            raise BabelscopeError(f"the network's {reason} (log-probabilities are {apart:.2g} apart)")


def _first_steps(model: Stepwise, rows: Sequence[Sequence[int]]) -> Tensor:
    """Log-probabilities [rows, steps, vocabulary] after the prefix, and after one token more."""
    known = model.vocabulary
    memory = model.encode(rows)
    parents: Any = range(len(rows))
    found = []
    other = next((i for i in range(known.size) if i not in (known.eos, *known.masked)), known.eos)
    for token in (*known.prefix, other) if known.target_limit != 1 else known.prefix:
        first = memory.size
        found.append(model.step(memory, parents, [token] * len(rows)).cpu())
        parents = range(first, memory.size)
    return torch.stack(found, dim=1)


def _check_vocabulary(vocabulary: Vocabulary) -> None:
    """Refuse ids that are not among those of the vocabulary."""
    if not vocabulary.prefix:
        raise BabelscopeError(
            "the vocabulary's prefix is empty; something must be fed before the first token"
        )
    named = {"prefix": vocabulary.prefix, "eos": (vocabulary.eos,), "masked": vocabulary.masked}
    for name, ids in named.items():
        for each in ids:
            if not 0 <= each < vocabulary.size:
                raise BabelscopeError(
                    f"the vocabulary's {name} has the id {each}, but its ids are 0 to {vocabulary.size - 1}"
                )
    if vocabulary.eos in vocabulary.masked:
        raise BabelscopeError(
            f"the vocabulary masks its eos, {vocabulary.eos}, so that no sentence could end"
        )


def _checked_encoding(found: Any, n: int) -> tuple[Encoded, States]:
    """What `encode` returned, if it is two tuples of tensors with one row per source."""
    pair = isinstance(found, tuple) and len(found) == 2
    if not pair or not all(isinstance(side, tuple) for side in found):
        raise BabelscopeError(
            f"the network's encode returned {_describe(found)}; it must return two tuples of tensors: what stays the "
            "same for a source, and the states before any token"
        )
    for name, side in zip(("first", "second"), found, strict=True):
        for place, each in enumerate(side):
            if not isinstance(each, Tensor) or not each.dim() or len(each) != n:
                raise BabelscopeError(
                    f"the network's encode returned {_describe(each)} at place {place} of its {name} tuple; it must "
                    f"be a tensor whose first dimension is the source ({n} of them)"
                )
    return found  # type: ignore[no-any-return]


def _check_answer(logits: Any, after: Any, before: Sequence[Tensor], shape: tuple[int, int]) -> None:
    """Refuse an answer of `step` that has another shape than was agreed."""
    if not isinstance(logits, Tensor) or logits.shape != shape:
        raise BabelscopeError(
            f"the network's step returned {_describe(logits)} as logits; they must be {list(shape)}: a row a "
            "prefix, a column an id of the vocabulary"
        )
    if not isinstance(after, tuple) or len(after) != len(before):
        raise BabelscopeError(
            f"the network's step returned {_describe(after)} as states; encode gave a tuple of {len(before)}"
        )
    for place, (given, returned) in enumerate(zip(before, after, strict=True)):
        if not isinstance(returned, Tensor) or returned.shape != given.shape:
            raise BabelscopeError(
                f"the network's step returned {_describe(returned)} as state {place}, but was given "
                f"{_describe(given)}; a state's dimensions never change"
            )


def _refuse_probabilities(logits: Tensor) -> None:
    """Refuse what has gone through a softmax: its log-softmax would be nearly uniform, and no error would show."""
    if bool((logits >= 0).all()) and bool(((logits.sum(-1) - 1).abs() < 1e-3).all()):
        raise BabelscopeError(
            "the network's step returned probabilities (none is negative, and they sum to 1); it must return logits, "
            "or the probabilities' logarithms"
        )


def _describe(found: Any) -> str:
    if isinstance(found, Tensor):
        return f"a tensor {list(found.shape)}"
    return f"a {type(found).__name__}" + (f" of {len(found)}" if isinstance(found, tuple | list) else "")
