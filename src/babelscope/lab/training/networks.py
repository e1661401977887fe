"""Creates, saves and packs networks: Transformers of four families of transformers, and plain ones of our own."""

from __future__ import annotations

import dataclasses
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from babelscope.decoding.stepwise import Encoded, States
from babelscope.lab.training.checkpoints import write_json
from babelscope.lab.training.decoder_only import FILES as PROMPT_FILES
from babelscope.lab.training.decoder_only import llama_states, new_llama
from babelscope.lab.training.settings import Shape
from babelscope.lab.training.text import EOS, FILES, Pieces, copy_tokenizer
from babelscope.util.digests import digest_files
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

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
    initialize(network)
    return network


def initialize(network: nn.Module) -> None:
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
    (folder / "model.safetensors").write_bytes(save(weights, metadata={"format": "pt"}))
    told: dict[str, Any] = dataclasses.asdict(network.config)
    write_json(folder / PLAIN, {**told, "vocabularies": list(network.config.vocabularies)})


POSITIONS = 512
"""Most tokens on either side."""

_NO_PAD = -1e9


def torch_seed(seed: int, name: str) -> int:
    """The seed of torch's generator for the purpose `name`."""
    return int(stream(seed, name).integers(2**63))


def new_network(shape: Shape, pieces: Pieces, *, dropout: float, seed: int) -> Any:
    """An untrained network, with weights as in fairseq: from transformers' own (std 0.02) it learns slowly.

    A Transformer is of the family of transformers that has its norm and positions.
    """
    target_size = pieces.size if shape.vocabularies == "joint" else pieces.target_side.size
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(seed, "lab/weights"))
        if shape.architecture == "llama":
            return new_llama(shape, pieces, dropout=dropout)
        if shape.architecture != "transformer":
            return new_plain(shape, (pieces.size, target_size), dropout=dropout, longest=POSITIONS)
        network = _new_transformer(shape, pieces, target_size, dropout)
        for module in network.modules():
            if isinstance(module, nn.Linear) and module is not network.lm_head:
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        embeddings = {
            id(table): table for table in (network.get_input_embeddings(), _target_embedding(network))
        }
        for table in embeddings.values():
            nn.init.normal_(table.weight, std=shape.width**-0.5)
        if shape.positions == "learned":
            for side in (network.model.encoder, network.model.decoder):
                nn.init.normal_(side.embed_positions.weight, std=shape.width**-0.5)
    with torch.no_grad():
        for table in embeddings.values():
            table.weight[pieces.pad] = 0
        network.final_logits_bias[0, pieces.pad] = _NO_PAD
    return network


# The families of transformers by norm and positions; all have the weights of a BART under the same names.
_FAMILIES = {
    ("post", "sinusoidal"): "Marian",
    ("post", "learned"): "Bart",
    ("pre", "sinusoidal"): "Pegasus",
    ("pre", "learned"): "MBart",
}


def _new_transformer(shape: Shape, pieces: Pieces, target_size: int, dropout: float) -> Any:
    import transformers

    family = _FAMILIES[shape.norm, shape.positions]
    joint = shape.vocabularies == "joint"
    own: dict[str, Any] = {}
    if family == "Marian":
        own = {"decoder_vocab_size": target_size, "share_encoder_decoder_embeddings": joint}
    config = getattr(transformers, f"{family}Config")(
        vocab_size=pieces.size,
        d_model=shape.width,
        encoder_ffn_dim=shape.encoder_ffn,
        decoder_ffn_dim=shape.decoder_ffn,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        activation_function=shape.activation,
        dropout=dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        max_position_embeddings=POSITIONS,
        scale_embedding=True,
        tie_word_embeddings=True,
        eos_token_id=EOS,
        pad_token_id=pieces.pad,
        bos_token_id=None,
        decoder_start_token_id=pieces.pad,
        forced_eos_token_id=None,
        **own,
    )
    kind = "MTModel" if family == "Marian" else "ForConditionalGeneration"
    return getattr(transformers, family + kind)(config)


def _target_embedding(network: Any) -> Any:
    if isinstance(network, PlainNetwork):
        return network.target
    return (
        network.model.decoder.embed_tokens
        if hasattr(network.model, "decoder")
        else network.model.embed_tokens
    )


def output_weight(network: Any) -> Tensor:
    """The output layer [vocabulary, width], which is the target embedding."""
    weight: Tensor = _target_embedding(network).weight
    return weight


def hidden_states(network: Any, source: Tensor, real: Tensor, shifted: Tensor) -> Tensor:
    """Decoder states [rows, time, width] of whole targets, for sources [rows, length] of which some ids are real."""
    if isinstance(network, PlainNetwork):
        found = network(source, real, shifted)
    elif network.config.model_type == "llama":
        found = llama_states(network, source, real, shifted)
    else:
        mask = None if bool(real.all()) else real.long()
        asked = {"input_ids": source, "attention_mask": mask, "decoder_input_ids": shifted}
        found = network.model(**asked, use_cache=False).last_hidden_state
    states: Tensor = found
    return states


def network_weights(network: Any, *, half: bool) -> dict[str, Tensor]:
    """The tensors to save, each once: tied embeddings under one name, of a Marian without positions."""
    weights = {}
    seen = set()
    # Other families' files must have their positions, even those that are computed.
    marian = not isinstance(network, PlainNetwork) and network.config.model_type == "marian"
    for name, tensor in network.state_dict().items():
        if (marian and "embed_positions" in name) or tensor.data_ptr() in seen:
            continue
        seen.add(tensor.data_ptr())
        # The bias of pad is outside the range of float16, so it stays float32.
        narrow = half and name != "final_logits_bias"
        weights[name] = (tensor.to(torch.float16) if narrow else tensor).cpu().contiguous()
    return weights


def save_network(network: Any, folder: Path, *, half: bool) -> None:
    """Write what AutoModelForSeq2SeqLM opens, or for a plain network what `lab:FOLDER` does.

    With `half` the weights take two bytes each; config.json still says float32, so that whoever loads them
    computes in float32 (transformers would otherwise follow the file into float16).
    """
    from transformers import GenerationConfig

    weights = network_weights(network, half=half)
    if isinstance(network, PlainNetwork):
        save_plain(network, weights, folder)
        return
    (folder / "model.safetensors").write_bytes(save(weights, metadata={"format": "pt"}))
    config = network.config
    config.dtype = "float32"
    config.architectures = [type(network).__name__]
    config.save_pretrained(folder)
    GenerationConfig(
        eos_token_id=config.eos_token_id,
        pad_token_id=config.pad_token_id,
        **({"decoder_start_token_id": config.decoder_start_token_id} if config.is_encoder_decoder else {}),
        forced_eos_token_id=None,
        num_beams=5,
        max_length=POSITIONS,
    ).save_pretrained(folder)


def load_weights(network: Any, folder: Path, pieces: Pieces) -> None:
    """Load what `save_network` wrote of a network of this shape and vocabulary."""
    try:
        stored = load_file(folder / "model.safetensors")
    except (OSError, SafetensorError) as error:
        raise BabelscopeError(f"{folder} has no weights to start with: {error}") from None
    vocabulary = folder / FILES[0]
    if vocabulary.exists() and vocabulary.read_bytes() != pieces.proto:
        raise BabelscopeError(f"{folder} has another vocabulary; give it as --tokenizer, too")
    own = {name: tensor.shape for name, tensor in network_weights(network, half=False).items()}
    found = {name: tensor.shape for name, tensor in stored.items()}
    if differ := sorted(name for name in own.keys() | found.keys() if own.get(name) != found.get(name)):
        raise BabelscopeError(
            f"{folder} is a model of another shape or size of vocabulary: {differ[0]} is "
            f"{list(found.get(differ[0], ()))}, not {list(own.get(differ[0], ()))}"
        )
    network.load_state_dict(stored, strict=False)


def pack_models(folders: dict[str, Path], out: Path) -> None:
    """Copy models that share one tokenizer to `out/NAME`, and the tokenizer once to `out/tokenizer`.

    Decoder-only ones have the same vocabulary in files of their own, beside their weights.
    """
    prompted = {name for name, folder in folders.items() if (folder / PROMPT_FILES[0]).exists()}
    tokenizers = {
        name: digest_files([folder / file for file in FILES])
        for name, folder in folders.items()
        if name not in prompted
    }
    if len(set(tokenizers.values())) > 1:
        raise BabelscopeError(f"these models do not share one tokenizer: {', '.join(folders)}")
    (out / "tokenizer").mkdir(parents=True, exist_ok=True)
    copy_tokenizer(folders[next(iter(tokenizers))], out / "tokenizer")
    for name, folder in folders.items():
        (out / name).mkdir(exist_ok=True)
        own = PROMPT_FILES if name in prompted else ()
        for file in ("config.json", "generation_config.json", "model.safetensors", "card.json", *own):
            shutil.copy(folder / file, out / name)
