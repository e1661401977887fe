"""Dependency parsers of raw lines: UDPipe, and spaCy and Stanza where they are installed."""

from __future__ import annotations

import importlib
import importlib.util
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from babelscope.core.registry import Registry, did_you_mean
from babelscope.language.fitness import watch_words
from babelscope.language.ud import Tree, parse_tree
from babelscope.metrics.base import is_allowed
from babelscope.util.digests import digest_file, digest_open
from babelscope.util.errors import BabelscopeError, install_hint
from babelscope.util.published import MODELS, NamedSet, fetch
from babelscope.util.text import read_line_bytes, read_lines, shorten

Parser = Callable[[Sequence[str]], list[Tree | None]]
"""Texts -> one tree each, multiword tokens split as in the parser's treebank; None for an empty text."""
UDPIPE_MODELS: Registry[Path] = Registry("UDPipe model", "pathlib:Path", "babelscope.udpipe_models", {})


def open_parser(spec: str) -> Parser:
    """Open `udpipe:FILE` (a model file, or the name of a known model), `spacy:MODEL` or `stanza:LANGUAGE`."""
    kind, _, name = spec.partition(":")
    openers = {"udpipe": _open_udpipe, "spacy": _open_spacy, "stanza": _open_stanza}
    if kind not in openers or not name:
        raise BabelscopeError(f"a parser is udpipe:FILE, spacy:MODEL or stanza:LANGUAGE, not {spec!r}")
    if not is_allowed(spec):  # UDPipe models of strangers can corrupt memory
        raise BabelscopeError(
            f"{shorten(spec, 300)}, by which a run was judged, is not opened because only a run folder names it; set "
            "--target-parser to have translations parsed again"
        )
    return openers[kind](name)


def parser_language(spec: str) -> str | None:
    """The language of a parser, by its name or, of a published model, its bytes; None where nothing says it."""

    kind, _, name = spec.partition(":")
    if kind == "stanza":
        return name or None
    if kind == "spacy":
        return _spacy_language(name)
    if kind != "udpipe" or not name or name in UDPIPE_MODELS.names():
        return None
    known = MODELS.get(f"udpipe/{name}") or find_model(Path(name))
    return known.project.languages[0] if known else None


def parser_digest(spec: str) -> str:
    """What a parser is: its name, or the digest of a UDPipe model."""
    kind, _, name = spec.partition(":")
    path = UDPIPE_MODELS.find(name) if name in UDPIPE_MODELS.names() else Path(name)
    return f"{kind}:sha256:{digest_file(path)}" if kind == "udpipe" and path.is_file() else spec


def _open_udpipe(name: str) -> Parser:
    library = import_udpipe()
    path = _model_file(name)
    _warn_of_license(name, path)
    model = library.Model.load(str(path))
    if model is None:
        raise BabelscopeError(f"{path} is no UDPipe model")
    # Without `presegmented`, the tokenizer would split a line into sentences.
    tokenizer = model.newTokenizer(model.TOKENIZER_PRESEGMENTED)
    if tokenizer is None:
        raise BabelscopeError(f"the UDPipe model {path} has no tokenizer; it cannot read raw lines")
    writer = library.OutputFormat.newConlluOutputFormat()
    watch = (
        watch_words(read_lines(words), f"the parser {name}")
        if (words := words_file(path)).is_file()
        else None
    )

    def parse(texts: Sequence[str]) -> list[Tree | None]:
        trees = [_single_tree(list(one(text)), text, name) for text in texts]
        if watch is not None:
            watch(word.form for tree in trees if tree is not None for word in tree.words)
        return trees

    def one(text: str) -> Iterator[str]:
        error = library.ProcessingError()
        tokenizer.setText(text)
        sentence = library.Sentence()
        while tokenizer.nextSentence(sentence, error):
            for step in (model.tag, model.parse):
                if not step(sentence, model.DEFAULT, error):
                    raise BabelscopeError(f"UDPipe failed at {shorten(text)}: {error.message}")
            yield writer.writeSentence(sentence)
            sentence = library.Sentence()
        if error.occurred():
            raise BabelscopeError(f"UDPipe failed at {shorten(text)}: {error.message}")

    return parse


def find_model(path: Path) -> NamedSet | None:
    """The published model that a file is, whatever it is called; None if it is none of them, or no file."""
    if not path.is_file():
        return None
    with open(path, "rb") as file:
        digest = digest_open(file, "git_blob")
    return next((model for model in MODELS.values() if model.files[0].git_blob == digest), None)


def _warn_of_license(name: str, path: Path) -> None:
    """Warn that a published model is not for commercial use, whatever its file is called."""
    known = find_model(path)
    if known is not None and "NC" in known.project.license:
        warnings.warn(
            f"the parser udpipe:{name} has the license {known.project.license}: it is not for commercial use",
            stacklevel=2,
        )


def _model_file(name: str) -> Path:
    """The file of a plug-in's model, of a public one in the data folder, or the named file.

    A known name means the known model, even if a file in the working folder has that name.
    """
    if name in UDPIPE_MODELS.names():
        return UDPIPE_MODELS.find(name)
    known = f"udpipe/{name}"
    if known in MODELS:
        return fetch(MODELS[known])[0].path
    if (path := Path(name)).is_file():
        return path
    short = [*UDPIPE_MODELS.names(), *(each[len("udpipe/") :] for each in MODELS)]
    hint = did_you_mean(name, short, "see babelscope data list", cutoff=0.4)
    raise BabelscopeError(f"{name}: no such model file, nor a known model; {hint}")


def _open_spacy(name: str) -> Parser:
    """A spaCy pipeline, from an installed package or a folder; a line stays one sentence."""
    try:
        library = importlib.import_module("spacy")
    except ImportError:
        raise BabelscopeError("spaCy is not installed: pip install spacy, or use udpipe:FILE") from None
    try:
        pipeline = library.load(name, exclude=["ner", "senter", "sentencizer"])
    except (OSError, ValueError) as error:
        raise BabelscopeError(
            f"there is no spaCy model {shorten(name)}: install its package, or name its folder "
            f"({shorten(str(error), 200)})"
        ) from None
    labels = set(pipeline.get_pipe("parser").labels) if "parser" in pipeline.pipe_names else set()
    missing = _UD_RELATIONS - {label.partition(":")[0] for label in labels}
    if missing:
        # English and German models of spaCy have relations of other treebanks (`dobj`, `svp`).
        raise BabelscopeError(
            f"the spaCy model {name} does not parse to Universal Dependencies: it knows no relation "
            f"{', '.join(sorted(missing))}, so our rules would find nothing; use a UDPipe model"
        )

    def prepared(text: str) -> Any:
        document = pipeline.make_doc(" ".join(text.split()))
        for token in document:
            token.is_sent_start = token.i == 0  # the parser keeps to what is set
        return document

    def parse(texts: Sequence[str]) -> list[Tree | None]:
        full = [text for text in texts if text.strip()]
        parsed = iter(pipeline.pipe(map(prepared, full)))
        return [
            _single_tree([_spacy_rows(next(parsed))] if text.strip() else [], text, name) for text in texts
        ]

    return parse


_UD_RELATIONS = {"nsubj", "obj", "obl", "case"}
"""Relations that every treebank of Universal Dependencies 2 has, and other schemes have not all."""


def _spacy_rows(document: Any) -> str:
    """A parsed document of spaCy as CoNLL-U."""
    numbers = {token.i: n for n, token in enumerate(document, 1)}
    rows = []
    for token in document:
        head = 0 if token.head.i == token.i else numbers[token.head.i]
        relation = token.dep_ if head else "root"
        fields = (token.text, token.lemma_, token.pos_, token.tag_, str(token.morph), str(head), relation)
        rows.append("\t".join([str(numbers[token.i]), *(field or "_" for field in fields), "_", "_"]))
    return "\n".join(rows)


def _spacy_language(name: str) -> str | None:
    """The language in the description of a spaCy model; None if there is no such model."""
    folder: Path | None = Path(name)
    if name.isidentifier() and not Path(name).is_dir():
        found = importlib.util.find_spec(name)
        folder = Path(found.origin).parent if found is not None and found.origin else None
    try:
        language = json.loads(read_line_bytes(folder / "meta.json")).get("lang") if folder else None
    except (OSError, ValueError, AttributeError, BabelscopeError):
        return None
    return language if isinstance(language, str) else None


def _open_stanza(language: str) -> Parser:
    try:
        library = importlib.import_module("stanza")
    except ImportError:
        raise BabelscopeError("stanza is not installed: pip install stanza, or use udpipe:FILE") from None
    try:
        pipeline = library.Pipeline(
            language,
            processors="tokenize,pos,lemma,depparse",  # multiword tokens are added where a language has them
            tokenize_no_ssplit=True,
            download_method=None,
            verbose=False,
        )
    except FileNotFoundError as error:
        raise BabelscopeError(
            f"there is no stanza model for {language!r}: python -c 'import stanza; stanza.download(\"{language}\")' "
            f"({shorten(str(error), 200)})"
        ) from None

    def parse(texts: Sequence[str]) -> list[Tree | None]:
        full = [text for text in texts if text.strip()]
        # An empty line ends a sentence, and nothing else does.
        sentences = pipeline("\n\n".join(full)).sentences if full else []
        if len(sentences) != len(full):
            raise BabelscopeError(f"stanza made {len(sentences)} sentences of {len(full)} lines")
        trees = iter(sentences)
        return [_single_tree([f"{next(trees):C}"] if text.strip() else [], text, language) for text in texts]

    return parse


def _single_tree(sentences: Sequence[str], text: str, name: str) -> Tree | None:
    """The tree of a text's only sentence."""
    if not sentences and not text.strip():
        return None
    if len(sentences) != 1:
        raise BabelscopeError(f"the parser {name} made {len(sentences)} sentences of a line: {shorten(text)}")
    tree = parse_tree(sentences[0].rstrip("\n").split("\n"), f"the parser {name} on {shorten(text)}")
    return replace(tree, sent_id="")  # the parser numbers every call from 1


def words_file(model: Path) -> Path:
    """Where the words that a UDPipe model was trained on are listed, if anybody did; one per line, in lower case."""
    return model.with_name(f"{model.name}.words")


def import_udpipe() -> Any:
    """The library ufal.udpipe; an error that says how to install it if it is missing."""
    try:
        return importlib.import_module("ufal.udpipe")
    except ImportError:
        raise BabelscopeError(
            f"parsing needs UDPipe: {install_hint('parse')}, or give parses in CoNLL-U"
        ) from None
