"""Exact search with a bounded output layer: how many float32 logits certified bounds of the others could save.

A cheap product gives each logit with a certified error: of int8 weights (and states), from the norms of what rounding
took away; of the first r directions of the output matrix, a row's norm outside them times the state's. The search
needs each word that may be above its threshold (`open`), and the normalizer: `interval` is its median width in nats
with open words in float32, `narrow` the share of words in float32 that makes it 0.1 nats. All is judged kindly: the
true normalizer excludes words, and gathering rows is free. `cost` is that of the cheap product over float32's,
`speedup` Amdahl's limit from the output layer's share of a search, `at_most` the same without any float32 logits.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from babelscope import open_system
from babelscope.core.system import Budget
from babelscope.decoding import exact
from babelscope.decoding.model import product_by_columns
from benchmarks.common import arguments, show
from benchmarks.exact import clocked
from benchmarks.real_models import items

_SENTENCES, _EXPANSIONS, _STATES, _TURNS, _WIDTH, _RANKS = 10, 300, 256, 5, 0.1, (64, 128, 256)


def recorded(system: Any) -> tuple[Tensor, Tensor, float]:
    """States met in exact searches, the threshold of their words, and the output layer's share of the time."""
    states, rooms, output = [], [], []
    reduce_logits, own = exact.reduce_logits, system.model.read

    def watched(model: Any, hidden: Tensor, room: Any, probed: Any) -> Any:
        known = np.isfinite(room) & ~probed  # else all words are needed, or none
        states.append(hidden[known].clone())
        rooms.append(torch.from_numpy(room[known]))
        return reduce_logits(model, hidden, room, probed)

    def read(hidden: Tensor) -> Any:
        seconds, logits = clocked(partial(own, hidden))
        output.append(seconds)
        return logits

    sources = system._source_ids([each.source for each in items(_SENTENCES, "space")])[0]
    search = partial(exact.exact_search, system.model, sources, k=1, budget=Budget(expansions=_EXPANSIONS))
    with patch.object(exact, "reduce_logits", watched), patch.object(system.model, "read", read):
        whole, _ = clocked(search)
    some = torch.randperm(sum(map(len, rooms)), generator=torch.Generator().manual_seed(1))[:_STATES]
    return torch.cat(states)[some].double(), torch.cat(rooms)[some], sum(output) / whole


def int8(values: Tensor) -> Tensor:
    """Each row rounded to 255 steps of its own size."""
    step = values.abs().amax(1, keepdim=True) / 127
    return (values / step).round() * step


def bounds(matrix: Tensor, states: Tensor) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Of each way its name, approximate products [states, words] and their certified errors."""
    rounded, short = int8(matrix), int8(states)
    error = states.norm(dim=1)[:, None] * (matrix - rounded).norm(dim=1)
    yield "int8 weights", states @ rounded.T, error
    yield "int8", short @ rounded.T, error + (states - short).norm(dim=1)[:, None] * rounded.norm(dim=1)
    directions = torch.linalg.svd(matrix, full_matrices=False).Vh
    for rank in _RANKS:
        inside, outside = directions[:rank].T, directions[rank:].T
        error = (states @ outside).norm(dim=1)[:, None] * (matrix @ outside).norm(dim=1)
        yield f"rank {rank}", (states @ inside) @ (matrix @ inside).T, error


def needed(logits: Tensor, rooms: Tensor, cheap: Tensor, error: Tensor) -> dict[str, float]:
    """Shares of words that need float32: for the threshold, and for a narrow normalizer; its interval."""
    assert bool(((cheap - logits).abs() <= error + 1e-6).all()), "an error is larger than its certificate"
    norms = logits.logsumexp(1, keepdim=True)
    wanted = cheap + error - norms > rooms[:, None]
    low, high = (torch.where(wanted, logits, cheap + side * error) - norms for side in (-1, 1))
    gaps = (high.exp() - low.exp()).sort(1).values.cumsum(1)  # left by the least uncertain words alone
    found, more = wanted.double().mean(1), (gaps > _WIDTH).double().mean(1)
    interval, narrow = high.logsumexp(1) - low.logsumexp(1), torch.maximum(found, more)
    return {"open": float(found.mean()), "interval": float(interval.median()), "narrow": float(narrow.mean())}


def costs(output: Tensor) -> dict[str, float]:
    """Median processor time of the cheap products over that of float32, in turns."""
    layer = torch.nn.Linear(output.shape[1], len(output), bias=False)
    layer.weight = torch.nn.Parameter(output)
    quantization: Any = torch.ao.quantization
    state = torch.randn(512, output.shape[1])
    ways: dict[str, Callable[[], object]] = {"float32": partial(product_by_columns, state, output.T)}
    ways["int8"] = partial(quantization.quantize_dynamic(torch.nn.Sequential(layer)), state)
    for rank in _RANKS:  # without the product of state and directions
        ways[f"rank {rank}"] = partial(product_by_columns, state[:, :rank], output[:, :rank].contiguous().T)
    turns = [{name: clocked(run)[0] for name, run in ways.items()} for _ in range(_TURNS + 1)]
    medians = {name: statistics.median(turn[name] for turn in turns[1:]) for name in ways}  # first is warm-up
    return {name: seconds / medians["float32"] for name, seconds in medians.items()}


@torch.inference_mode()
def main() -> None:
    asked = arguments(__doc__ or "", more={"--opus": "OPUS-MT's folder"})
    torch.set_num_threads(1)
    system: Any = open_system(f"hf:{asked.opus}")
    bias = system.model._output_bias.double().clamp(min=-1e4)  # padding's is -inf
    output = system.model._output.t().contiguous()
    states, rooms, share = recorded(system)
    cost, matrix, rows = costs(output), output.double(), []
    matrix -= matrix.mean(0)  # the same less in all logits of a state
    for name, cheap, error in bounds(matrix, states):
        price, found = cost.get(name, 1.0), needed(states @ matrix.T + bias, rooms, cheap + bias, error)
        at_most, speedup = (1 / (1 - share * max(0.0, 1 - price - part)) for part in (0.0, found["narrow"]))
        rows.append({"bound": name, "cost": price, **found, "at_most": at_most, "speedup": speedup})
    show(rows, {"output_share": share, "states": len(states)}, as_json=asked.json)


if __name__ == "__main__":
    main()
