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
from babelscope.methods.challenge.figures import SetScores, difference_rows
from babelscope.methods.challenge.sets import ChallengeSettings, SetName, read_instances
from babelscope.methods.challenge.tables import NAMES, further_tables, make_charts, summary
from babelscope.methods.challenge.verdicts import CHECKS, judge_dependencies, verdict_rows
from babelscope.methods.measuring import (
    answer_counts,
    check_reference_words,
    check_source_words,
    mark_parts,
    scale_of,
    translated_records,
)
from babelscope.methods.quality import measure
from babelscope.methods.reporting import ItemView, TextLine
from babelscope.metrics.base import is_allowed
from babelscope.metrics.corpus import tokenizers_of
from babelscope.testsets.items import ParallelSentence


class Challenge(Method):
    """Challenge sets: phenomena and distance

    Are sentences with a difficult construction translated worse than others?

    Sentences are sorted by what occurs in them (a verb far from its particle, say) and by how many words stand
    between; reordering has units of its own. Each set is scored as a corpus: chrF and BLEU compare letters and words
    with the reference, 0 to 100; RIBES compares their order, 0 to 1.

    Sentences in which words are far apart are long, and long sentences score differently anyway. So each set is
    compared with random sets of equally long sentences. The construction itself is hard where the whole interval of
    "vs. equally long" lies below 0 (above 0, if lower scores are better): the verdict is then "error". These
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
        judged = self._measure(records)
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
        sources = tokenizers_of(records, self.settings.source_tokenize, "source")
        targets = tokenizers_of(records, self.settings.tokenize)
        usual = find_tokenizer(DEFAULT)
        measured = measure(records, self.settings.metrics, self.settings.tokenize)
        for record, source, target in zip(measured, sources, targets, strict=True):
            record["lengths"] = {
                "source": len((source or usual).split(record["source"])),
                "reference": len((target or usual).split(record["references"][0])),
                "translation": len((target or usual).split(record["translation"])),
            }
        return measured

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:
        """Rows for all sentences and every phenomenon and distance: quality, controls, correlations."""
        own = SetScores(records, self.settings, seed)
        rows = [
            *own.quality_rows(answer_counts(records)),
            *own.control_rows(),
            *own.distance_rows(),
            *own.length_rows(),
            *verdict_rows(records, self.settings.distances),
        ]
        return mark_parts(rows, "phenomenon")

    def paired(self) -> list[PairedField]:
        """The sentence score by each metric."""
        found = []
        for name in self.settings.metrics:
            scale = scale_of(name)
            unit = "points" if scale.unit == "percent" else name
            higher = scale.better == "higher"
            found.append(PairedField(("scores", name), unit, name, higher_is_better=higher))
        return found

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
            found[result.name] = SetScores(both, self.settings, seed)
        return difference_rows(found)

    def tables(self, comparison: Comparison) -> list[Table]:
        needed, threshold = self.settings.min_sentences, self.settings.error_threshold
        found = [summary(comparison, needed=needed, threshold=threshold), *further_tables(comparison)]
        answered = annotated_rows(comparison, self.settings.answers)
        return (
            [*found, replace(of_rows("Annotators’ answers", answered), name="annotators")]
            if answered
            else found
        )

    def charts(self, comparison: Comparison) -> list[Chart]:
        return make_charts(comparison)

    def show(self, record: Record) -> ItemView:
        """Its sets and dependencies, and the worst verdict on these: lost, undecided or kept."""
        groups: dict[str, None] = {}
        for each in read_instances(record["extra"], f"item {record['id']}"):
            known = self.settings.order_distances if each.phenomenon in UNITS else self.settings.distances
            sets = (SetName(each.phenomenon, each.side, least) for least in known if least <= each.distance)
            groups |= dict.fromkeys(one.group for one in sets)
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
            tuple(groups),
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
