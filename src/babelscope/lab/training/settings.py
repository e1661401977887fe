"""The settings of a training run."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError
from pydantic.dataclasses import dataclass

from babelscope.core.registry import did_you_mean
from babelscope.core.results import Row
from babelscope.stats.intervals import mean_and_sd
from babelscope.util.errors import BabelscopeError

Schedule = Literal["linear", "inverse-sqrt"]
"""After the warm-up the learning rate falls linearly to 0 at the last step, or with 1/sqrt(step)."""

OptimizerName = Literal["adam", "muon"]
"""Adam for all weights, or Muon for the matrices of the layers and Adam for the rest."""

Architecture = Literal["transformer", "recurrent", "convolutional", "llama"]
Norm = Literal["post", "pre"]
"""Whether layers are normalized after the residual sum or before each sublayer."""
Positions = Literal["sinusoidal", "learned"]
Vocabularies = Literal["joint", "separate"]
Count = Annotated[int, Field(ge=1, le=10**9)]
Share = Annotated[float, Field(ge=0, le=0.99)]


@dataclass(frozen=True, slots=True)
class Shape:
    """A network's architecture and size, and the defaults of its training."""

    name: str
    width: Annotated[int, Field(ge=1, le=16_384)]
    encoder_ffn: Annotated[int, Field(ge=1, le=65_536)]
    decoder_ffn: Annotated[int, Field(ge=1, le=65_536)]
    encoder_layers: Annotated[int, Field(ge=1, le=100)]
    decoder_layers: Annotated[int, Field(ge=1, le=100)]
    heads: Annotated[int, Field(ge=1, le=256)]
    activation: Literal["swish", "relu"] = "swish"
    architecture: Architecture = "transformer"
    norm: Norm = "post"
    positions: Positions = "sinusoidal"
    vocabularies: Vocabularies = "joint"
    kernel: Annotated[int, Field(ge=1, le=15)] = 3
    """Tokens that a convolution sees; of convolutional networks only."""
    dropout: float = 0.0
    learning_rate: float = 5e-4
    """At its peak, after `warmup` steps."""
    warmup: int = 4000
    schedule: Schedule = "inverse-sqrt"
    optimizer: OptimizerName = "adam"
    batch_tokens: int = 16_000
    """Most tokens a batch has on its longer side, padding included."""
    steps: int = 100_000

    def __post_init__(self) -> None:
        if self.width % 2:
            raise BabelscopeError(f"width is {self.width}; it must be even")
        if self.architecture in ("transformer", "llama") and self.width % self.heads:
            raise BabelscopeError(f"width {self.width} cannot be divided among {self.heads} heads")
        plain = (self.norm, self.positions) == ("post", "sinusoidal")
        if self.architecture == "transformer" and self.vocabularies == "separate" and not plain:
            raise BabelscopeError(
                "a Transformer with separate vocabularies has post-norm and sinusoidal positions (Marian's); "
                "for others there is no format to save it in"
            )
        if self.architecture == "recurrent" and not plain:
            raise BabelscopeError("a recurrent network has no positions, and norm=post")
        if self.architecture != "llama":
            return
        if not plain or self.vocabularies == "separate":
            raise BabelscopeError(
                "a Llama has norms, positions and a joint vocabulary of its own; leave norm, positions and "
                "vocabularies out"
            )
        if self.width // self.heads % 2:
            raise BabelscopeError(
                f"a Llama's heads have an even width, because it rotates pairs of numbers; {self.heads} heads of "
                f"{self.width} have {self.width // self.heads}"
            )


PARTS = (
    "width",
    "encoder_ffn",
    "decoder_ffn",
    "encoder_layers",
    "decoder_layers",
    "heads",
    "kernel",
    "activation",
    "architecture",
    "norm",
    "positions",
    "vocabularies",
)
"""Fields that make the network, each of which can be set by name."""


def _lab(name: str, width: int, decoder_layers: int, **recipe: Any) -> Shape:
    """A shape of the lab: two encoder layers, trained with Muon."""
    size = (width, 2 * width, 2 * width, 2, decoder_layers, 4)
    return Shape(name, *size, warmup=150, schedule="linear", optimizer="muon", **recipe)


def _paper(name: str, width: int, ffn: int, layers: int, heads: int, decoder_ffn: int = 0) -> Shape:
    """A shape of the papers: Adam at 5e-4, dropout 0.3, 16k tokens; warm-up and schedule are fairseq's defaults."""
    size = (width, ffn, decoder_ffn or ffn, layers, layers, heads)
    return Shape(name, *size, activation="relu", dropout=0.3, steps=300_000)


_TINY: dict[str, Any] = {"learning_rate": 1e-2, "warmup": 20, "schedule": "linear", "batch_tokens": 500}
SHAPES = {
    shape.name: shape
    for shape in (
        Shape("tiny", 16, 32, 32, 1, 1, 2, **_TINY, steps=200),
        # Dev loss with one seed. The teacher: 0.283 in 2,400 steps of Muon, 0.293 in 4,000 of Adam (rate 0.002). A
        # control of the student's size: 0.324 in 4,200 steps of Muon; with Adam 0.320 in 6,000 (0.003), 0.380 in
        # 3,500 (0.004). A step of Muon takes a tenth longer.
        _lab("lab-teacher", 128, decoder_layers=2, learning_rate=4.5e-3, batch_tokens=2000, steps=2400),
        _lab("lab-student", 96, decoder_layers=1, learning_rate=5e-3, batch_tokens=1000, steps=4200),
        # Decoder-only: of these sizes it has the decoder's.
        _lab(
            *("lab-llm", 128),
            decoder_layers=3,
            architecture="llama",
            learning_rate=4.5e-3,
            batch_tokens=1500,
            steps=1300,
        ),
        # minimal-pairs table 4, contrastive-conditioning table A1. Both print 8192 for big, but with a joint
        # vocabulary of 42,024 only a decoder of 4096 gives the 269.7M parameters that they print beside it.
        _paper("big", 1024, 8192, 6, 16, decoder_ffn=4096),
        _paper("small", 512, 2048, 4, 4),
        _paper("mini", 256, 1024, 4, 4),
    )
}


def find_shape(name: str) -> Shape:
    """A shape by name."""
    if name not in SHAPES:
        near = did_you_mean(name, SHAPES)
        hint = f"; {near}" if near else ""
        raise BabelscopeError(f"there is no shape {name!r}; there are {', '.join(SHAPES)}{hint}")
    return SHAPES[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """Everything that decides what a training run learns; `settings_for` fills in a shape's defaults."""

    shape: Shape
    vocabulary: Annotated[int, Field(ge=10, le=10**7)] = 1500
    """Pieces of the joint vocabulary, or of each of two, special tokens included."""
    label_smoothing: Share = 0.1
    dropout: Share
    learning_rate: Annotated[float, Field(ge=1e-9, le=10)]
    """At its peak, after `warmup` steps."""
    warmup: Annotated[int, Field(ge=0, le=10**9)]
    schedule: Schedule
    optimizer: OptimizerName
    batch_tokens: Count
    """Most tokens on a batch's longer side, padding included."""
    steps: Count
    seed: int = 1
    betas: tuple[float, float] = (0.9, 0.98)
    clip: Annotated[float, Field(ge=1e-9, le=1e9)] = 1.0
    """Largest norm of the gradient."""
    dev_every: Count = 250
    """Steps between two measurements of the development loss."""
    patience: Count = 10
    """Training ends after this many measurements without improvement."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16: mixed precision; weights, their updates, the loss and what is measured stay float32."""
    accumulate: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Batches whose gradients make one step."""
    select: Literal["loss", "bleu", "chrf"] = "loss"
    """What is measured on the development text to find the best weights, and to stop early."""
    dev_beam: Annotated[int, Field(ge=1, le=1000)] = 5
    """Size of the beam for `select`'s bleu and chrf."""
    average: Annotated[int, Field(ge=1, le=1000)] = 1
    """Measurements whose weights are averaged at the end."""
    average_of: Literal["best", "last"] = "best"
    """Which measurements those are."""
    weights: str = ""
    """Folder of a model of this shape and vocabulary that training starts from; none: new random weights."""
    ranking: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Weight of the loss that makes better translations more probable than worse ones; 0: none."""
    ranking_steps: Count = 800
    """How many of the last steps have that loss."""
    ranking_candidates: Annotated[int, Field(ge=2, le=1000)] = 8
    """Translations of a source that are compared: the network's own, from beam search."""
    longest: Annotated[int, Field(ge=2, le=512)] = 250
    """Pairs with more pieces on a side are left out, and counted."""
    half: bool = True
    """Save weights as float16; training and inference are float32."""
    languages: str = ""
    """Such as en-de; written to the tokenizer's configuration."""
    prompts: str = ""
    """Of a llama: names or TOML files of the prompts to learn, with commas between them; none: that of `llm:`."""

    def __post_init__(self) -> None:
        if self.prompts and self.shape.architecture != "llama":
            raise BabelscopeError(
                f"prompts={self.prompts} are for --set architecture=llama; a {self.shape.architecture} reads "
                "the source alone"
            )
        if self.shape.architecture in _SEARCHED:
            return
        if self.select != "loss":
            raise BabelscopeError(
                f"select={self.select} translates, which a {self.shape.architecture} in training cannot; select=loss"
            )
        if self.ranking:
            raise BabelscopeError(
                f"ranking={self.ranking:g} translates, which a {self.shape.architecture} in training cannot; "
                "leave it out"
            )

    def rate(self, step: int) -> float:
        """Learning rate of a step, counted from 1."""
        if step <= self.warmup:
            return self.learning_rate * step / self.warmup
        if self.schedule == "inverse-sqrt":
            return self.learning_rate * math.sqrt(max(1, self.warmup) / step)
        return self.learning_rate * (self.steps + 1 - step) / (self.steps + 1 - self.warmup)

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {**dataclasses.asdict(self), "betas": list(self.betas)}


_SEARCHED = ("transformer", "recurrent", "convolutional")
_WITHOUT: dict[str, frozenset[str]] = {
    "transformer": frozenset({"kernel"}),
    "recurrent": frozenset(
        {"encoder_ffn", "decoder_ffn", "heads", "kernel", "activation", "norm", "positions"}
    ),
    "convolutional": frozenset({"encoder_ffn", "decoder_ffn", "heads", "activation", "norm"}),
    "llama": frozenset({"encoder_ffn", "encoder_layers", "kernel"}),
}
"""Architecture -> parts of a shape that it does not have."""
_DEFAULTS = {field.name: field.default for field in dataclasses.fields(Shape) if field.name in PARTS}


_OPTIONS = ("shape", "vocabulary", "label_smoothing", "steps", "seed", "betas")
_NAMES = [field.name for field in dataclasses.fields(TrainingSettings) if field.name not in _OPTIONS]
SETTABLE: Mapping[str, Callable[[str], Any]] = dict.fromkeys([*_NAMES, *PARTS], str)
"""Settings that can be given as `name=value` on the command line; `settings_for` checks their values."""


def read_settings(
    given: Sequence[str], settable: Mapping[str, Callable[[str], Any]] = SETTABLE
) -> dict[str, Any]:
    """Settings from words such as `dropout=0.1`; `settable` reads the value of each name."""
    found = {}
    for word in given:
        name, _, value = word.partition("=")
        if name not in settable:
            raise BabelscopeError(
                f"{word!r} sets nothing; it must be name=value with one of {', '.join(settable)}"
            )
        try:
            found[name] = settable[name](value)
        except (ValueError, KeyError):
            raise BabelscopeError(f"{word!r}: {value!r} is no value for {name}") from None
    return found


def settings_for(shape: str | Shape, **given: Any) -> TrainingSettings:
    """Settings of a shape by name: what is given and not None, as text or as values, else the shape's defaults."""
    found = find_shape(shape) if isinstance(shape, str) else shape
    given = {name: value for name, value in given.items() if value is not None}
    parts = {name: given.pop(name) for name in PARTS if name in given}
    known = {field.name for field in dataclasses.fields(TrainingSettings)}
    if unknown := sorted(given.keys() - known):
        raise BabelscopeError(f"there is no setting {unknown[0]!r}; there are {', '.join(sorted(known))}")
    try:
        found = dataclasses.replace(found, **parts)
        for name in sorted(_WITHOUT[found.architecture] & parts.keys()):
            if getattr(found, name) != _DEFAULTS.get(name):
                raise BabelscopeError(
                    f"{name}={parts[name]} changes nothing in a {found.architecture} network"
                )
        recipe = {
            name: getattr(found, name) for name in known & {field.name for field in dataclasses.fields(Shape)}
        }
        return TrainingSettings(shape=found, **{**recipe, **given})
    except ValidationError as error:
        fault = error.errors()[0]
        said = fault["msg"].replace("Input should be", "it must be")
        raise BabelscopeError(f"{fault['loc'][-1]} is {fault['input']!r}; {said}") from None


Train = Callable[..., dict[str, Any]]
"""(folder, settings, max_minutes=) -> the card of the model that was trained there."""


def train_seeds(
    train: Train, settings: TrainingSettings, out: Path, count: int, *, max_minutes: float | None
) -> dict[int, dict[str, Any]]:
    """The cards of `count` models by seed, from the seed of `settings` up, in folders `out/seed-N`.

    A model that ran out of time is not among them; the same call goes on with it.
    """
    cards: dict[int, dict[str, Any]] = {}
    end = None if max_minutes is None else time.monotonic() + 60 * max_minutes
    for seed in range(settings.seed, settings.seed + count):
        left = None if end is None else max(0.0, end - time.monotonic()) / 60
        card = train(out / f"seed-{seed}", dataclasses.replace(settings, seed=seed), max_minutes=left)
        if card["stopped_by"] == "time":
            break
        cards[seed] = card
    return cards


def seed_rows(cards: Mapping[int, Mapping[str, Any]]) -> list[Row]:
    """Mean and standard deviation of the development figures; intervals cover other seeds, not other text."""
    figures: dict[str, list[float]] = {"dev_loss": [], "dev_perplexity": [], "steps": []}
    for card in cards.values():
        for name in figures:
            figures[name].append(card[name])
    scores = [card["dev_score"] for card in cards.values() if "dev_score" in card]
    if scores:
        figures[f"dev_{scores[0]['metric']}"] = [score["value"] for score in scores]
    return [
        Row(kind, estimate, {"figure": name})
        for name, values in figures.items()
        for kind, estimate in zip(("mean", "sd"), mean_and_sd(values, "seeds"), strict=True)
    ]
