"""Searching a corpus: every sentence pair with the dependencies found in it, and all of them counted."""

from __future__ import annotations

import bisect
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from babelscope.core.results import Row, record_line
from babelscope.language.ud_rules import Finder, Instance, Rule, RuleSet, choose_rules
from babelscope.making.challenge.reading import Corpus, Pair, short_enough, with_alignment
from babelscope.making.challenge.reordering import CROSSING, PHENOMENA, UNITS, Limits, Order, measure_order
from babelscope.stats.intervals import mean_of_counts, proportion
from babelscope.testsets.items import ParallelSentence
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.progress import progress
from babelscope.util.text import is_seekable

# --- Counts of sentences and instances of each phenomenon, by distance ---------------------------------------------

Lengths = Counter[int]
"""Absolute difference in length between the two sides (0 for one side) -> number of sentences."""


@dataclass(slots=True)
class _Counts:
    """Counts of one phenomenon, by distance in whole words."""

    instances: Counter[int] = field(default_factory=Counter)
    reaching: dict[int, Lengths] = field(default_factory=lambda: defaultdict(Counter))
    """Greatest distance in a sentence -> sentences."""
    having: dict[int, Lengths] = field(default_factory=lambda: defaultdict(Counter))
    """Distance -> sentences that have an instance at it."""


class Tally:
    """Counts of a corpus, in constant memory; phenomena that were not found have counts of 0."""

    def __init__(self, phenomena: Iterable[tuple[str, str]], *, parallel: bool) -> None:
        """`phenomena` are (name, side); `parallel` if sentences have two sides."""
        self.instances = 0
        self.words = 0
        """Words read, of both sides of parallel text."""
        self._parallel = parallel
        self._lengths: Lengths = Counter()
        self._counts = {key: _Counts() for key in phenomena}

    @property
    def sentences(self) -> int:
        return self._lengths.total()

    @property
    def mean_length(self) -> float:
        """Mean number of words of a sentence, over both sides of parallel text."""
        return self.words / max(self.sentences, 1) / (2 if self._parallel else 1)

    def add(self, instances: Sequence[Instance], *sides: int) -> None:
        """Count a sentence with its instances; `sides` are the numbers of words of each of its sides."""
        length_difference = max(sides) - min(sides)
        self._lengths[length_difference] += 1
        self.words += sum(sides)
        self.instances += len(instances)
        found: dict[tuple[str, str], list[int]] = {}
        for each in instances:
            found.setdefault((each.phenomenon, each.side), []).append(math.floor(each.distance))
        for key, distances in found.items():
            counts = self._counts[key]
            counts.instances.update(distances)
            counts.reaching[max(distances)][length_difference] += 1
            for distance in set(distances):
                counts.having[distance][length_difference] += 1

    def found(self, phenomenon: str) -> int:
        """How many instances of a phenomenon were counted, on both sides."""
        return sum(own.instances.total() for (name, _), own in self._counts.items() if name == phenomenon)

    def sentences_with(self, phenomenon: str) -> int:
        """In how many sentences a phenomenon was found; on one side, since only one is parsed."""
        reaching = [own.reaching for (name, _), own in self._counts.items() if name == phenomenon]
        return sum(lengths.total() for each in reaching for lengths in each.values())

    def as_json(self) -> dict[str, Any]:
        """The counts as JSON, for `absorb`."""

        def by_distance(found: Mapping[int, Lengths]) -> list[Any]:
            return [[distance, list(lengths.items())] for distance, lengths in found.items()]

        counts = [
            [*key, list(own.instances.items()), by_distance(own.reaching), by_distance(own.having)]
            for key, own in self._counts.items()
        ]
        lengths = list(self._lengths.items())
        return {"instances": self.instances, "words": self.words, "lengths": lengths, "counts": counts}

    def absorb(self, other: Mapping[str, Any]) -> None:
        """Add the counts (`as_json`) of other sentences for the same phenomena."""
        self.instances += other["instances"]
        self.words += other["words"]
        self._lengths.update(dict(other["lengths"]))
        for phenomenon, side, instances, reaching, having in other["counts"]:
            counts = self._counts[phenomenon, side]
            counts.instances.update(dict(instances))
            for mine, found in ((counts.reaching, reaching), (counts.having, having)):
                for distance, lengths in found:
                    mine[distance].update(dict(lengths))

    def rows(
        self,
        distances: Callable[[str], Sequence[int]],
        *,
        exact: bool = False,
        labels: Mapping[str, str | int] | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> list[Row]:
        """Rows with the share of sentences that have a phenomenon, at each of its `distances`.

        A distance is the minimum number of words between or, with `exact`, the exact number (reordering: always
        the minimum). For parallel text, the whole set comes first, and every set also has a row with the mean
        difference in length of its pairs.
        """
        made = []

        def add(said: dict[str, str | int], lengths: Lengths, instances: int) -> None:
            said |= labels or {}
            share = proportion(lengths.total(), self.sentences)
            numbers = {"sentences": lengths.total(), "instances": instances, **(counts or {})}
            made.append(Row("share", share, said, numbers))
            if self._parallel:
                made.append(Row("length_difference", mean_of_counts(lengths), said))

        if self._parallel:
            add({"phenomenon": "all"}, self._lengths, self.instances)
        for (phenomenon, side), own in self._counts.items():
            very = exact and phenomenon not in PHENOMENA
            for wanted in distances(phenomenon):
                kept = [d for d in own.instances if d == wanted or (d > wanted and not very)]
                by_distance = own.having if very else own.reaching
                unit: dict[str, str | int] = {"unit": UNITS[phenomenon]} if phenomenon in UNITS else {}
                by: dict[str, str | int] = {"distance" if very else "min_distance": wanted}
                add(
                    {"phenomenon": phenomenon, "side": side, **by, **unit},
                    sum((by_distance[d] for d in kept if d in by_distance), Counter()),
                    sum(own.instances[d] for d in kept),
                )
        return made


# --- Some of what rules find, to be read: the same few of a corpus however it is split -----------------------------


class Shown(NamedTuple):
    """An instance in its sentence; `head` and `dependent` are characters (start, end) of `text`."""

    key: str
    """Instances are drawn by their digest, so that those of parts can be put together."""
    sentence: int
    """Number of the sentence, from 1."""
    phenomenon: str
    distance: float
    text: str
    head: tuple[int, int] | None
    dependent: tuple[int, int]

    @property
    def marked(self) -> str:
        """The text with its two words in brackets."""
        text = self.text
        spans = {self.dependent} if self.head is None else {self.head, self.dependent}
        for start, end in sorted(spans, reverse=True):
            text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
        return text


class Sample:
    """At most `size` instances of these phenomena, drawn at random from all that are offered."""

    def __init__(self, size: int, phenomena: Collection[str]) -> None:
        self.size = size
        self.phenomena = frozenset(phenomena)
        self.chosen: list[Shown] = []

    def offer(
        self, number: int, text: str, spans: Sequence[tuple[int, int]], instances: Sequence[Instance]
    ) -> None:
        """Offer the instances of a sentence; `spans` are the places of its words."""
        for each in instances if self.size else ():
            if each.phenomenon in self.phenomena:
                key = digest_json([number, each.phenomenon, each.head, each.dependent])
                head, dependent = spans[each.head - 1] if each.head else None, spans[each.dependent - 1]
                self.add(Shown(key, number, each.phenomenon, each.distance, text, head, dependent))

    def add(self, shown: Shown) -> None:
        """Keep an instance if its digest is among the smallest."""
        bisect.insort(self.chosen, shown)
        del self.chosen[self.size :]

    def in_order(self) -> list[Shown]:
        """What was drawn, in the order of the corpus."""
        return sorted(self.chosen, key=lambda each: (each.sentence, each.dependent))


# --- Searching a corpus: every sentence pair with the dependencies found in it, and all of them counted ------------

SYMMETRIZATION = "grow-diag-final-and"


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What to search a corpus for."""

    phenomena: Sequence[str] = ()
    """Names of phenomena; empty for all that the corpus allows."""
    language: str | None = None
    """Language of the parses; None for the rules of all languages."""
    rules: RuleSet = "sound"
    own: Sequence[Rule] = ()
    """The user's rules, beside ours."""
    least: int | None = None
    """Minimum number of words between head and dependent; None for 0, with counts for at least 0, 1, 2 and 3."""
    limits: Limits = field(default_factory=Limits)
    """Thresholds of reordering."""
    show: int = 0
    """How many instances to keep to be read: of `own` rules, or of all if there are none."""


class Search:
    """A search of a corpus for phenomena, with the counts of what was found so far."""

    def __init__(
        self, corpus: Corpus, wanted: SearchSettings | None = None, *, skip_bad: bool = False
    ) -> None:
        """With `skip_bad`, bad sentences are counted in `skipped` by reason; else the first is an error."""
        self.corpus, self.wanted = corpus, wanted or SearchSettings()
        self._tokenizers = corpus.tokenizers  # one that is not there is told first
        self.skipped: dict[str, int] = {}
        self._skipped = self.skipped if skip_bad else None
        asked = list(self.wanted.phenomena)
        self.reorderings = [name for name in PHENOMENA if name in asked or not asked]
        by_rule = [name for name in asked if name not in PHENOMENA]
        parsed = corpus.parses is not None or corpus.parser is not None
        if corpus.source is None and self.reorderings:
            if asked:
                raise BabelscopeError(f"{self.reorderings[0]} needs a source and a reference")
            self.reorderings = []
        if by_rule and not parsed:
            raise BabelscopeError(f"{by_rule[0]} is found in parses; give parses or a parser")
        rules = []
        if parsed and (by_rule or not asked):
            code, strict = self.wanted.language, self.wanted.rules == "strict"
            rules = choose_rules(by_rule, language=code, more=self.wanted.own, strict=strict)
        self.finder = Finder(rules, roots=self.wanted.rules == "released")
        self.tally = Tally(
            [
                *((name, corpus.parsed_side) for name in dict.fromkeys(rule.name for rule in rules)),
                *((name, "source") for name in self.reorderings),
            ],
            parallel=corpus.source is not None,
        )
        self.sample = Sample(self.wanted.show, [rule.name for rule in self.wanted.own or rules])

    def items(self, symmetrization: str = SYMMETRIZATION) -> Iterator[ParallelSentence]:
        """Yield every pair as a parallel sentence with its `dependencies`.

        If reordering is searched for and no alignments are given, our aligner makes them, with the corpus in memory.
        """
        pairs = self._pairs()
        if self.aligns_here:
            assert self.corpus.source is not None
            pairs = short_enough(pairs, self.corpus.source, self._skipped)
            pairs = iter(with_alignment(pairs, symmetrization))
        for pair in pairs:
            instances = self._wide_enough(pair.instances)
            parsed = pair.source if self.corpus.parsed_side == "source" else pair.reference
            self.sample.offer(pair.number, parsed, pair.spans, instances)
            order = None
            if pair.links is not None and self.reorderings:
                order = measure_order(pair.links, len(pair.source_words), len(pair.reference_words))
                found = self.wanted.limits.instances(order, pair.source_words, pair.reference_words)
                instances += [each for each in found if each.phenomenon in self.reorderings]
            self.tally.add(instances, len(pair.source_words), len(pair.reference_words))
            yield self._item(pair, instances, order)
        self._require_something(self.corpus.source)

    def lines(self, symmetrization: str = SYMMETRIZATION, *, only_found: bool = False) -> Iterator[bytes]:
        """Yield the items as lines of JSON; with `only_found`, only those with a dependency."""
        for item in self.items(symmetrization):
            if item.extra["dependencies"] or not only_found:
                yield record_line(item.as_json())

    def split(self, size: int) -> list[Corpus]:
        """The corpus in parts of `size` sentences, for `of_part`."""
        if self.aligns_here:
            raise BabelscopeError(
                "word alignment is learned from the whole corpus, which cannot be split then; give alignments, or "
                "look for phenomena other than reordering"
            )
        return self.corpus.split(size) or [self.corpus]

    def of_part(self, part: Corpus) -> Search:
        """The same search, on a part of the corpus; `absorb` adds its counts to this one's."""
        return Search(part, self.wanted, skip_bad=self._skipped is not None)

    def counted(self) -> dict[str, Any]:
        """The counts as JSON, for `absorb`."""
        finder = self.finder
        seen = [finder.trees, finder.without_features, finder.without_verb, finder.too_long]
        shown = self.sample.chosen
        return {"tally": self.tally.as_json(), "trees": seen, "skipped": self.skipped, "shown": shown}

    def absorb(self, counted: Mapping[str, Any]) -> None:
        """Add the counts (`counted`) of a part of the corpus; call it in the order of the parts."""
        self.tally.absorb(counted["tally"])
        trees, without_features, without_verb, too_long = counted["trees"]
        self.finder.trees += trees
        self.finder.without_features += without_features
        self.finder.without_verb += without_verb
        self.finder.too_long += too_long
        for *rest, head, dependent in counted["shown"]:  # of JSON, whose lists are no tuples
            self.sample.add(Shown._make([*rest, head and tuple(head), tuple(dependent)]))
        for reason, number in counted["skipped"].items():
            self.skipped[reason] = self.skipped.get(reason, 0) + number

    @property
    def can_be_split(self) -> bool:
        """Whether the corpus can be searched in parts: seekable files, and no aligner to be trained on all of it."""
        return not self.aligns_here and all(map(is_seekable, self.corpus.files.values()))

    @property
    def aligns_here(self) -> bool:
        """Whether word alignments are needed and not given, so that our aligner makes them."""
        return bool(self.reorderings) and self.corpus.alignments is None

    def count(self, symmetrization: str = SYMMETRIZATION) -> None:
        """Count without making items; parses alone are enough."""
        if self.corpus.source is not None:
            for _ in self.items(symmetrization):
                pass
            return
        with progress("reading parses", self.corpus.lines, quiet=self._in_parts) as advance:
            last = 1
            for tree in self.corpus.trees(self._skipped):
                if tree is not None:
                    found = self._wide_enough(self.finder(tree, self.corpus.parsed_side))
                    if found and self.sample.size:
                        text = tree.text if tree.matches(tree.text) else " ".join(tree.tokens)
                        self.sample.offer(tree.number, text, tree.offsets(text), found)
                    self.tally.add(found, len(tree.words))
                    advance(tree.line - last)
                    last = tree.line
        self._require_something(self.corpus.parses)

    def rows(self, *, exact: bool = False) -> list[Row]:
        """Rows of counts for each phenomenon, by the minimum or, with `exact`, the exact number of words between."""
        wanted = self.wanted

        def distances(phenomenon: str) -> Sequence[int]:
            if phenomenon in PHENOMENA:
                return (0 if phenomenon == CROSSING else wanted.limits.words,)
            return range(4) if wanted.least is None else (wanted.least,)

        labels: dict[str, str | int] = {"language": wanted.language} if wanted.language else {}
        labels["rules"] = wanted.rules
        for name, tokenizer in zip(("source_tokenize", "tokenize"), self._tokenizers, strict=True):
            if tokenizer:
                labels[name] = tokenizer
        return self.tally.rows(
            distances, exact=exact, labels=labels, counts={"skipped": sum(self.skipped.values())}
        )

    def _pairs(self) -> Iterator[Pair]:
        with progress("reading sentence pairs", self.corpus.lines, quiet=self._in_parts) as advance:
            for pair in self.corpus.pairs(self.finder, skipped=self._skipped):
                yield pair
                advance(1)

    @property
    def _in_parts(self) -> bool:
        """Whether this is a part of a corpus, whose progress the caller shows."""
        return bool(self.corpus.ranges)

    def _require_something(self, path: Path | None) -> None:
        if not self.tally.sentences and not self.skipped:
            raise BabelscopeError(f"{path} has no sentences")

    def _item(self, pair: Pair, instances: Sequence[Instance], order: Order | None) -> ParallelSentence:
        extra: dict[str, Any] = {"dependencies": [_dependency(each, pair) for each in instances]}
        extra["words"] = [len(pair.source_words), len(pair.reference_words)]
        if any(self._tokenizers):
            extra["tokenize"] = self._tokenizers
        if order is not None:
            extra["order"] = {
                "difference": order.difference and order.difference.measure,
                "normalized": order.normalized and order.normalized.measure,
                "tau": order.tau,
            }
        if pair.sent_id:
            extra["sent_id"] = pair.sent_id
        return ParallelSentence(
            str(pair.number),
            pair.source,
            (pair.reference,),
            source_language=self.corpus.source_language,
            target_language=self.corpus.target_language,
            extra=extra,
        )

    def _wide_enough(self, instances: Sequence[Instance]) -> list[Instance]:
        return [each for each in instances if each.distance >= (self.wanted.least or 0)]


def run_search(part: Search, *, write: bool, only_found: bool = False) -> tuple[str, dict[str, Any]]:
    """Run a search: the lines of its items (empty unless `write`), and its counts."""
    if write:
        return b"".join(part.lines(only_found=only_found)).decode(), part.counted()
    part.count()
    return "", part.counted()


def _dependency(instance: Instance, pair: Pair) -> dict[str, Any]:
    made = instance.as_json()
    if instance.phenomenon not in PHENOMENA:  # head and dependent are both in the parsed text
        if instance.head:
            made["head_at"] = list(pair.spans[instance.head - 1])
        made["dependent_at"] = list(pair.spans[instance.dependent - 1])
    return made
