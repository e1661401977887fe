"""Senses of ambiguous words counted in one's own parallel text (conditioning paper, appendix A)."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from babelscope.core.results import Estimate, Row
from babelscope.core.tokenizers import require_spaces
from babelscope.language.cues import plural
from babelscope.stats.correlation import correlation_and_p
from babelscope.stats.intervals import proportion
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.mucow import Sense, frequency_categories, read_keys
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import json_number, read_lines, shorten, stream_lines

# --- Genders of occupations counted in parallel text ---------------------------------------------------------------

WORD = re.compile(r"\w+")
_LOOKED_AT = 1000  # lines

GENDERS = ("male", "female", "other")
"""other: no known form, or forms of both genders."""

Flow = tuple[str, str, float]
"""From a node, to a node, how many sentence pairs: a row of a Sankey diagram."""

# Women among those employed in an occupation in the US, in percent: Zhao et al. (2018), "Gender Bias in
# Coreference Resolution", table 1 (https://aclanthology.org/N18-2003), which takes them from the US labor
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
"""The occupations that figure 4 shows: of the 25 most frequent ones, all but customer."""


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of a word in the source, and of its translations by class, such as gender or sense."""

    source: frozenset[str]
    classes: Mapping[str, frozenset[str]]
    other: str = "other"
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
            parts[2:] = ["other" if each == "neutral" else each for each in parts[2:]]  # as released
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

    def shares(self, stage: str) -> list[Row]:
        """The share of each gender at a stage, over all occupations."""
        totals = {gender: self.total(stage, gender, self.occupations) for gender in GENDERS}
        whole = sum(totals.values())
        if not whole:
            raise BabelscopeError(f"nothing was counted at the stage {stage!r}")
        # Counts may be means over several models, so they are rounded.
        counts = {gender: round(total) for gender, total in totals.items()}
        return [
            Row("share", proportion(n, round(whole)), {"stage": stage, "gender": gender}, {"count": n})
            for gender, n in counts.items()
        ]

    def female_ratios(self, stage: str = "original") -> dict[str, float]:
        """female / (female + male) for every occupation with any gendered form."""
        ratios = {}
        for occupation in self.occupations:
            female, male = (self.total(stage, gender, [occupation]) for gender in ("female", "male"))
            if female + male:
                ratios[occupation] = female / (female + male)
        return ratios


def occupation_correlation(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[Estimate, float]:
    """Pearson's r over the common occupations with its interval, and p (appendix C)."""
    common = sorted(first.keys() & second.keys())
    if len(common) < 3:
        raise BabelscopeError(f"a correlation needs at least 3 occupations in common, not {len(common)}")
    ours, theirs = ([own[each] for each in common] for own in (first, second))
    return correlation_and_p(ours, theirs, "pearson", what="occupations")


# -- one's own text, and what is known of labor --------------------------------------------------------


def count_genders(
    source: str | Path, stages: Mapping[str, str | Path], queries: Mapping[str, Forms]
) -> GenderCounts:
    """Sentence pairs by occupation, stage and gender, in line-parallel files of any size."""
    for word, forms in queries.items():
        if not {"male", "female"} <= forms.classes.keys():
            raise BabelscopeError(f"the query of {word!r} needs forms of the classes male and female")
    counts: Counter[tuple[str, str, str]] = Counter()
    lines = parallel_lines({"source": source, **stages})
    split = ((WORD.findall(first), [WORD.findall(text) for text in rest]) for first, *rest in lines)
    for each in occurrences(split, queries):
        for stage, found in zip(stages, each.classes, strict=True):
            counts[each.word, stage, found if found in GENDERS else "other"] += 1
    if not counts:
        raise BabelscopeError(
            f"{source} has none of the occupations looked for ({', '.join(list(queries)[:5])}, ...)"
        )
    return GenderCounts(counts)


def parallel_lines(files: Mapping[str, str | Path]) -> Iterator[tuple[str, ...]]:
    """The lines of several files side by side, read as a stream; an error if one has more than another.

    So are texts, by their first lines, whose words are not set apart by spaces: nothing would be found in them.
    """
    rows = _side_by_side(files)
    first = list(itertools.islice(rows, _LOOKED_AT))
    for path, column in zip(files.values(), zip(*first, strict=True), strict=False):
        require_spaces(column, what=f"the lines of {path}")
    yield from itertools.chain(first, rows)


def _side_by_side(files: Mapping[str, str | Path]) -> Iterator[tuple[str, ...]]:
    ended = object()
    streams = [stream_lines(path) for path in files.values()]
    for number, lines in enumerate(itertools.zip_longest(*streams, fillvalue=ended), 1):
        if ended in lines:
            short = [str(path) for path, line in zip(files.values(), lines, strict=True) if line is ended]
            raise BabelscopeError(
                f"{short[0]} ends before line {number}, which others have; files must be parallel"
            )
        yield tuple(str(line) for line in lines)


def read_labor(spec: str | Path) -> dict[str, float]:
    """Women among those employed, in percent, by occupation: a table of two columns, or `zhao-2018`."""
    if str(spec) == "zhao-2018":
        return {name: float(percent) for name, percent in WOMEN_IN_PERCENT.items()}
    found: dict[str, float] = {}
    for number, line in enumerate(read_lines(spec), 1):
        name, tab, text = line.partition("\t")
        if number == 1 and tab and not any(letter.isdigit() for letter in text):
            continue  # a heading
        try:
            percent = float(text.strip().removesuffix("%"))
        except ValueError:
            percent = math.nan
        if not tab or not 0 <= percent <= 100:
            raise BabelscopeError(
                f"{at(spec, number)} is not an occupation, a tab and a percentage from 0 to 100: {shorten(line)}"
            )
        if name in found:
            raise BabelscopeError(f"{at(spec, number)}: the occupation {shorten(name)} stands there twice")
        found[name] = percent
    return found


def ratio_rows(counts: GenderCounts, stages: Sequence[str]) -> list[Row]:
    """female / (female + male) of every occupation at each stage, most frequent occupations first."""
    rows = []
    for stage in stages:
        totals = {
            name: {gender: round(counts.total(stage, gender, [name])) for gender in GENDERS}
            for name in counts.occupations
        }
        for name, own in sorted(totals.items(), key=lambda each: -sum(each[1].values())):
            told = own["female"] + own["male"]
            labels: dict[str, str | int] = {"occupation": name, "stage": stage}
            rows.append(Row("female_ratio", proportion(own["female"], told), labels, own))
    return rows


def correlation_rows(counts: GenderCounts, stages: Sequence[str], labor: Mapping[str, float]) -> list[Row]:
    """Pearson's r of the female ratios of each stage with the share of women in labor statistics (appendix C)."""
    rows = []
    for stage in stages:
        ratios = counts.female_ratios(stage)
        estimate, p = occupation_correlation(ratios, labor)
        missing = sum(name not in labor for name in ratios)
        labels: dict[str, str | float] = {"stage": stage, "with": "women in labor", "p": p}
        rows.append(Row("pearson", estimate, labels, {"not_in_statistics": missing}))
    return rows


def with_majorities(items: Iterable[AmbiguousSource], ratios: Mapping[str, float]) -> list[AmbiguousSource]:
    """The items with the gender that is more frequent in the text (`majority`), and whether theirs is it (`with`)."""
    found = []
    for item in items:
        ratio = ratios.get(str(item.extra.get("occupation")))
        majority = "unknown" if ratio is None or ratio == 0.5 else "female" if ratio > 0.5 else "male"
        same = {True: "with", False: "against"}[item.gold == majority]
        side = same if majority != "unknown" and item.gold in ("male", "female") else "unknown"
        found.append(replace(item, extra={**item.extra, "majority": majority, "majority_side": side}))
    return found


# --- Senses of ambiguous words counted in one's own parallel text (conditioning paper, appendix A) -----------------

Lemmatize = Callable[[Sequence[str]], list[list[str]]]
"""Texts -> the lemmas of each."""

_AT_ONCE = 1000  # lines that are lemmatized together


def read_lexicon(path: str | Path) -> list[Sense]:
    """The senses of words: MuCoW's keys (five columns), or lines of a word, a tab, and the lemmas of one sense."""
    lines = read_lines(path, keep_separators=True)
    if lines and lines[0].count("\t") == 4:
        keys = read_keys(path)
        return list(dict.fromkeys((key.word, " ".join(key.correct)) for key in keys))
    found: dict[Sense, int] = {}
    for number, line in enumerate(lines, 1):
        word, tab, lemmas = line.partition("\t")
        if not tab or not word.strip() or not lemmas.split() or "\t" in lemmas:
            raise BabelscopeError(
                f"{at(path, number)} is neither a word, a tab and lemmas of a sense, nor a MuCoW key: {shorten(line)}"
            )
        sense = word.strip(), " ".join(lemmas.split())
        if sense in found:
            raise BabelscopeError(
                f"{at(path, number)}: this sense stands there already, in line {found[sense]}"
            )
        found[sense] = number
    if not found:
        raise BabelscopeError(f"{path} has no senses")
    return list(found)


def count_senses(
    pairs: Iterable[tuple[Iterable[str], Iterable[str]]], senses: Iterable[Sense]
) -> dict[Sense, int]:
    """In how many pairs (source words, target lemmas) each sense occurs: its word, and any of its lemmas.

    The English plural of a word is the word, too, unless it has senses of its own (arms, goods).
    """
    counts = dict.fromkeys(senses, 0)
    words = {word.lower() for word, _ in counts}
    by_form: dict[str, list[tuple[Sense, frozenset[str]]]] = {}
    for sense in counts:
        word, lemmas = sense[0].lower(), frozenset(sense[1].lower().split())
        for form in {word, plural(word)} - (words - {word}):
            by_form.setdefault(form, []).append((sense, lemmas))
    for source, target in pairs:
        found = {lemma.lower() for lemma in target}
        forms = {word.lower() for word in source} & by_form.keys()
        for sense in {sense for form in forms for sense, lemmas in by_form[form] if found & lemmas}:
            counts[sense] += 1
    return counts


def split_pairs(
    source: str | Path,
    target: str | Path,
    *,
    lemmas: str | Path | None = None,
    lemmatize: Lemmatize | None = None,
    progress: Callable[[int], None] = lambda _lines: None,
) -> Iterator[tuple[list[str], list[str]]]:
    """(words of the source, lemmas of the target) of line-parallel files, read as streams.

    Lemmas are those of a third file, made here, or without either the words as they stand.
    """
    files = {"source": source, "target": target, **({} if lemmas is None else {"lemmas": lemmas})}
    lines = parallel_lines(files)
    while some := list(itertools.islice(lines, _AT_ONCE)):
        texts = [line[-1] for line in some]
        if lemmas is not None:
            found = [text.split() for text in texts]
        else:
            found = [WORD.findall(text) for text in texts] if lemmatize is None else lemmatize(texts)
        for line, own in zip(some, found, strict=True):
            yield WORD.findall(line[0]), own
        progress(len(some))


def sense_rows(counts: Mapping[Sense, int]) -> list[Row]:
    """The share of each sense among the counted ones of its word, with its category."""
    totals: Counter[str] = Counter()
    for (word, _), count in counts.items():
        totals[word] += count
    categories = frequency_categories(counts)
    return [
        Row(
            "sense_share",
            proportion(count, totals[word]),
            {"word": word, "sense": lemmas, "category": categories[word, lemmas]},
            {"count": count},
        )
        for (word, lemmas), count in counts.items()
    ]


def with_frequencies(
    items: Iterable[AmbiguousSource], counts: Mapping[Sense, int]
) -> tuple[list[AmbiguousSource], int]:
    """The items with the frequency of their sense as `category` and `sense_frequency`; and how many are not counted.

    An item tells its sense by `word` and `lemmas`, as MuCoW's do.
    """
    categories = frequency_categories(counts)
    found, unknown = [], 0
    for item in items:
        lemmas = item.extra.get("lemmas")
        own = " ".join(map(str, lemmas)) if isinstance(lemmas, list) else str(lemmas)
        sense = str(item.extra.get("word")), own
        if sense not in categories:
            unknown += 1
            found.append(replace(item, extra={**item.extra, "sense_frequency": "unknown"}))
            continue
        told = {"sense_frequency": categories[sense], "sense_count": counts[sense]}
        found.append(replace(item, category=categories[sense], extra={**item.extra, **told}))
    return found, unknown
