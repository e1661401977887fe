"""`babelscope make counts` and `flow`: frequencies in training text, and how words are translated in it."""

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
    draw_chart,
    figures,
    file_option,
    option,
    output,
    paragraph,
    setting,
    width_for,
    write_file,
    write_rows,
)
from babelscope.cli.shell import refuse_unused
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs

if TYPE_CHECKING:
    from babelscope.core.results import Row
    from babelscope.making.counts import Flow, GenderCounts
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


def flow(
    context: typer.Context,
    source: Annotated[Path | None, file_option("Sources, one per line.")] = None,
    target: Annotated[Path | None, file_option("Their translations in the training data.")] = None,
    words: Annotated[
        str,
        option(
            "Words to count: lab:occupations, lab:senses, or a JSON file {word: {src_forms: [...], "
            "tgt_forms_CLASS: [...], ...}}.",
            metavar="QUERIES",
        ),
    ] = "",
    distilled: Annotated[
        list[Path] | None, file_option("A teacher's translations; repeatable, one per seed.")
    ] = None,
    student: Annotated[
        list[Path] | None, file_option("A student's translations; one per --distilled, in the same order.")
    ] = None,
    counts: Annotated[
        Path | None,
        option(
            "Read rows [from, to, count] (released, or written by --flows) instead of text.",
            metavar="FILE.json",
        ),
    ] = None,
    word: Annotated[
        list[str] | None,
        setting(
            "Only this word; repeatable. figure-4: the 24 occupations of the paper's figure.",
            metavar="NAME",
        ),
    ] = None,
    by_word: Annotated[
        bool,
        setting("Draw the words as a column of --svg."),
    ] = False,
    flows: Annotated[Path | None, file_option("Write rows [from, to, count] as JSON.")] = None,
    svg: Annotated[Path | None, file_option("Draw a Sankey diagram: .svg, .pdf or .png.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how words are translated in training data, by a teacher and by its students.

    Counts known forms in translations of the same sources (conditioning paper, appendix A and figure 4).
    """
    from babelscope.making.flows import choose_words, flows_by_word, merge_words, read_counts, share_rows
    from babelscope.report.flows import flow_chart

    _check_inputs(context, source, target, words, counts)
    refuse_unused(context, {"by_word": None if svg is not None else "the diagram of --svg"})
    teachers, students = distilled or [], student or []
    check_outputs(
        {"--flows": flows, "--svg": svg},
        inputs=[source, target, words, counts, *teachers, *students],
    )
    if counts is not None:
        every, stages = read_counts(counts)
        found = choose_words(every, word or [])
        rows = share_rows(found, stages)
    else:
        found, rows, stages = _of_text(
            source or Path(), target or Path(), words, teachers, students, word or []
        )
    if svg is not None and len(stages) == 1 and not by_word:
        raise BabelscopeError(
            "a Sankey diagram needs --distilled, or --distilled and --student, or --set by_word=yes"
        )
    with contextlib.ExitStack() as after:
        if flows is not None:
            lines = [json.dumps(found, ensure_ascii=False, indent=1)]
            after.callback(write_file, flows, Form.JSON, lines)
        if svg is not None:
            moved = flows_by_word(found, stages) if by_word else merge_words(found, stages)
            after.callback(draw_chart(svg, flow_chart(moved, stages, stages)))
        write_rows(rows, as_json=as_json)


def _check_inputs(
    context: typer.Context, source: Path | None, target: Path | None, words: str, counts: Path | None
) -> None:
    """Refuse anything but either text to count or counts."""
    if (counts is None) == (source is None or target is None or not words):
        raise BabelscopeError("flow needs --source, --target and --words, or --counts")
    of_text = ("source", "target", "words", "distilled", "student")
    refuse_unused(context, dict.fromkeys(of_text, None if counts is None else "text, not --counts"))


def _of_text(
    source: Path, target: Path, words: str, teachers: list[Path], students: list[Path], chosen: list[str]
) -> tuple[list[Flow], list[Row], list[str]]:
    """Mean flows, rows (shares and changes) and stages, counted in line-parallel text."""
    from babelscope.making.flows import (
        choose_words,
        find_occurrences,
        mean_flows,
        read_queries,
        shift_rows,
    )
    from babelscope.util.progress import progress

    if students and len(students) != len(teachers):
        raise BabelscopeError(
            f"each student needs its teacher's data: there are {len(teachers)} --distilled "
            f"and {len(students)} --student"
        )
    stages = ["data", *(["distilled"] if teachers else []), *(["student"] if students else [])]
    queries = read_queries(words)
    versions: list[tuple[Path, ...]] = (
        list(zip(teachers, students, strict=True)) if students else [(each,) for each in teachers]
    )
    models = []
    with progress("counting words", len(versions) or 1) as advance:
        for rest in versions or [()]:
            models.append(find_occurrences(source, dict(zip(stages, (target, *rest), strict=True)), queries))
            advance(1)
    found = choose_words(mean_flows(models, stages), chosen)
    known = {start for start, *_ in found}
    kept = [[each for each in own if each.word in known] for own in models]
    return found, shift_rows(kept, stages), stages
