"""The figures of the hypothesis space: how good its regions are, how well ranked, and what beam search makes of it.

Three regions: `top`, the exact k best; `beam`, the k best of a beam search of width k; `samples`, in the order drawn.
Two views: `tokens`, in which each segmentation is a hypothesis of its own, and `text`, in which those that read the
same are one hypothesis with the sum of their probabilities, as far as the region has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from babelscope.core.results import Record, Row
from babelscope.metrics.corpus import corpus_estimate
from babelscope.metrics.ranking import Normalise, kqrg, krg, random_krg
from babelscope.stats.intervals import clustered_mean, clustered_proportion

Region = Literal["top", "beam", "samples"]
View = Literal["tokens", "text"]
_VIEWS: tuple[View, ...] = ("tokens", "text")
_SAMPLE_COUNTS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
_Labels = dict[str, str | int]


class Chosen(Protocol):
    """The settings that figures depend on."""

    @property
    def k(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def normalise(self) -> Normalise: ...
    @property
    def unresolved(self) -> Literal["leave-out", "keep"]: ...
    @property
    def curves(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation in a region: its number there, text, log-probability in nats, and quality."""

    number: int
    text: str
    logprob: float
    quality: float


def region(record: Record, name: Region, size: int, chosen: Chosen) -> list[Hypothesis] | None:
    """The first `size` hypotheses of a region; None where they are not known.

    Of an exact search that ran out of its budget, only those count that it proved to be the best (nothing unseen
    is more probable), unless `unresolved` says to keep what it found. A list is shorter than asked where the whole
    space, or the beam, has no more.
    """
    if name == "samples":
        found = _read(record["samples"]["hypotheses"])
        return [found[number] for number in record["samples"]["drawn"][:size]]
    if name == "beam":
        return sorted(_read(record["beam"]), key=lambda each: -each.logprob)[:size]
    top = record["top"]
    found = _read(top["found"])
    if not top["exact"] and chosen.unresolved == "leave-out":
        bound = -math.inf if top["bound"] is None else top["bound"]
        found = [each for each in found if each.logprob >= bound]
        return found[:size] if len(found) >= size else None
    return found[:size]


def _read(answers: Sequence[Mapping[str, Any]]) -> list[Hypothesis]:
    return [
        Hypothesis(number, each["text"], each["logprob"], each["quality"])
        for number, each in enumerate(answers)
    ]


def by_text(hypotheses: Sequence[Hypothesis]) -> dict[str, Hypothesis]:
    """One hypothesis a text, with the sum of its segmentations' probabilities, most probable first."""
    groups: dict[str, dict[int, Hypothesis]] = {}
    for each in hypotheses:
        # By number, since a sample drawn twice is no second segmentation.
        groups.setdefault(each.text, {})[each.number] = each
    found = []
    for own in groups.values():
        first = max(own.values(), key=lambda each: each.logprob)
        ratios = math.fsum(math.exp(each.logprob - first.logprob) for each in own.values())
        found.append(replace(first, logprob=first.logprob + math.log(ratios)))
    return {each.text: each for each in sorted(found, key=lambda each: -each.logprob)}


@dataclass(frozen=True, slots=True)
class Gains:
    """One sentence's figures in a region; NaN where it has too few hypotheses."""

    krg: float
    krg_above_random: float
    """kRG minus its expectation if the same hypotheses stood in random order."""
    kqrg: float
    short: bool
    tied: bool
    twins: bool


def hypotheses_of(record: Record) -> list[Record]:
    """The hypotheses of a record, in the order in which they stand there; MBR decoding chooses among the samples."""
    return [record["best"], *record["beam"], *record["top"]["found"], *record["samples"]["hypotheses"]]


def quality_by(record: Record, hypothesis: Mapping[str, Any], metric: str) -> float:
    """The stored quality of a hypothesis by one of the metrics that its record was judged by."""
    first = next(iter(record["metrics"]))
    return float(hypothesis["quality"] if metric == first else hypothesis["qualities"][metric])


def judged_by(record: Record, metric: str) -> Record:
    """The record as if it had been judged by that metric alone."""

    def only(hypothesis: Mapping[str, Any]) -> Record:
        return {**hypothesis, "quality": quality_by(record, hypothesis, metric)}

    return {
        **record,
        "metrics": {metric: record["metrics"][metric]},
        "best": only(record["best"]),
        "beam": [only(each) for each in record["beam"]],
        "top": {**record["top"], "found": [only(each) for each in record["top"]["found"]]},
        "samples": {
            **record["samples"],
            "hypotheses": [only(each) for each in record["samples"]["hypotheses"]],
        },
        "mbr": record["mbr"] and only(record["mbr"]),
    }


def _bound(record: Record) -> float:
    """The highest quality of the metric; runs of earlier versions assumed 1."""
    return next(iter(record.get("metrics", {}).values()), None) or 1.0


def gains(record: Record, name: Region, size: int, view: View, chosen: Chosen) -> Gains | None:
    """kRG and kQRG of a sentence (section 3.1); None where the region is not known."""
    found = region(record, name, size, chosen)
    if found is None:
        return None
    texts = by_text(found)
    twins = len(texts) < len({each.number for each in found})
    if view == "text":  # samples stay as many as were drawn
        found = [texts[each.text] for each in found] if name == "samples" else list(texts.values())
    qualities, logprobs = [each.quality for each in found], [each.logprob for each in found]
    ranked = krg(qualities, logprobs)
    return Gains(
        krg=ranked,
        krg_above_random=ranked - random_krg(qualities),
        kqrg=kqrg(qualities, logprobs, normalise=chosen.normalise, bound=_bound(record)),
        short=len(found) < size,
        tied=len(set(qualities)) < len(qualities),
        twins=twins,
    )


def figures(records: Sequence[Record], chosen: Chosen, _seed: int) -> list[Row]:
    """The rows of one system on one test set; where there are several metrics, they tell which each is by."""
    cell = _Cell(records, chosen)
    rows = [*_corpus_scores(cell)]
    names = list(records[0].get("metrics", ())) if records else []
    for name in names or [""]:
        several = len(names) > 1
        own = replace(cell, records=[judged_by(each, name) for each in records]) if several else cell
        label: _Labels = {"metric": name} if several else {}
        for row in (*_qualities(own), *_regions(own), *_lucky_bias(own)):
            rows.append(Row(row.name, row.estimate, {**row.labels, **label}, row.counts))
    return [*rows, *_modes(cell), *_searches(cell)]


@dataclass(frozen=True, slots=True)
class _Cell:
    """The records of one system on one test set, and what is chosen about their figures."""

    records: Sequence[Record]
    chosen: Chosen

    def mean(
        self,
        name: str,
        values: Sequence[float | None],
        labels: _Labels | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> Row:
        """A mean over sentences: None is unresolved, NaN undefined; both are left out and counted."""
        known, told = self._known(values)
        estimate = clustered_mean(*self._columns(known))
        return Row(name, estimate, labels or {}, {**told, **(counts or {})})

    def share(self, name: str, values: Sequence[bool | None], labels: _Labels, yes: str) -> Row:
        """The proportion of sentences of which something is true; `yes` names their count."""
        known, told = self._known(values)
        estimate = clustered_proportion(*self._columns(known))
        return Row(name, estimate, labels, {yes: sum(value is True for value in values), **told})

    def _known(self, values: Sequence[float | None]) -> tuple[list[tuple[Record, float]], dict[str, int]]:
        pairs = list(zip(self.records, values, strict=True))
        resolved = [(record, float(value)) for record, value in pairs if value is not None]
        known = [(record, value) for record, value in resolved if not math.isnan(value)]
        return known, {"unresolved": len(pairs) - len(resolved), "undefined": len(resolved) - len(known)}

    @staticmethod
    def _columns(known: Sequence[tuple[Record, float]]) -> tuple[list[float], list[str]]:
        return [value for _, value in known], [record["source"] for record, _ in known]


def _decoded(cell: _Cell) -> dict[str, list[Record | None]]:
    """What beam search, exact search and MBR decoding give for each sentence; None if it is not known."""
    records, chosen = cell.records, cell.chosen
    known = [region(record, "top", 1, chosen) for record in records]
    modes = [record["top"]["found"][0] if mode else None for record, mode in zip(records, known, strict=True)]
    mbr = {"mbr": [record["mbr"] for record in records]} if chosen.samples else {}
    return {"beam": [record["best"] for record in records], "mode": modes, **mbr}


def _corpus_scores(cell: _Cell) -> Iterator[Row]:
    """BLEU and chrF of all that a decoding gives."""
    for decoding, answers in _decoded(cell).items():
        kept = [(a["text"], r["references"]) for a, r in zip(answers, cell.records, strict=True) if a]
        counts = {"unresolved": len(answers) - len(kept), "unfinished": _unfinished(answers)}
        for metric in ("bleu", "chrf"):
            texts, references = [text for text, _ in kept], [own for _, own in kept]
            estimate = corpus_estimate(metric, texts, references)
            yield Row(metric, estimate, {"decoding": decoding}, counts)


def _qualities(cell: _Cell) -> Iterator[Row]:
    """The mean quality of sentences by each decoding, and of their samples."""
    for decoding, answers in _decoded(cell).items():
        qualities = [answer["quality"] if answer else None for answer in answers]
        yield cell.mean("quality", qualities, {"decoding": decoding}, {"unfinished": _unfinished(answers)})
    if samples := cell.chosen.samples:
        lists = [region(record, "samples", samples, cell.chosen) or [] for record in cell.records]
        means = [math.fsum(each.quality for each in drawn) / len(drawn) for drawn in lists]
        counts = {"unfinished": _unfinished_in(cell.records, "samples", samples)}
        yield cell.mean("quality", means, {"decoding": "samples"}, counts)


def _modes(cell: _Cell) -> Iterator[Row]:
    """How often the most probable hypothesis is the empty one (section 2.3)."""
    for view in _VIEWS:
        # By text, the mode depends on the whole region: twins further down can lift another text.
        size = 1 if view == "tokens" else cell.chosen.k
        lists = [region(record, "top", size, cell.chosen) for record in cell.records]
        empty = [not next(iter(by_text(found))).strip() if found else None for found in lists]
        yield cell.share("empty_mode", empty, {"view": view}, "empty")


def _regions(cell: _Cell) -> Iterator[Row]:
    """kRG and kQRG of every region in both views, and along curves over k."""
    k, samples = cell.chosen.k, cell.chosen.samples
    sizes: dict[Region, int] = {"top": k, "beam": k, **({"samples": samples} if samples else {})}
    for name, size in sizes.items():
        for view in _VIEWS:
            yield from _gains(cell, name, size, view)
    if cell.chosen.curves:
        for size in range(2, k):
            yield from _gains(cell, "top", size, "tokens")
        for size in (each for each in _SAMPLE_COUNTS if each < samples):
            yield from _gains(cell, "samples", size, "tokens")


def _gains(cell: _Cell, name: Region, size: int, view: View) -> Iterator[Row]:
    found = [gains(record, name, size, view, cell.chosen) for record in cell.records]
    known = [each for each in found if each is not None]
    counts = {
        "short": sum(each.short for each in known),
        "tied": sum(each.tied for each in known),
        "twins": sum(each.twins for each in known),
        "unfinished": _unfinished_in(cell.records, name, size),
    }
    for measure in ("krg", "krg_above_random", "kqrg"):
        values = [None if each is None else float(getattr(each, measure)) for each in found]
        yield cell.mean(measure, values, {"region": name, "k": size, "view": view}, counts)


def _lucky_bias(cell: _Cell) -> Iterator[Row]:
    """What beam search's list has over the exact one, sentence by sentence (section 5.2.1, table 2)."""
    k, chosen = cell.chosen.k, cell.chosen
    top, beam = (
        [gains(record, name, k, "tokens", chosen) for record in cell.records] for name in ("top", "beam")
    )
    for measure in ("krg", "kqrg"):
        values = [
            getattr(b, measure) - getattr(t, measure) if b and t else None
            for b, t in zip(beam, top, strict=True)
        ]
        yield cell.mean("beam_minus_exact", values, {"measure": measure, "k": k})


def _searches(cell: _Cell) -> Iterator[Row]:
    """How often beam search missed the mode, and by how many nats; what exact search found, and its cost."""
    for decoding in ("beam", "beam-list"):
        gaps = [record["missed_by"][decoding] for record in cell.records]
        labels: _Labels = {"decoding": decoding}
        yield cell.share("search_error", [None if gap is None else gap > 0 for gap in gaps], labels, "missed")
        missed = [(record, gap) for record, gap in zip(cell.records, gaps, strict=True) if gap]
        those = replace(cell, records=[record for record, _ in missed])
        yield those.mean("search_gap", [gap for _, gap in missed], labels)
    searches = [record["top"] for record in cell.records]
    counts = {"minimum": sum(each["minimum"] for each in searches)}
    yield cell.mean("expansions", [float(each["expansions"]) for each in searches], counts=counts)
    lists = [region(record, "top", cell.chosen.k, cell.chosen) for record in cell.records]
    mass = [None if found is None else math.fsum(math.exp(each.logprob) for each in found) for found in lists]
    yield cell.mean("mass", mass, {"region": "top", "k": cell.chosen.k})


def _unfinished(answers: Sequence[Mapping[str, Any] | None]) -> int:
    return sum("unfinished" in answer.get("notes", ()) for answer in answers if answer)


def _unfinished_in(records: Sequence[Record], name: Region, size: int) -> int:
    """Translations of a region that hit the length limit; those of exact search are complete."""
    if name == "top":
        return 0
    if name == "beam":
        return sum(_unfinished(record["beam"]) for record in records)
    found = [(record["samples"]["hypotheses"], record["samples"]["drawn"][:size]) for record in records]
    return sum(_unfinished([hypotheses[number] for number in drawn]) for hypotheses, drawn in found)
