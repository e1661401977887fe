"""`babelscope annotate sample`: draw what people judge in a validation study, as a queue for the page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.agreement import Protocol
from babelscope.cli.annotate import OfMethod, OfSystems, OfTests
from babelscope.cli.common import AsJson, Form, Seed, as_line, file_option, paragraph, print_json, write_file
from babelscope.cli.shell import refuse_unused
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs


def sample(
    context: typer.Context,
    to: Annotated[Path, typer.Option("--to", metavar="FILE.jsonl", help="Where the queue goes.")],
    judged: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN|RECORDS",
            help="A finished run of `patterns` or `condition`, or what their --records wrote.",
        ),
    ] = None,
    tests: Annotated[
        str,
        typer.Option(
            metavar="TESTS", help="Without a run: a test set of ambiguous sources, in any language pair."
        ),
    ] = "",
    translations: Annotated[Path | None, file_option("And one's own translations of it.")] = None,
    patterns: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN|RECORDS",
            help="What pattern matching said of the same translations; it tells what is undecided.",
        ),
    ] = None,
    n: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most undecided translations; of all if all are decided.")
    ] = 200,
    most: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Most translations in all: fewer of both kinds, in the same proportion."
        ),
    ] = None,
    assume_decided: Annotated[
        bool,
        typer.Option(
            "--assume-decided",
            help="Ask only about what is undecided; `agreement --patterns` then takes what was decided for right, "
            "in proportion, as the paper does.",
        ),
    ] = False,
    protocol: Annotated[
        Protocol, typer.Option(help="paper: as in appendix E, 200 undecided ones with --assume-decided.")
    ] = "checked",
    annotator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who judges, for --overlap; may be repeated.")
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Items that all judge; the others are shared out. (Default: all judge all.)",
        ),
    ] = None,
    guidelines: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.md",
            help="Your own guidelines, in Markdown; a copy goes beside the queue, and the page shows it.",
        ),
    ] = None,
    method: OfMethod = "",
    of_tests: OfTests = "",
    system: OfSystems = None,
    as_json: AsJson = False,
    seed: Seed = 0,
) -> None:
    """Draw what people should judge: what pattern matching cannot decide, and of the rest in proportion."""
    from babelscope.annotate.answers import check_names
    from babelscope.annotate.markdown import guidelines_path, read_markdown
    from babelscope.annotate.sampling import draw_sample, records_of, records_of_translations, share_among
    from babelscope.util.damage import explain_damage

    if (judged is None) == (not tests or translations is None):
        raise BabelscopeError("annotate sample needs a run or records, or --tests and --translations")
    of_run = None if judged is not None else "a run or records"
    refuse_unused(
        context,
        {
            **dict.fromkeys(("method", "of_tests", "system"), of_run),
            **dict.fromkeys(
                ("tests", "translations"), None if judged is None else "translations without a run"
            ),
            "annotator": None if overlap is not None else "--overlap; without it, all judge all",
        },
    )
    names = annotator or []
    check_names(names)
    beside = guidelines_path(to) if guidelines is not None else None
    check_outputs({"--to": to, "--guidelines": beside}, inputs=[judged, translations, patterns, guidelines])
    for path in (to, beside):
        if path is not None and path.exists():
            raise BabelscopeError(
                f"{path} exists, and there may be answers to it; choose another file for --to"
            )
    if guidelines is not None:
        read_markdown(guidelines)
    with explain_damage(", ".join(str(each) for each in (judged, patterns) if each is not None)):
        records = (
            records_of(judged, method=method, tests=of_tests, systems=system or ())
            if judged is not None
            else records_of_translations(tests, translations or Path())
        )
        by = None if patterns is None else [(str(patterns), each) for each in records_of(patterns)]
        assumed = assume_decided or protocol == "paper"
        drawn = draw_sample(records, by=by, n=n, most=most, assume_decided=assumed, seed=seed)
    lines = drawn.lines if overlap is None else share_among(drawn.lines, names, overlap)
    if guidelines is not None and beside is not None:
        write_file(beside, Form.LINES, [guidelines.read_text("utf-8").rstrip("\n")])
    write_file(to, Form.JSON, map(as_line, lines))
    if as_json:
        print_json(
            {"queue": str(to), "drawn": len(lines), "of": dict(drawn.sizes), "left_out": drawn.left_out}
        )
        return
    who = "".join(f" --annotator {name}" for name in names)
    print(f"{to}: {drawn}", file=sys.stderr)
    print(paragraph(f"to judge them: babelscope annotate {to}{who}"))
