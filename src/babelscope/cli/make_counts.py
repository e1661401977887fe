"""`babelscope make counts`: frequencies in your own training text."""

from __future__ import annotations

import contextlib
import functools
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from babelscope.cli.common import (
    AsJson,
    Form,
    as_line,
    figures,
    file_option,
    option,
    output,
    paragraph,
    setting,
    width_for,
    write_file,
)
from babelscope.cli.shell import refuse_unused
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs

if TYPE_CHECKING:
    from babelscope.core.results import Row
    from babelscope.making.counts import GenderCounts
    from babelscope.testsets.items import AmbiguousSource

_EVERY_COUNT = "For all counts: --json or --to FILE."


class _Counted(NamedTuple):
    """What was counted: figures, a text for people, the file of --to and the test set of --save-tests."""

    rows: Sequence[Row]
    text: str
    file: list[str]
    items: Iterable[AmbiguousSource]
    told: str
    """About those items."""


def counts(
    context: typer.Context,
    source: Annotated[Path | None, file_option("Sources of the training text, one per line.")] = None,
    target: Annotated[Path | None, file_option("Their translations in the training text.")] = None,
    lexicon: Annotated[
        Path | None,
        file_option("Count senses: MuCoW's keys (.key.tsv), or lines of word, tab, lemmas of a sense."),
    ] = None,
    words: Annotated[
        str,
        option(
            "Count genders of occupations: lab:occupations, or a JSON file {occupation: {src_forms: [...], "
            "tgt_forms_male: [...], tgt_forms_female: [...]}}.",
            metavar="QUERIES",
        ),
    ] = "",
    counts: Annotated[
        Path | None,
        option(
            "Read rows [from, to, count] (released, or written by `flow --flows`) instead of text.",
            metavar="FILE.json",
        ),
    ] = None,
    lemmas: Annotated[Path | None, setting("Lemmas of the translations, line-parallel.")] = None,
    lemmatize: Annotated[str, option("Lemmatize the translations: de, ru or uk.", metavar="LANGUAGE")] = "",
    distilled: Annotated[Path | None, file_option("A teacher's translations of the same sources.")] = None,
    labor: Annotated[
        str,
        setting(
            "Labor statistics to correlate with: lines of occupation, tab, percentage of women; or "
            "zhao-2018 (the paper's).",
        ),
    ] = "",
    to: Annotated[
        Path | None,
        file_option("Write counts of senses in the format of `mucow:`, or ratios of genders as a table."),
    ] = None,
    tests: Annotated[
        str,
        option(
            "Ambiguous sources to which --save-tests adds the counts.",
            metavar="TESTS",
        ),
    ] = "",
    save_tests: Annotated[Path | None, option("Write --tests with the counts.", metavar="FILE.jsonl")] = None,
    as_json: AsJson = False,
) -> None:
    """Count senses of words, or genders of occupations, in your own training text.

    `condition` can then report figures for frequent and rare senses, or for male and female occupations.
    """
    if sum(map(bool, (lexicon, words, counts))) != 1:
        raise BabelscopeError("make counts needs --lexicon (senses), --words (occupations) or --counts")
    if counts is None and (source is None or target is None):
        raise BabelscopeError("--lexicon and --words need --source and --target")
    refuse_unused(
        context,
        {
            **dict.fromkeys(("source", "target"), None if counts is None else "text, not --counts"),
            **dict.fromkeys(("lemmas", "lemmatize"), None if lexicon else "senses (--lexicon)"),
            "distilled": None if words else "occupations (--words)",
            "labor": "occupations, not senses" if lexicon else None,
            "tests": None if save_tests is not None else "the test set of --save-tests",
            "save_tests": None if tests else "a test set, given with --tests",
        },
    )
    inputs = [source, target, lexicon, lemmas, distilled, counts, words, labor, tests]
    check_outputs({"--to": to, "--save-tests": save_tests}, inputs=inputs)
    items = _ambiguous(tests) if tests else []
    texts = source or Path(), target or Path()
    if lexicon is not None:
        found = _senses(*texts, lexicon, lemmas, lemmatize, items)
    else:
        found = _occupations(*texts, distilled, words, counts, labor, items)
    with contextlib.ExitStack() as after, output(None, figures(as_json)) as write:
        if to is not None:
            after.callback(write_file, to, Form.LINES, found.file)
        if save_tests is not None:
            after.callback(
                write_file, save_tests, Form.JSON, (as_line(each.as_json()) for each in found.items)
            )
        for row in found.rows if as_json else ():
            write(as_line(row.as_json()))
        if not as_json:
            write(found.text)
        if save_tests is not None and not as_json:
            write(paragraph(f"{save_tests}: {found.told}"))


def _ambiguous(tests: str) -> list[AmbiguousSource]:
    from babelscope.testsets.items import AmbiguousSource
    from babelscope.testsets.loading import load

    return list(load(tests).items_of(AmbiguousSource, what_for="counting words of items"))


def _senses(
    source: Path,
    target: Path,
    lexicon: Path,
    lemmas: Path | None,
    lemmatize: str,
    items: list[AmbiguousSource],
) -> _Counted:
    from babelscope.language.registry import lemmatize as make_lemmas
    from babelscope.making.counts import count_senses, read_lexicon, sense_rows, split_pairs, with_frequencies
    from babelscope.util.progress import progress

    if lemmas is not None and lemmatize:
        raise BabelscopeError("--lemmas and --lemmatize exclude each other")
    make = None
    if lemmatize:
        make_lemmas([], lemmatize)  # told before anything is read
        make = functools.partial(make_lemmas, target=lemmatize)
    known = read_lexicon(lexicon)
    with progress("counting senses", None) as advance:
        pairs = split_pairs(source, target, lemmas=lemmas, lemmatize=make, progress=advance)
        seen: Counter[str] = Counter()
        found = count_senses(_counted(pairs, seen), known)
    if not any(found.values()):
        raise BabelscopeError(
            f"none of the {len(known)} senses occurs in {source} and {target}: a word of {lexicon} with one "
            "of its lemmas on the other side"
        )
    how = "lemmas" if lemmas or lemmatize else "words as written, which misses inflected ones"
    rows = sense_rows(found)
    named = {f"{word} - {own}": count for (word, own), count in found.items()}
    told, unknown = with_frequencies(items, found)
    about = f"{len(items)} items, {unknown} without a count; judge them with --group-by sense_frequency"
    text = paragraph(_senses_told(rows, seen["pairs"], how))
    return _Counted(rows, text, [json.dumps(named, ensure_ascii=False, indent=1)], told, about)


def _counted(pairs: Iterable[Any], seen: Counter[str]) -> Iterable[Any]:
    for pair in pairs:
        seen["pairs"] += 1
        yield pair


def _senses_told(rows: list[Row], pairs: int, how: str) -> str:
    """A summary of the counts; there may be hundreds of senses."""
    of = Counter(str(row.labels["category"]) for row in rows)
    words = len({row.labels["word"] for row in rows})
    unseen = sum(row.counts["count"] == 0 for row in rows)
    without = words - of["frequent"]
    return (
        f"{len(rows)} senses of {words} words in {pairs:,} sentence pairs, by {how}: {of['frequent']} "
        f"frequent,"
        f"{of['infrequent']} infrequent, {unseen} that do not occur; {without} words have no sense that is "
        f"more frequent than all others. {_EVERY_COUNT}"
    )


def _occupations(
    source: Path,
    target: Path,
    distilled: Path | None,
    words: str,
    counts: Path | None,
    labor: str,
    items: list[AmbiguousSource],
) -> _Counted:
    from babelscope.core.tables import rows_text
    from babelscope.making import counts as counting
    from babelscope.making.flows import read_counts

    women = counting.read_labor(labor) if labor else {}
    if counts is not None:
        flows, stages = read_counts(counts)
        found = counting.GenderCounts.from_flows(flows)
    else:
        found, stages = _counts_of_text(source, target, distilled, words)
    ratios = counting.ratio_rows(found, stages)
    more = counting.correlation_rows(found, stages, women) if labor else []
    shares = [row for stage in stages for row in found.shares(stage)]
    table = rows_text([*shares, *more], width_for(None))
    text = f"{table}\n\n{paragraph(_occupations_told(ratios, stages[0]))}"
    told = counting.with_majorities(items, found.female_ratios(stages[0]))
    about = f"{len(items)} items; judge them with --group-by majority_side"
    return _Counted([*shares, *ratios, *more], text, _ratio_table(ratios, stages), told, about)


def _counts_of_text(
    source: Path, target: Path, distilled: Path | None, words: str
) -> tuple[GenderCounts, list[str]]:
    from babelscope.making.counts import count_genders
    from babelscope.making.flows import read_queries
    from babelscope.util.progress import working

    files = {"data": target, **({} if distilled is None else {"distilled": distilled})}
    with working("counting occupations"):
        return count_genders(source, files, read_queries(words)), list(files)


def _occupations_told(ratios: list[Row], stage: str) -> str:
    known = [row for row in ratios if row.labels["stage"] == stage and row.estimate.n]
    female = [str(row.labels["occupation"]) for row in known if row.estimate.value > 0.5]
    named = f" ({', '.join(female[:10])}{', ...' if len(female) > 10 else ''})" if female else ""
    return (
        f"{len(known)} occupations with a known gender in {stage}; {len(female)} are mostly female{named}. "
        f"{_EVERY_COUNT}"
    )


def _ratio_table(ratios: list[Row], stages: list[str]) -> list[str]:
    """One line per occupation, with its ratio and its counts at every stage."""
    of = {(str(row.labels["occupation"]), str(row.labels["stage"])): row for row in ratios}
    names = dict.fromkeys(name for name, _ in of)
    heading = [f"{what}_{stage}" for stage in stages for what in ("female_ratio", "female", "male", "other")]
    lines = ["\t".join(["occupation", *heading])]
    for name in names:
        cells = []
        for stage in stages:
            row = of[name, stage]
            ratio = f"{row.estimate.value:.6f}" if row.estimate.n else ""
            cells += [ratio, *(str(row.counts[each]) for each in ("female", "male", "other"))]
        lines.append("\t".join([name, *cells]))
    return lines
