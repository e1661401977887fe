"""The networks of the locality experiment: a Transformer and a BiLSTM with attention, over sources of one length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from babelscope.lab.training.plain import initialise, sinusoids

Positions = Literal["learned", "sine"]


class Transformer(nn.Module):
    """An encoder-decoder whose source positions are learned or sinusoidal; target positions are sinusoidal.

    `order[i]` is the position embedding of the i-th source token.
    """

    positions: Tensor
    order: Tensor
    places: Tensor

    def __init__(
        self,
        vocabularies: tuple[int, int],
        order: Sequence[int],
        positions: Positions,
        *,
        width: int,
        heads: int,
        layers: int,
        dropout: float,
        longest: int,
    ) -> None:
        super().__init__()
        self.source, self.target = (nn.Embedding(size, width) for size in vocabularies)
        table = sinusoids(len(order), width)
        if positions == "learned":
            # With the standard deviation of sinusoids, so that scale need not be learned.
            self.positions = nn.Parameter(torch.empty_like(table).normal_(std=math.sqrt(0.5)))
        else:
            self.register_buffer("positions", table)
        self.register_buffer("order", torch.tensor(order))
        self.register_buffer("places", sinusoids(longest, width))
        self.scale = math.sqrt(width)
        self.dropout = nn.Dropout(dropout)
        shape: dict[str, Any] = {"d_model": width, "nhead": heads, "dim_feedforward": 2 * width}
        shape |= {"dropout": dropout, "batch_first": True, "norm_first": True}
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**shape), layers, nn.LayerNorm(width), enable_nested_tensor=False
        )
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**shape), layers, nn.LayerNorm(width))
        initialise(self)

    def encode(self, source: Tensor) -> Tensor:
        """Source ids [batch, length] to states [batch, length, width]."""
        embedded = self.positions[self.order]
        states: Tensor = self.encoder(self.dropout(self.source(source) * self.scale + embedded))
        return states

    def decode(self, memory: Tensor, shifted: Tensor) -> Tensor:
        """Target ids shifted right [batch, time] to decoder states [batch, time, width]."""
        time = shifted.shape[1]
        later = nn.Transformer.generate_square_subsequent_mask(time)
        read = self.dropout(self.target(shifted) * self.scale + self.places[:time])
        states: Tensor = self.decoder(read, memory, tgt_mask=later, tgt_is_causal=True)
        return states


class Recurrent(nn.Module):
    """A BiLSTM encoder, an LSTM decoder, and attention over the encoder's states (Luong's "general")."""

    def __init__(self, vocabularies: tuple[int, int], *, width: int, dropout: float) -> None:
        super().__init__()
        self.source, self.target = (nn.Embedding(size, width) for size in vocabularies)
        self.encoder = nn.LSTM(width, width // 2, bidirectional=True, batch_first=True)
        self.decoder = nn.LSTM(width, width, batch_first=True)
        self.begin = nn.Linear(width, width)
        self.attend = nn.Linear(width, width, bias=False)
        self.combine = nn.Linear(2 * width, width)
        self.scale = math.sqrt(width)
        self.dropout = nn.Dropout(dropout)
        initialise(self)

    def encode(self, source: Tensor) -> Tensor:
        """Source ids [batch, length] to states [batch, length, width]."""
        states: Tensor
        states, _ = self.encoder(self.dropout(self.source(source) * self.scale))
        return states

    def decode(self, memory: Tensor, shifted: Tensor) -> Tensor:
        """Target ids shifted right [batch, time] to decoder states [batch, time, width]."""
        first = torch.tanh(self.begin(memory.mean(1)))[None]
        read = self.dropout(self.target(shifted) * self.scale)
        states, _ = self.decoder(read, (first, torch.zeros_like(first)))
        weights = torch.softmax(states @ self.attend(memory).transpose(1, 2), dim=-1)
        found: Tensor = self.dropout(torch.tanh(self.combine(torch.cat([states, weights @ memory], dim=-1))))
        return found


Network = Transformer | Recurrent


@torch.no_grad()
def greedy(network: Network, source: Tensor, *, begin: int, end: int, longest: int) -> list[list[int]]:
    """Greedy translations of sources [batch, length], up to `end` or `longest` words."""
    network.eval()
    memory = network.encode(source)
    read = torch.full((len(source), 1), begin)
    open_rows = torch.arange(len(source))
    found: list[list[int]] = [[] for _ in range(len(source))]
    for _ in range(longest):
        states = network.decode(memory[open_rows], read[open_rows])[:, -1]
        logits = states @ network.target.weight.t()
        logits[:, begin] = -math.inf
        words = logits.argmax(-1)
        column = torch.full((len(source), 1), end)
        column[open_rows, 0] = words
        read = torch.cat([read, column], dim=1)
        going_on = words != end
        for row, word in zip(open_rows[going_on].tolist(), words[going_on].tolist(), strict=True):
            found[row].append(word)
        open_rows = open_rows[going_on]
        if not len(open_rows):
            break
    return found
