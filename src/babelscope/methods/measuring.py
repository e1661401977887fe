"""Translations measured by metrics: what methods share that ask for translations and compare them with references."""

from __future__ import annotations

import dataclasses
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from babelscope.core.comparison import Comparison
from babelscope.core.results import Record, Row, grouped
from babelscope.core.system import count_flags
from babelscope.core.tables import Note
from babelscope.core.tokenizers import (
    DEFAULT,
    Tokenizer,
    chosen_tokenizer,
    find_tokenizer,
    is_unspaced,
    language_tokenizer,
    require_split,
    unsplit_script,
)
from babelscope.language.fitness import identify_all, other_language_of_set
from babelscope.metrics.base import Metric, Scale, find_metric, is_allowed, warn_stored_quality
from babelscope.metrics.corpus import record_statistics
from babelscope.systems.contract import ask_translate
from babelscope.testsets.items import ParallelSentence, SourceSentence
from babelscope.util.errors import BabelscopeError


def language_mismatch(translations: Sequence[str], references: Sequence[str]) -> tuple[str, str] | None:
    """The languages of two sets of texts, if each set is clearly not in the language of the other."""
    own, other = (identify_all(texts, "").language for texts in (translations, references))
    if own is None or other is None:
        return None
    if other_language_of_set(translations, other) and other_language_of_set(references, own):
        return own, other
    return None


def mismatch_notes(comparison: Comparison, translation_of: Callable[[Record], Any]) -> Iterator[Note]:
    """A note for each system whose translations, all together, are in another language than the references."""
    for result in comparison.results:
        judged = [
            (text, record["references"][0])
            for record in result.records
            if record.get("references") and isinstance(text := translation_of(record), str)
        ]
        languages = language_mismatch([text for text, _ in judged], [reference for _, reference in judged])
        if languages:
            own, other = languages
            mismatch = f"its translations are in the language {own}, the references in {other} (py3langid)"
            yield Note(f"{mismatch}: figures that compare them say nothing.", result.name)


def warn_of_pooled_languages(items: Iterable[Any]) -> None:
    """Warn if items state different target languages, which every figure over all of them pools."""
    stated = Counter(item.target_language for item in items if item.target_language)
    if len(stated) > 1:
        told = ", ".join(f"{language}: {count}" for language, count in stated.most_common())
        warnings.warn(
            f"the items have {len(stated)} target languages ({told}), and figures over all items pool them; "
            "--group-by target_language gives a figure for each",
            stacklevel=2,
        )


def sources(records: Iterable[Record]) -> list[str]:
    """The cluster of each record, its source: pairs of one source sentence are not independent."""
    return [record["source"] for record in records]


def pair_texts(record: Record) -> tuple[str, list[str]]:
    """The correct translation of a minimal pair and its variants; without tokens they are in a field of their own."""
    if "texts" in record:
        return record["texts"]["correct"], record["texts"]["contrastive"]
    return record["correct"]["text"], [each["text"] for each in record["contrastive"]]


def by_phenomenon(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Records by (phenomenon, reference kind), sorted."""
    return group_records(((record["phenomenon"], record["reference"]), record) for record in records)


def group_records(keyed: Iterable[tuple[Any, Record]]) -> dict[Any, list[Record]]:
    """Records by their keys, sorted; records with the key None are left out."""
    return dict(sorted(grouped((key, record) for key, record in keyed if key is not None).items()))


# --- Words of records and items: the tokenizer of each by setting or language --------------------------------------

Side = Literal["source", "target"]


def mark_parts(rows: Iterable[Row], *labels: str) -> list[Row]:
    """The rows; those with one of these labels are over a part of the items, unless it says `all`."""
    return [
        dataclasses.replace(row, part=any(row.labels.get(label, "all") != "all" for label in labels))
        for row in rows
    ]


def known_tokenizer(name: str) -> str:
    """Refuse a setting that names no tokenizer, before any system is asked; empty: that of the language."""
    if name:
        find_tokenizer(name)
    return name


def known_metrics(names: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a setting that names an unknown metric, or one twice, before any system is asked."""
    for name in names:
        find_metric(name)
    return given_once(names)


def given_once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse a setting that has a value twice."""
    if len(set(values)) < len(values):
        raise ValueError("each may be given once")
    return values


def metric_identity(setting: str, names: Sequence[str]) -> dict[str, Any]:
    """What metrics are, where their names alone do not say it: not where a program lies, but what it is."""
    found = [find_metric(name).identity for name in names]
    return {} if found == list(names) else {setting: found}


def stated_languages(item: ParallelSentence | SourceSentence) -> Record:
    """The languages that an item states, for its record: judging needs them."""
    stated = {"source_language": item.source_language, "target_language": item.target_language}
    return {name: value for name, value in stated.items() if value}


def require_references(
    items: Sequence[ParallelSentence | SourceSentence], metrics: Iterable[str | Metric]
) -> None:
    """Refuse items without references, unless no metric reads them."""
    needed = [metric.name for name in metrics if (metric := find_metric(name)).reads_references]
    without = next((item.id for item in items if not item.references), None)
    if needed and without is not None:
        raise BabelscopeError(
            f"{needed[0]} needs references, and item {without} has none; choose a metric that reads none, such as "
            "cometkiwi or cmd:COMMAND?reference=no"
        )


def check_reference_words(
    items: Sequence[ParallelSentence | SourceSentence], metrics: Iterable[str | Metric], named: str
) -> None:
    """Refuse items whose references are in a script that the tokenizer of a metric cannot split."""
    items = [item for item in items if item.references]
    told: set[tuple[Tokenizer, Tokenizer | None]] = set()
    for metric in map(find_metric, metrics):
        if not metric.words_by:
            continue
        groups = _grouped(items, named, "target") if metric.is_tokenized else {None: items}
        for tokenizer, own in groups.items():
            texts = [text for item in own for text in item.references]
            asked = metric.tokenized(tokenizer)
            asked.require_words(texts, _todo("target", "tokenize"))
            if (asked.splitter, tokenizer) not in told:
                told.add((asked.splitter, tokenizer))
                _warn_of_some(asked.splitter, texts)


def check_source_words(items: Sequence[ParallelSentence], named: str) -> None:
    """Refuse items whose sources are in a script that their tokenizer cannot split."""
    for tokenizer, own in _grouped(items, named, "source").items():
        require_split(
            tokenizer or find_tokenizer(DEFAULT),
            [item.source for item in own],
            what="sources",
            todo=_todo("source", "source-tokenize"),
        )


def _todo(side: Side, option: str) -> str:
    known = "zh (Chinese), ja-mecab (Japanese), char or spm:FILE"
    return f"give the items their {side}_language, or say --{option} {known}"


def _warn_of_some(tokenizer: Tokenizer, texts: Sequence[str]) -> None:
    """Warn of single references that are not split, in a test set of which most are."""
    if some := sum(is_unspaced(text) and bool(unsplit_script(tokenizer, [text])) for text in texts):
        warnings.warn(
            f"{some} of {len(texts)} references are in a script without spaces between words, which "
            f"{tokenizer.name} does not split",
            stacklevel=2,
        )


def _grouped(
    items: Iterable[ParallelSentence | SourceSentence], named: str, side: Side
) -> dict[Tokenizer | None, list[ParallelSentence | SourceSentence]]:
    return grouped((chosen_tokenizer(named, getattr(item, f"{side}_language")), item) for item in items)


def named_identity(**named: str) -> Mapping[str, Any]:
    """What named tokenizers are, by setting, where their names alone do not say it."""
    found = {setting: find_tokenizer(name).signed for setting, name in named.items() if name}
    return {setting: signed for setting, signed in found.items() if signed != named[setting]}


def language_identity(named: str, metrics: Iterable[str], languages: Iterable[str]) -> list[str]:
    """The tokenizers that languages choose for these metrics, beside the metrics' own."""
    if named or not any(find_metric(name).is_tokenized for name in metrics):
        return []
    chosen = {language_tokenizer(language) for language in languages} - {""}
    return sorted(find_tokenizer(name).signed for name in chosen)


# --- Translations measured by metrics ------------------------------------------------------------------------------

NOTES = ("truncated", "unfinished")


def translated_records(
    system: Any, items: Sequence[ParallelSentence | SourceSentence], beam: int
) -> list[Record]:
    """One record per sentence: its source, its references, and the system's 1-best translation."""
    answers = ask_translate(system, [item.question for item in items], beam=beam)
    return [
        {
            "source": item.source,
            "references": list(item.references),
            **stated_languages(item),
            "translation": answer[0].text,
            "notes": list(answer[0].notes),
        }
        for item, answer in zip(items, answers, strict=True)
    ]


def score_sentences(
    name: str, records: Sequence[Record], tokenize: str = ""
) -> tuple[list[float], list[list[float]]]:
    """Sentence scores by one metric, and the statistics for its corpus score; none if that is the mean.

    Words are split by the tokenizer `tokenize`, or if none is named by that of each target language.
    A stored run that names an external program does not start it: the stored scores are used again.
    """
    if not is_allowed(name) and all(name in record.get("scores", ()) for record in records):
        warn_stored_quality(name)
        return [record["scores"][name] for record in records], []
    metric = find_metric(name)
    texts = [record["translation"] for record in records]
    statistics = record_statistics(metric, texts, records, tokenize)
    scores = [metric.of_statistics(row) for row in statistics]
    if type(metric).corpus is Metric.corpus:
        return scores, []
    return scores, [[int(each) if each == int(each) else float(each) for each in row] for row in statistics]


def answer_counts(records: Sequence[Record]) -> dict[str, int]:
    """How many translations are empty, were cut, did not end, or came with chatter."""
    notes = Counter(note for record in records for note in record["notes"])
    return {
        "empty": sum(not record["translation"].strip() for record in records),
        **{note: notes[note] for note in NOTES},
        **count_flags(notes),
    }


def scale_of(name: str) -> Scale:
    """A metric's scale. External scores are taken to be better if higher: their program is not started to ask."""
    return (
        Scale(None, None)
        if not is_allowed(name) or name.startswith(("cmd:", "file:"))
        else find_metric(name).scale
    )
