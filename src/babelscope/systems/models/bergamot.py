"""`marian:` models in Marian's own binary format, such as those of Firefox: int8 weights and a recurrent decoder.

A folder has the model and its SentencePiece vocabularies, and may have a shortlist. Weights are the numbers that the
int8 ones stand for; all is computed in float32, where Marian rounds activations to int8, too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from babelscope.core.registry import Options
from babelscope.decoding.families.decoder import Linear
from babelscope.decoding.families.encoder_decoder import LayerNorm
from babelscope.decoding.model import Vocabulary
from babelscope.decoding.stepwise import Encoded, States, Stepwise
from babelscope.systems.models.checkpoints import read_length_penalty
from babelscope.systems.models.custom import CustomModel
from babelscope.systems.models.tokenizers import SentencePieceTokens
from babelscope.util.digests import SealedFiles
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_bytes

# --- Marian's binary format ----------------------------------------------------------------------------------------

_VERSION = 1
_SHORTLIST = 0xF11A48D5013417F5
# Published models have some hundreds of tensors in at most some hundreds of megabytes.
_MOST_BYTES, _MOST_TENSORS, _LONGEST_NAME, _MOST_DIMENSIONS = 2**32, 20_000, 500, 8
_FLOAT, _INT8 = 0x404, 0x4101
_CONFIG = "special:model.yml"
_NORM_EPS = 1e-6


class _Bytes:
    """The content of a file, read from its start; ValueError beyond its end."""

    def __init__(self, path: Path) -> None:
        self._data = memoryview(read_bytes(path, most=_MOST_BYTES))
        self._place = 0

    def take(self, size: int) -> memoryview:
        if size > len(self._data) - self._place:
            raise ValueError("it is cut off")
        self._place += size
        return self._data[self._place - size : self._place]

    def numbers(self, kind: str, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}{kind}", self.take(count * struct.calcsize(kind)))


def read_items(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a model, in float32 and matrices as [out, in], and the plain values of its configuration."""
    file = _Bytes(path)
    version, count = file.numbers("Q", 2)
    if version != _VERSION or count > _MOST_TENSORS:
        raise ValueError(f"it has the version {version} and {count:,} tensors")
    headers = [file.numbers("Q", 4) for _ in range(count)]
    if any(name > _LONGEST_NAME or dimensions > _MOST_DIMENSIONS for name, _, dimensions, _ in headers):
        raise ValueError("its header has names or shapes longer than those of any model")
    names = [bytes(file.take(size)).rstrip(b"\0").decode() for size, *_ in headers]
    shapes = [file.numbers("i", dimensions) for _, _, dimensions, _ in headers]
    file.take(file.numbers("Q", 1)[0])
    tensors, config = {}, {}
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers, strict=True):
        data = file.take(size)
        if name == _CONFIG:
            lines = [line.partition(": ") for line in bytes(data).rstrip(b"\0").decode().split("\n")]
            config = {key: value.strip("\"'") for key, colon, value in lines if colon}
        elif name.endswith("_QuantMultA"):
            continue  # how activations would be rounded
        else:
            tensors[name] = _tensor(name, kind, shape, data)
    return tensors, config


def _tensor(name: str, kind: int, shape: tuple[int, ...], data: memoryview) -> Tensor:
    if not shape or min(shape) < 1 or kind not in (_FLOAT, _INT8):
        raise ValueError(
            f"{name} has the type {kind:#x} and the shape {list(shape)}, which are not read here"
        )
    count = math.prod(shape)
    if count * (4 if kind == _FLOAT else 1) + (4 if kind == _INT8 else 0) > len(data):
        raise ValueError(f"{name} does not fit into what is stored of it")
    table = name.endswith("Wemb")
    if kind == _FLOAT:
        found = np.frombuffer(data, "<f4", count).reshape(shape)
        return torch.tensor(found if table or 1 in shape else found.T)
    (multiplier,) = np.frombuffer(data[count:], "<f4", 1)
    if not (np.isfinite(multiplier) and multiplier > 0) or len(shape) != 2:
        raise ValueError(f"{name} has the multiplier {multiplier}")
    # Matrices are stored as [out, in], whatever their shape says; embeddings as they are used.
    found = np.frombuffer(data, np.int8, count).reshape(shape if table else shape[::-1])
    return torch.from_numpy(found / multiplier.astype(np.float32))


# --- The network ---------------------------------------------------------------------------------------------------


_KNOWN = {
    "type": ("transformer",),
    "dec-cell": ("ssru",),
    "transformer-decoder-autoreg": ("rnn",),
    "dec-cell-base-depth": ("2",),
    "dec-cell-high-depth": ("1",),
    "transformer-preprocess": ("",),
    "transformer-postprocess": ("dan",),
    "transformer-postprocess-emb": ("d",),
    "transformer-postprocess-top": ("",),
    "transformer-ffn-depth": ("2",),
    "transformer-ffn-activation": ("relu", "swish"),
    "transformer-no-projection": ("false",),
    "transformer-train-position-embeddings": ("false",),
    "transformer-tied-layers": ("[]",),
    "transformer-pool": ("false",),
    "lemma-dim-emb": ("0",),
    "ulr": ("false",),
    "right-left": ("false",),
    "skip": ("false",),
}
"""Settings that decide what is computed, with their values that are known here."""


_SIZES = ("enc-depth", "dec-depth", "transformer-heads", "transformer-dim-ffn")


class _Parts:
    """The tensors of a model, each taken once."""

    def __init__(self, tensors: dict[str, Tensor], width: int) -> None:
        self.left, self.width = dict(tensors), width

    def take(self, name: str, *shape: int) -> Tensor:
        found = self.left.pop(name, None)
        if found is None or tuple(found.shape) != shape:
            raise ValueError(f"it has no tensor {name} of the shape {list(shape)}")
        return found

    def linear(self, weights: Sequence[str], biases: Sequence[str], shape: tuple[int, int]) -> Linear:
        """Layers that read the same input, joined; a bias without a name is none."""
        bias = [self.take(name, 1, shape[0])[0] if name else torch.zeros(shape[0]) for name in biases]
        return Linear(torch.cat([self.take(name, *shape) for name in weights]), torch.cat(bias))

    def norm(self, name: str) -> LayerNorm:
        scale, bias = (self.take(f"{name}_ln_{part}", 1, self.width)[0] for part in ("scale", "bias"))
        return LayerNorm(scale, bias, _NORM_EPS)


@dataclass(frozen=True, slots=True)
class _Attention:
    heads: int
    q: Linear
    kv: Linear
    out: Linear
    norm: LayerNorm

    @classmethod
    def of(cls, parts: _Parts, name: str, heads: int) -> _Attention:
        def linear(letters: str) -> Linear:
            square = (parts.width, parts.width)
            return parts.linear(
                [f"{name}_W{each}" for each in letters], [f"{name}_b{each}" for each in letters], square
            )

        return cls(heads, linear("q"), linear("kv"), linear("o"), parts.norm(f"{name}_Wo"))

    def __call__(self, x: Tensor, kv: Tensor, real: Tensor) -> Tensor:
        """States [n, length, width] that see keys and values [n, places, 2 * width] where `real` [n, places]."""
        q = self.q(x).view(*x.shape[:2], self.heads, -1).transpose(1, 2)
        keys, values = kv.view(*kv.shape[:2], 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, keys, values, attn_mask=real[:, None, None])
        return self.norm(x + self.out(mixed.transpose(1, 2).flatten(2)))


@dataclass(frozen=True, slots=True)
class _FeedForward:
    first: Linear
    second: Linear
    norm: LayerNorm
    activation: Callable[[Tensor], Tensor]

    @classmethod
    def of(cls, parts: _Parts, name: str, inner: int, activation: Callable[[Tensor], Tensor]) -> _FeedForward:
        return cls(
            parts.linear([f"{name}_W1"], [f"{name}_b1"], (inner, parts.width)),
            parts.linear([f"{name}_W2"], [f"{name}_b2"], (parts.width, inner)),
            parts.norm(f"{name}_ffn"),
            activation,
        )

    def __call__(self, x: Tensor) -> Tensor:
        return self.norm(x + self.second(self.activation(self.first(x))))


@dataclass(frozen=True, slots=True)
class _Cell:
    """A simpler simple recurrent unit: a state that forgets, and a gate that reads the input alone."""

    gates: Linear
    norm: LayerNorm

    def __call__(self, x: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """What follows [n, width], and the state after."""
        made, forget = self.gates(x).chunk(2, -1)
        after = torch.lerp(made, before, torch.sigmoid(forget))
        return self.norm(x + torch.relu(after)), after


class Bergamot:
    """A Transformer whose decoder has recurrent units in place of self-attention."""

    def __init__(
        self, tensors: dict[str, Tensor], config: dict[str, str], allowed: Shortlist | None = None
    ) -> None:
        if unknown := [
            f"{key} = {config[key]}" for key, good in _KNOWN.items() if config.get(key, good[0]) not in good
        ]:
            raise ValueError(f"it is built in a way that is not read here ({', '.join(unknown)})")
        if missing := [key for key in _SIZES if not config.get(key, "").isdecimal()]:
            raise ValueError(f"its configuration has no {', '.join(missing)}")
        shared = tensors.get("Wemb", tensors.get("decoder_Wemb"))
        if shared is None or shared.dim() != 2:
            raise ValueError("it has no embeddings (Wemb)")
        size, width = shared.shape
        heads, inner = int(config["transformer-heads"]), int(config["transformer-dim-ffn"])
        if heads < 1 or width % 2 or width % heads:
            raise ValueError(f"its width of {width} does not fit its {heads} heads")
        parts = _Parts(tensors, width)
        activation = {"relu": torch.relu, "swish": F.silu}[config.get("transformer-ffn-activation", "relu")]
        self._width, self._allowed = width, allowed
        # Decoding begins with an embedding of zeros, here that of one more token, which is no output.
        self._target = F.pad(shared, (0, 0, 0, 1))
        self._source = parts.left.pop("encoder_Wemb", shared)
        self._output = F.pad(parts.left.pop("decoder_ff_logit_out_W", shared), (0, 0, 0, 1))
        self._output_bias = F.pad(parts.take("decoder_ff_logit_out_b", 1, size)[0], (0, 1))
        for name in ("Wemb", "decoder_Wemb"):
            parts.left.pop(name, None)
        self._encoder, self._decoder = [], []
        for number in range(1, 1 + int(config["enc-depth"])):
            name = f"encoder_l{number}"
            attention = _Attention.of(parts, f"{name}_self", heads)
            self._encoder.append((attention, _FeedForward.of(parts, f"{name}_ffn", inner, activation)))
        for number in range(1, 1 + int(config["dec-depth"])):
            name = f"decoder_l{number}"
            gates = parts.linear([f"{name}_rnn_W", f"{name}_rnn_Wf"], ["", f"{name}_rnn_bf"], (width, width))
            cell = _Cell(gates, parts.norm(f"{name}_rnn_ffn"))
            attention = _Attention.of(parts, f"{name}_context", heads)
            self._decoder.append((cell, attention, _FeedForward.of(parts, f"{name}_ffn", inner, activation)))
        if parts.left:
            raise ValueError(f"it has tensors that are not read here, such as {min(parts.left)}")

    @property
    def sizes(self) -> tuple[int, int]:
        """Tokens of the source and the target vocabulary."""
        return len(self._source), len(self._target) - 1

    def encode(self, source: Tensor, real: Tensor) -> tuple[Encoded, States]:
        """Keys and values for each decoder layer, what is real, and what may be output; states of zeros."""
        places = torch.arange(source.shape[1])
        x = F.embedding(source, self._source) * math.sqrt(self._width) + self._positions(places)
        for attention, feed in self._encoder:
            x = feed(attention(x, attention.kv(x), real))
        kept = [attention.kv(x) for _, attention, _ in self._decoder]
        if self._allowed is not None:
            kept.append(self._allowed.of(source, real, len(self._target)))
        start = x.new_zeros(len(source), self._width)
        return (real, *kept), (x.new_zeros(len(source), 1), *(start for _ in self._decoder))

    def step(self, encoded: Encoded, states: States, tokens: Tensor) -> tuple[Tensor, States]:
        """Logits after one token more of each prefix."""
        (real, *kept), (place, *before) = encoded, states
        x = F.embedding(tokens, self._target) * math.sqrt(self._width) + self._positions(place[:, 0])
        after = []
        for (cell, attention, feed), state, kv in zip(self._decoder, before, kept, strict=False):
            x, state = cell(x, state)
            x = feed(attention(x[:, None], kv, real)[:, 0])
            after.append(state)
        logits = F.linear(x, self._output, self._output_bias)
        if self._allowed is not None:
            logits = logits.masked_fill(~kept[-1], float("-inf"))
        return logits, (place + 1, *after)

    def _positions(self, places: Tensor) -> Tensor:
        """Sinusoids [places, width]: the sines of all frequencies, then their cosines."""
        half = self._width // 2
        angles = places[:, None] * torch.exp(torch.arange(half) * (-math.log(10_000) / (half - 1)))
        return torch.cat([angles.sin(), angles.cos()], -1)


# --- Shortlist, vocabularies, and the whole as a system ------------------------------------------------------------


class Shortlist:
    """The target tokens that Marian considers for a source: the most frequent, and those of its own tokens."""

    def __init__(self, path: Path) -> None:
        file = _Bytes(path)
        magic, _, self._first, _, words, targets = file.numbers("Q", 6)
        if magic != _SHORTLIST:
            raise ValueError("it does not begin as one")
        self._starts = np.frombuffer(file.take(8 * words), "<u8")
        self._targets = np.frombuffer(file.take(4 * targets), "<u4").astype(np.int64)

    def check(self, sources: int, targets: int) -> None:
        """ValueError unless it is of vocabularies of these sizes."""
        in_order = bool((self._starts[1:] >= self._starts[:-1]).all())
        fits = len(self._starts) == sources + 1 and self._starts[-1] <= len(self._targets)
        if not in_order or not fits or self._targets.max(initial=0) >= targets:
            raise ValueError(f"it is not of vocabularies of {sources:,} and {targets:,} tokens")

    def of(self, sources: Tensor, real: Tensor, size: int) -> Tensor:
        """Which of `size` tokens may be output for each source [n, size]."""
        allowed = torch.zeros(len(sources), size, dtype=torch.bool)
        allowed[:, : self._first] = True
        for row, source, known in zip(allowed, sources, real, strict=True):
            for token in source[known].tolist():
                row[
                    torch.from_numpy(self._targets[int(self._starts[token]) : int(self._starts[token + 1])])
                ] = True
        return allowed


def open_marian(rest: str, options: Options) -> CustomModel:
    """`marian:FOLDER?shortlist=yes&max_length=N&length_penalty=P`."""
    use_shortlist, longest = options.flag("shortlist"), options.integer("max_length", 0, least=0)
    penalty = read_length_penalty(options)
    options.refuse_unused()
    folder = Path(rest).expanduser()
    model, shortlists, vocabularies = _find(folder)
    files = SealedFiles(folder, [model, *vocabularies, *(shortlists if use_shortlist else [])])
    if use_shortlist and not shortlists:
        raise BabelscopeError(f"{folder} has no shortlist (lex*.bin); leave shortlist=yes out")
    tokens = SentencePieceTokens(SealedFiles(folder, vocabularies), vocabularies[0], vocabularies[-1])
    allowed = _read(files.paths[shortlists[0]], "a shortlist", Shortlist) if use_shortlist else None
    network = _read(files.paths[model], "a Marian model", lambda path: Bergamot(*read_items(path), allowed))
    if network.sizes != tokens.sizes:
        raise BabelscopeError(
            f"{folder}: its model has {network.sizes} source and target tokens, its vocabularies {tokens.sizes}"
        )
    if allowed is not None:
        _read(
            files.paths[shortlists[0]], "a shortlist of this model", lambda _: allowed.check(*network.sizes)
        )
    size, eos = network.sizes[1], tokens.end[1]
    vocabulary = Vocabulary(size + 1, (size,), eos, (size,), None, longest or None)
    return CustomModel(
        options.spec,
        Stepwise(network, vocabulary),
        tokens,
        digest=files.digest(),
        source_size=network.sizes[0],
        files=files,
        length_penalty=1.0 if penalty is None else penalty,
        settings={"max_length": longest or None, "shortlist": use_shortlist},
    )


def _find(folder: Path) -> tuple[str, list[str], list[str]]:
    """The names of the model, of shortlists, and of the vocabulary or those of source and target."""
    begins = {}
    for path in sorted(folder.glob("*.bin")):
        with open(path, "rb") as file:
            begins[path.name] = int.from_bytes(file.read(8), "little")
    models = [name for name, begin in begins.items() if begin == _VERSION]
    if len(models) != 1:
        raise BabelscopeError(
            f"{folder} has {len(models)} models in Marian's binary format (model*.bin), not one"
        )
    vocabularies = sorted(path.name for path in folder.glob("*.spm"))
    if len(vocabularies) == 2:
        sides = [
            [name for name in vocabularies if any(part in name for part in side)]
            for side in (("src", "source"), ("trg", "tgt", "target"))
        ]
        vocabularies = [name for side in sides for name in side]
    if len(vocabularies) not in (1, 2):
        raise BabelscopeError(
            f"{folder} must have one SentencePiece vocabulary (vocab*.spm), or two with src and trg in their names"
        )
    return models[0], [name for name, begin in begins.items() if begin == _SHORTLIST], vocabularies


def _read(path: Path, what: str, read: Callable[[Path], Any]) -> Any:
    """What `read` returns; an error that names the file if it is not what it should be."""
    try:
        return read(path)
    except (ValueError, KeyError, struct.error, UnicodeDecodeError, RuntimeError) as error:
        raise BabelscopeError(f"{path} cannot be read as {what}: {error}") from error
