"""Words of records and items: the tokeniser of each by setting or language, and what cannot be split is refused."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from babelscope.core.results import Record
from babelscope.core.tokenisers import (
    DEFAULT,
    Tokeniser,
    chosen_tokeniser,
    find_tokeniser,
    is_unspaced,
    language_tokeniser,
    require_split,
    unsplit_script,
)
from babelscope.methods.grouping import grouped
from babelscope.metrics.base import Metric, find_metric
from babelscope.testsets.items import ParallelSentence, SourceSentence
from babelscope.util.errors import BabelscopeError

Side = Literal["source", "target"]
Scored = TypeVar("Scored")


def known_tokeniser(name: str) -> str:
    """Refuse a setting that names no tokeniser, before any system is asked; empty: that of the language."""
    if name:
        find_tokeniser(name)
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
    """Refuse items whose references are in a script that the tokeniser of a metric cannot split."""
    items = [item for item in items if item.references]
    told: set[tuple[Tokeniser, Tokeniser | None]] = set()
    for metric in map(find_metric, metrics):
        if not metric.words_by:
            continue
        groups = _grouped(items, named, "target") if metric.is_tokenised else {None: items}
        for tokeniser, own in groups.items():
            texts = [text for item in own for text in item.references]
            asked = metric.tokenised(tokeniser)
            asked.require_words(texts, _todo("target", "tokenize"))
            if (asked.splitter, tokeniser) not in told:
                told.add((asked.splitter, tokeniser))
                _warn_of_some(asked.splitter, texts)


def check_source_words(items: Sequence[ParallelSentence], named: str) -> None:
    """Refuse items whose sources are in a script that their tokeniser cannot split."""
    for tokeniser, own in _grouped(items, named, "source").items():
        require_split(
            tokeniser or find_tokeniser(DEFAULT),
            [item.source for item in own],
            what="sources",
            todo=_todo("source", "source-tokenize"),
        )


def _todo(side: Side, option: str) -> str:
    known = "zh (Chinese), ja-mecab (Japanese), char or spm:FILE"
    return f"give the items their {side}_language, or say --{option} {known}"


def _warn_of_some(tokeniser: Tokeniser, texts: Sequence[str]) -> None:
    """Warn of single references that are not split, in a test set of which most are."""
    if some := sum(is_unspaced(text) and bool(unsplit_script(tokeniser, [text])) for text in texts):
        warnings.warn(
            f"{some} of {len(texts)} references are in a script without spaces between words, which "
            f"{tokeniser.name} does not split",
            stacklevel=2,
        )


def _grouped(
    items: Iterable[ParallelSentence | SourceSentence], named: str, side: Side
) -> dict[Tokeniser | None, list[ParallelSentence | SourceSentence]]:
    return grouped((chosen_tokeniser(named, getattr(item, f"{side}_language")), item) for item in items)


def named_identity(**named: str) -> Mapping[str, Any]:
    """What named tokenisers are, by setting, where their names alone do not say it."""
    found = {setting: find_tokeniser(name).signed for setting, name in named.items() if name}
    return {setting: signed for setting, signed in found.items() if signed != named[setting]}


def language_identity(named: str, metrics: Iterable[str], languages: Iterable[str]) -> list[str]:
    """The tokenisers that languages choose for these metrics, beside the metrics' own."""
    if named or not any(find_metric(name).is_tokenised for name in metrics):
        return []
    chosen = {language_tokeniser(language) for language in languages} - {""}
    return sorted(find_tokeniser(name).signed for name in chosen)
