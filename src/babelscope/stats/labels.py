"""What annotators say about translations, and how their labels are reduced to two for a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Literal

Task = Literal["mucow", "winomt", "machine-reference", "challenge", "extraction", "choice"]

# Of the conditioning paper, appendix E.
CORRECT, WRONG = "Correct Sense", "Wrong Sense"
MALE, FEMALE = "Male", "Female"
BOTH = "Both / Neutral / Ambiguous"
ILL_DEFINED = "Bad sample / Ill-defined senses"
TOO_BAD = "Translation too bad to tell"
THIRD_SENSE = f"{TOO_BAD} / Third sense"
# Of machine references (minimal pairs, section 3.3).
RIGHT, WRONG_REFERENCE = "Right", "Wrong"
# Of challenge sets (section 4.3).
TRANSLATED_RIGHT, TRANSLATED_WRONG = "Translated right", "Translated wrong"
REAL, NOT_REAL = "Real", "Not real"
# Of minimal pairs, beside the letters of the translations.
SEVERAL, NONE = "More than one", "None"
CANNOT_TELL = "Cannot tell"

LABELS: Mapping[Task, tuple[str, ...]] = {
    "mucow": (CORRECT, WRONG, BOTH, ILL_DEFINED, THIRD_SENSE),
    "winomt": (MALE, FEMALE, BOTH, TOO_BAD),
    "machine-reference": (RIGHT, WRONG_REFERENCE, CANNOT_TELL),
    "challenge": (TRANSLATED_RIGHT, TRANSLATED_WRONG, REAL, NOT_REAL, CANNOT_TELL),
    "extraction": (REAL, NOT_REAL, CANNOT_TELL),
    "choice": (*ascii_uppercase, SEVERAL, NONE, CANNOT_TELL),
}
_OTHER = {MALE: FEMALE, FEMALE: MALE}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one annotator said about one translation."""

    sample: str
    """Joins the annotators."""
    label: str
    source: str = ""
    word: str = ""
    """The ambiguous word (MuCoW)."""
    gold: str = ""
    """The gender that was asked for (WinoMT), or the letter of the correct translation (choice)."""
    row: int | None = None
    """Its row of the test set, from 0 (WinoMT)."""


Annotator = Mapping[str, Judgement]
"""An annotator's judgements by sample."""


def _mucow(judgement: Judgement) -> str | None:
    """What preserves the ambiguity is correct, what is too bad to tell is wrong (appendix E)."""
    edge_cases = {BOTH: CORRECT, THIRD_SENSE: WRONG, ILL_DEFINED: None}
    return edge_cases.get(judgement.label, judgement.label)


def _winomt(judgement: Judgement) -> str | None:
    """The same for genders; what has no gold gender is out of the study's scope (appendix E)."""
    gold = judgement.gold
    edge_cases = {BOTH: gold, TOO_BAD: _OTHER.get(gold)}
    return edge_cases.get(judgement.label, judgement.label) if gold in _OTHER else None


def _chosen(judgement: Judgement) -> str | None:
    """Whether the correct translation was chosen; what has several right ones, or none, leaves no choice."""
    if len(judgement.label) > 1 or not judgement.gold:
        return None
    return RIGHT if judgement.label == judgement.gold else WRONG_REFERENCE


def _decided(judgement: Judgement) -> str | None:
    return None if judgement.label == CANNOT_TELL else judgement.label


def _real(judgement: Judgement) -> str | None:
    return REAL if judgement.label in (TRANSLATED_RIGHT, TRANSLATED_WRONG) else _decided(judgement)


def _translated(judgement: Judgement) -> str | None:
    return judgement.label if judgement.label in (TRANSLATED_RIGHT, TRANSLATED_WRONG) else None


REDUCTIONS: Mapping[Task, Mapping[str, Callable[[Judgement], str | None]]] = {
    "mucow": {"binary": _mucow},
    "winomt": {"binary": _winomt},
    "machine-reference": {"binary": _decided},
    "challenge": {"real": _real, "binary": _translated},
    "extraction": {"binary": _decided},
    "choice": {"binary": _chosen},
}
"""How the labels of a task become two; None drops the sample. `binary` tells right from wrong."""


def reduced(annotators: Sequence[Annotator], task: Task, how: str = "binary") -> list[dict[str, Judgement]]:
    """Their common samples with two labels only; what one of them drops is dropped for all."""
    reduction = REDUCTIONS[task][how]
    labels = {
        sample: [reduction(each[sample]) for each in annotators] for sample in common_samples(annotators)
    }
    return [
        {
            sample: replace(own[sample], label=label)
            for sample, found in labels.items()
            if None not in found and (label := found[number]) is not None
        }
        for number, own in enumerate(annotators)
    ]


def is_right(judgement: Judgement, task: Task) -> bool | None:
    """Whether the translation is right, according to the annotator; None where that was left open."""
    label = REDUCTIONS[task]["binary"](judgement)
    if label is None:
        return None
    return label == judgement.gold if task == "winomt" else label in (CORRECT, RIGHT, TRANSLATED_RIGHT, REAL)


def common_samples(annotators: Sequence[Annotator]) -> list[str]:
    """The samples that all of them judged, in the order of the first."""
    first, *others = annotators
    return [sample for sample in first if all(sample in each for each in others)]
