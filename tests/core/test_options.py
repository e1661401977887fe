"""Options of a command, made from the fields of a settings class."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from babelscope.core.options import Option, options_of
from babelscope.methods.base import Settings

Order = Literal["up", "down"]


class Chosen(Settings):
    size: int
    """How large
    it is."""
    order: Order = "up"
    at_most: float | None = Field(default=None, gt=0)
    least: Annotated[int, Field(ge=1)] = 3
    wide: bool = False
    names: tuple[str, ...] = ("a",)
    orders: Annotated[tuple[Order, ...], Field(min_length=1)] = ("up",)
    steps: tuple[Annotated[int, Field(ge=2)], ...] = Field((2, 3), description="How far.")


def test_every_field_is_an_option_of_its_type() -> None:
    assert options_of(Chosen) == [
        Option("size", "How large it is.", int, required=True, setting="size"),
        Option("order", default="up", choices=("up", "down"), setting="order"),
        Option("at-most", kind=float, setting="at_most"),
        Option("least", kind=int, default=3, minimum=1, setting="least"),
        Option("wide", kind=bool, default=False, setting="wide"),
        Option("names", repeat=True, setting="names"),
        Option("orders", choices=("up", "down"), repeat=True, setting="orders"),
        Option("steps", "How far.", int, minimum=2, repeat=True, setting="steps"),
    ]
