"""Recurrent and convolutional encoder-decoders, small and plain; both read a prefix token by token (`step`)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babelscope.decoding.stepwise import Encoded, States
from babelscope.lab.training.checkpoints import write_json
from babelscope.lab.training.shapes import Shape
from babelscope.util.errors import BabelscopeError

PLAIN = "network.json"
"""The configuration in the folder of a plain network; the weights are in model.safetensors."""
_MOST_PIECES = 10_000_000


@dataclass(frozen=True, slots=True)
class PlainConfig:
    """What a plain network is made of."""

    architecture: str
    vocabularies: tuple[int, int]
    """Source and target; the same number for a joint one."""
    joint: bool
    width: int
    encoder_layers: int
    decoder_layers: int
    kernel: int = 3
    learned_positions: bool = False
    longest: int = 512
    """Most tokens on a side."""

    def __post_init__(self) -> None:
        numbers = (self.width, self.encoder_layers, self.decoder_layers, self.kernel, self.longest)
        bounds = ((2, 16_384), (1, 100), (1, 100), (1, 15), (2, 4096))
        good = all(
            type(n) is int and low <= n <= high for n, (low, high) in zip(numbers, bounds, strict=True)
        )
        sizes = len(self.vocabularies) == 2 and all(
            type(size) is int and 2 < size <= _MOST_PIECES for size in self.vocabularies
        )
        if not (good and sizes) or self.architecture not in NETWORKS or self.width % 2:
            raise BabelscopeError("the numbers of the network's configuration are out of bounds")
        if self.joint and len(set(self.vocabularies)) > 1:
            raise BabelscopeError("a joint vocabulary has one size")


class PlainNetwork(nn.Module):
    """Embeddings with a tied output layer; `_encode`, `_decode` and `step` are the architecture's own."""

    def __init__(self, config: PlainConfig, dropout: float) -> None:
        super().__init__()
        self.config = config
        self.target = nn.Embedding(config.vocabularies[1], config.width)
        self.source = self.target if config.joint else nn.Embedding(config.vocabularies[0], config.width)
        self.scale = math.sqrt(config.width)
        self.dropout = nn.Dropout(dropout)

    def encode(self, source: Tensor, real: Tensor) -> tuple[Encoded, States]:
        """Source ids [n, length] and which are real: what stays the same for a source, and the first state."""
        raise NotImplementedError

    def step(self, encoded: Encoded, states: States, tokens: Tensor) -> tuple[Tensor, States]:
        """Feed tokens [n]: logits of the next ones [n, vocabulary], and the states after."""
        hidden, after = self.advance(encoded, states, tokens)
        return hidden @ self.target.weight.t(), after

    def advance(self, encoded: Encoded, states: States, tokens: Tensor) -> tuple[Tensor, States]:
        raise NotImplementedError

    def forward(self, source: Tensor, real: Tensor, shifted: Tensor) -> Tensor:
        """Decoder states [n, time, width] of whole targets, shifted right [n, time]."""
        raise NotImplementedError


def attend(query: Tensor, keys: Tensor, values: Tensor, real: Tensor) -> Tensor:
    """Dot-product attention of queries [n, time, width] to the real ones of keys [n, length, width]."""
    scores = query @ keys.transpose(1, 2)
    return torch.softmax(scores.masked_fill(~real[:, None], -math.inf), dim=-1) @ values


class Recurrent(PlainNetwork):
    """A BiLSTM encoder, an LSTM decoder, and attention at its top (Luong's "general", without input feeding)."""

    def __init__(self, config: PlainConfig, dropout: float = 0.0) -> None:
        super().__init__(config, dropout)
        width = config.width
        layers = config.encoder_layers, config.decoder_layers
        between = [dropout if count > 1 else 0.0 for count in layers]
        self.encoder = nn.LSTM(
            width, width // 2, layers[0], bidirectional=True, dropout=between[0], batch_first=True
        )
        self.decoder = nn.LSTM(width, width, layers[1], dropout=between[1], batch_first=True)
        self.begin = nn.Linear(width, width * layers[1])
        self.match = nn.Linear(width, width, bias=False)
        self.combine = nn.Linear(2 * width, width)

    def encode(self, source: Tensor, real: Tensor) -> tuple[Encoded, States]:
        read = self.dropout(self.source(source) * self.scale)
        lengths = real.sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(
            read, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(
            self.encoder(packed)[0], batch_first=True, total_length=source.shape[1]
        )
        mean = (states * real[..., None]).sum(1) / lengths[:, None]
        first = torch.tanh(self.begin(mean)).view(len(source), self.config.decoder_layers, -1)
        return (states, self.match(states), real), (first, torch.zeros_like(first))

    def advance(self, encoded: Encoded, states: States, tokens: Tensor) -> tuple[Tensor, States]:
        hidden, after = self._decode(encoded, states, tokens[:, None])
        return hidden[:, 0], after

    def forward(self, source: Tensor, real: Tensor, shifted: Tensor) -> Tensor:
        encoded, states = self.encode(source, real)
        return self._decode(encoded, states, shifted)[0]

    def _decode(self, encoded: Encoded, states: States, fed: Tensor) -> tuple[Tensor, States]:
        values, keys, real = encoded
        before = tuple(each.transpose(0, 1).contiguous() for each in states)
        found, after = self.decoder(self.dropout(self.target(fed) * self.scale), before)
        seen = attend(found, keys, values, real)
        hidden = self.dropout(torch.tanh(self.combine(torch.cat([found, seen], dim=-1))))
        return hidden, tuple(each.transpose(0, 1).contiguous() for each in after)


class Convolutional(PlainNetwork):
    """Gated convolutions with residuals on both sides, attention in every decoder layer (Gehring et al. 2017)."""

    source_places: Tensor
    target_places: Tensor

    def __init__(self, config: PlainConfig, dropout: float = 0.0) -> None:
        super().__init__(config, dropout)
        width, self.window = config.width, config.kernel - 1
        table = sinusoids(config.longest, width)
        for side in ("source_places", "target_places"):
            if config.learned_positions:
                # With the standard deviation of sinusoids, so that scale need not be learned.
                setattr(self, side, nn.Parameter(torch.empty_like(table).normal_(std=math.sqrt(0.5))))
            else:
                self.register_buffer(side, table, persistent=False)
        counts = config.encoder_layers, config.decoder_layers
        self.encoder, self.decoder = (
            nn.ModuleList(nn.Conv1d(width, 2 * width, config.kernel) for _ in range(count))
            for count in counts
        )
        self.queries = nn.ModuleList(nn.Linear(width, width) for _ in range(counts[1]))
        self.seen = nn.ModuleList(nn.Linear(width, width) for _ in range(counts[1]))

    def _embed(self, table: nn.Embedding, ids: Tensor, places: Tensor) -> Tensor:
        read: Tensor = self.dropout(table(ids) * self.scale + places)
        return read

    def encode(self, source: Tensor, real: Tensor) -> tuple[Encoded, States]:
        places = self.source_places[: source.shape[1]]
        read = self._embed(self.source, source, places) * real[..., None]
        states = read
        for layer in self.encoder:
            padded = F.pad(
                self.dropout(states).transpose(1, 2), (self.window // 2, self.window - self.window // 2)
            )
            # Padding must be zero at every layer, as it is beyond a sentence that is alone.
            states = (F.glu(layer(padded), dim=1).transpose(1, 2) + states) * math.sqrt(0.5) * real[..., None]
        before = [states.new_zeros(len(source), self.window, self.config.width) for _ in self.decoder]
        place = torch.zeros((len(source), 1), dtype=torch.int64, device=source.device)
        return (states, (states + read) * math.sqrt(0.5), real), (place, *before)

    def advance(self, encoded: Encoded, states: States, tokens: Tensor) -> tuple[Tensor, States]:
        place, *before = states
        places = self.target_places[place[:, 0]][:, None]
        hidden, after = self._decode(encoded, before, self._embed(self.target, tokens[:, None], places))
        return hidden[:, 0], (place + 1, *after)

    def forward(self, source: Tensor, real: Tensor, shifted: Tensor) -> Tensor:
        encoded, (_, *before) = self.encode(source, real)
        places = self.target_places[: shifted.shape[1]]
        return self._decode(encoded, before, self._embed(self.target, shifted, places))[0]

    def _decode(
        self, encoded: Encoded, before: Sequence[Tensor], read: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        """Feed embedded tokens [n, time, width] after the last inputs of every layer."""
        keys, values, real = encoded
        states, after = read, []
        for number, layer in enumerate(self.decoder):
            inputs = torch.cat([before[number], self.dropout(states)], dim=1)
            after.append(inputs[:, inputs.shape[1] - self.window :])
            gated = F.glu(layer(inputs.transpose(1, 2)), dim=1).transpose(1, 2)
            query = (self.queries[number](gated) + read) * math.sqrt(0.5)
            gated = (gated + self.seen[number](attend(query, keys, values, real))) * math.sqrt(0.5)
            states = (gated + states) * math.sqrt(0.5)
        return states, after


def sinusoids(count: int, width: int) -> Tensor:
    """Sinusoidal positions [count, width]: sines at even, cosines at odd places."""
    rates = 10_000 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(count)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


NETWORKS: dict[str, type[Recurrent] | type[Convolutional]] = {
    "recurrent": Recurrent,
    "convolutional": Convolutional,
}


def new_plain(shape: Shape, sizes: tuple[int, int], *, dropout: float, longest: int) -> PlainNetwork:
    """An untrained network."""
    config = PlainConfig(
        architecture=shape.architecture,
        vocabularies=sizes,
        joint=shape.vocabularies == "joint",
        width=shape.width,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        kernel=shape.kernel,
        learned_positions=shape.positions == "learned",
        longest=longest,
    )
    network = NETWORKS[shape.architecture](config, dropout)
    initialise(network)
    return network


def initialise(network: nn.Module) -> None:
    """Draw matrices as Glorot's, and embeddings so that scaled ones have unit variance; positions stay."""
    for name, weight in network.named_parameters():
        if weight.dim() < 2 or name.endswith(("_places", "positions")):
            continue
        if name in ("source.weight", "target.weight"):
            nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
        else:
            nn.init.xavier_uniform_(weight)


def save_plain(network: PlainNetwork, weights: dict[str, Tensor], folder: Path) -> None:
    """Write weights and configuration; `open_plain` reads them."""
    from safetensors.torch import save

    (folder / "model.safetensors").write_bytes(save(weights, metadata={"format": "pt"}))
    told: dict[str, Any] = dataclasses.asdict(network.config)
    write_json(folder / PLAIN, {**told, "vocabularies": list(network.config.vocabularies)})
