"""Detectors of any language over parsed translations: error types over trees, and losses against the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from babelscope.core.results import Record
from babelscope.language.base import LONGEST
from babelscope.language.checks.negation import negations
from babelscope.language.checks.registry import Setting, run_checks
from babelscope.language.fitness import other_language
from babelscope.language.general.content import is_negated
from babelscope.language.general.lexicons import is_treebank, open_lexicon
from babelscope.language.general.sentence import Sentence, Source
from babelscope.language.general.treebank import Tools, read_treebank
from babelscope.language.general.types import GENERAL_TYPES, exists
from babelscope.language.parsers import Parser, open_parser, parser_digest
from babelscope.language.ud import read_trees
from babelscope.util.digests import digest_file, digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

_CHECKED = {"number_changed": "number", "name_changed": "name"}
"""Types that a check of source and translation detects."""
_LOST = "negation_deleted"
PARSED_TYPES = tuple(
    name for name, each in GENERAL_TYPES.items() if each.find is not None or name in (_LOST, *_CHECKED)
)
"""General error types with a detector."""


@dataclass(frozen=True)
class ParsedDetectors:
    """A parser, and what treebanks and lexicons say of the language that it parses."""

    parse: Parser
    tools: Tools

    def read(self, texts: Iterable[str]) -> dict[str, Sentence]:
        """The parsed texts; without those that are empty or too long for a sentence."""
        asked = [text for text in dict.fromkeys(texts) if text.strip() and len(text) <= LONGEST]
        trees = zip(asked, self.parse([" ".join(text.split()) for text in asked]), strict=True)
        return {text: Sentence(tree) for text, tree in trees if tree is not None}


def open_detectors(parser: str, lexicons: Sequence[str]) -> ParsedDetectors:
    """The detectors of a parser's language; opened once for the same files."""
    if not any(map(is_treebank, lexicons)):
        raise BabelscopeError(
            f"detectors with the parser {parser} count a treebank of its language: set lexicon=FILE.conllu"
        )
    return _open(parser, tuple(lexicons), tuple(detectors_identity(parser, lexicons).values()))


@lru_cache(maxsize=2)
def _open(parser: str, lexicons: tuple[str, ...], _digests: tuple[str, ...]) -> ParsedDetectors:
    trees = (tree for spec in lexicons if is_treebank(spec) for tree in read_trees(Path(spec), skipped={}))
    others = [open_lexicon(spec) for spec in lexicons if not is_treebank(spec)]
    tools = read_treebank((Sentence(tree) for tree in trees if tree is not None), others)
    return ParsedDetectors(open_parser(parser), tools)


def detectors_identity(parser: str, lexicons: Sequence[str]) -> dict[str, str]:
    """What detectors depend on: the parser and the lexicons, files by their digests."""
    named = [digest_file(Path(each)) if Path(each).is_file() else each for each in lexicons]
    return {"parser": parser_digest(parser), "lexicon": ", ".join(named)}


def detect_parsed(
    records: Sequence[Record], names: Sequence[str], languages: tuple[str, str], own: ParsedDetectors
) -> Iterator[Record]:
    """The fields that `detect_in_parallel` gives, by detectors over parsed texts."""
    readable = {
        text: sentence
        for text, sentence in own.read(
            text for record in records for text in (record["best"]["text"], *record["references"])
        ).items()
        if other_language(text, languages[1]) is None
    }
    known = [name for name in names if exists(GENERAL_TYPES[name], own.tools)]
    rows = [
        {
            name: _variants(record, name, readable, own.tools)
            for name in known
            if _applies(name, record, languages)
        }
        for record in records
    ]
    wrong = own.read(text for row in rows for some in row.values() for _, text in some)
    for record, variants in zip(records, rows, strict=True):
        alarms = _alarms(record["source"], languages, own.tools)
        references = [readable[text] for text in record["references"] if text in readable]
        best = readable.get(record["best"]["text"])
        others = {
            side: found
            for side, texts in (("best", [record["best"]["text"]]), ("reference", record["references"]))
            for found in [next(filter(None, (other_language(each, languages[1]) for each in texts)), None)]
            if found
        }
        yield {
            "detected": {
                "best": {name: alarms(name, best) for name in variants} if best is not None else {},
                "reference": {name: [alarms(name, each) for each in references] for name in variants},
                "contrastive": {
                    name: [alarms(name, wrong[text]) for _, text in some] for name, some in variants.items()
                },
                **({"other_language": others} if others else {}),
            },
            "variants": {name: some for name, some in variants.items() if some},
        }


def _applies(name: str, record: Record, languages: tuple[str, str]) -> bool:
    if name == _LOST:
        return bool(negations(record["source"], languages[0]))
    return name not in _CHECKED or bool(
        run_checks(record["source"], "-", Setting(*languages), [_CHECKED[name]])
    )


def _alarms(source: str, languages: tuple[str, str], tools: Tools) -> Callable[[str, Sentence], bool]:
    """Whether a detector, by name, sees its error in a translation of the source."""

    def alarm(name: str, sentence: Sentence) -> bool:
        if name == _LOST:
            return not is_negated(sentence)
        if name in _CHECKED:
            found: Mapping[str, str | None] = run_checks(
                source, sentence.text, Setting(*languages), [_CHECKED[name]]
            )
            return any(each is not None for each in found.values())
        find = GENERAL_TYPES[name].find
        return find is not None and find(sentence, tools) is not None

    return alarm


def _variants(
    record: Record, name: str, readable: Mapping[str, Sentence], tools: Tools
) -> list[tuple[str, str]]:
    """(reference, the same with the error put in), where the reference has a place for it."""
    made = []
    for reference in record["references"]:
        if reference not in readable:
            continue
        found = list(GENERAL_TYPES[name].make(readable[reference], Source(record["source"]), tools))
        if found:
            # Drawn by the texts alone, so that judging again, or in other chunks, draws the same.
            draw = stream(0, f"errors/{name}/{digest_json([record['source'], reference])}")
            made.append((reference, found[int(draw.integers(len(found)))].text))
    return made
