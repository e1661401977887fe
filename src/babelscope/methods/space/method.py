"""What a model believes beyond its 1-best: its most probable translations, its samples, and how well it ranks them.

Paper: hypothesis-space. Systems are asked for the exact k best, for beam search's k best and for samples; each
hypothesis is given a quality against the references; kRG and kQRG say how well probability orders quality.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from babelscope.core.charts import Chart
from babelscope.core.comparison import Comparison
from babelscope.core.results import PairedField, Record, Row, finite_or_none
from babelscope.core.system import (
    METER,
    Budget,
    Capability,
    HasRegions,
    Question,
    Regions,
    Scored,
    System,
    TopK,
    capabilities,
    properties,
)
from babelscope.core.tables import Table
from babelscope.methods.base import Items, Method, Needs
from babelscope.methods.measuring import check_reference_words, require_references, stated_languages
from babelscope.methods.queue import Entry, entry
from babelscope.methods.reporting import ItemView, Tone
from babelscope.methods.space.confidence import confidence_fields
from babelscope.methods.space.figures import figures, is_open, mbr_correlations
from babelscope.methods.space.regions import (
    BEAM_SIZES,
    BLEU_STATISTICS,
    SpaceSettings,
    beam_gap,
    hypotheses_of,
    is_empty,
    quality_by,
    ranking_gains,
    region_hypotheses,
    with_single_metric,
)
from babelscope.methods.space.tables import (
    MISSED,
    charts,
    check_cases,
    ranked_hypotheses,
    shown_region,
    tables,
)
from babelscope.metrics.base import (
    Metric,
    Segment,
    find_metric,
    is_allowed,
    sentence_qualities,
    warn_stored_quality,
)
from babelscope.metrics.corpus import record_statistics, score_by_tokenizer
from babelscope.metrics.mbr import expected_utility, mbr_decode
from babelscope.metrics.ranking import quality_bound
from babelscope.systems.contract import ask_sample, ask_score, ask_top_k, ask_translate
from babelscope.systems.registry import require
from babelscope.testsets.items import NO_SOURCE, ParallelSentence, SourceSentence
from babelscope.util.errors import BabelscopeError

LONGEST = 26
"""Most translations of a list that people are asked to rank."""
_UNKNOWN = frozenset({"<unk>", "<UNK>", "[UNK]"})
"""Tokens for unknown words, which tokenizers leave out of texts."""
_TONES: Mapping[str, Tone] = {"empty": "errors", MISSED: "some", "sampled": "note", "not resolved": "note"}
_REGIONS = {
    "top": "the most probable translations",
    "beam": "beam search's list",
    "samples": "the samples",
}
_NOT_SEARCHED = TopK((), exact=False, bound=0.0, mass=0.0, expansions=0, minimum=0)
_Lists = list[list[Scored]]


class Space(Method):
    """Hypothesis space: what the model believes.

    Are better translations more probable, and what does beam search hide?

    A model gives a probability to every possible translation; beam search shows one of them. Here the k most
    probable of all are found by exact search, and others are drawn at random from the model's own probabilities
    (samples). Each gets a quality by comparison with the references.

    kRG (k-approximated ranking gain) is 1 if the translations, ordered by probability, are ordered by quality too.
    kQRG also counts how good they are. "Beam minus top" is what beam search's list has over the most probable
    translations: where it is above 0, the search hides errors of the model.

    Numbers before a translation are its rank, log-probability (nats) and quality.
    """

    name = "space"
    items = (ParallelSentence, SourceSentence)
    requires: ClassVar[Needs] = {"system": ()}
    Settings = SpaceSettings
    settings: SpaceSettings
    asked: SpaceSettings

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        """Refuse items without references unless no metric reads them, and systems that cannot do what is asked."""
        if systems is not None:
            self._check_system(systems["system"])
            return
        check_cases(self.settings.cases, [item.id for item in items])
        require_references(items, self.settings.metric)
        # Corpus BLEU is computed whatever the metric.
        check_reference_words(items, dict.fromkeys(("bleu", *self.settings.metric)), self.settings.tokenize)

    def _check_system(self, system: System) -> None:
        has, settings = capabilities(system), self.settings
        if "regions" in has:  # lists made elsewhere replace all this
            return
        needed: list[Capability] = (
            ["translate"] if settings.k or settings.beams or settings.confidence else []
        )
        needed += ["score"] if settings.k or settings.confidence else []
        needed += ["top_k"] if settings.k else []
        needed += ["sample"] if settings.samples else []
        try:
            require(system, *needed, what_for="space")
        except BabelscopeError as error:
            if "sample" not in has or not settings.samples:
                raise
            less = "leave confidence out, and " if settings.confidence else ""
            raise BabelscopeError(
                f"{error}; {less}its samples can be judged alone: k = 0, or --k 0"
            ) from None

    # --- Questions: the exact k best, beam search's k best, samples ------------------------------------------------

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        """The regions of each item's hypothesis space, each hypothesis with its log-probability."""
        system, settings = systems["system"], self.settings
        if "regions" in capabilities(system):
            return self._ask_lists(system, items)
        asked = list(dict.fromkeys(item.question for item in items))
        answers = self._ask_regions(system, asked, seed)
        # Metrics that read no reference judge items without any.
        told = [item for item in items if item.references] if settings.k or settings.confidence else []
        scored = ask_score(system, [(item.question, item.references[0]) for item in told]) if told else []
        references = {item.id: each for item, each in zip(told, scored, strict=True)}
        return [_record(item, answers[item.question], references.get(item.id), settings) for item in items]

    def _ask_regions(self, system: Any, asked: Sequence[Question], seed: int) -> dict[Question, Record]:
        """What the system answers to each question, as it is stored."""
        settings, width = self.settings, max(self.settings.beam, self.settings.k)
        best: _Lists = [[] for _ in asked]
        wide, drawn = list(best), list(best)
        tops = [_NOT_SEARCHED] * len(asked)
        if "translate" in capabilities(system):
            best = ask_translate(system, asked, beam=settings.beam)
        if settings.k > 1:
            with METER.timing(system.name, f"beam search of width {width}", len(asked)):
                wide = ask_translate(system, asked, beam=width, n_best=settings.k)
        if settings.samples:
            with METER.timing(system.name, f"{settings.samples} samples", len(asked)):
                drawn = ask_sample(system, asked, n=settings.samples, seed=seed, drawing=settings.drawing)
        sweep = {size: ask_translate(system, asked, beam=size) for size in settings.beams}
        if settings.k:
            with METER.timing(system.name, f"exact top-{settings.k}", len(asked)):
                tops = ask_top_k(system, asked, k=settings.k, budget=self._budget())
        plain, plain_wide = best, wide
        if settings.k and all(best):
            plain, plain_wide = _ask_unnormalized(system, asked, best, wide, settings)
        unproven = [each for each, top in zip(asked, tops, strict=True) if settings.k and not top.exact]
        scored = ask_score(system, [(question, "") for question in unproven]) if unproven else []
        empty = dict(zip(unproven, scored, strict=True))
        found: dict[Question, Record] = {}
        for number, question in enumerate(asked):
            wider = {size: answers[number][0] for size, answers in sweep.items()}
            beams = (best[number], wide[number], plain[number], plain_wide[number])
            top = tops[number]
            if question in empty:
                seen = [*itertools.chain(*beams), *drawn[number], *wider.values(), empty[question]]
                top = with_others_seen(top, seen, settings.k)
            swept = [
                {"beam": size, **_hypothesis(each), **_gaps(top, [each])} for size, each in wider.items()
            ]
            found[question] = {
                "best": _hypothesis(best[number][0]) if best[number] else None,
                "beam": [_hypothesis(each) for each in wide[number]],
                "top": _top(top, empty.get(question), searched=settings.k > 0),
                "samples": _samples(drawn[number]),
                **({BEAM_SIZES: {"beam": settings.beam, "beam-list": width}} if best[number] else {}),
                **_misses(top, plain[number], plain_wide[number]),
                **_normalization(system, top, best[number], plain[number]),
                **({"beams": swept} if wider else {}),
                **(confidence_fields(best[number], drawn[number]) if settings.confidence else {}),
            }
        return found

    def _budget(self) -> Budget | None:
        settings = self.settings
        limits = (settings.budget_expansions, settings.budget_seconds, settings.budget_bytes)
        return Budget(*limits) if any(limits) else None

    def _ask_lists(self, system: HasRegions, items: Sequence[ParallelSentence]) -> list[Record]:
        """The records of stored lists: no samples, no scores of references, and regions that may be missing."""
        settings = self.settings
        if settings.samples:
            raise BabelscopeError("stored lists have no samples; set samples = 0 (--samples 0)")
        if settings.confidence:
            raise BabelscopeError("stored lists have no token probabilities; leave confidence out")
        if settings.beams:
            raise BabelscopeError(
                "stored lists name their own beam sizes: use beam5=FILE&beam20=FILE, and leave beams out"
            )
        outside = [name for name in settings.metric if find_metric(name).reads_sources]
        if outside and any(NO_SOURCE in item.extra for item in items):
            raise BabelscopeError(
                f"{outside[0]} may need the sources, and there are none; use --tests parallel:SOURCES,REFERENCES"
            )
        found = system.regions([item.id for item in items], k=settings.k)
        return [
            _record(item, _of_lists(regions, settings.k), None, settings)
            for item, regions in zip(items, found, strict=True)
        ]

    # --- Judgments: qualities against references, the choice of MBR decoding, kRG and kQRG -------------------------

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with the quality of every hypothesis, the choice of MBR decoding, kRG and kQRG."""
        settings = self.settings
        judged = [{**copy.deepcopy(self._cut(record)), "mbr": record.get("mbr")} for record in records]
        if any(record["mbr"] for record in records if "mbr" in record) and not is_allowed(settings.utility):
            warn_stored_quality(settings.utility, "--set utility=")
        qualities = {name: _qualities(judged, name, settings.tokenize) for name in settings.metric}
        ends = {name: _ends(name, judged) for name in settings.metric}
        by_bound = settings.normalize == "bound"  # else by the ideal order
        highest = {
            name: best or quality_bound(find_metric(name)) for name, (_, best) in ends.items() if by_bound
        }
        scales = {
            "metrics": {name: highest.get(name) for name in ends},
            "lowest": {name: worst for name, (worst, _) in ends.items()},
        }
        for number, record in enumerate(judged):
            record |= scales
            self._judge_hypotheses(record, {name: own[number] for name, own in qualities.items()})
            record |= self._gains(record)
            # In this order whatever a record had before, so that one that is judged again has the same bytes.
            last = {name: record.pop(name) for name in ("extra",) if name in record}
            for name in ("gains", "empty_mode", "search_error"):
                record.pop(name, None)
            if others := settings.metric[1:]:
                record["gains"] = {name: self._gains(with_single_metric(record, name)) for name in others}
            mode = region_hypotheses(record, "top", 1, settings)
            record["empty_mode"] = is_empty(mode[0]) if mode else None
            gap = beam_gap(record, "beam", settings.unresolved)
            record["search_error"] = None if gap is None else gap > 0
            record |= last
        return judged

    def _cut(self, record: Record) -> Record:
        """The record as a smaller k has it: the exact k best are the first of those that are stored.

        What another k would have changed is left out: a beam of width k would have found another list, and a search
        for k hypotheses would have taken fewer expansions.
        """
        if self.settings.k >= self.asked.k:
            return record
        found = record["top"]["found"][: self.settings.k]
        return {
            **record,
            "beam": [],
            "top": {**record["top"], "found": found, "expansions": None, "minimum": None},
            "missed_by": {**record["missed_by"], "beam-list": None},
        }

    def _judge_hypotheses(self, record: Record, qualities: Mapping[str, Sequence[float]]) -> None:
        first, *others = self.settings.metric
        for place, hypothesis in enumerate(hypotheses_of(record)):
            hypothesis["quality"] = qualities[first][place]
            hypothesis.pop("qualities", None)
            if others:
                hypothesis["qualities"] = {name: qualities[name][place] for name in others}
        record["mbr"] = self._choose_sample(record)
        for hypothesis in (record["best"], *record["top"]["found"][:1], record["mbr"]):
            if hypothesis is None:
                continue
            hypothesis.pop(BLEU_STATISTICS, None)
            # A model that splits words is not opened to merge shards.
            if ":" in self.settings.tokenize and record["references"]:
                texts = [hypothesis["text"]]
                (row,) = record_statistics(find_metric("bleu"), texts, [record], self.settings.tokenize)
                hypothesis[BLEU_STATISTICS] = row.tolist()

    def _choose_sample(self, record: Record) -> Record | None:
        """The sample of the highest mean utility against all; the stored choice rather than start a program."""
        samples, utility = record["samples"]["hypotheses"], self.settings.utility
        drawn = [samples[each] for each in record["samples"]["drawn"][: self.settings.mbr_samples]]
        if not drawn:
            return None
        if not is_allowed(utility) and record["mbr"]:
            return next(dict(each) for each in samples if each["text"] == record["mbr"]["text"])
        # One whose words are split by a tokenizer has the target language's.
        (number,) = score_by_tokenizer(
            find_metric(utility),
            [record],
            self.settings.tokenize,
            lambda metric, _: [
                mbr_decode(
                    [each["text"] for each in drawn], expected_utility(metric, source=record["source"])
                ).number
            ],
        )
        return dict(drawn[number])

    def _gains(self, record: Record) -> Record:
        found: Record = {}
        for name, size in self.settings.sizes.items():
            # One hypothesis has no rank.
            own = ranking_gains(record, name, size, "tokens", self.settings) if size > 1 else None
            for measure in ("krg", "kqrg"):
                found[f"{name}_{measure}"] = None if own is None else finite_or_none(own[measure])
        return found

    # --- Figures ---------------------------------------------------------------------------------------------------

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:
        """Quality, ranking gains, empty modes, search errors, lengths, sizes of the beam, confidence."""
        return figures(records, self.settings, seed)

    def paired(self) -> list[PairedField]:
        """Empty modes, search errors, and gains of ranking in each region, by each further metric, too."""
        errors = {"empty_mode": "region=top,view=tokens", "search_error": "decoding=beam"}
        found = [
            PairedField(name, measure=name, of=f"{name},{labels}", higher_is_better=False)
            for name, labels in errors.items()
        ]
        for number, metric in enumerate(self.settings.metric):
            for region, measure in itertools.product(self.settings.sizes, ("krg", "kqrg")):
                name, of = f"{region}_{measure}", f"{measure},region={region},view=tokens"
                if number:
                    field = ("gains", metric, name)
                    found.append(
                        PairedField(field, "ranking gain", f"{name} by {metric}", f"{of},metric={metric}")
                    )
                else:
                    found.append(PairedField(name, "ranking gain", name, of))
        return found

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:  # noqa: ARG002
        """Correlation of MBR decoding's quality with other measures, over systems."""
        return mbr_correlations(comparison, self.settings)

    # --- What is shown ---------------------------------------------------------------------------------------------

    def tables(self, comparison: Comparison) -> list[Table]:
        return tables(comparison, self.settings)

    def charts(self, comparison: Comparison) -> list[Chart]:
        return charts(comparison, self.settings)

    @staticmethod
    def segments(records: Sequence[Record]) -> Iterator[str]:
        """Every hypothesis once, as a JSON line, for a metric that is computed elsewhere (`--set segments`)."""
        yield from dict.fromkeys(segment.as_line() for record in records for segment in _segments(record))

    def show(self, record: Record) -> ItemView:
        region = shown_region([record])
        verdict, *also = self._verdicts(record)
        facts = [
            f"{name} {record[field]:.2f}"
            for name, field in (("kRG", f"{region}_krg"), ("kQRG", f"{region}_kqrg"))
            if record[field] is not None
        ]
        if MISSED in (verdict, *also):
            facts.append(f"missed by {beam_gap(record, 'beam', self.settings.unresolved):.2f} nats")
        return ItemView(
            record["source"],
            lines=[("reference", text) for text in record["references"]],
            verdict=verdict,
            also=also,
            tone=_TONES.get(verdict, "none"),
            value=record[f"{region}_krg"],
            facts=", ".join(facts),
            answer=lambda: [
                (f"{rank} · {_nats(each)} · {each['quality']:.2f}", each["text"] or "(empty)")
                for rank, each in ranked_hypotheses(record, region)
            ],
            questions=self._questions(record),
            value_name=f"kRG of {_REGIONS[region]}",
        )

    def _verdicts(self, record: Record) -> list[str]:
        """What is true of a sentence, the worst first."""
        if not self.settings.k:
            return ["sampled"]
        if record["empty_mode"] is None:
            return ["not resolved"]
        open_search = ["not resolved"] if is_open(record, "empty_mode") else []
        searched = {None: [], True: [MISSED], False: ["found by beam search"]}[record["search_error"]]
        if record["empty_mode"]:
            return [*open_search, "empty", *searched]
        return [*open_search, *searched] or ["not known if beam search finds it"]

    def _questions(self, record: Record) -> list[Entry]:
        """The top region in the model's order, where it has a kQRG to be compared with people's."""
        k = self.settings.k
        top = region_hypotheses(record, "top", k, self.settings) if k <= LONGEST else None
        if top is None or len(top) < 2 or record["top_kqrg"] is None:
            return []
        return [entry(record, "ranking", translations=[each["text"] for each in top])]


def _nats(hypothesis: Record) -> str:
    return "–" if hypothesis["logprob"] is None else f"{hypothesis['logprob']:.2f}"


# --- Hypotheses as they are stored ---------------------------------------------------------------------------------


def _record(
    item: ParallelSentence, answers: Record, reference: Scored | None, settings: SpaceSettings
) -> Record:
    """The record of an item: what was asked, and the regions of its hypothesis space."""
    more = {}
    if "confidence" in answers and reference is not None:
        more["confidence"] = {**answers["confidence"], "reference": list(reference.tokens)}
    logprob = finite_or_none(reference.total) if reference is not None and settings.k else None
    return {
        "source": item.source,
        "references": list(item.references),
        **stated_languages(item),
        "reference_logprob": logprob,
        **answers,
        **more,
    }


def with_others_seen(top: TopK, others: Iterable[Scored], k: int) -> TopK:
    """A search that its budget ended, with what beam search and samples found and it had not: the k best of all."""
    finished = [each for each in others if each.has_scores and "unfinished" not in each.notes]
    known = {each.tokens: each for each in (*finished, *top.found) if math.isfinite(each.total)}
    ranked = sorted(known.values(), key=lambda each: (-each.total, len(each.tokens)))
    bound = max([top.bound, *(each.total for each in ranked[k : k + 1])])
    return dataclasses.replace(top, found=tuple(ranked[:k]), bound=bound)


def _of_lists(regions: Regions, k: int) -> Record:
    beam = regions.beam or ()
    best = beam[:1]
    wide = sorted(beam, key=lambda each: -each.total)[:k]
    # A list that is not exact proves nothing: anything unseen may be more probable.
    bound = -math.inf if regions.exact else 0.0
    top = dataclasses.replace(_NOT_SEARCHED, found=regions.top or (), exact=regions.exact, bound=bound)
    swept = [
        {"beam": size, **_hypothesis(own[0]), **_gaps(top, own[:1])} for size, own in regions.beams.items()
    ]
    return {
        "best": _hypothesis(best[0]) if best else None,
        "beam": [_hypothesis(each) for each in wide],
        "top": _top(top, None, searched=False),
        "samples": _samples(()),
        **_misses(top, best, wide),
        **({"beams": swept} if swept else {}),
    }


def _hypothesis(scored: Scored) -> Record:
    """A hypothesis as it is stored; `judge` adds its quality."""
    notes = {"notes": list(scored.notes)} if scored.notes else {}
    unknown = not scored.text.strip() and not _UNKNOWN.isdisjoint(scored.tokens)
    logprob = scored.total if scored.has_total else None
    return {"text": scored.text, "logprob": logprob, **notes, **({"unknown": True} if unknown else {})}


def _top(top: TopK, empty: Scored | None, *, searched: bool) -> Record:
    """The top region; `empty` is the score of the empty hypothesis, where the search did not end."""
    return {
        "found": [_hypothesis(each) for each in top.found],
        "exact": top.exact,
        "bound": finite_or_none(top.bound),
        "mass": top.mass if searched else None,
        "expansions": top.expansions if searched else None,
        "minimum": top.minimum if searched else None,
        **({"empty": finite_or_none(empty.total)} if empty is not None else {}),
    }


def _samples(drawn: Sequence[Scored]) -> Record:
    """Samples as distinct hypotheses, and for each draw the number of its hypothesis."""
    distinct: dict[tuple[str, ...], Scored] = {}
    for each in drawn:
        distinct.setdefault(each.tokens or (each.text,), each)
    numbers = {tokens: number for number, tokens in enumerate(distinct)}
    return {
        "hypotheses": [_hypothesis(each) for each in distinct.values()],
        "drawn": [numbers[each.tokens or (each.text,)] for each in drawn],
    }


def _misses(top: TopK, best: Sequence[Scored], wide: Sequence[Scored]) -> Record:
    """How far beam search is from the mode; after an open search also how far from the best hypothesis known."""
    gaps = {"beam": _gaps(top, best), "beam-list": _gaps(top, wide)}
    fields = ("missed_by",) if top.exact else ("missed_by", "below_known")
    return {field: {name: own[field] for name, own in gaps.items()} for field in fields}


def _gaps(top: TopK, candidates: Sequence[Scored]) -> dict[str, float | None]:
    """By how many nats beam search misses the mode (None if that is not proven), and the best hypothesis known."""
    finished = [each for each in candidates if "unfinished" not in each.notes]
    known = None
    if top.found and finished:
        mode = top.found[0]
        same = mode.tokens in (each.tokens for each in finished)
        # Never below 0: a hypothesis as probable as the mode is no search error.
        known = 0.0 if same else max(0.0, mode.total - max(each.total for each in finished))
    return {"missed_by": known if top.proven() else None, "below_known": known}


def _ask_unnormalized(
    system: Any, asked: Sequence[Question], best: _Lists, wide: _Lists, settings: SpaceSettings
) -> tuple[_Lists, _Lists]:
    """Beam search's 1-best and its list of k by log-probability alone; `best` and `wide` where they are that, or
    where the system has no length penalty that can be set."""
    if not properties(system).length_penalty:
        return best, wide
    beam, k = settings.beam, settings.k
    plain = ask_translate(system, asked, beam=beam, length_penalty=0.0)
    if k < 2:
        return plain, wide
    return plain, ask_translate(system, asked, beam=max(beam, k), n_best=k, length_penalty=0.0)


def _normalization(system: Any, top: TopK, best: Sequence[Scored], plain: Sequence[Scored]) -> Record:
    """What the system's length penalty changes about a sentence; nothing where it has none."""
    penalty = properties(system).length_penalty
    if not (penalty and best and plain and top.found):
        return {}
    own, other = best[0], plain[0]
    finished = not any("unfinished" in each.notes for each in (own, other))
    found = {
        "length_penalty": penalty,
        "changed": own.tokens != other.tokens if finished else None,
        "costs": other.total - own.total if finished else None,
        "length": len(own.tokens) - len(other.tokens) if finished else None,
        **_gaps(top, best),
    }
    return {"normalization": found}


# --- Qualities of stored hypotheses --------------------------------------------------------------------------------


def _qualities(records: Sequence[Record], name: str, tokenize: str) -> list[list[float]]:
    """The qualities of each record's hypotheses; stored ones are used again rather than start a program."""
    if not is_allowed(name) and all(name in record.get("metrics", ()) for record in records):
        warn_stored_quality(name)
        return [[quality_by(each, name) for each in hypotheses_of(record)] for record in records]

    def by_tokenizer(metric: Metric, numbers: list[int]) -> list[list[float]]:
        segments = [_segments(records[number]) for number in numbers]
        found = iter(sentence_qualities(metric, [each for own in segments for each in own]))
        return [[next(found) for _ in own] for own in segments]

    return score_by_tokenizer(find_metric(name), records, tokenize, by_tokenizer)


def _ends(name: str, records: Sequence[Record]) -> tuple[float | None, float | None]:
    """The lowest and the highest quality that a metric can give, None where its scale has no such end; of a program
    that is not to be started, as stored."""
    if not is_allowed(name) and records and name in records[0].get("metrics", ()):
        return records[0].get("lowest", {}).get(name), records[0]["metrics"][name]
    scale = find_metric(name).scale
    worst = scale.low if scale.better == "higher" else scale.high
    return None if worst is None else scale.quality(worst), scale.best_quality


def _segments(record: Record) -> list[Segment]:
    """A segment for each hypothesis of a record, in the order of `hypotheses_of`."""
    references = tuple(record["references"])
    return [Segment(record["source"], each["text"], references) for each in hypotheses_of(record)]
