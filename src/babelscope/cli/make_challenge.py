"""`babelscope make challenge`: sets of long-distance dependencies, from parallel text."""

from __future__ import annotations

import contextlib
import functools
import textwrap
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from babelscope.cli.common import AsJson, file_option, option, setting, write_rows
from babelscope.cli.shell import PARTS_KEPT, refuse_unused, telling_what_is_kept
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs, file_stamp, replacing
from babelscope.util.progress import progress
from babelscope.util.terminal import terminal_width

if TYPE_CHECKING:
    from babelscope.making.challenge import Search


Ray = Annotated[
    str | None,
    option(
        "Split the files over Ray workers, on this machine or the cluster at HOST:PORT.",
        metavar="[ADDRESS]",
    ),
]


_ENOUGH_TREES = 100
"""After this many parses without a match, warn that a rule may be unable to find anything."""


def challenge(
    context: typer.Context,
    source: Annotated[Path | None, file_option("Sources, one per line.")] = None,
    reference: Annotated[Path | None, file_option("Their references, one per line.")] = None,
    parses: Annotated[Path | None, file_option("CoNLL-U, one sentence per line of text.")] = None,
    parser: Annotated[
        str | None,
        option(
            "Parse with udpipe:MODEL (a file or a known name), spacy:MODEL or stanza:LANGUAGE.",
            metavar="PARSER",
        ),
    ] = None,
    parsed_side: Annotated[
        Literal["source", "reference"],
        setting("Side that is parsed."),
    ] = "source",
    alignments: Annotated[
        Path | None, setting("Word alignments, such as 0-0 1-2. [default: computed]")
    ] = None,
    language: Annotated[
        str | None, setting("Use only the rules of this language (that of the parses).")
    ] = None,
    source_language: Annotated[
        str | None, option("Language of the sources, stored in the set.", metavar="CODE")
    ] = None,
    target_language: Annotated[
        str | None, option("Language of the references, stored in the set.", metavar="CODE")
    ] = None,
    source_tokenize: Annotated[
        str,
        setting("Tokenizer of the sources: zh, ja-mecab, char, spm:FILE... [default: by --source-language]"),
    ] = "",
    tokenize: Annotated[str, option("The same of the references.", metavar="TOKENIZER")] = "",
    phenomenon: Annotated[
        list[str] | None, option("Only this phenomenon; repeatable.", metavar="NAME")
    ] = None,
    dependency_rules: Annotated[
        Literal["sound", "released", "strict"],
        setting(
            "sound: dependencies between two words. released: also of the root on a word 0, as in the "
            "published sets. strict: only dependencies on a verb."
        ),
    ] = "sound",
    own_rules: Annotated[Path | None, file_option("Your own rules, in TOML.")] = None,
    show: Annotated[
        int,
        option("Print N random examples of --own-rules, or of all rules.", metavar="N", min=0, max=1000),
    ] = 0,
    min_distance: Annotated[
        int | None, setting("Minimum number of words between. [default: any]", min=0)
    ] = None,
    exact: Annotated[bool, setting("Count dependencies with exactly this many words between.")] = False,
    min_displacement: Annotated[
        int,
        setting("A pair counts as reordered if a word moved by at least N words ...", min=0),
    ] = 5,
    max_tau: Annotated[
        float,
        setting("... and the order of its links has at most this Kendall's tau.", min=-1, max=1),
    ] = 0.8,
    only_found: Annotated[bool, setting("Write only pairs with a match.")] = False,
    skip_bad: Annotated[
        bool,
        setting("Count bad sentences instead of stopping at the first."),
    ] = False,
    as_json: AsJson = False,
    to: Annotated[
        Path | None,
        file_option("Write the challenge set as JSON. Without it, only count, for which --parses is enough."),
    ] = None,
    ray: Ray = None,
) -> None:
    """Find long-distance dependencies in parallel text: by parses, and by word alignment."""
    from babelscope.language.parsers import open_parser, parser_language
    from babelscope.making.challenge import Corpus, Limits, Search, SearchSettings, read_rules

    if to is not None and source is None:
        raise BabelscopeError("a challenge set needs --source and --reference")
    if show and as_json:
        raise BabelscopeError("--show and --json exclude each other; --to FILE writes all that is found")
    unparsed = None if parses is not None or parser is not None else "--parses or --parser"
    unpaired = None if source is not None else "--source and --reference"
    needs = {
        **dict.fromkeys(("parsed_side", "language", "dependency_rules", "own_rules", "show"), unparsed),
        **dict.fromkeys(("alignments", "min_displacement", "max_tau"), unpaired),
        **dict.fromkeys(("source_language", "target_language", "source_tokenize", "tokenize"), unpaired),
        "only_found": "--to" if to is None else None,
    }
    refuse_unused(context, needs)
    check_outputs(
        {"--to": to},
        inputs=[source, reference, parses, parser, alignments, own_rules, source_tokenize, tokenize],
    )
    corpus = Corpus(
        source,
        reference,
        parses,
        # A parser cannot be sent to workers; each opens its own.
        open_parser(parser) if parser and ray is None else parser,
        "source" if parsed_side == "source" else "target",
        alignments,
        language=language or parser_language(parser or ""),
        source_language=source_language,
        target_language=target_language,
        source_tokenize=source_tokenize,
        tokenize=tokenize,
    )
    wanted = SearchSettings(
        phenomenon or (),
        language,
        dependency_rules,
        read_rules(own_rules) if own_rules else (),
        min_distance,
        Limits(min_displacement, max_tau),
        show,
    )
    search = Search(corpus, wanted, skip_bad=skip_bad)
    if ray is not None or search.can_be_split:
        asked = {**_asked(search, parser), "only_found": only_found, "skip_bad": skip_bad}
        _in_parts(search, to, asked, ray, only_found=only_found)
    elif to is not None:
        with replacing(to) as file:
            file.writelines(search.lines(only_found=only_found))
    else:
        search.count()
    _warn_of_parses(search)
    write_rows(search.rows(exact=exact), as_json=as_json)
    if not as_json:
        _show_sample(search)


def _asked(search: Search, parser: str | None) -> dict[str, Any]:
    """All that the output depends on, so that only parts of the same work are resumed."""
    corpus = search.corpus
    return {
        "command": "make challenge",
        "files": [file_stamp(path) for path in corpus.files.values()],
        "wanted": repr(search.wanted),
        "parser": parser and [parser, file_stamp(Path(parser.partition(":")[2]))],
        "side": corpus.parsed_side,
        "words": [corpus.source_language, corpus.target_language, *corpus.tokenizers],
    }


def _show_sample(search: Search) -> None:
    """Print what was skipped and instances to read, with their two words in brackets."""
    for reason, number in search.skipped.items():
        typer.echo(f"skipped {number}: {reason}")
    sample = search.sample
    if not sample.size:
        return
    shown = sample.in_order()
    typer.echo(f"\n{len(shown)} random examples:" if shown else "\nnothing was found")
    for each in shown:
        typer.echo(f"{each.sentence}: {each.phenomenon}, {each.distance:g} between")
        text = textwrap.fill(each.marked, terminal_width(), initial_indent="  ", subsequent_indent="  ")
        typer.echo(text)


def _warn_of_parses(search: Search) -> None:
    """Warn about parses in which rules find nothing or implausibly much, or that are not of sentences."""
    from babelscope.language.fitness import warn_of_counts
    from babelscope.language.ud_rules import LONGEST

    finder = search.finder
    for name in finder.blind_rules():
        warnings.warn(f"no word has features, so {name} cannot be found; tag with FEATS", stacklevel=2)
    if finder.too_long:
        warnings.warn(
            f"{finder.too_long} parses have more than {LONGEST} words; rules that look at other words than "
            "head and dependent were not applied there",
            stacklevel=2,
        )
    by_features = {rule.name: rule.dependent.features for rule in finder.rules if rule.dependent.features}
    for name, features in by_features.items():
        if finder.trees >= _ENOUGH_TREES and not finder.blind_rules() and not search.tally.found(name):
            # Not every treebank has every feature: that of UDPipe's french-partut has no Reflex.
            warnings.warn(
                f"{name} was found in none of {finder.trees} parses; it needs words with "
                f"{'|'.join(features)}: if the parser does not give this feature, a count of 0 means "
                f"nothing; write your own rule (--own-rules)",
                stacklevel=2,
            )
    if search.corpus.parser is not None:  # given parses may be those of a set that was made before
        ours = {rule.name for rule in finder.rules} - {rule.name for rule in search.wanted.own}
        found = {name: search.tally.sentences_with(name) for name in sorted(ours)}
        warn_of_counts(found, search.tally.sentences, search.tally.mean_length)
    if 2 * finder.without_verb > finder.trees:
        warnings.warn(
            f"{finder.without_verb} of {finder.trees} parses have no finite verb: check that they are "
            f"sentences, parsed by a parser of their language",
            stacklevel=2,
        )


def _in_parts(
    search: Search, to: Path | None, asked: Mapping[str, Any], ray: str | None, *, only_found: bool
) -> None:
    """Write the items of the corpus in parts, here or by workers, and add their counts to `search`."""
    from babelscope.making.challenge.search import run_search
    from babelscope.making.ray_tasks import SENTENCES, map_parts
    from babelscope.systems.cache import resuming

    work = functools.partial(run_search, write=to is not None, only_found=only_found)
    corpora = search.split(SENTENCES)
    names = [f"from sentence {part.first} on" for part in corpora]
    with (
        telling_what_is_kept(PARTS_KEPT),
        resuming({**asked, "written": to is not None, "part": SENTENCES}) as (store, _),
        replacing(to) if to is not None else contextlib.nullcontext() as file,
        contextlib.closing(map_parts(work, names, map(search.of_part, corpora), ray, store)) as results,
        progress("searching the corpus", sum(part.lines for part in corpora)) as advance,
    ):
        for part, (lines, counted) in zip(corpora, results, strict=True):
            if file is not None:
                file.write(lines.encode())
            search.absorb(counted)
            advance(part.lines)
