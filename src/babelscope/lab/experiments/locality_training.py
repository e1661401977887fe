"""Trains and tests one network of the locality experiment."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from babelscope.core.registry import Options
from babelscope.core.results import Estimate
from babelscope.core.system import Scored
from babelscope.decoding.model import Vocabulary
from babelscope.decoding.stepwise import Encoded, States, Stepwise
from babelscope.lab.experiments.locality import (
    MODELS,
    SETTINGS,
    TOKEN_PLACES,
    Pair,
    Plan,
    Trial,
    arrange_source,
    joined,
    read_plan,
    source_positions,
    splitter,
    with_tokens,
)
from babelscope.lab.training.checkpoints import write_json
from babelscope.lab.training.loop import smoothed_cross_entropy, training_numerics
from babelscope.lab.training.networks import initialize, sinusoids, torch_seed
from babelscope.metrics.corpus import corpus_estimate
from babelscope.systems.models.custom import CustomModel
from babelscope.util.digests import SealedFiles
from babelscope.util.errors import BabelscopeError, RefusedText, SystemFailure
from babelscope.util.seeds import stream
from babelscope.util.text import shorten

Positions = Literal["learned", "sine"]


class Transformer(nn.Module):
    """An encoder-decoder whose source positions are learned or sinusoidal; target positions are sinusoidal.

    `order[i]` is the position embedding of the i-th source token. It is added to the word's, or with `concatenate`
    each of the two has half of the width.
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
        concatenate: bool = False,
    ) -> None:
        super().__init__()
        half = width // 2 if concatenate else width
        self.concatenate = concatenate
        self.source, self.target = nn.Embedding(vocabularies[0], half), nn.Embedding(vocabularies[1], width)
        table = sinusoids(len(order), half)
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
        initialize(self)

    def encode(self, source: Tensor) -> Tensor:
        """Source ids [batch, length] to states [batch, length, width]."""
        words, places = self.source(source) * self.scale, self.positions[self.order]
        joined = torch.cat([words, places.expand_as(words)], -1) if self.concatenate else words + places
        states: Tensor = self.encoder(self.dropout(joined))
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
        initialize(self)

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


START, END, UNKNOWN = 0, 1, 2
_EXTRA_WORDS = 10  # a translation may be this much longer than the longest training target
_SENTENCES_AT_ONCE = 250  # sentences translated together


class WordList:
    """Maps words to ids; words not seen in training are unknown."""

    def __init__(self, words: list[str]) -> None:
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words) or len(words) < 3:
            raise ValueError("its list of words is none")
        self.words = words
        self._numbers = {word: number for number, word in enumerate(words)}

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> WordList:
        """The words of some sentences."""
        return cls(["<s>", "</s>", "<unk>", *sorted({word for words in sentences for word in words})])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str]) -> list[int]:
        return [self._numbers.get(word, UNKNOWN) for word in words]


def train_trial(plan: Plan, trial: Trial, pairs: Sequence[Pair], keep: Path | None = None) -> dict[str, Any]:
    """Train the network of a trial; return its BLEU on the test sentences, losses, sizes and times.

    The network is kept in the folder `keep`.
    """
    began = time.process_time()
    if trial.setting in TOKEN_PLACES:
        pairs = with_tokens(pairs)
    training, dev = pairs[: plan.sentences], pairs[plan.sentences : plan.sentences + plan.dev]
    test = pairs[plan.sentences + plan.dev :]
    lists = WordList.of(source for source, _ in training), WordList.of(target for _, target in training)
    longest = max(len(target) for _, target in training) + _EXTRA_WORDS
    # All settings of a repetition share one seed, so that they differ in nothing but the order.
    seed = torch_seed(plan.seed, f"locality/{trial.model}/{trial.repetition}")

    def translated(network: Network, asked: Sequence[Pair]) -> list[list[int]]:
        rows: list[list[int]] = []
        sources = _sources(asked, plan, trial, lists[0])
        for start in range(0, len(asked), _SENTENCES_AT_ONCE):
            some = sources[start : start + _SENTENCES_AT_ONCE]
            rows += greedy(network, some, begin=START, end=END, longest=longest)
        return rows

    def bleu(rows: Sequence[Sequence[int]], asked: Sequence[Pair]) -> Estimate:
        words = [[lists[1].words[number] for number in row] for row in rows]
        references = [[joined(target, plan.pieces)] for _, target in asked]
        return corpus_estimate("bleu", [joined(row, plan.pieces) for row in words], references)

    with training_numerics(1):
        torch.manual_seed(seed)
        network = new_network(plan, trial, (len(lists[0]), len(lists[1])), longest)
        sources = _sources(training, plan, trial, lists[0])
        score = (lambda: bleu(translated(network, dev), dev).value) if dev else None
        best = Best(score, network, plan.patience)
        loss = _train(network, plan, trial, sources, _targets(training, lists[1]), best.measure)
        best.restore()
        trained = time.process_time()
        rows = translated(network, test)
    if keep:
        save_trial(keep, plan, trial, network, lists, longest)
    found = bleu(rows, test)
    return {
        **{name: value for name, value in found.as_json().items() if name in ("low", "high", "no_interval")},
        "bleu": found.value,
        "sentences": found.n,
        "unfinished": sum(len(row) == longest for row in rows),
        "unknown_words": int((_sources(test, plan, trial, lists[0]) == UNKNOWN).sum()),
        "parameters": sum(weight.numel() for weight in network.parameters()),
        "loss": loss,
        **({"dev_bleu": best.scores, "best_epoch": best.epoch} if dev else {}),
        "seconds": {"training": trained - began, "testing": time.process_time() - trained},
    }


class Best:
    """Keeps the weights of the epoch with the highest development score, the first of equal ones."""

    def __init__(self, score: Callable[[], float] | None, network: Network, patience: int = 0) -> None:
        self._score, self._network, self._patience = score, network, patience
        self._weights: dict[str, Tensor] = {}
        self.scores: list[float] = []
        self.epoch = 0

    def measure(self) -> bool:
        """Score the network after an epoch; True if there were `patience` epochs without a better score."""
        if self._score is None:
            return False
        self.scores.append(self._score())
        if self.scores[-1] > max(self.scores[:-1], default=-1.0):
            self.epoch = len(self.scores)
            self._weights = {name: each.clone() for name, each in self._network.state_dict().items()}
        return 0 < self._patience <= len(self.scores) - self.epoch

    def restore(self) -> None:
        if self._weights:
            self._network.load_state_dict(self._weights)


def new_network(plan: Plan, trial: Trial, sizes: tuple[int, int], longest: int) -> Network:
    if trial.model == "bilstm":
        return Recurrent(sizes, width=plan.width, dropout=plan.dropout)
    return Transformer(
        sizes,
        source_positions(trial.setting, plan.permutation),
        trial.model,
        width=plan.width,
        heads=plan.heads,
        layers=plan.layers,
        dropout=plan.dropout,
        longest=longest,
        concatenate=plan.join == "concatenate",
    )


def _sources(pairs: Sequence[Pair], plan: Plan, trial: Trial, vocabulary: WordList) -> Tensor:
    """Sources as the encoder reads them [sentences, length]."""
    rows = [vocabulary.encode(arrange_source(source, trial.setting, plan.permutation)) for source, _ in pairs]
    return torch.tensor(rows)


def _targets(pairs: Sequence[Pair], vocabulary: WordList) -> Tensor:
    """Target ids with EOS [sentences, longest], padded with -1."""
    rows = [[*vocabulary.encode(target), END] for _, target in pairs]
    filled = torch.full((len(rows), max(map(len, rows))), -1)
    for number, row in enumerate(rows):
        filled[number, : len(row)] = torch.tensor(row)
    return filled


def _train(
    network: Network,
    plan: Plan,
    trial: Trial,
    sources: Tensor,
    targets: Tensor,
    is_enough: Callable[[], bool],
) -> float:
    """Train for all epochs, or until one `is_enough`; return the mean loss of the last, in nats per token.

    Label smoothing is part of it.
    """
    optimizer = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    order = stream(plan.seed, f"locality/order/{trial.repetition}")
    lengths = (targets >= 0).sum(1)
    an_epoch = -(-len(sources) // plan.batch)
    steps, step = plan.epochs * an_epoch, 0
    losses: list[float] = []
    for _ in range(plan.epochs):
        network.train()
        losses = []
        for rows in np.array_split(order.permutation(len(sources)), an_epoch):
            step += 1
            chosen = torch.from_numpy(rows)
            target = targets[chosen][:, : int(lengths[chosen].max())]
            hidden, labels = _hidden(network, sources[chosen], target)
            loss = smoothed_cross_entropy(hidden, network.target.weight, labels, plan.label_smoothing)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            norm = torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            if not bool(torch.isfinite(norm)):
                raise SystemFailure(f"{trial.file}: the loss is no longer finite at step {step}")
            for group in optimizer.param_groups:
                group["lr"] = _rate(plan, step, steps)
            optimizer.step()
            losses.append(float(loss.detach()))
        if is_enough():
            break
    return sum(losses) / len(losses)


def _rate(plan: Plan, step: int, steps: int) -> float:
    """Learning rate of a step, counted from 1: linear warm-up, then linear decay to 0."""
    warmup = min(plan.warmup, steps)
    if step <= warmup:
        return plan.learning_rate * step / warmup
    return plan.learning_rate * (steps + 1 - step) / (steps + 1 - warmup)


def _hidden(network: Network, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Decoder states [tokens, width] and labels [tokens], padding left out."""
    start = torch.full((len(target), 1), START)
    shifted = torch.cat([start, target[:, :-1].clamp(min=START)], dim=1)
    hidden = network.decode(network.encode(source), shifted).flatten(0, 1)
    labels = target.flatten()
    real = labels >= 0
    return hidden[real], labels[real]


# --- The networks of the locality experiment, kept in folders and opened as systems --------------------------------


KEPT = "locality.json"
_WEIGHTS = "model.safetensors"
_MODELS = ("source.spm", "target.spm")
_MOST_JSON = 64_000_000


class Prefixes:
    """`encode` and `step` of a network that reads whole prefixes; a state is the prefix itself."""

    def __init__(self, network: Network, longest: int) -> None:
        self._network, self._longest = network, longest

    def encode(self, source: Tensor, real: Tensor) -> tuple[Encoded, States]:  # noqa: ARG002
        prefix = torch.full((len(source), self._longest), START)
        return (self._network.encode(source),), (prefix, torch.zeros((len(source), 1), dtype=torch.int64))

    def step(self, encoded: Encoded, states: States, tokens: Tensor) -> tuple[Tensor, States]:
        prefix, place = states
        prefix = prefix.scatter(1, place, tokens[:, None])
        read = prefix[:, : int(place.max()) + 1]  # what comes after a place changes nothing there
        hidden = self._network.decode(encoded[0], read)[torch.arange(len(read)), place[:, 0]]
        return hidden @ self._network.target.weight.t(), (prefix, place + 1)


class WordTokens:
    """The tokenizer of such a network: words or pieces, a list of them a side, the source arranged as in training."""

    target_language_id = None

    def __init__(self, files: SealedFiles, plan: Plan, trial: Trial, lists: Sequence[WordList]) -> None:
        self.files = files
        self._plan, self._trial = plan, trial
        self._source, self._target = lists
        models = [files.paths[name].read_bytes() if plan.pieces else None for name in _MODELS]
        self._split = [splitter(model) for model in models]

    @property
    def digest(self) -> str:
        return self.files.digest()

    def encode_sources(self, texts: Sequence[str]) -> list[list[int]]:
        rows = []
        for number, text in enumerate(texts, 1):
            words = self._split[0](text)
            length = self._plan.length + (self._trial.setting in TOKEN_PLACES)
            if len(words) != length:
                reason = f"has {len(words)} tokens, but this network reads sources of {length}"
                raise RefusedText("source", number, f"{reason}: {shorten(text)}")
            arranged = arrange_source(words, self._trial.setting, self._plan.permutation)
            rows.append(self._source.encode(arranged))
        return rows

    def encode_targets(self, texts: Sequence[str], *, eos: int) -> list[list[int]]:
        return [[*self._target.encode(self._split[1](text)), eos] for text in texts]

    def source_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self._source.words[number] for number in ids]

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._target.words[number] for number in ids)

    def has_unnamed(self, _ids: Sequence[int]) -> bool:
        return False  # every output is a word of the list

    def ids_of(self, scored: Scored) -> list[int]:
        ids = self._target.encode(scored.tokens)
        if not scored.tokens or self.tokens(ids) != scored.tokens:
            raise BabelscopeError(
                f"{shorten(scored.text)} has other tokens than this network; score its text"
            )
        return ids

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        special = (START, END, UNKNOWN)
        kept = [[self._target.words[number] for number in row if number not in special] for row in rows]
        return [joined(words, self._plan.pieces) for words in kept]


def save_trial(
    folder: Path, plan: Plan, trial: Trial, network: Network, lists: Sequence[WordList], longest: int
) -> None:
    """Keep a network in a folder of its own; the experiment's sentencepiece models are copied beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    (folder / _WEIGHTS).write_bytes(save(weights, metadata={"format": "pt"}))
    for name in _MODELS if plan.pieces else ():
        (folder / name).write_bytes((folder.parent.parent / name).read_bytes())
    words = {"source": lists[0].words, "target": lists[1].words}
    made = {"repetition": trial.repetition, "model": trial.model, "setting": trial.setting}
    write_json(folder / KEPT, {"plan": plan.as_json(), **made, "longest": longest, "words": words})


def open_locality(name: str, folder: Path, options: Options | None) -> CustomModel:
    """The system in a folder that `save_trial` wrote."""
    if options:
        options.refuse_unused()
    told = SealedFiles(folder, [KEPT]).read_json(KEPT, most=_MOST_JSON)
    try:
        plan = read_plan(told["plan"])
        trial = Trial(int(told["repetition"]), told["model"], told["setting"])
        lists = [WordList(told["words"][side]) for side in ("source", "target")]
        longest = int(told["longest"])
        bounds = {"width": 16_384, "heads": 256, "layers": 100, "length": 10_000}
        sizes = [(longest, 10_000), *((getattr(plan, name), most) for name, most in bounds.items())]
        if not all(type(size) is int and 1 <= size <= most for size, most in sizes):
            raise ValueError("its numbers are out of bounds")
        if trial.model not in MODELS or trial.setting not in (*SETTINGS, *TOKEN_PLACES):
            raise ValueError("its model or its setting is unknown")
        with torch.device("meta"):
            expected = new_network(plan, trial, (len(lists[0]), len(lists[1])), longest).state_dict()
        files = SealedFiles(folder, [KEPT, _WEIGHTS, *(_MODELS if plan.pieces else ())])
        tensors = load_file(files.paths[_WEIGHTS])
        if {key: each.shape for key, each in tensors.items()} != {
            k: each.shape for k, each in expected.items()
        }:
            raise ValueError(f"{_WEIGHTS} has tensors of another network")
    except (KeyError, TypeError, ValueError, SafetensorError, json.JSONDecodeError) as error:
        raise BabelscopeError(f"{folder} has no network of `lab locality`: {error}") from None
    network = new_network(plan, trial, (len(lists[0]), len(lists[1])), longest)
    network.load_state_dict(tensors)
    length = len(source_positions(trial.setting, plan.permutation))
    vocabulary = Vocabulary(len(lists[1]), (START,), END, (START,), length, longest)
    model = Stepwise(Prefixes(network.eval().requires_grad_(False), longest), vocabulary)
    try:
        tokens: Any = WordTokens(files, plan, trial, lists)
    except RuntimeError as error:  # sentencepiece's word for a file that is no model
        raise BabelscopeError(f"{folder}: its sentencepiece models cannot be read: {error}") from None
    return CustomModel(
        *(name, model, tokens),
        digest=files.digest(),
        source_size=len(lists[0]),
        source_length=model.vocabulary.source_limit or 0,
        files=files,
    )
