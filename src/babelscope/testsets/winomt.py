"""WinoMT (Stanovsky et al. 2019): occupations whose gender a pronoun shows, with cues for two or three genders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.language.cues import Mode, mark_gender
from babelscope.testsets.items import TestSet, make_items
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import LocatedRecord, fail_at, read_lines, shorten, whole_number

_GENDERS = ("male", "female", "neutral")
_PLACE = "{}"
CUED = "cued"
"""Field of an item that has the source with each class's cue, where there are more than two classes."""


@dataclass(frozen=True, slots=True)
class _Cues:
    """How the source states the gender of an occupation."""

    words: Mapping[str, str]
    """The cue of each gender that has one."""
    mode: Mode = "words"
    tag: str = ""
    """If given, what stands before the sentence, instead of a word before the occupation."""

    def source(self, gender: str, sentence: str, index: int, occupation: str) -> str:
        """The sentence with the cue of a gender (conditioning paper, section 3.3)."""
        marked = mark_gender(sentence, index, self.words[gender], occupation, self.mode)
        return f"{self.tag.replace(_PLACE, self.words[gender])} {sentence}" if self.tag else marked


def read_winomt(
    path: str | Path,
    *,
    neutral: bool = False,
    paper_cues: bool = False,
    genders: str = "two",
    neutral_cue: str = "neutral",
    tag: str = "",
) -> TestSet:
    """Read WinoMT, with the cues `[male]` and `[female]` before occupations.

    Rows of neutral gender have no cues; they are left out and counted, unless `neutral`. With `genders` "three" they
    have the cue `[neutral]`, or `neutral_cue`, and each gender is compared with the two others. `paper_cues`
    replaces
    the occupation's token, as the released code does. `tag`, such as `<{}>`, stands before the sentence instead.
    """
    if genders not in ("two", "three"):
        raise BabelscopeError(f"winomt:{path}: genders={genders} is not one of two, three")
    if tag and _PLACE not in tag:
        raise BabelscopeError(
            f"winomt:{path}: tag={tag} has no {_PLACE}, where the gender is put, as in <{_PLACE}>"
        )
    if tag and paper_cues:
        raise BabelscopeError(f"winomt:{path}: tag and paper_cues exclude each other")
    if not neutral_cue.strip():
        raise BabelscopeError(f"winomt:{path}: neutral_cue is empty")
    words = {"male": "male", "female": "female"}
    if genders == "three":
        words["neutral"] = neutral_cue
    cues = _Cues(words, "paper" if paper_cues else "words", tag)
    skipped: dict[str, int] = {}
    rows = _rows(path, cues, neutral or genders == "three", skipped)
    return TestSet(Path(path).stem, tuple(make_items(rows, skipped=skipped)), skipped)


def _rows(path: str | Path, cues: _Cues, neutral: bool, skipped: dict[str, int]) -> Iterator[LocatedRecord]:
    for number, line in enumerate(read_lines(path, keep_separators=True), 1):
        place = at(path, number)
        columns = line.split("\t")
        if len(columns) not in (4, 5):
            raise BabelscopeError(
                f"{place} has {len(columns)} columns; WinoMT has 4 or 5: "
                "gender, index, sentence, occupation, stereotype"
            )
        gender, index, sentence, occupation = columns[:4]
        if gender not in _GENDERS:
            raise BabelscopeError(f"{place}: gender must be male, female or neutral, not {shorten(gender)}")
        if gender == "neutral" and not neutral:
            skipped["neutral gender"] = skipped.get("neutral gender", 0) + 1
            continue
        if whole_number(index) is None:
            raise BabelscopeError(
                f"{place}: {shorten(index)} is not the index of a token of {shorten(sentence)}"
            )
        try:
            cued = {each: cues.source(each, sentence, int(index), occupation) for each in cues.words}
        except BabelscopeError as error:
            fail_at(place, error)
        yield (
            place,
            {
                "id": str(number),
                "source": sentence,
                **_sides(gender, cued),
                "category": gender,
                "gold": gender,
                "index": int(index),
                "occupation": occupation,
                **({"stereotype": columns[4]} if len(columns) == 5 else {}),
            },
        )


def _sides(gender: str, cued: Mapping[str, str]) -> dict[str, Any]:
    """The sources with a right and with a wrong cue; none for a gender without a cue."""
    if gender not in cued:
        return {"correct_sources": [], "incorrect_sources": []}
    others = [source for name, source in cued.items() if name != gender]
    three = {CUED: dict(cued)} if len(cued) > 2 else {}
    return {"correct_sources": [cued[gender]], "incorrect_sources": others, **three}
