"""The settings of a training run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from babelscope.lab.training.shapes import (
    CHOICES,
    PARTS,
    OptimizerName,
    Schedule,
    Shape,
    check_fields,
    find_shape,
)
from babelscope.util.errors import BabelscopeError


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """Everything that decides what a training run learns; `settings_for` fills in a shape's defaults."""

    shape: Shape
    vocabulary: int = 1500
    """Pieces of the joint vocabulary, or of each of two, special tokens included."""
    label_smoothing: float = 0.1
    dropout: float
    learning_rate: float
    """At its peak, after `warmup` steps."""
    warmup: int
    schedule: Schedule
    optimizer: OptimizerName
    batch_tokens: int
    """Most tokens on a batch's longer side, padding included."""
    steps: int
    seed: int = 1
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0
    """Largest norm of the gradient."""
    dev_every: int = 250
    """Steps between two measurements of the development loss."""
    patience: int = 10
    """Training ends after this many measurements without improvement."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16: mixed precision; weights, their updates, the loss and what is measured stay float32."""
    accumulate: int = 1
    """Batches whose gradients make one step."""
    select: Literal["loss", "bleu", "chrf"] = "loss"
    """What is measured on the development text to find the best weights, and to stop early."""
    dev_beam: int = 5
    """Size of the beam for `select`'s bleu and chrf."""
    average: int = 1
    """Measurements whose weights are averaged at the end."""
    average_of: Literal["best", "last"] = "best"
    """Which measurements those are."""
    longest: int = 250
    """Pairs with more pieces on a side are left out, and counted."""
    half: bool = True
    """Save weights as float16; training and inference are float32."""
    languages: str = ""
    """Such as en-de; written to the tokenizer's configuration."""
    prompts: str = ""
    """Of a llama: names or TOML files of the prompts to learn, with commas between them; none: that of `llm:`."""

    def __post_init__(self) -> None:
        check_fields(self, _BOUNDS, _NAMES)
        if self.prompts and self.shape.architecture != "llama":
            raise BabelscopeError(
                f"prompts={self.prompts} are for --family llama; a {self.shape.architecture} reads the source alone"
            )
        if self.select != "loss" and self.shape.architecture not in _SEARCHED:
            raise BabelscopeError(
                f"select={self.select} translates, which a {self.shape.architecture} in training cannot; select=loss"
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


_BOUNDS: dict[str, tuple[float, float]] = {
    "vocabulary": (10, 1e7),
    "label_smoothing": (0, 0.99),
    "dropout": (0, 0.99),
    "learning_rate": (1e-9, 10),
    "warmup": (0, 1e9),
    "batch_tokens": (1, 1e9),
    "steps": (1, 1e9),
    "dev_every": (1, 1e9),
    "patience": (1, 1e9),
    "accumulate": (1, 100_000),
    "dev_beam": (1, 1000),
    "average": (1, 1000),
    "longest": (2, 512),
    "clip": (1e-9, 1e9),
}
_NAMES = {
    "schedule": ("linear", "inverse-sqrt"),
    "optimizer": ("adam", "muon"),
    "precision": ("float32", "bfloat16"),
    "select": ("loss", "bleu", "chrf"),
    "average_of": ("best", "last"),
}
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


_PARSERS: dict[str, Callable[[str], Any]] = {
    "float": float,
    "int": int,
    "bool": lambda text: {"True": True, "False": False}[text],
}
_OPTIONS = ("shape", "vocabulary", "label_smoothing", "steps", "seed", "betas")
SETTABLE: dict[str, Callable[[str], Any]] = {
    **{
        field.name: _PARSERS.get(str(field.type), str)
        for field in dataclasses.fields(TrainingSettings)
        if field.name not in _OPTIONS
    },
    **{name: str if name in CHOICES else int for name in PARTS},
}
"""Setting -> parser of its value, for `name=value` on the command line."""


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """Settings from words such as `dropout=0.1`."""
    found = {}
    for word in given:
        name, _, value = word.partition("=")
        if name not in SETTABLE:
            raise BabelscopeError(
                f"{word!r} sets nothing; it must be name=value with one of {', '.join(SETTABLE)}"
            )
        try:
            found[name] = SETTABLE[name](value)
        except (ValueError, KeyError):
            raise BabelscopeError(f"{word!r}: {value!r} is no value for {name}") from None
    return found


def settings_for(shape: str | Shape, **given: Any) -> TrainingSettings:
    """Settings of a shape by name: what is given and not None, else the shape's defaults."""
    found = find_shape(shape) if isinstance(shape, str) else shape
    parts = {name: given.pop(name) for name in PARTS if name in given}
    parts = {name: part for name, part in parts.items() if part is not None}
    found = dataclasses.replace(found, **parts)
    for name in sorted(_WITHOUT[found.architecture] & parts.keys()):
        if parts[name] != _DEFAULTS.get(name):
            raise BabelscopeError(f"{name}={parts[name]} changes nothing in a {found.architecture} network")
    known = {field.name for field in dataclasses.fields(TrainingSettings)}
    if unknown := sorted(given.keys() - known):
        raise BabelscopeError(f"there is no setting {unknown[0]!r}; there are {', '.join(sorted(known))}")
    recipe = {
        name: getattr(found, name) for name in known & {field.name for field in dataclasses.fields(Shape)}
    }
    return TrainingSettings(
        shape=found, **{**recipe, **{name: v for name, v in given.items() if v is not None}}
    )
