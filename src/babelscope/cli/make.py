"""`babelscope make`: test sets from parallel text."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Form,
    Seed,
    Systems,
    ToFile,
    as_line,
    check_beam,
    file_option,
    open_systems,
    option,
    output,
    paragraph,
    print_json,
    setting,
    write_file,
    write_rows,
)
from babelscope.cli.counts import counts
from babelscope.cli.make_challenge import Ray, challenge
from babelscope.cli.shell import (
    PARTS_KEPT,
    ShellGroup,
    going_on,
    refuse_unused,
    telling_what_is_kept,
    typed_options,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs, file_stamp, replacing
from babelscope.util.progress import progress
from babelscope.util.terminal import write_data
from babelscope.util.text import count_lines, require_equal_counts, stream_lines

if TYPE_CHECKING:
    from babelscope.making.pairs import PairsOfFiles

Mode = Annotated[
    str | None,
    setting("Variant of an error type: strict (default), clean, as-released."),
]


def machine_references(
    context: typer.Context,
    tests: Annotated[str, option("Minimal pairs with human references.", metavar="TESTS")],
    system: Systems,
    to: Annotated[Path, file_option("Write the new pairs as JSON lines.")],
    share: Annotated[
        list[float] | None,
        setting("Share of the sources per system, such as 0.25; repeatable. [default: equal]"),
    ] = None,
    queue: Annotated[Path | None, file_option("Write translations that a person must judge.")] = None,
    answers: Annotated[Path | None, file_option("An answered queue.")] = None,
    with_human: Annotated[bool, setting("Also write the human pairs.")] = False,
    score_with: Annotated[
        str | None,
        setting("Also report the shift of the discrepancy to this system's translations."),
    ] = None,
    mode: Mode = None,
    beam: Annotated[int, setting("Beam size of the translations.", min=1)] = 5,
    seed: Seed = 0,
    as_json: AsJson = False,
    cache: Cache = None,
) -> None:
    """Make minimal pairs from machine translations of the sources, validated by the human references.

    Prints what became of the pairs and how that biases the test set.
    """
    from babelscope.annotate.answers import read_judged
    from babelscope.making.machine_references import check_answers
    from babelscope.making.machine_references import machine_references as make
    from babelscope.making.machine_tests import bias_rows, marked
    from babelscope.testsets import MinimalPair, load
    from babelscope.util.digests import digest_json

    if "beam" in typed_options(context):
        check_beam([*system, *([score_with] if score_with is not None else [])])
    check_outputs({"--to": to, "--queue": queue}, inputs=[tests, answers, score_with, *system])
    if queue is not None and queue.exists() and check_answers(read_judged(queue)):
        raise BabelscopeError(
            f"{queue} has answers; give it as --answers, and choose another file for --queue"
        )
    known = check_answers(read_judged(answers)) if answers is not None else []
    pairs = load(tests).items_of(MinimalPair, what_for="machine-references")
    opened = open_systems(system, "translate", cache=cache, what_for="machine-references")
    judges: list[Any] = []
    if score_with is not None:
        about = "the discrepancy"
        judges += open_systems([score_with], "score", "translate", cache=cache, what_for=about).values()
    how: dict[str, Any] = {"mode": mode, "beam": beam, "seed": seed}
    with going_on(
        "make machine-references",
        to,
        [*opened.values(), *judges],
        tests=digest_json([pair.as_json() for pair in pairs]),
        answers=digest_json(known),
        shares=share or [],
        scored=score_with is not None,
        **how,
    ) as (_, asked):
        translators, scorers = asked[: len(opened)], asked[len(opened) :]
        with progress("translating", len(pairs)) as advance:
            outcomes = []
            for outcome in make(pairs, translators, shares=share or (), answers=known, **how):
                outcomes.append(outcome)
                advance(1)
        human = [marked(outcome) for outcome in outcomes]
        made = [outcome.pair for outcome in outcomes if outcome.pair is not None]
        written = [*human, *made] if with_human else made
        write_file(to, Form.JSON, (as_line(pair.as_json()) for pair in written))
        queued = [outcome for outcome in outcomes if outcome.verdict == "queued"]
        if queue is not None:
            write_file(queue, Form.JSON, (as_line(outcome.question()) for outcome in queued))
        distances = _discrepancies(scorers[0], [*human, *made], beam) if scorers else None
        rows = bias_rows(outcomes, distances)
        # As text, all figures of the whole set, and per phenomenon how many pairs are left.
        brief = [row for row in rows if row.labels["phenomenon"] == "all" or len(row.labels) == 1]
        write_rows(rows if as_json else brief, as_json=as_json)
        if queued and queue is None:
            typer.echo(
                f"{len(queued)} translations must be judged by a person; write them with --queue FILE",
                err=True,
            )


def _discrepancies(scorer: Any, pairs: Sequence[Any], beam: int) -> dict[str, float]:
    """Item -> discrepancy to the system's own translation, if there is one."""
    from babelscope.runs.execute import run_method

    judged = run_method("contrast", scorer, pairs, discrepancy="paper", beam=beam, detect_in_output="no")
    found = {record["id"]: record["discrepancy"] for record in judged.records}
    return {name: value for name, value in found.items() if value is not None}


def cues(
    context: typer.Context,
    tests: Annotated[
        str,
        option("Ambiguous sources, each with `word`, `gold` (its sense) and `reference`.", metavar="TESTS"),
    ],
    evaluator: Annotated[
        str, option("Evaluator that scores references given sources with candidate cues.", metavar="SYSTEM")
    ],
    model: Annotated[
        str | None,
        option(
            "Masked language model: a folder or a name such as roberta-large.",
            metavar="MODEL",
        ),
    ] = None,
    candidates: Annotated[
        Path | None, file_option("Candidates in the released format instead of --model.")
    ] = None,
    select_on: Annotated[
        str | None,
        option("Find and select cues on this test set, and test all of --tests.", metavar="TESTS"),
    ] = None,
    share: Annotated[
        float,
        setting("Share of sentences used for selection, not for testing.", min=0.01, max=0.99),
    ] = 0.5,
    protocol: Annotated[
        Literal["checked", "paper"],
        option("paper: select on the tested sentences, like the conditioning paper's code."),
    ] = "checked",
    seed: Seed = 0,
    save_cues: Annotated[
        Path | None,
        setting("Write the cues of all items, in the released format."),
    ] = None,
    save_candidates: Annotated[Path | None, setting("Write the candidates.")] = None,
    to: ToFile = None,
) -> None:
    """Find disambiguation cues with a masked language model; write items with cues as JSON lines."""
    from babelscope.language.cues import read_candidates, write_cues
    from babelscope.making.cue_search import MaskedModel, make_cues, write_candidates
    from babelscope.testsets.loading import load
    from babelscope.util.digests import digest_json

    if (model is None) == (candidates is None):
        raise BabelscopeError("make cues needs either --model or --candidates")
    if select_on is not None and protocol == "paper":
        raise BabelscopeError("--protocol paper selects on what it tests: leave --select-on out")
    paper = "--protocol checked" if protocol == "paper" else None
    refuse_unused(context, {"share": paper or (None if select_on is None else "tests without --select-on")})
    check_outputs(
        {"--save-cues": save_cues, "--save-candidates": save_candidates, "--to": to},
        inputs=[tests, candidates, select_on, evaluator],
    )
    loaded = load(tests)
    other = load(select_on) if select_on is not None else None
    given = read_candidates(candidates) if candidates is not None else None
    (scorer,) = open_systems([evaluator], "score", cache=None, what_for="make cues").values()
    masked = MaskedModel(model) if model is not None else None
    mode = "paper" if protocol == "paper" else "words"
    settings: dict[str, Any] = {"mode": mode, "share": share, "seed": seed}
    with going_on(
        "make cues",
        to,
        [scorer],
        tests=digest_json([item.as_json() for item in loaded]),
        select_on=digest_json([item.as_json() for item in other]) if other is not None else None,
        candidates=digest_json(given),
        model=masked.files() if masked is not None else None,
        **settings,
    ) as (keep, asked):
        more: dict[str, Any] = {"candidates": given, "select_on": other, "keep": keep}
        made = make_cues(loaded, asked[0], masked, **more, **settings)
        if save_cues is not None:
            write_file(save_cues, Form.JSON, write_cues(made.by_item))
        if save_candidates is not None:
            write_file(save_candidates, Form.JSON, [write_candidates(made.candidates)])
        with output(to, Form.JSON) as write:
            for item in made.tests:
                write(as_line(item.as_json()))
        left_out = "".join(f"; left out: {count} {reason}" for reason, count in made.tests.skipped.items())
        told = f"cues for {len(made.cues)} senses from {made.selected_on} sentences"
        print(paragraph(f"babelscope: {told}, {len(made.tests)} items to test{left_out}"), file=sys.stderr)


def pairs(
    context: typer.Context,
    type: Annotated[
        list[str] | None,
        option("An error type (see --list-types), or all; repeatable.", "--type", metavar="TYPE"),
    ] = None,
    source: Annotated[Path | None, file_option("Sources, one per line; an empty one skips the pair.")] = None,
    reference: Annotated[Path | None, file_option("References, one per line.")] = None,
    kind: Annotated[Literal["human", "machine"], setting("Who wrote the references.")] = "human",
    seed: Seed = 0,
    all_variants: Annotated[
        bool, option("Write all variants of a sentence, not a random one.", "--all")
    ] = False,
    mode: Mode = None,
    language: Annotated[
        str | None,
        option("Language of the references, such as de, for --type all and --list-types.", metavar="CODE"),
    ] = None,
    parses: Annotated[
        Path | None, file_option("Parsed references of any language (CoNLL-U), instead of --reference.")
    ] = None,
    source_parses: Annotated[
        Path | None, file_option("Parsed sources (CoNLL-U), instead of --source; paired by sent_id.")
    ] = None,
    parser: Annotated[
        str | None,
        option("Parse references of any language: udpipe:FILE, spacy:MODEL, stanza:CODE.", metavar="PARSER"),
    ] = None,
    lexicon: Annotated[
        list[str] | None,
        option(
            "With parses, forms of words: a CoNLL-U or UniMorph file, pymorphy3:LANGUAGE, morfeusz2 or "
            "apertium:FOLDER:LANGUAGE; repeatable.",
            metavar="LEXICON",
        ),
    ] = None,
    count: Annotated[bool, option("With parses, only count the pairs of each type.", "--count")] = False,
    list_types: Annotated[bool, option("List the error types.", "--list-types")] = False,
    audit: Annotated[
        int,
        option(
            'Only draw N variants for manual review; answer yes or no at "really_wrong".',
            min=0,
            metavar="N",
        ),
    ] = 0,
    as_json: AsJson = False,
    to: ToFile = None,
    ray: Ray = None,
) -> None:
    """Make minimal pairs of a reference and a variant with one error, as JSON lines.

    Each reference is analyzed once for all types. Counts go to stderr.
    """
    from babelscope.making.pairs import PairsOfFiles

    if parses is not None or parser is not None:
        refuse_unused(
            context, dict.fromkeys(("mode", "audit", "list_types", "ray"), "pairs of the German types")
        )
        texts = {"source": source, "source_parses": source_parses, "reference": reference, "parses": parses}
        where = {**texts, "parser": parser, "lexicons": tuple(lexicon or ())}
        drawn = {"seed": seed, "kind": kind, "choose": "all" if all_variants or count else "one"}
        _write_parsed(type, language, where, drawn, count=count, as_json=as_json, to=to)
        return
    parsed = dict.fromkeys(("source_parses", "lexicon", "count"), "parsed references (--parses, --parser)")
    refuse_unused(context, parsed)
    whole = "pairs, not --audit" if audit else "pairs, not --list-types" if list_types else None
    refuse_unused(
        context,
        {
            **dict.fromkeys(
                ("type", "source", "reference", "seed", "mode", "audit"), whole if list_types else None
            ),
            **dict.fromkeys(("kind", "all_variants", "ray"), whole),
            "to": whole if list_types else None,
            "language": None if list_types or "all" in (type or ()) else "--type all and --list-types",
            "as_json": None if list_types else "--list-types; pairs are always JSON",
        },
    )
    if list_types:
        _list_types(language, as_json=as_json)
        return
    if not type or source is None or reference is None:
        raise BabelscopeError(
            "make pairs needs --type, --source and --reference; --list-types lists the types"
        )
    check_outputs({"--to": to}, inputs=[source, reference])
    named = [each for each in type if each != "all"]
    types = list(dict.fromkeys([*(_all_types(language) if "all" in type else []), *named]))
    if audit:
        _write_audit(types, source, reference, to, n=audit, seed=seed, mode=mode)
        return
    choose = "all" if all_variants else "one"
    options = {"type": types, "kind": kind, "seed": seed, "choose": choose, "mode": mode}
    made = PairsOfFiles(source, reference, options)
    counts: Counter[str] = Counter()
    if ray is not None or (to is not None and made.can_be_split):
        _in_parts(made, to, ray, counts)
    else:
        with (
            progress("making pairs", _lines(source, reference)) as advance,
            contextlib.ExitStack() as stack,
        ):
            write = _to_stdout if to is None else stack.enter_context(replacing(to)).write
            for lines in made.lines(advance, counts):
                write(lines)
    for name in types:
        print(f"{name:<28}{counts[name]:>8,} {'pair' if counts[name] == 1 else 'pairs'}", file=sys.stderr)


def _write_parsed(
    types: list[str] | None,
    language: str | None,
    where: dict[str, Any],
    drawn: dict[str, Any],
    *,
    count: bool,
    as_json: bool,
    to: Path | None,
) -> None:
    """Write pairs of parsed references, or count them."""
    from babelscope.making.parsed_pairs import ParsedPairs, ParsedReferences, choose_types

    if not types or language is None:
        raise BabelscopeError("pairs of parsed references need --type (all for all) and --language")
    check_outputs({"--to": to}, inputs=[path for path in where.values() if isinstance(path, Path)])
    chosen = choose_types(types)
    made = ParsedPairs(ParsedReferences(**where), chosen, language, **drawn)
    with progress("making pairs", None) as advance, output(to, Form.JSON) as write:
        for pair in made:
            advance(1)
            if not count:
                write(as_line(pair.as_json()))
        rows = made.count_rows()
        if count and as_json:
            for row in rows:
                write(as_line(row))
    for name, fit in made.references.round_trips(made.tools.lexicons.parts).items():
        print(
            f"lexicon {name}: knows {fit.known} of {fit.words} words, {fit.fitting} as they are parsed; "
            f"{fit.lost} of {fit.generated} forms that it makes are not analyzed as what they were made for",
            file=sys.stderr,
        )
    for row in () if count and as_json else rows:
        told = f"  ({row['reason']})" if "reason" in row else ""
        print(f"{row['type']:<28}{row['pairs']:>8,}{told}", file=sys.stdout if count else sys.stderr)


def _list_types(language: str | None, *, as_json: bool) -> None:
    from babelscope.language.registry import error_types

    for name, made in error_types(language).items():
        row: dict[str, Any] = {"name": name, "plausible": made.plausible, "definition": made.definition}
        if as_json:
            detector = made.detect is not None
            print_json({**row, "detector": detector, "modes": list(made.modes), "language": made.language})
        else:
            told = f"{name:<28}{'' if made.plausible else '(control) '}{made.definition}"
            typer.echo(paragraph(told, " " * 28))


def _all_types(language: str | None) -> list[str]:
    """The error types of a language, which may be omitted if there is only one."""
    from babelscope.language.registry import error_types

    found = error_types(language)
    languages = sorted({made.language for made in found.values()})
    if not found:
        raise BabelscopeError(f"there are no error types of the language {language!r}")
    if len(languages) > 1:
        raise BabelscopeError(f"there are error types of {', '.join(languages)}: choose with --language")
    return list(found)


def _write_audit(types: list[str], source: Path, reference: Path, to: Path | None, **how: Any) -> None:
    """Write a sample of variants for manual review."""
    from babelscope.making.pairs import report_progress, sample_for_audit

    if len(types) != 1:
        raise BabelscopeError("--audit needs exactly one --type")
    with progress("making pairs", _lines(source, reference)) as advance:
        texts = report_progress(stream_lines(source), advance), stream_lines(reference)
        rows = sample_for_audit(types[0], *texts, **how)
    with output(to, Form.JSON) as write:
        for row in rows:
            write(as_line(row))


def _to_stdout(lines: bytes) -> None:
    """Write whole lines of JSON to stdout."""
    for line in lines.decode("utf-8").split("\n")[:-1]:
        write_data(line, is_json=True)


def _in_parts(made: PairsOfFiles, to: Path | None, ray: str | None, counts: Counter[str]) -> None:
    """Write the pairs of the files in parts, here or by workers; an interrupted run is resumed."""
    from babelscope.making.pairs import make_lines
    from babelscope.making.ray_tasks import SENTENCES, map_parts
    from babelscope.systems.cache import resuming

    files = [file_stamp(made.source), file_stamp(made.reference)]
    cut = made.parts(SENTENCES)
    names = [f"from line {part.ranges[0].number} on" for part in cut]
    with (
        telling_what_is_kept(PARTS_KEPT),
        resuming({"command": "make pairs", "files": files, "part": SENTENCES, **made.options}) as (store, _),
        replacing(to) if to is not None else contextlib.nullcontext() as file,
        contextlib.closing(map_parts(make_lines, names, cut, ray, store)) as results,
        progress("making pairs", sum(part.ranges[0].count or 0 for part in cut)) as advance,
    ):
        write = file.write if file is not None else _to_stdout
        for part, (lines, found) in zip(cut, results, strict=True):
            write(lines.encode())
            counts.update(found)
            advance(part.ranges[0].count or 0)


def _lines(source: Path, reference: Path) -> int:
    """The number of lines, the same in both files; 0 for pipes, which are compared while being read."""
    if not (source.is_file() and reference.is_file()):
        return 0
    counts = {str(path): count_lines(path) for path in (source, reference)}
    require_equal_counts(counts)
    return counts[str(source)]


app = ShellGroup("Make test sets from sources and references.")
app.command("pairs")(pairs)
app.command("machine-references")(machine_references)
app.command("cues")(cues)
app.command("challenge")(challenge)
app.command("counts")(counts)
