"""Quality on challenge sets: phenomena and distances against the whole corpus (Choshen and Abend 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.charts import Chart
from babelscope.core.comparison import Comparison
from babelscope.core.options import Option, reads
from babelscope.core.results import PairedField, Record, Result, Row
from babelscope.core.tables import Table, as_text, of_rows
from babelscope.core.tokenizers import DEFAULT, find_tokenizer
from babelscope.making.challenge.reordering import UNITS
from babelscope.methods.base import Items, Method
from babelscope.methods.challenge.annotation import (
    agreement_rows,
    answer_rows,
    answers,
    check_annotatable,
    entries,
    queue,
)
from babelscope.methods.challenge.figures import SetScores, difference_rows
from babelscope.methods.challenge.sets import ChallengeSettings, SetName, read_instances
from babelscope.methods.challenge.tables import NAMES, further_tables, make_charts, summary
from babelscope.methods.challenge.verdicts import CHECKS, judge_dependencies, verdict_rows
from babelscope.methods.command import Given, JudgingCommand
from babelscope.methods.measuring import (
    answer_counts,
    check_reference_words,
    check_source_words,
    scale_of,
    translated_records,
)
from babelscope.methods.quality import measure
from babelscope.methods.reporting import ItemView, TextLine
from babelscope.metrics.base import is_allowed
from babelscope.metrics.corpus import tokenizers_of
from babelscope.testsets.items import ParallelSentence, TestSet
from babelscope.util.terminal import terminal_width
from babelscope.util.text import read_json_lines


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
    part_labels = frozenset({"phenomenon"})
    asks_people = True

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        """Refuse items without dependencies, those of a plain parallel test set, and texts that cannot be split."""
        super().check(items, systems)
        if systems is not None:
            return
        for item in items:
            read_instances(item.extra, f"item {item.id}")
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
        return [
            *own.quality_rows(answer_counts(records)),
            *own.control_rows(),
            *own.distance_rows(),
            *own.length_rows(),
            *verdict_rows(records, self.settings.distances),
        ]

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
        """Differences of corpus scores between every two systems, over the sentences that all systems answered."""
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
        needed, threshold = self.settings.verdict_from, self.settings.error_threshold
        return [summary(comparison, needed=needed, threshold=threshold), *further_tables(comparison)]

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
            questions=entries([record]),
            value_name=f"{NAMES.get(metric, metric)} of the sentence",
            group_name="phenomenon",
        )


def _verdict_line(phenomenon: str, verdict: Mapping[str, str]) -> TextLine:
    """The verdict on a dependency, with what was compared."""
    compared = " / ".join(filter(None, (verdict["reference"], verdict["output"])))
    why = f"{verdict['why']} ({compared})" if compared else verdict["why"]
    return f"{phenomenon}: {verdict['verdict']}", why


# --- `babelscope challenge` ----------------------------------------------------------------------------------------


def _check(given: Given) -> None:
    for path in given["answers"]:  # read here too, since translating comes first
        answers(read_json_lines(path))


def _check_tests(tests: Mapping[str, TestSet], given: Given) -> None:
    if given["annotate"] is not None:
        for name, each in tests.items():
            items = [item for item in each.items if isinstance(item, ParallelSentence)]
            check_annotatable(name, items, given["annotate-distance"])


def _answered(result: Result, given: Given) -> list[Row]:
    """What annotators say, each told apart by the name of the file."""
    if not (files := given["answers"]):
        return []
    names = [path.stem for path in files]
    annotators = {
        path.stem if names.count(path.stem) == 1 else str(path): answers(read_json_lines(path))
        for path in files
    }
    return [*answer_rows(result.records, annotators), *agreement_rows(result.records, annotators)]


def _shown_answers(result: Result, given: Given) -> str:
    rows = _answered(result, given)
    return as_text(of_rows("What annotators say", rows), terminal_width()) if rows else ""


def _queue(result: Result, given: Given) -> list[Record]:
    return queue(
        result.records,
        per_phenomenon=given["per-phenomenon"],
        distances=given["annotate-distance"],
        seed=given["seed"],
    )


COMMAND = JudgingCommand(
    "challenge",
    "Measure quality by phenomenon and distance between words. BLEU, chrF and RIBES, against the whole test set and "
    "length-matched controls.",
    "challenge",
    ChallengeSettings,
    options=(
        Option(
            "annotate-distance",
            "Only instances with exactly N words between in the queue; may be repeated.",
            int,
            metavar="N",
            minimum=0,
            repeat=True,
            only_with=("annotate",),
        ),
        reads("answers", "A queue that was answered; one for each annotator.", repeat=True),
    ),
    changed={
        "tests": {"help": "A test set of `babelscope make challenge`, or ldd:..."},
        "metrics": {"name": "metric", "help": "May be repeated; all if not given."},
        "tokenize": {"metavar": "TOKENIZER", "role": "read"},
        "source-tokenize": {"metavar": "TOKENIZER", "role": "read"},
        "distances": {
            "name": "distance",
            "metavar": "N",
            "help": "A set of at least N words between; may be repeated. Else 0 to 6.",
        },
        "order-distances": {
            "name": "order-distance",
            "metavar": "N",
            "help": "The same for reordering, in its own unit (positions apart, words off the diagonal, links "
            "crossed); 0: all that was found. May be repeated. Else 0, 5, 10, 15 and 20.",
        },
        "max-sentences": {"metavar": "N"},
        "beam": {"help": "Of the translations."},
        "target-parser": {
            "metavar": "PARSER",
            "help": "Judge each dependency, too: kept, lost or undecided. Parses references and translations; "
            "udpipe:MODEL or stanza:LANGUAGE.",
        },
        "target-language": {
            "metavar": "CODE",
            "help": "Of the references, where the parser's name does not say it.",
            "only_with": ("target-parser",),
        },
        "annotate": {
            "help": "Write a blind queue for annotators there: was the dependency translated right?"
        },
        "annotate-n": {
            "name": "per-phenomenon",
            "default": 30,
            "metavar": "N",
            "help": "Instances of each phenomenon in the queue.",
        },
        "length-sizes": {
            "name": "length-size",
            "metavar": "N",
            "help": "Sentences in each of them; may be repeated. Else 1000, 100 and 10.",
        },
    },
    check=_check,
    check_tests=_check_tests,
    show=_shown_answers,
    more=_answered,
    queue=_queue,
)
