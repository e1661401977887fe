"""Sizes of models by name, each with the defaults of its training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from babelscope.core.registry import did_you_mean
from babelscope.util.errors import BabelscopeError

Schedule = Literal["linear", "inverse-sqrt"]
"""After the warm-up the learning rate falls linearly to 0 at the last step, or with 1/sqrt(step)."""

OptimizerName = Literal["adam", "muon"]
"""Adam for all weights, or Muon for the matrices of the layers and Adam for the rest."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A Transformer's size, and the defaults of its training."""

    name: str
    width: int
    encoder_ffn: int
    decoder_ffn: int
    encoder_layers: int
    decoder_layers: int
    heads: int
    activation: Literal["swish", "relu"] = "swish"
    dropout: float = 0.0
    learning_rate: float = 5e-4
    """At its peak, after `warmup` steps."""
    warmup: int = 4000
    schedule: Schedule = "inverse-sqrt"
    optimizer: OptimizerName = "adam"
    batch_tokens: int = 16_000
    """Most tokens a batch has on its longer side, padding included."""
    steps: int = 100_000


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
