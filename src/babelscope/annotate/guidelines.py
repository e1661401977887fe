"""What people are asked and how to answer: the papers' human tasks, in our words, from guidelines.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from babelscope.stats.labels import CANNOT_TELL, NOT_REAL, REAL

Form = Literal["label", "score", "list"]
"""How an answer is given: one of several labels, a number from 0 to 100, or such a number for each of a list."""


@dataclass(frozen=True, slots=True)
class Label:
    """One of the answers to choose from: what is stored, and what it means."""

    value: str
    hint: str


@dataclass(frozen=True, slots=True)
class Guide:
    """A kind of task: the question and the guidelines, as an annotator reads them."""

    title: str
    question: str
    guidelines: tuple[str, ...]
    form: Form = "label"
    labels: tuple[Label, ...] = ()
    corrected: str | None = None
    """The label with which a better translation may be written."""


def _read_guides() -> dict[str, Guide]:
    tables = tomllib.loads(Path(__file__).with_name("guidelines.toml").read_text("utf-8"))
    made = {}
    for kind, table in tables.items():
        labels = tuple(Label(*each) for each in table.pop("labels", ()))
        made[kind] = Guide(guidelines=tuple(table.pop("guidelines")), labels=labels, **table)
    return made


GUIDES: Mapping[str, Guide] = _read_guides()

# Where no translation is shown, only the extraction is checked.
REAL_OR_NOT = (
    Label(REAL, "The marked words form this construction."),
    Label(NOT_REAL, "They do not."),
    Label(CANNOT_TELL, "You cannot decide, or the item is broken."),
)
REAL_QUESTION = "Do the marked words form the construction?"
