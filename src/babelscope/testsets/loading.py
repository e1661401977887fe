"""Loading a test set by name: a registered name, a JSON-lines file, or `format:path`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from babelscope.core.registry import Registry, did_you_mean, resolve, split_options, split_spec
from babelscope.testsets import registry
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.published import NamedSet, data_folder, fetch
from babelscope.util.text import check_name


@dataclass(frozen=True, slots=True)
class Format:
    """A format of test sets: the word before the colon, and the function that reads the path after it."""

    name: str
    reader: str
    """`module:function`, imported when used; takes the path, and each flag and number as a keyword."""
    summary: str
    example: str
    flags: tuple[str, ...] = ()
    """Names of yes/no options after the path, as in `?neutral=yes`."""
    numbers: tuple[str, ...] = ()
    """Names of whole-number options, as in `?seed=3`; 0 by default."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Names of options that are text, each with its default."""
    scores: Literal["", "blocks", "interleaved"] = ""
    """Layout of files of scores for it, where its publishers define one; see `systems/stored/scores.py`."""


_READERS = "babelscope.testsets.readers"
_BUILT_IN = (
    Format(
        "jsonl",
        f"{_READERS}:read_jsonl",
        "our own format: one item per line, as JSON",
        "jsonl:pairs.jsonl",
        ("skip_empty",),
    ),
    Format(
        "parallel",
        f"{_READERS}:read_parallel",
        "line-parallel text: a file of sources, one or more of references",
        "parallel:test.en,test.de",
        ("skip_empty",),
    ),
    Format(
        "references",
        f"{_READERS}:read_references",
        "references without sources, for given lists: one file or more",
        "references:test.de",
    ),
    Format(
        "sources",
        f"{_READERS}:read_sources",
        "sources without references, one per line, for reference-free metrics",
        "sources:test.en",
        ("skip_empty",),
    ),
    Format(
        "tsv",
        f"{_READERS}:read_tsv",
        "tab-separated text: source, then one or more references",
        "tsv:test.tsv",
        ("skip_empty",),
    ),
    Format(
        "distil-lingeval",
        f"{_READERS}:read_distil_lingeval",
        "a DistilLingEval set, or a folder of them",
        "distil-lingeval:data/clause_omission.mt",
        ("empty",),
        scores="blocks",
    ),
    Format(
        "mucow-scoring",
        f"{_READERS}:read_mucow_scoring",
        "a language pair of MuCoW's scoring suite",
        "mucow-scoring:cs-en.json",
        ("empty",),
        scores="interleaved",
    ),
    Format(
        "sentences",
        f"{_READERS}:read_sentence_pairs",
        "pairs of sentences in one language, as BLiMP has them: sentence_good, sentence_bad, as JSON, "
        "one per line",
        "sentences:adjunct_island.jsonl?continued=yes",
        ("continued",),
    ),
    Format(
        "blimp",
        f"{_READERS}:read_sentence_pairs",
        "a paradigm of BLiMP: the same as sentences:",
        "blimp:adjunct_island.jsonl",
        ("continued",),
    ),
    Format(
        "mucow",
        "babelscope.testsets.mucow:read_mucow",
        "a language pair of MuCoW's translation suite",
        "mucow:mucow/en-de",
        ("all", "paper_cues"),
    ),
    Format(
        "ldd",
        "babelscope.testsets.ldd:read_ldd",
        "released long-distance challenge sets: .ids files, and the corpus they number",
        "ldd:FOLDER,newstest2013.de,newstest2013.en",
        texts={"corpus": ""},
    ),
    Format(
        "winomt",
        "babelscope.testsets.winomt:read_winomt",
        "WinoMT's table",
        "winomt:test.tsv",
        ("neutral", "paper_cues"),
        texts={"genders": "two", "neutral_cue": "neutral", "tag": ""},
    ),
    Format(
        "discevalmt",
        "babelscope.testsets.formats.discevalmt:read_discevalmt",
        "pronouns and word choice with context, English-French",
        "discevalmt:anaphora.json",
    ),
    Format(
        "en-fr-pronouns",
        "babelscope.testsets.formats.en_fr_pronouns:read_en_fr_pronouns",
        "it and they with context, English-French: a folder of extracted files",
        "en-fr-pronouns:OpenSubs",
    ),
    Format(
        "voita",
        "babelscope.testsets.formats.voita:read_voita",
        "deixis, lexical cohesion and ellipsis with context, English-Russian",
        "voita:ellipsis_infl.json",
    ),
    Format(
        "contrapro",
        "babelscope.testsets.formats.contrapro:read_contrapro",
        "it as er, sie or es, English-German",
        "contrapro:contrapro.json",
    ),
    Format(
        "contracat",
        "babelscope.testsets.formats.contracat:read_contracat",
        "ContraPro's sentences with one sentence of context: a folder",
        "contracat:contracat",
    ),
    Format(
        "ctxpro",
        "babelscope.testsets.formats.ctxpro:read_ctxpro",
        "word forms that need context, with the form to expect",
        "ctxpro:gender.opensubtitles.en-es.dev.json",
    ),
    Format(
        "mt-geneval",
        "babelscope.testsets.formats.mt_geneval:read_mt_geneval",
        "gender that the sentence or its context makes clear: a folder and languages",
        "mt-geneval:sentences,en_es",
    ),
    Format(
        "gate",
        "babelscope.testsets.formats.gate:read_gate",
        "sentences that leave genders open, with translations for every choice",
        "gate:ES_2_variants.tsv",
    ),
    Format(
        "mittens",
        "babelscope.testsets.formats.mittens:read_mittens",
        "passages into English whose gender is clear, with pronouns that must not occur",
        "mittens:mittens_dataset_v5.csv",
    ),
    Format(
        "genderous",
        "babelscope.testsets.formats.genderous:read_genderous",
        "occupations whose gender is open: sentences, or labeled translations into a language",
        "genderous:annotations_DeepL_base_sentences.tsv?language=de",
        texts={"language": ""},
    ),
    Format(
        "hallucinations",
        "babelscope.testsets.formats.hallucinations:read_hallucinations",
        "translations with labels for hallucinations and omissions, German-English",
        "hallucinations:annotated_corpus.csv",
    ),
    Format(
        "lingeval97",
        "babelscope.testsets.formats.lingeval97:read_lingeval97",
        "pairs with 13 kinds of errors, English-German",
        "lingeval97:lingeval97.json",
    ),
    Format(
        "contrawsd",
        "babelscope.testsets.formats.lingeval97:read_contrawsd",
        "ambiguous words, German to English and French",
        "contrawsd:contrawsd.de-en.json",
    ),
    Format(
        "flores",
        "babelscope.testsets.formats.flores:read_flores",
        "FLORES: a folder of files by language, and two languages",
        "flores:flores200_dataset/devtest,eng_Latn,deu_Latn",
    ),
    Format(
        "ntrex",
        "babelscope.testsets.formats.flores:read_flores",
        "NTREX: the same, with documents",
        "ntrex:NTREX-128,eng,deu",
    ),
    Format(
        "demetr",
        "babelscope.testsets.formats.demetr:read_demetr",
        "translations into English with one error each, to test metrics: a file, or a folder of them",
        "demetr:critical_id8_negation.json",
    ),
    Format(
        "dfki",
        "babelscope.testsets.formats.dfki:read_dfki",
        "the DFKI test suite: rules for translations by phenomenon",
        "dfki:en-de.items.json",
    ),
    Format(
        "clams",
        "babelscope.testsets.formats.clams:read_clams",
        "subject-verb agreement in five languages: pairs without a source",
        "clams:simple_agrmt.txt",
    ),
    Format(
        "wmt",
        "babelscope.testsets.formats.wmt:read_wmt",
        "WMT: XML, JSON lines, or SGM files; with original language, domain and context",
        "wmt:newstest2021.en-de.all.xml",
        texts={"translator": ""},
    ),
    Format(
        "probes",
        "babelscope.testsets.probes:read_probes",
        "sentences of our own that test negation, numbers, names and the like",
        "probes:en",
    ),
    Format(
        "rules",
        "babelscope.testsets.formats.rules:read_rules",
        "a table of sources, with words or expressions that translations must have or must not have",
        "rules:terms.tsv",
    ),
)


FORMATS: Registry[Format] = Registry(
    "format",
    "babelscope.testsets.loading:Format",
    "babelscope.testsets",
    {known.name: known for known in _BUILT_IN},
)


@functools.cache
def formats() -> dict[str, Format]:
    """All formats by name: ours, and those of installed packages (entry points in `babelscope.testsets`)."""
    return FORMATS.all()


def load(spec: str | Path, *, data_dir: str | Path | None = None, registries: Sequence[str] = ()) -> TestSet:
    """Load a test set: a registered name (downloaded if need be), a JSON-lines file, or `format:path`.

    Names are those of public sets, and of sets in `registries` and $BABELSCOPE_REGISTRY.
    """
    spec = check_name(str(spec))
    name, colon, rest = spec.partition(":")
    known = FORMATS.names()
    if colon and name in known:
        found = FORMATS.find(name)
        if not rest:
            raise BabelscopeError(f"{spec!r} needs a value after the colon; example: {found.example}")
        return _read(found, spec, rest)
    base, query = split_options(spec)
    more = {} if base in registry.SETS else registry.registered_sets(registries)
    if wanted := registry.SETS.get(base) or more.get(base):
        options = _options(FORMATS.find(wanted.parts[0].format), spec, base, query) if query else {}
        return _load_named(wanted, data_dir, options)
    if base in registry.RELEASES:
        registry.find_set(base)
    if os.path.isdir(spec):
        raise BabelscopeError(f"{spec} is a folder; for DistilLingEval sets, use distil-lingeval:{spec}")
    if os.path.exists(spec) or (spec.endswith((".jsonl", ".json")) and not colon):
        return read_format("jsonl", spec)
    choices = [*registry.SETS, *more, *(f"{each}:" for each in known)]
    near = did_you_mean(f"{name}:" if colon else spec, choices, cutoff=0.5)
    hint = f"; {near}" if near else ""
    raise BabelscopeError(
        f"{spec!r} is neither a registered test set (see babelscope data list), nor a file, nor one of "
        f"{', '.join(f'{each}:' for each in known)}{hint}"
    )


def _load_named(
    wanted: NamedSet, data_dir: str | Path | None, options: Mapping[str, bool | int | str]
) -> TestSet:
    """Load all parts of a named set, with options of their format.

    Parts that are missing and cannot be downloaded are counted as skipped.
    """
    status = {fetched.file: fetched.status for fetched in fetch(wanted, data_dir)}
    read: list[TestSet] = []
    skipped: dict[str, int] = {}
    for part in wanted.parts:
        if all(status[file] == "missing" for file in part.files):
            reason = f"{part.name} is not in the data folder and cannot be downloaded (unknown checksum)"
            skipped[reason] = part.items
            continue
        made = read_format(part.format, data_folder(data_dir) / part.path, **options)
        published = len(made) + sum(made.skipped.values())
        if part.items and published != part.items:
            raise BabelscopeError(
                f"{part.name} has {published} items in the data folder, but {part.items} are published"
            )
        read.append(made)
        for reason, count in made.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
    items = tuple(item for made in read for item in made.items)
    return TestSet(wanted.name, items, skipped, wanted.version)


def spec_for_scores(spec: str) -> tuple[str, str]:
    """The spec whose items score files count (those with empty texts included), and the layout of the files.

    The layout is the one that the publishers of the format define; "" where they define none.
    """
    name, colon, rest = spec.partition(":")
    base, query = split_options(spec)
    if named := registry.SETS.get(base):
        known = FORMATS.find(named.parts[0].format)
    elif not colon or name not in FORMATS.names() or not rest:
        return spec, ""
    else:
        known = FORMATS.find(name)
    if "empty" in known.flags:
        others = [option for option in query.split("&") if option and not option.startswith("empty=")]
        spec = f"{base}?{'&'.join([*others, 'empty=yes'])}"
    return spec, known.scores


def read_format(name: str, path: str | Path, **flags: bool | int | str) -> TestSet:
    """Read a file or folder in the format of this name."""
    reader = cast(Callable[..., TestSet], resolve(FORMATS.find(name).reader))
    return reader(path, **flags)


def _read(known: Format, spec: str, rest: str) -> TestSet:
    path, query = split_options(rest)
    return read_format(known.name, path, **_options(known, spec, path, query))


def _options(known: Format, spec: str, path: str, query: str) -> dict[str, bool | int | str]:
    """The options of a spec as its format reads them; others are refused."""
    _, options = split_spec(spec, f"{path}?{query}" if query else path)
    found: dict[str, bool | int | str] = {name: options.flag(name) for name in known.flags}
    found |= {name: options.integer(name, 0, least=0) for name in known.numbers}
    found |= {name: options.text(name, default) for name, default in known.texts.items()}
    options.refuse_unused()
    return found
