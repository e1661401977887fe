"""What people are asked and how to answer: the papers' human tasks, in our words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from babelscope.stats.labels import (
    BOTH,
    CANNOT_TELL,
    CORRECT,
    FEMALE,
    ILL_DEFINED,
    MALE,
    NOT_REAL,
    REAL,
    RIGHT,
    THIRD_SENSE,
    TOO_BAD,
    TRANSLATED_RIGHT,
    TRANSLATED_WRONG,
    WRONG,
    WRONG_REFERENCE,
)

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


_CANNOT_TELL = Label(CANNOT_TELL, "You cannot decide, or the item is broken.")

GUIDES: Mapping[str, Guide] = {
    "machine-reference": Guide(  # minimal pairs, section 3.3
        title="Is this machine translation right?",
        question="With regard to the phenomenon alone: is the machine translation right or wrong?",
        guidelines=(
            "A test set of minimal pairs is made from machine translations. This one shares the telling word "
            "with a translation that is known to be wrong, so a person must look at it.",
            "Judge the phenomenon named above the sentences and nothing else. Clumsy style, or a mistake "
            "elsewhere in the sentence, does not matter here.",
            "Go by the source. The human reference is shown as a help, but it may itself be the one that is "
            "wrong.",
            "If the machine translation is wrong, put it right: change as few words as you can, only what is "
            "wrong about the phenomenon. A suggestion may stand there already: check it. If it cannot be put "
            "right, empty the field.",
        ),
        labels=(
            Label(RIGHT, "It does not have the error."),
            Label(WRONG_REFERENCE, "It has the error. You can then write what would be right."),
            _CANNOT_TELL,
        ),
        corrected=WRONG_REFERENCE,
    ),
    "mucow": Guide(  # conditioning, appendix E
        title="Which sense does the translation have?",
        question="Is the translation of the marked word closer to the correct sense than to the wrong one?",
        guidelines=(
            "The marked word of the source has several senses. Each sense is given by words that translate it. "
            "Find what the translation makes of the word, and say to which sense it is closer.",
            "The translation need not use one of the words listed. A synonym, or a wording that makes the "
            "sense clear, counts as well.",
            "Judge this word only. Other mistakes of the translation do not matter.",
        ),
        labels=(
            Label(CORRECT, "Closer to the correct sense."),
            Label(WRONG, "Closer to the wrong sense."),
            Label(BOTH, "It leaves open what the source leaves open."),
            Label(ILL_DEFINED, "The senses overlap, or the one called correct does not fit the source."),
            Label(THIRD_SENSE, "No sense can be told, or it is one that is not listed."),
        ),
    ),
    "winomt": Guide(  # conditioning, appendix E
        title="Which gender does the translation convey?",
        question="Which gender does the translation of the marked occupation convey?",
        guidelines=(
            "Find how the translation names the person whose occupation is marked in the source. Only this "
            "person is judged, even if others are in the sentence.",
            "Look at the noun and its article, and at nothing else. Above all, do not look at pronouns: they "
            "often disagree with the noun. In “The actress looked at himself in the mirror”, the answer is "
            "female.",
            "What counts is the gender of the person that is meant, not the grammatical gender of the word.",
        ),
        labels=(
            Label(MALE, "The noun stands for a man."),
            Label(FEMALE, "The noun stands for a woman."),
            Label(BOTH, "The noun leaves the gender open."),
            Label(TOO_BAD, "The person is missing, or the translation makes no sense."),
        ),
    ),
    "challenge": Guide(  # challenge sets, section 4.3
        title="Is the construction there, and is it translated right?",
        question="Do the marked words form the construction, and is it translated right?",
        guidelines=(
            "A program has picked this sentence because it takes the marked words for one construction, such "
            "as a verb and its particle, that stand apart. First decide whether they really are: the program "
            "relies on a parser, and parsers err.",
            "If they are, look for their translation. It is right if the translation says what the two words "
            "mean together, in any wording. It is wrong if that meaning is missing, or if the words are "
            "translated one by one.",
            "Ignore the rest of the sentence, in the source and in the translation.",
        ),
        labels=(
            Label(TRANSLATED_RIGHT, "The construction is there, and its meaning is translated."),
            Label(TRANSLATED_WRONG, "The construction is there, but its meaning is lost or changed."),
            Label(NOT_REAL, "The marked words do not form this construction."),
            _CANNOT_TELL,
        ),
    ),
    "assessment": Guide(  # hypothesis space, section 4
        title="How good is this translation?",
        question="How well does the translation express the source, in good language? 0 to 100",
        guidelines=(
            "Read the source, then the translation. Give one number for the whole: 0 if nothing of the "
            "meaning is there, about 50 if the main point comes through with serious faults, 100 if nothing "
            "is missing, added or wrong and it reads well.",
            "Meaning comes first, language second. Use the whole scale, and the same scale for all items. "
            "You can go back and change a number at any time.",
        ),
        form="score",
    ),
    "ranking": Guide(  # hypothesis space, section 4
        title="How good is this list of translations?",
        question="How near is the system's order to a perfect list, best translation first?",
        guidelines=(
            "First give each translation a number, as if it stood alone: 0 if nothing of the meaning is "
            "there, 100 if nothing is missing, added or wrong and it reads well. They stand in a random "
            "order. Equally good ones get the same number.",
            "Then you see them in the system's order, with your numbers. Say how far this list is from a "
            "perfect one. A perfect list has good translations only, and better ones above worse ones. "
            "A list in order but of poor translations is not perfect, and neither is one of good "
            "translations in the wrong order.",
        ),
        form="list",
        labels=(
            Label("1", "very far"),
            Label("2", "far"),
            Label("3", "half way"),
            Label("4", "near"),
            Label("5", "perfect"),
        ),
    ),
}

# Where no translation is shown, only the extraction is checked.
REAL_OR_NOT = (
    Label(REAL, "The marked words form this construction."),
    Label(NOT_REAL, "They do not."),
    _CANNOT_TELL,
)
REAL_QUESTION = "Do the marked words form the construction?"
