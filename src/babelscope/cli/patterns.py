"""`babelscope patterns`: what pattern matching says of translations, WinoMT's and MuCoW's way."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import AsJson, OutFile, Records, Seed, as_line, figures, output, then_records
from babelscope.cli.flow import flow
from babelscope.util.outputs import check_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from babelscope.core.results import Result
    from babelscope.testsets.items import AmbiguousSource
    from babelscope.testsets.sets import TestSet

app = typer.Typer(
    help="Judge given translations by known words and word forms (the baselines of conditioning).",
    no_args_is_help=True,
)


class Target(StrEnum):
    """The languages whose morphology is known."""

    de = "de"
    ru = "ru"
    uk = "uk"


class WinoRules(StrEnum):
    """published: its conventions. sound: one way of counting words, and nothing found is unknown."""

    published = "published"
    sound = "sound"


class Rounding(StrEnum):
    """published: percentages are rounded to one decimal before they are used further."""

    exact = "exact"
    published = "published"


class MucowRules(StrEnum):
    """Whose way of splitting and comparing words."""

    mucow = "mucow"
    conditioning = "conditioning"


def _file(told: str) -> Any:
    """An option that may name a file."""
    return typer.Option(metavar="FILE", help=told, show_default=False)


_TRANSLATIONS = "A translation a line, plain or `source ||| translation`, or a log (.jsonl)."
Tests = Annotated[str, typer.Option(metavar="TESTS", help="The test set.")]
SkipMissing = Annotated[
    bool, typer.Option("--skip-missing", help="Count items without a translation instead of stopping.")
]


@app.command("winomt")
def winomt(
    tests: Tests,
    translations: Annotated[Path, _file(_TRANSLATIONS)],
    target: Annotated[Target, typer.Option(help="The language of the translations.")],
    alignments: Annotated[
        Path | None, _file("In Pharaoh format, parallel to the translations; else made here.")
    ] = None,
    pro: Annotated[Path | None, _file("WinoMT's list of stereotypical sentences.")] = None,
    anti: Annotated[Path | None, _file("Its list of the others.")] = None,
    rules: Annotated[WinoRules, typer.Option(help="How gender is told.")] = WinoRules.published,
    rounding: Annotated[Rounding, typer.Option(help="How figures are rounded.")] = Rounding.exact,
    skip_missing: SkipMissing = False,
    records: Records = None,
    as_json: AsJson = False,
    out: OutFile = None,
    seed: Seed = 0,
) -> None:
    """The gender of a translated occupation, by alignment and morphology."""
    from babelscope.language.align import read_pharaoh
    from babelscope.methods.patterns import winomt as judge
    from babelscope.methods.patterns import words_of
    from babelscope.systems.translation_files import read_translations
    from babelscope.testsets.items import AmbiguousSource
    from babelscope.util.errors import BabelscopeError

    if (pro is None) != (anti is None):
        raise BabelscopeError("--pro and --anti go together")
    check_outputs({"--records": records, "--out": out}, inputs=[tests, translations, alignments, pro, anti])
    loaded = _load_winomt(tests)
    given = read_translations(translations)
    links = None
    if alignments is not None:
        pairs = words_of(given, loaded.items_of(AmbiguousSource, what_for="patterns winomt"))
        lengths = [(len(source), len(target)) for source, target in pairs]
        links = read_pharaoh(alignments, lengths, parallel_to=str(translations))
    lists: dict[str, Sequence[AmbiguousSource]] = {}
    if pro is not None and anti is not None:
        lists = {
            name: _load_winomt(f"winomt:{path}").items_of(AmbiguousSource, what_for="patterns winomt")
            for name, path in (("pro", pro), ("anti", anti))
        }
    result = judge(
        loaded,
        given,
        target=target.value,
        links=links,
        rules=rules.value,
        rounding=rounding.value,
        lists=lists or None,
        skip_missing=skip_missing,
        what=str(translations),
        labels={"tests": loaded.name, "system": translations.name},
        seed=seed,
    )
    _print(result, records, out, as_json=as_json)


@app.command("mucow")
def mucow(
    tests: Tests,
    translations: Annotated[Path | None, _file(_TRANSLATIONS)] = None,
    lemmas: Annotated[Path | None, _file("Their lemmas, parallel to them.")] = None,
    lemmatise: Annotated[
        Target | None,
        typer.Option(metavar="LANGUAGE", help="Make the lemmas here: de, ru or uk.", show_default=False),
    ] = None,
    verdicts: Annotated[
        Path | None, _file("Verdicts stored earlier: their figures, or with translations how many agree.")
    ] = None,
    rules: Annotated[
        MucowRules | None,
        typer.Option(
            help="Whose way of splitting and comparing words; else mucow, or conditioning for its log.",
            show_default=False,
        ),
    ] = None,
    compound_mark: Annotated[
        str, typer.Option(metavar="TEXT", help="What the lemmas have within compounds, such as #: left out.")
    ] = "",
    skip_missing: SkipMissing = False,
    records: Records = None,
    as_json: AsJson = False,
    out: OutFile = None,
    seed: Seed = 0,
) -> None:
    """The sense of a translated word, by known words among the tokens, then the lemmas."""
    from babelscope.methods.patterns import mucow as judge
    from babelscope.systems.translation_files import read_translations
    from babelscope.testsets.pattern_files import read_lemmas, read_verdicts
    from babelscope.util.errors import BabelscopeError

    if translations is None and (lemmas or verdicts is None):
        raise BabelscopeError("patterns mucow needs --translations, or --verdicts alone")
    if lemmas is not None and lemmatise is not None:
        raise BabelscopeError("--lemmas and --lemmatise exclude each other")
    check_outputs({"--records": records, "--out": out}, inputs=[tests, translations, lemmas, verdicts])
    loaded = _load_mucow(tests)
    given = read_translations(translations) if translations is not None else []
    if lemmas is not None:
        given = read_lemmas(lemmas, given, parallel_to=str(translations))
    source = translations or verdicts
    result = judge(
        loaded,
        given,
        stored=read_verdicts(verdicts) if verdicts is not None else None,
        rules=rules.value if rules is not None else "",
        compound_mark=compound_mark,
        target=lemmatise.value if lemmatise is not None else "",
        skip_missing=skip_missing,
        what=str(translations),
        labels={"tests": loaded.name, "system": source.name if source is not None else ""},
        seed=seed,
    )
    _print(result, records, out, as_json=as_json)


def _load_winomt(spec: str) -> TestSet:
    """Neutral rows too, unless the spec says otherwise: the published figures have them."""
    from babelscope.testsets.loading import load

    if ":" not in spec and spec.endswith((".tsv", ".txt")):
        spec = f"winomt:{spec}"
    return load(f"{spec}?neutral=yes" if spec.startswith("winomt:") and "?" not in spec else spec)


def _load_mucow(spec: str) -> TestSet:
    """All sentences, unless the spec says otherwise: known words need no cue."""
    from babelscope.testsets.loading import load

    return load(f"{spec}?all=yes" if spec.startswith("mucow:") and "?" not in spec else spec)


def _print(result: Result, records: Path | None, out: Path | None, *, as_json: bool) -> None:
    with then_records(records, [*result.records, *result.unanswered]), output(out, figures(as_json)) as write:
        for row in result.rows if as_json else ():
            whole = {"signature": result.signature} if row.labels.get("category") == "all" else {}
            write(as_line({**row.as_json(), **whole}))
        if not as_json:
            write(str(result))


app.command("flow")(flow)
