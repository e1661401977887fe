"""`babelscope make senses` and `make occupations`: what is frequent in one's own training text."""

from __future__ import annotations

import contextlib
import functools
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    Form,
    as_line,
    figures,
    file_option,
    output,
    paragraph,
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

Source = Annotated[Path, file_option("Sources of the training text, one per line.")]
Target = Annotated[Path, file_option("Their translations in the training text.")]
Tests = Annotated[
    str,
    typer.Option(
        metavar="TESTS",
        help="A test set of ambiguous sources, to be written with what was counted by --save-tests.",
    ),
]
SaveTests = Annotated[Path | None, typer.Option(metavar="FILE.jsonl", help="Where that test set goes.")]


def senses(
    context: typer.Context,
    source: Source,
    target: Target,
    lexicon: Annotated[
        Path, file_option("MuCoW's keys (.key.tsv), or lines of a word, a tab and the lemmas of a sense.")
    ],
    lemmas: Annotated[Path | None, file_option("The lemmas of the translations, parallel to them.")] = None,
    lemmatize: Annotated[
        str, typer.Option(metavar="LANGUAGE", help="Make the lemmas here: de, ru or uk.")
    ] = "",
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FILE.json",
            help="Write the counts there, as `mucow:` reads them (counts/senses_PAIR_count_results.json).",
        ),
    ] = None,
    tests: Tests = "",
    save_tests: SaveTests = None,
    as_json: AsJson = False,
) -> None:
    """Count frequent and rare senses of words in your own training text. Figures of `condition` then follow them."""
    from babelscope.language.registry import lemmatize as make_lemmas
    from babelscope.making.counts import count_senses, read_lexicon, sense_rows, split_pairs, with_frequencies
    from babelscope.util.progress import progress

    if lemmas is not None and lemmatize:
        raise BabelscopeError("--lemmas and --lemmatize exclude each other")
    _check_tests(context, tests, save_tests)
    check_outputs({"--to": to, "--save-tests": save_tests}, inputs=[source, target, lexicon, lemmas, tests])
    make = None
    if lemmatize:
        make_lemmas([], lemmatize)  # told before anything is read
        make = functools.partial(make_lemmas, target=lemmatize)
    known = read_lexicon(lexicon)
    items = _ambiguous(tests) if tests else []
    with progress("counting senses", None) as advance:
        pairs = split_pairs(source, target, lemmas=lemmas, lemmatize=make, progress=advance)
        seen: Counter[str] = Counter()
        counts = count_senses(_counted(pairs, seen), known)
    if not any(counts.values()):
        raise BabelscopeError(
            f"none of the {len(known)} senses occurs in {source} and {target}: a word of {lexicon} with one of its "
            "lemmas on the other side"
        )
    rows = sense_rows(counts)
    with contextlib.ExitStack() as after, output(None, figures(as_json)) as write:
        if to is not None:
            named = {f"{word} - {own}": count for (word, own), count in counts.items()}
            after.callback(write_file, to, Form.JSON, [json.dumps(named, ensure_ascii=False, indent=1)])
        unknown = 0
        if save_tests is not None:
            told, unknown = with_frequencies(items, counts)
            after.callback(_write_items, save_tests, told)
        if as_json:
            for row in rows:
                write(as_line(row.as_json()))
            return
        how = (
            "lemmas"
            if lemmas is not None or lemmatize
            else "words as they stand, so that inflected ones are missed"
        )
        write(paragraph(_senses_told(rows, seen["pairs"], how)))
        if save_tests is not None:
            told_of = f"{len(items)} items, {unknown} of a sense that was not counted"
            write(paragraph(f"{save_tests}: {told_of}; judge them with --group-by sense_frequency"))


def _counted(pairs: Iterable[Any], seen: Counter[str]) -> Iterable[Any]:
    for pair in pairs:
        seen["pairs"] += 1
        yield pair


def _senses_told(rows: list[Row], pairs: int, how: str) -> str:
    """Counts of counts: there may be hundreds of senses."""
    of = Counter(str(row.labels["category"]) for row in rows)
    words = len({row.labels["word"] for row in rows})
    unseen = sum(row.counts["count"] == 0 for row in rows)
    without = words - of["frequent"]
    return (
        f"{len(rows)} senses of {words} words in {pairs:,} sentence pairs, by {how}: {of['frequent']} frequent, "
        f"{of['infrequent']} infrequent, {unseen} that do not occur; {without} words have no sense that is more "
        "frequent than all others. Every count: --json, or --to FILE."
    )


def occupations(
    context: typer.Context,
    source: Annotated[Path | None, file_option("Sources of the training text, one per line.")] = None,
    target: Annotated[Path | None, file_option("Their translations in the training text.")] = None,
    words: Annotated[
        str,
        typer.Option(
            metavar="QUERIES",
            help="Occupations to look for: lab:occupations, or a file {occupation: {src_forms: [...], "
            "tgt_forms_male: [...], tgt_forms_female: [...]}}.",
        ),
    ] = "",
    distilled: Annotated[Path | None, file_option("A teacher's translations of the same sources.")] = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Counts made before, rows [from, to, count] as released or by `patterns flow --flows`, instead.",
        ),
    ] = None,
    labor: Annotated[
        str,
        typer.Option(
            metavar="FILE.tsv",
            help="Labor statistics to correlate with: an occupation, a tab, women in percent; or zhao-2018, those "
            "of the paper.",
        ),
    ] = "",
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE.tsv", help="Write the ratios there, as a table.")
    ] = None,
    tests: Tests = "",
    save_tests: SaveTests = None,
    as_json: AsJson = False,
) -> None:
    """Count genders of occupations in training and distilled text. Correlate them with labor statistics."""
    from babelscope.core.tables import rows_text
    from babelscope.making import counts as counting
    from babelscope.methods.patterns.flow import read_counts

    if (counts is None) == (source is None or target is None or not words):
        raise BabelscopeError("make occupations needs --source, --target and --words, or --counts")
    refuse_unused(
        context,
        dict.fromkeys(
            ("source", "target", "words", "distilled"), None if counts is None else "text, not --counts"
        ),
    )
    _check_tests(context, tests, save_tests)
    inputs = [source, target, distilled, counts, words, labor, tests]
    check_outputs({"--to": to, "--save-tests": save_tests}, inputs=inputs)
    women = counting.read_labor(labor) if labor else {}
    items = _ambiguous(tests) if tests else []
    if counts is not None:
        flows, stages = read_counts(counts)
        found = counting.GenderCounts.from_flows(flows)
    else:
        found, stages = _counts_of_text(source or Path(), target or Path(), distilled, words)
    ratios = counting.ratio_rows(found, stages)
    more = counting.correlation_rows(found, stages, women) if labor else []
    shares = [row for stage in stages for row in found.shares(stage)]
    with contextlib.ExitStack() as after, output(None, figures(as_json)) as write:
        if to is not None:
            after.callback(write_file, to, Form.LINES, _ratio_table(ratios, stages))
        if save_tests is not None:
            after.callback(
                _write_items, save_tests, counting.with_majorities(items, found.female_ratios(stages[0]))
            )
        if as_json:
            for row in (*shares, *ratios, *more):
                write(as_line(row.as_json()))
            return
        write(rows_text([*shares, *more], width_for(None)))
        write("\n" + paragraph(_occupations_told(ratios, stages[0])))
        if save_tests is not None:
            write(paragraph(f"{save_tests}: {len(items)} items; judge them with --group-by majority_side"))


def _counts_of_text(
    source: Path, target: Path, distilled: Path | None, words: str
) -> tuple[GenderCounts, list[str]]:
    from babelscope.making.counts import count_genders
    from babelscope.methods.patterns.flow import read_queries
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
        "Every ratio: --json, or --to FILE."
    )


def _ratio_table(ratios: list[Row], stages: list[str]) -> list[str]:
    """A line an occupation, with its ratio and counts at every stage."""
    of = {(str(row.labels["occupation"]), str(row.labels["stage"])): row for row in ratios}
    names = dict.fromkeys(name for name, _ in of)
    heading = [
        f"{what}_{stage}" for stage in stages for what in ("female_ratio", "female", "male", "neutral")
    ]
    lines = ["\t".join(["occupation", *heading])]
    for name in names:
        cells = []
        for stage in stages:
            row = of[name, stage]
            ratio = f"{row.estimate.value:.6f}" if row.estimate.n else ""
            cells += [ratio, *(str(row.counts[each]) for each in ("female", "male", "neutral"))]
        lines.append("\t".join([name, *cells]))
    return lines


def _check_tests(context: typer.Context, tests: str, save_tests: Path | None) -> None:
    refuse_unused(
        context,
        {
            "tests": None if save_tests is not None else "the test set of --save-tests",
            "save_tests": None if tests else "a test set, given with --tests",
        },
    )


def _ambiguous(tests: str) -> list[AmbiguousSource]:
    from babelscope.testsets.items import AmbiguousSource
    from babelscope.testsets.loading import load

    return list(load(tests).items_of(AmbiguousSource, what_for="counting words of items"))


def _write_items(path: Path, items: Iterable[AmbiguousSource]) -> None:
    write_file(path, Form.JSON, (as_line(item.as_json()) for item in items))
