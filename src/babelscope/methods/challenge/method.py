"""Quality on challenge sets: phenomena and distances against the whole corpus (Choshen and Abend 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from babelscope.core.charts import Chart
from babelscope.core.comparison import Comparison
from babelscope.core.results import PairedField, Record, Row
from babelscope.core.tables import Table, of_rows
from babelscope.core.tokenizers import DEFAULT, find_tokenizer
from babelscope.making.challenge.reordering import UNITS
from babelscope.methods.base import Items, Method
from babelscope.methods.challenge.annotation import annotated_rows, check_annotatable, entries
from babelscope.methods.challenge.figures import Controls, SystemScores, difference_rows
from babelscope.methods.challenge.sets import ChallengeSettings, read_instances
from babelscope.methods.challenge.tables import NAMES, SetName, further_tables, make_charts, summary
from babelscope.methods.challenge.verdicts import CHECKS, judge_dependencies, verdict_rows
from babelscope.methods.measuring import (
    answer_counts,
    check_reference_words,
    check_source_words,
    mark_parts,
    scale_of,
    score_sentences,
    translated_records,
)
from babelscope.methods.reporting import ItemView, TextLine
from babelscope.metrics.base import is_allowed
from babelscope.metrics.corpus import tokenizers_of
from babelscope.testsets.items import ParallelSentence

_SENTENCES_AT_ONCE = 100  # sentences scored between two steps of the progress bar


class Challenge(Method):
    """Challenge sets: phenomena and distance

    Are sentences with a difficult construction translated worse than others?

    Sentences are sorted by what occurs in them (a verb far from its particle, say) and by how many words stand
    between; reordering has units of its own. Each set is scored as a corpus: chrF and BLEU compare letters and words
    with the reference, 0 to 100; RIBES compares their order, 0 to 1.

    Sentences in which words are far apart are long, and long sentences score differently anyway. So each set is
    compared with random sets of equally long sentences. The construction itself is hard where the whole interval of
    "minus equally long" lies below 0 (above 0, if lower scores are better): the verdict is then "error". These
    intervals hold for all sets at once, so that the worst of many sets is not a weakness by chance.
    """

    name = "challenge"
    items = (ParallelSentence,)
    Settings = ChallengeSettings
    settings: ChallengeSettings

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        """Refuse items without dependencies, those of a plain parallel test set, and texts that cannot be split."""
        super().check(items, systems)
        if systems is not None:
            return
        for item in items:
            read_instances(item.extra, f"item {item.id}")
        if self.settings.queue_distances:
            check_annotatable(items, self.settings.queue_distances)
        # Lengths are in words of the same tokenizer, whatever the metric.
        metrics = dict.fromkeys(("bleu", *self.settings.metrics))
        check_reference_words(items, metrics, self.settings.tokenize)
        check_source_words(items, self.settings.source_tokenize)

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        """One record per sentence with its translation; the dependencies stay in the field `extra`.

        That is filled in after `judge`, so `judge` finds them in a field of their own, if it needs them.
        """
        records = translated_records(systems["system"], items, self.settings.beam)
        if self.settings.target_parser is None:
            return records
        return [
            {**record, "dependencies": item.extra["dependencies"]}
            for record, item in zip(records, items, strict=True)
        ]

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with lengths in tokens, sentence scores, and the statistics for corpus scores.

        And with a verdict on each dependency, if a parser of the targets is given.
        """
        judged: list[Record] = []
        for start in range(0, len(records), _SENTENCES_AT_ONCE):
            judged += self._measure(records[start : start + _SENTENCES_AT_ONCE])
        parser = self.settings.target_parser
        gone = {"dependencies"} if parser else {"dependencies", "verdicts"}
        bare = [{name: value for name, value in each.items() if name not in gone} for each in judged]
        if parser is None:
            return bare
        # A stored run may be a stranger's: the model that it names is not opened, the stored verdicts are kept.
        if not is_allowed(parser) and all("verdicts" in each for each in judged):
            return bare
        found = judge_dependencies(judged, parser, self.settings.target_language)
        return [{**record, "verdicts": own} for record, own in zip(bare, found, strict=True)]

    def _measure(self, records: Sequence[Record]) -> list[Record]:
        """The records with scores, statistics, and words of source, first reference and translation."""
        measured = {
            name: score_sentences(name, records, self.settings.tokenize) for name in self.settings.metrics
        }
        sources = tokenizers_of(records, self.settings.source_tokenize, "source")
        targets = tokenizers_of(records, self.settings.tokenize)
        usual = find_tokenizer(DEFAULT)
        return [
            {
                **record,
                "lengths": {
                    "source": len((source or usual).split(record["source"])),
                    "reference": len((target or usual).split(record["references"][0])),
                    "translation": len((target or usual).split(record["translation"])),
                },
                "scores": {name: scores[number] for name, (scores, _) in measured.items()},
                # A metric whose corpus score is the mean of sentence scores stores no statistics.
                "statistics": {name: rows[number] for name, (_, rows) in measured.items() if rows},
            }
            for number, (record, source, target) in enumerate(zip(records, sources, targets, strict=True))
        ]

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:
        """Rows for all sentences and every phenomenon and distance: quality, controls, correlations."""
        settings = self.settings
        own = SystemScores.of_records(records, settings.partition(seed))
        controls = Controls(settings.matched_corpora, settings.length_tolerance, settings.controls)
        rows = [
            *own.quality_rows(answer_counts(records)),
            *own.control_rows(controls, seed=seed),
            *own.distance_rows(),
            *own.length_rows(seed=seed, corpora=settings.length_corpora, sizes=settings.length_sizes),
            *verdict_rows(records, settings.distances),
        ]
        return mark_parts(rows, "phenomenon")

    def paired(self) -> list[PairedField]:
        """The sentence score by each metric."""
        scales = {name: scale_of(name) for name in self.settings.metrics}
        return [
            PairedField(
                ("scores", name),
                "points" if scale.unit == "percent" else name,
                name,
                higher_is_better=scale.better == "higher",
            )
            for name, scale in scales.items()
        ]

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:
        """Differences of corpus scores between every two systems, over the sentences that all systems answered; and
        what annotators answered, if the settings name their files."""
        return [*self._differences(comparison, seed), *annotated_rows(comparison, self.settings.answers)]

    def _differences(self, comparison: Comparison, seed: int) -> list[Row]:
        if len(comparison.results) < 2:
            return []
        answered = ({record["item"] for record in result.records} for result in comparison.results)
        common = set.intersection(*answered)
        found = {}
        for result in comparison.results:
            both = [record for record in result.records if record["item"] in common]
            found[result.name] = SystemScores.of_records(both, self.settings.partition(seed))
        return difference_rows(found)

    def tables(self, comparison: Comparison) -> list[Table]:
        needed, threshold = self.settings.min_sentences, self.settings.error_threshold
        found = [summary(comparison, needed=needed, threshold=threshold), *further_tables(comparison)]
        answered = annotated_rows(comparison, self.settings.answers)
        return (
            [*found, replace(of_rows("What annotators say", answered), name="annotators")]
            if answered
            else found
        )

    def charts(self, comparison: Comparison) -> list[Chart]:
        return make_charts(comparison)

    def show(self, record: Record) -> ItemView:
        """Its sets and dependencies, and the worst verdict on these: lost, undecided or kept."""
        groups: list[str] = []
        for each in read_instances(record["extra"], f"item {record['id']}"):
            known = self.settings.order_distances if each.phenomenon in UNITS else self.settings.distances
            sets = (SetName(each.phenomenon, each.side, least) for least in known if least <= each.distance)
            groups += [one.group for one in sets]
        dependencies = [
            (
                str(each["phenomenon"]),
                f"{each['head_form']} … {each['dependent_form']} ({each['distance']:g})",
            )
            for each in record["extra"]["dependencies"]
            if each.get("head_form") and each.get("dependent_form")
        ]
        judged = [
            (each["phenomenon"], own)
            for each, own in zip(record["extra"]["dependencies"], record.get("verdicts", ()), strict=False)
            if each["phenomenon"] in CHECKS
        ]
        found = {own["verdict"] for _, own in judged}
        verdict = next((each for each in ("lost", "undecided", "kept") if each in found), "")
        scores = record["scores"]
        metric = next(name for name in (*NAMES, *scores) if name in scores)
        return ItemView(
            record["source"],
            tuple(dict.fromkeys(groups)),
            lines=[*dict.fromkeys(dependencies), *(("reference", text) for text in record["references"])],
            verdict=verdict,
            tone="errors" if verdict == "lost" else "note",
            value=scores[metric],
            facts=", ".join(f"{NAMES.get(name, name)} {score:.3g}" for name, score in scores.items()),
            answer=lambda: [
                ("translation", record["translation"] or "(empty)"),
                *(_verdict_line(phenomenon, own) for phenomenon, own in judged),
            ],
            questions=entries([record], distances=self.settings.queue_distances),
            value_name=f"{NAMES.get(metric, metric)} of the sentence",
            group_name="phenomenon",
        )


def _verdict_line(phenomenon: str, verdict: Mapping[str, str]) -> TextLine:
    """The verdict on a dependency, with what was compared."""
    compared = " / ".join(filter(None, (verdict["reference"], verdict["output"])))
    why = f"{verdict['why']} ({compared})" if compared else verdict["why"]
    return f"{phenomenon}: {verdict['verdict']}", why
