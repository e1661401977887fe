"""`babelscope check`: a report card of any system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import AsJson, Cache, Form, Seed, ToFile, as_line, folder_option, output, places_of
from babelscope.cli.shell import answers_kept, telling_what_is_kept, work_kept_in
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_folder, check_outputs
from babelscope.util.terminal import terminal_width


def check(
    system: Annotated[
        str, typer.Argument(metavar="[NAME=]SYSTEM", help="A system, see `babelscope systems`.")
    ],
    source_language: Annotated[str, typer.Option(metavar="CODE", help="Of the sources: en.")] = "",
    target_language: Annotated[str, typer.Option(metavar="CODE", help="Of the translations: es.")] = "",
    text: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your sources, one per line. (Default: our own English sentences.)"
        ),
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option(metavar="TESTS", help="A test set: a name, a file or FORMAT:FILE; may be repeated."),
    ] = None,
    budget_calls: Annotated[int | None, typer.Option(min=1, help="Questions to the system at most.")] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Minutes that asking may take, about.")
    ] = None,
    out: Annotated[Path | None, folder_option("Run folder, for `babelscope report`.")] = None,
    as_json: AsJson = False,
    to: ToFile = None,
    seed: Seed = 0,
    cache: Cache = None,
) -> None:
    """Make a report card of a system: what it can do, and what it gets wrong.

    Finds out which checks apply to the system, the languages and the sentences, and runs them. No references and
    no parser are needed; with test sets that have them, more is checked.
    """
    from babelscope.decide.card import Budget, make_card
    from babelscope.decide.opening import by_name
    from babelscope.decide.show import card_json, card_lines
    from babelscope.systems.cache import forget_unfinished, with_store
    from babelscope.systems.registry import open_system, split_name
    from babelscope.testsets import load

    check_outputs({"--to": to}, folder=out, inputs=[system, *(tests or ()), *([text] if text else ())])
    if out is not None:
        check_folder(out)
    specs = [*([f"sources:{text}"] if text else []), *(tests or ())]
    if not specs:
        if source_language not in ("", "en"):
            raise BabelscopeError(f"our own sentences are English: name --text FILE in {source_language}")
        specs, source_language = ["probes:en"], "en"
    loaded = by_name([load(spec) for spec in specs])
    with telling_what_is_kept(answers_kept(cache) if out is None else work_kept_in(out)):
        card = make_card(
            with_store(open_system(system), cache),
            loaded,
            languages=(source_language, target_language),
            budget=Budget(budget_calls, minutes),
            seed=seed,
            out=out,
            name=split_name(system)[0],
        )
        forget_unfinished()
    with output(to, Form.JSON if as_json else Form.TEXT) as write:
        write(
            as_line(card_json(card))
            if as_json
            else card_lines(card, terminal_width(), places_of(out) if out else ())
        )
