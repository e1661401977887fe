"""The questions of a forced choice by answer, and what an answer says."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from babelscope.core.replies import Replies
from babelscope.core.results import Record
from babelscope.systems.asking import ask_reply

Letter = Literal["A", "B"]
BETTER = (
    "Here are a text and two translations of it.\n\nText: {source}\n\nTranslation A: {first}\n\n"
    "Translation B: {second}\n\nWhich translation is better? Answer with A or B, and nothing else."
)
RENDERED = (
    "Here are a translation and two texts.\n\nTranslation: {translation}\n\nText A: {first}\n\nText B: {second}\n\n"
    "Of which text is it the better translation? Answer with A or B, and nothing else."
)
# The letter by itself, after a word for it at most: "A", "(b)" is none, "**B**", "Answer: A.", "Translation B".
_LETTER = re.compile(r"\W*(?:(?i:the|answer|translation|text|option|is)\W+)*([AB])\W*")
_KEPT = 200
"""Characters of an answer that are stored; a longer one is never a letter."""


def fill(prompt: str, texts: Mapping[str, str]) -> str:
    """The prompt with its places filled, all at once: a text may itself have something in braces."""
    return re.sub(r"\{(\w+)\}", lambda place: texts.get(place[1], place[0]), prompt)


def letter_of(reply: Mapping[str, str]) -> Letter | None:
    """The letter that an answer says and nothing beyond; an answer that was cut off or refused says none."""
    found = _LETTER.fullmatch(reply["text"]) if reply["ended"] == "whole" else None
    return None if found is None else "A" if found[1] == "A" else "B"


def ask_both_orders(
    system: Replies, prompt: str, choices: Sequence[tuple[Mapping[str, str], str, str]]
) -> list[list[Record]]:
    """For each (other texts, right, wrong) the answers: right one first, then right one second."""
    asked = [
        fill(prompt, {**texts, "first": first, "second": second})
        for texts, right, wrong in choices
        for first, second in ((right, wrong), (wrong, right))
    ]
    # Each prompt is asked once: pairs may be repeated.
    once = list(dict.fromkeys(asked))
    found = dict(zip(once, ask_reply(system, once), strict=True))
    replies: list[Record] = [
        {"text": text[:_KEPT] + ("…" if len(text) > _KEPT else ""), "ended": found[each].ended}
        for each in asked
        for text in [found[each].text]
    ]
    return [replies[start : start + 2] for start in range(0, len(replies), 2)]


def pair_sides(right: Sequence[str], wrong: Sequence[str]) -> list[tuple[str, str]]:
    """Sources for the right sense beside sources for a wrong one, so that each is asked about."""
    both = zip(itertools.cycle(right), itertools.cycle(wrong), strict=False)
    return list(itertools.islice(both, max(len(right), len(wrong))))
