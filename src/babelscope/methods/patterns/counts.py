"""Word counts in parallel text: senses of ambiguous words, genders of occupations (paper, appendix A)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from babelscope.core.results import Estimate, Row
from babelscope.stats.correlation import correlation_and_p
from babelscope.stats.intervals import proportion
from babelscope.testsets.mucow import Sense
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import json_number
from babelscope.util.text import shorten

GENDERS = ("male", "female", "neutral")
"""neutral: no known form, or forms of both genders; the paper's figure calls it "other"."""

Flow = tuple[str, str, float]
"""From a node, to a node, how many sentence pairs: a row of a Sankey diagram."""

# Women among those employed in an occupation in the US, in percent: Zhao et al. (2018), "Gender Bias in
# Coreference Resolution", table 1 (https://aclanthology.org/N18-2003), which takes them from the US labour
# force statistics.
WOMEN_IN_PERCENT: Mapping[str, int] = {
    "carpenter": 2, "mechanic": 4, "construction worker": 4, "laborer": 4, "driver": 6, "sheriff": 14,
    "mover": 18, "developer": 20, "farmer": 22, "guard": 22, "chief": 27, "janitor": 34, "lawyer": 35,
    "cook": 38, "physician": 38, "CEO": 39, "analyst": 41, "manager": 43, "supervisor": 44,
    "salesperson": 48, "editor": 52, "designer": 54, "accountant": 61, "auditor": 61, "writer": 63,
    "baker": 65, "clerk": 72, "cashier": 73, "counselor": 73, "attendant": 76, "teacher": 78, "tailor": 80,
    "librarian": 84, "assistant": 85, "cleaner": 89, "housekeeper": 89, "nurse": 90, "receptionist": 90,
    "hairdresser": 92, "secretary": 95,
}  # fmt: skip

FIGURE_4 = (
    "driver", "owner", "client", "CEO", "student", "patient", "manager", "specialist", "designer", "doctor",
    "teacher", "guard", "writer", "chief", "editor", "employee", "witness", "visitor", "passenger",
    "architect", "practitioner", "tailor", "developer", "assistant",
)  # fmt: skip
"""The most frequent occupations, which figure 4 shows."""


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of a word in the source, and of its translations by class, such as gender or sense."""

    source: frozenset[str]
    classes: Mapping[str, frozenset[str]]
    other: str = "neutral"
    """The class of a translation with no known form, or with forms of several classes."""

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Forms:
        """From the released queries: `src_forms`, `tgt_forms_male`, `tgt_forms_female`; or other classes."""
        classes = {
            name.removeprefix(_TARGET_PREFIX): _forms(record[name], name)
            for name in record
            if name.startswith(_TARGET_PREFIX)
        }
        if "src_forms" not in record or len(classes) < 2:
            raise BabelscopeError(f"a query needs src_forms, and {_TARGET_PREFIX}... of at least two classes")
        return cls(_forms(record["src_forms"], "src_forms"), classes)

    def class_of(self, words: Iterable[str]) -> str:
        """The class of a translation: the only class with a form among its words, else `other`."""
        found = set(words)
        known = [name for name, forms in self.classes.items() if found & forms]
        return known[0] if len(known) == 1 else self.other


_TARGET_PREFIX = "tgt_forms_"


def _forms(value: object, name: str) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(form, str) and form.strip() for form in value):
        raise BabelscopeError(f"{name} of a query must be a list of words")
    if two := next((form for form in value if len(form.split()) > 1), None):
        raise BabelscopeError(f"{shorten(two)} in {name} of a query is more than one word")
    return frozenset(value)


def count_senses(
    pairs: Iterable[tuple[Iterable[str], Iterable[str]]], senses: Iterable[Sense]
) -> dict[Sense, int]:
    """In how many pairs (source words, target lemmas) each sense occurs: its word, and any of its lemmas."""
    by_word: dict[str, list[tuple[Sense, frozenset[str]]]] = {}
    counts: dict[Sense, int] = {}
    for sense in senses:
        counts[sense] = 0
        by_word.setdefault(sense[0].lower(), []).append((sense, frozenset(sense[1].lower().split())))
    for source, target in pairs:
        lemmas = {lemma.lower() for lemma in target}
        for word in {word.lower() for word in source} & by_word.keys():
            for sense, known in by_word[word]:
                counts[sense] += bool(lemmas & known)
    return counts


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A word found in a source, and the class of its translation at each stage."""

    word: str
    classes: tuple[str, ...]
    line: int = field(default=0, compare=False)
    """Its sentence, from 1; 0 where that is not known. Words of one sentence are not independent."""


def occurrences(
    lines: Iterable[tuple[Sequence[str], Sequence[Sequence[str]]]], queries: Mapping[str, Forms]
) -> Iterator[Occurrence]:
    """Every queried word in lines of (source words, words of the translation at each stage) (figure 4)."""
    for line, (source, versions) in enumerate(lines, 1):
        words = set(source)
        for word, forms in queries.items():
            if words & forms.source:
                yield Occurrence(word, tuple(forms.class_of(version) for version in versions), line)


def flows_of(found: Iterable[Occurrence], stages: Sequence[str]) -> list[Flow]:
    """How classes move from stage to stage, such as original, teacher, student: rows of a Sankey diagram.

    Nodes are `<word>` and then `<word>_<stage>_<class>`, as in the released counts.
    """
    counted: Counter[tuple[str, str]] = Counter()
    for each in found:
        if len(each.classes) != len(stages):
            raise BabelscopeError(f"a line has {len(each.classes)} translations for {len(stages)} stages")
        nodes = [f"{each.word}_{s}_{c}" for s, c in zip(stages, each.classes, strict=True)]
        counted.update(zip([each.word, *nodes], nodes, strict=False))
    return [(start, end, float(count)) for (start, end), count in counted.items()]


@dataclass(frozen=True, slots=True)
class GenderCounts:
    """Sentence pairs by occupation, stage and gender."""

    counts: Mapping[tuple[str, str, str], float]

    @classmethod
    def from_flows(cls, flows: Iterable[Sequence[Any]]) -> GenderCounts:
        """From rows `[from, to, count]` whose nodes are `<occupation>_<stage>_<gender>`."""
        counts: Counter[tuple[str, str, str]] = Counter()
        for flow in flows:
            parts = str(flow[1]).rsplit("_", 2) if len(flow) == 3 else []
            if len(parts) != 3 or parts[2] not in GENDERS or json_number(flow[2]) is None:
                raise BabelscopeError(f"{shorten(str(flow))} is no flow to <occupation>_<stage>_<gender>")
            counts[parts[0], parts[1], parts[2]] += flow[2]
        return cls(counts)

    @property
    def occupations(self) -> list[str]:
        return list(dict.fromkeys(occupation for occupation, _, _ in self.counts))

    def total(self, stage: str, gender: str, occupations: Iterable[str]) -> float:
        """The count of a gender at a stage, summed over occupations."""
        return sum(self.counts.get((each, stage, gender), 0.0) for each in occupations)

    def shares(self, stage: str, occupations: Sequence[str] | None = None) -> list[Row]:
        """The share of each gender at a stage, over some or all occupations."""
        chosen = self._check(occupations)
        totals = {gender: self.total(stage, gender, chosen) for gender in GENDERS}
        whole = sum(totals.values())
        if not whole:
            raise BabelscopeError(f"nothing was counted at the stage {stage!r}")
        # Counts may be means over several models, so they are rounded.
        return [
            Row(
                "share",
                proportion(round(totals[gender]), round(whole)),
                {"stage": stage, "gender": gender},
                {"count": round(totals[gender])},
            )
            for gender in GENDERS
        ]

    def female_ratios(self, stage: str = "original") -> dict[str, float]:
        """female / (female + male) for every occupation with any gendered form."""
        ratios = {}
        for occupation in self.occupations:
            female, male = (self.total(stage, gender, [occupation]) for gender in ("female", "male"))
            if female + male:
                ratios[occupation] = female / (female + male)
        return ratios

    def _check(self, occupations: Sequence[str] | None) -> Sequence[str]:
        known = self.occupations
        for occupation in occupations or ():
            if occupation not in known:
                raise BabelscopeError(f"the occupation {occupation!r} was not counted")
        return known if occupations is None else occupations


def occupation_correlation(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[Estimate, float]:
    """Pearson's r over the common occupations with its interval, and p (appendix C)."""
    common = sorted(first.keys() & second.keys())
    if len(common) < 3:
        raise BabelscopeError(f"a correlation needs at least 3 occupations in common, not {len(common)}")
    ours, theirs = ([own[each] for each in common] for own in (first, second))
    return correlation_and_p(ours, theirs, "pearson", what="occupations")
