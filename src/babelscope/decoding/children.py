"""The children of expanded prefixes, taken from logits a piece at a time."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from babelscope.decoding.kernels import children_above
from babelscope.decoding.model import Array, OpenModel, refuse_nan

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
