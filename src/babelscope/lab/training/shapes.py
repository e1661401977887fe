"""Sizes of models by name, each with the defaults of its training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from babelscope.core.registry import did_you_mean
from babelscope.util.errors import BabelscopeError

Schedule = Literal["linear", "inverse-sqrt"]
"""After the warm-up the learning rate falls linearly to 0 at the last step, or with 1/sqrt(step)."""

OptimizerName = Literal["adam", "muon"]
"""Adam for all weights, or Muon for the matrices of the layers and Adam for the rest."""

Architecture = Literal["transformer", "recurrent", "convolutional", "llama"]
Norm = Literal["post", "pre"]
"""Whether layers are normalised after the residual sum or before each sublayer."""
Positions = Literal["sinusoidal", "learned"]
Vocabularies = Literal["joint", "separate"]


@dataclass(frozen=True, slots=True)
class Shape:
    """A network's architecture and size, and the defaults of its training."""

    name: str
    width: int
    encoder_ffn: int
    decoder_ffn: int
    encoder_layers: int
    decoder_layers: int
    heads: int
    activation: Literal["swish", "relu"] = "swish"
    architecture: Architecture = "transformer"
    norm: Norm = "post"
    positions: Positions = "sinusoidal"
    vocabularies: Vocabularies = "joint"
    kernel: int = 3
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
        check_fields(self, _BOUNDS, CHOICES)
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


_BOUNDS: dict[str, tuple[float, float]] = {
    "width": (1, 16_384),
    "encoder_ffn": (1, 65_536),
    "decoder_ffn": (1, 65_536),
    "encoder_layers": (1, 100),
    "decoder_layers": (1, 100),
    "heads": (1, 256),
    "kernel": (1, 15),
}
CHOICES: dict[str, tuple[str, ...]] = {
    "activation": ("swish", "relu"),
    "architecture": get_args(Architecture),
    "norm": get_args(Norm),
    "positions": get_args(Positions),
    "vocabularies": get_args(Vocabularies),
}
PARTS = (*_BOUNDS, *CHOICES)
"""Fields that make the network, each of which can be set by name."""


def check_fields(
    made: Any, bounds: Mapping[str, tuple[float, float]], choices: Mapping[str, Sequence[str]]
) -> None:
    """Refuse a number that is out of its bounds, and a name that is none of its choices."""
    for name, (low, high) in bounds.items():
        if not low <= (value := getattr(made, name)) <= high:
            raise BabelscopeError(f"{name} is {value}; it must be between {low:g} and {high:g}")
    for name, known in choices.items():
        if (value := getattr(made, name)) not in known:
            raise BabelscopeError(f"{name} is {value!r}; it must be {' or '.join(known)}")


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
