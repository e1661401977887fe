"""Dependencies followed by word alignment into translations: kept, lost or undecided, counted."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from babelscope.core.results import Record, Row
from babelscope.language.align import Links, Words, align, longest_sentence
from babelscope.language.constructions import (
    Sentence,
    construction,
    finite_of,
    has_orphan,
    lemmatiser_of,
    make_sentence,
    particles_in,
)
from babelscope.language.fitness import check_language
from babelscope.language.parsers import Parser, open_parser, parser_language
from babelscope.language.ud import Tree
from babelscope.methods.challenge.checks import (
    BY_DEPENDENT,
    CHECKS,
    Case,
    Verdict,
    anchor,
    attested_verbs,
    check,
    undecided,
)
from babelscope.methods.challenge.sets import read_instances
from babelscope.stats.intervals import clustered_proportion
from babelscope.util.errors import BabelscopeError

FEWEST_PAIRS = 500
"""Sentence pairs from which the aligner must learn before anything is decided by it."""
FEWEST_SEEN = 3
"""Sentences that a word must be in before a link of it is believed."""
_SYMMETRISATION = "grow-diag-final-and"
_TOKEN = re.compile(r"\w+|[^\w\s]")
_NEAR = 3
"""Words by which a position may differ between a parse and our count."""
_NO_TREE = Tree((), (), "", "", 1, 1)
_WITHOUT_VERB = 0.5
"""Share of references without a finite verb above which the parser does not fit them."""

Span = tuple[int, int]
Labels = dict[str, str | int]


def judge_dependencies(
    records: Sequence[Record], parser_spec: str, language: str | None = None
) -> list[list[dict[str, str]]]:
    """For each record, the verdicts on its dependencies, in their order; needs all records of a system at once."""
    parser = open_parser(parser_spec)  # first, since it may be refused: a stranger's run may name any file
    language = language or parser_language(parser_spec)
    references = [_one_line(record["references"][0]) for record in records]
    outputs = [_one_line(record["translation"]) for record in records]
    if language:
        check_language(references, language, what="the references", needed_by=f"the parser {parser_spec}")
    parse = _sentence_maker(parser, language)
    parsed, translated = parse(references), parse(outputs)
    _require_verbs(parsed, parser_spec)
    sources = [[found.group().lower() for found in _TOKEN.finditer(record["source"])] for record in records]
    links = _align([*zip(sources, parsed, strict=True), *zip(sources, translated, strict=True)])
    seen = Counter(word for words in sources for word in set(words))
    halves = links[: len(records)], links[len(records) :]
    pairs = [_Pair(*each, seen) for each in zip(records, parsed, translated, *halves, strict=True)]
    return _Judge(pairs).verdicts()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _sentence_maker(parser: Parser, language: str | None) -> Any:
    lemmatiser = lemmatiser_of(language)

    def parse(texts: Sequence[str]) -> list[Sentence]:
        return [make_sentence(tree or _NO_TREE, lemmatiser) for tree in parser(texts)]

    return parse


def _require_verbs(sentences: Sequence[Sentence], parser: str) -> None:
    without = sum(not any(map(_clause_head(each), each.words)) for each in sentences)
    if without > _WITHOUT_VERB * len(sentences):
        raise BabelscopeError(
            f"the parser {parser} finds no finite verb in {without} of {len(sentences)} references; is it one of "
            "their language?"
        )


def _clause_head(sentence: Sentence) -> Any:
    return lambda word: finite_of(sentence, word) is not None


def _align(pairs: Sequence[tuple[Words, Sentence]]) -> list[Links | None]:
    """The links of pairs, from the source to lemmas; None where a sentence is too long or the pairs are too few."""
    longest = longest_sentence()
    short = [
        number
        for number, (source, target) in enumerate(pairs)
        if 0 < len(source) <= longest and 0 < len(target.words) <= longest
    ]
    found: list[Links | None] = [None] * len(pairs)
    if len(short) < 2 * FEWEST_PAIRS:
        return found
    made = align([(pairs[n][0], pairs[n][1].lemmas) for n in short], _SYMMETRISATION)
    for number, links in zip(short, made, strict=True):
        found[number] = links
    return found


class _Pair:
    """A record with its two parsed targets and their alignments to the source."""

    def __init__(
        self,
        record: Record,
        reference: Sentence,
        output: Sentence,
        to_reference: Links | None,
        to_output: Links | None,
        seen: Mapping[str, int],
    ) -> None:
        self.record = record
        self.dependencies: list[dict[str, Any]] = (
            record["dependencies"] if "dependencies" in record else record["extra"]["dependencies"]
        )
        self.reference, self.output = reference, output
        self.to_reference, self.to_output = to_reference, to_output
        self.seen = seen
        """Words of sources -> number of sentences that have them."""
        self.spans = [found.span() for found in _TOKEN.finditer(record["source"])]

    def case(self, dependency: Mapping[str, Any], particles: frozenset[str]) -> Case | Verdict:
        """Where a dependency is in reference and output, or why nobody knows."""
        if self.to_reference is None or (self.to_output is None and self.output.words):
            return undecided("not aligned: too few sentences, or a sentence too long")
        to_output = self.to_output or ()
        target = dependency.get("side") == "target"
        followed = "dependent" if dependency["phenomenon"] in BY_DEPENDENT else "head"
        places = []
        for end in ("head", "dependent"):
            span = self._span(
                dependency, end, self.record["references"][0] if target else self.record["source"]
            )
            if span is None:
                return undecided(f"nobody knows where the {end} is")
            if not target and end == followed and self._times_seen(span) < FEWEST_SEEN:
                return undecided(f"the aligner has seen the {end} in too few sentences")
            places.append(self._follow(span, to_output, target=target))
        (head, head_out), (dependent, dependent_out) = places
        return Case(self.reference, self.output, head, dependent, head_out, dependent_out, particles)

    def _span(self, dependency: Mapping[str, Any], end: str, text: str) -> Span | None:
        """The characters of head or dependent: as given, else its form where it is nearest to its position."""
        given = dependency.get(f"{end}_at")
        if isinstance(given, list) and len(given) == 2 and all(isinstance(each, int) for each in given):
            return given[0], given[1]
        form, position = dependency.get(f"{end}_form"), dependency.get(end)
        if not isinstance(form, str) or not form:
            return None
        tokens = enumerate(_TOKEN.finditer(text), 1)
        found = [(number, each.span()) for number, each in tokens if each.group() == form]
        if len(found) > 1 and isinstance(position, int):
            # A parse counts otherwise than we do where it splits words, so a few words off is the same word.
            away = sorted((abs(number - position), number, span) for number, span in found)
            found = [away[0][1:]] if away[0][0] <= _NEAR and away[0][0] < away[1][0] else []
        return found[0][1] if len(found) == 1 else None

    def _times_seen(self, span: Span) -> int:
        text = self.record["source"][slice(*span)].lower()
        return min((self.seen.get(word, 0) for word in _TOKEN.findall(text)), default=0)

    def _follow(self, span: Span, to_output: Links, *, target: bool) -> tuple[list[int], list[int]]:
        """Positions, from 1, in reference and output of what stands at these characters."""
        assert self.to_reference is not None
        if target:
            text = _one_line(self.record["references"][0])
            offsets = self.reference.tree.offsets(text) if self.reference.tree.matches(text) else []
            here = [n for n, each in enumerate(offsets, 1) if _overlap(each, span)]
            own = {source for source, place in self.to_reference if place + 1 in here}
        else:
            own = {n for n, each in enumerate(self.spans) if _overlap(each, span)}
            here = sorted({place + 1 for source, place in self.to_reference if source in own})
        return here, sorted({place + 1 for source, place in to_output if source in own})


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


class _Judge:
    """Judges the dependencies of all pairs, knowing how references render the same words elsewhere."""

    def __init__(self, pairs: Sequence[_Pair]) -> None:
        self.pairs = pairs
        self.particles = particles_in(pair.reference for pair in pairs)
        self.cases = [[self._case(pair, each) for each in pair.dependencies] for pair in pairs]
        self.attested: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        """Phenomenon and words of a dependency -> the verbs that references render it by."""
        self.bare: dict[tuple[str, ...], set[str]] = defaultdict(set)
        """Phenomenon and dependent -> the verbs without a particle among them, whatever the head."""
        for dependency, case in self._all():
            self._attest(dependency, case)

    def _case(self, pair: _Pair, dependency: Mapping[str, Any]) -> Case | Verdict:
        if dependency["phenomenon"] not in CHECKS:
            return undecided("there is no check for this phenomenon")
        return pair.case(dependency, self.particles)

    def _attest(self, dependency: Mapping[str, Any], case: Case | Verdict) -> None:
        if isinstance(case, Verdict):
            return
        verb = anchor(case.reference, case.head_in_reference, case.dependent_in_reference)
        if verb is not None:
            found = construction(case.reference, verb, self.particles)
            if not found.particle and has_orphan(case.reference):
                return
            self.attested[_key(dependency)][found.verb] += 1
            if not found.particle:
                self.bare[_dependent(dependency)].add(found.stem)

    def _all(self) -> Iterable[tuple[Mapping[str, Any], Case | Verdict]]:
        for pair, cases in zip(self.pairs, self.cases, strict=True):
            yield from zip(pair.dependencies, cases, strict=True)

    def verdicts(self) -> list[list[dict[str, str]]]:
        """The verdicts on each pair's dependencies."""
        found = [self._verdict(dependency, case).as_json() for dependency, case in self._all()]
        grouped = iter(found)
        return [[next(grouped) for _ in cases] for cases in self.cases]

    def _verdict(self, dependency: Mapping[str, Any], case: Case | Verdict) -> Verdict:
        if isinstance(case, Verdict):
            return case
        known = attested_verbs(self.attested.get(_key(dependency), {}))
        bare = self.bare.get(_dependent(dependency), ())
        return check(dependency["phenomenon"], replace(case, attested=known, bare=bare))


def _key(dependency: Mapping[str, Any]) -> tuple[str, ...]:
    return (*_dependent(dependency), str(dependency.get("head_form", "")).lower())


def _dependent(dependency: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("phenomenon", "side", "dependent_form")
    return tuple(str(dependency.get(name, "")).lower() for name in names)


def verdict_rows(records: Sequence[Record], distances: Sequence[int]) -> list[Row]:
    """Of the dependencies that were decided on, how many were kept: of all, by phenomenon, and by distance."""
    groups: dict[tuple[tuple[str, str | int], ...], list[tuple[str, str]]] = {}
    for record in records:
        found = read_instances(record.get("extra", {}), f"item {record['id']}")
        for instance, verdict in zip(found, record.get("verdicts", ()), strict=False):
            if instance.phenomenon not in CHECKS:
                continue
            own: Labels = {"phenomenon": instance.phenomenon, "side": instance.side}
            here: list[Labels] = [{"phenomenon": "all"}]
            here += [{**own, "min_distance": least} for least in distances if instance.distance >= least]
            for labels in here:
                groups.setdefault(tuple(labels.items()), []).append((verdict["verdict"], record["source"]))
    rows = []
    for key, verdicts in groups.items():
        counts = Counter(verdict for verdict, _ in verdicts)
        numbers = {name: counts[name] for name in ("kept", "lost", "undecided")}
        decided = [
            (float(verdict == "kept"), source) for verdict, source in verdicts if verdict != "undecided"
        ]
        kept = clustered_proportion([value for value, _ in decided], [source for _, source in decided])
        rows.append(Row("dependency_kept", kept, dict(key), numbers))
    return sorted(rows, key=lambda row: [str(each) for each in row.labels.values()])
