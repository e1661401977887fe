"""`babelscope challenge`: quality by phenomenon and distance, its controls, and what people say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from babelscope.core.options import Option, reads
from babelscope.core.tables import as_text
from babelscope.methods.challenge.annotation import (
    agreement_rows,
    answer_rows,
    answers,
    check_annotatable,
    queue,
)
from babelscope.methods.challenge.settings import ChallengeSettings
from babelscope.methods.challenge.table import annotators_table, tables
from babelscope.methods.command import Given, JudgingCommand
from babelscope.testsets.items import ParallelSentence
from babelscope.util.json_lines import read_json_lines
from babelscope.util.terminal import terminal_width

if TYPE_CHECKING:
    from babelscope.core.results import Record, Result, Row
    from babelscope.testsets.sets import TestSet


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


def _said(result: Result, given: Given) -> str:
    """What annotators say, if their answers are given."""
    rows = _answered(result, given)
    return as_text(annotators_table(result.rows, rows), terminal_width()) if rows else ""


def _printed(result: Result, given: Given) -> str:
    """The paper's tables in Markdown, or all tables in LaTeX, if wanted."""
    if given["table"]:
        from babelscope.core.tables import as_markdown
        from babelscope.methods.challenge.table import paper_tables

        return "\n\n".join([*map(as_markdown, paper_tables(result.rows)), result.signature])
    if not given["latex"]:
        return ""
    from babelscope.core.latex import for_paper

    return "\n\n".join(for_paper(each, result.signature) for each in tables(result.rows))


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
        Option(
            "table",
            "Print the paper's tables 4 to 6 as Markdown: phenomena by system and corpus, then by distance.",
            bool,
            not_with=("json", "all", "answers", "latex"),
        ),
        Option("latex", "Print the tables in LaTeX (booktabs).", bool, not_with=("json", "all", "answers")),
    ),
    changed={
        "tests": {"help": "A test set of `babelscope make challenge`, or ldd:..."},
        "metrics": {"name": "metric", "help": "May be repeated; all if not given."},
        "tokenize": {"metavar": "TOKENISER", "role": "read"},
        "source-tokenize": {"metavar": "TOKENISER", "role": "read"},
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
    show=_said,
    instead=_printed,
    tables=lambda result, _given: tables(result.rows),
    signed=lambda row: row.labels.get("phenomenon") == "all" and "metric" not in row.labels,
    more=_answered,
    queue=_queue,
)
