"""Lexicons: the readings of a form, and the forms of its lemma, from treebanks, tables and analyzers."""

from __future__ import annotations

import contextlib
import importlib
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from babelscope.language.general.sentence import Features, compatible, features, word_class
from babelscope.language.general.tags import APERTIUM, MORFEUSZ, PYMORPHY, UNIMORPH, convert
from babelscope.language.ud import Tree, Word, read_trees
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import shorten, stream_lines


class Entry(NamedTuple):
    """A form with one of its readings, in UD's features."""

    form: str
    lemma: str
    upos: str
    feats: str
    tags: str = ""
    """The reading in the lexicon's own tags."""


class Lexicon(Protocol):
    """Forms and readings of one language."""

    name: str
    complete: bool
    """Whether a known form has all of its readings, which words of a text do not show."""

    def analyze(self, form: str) -> Sequence[Entry]:
        """The readings of a form; none if it is not known."""

    def paradigm(self, entry: Entry) -> Sequence[Entry]:
        """The forms of the same lemma and part of speech."""


_MOST_INFLECTED = 100_000
_SOFT = frozenset({"Gender", "Animacy"})
"""Features that are only marked in some cells of a paradigm: no gender in the plural."""


@dataclass(frozen=True, slots=True)
class Lexicons:
    """Several lexicons of a language as one; a form has the readings of all."""

    parts: tuple[Lexicon, ...]
    _known: dict[tuple[str, ...], list[Entry]] = field(default_factory=dict, repr=False)

    def analyze(self, form: str) -> list[Entry]:
        """The readings of a form in all lexicons."""
        return [entry for part in self.parts for entry in part.analyze(form)]

    def inflect(self, word: Word, **changes: str) -> list[Entry]:
        """The forms of a word that differ from it in these features only, those of the first lexicon first."""
        key = (
            word.form.lower(),
            word.upos,
            word.feats,
            *(f"{name}={value}" for name, value in changes.items()),
        )
        if key not in self._known:
            if len(self._known) >= _MOST_INFLECTED:
                self._known.clear()
            self._known[key] = self._inflect(word, changes)
        return self._known[key]

    def _inflect(self, word: Word, changes: Mapping[str, str]) -> list[Entry]:
        own = features(word.feats)
        found: dict[str, Entry] = {}
        kind = word_class(word.upos, own)
        for part in self.parts:
            for reading in part.analyze(word.form):
                feats = features(reading.feats)
                if word_class(reading.upos, feats) != kind or not compatible(own, feats, tuple(own)):
                    continue
                for entry in part.paradigm(reading):
                    if entry.form.lower() != word.form.lower() and _fits(
                        features(entry.feats), feats, changes
                    ):
                        found.setdefault(entry.form.lower(), entry)
        return list(found.values())


def _fits(feats: Features, old: Features, changes: Mapping[str, str]) -> bool:
    if any(changes[name] not in feats.get(name, ()) for name in changes):
        return False
    for name in (feats.keys() | old.keys()) - changes.keys():
        if name in _SOFT:
            if not compatible(feats, old, (name,)):
                return False
        elif feats.get(name) != old.get(name):
            return False
    return True


_USUAL = 0.2
"""The share of the most frequent form with the same features, from which another form is no typo."""


class Table:
    """A lexicon in memory."""

    def __init__(self, name: str, entries: Iterable[Entry], *, complete: bool = False) -> None:
        self.name = name
        self.complete = complete
        self._forms: dict[str, dict[Entry, None]] = {}
        self._lemmas: dict[tuple[str, str], Counter[Entry]] = {}
        self._usual: dict[tuple[str, str], tuple[Entry, ...]] = {}
        self.add(entries)

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries; a form that is written with a capital is found without it, too."""
        self._usual.clear()
        for entry in entries:
            self._forms.setdefault(entry.form.lower(), {})[entry] = None
            self._lemmas.setdefault((entry.lemma, entry.upos), Counter())[entry] += 1

    def forms(self) -> Iterator[str]:
        """All forms, in lower case."""
        return iter(self._forms)

    def lemmas(self) -> Iterator[tuple[tuple[str, str], Sequence[Entry]]]:
        """(lemma, part of speech) and its forms."""
        for key, entries in self._lemmas.items():
            yield key, tuple(entries)

    def analyze(self, form: str) -> tuple[Entry, ...]:
        """The readings of a form."""
        return tuple(self._forms.get(form.lower(), ()))

    def paradigm(self, entry: Entry) -> tuple[Entry, ...]:
        """The forms of the same lemma and part of speech, without those that are rare for their features: typos."""
        key = entry.lemma, entry.upos
        if key not in self._usual:
            counts = self._lemmas.get(key, Counter[Entry]())
            most: dict[str, int] = {}
            for each, count in counts.items():
                most[each.feats] = max(count, most.get(each.feats, 0))
            self._usual[key] = tuple(
                each for each, count in counts.most_common() if count >= _USUAL * most[each.feats]
            )
        return self._usual[key]


_NOT_WORDS = frozenset({"PUNCT", "SYM", "X"})


def entries_of(tree: Tree) -> Iterator[Entry]:
    """The words of a tree as entries; abbreviations, foreign words and typos are left out."""
    for position, word in enumerate(tree.words):
        odd = any(each in word.feats for each in ("Abbr=", "Foreign=", "Typo="))
        if word.upos in _NOT_WORDS or odd or not any(map(str.isalpha, word.form)):
            continue
        form = word.form if word.upos == "PROPN" or position else word.form[:1].lower() + word.form[1:]
        lemma = word.lemma if word.lemma != "_" else form.lower()
        yield Entry(form, lemma, word.upos, word.feats if word.feats != "_" else "")


def _unimorph(path: Path) -> Iterator[Entry]:
    for number, line in enumerate(stream_lines(path), 1):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) < 3:
            raise BabelscopeError(
                f"{at(path, number)}: a UniMorph line is lemma, form and features with tabs between, not "
                f"{shorten(line)}"
            )
        lemma, form, tags = columns[:3]
        yield Entry(form, lemma, *convert(tags.split(";"), UNIMORPH), tags)


class Pymorphy:
    """Russian or Ukrainian by pymorphy3."""

    complete = True

    def __init__(self, language: str) -> None:
        module = _import("pymorphy3", "pymorphy3")
        self.name = f"pymorphy3:{language}"
        try:
            self._analyzer: Any = module.MorphAnalyzer(lang=language)
        except ValueError as error:
            raise BabelscopeError(f"pymorphy3 has no dictionary of {language!r}: {error}") from None
        self.analyze = lru_cache(50_000)(self._analyze)
        self.paradigm = lru_cache(20_000)(self._paradigm)

    def _analyze(self, form: str) -> tuple[Entry, ...]:
        if not self._analyzer.word_is_known(form):
            return ()
        return tuple(self._entry(each) for each in self._analyzer.parse(form))

    def _paradigm(self, entry: Entry) -> tuple[Entry, ...]:
        parses = self._analyzer.parse(entry.form)
        own = next((each for each in parses if self._entry(each) == entry), None)
        return tuple(map(self._entry, own.lexeme)) if own is not None else ()

    def _entry(self, parse: Any) -> Entry:
        tags = str(parse.tag)
        return Entry(parse.word, parse.normal_form, *convert(re.split(r"[ ,]", tags), PYMORPHY), tags)


class Morfeusz:
    """Polish by morfeusz2."""

    name = "morfeusz2"
    complete = True

    def __init__(self) -> None:
        self._analyzer: Any = _import("morfeusz2", "morfeusz2").Morfeusz(expand_tags=True)
        self.analyze = lru_cache(50_000)(self._analyze)
        self.paradigm = lru_cache(20_000)(self._paradigm)

    def _analyze(self, form: str) -> tuple[Entry, ...]:
        read = [each[2] for each in self._analyzer.analyse(form) if each[0] == 0 and each[1] == 1]
        return tuple(self._entry(each) for each in read if each[2] != "ign" and each[0] == form)

    def _paradigm(self, entry: Entry) -> tuple[Entry, ...]:
        return tuple(self._entry(each) for each in self._analyzer.generate(entry.lemma))

    def _entry(self, read: Any) -> Entry:
        form, lemma, tags = read[:3]
        return Entry(form, lemma, *convert(re.split(r"[:.]", tags), MORFEUSZ), tags)


_CELLS = (("m", "f", "nt", "mf", "ma", "mi", "mp"), ("sg", "pl", "sp"), ("p1", "p2", "p3"))
_CASES = ("nom", "gen", "dat", "acc", "ins", "loc", "prp", "voc")
_MOST_CELLS = 400
_ANSWER_BYTES = 1_000_000
_READ = re.compile(r"\^([^/^$]*)/([^^$]*)\$")


class Apertium:
    """Analyzer and generator of an Apertium language pair, run by lt-proc.

    FOLDER has `*.automorf.bin` and `*.autogen.bin`; of a pair, LANGUAGE (`spa`) says which of the two is meant.
    """

    complete = True

    def __init__(self, folder: Path, language: str) -> None:
        self.name = f"apertium:{folder}:{language}"
        self._analyzer = _LtProc(_binary(folder, f"{language}-*.automorf.bin"))
        self._generator = _binary(folder, f"*-{language}.autogen.bin")
        self.analyze = lru_cache(50_000)(self._analyze)
        self._paradigms: dict[str, tuple[Entry, ...]] = {}

    def _analyze(self, form: str) -> tuple[Entry, ...]:
        if not form.isalpha():  # lt-proc gives other characters a meaning
            return ()
        found = _READ.search(self._analyzer(form))
        readings = found[2].split("/") if found and found[1] == form else []
        return tuple(self._entry(form, each) for each in readings if "+" not in each and each[0] not in "*@#")

    def paradigm(self, entry: Entry) -> tuple[Entry, ...]:
        """The forms of the same lemma and tags but for number, gender, case and person."""
        self.prepare([entry.form] if entry.tags not in self._paradigms else ())
        return self._paradigms.get(entry.tags, ())

    def prepare(self, forms: Iterable[str]) -> None:
        """Make the paradigms of all these forms by one call of the generator, which cannot answer one by one."""
        readings = {entry.tags for form in forms for entry in self.analyze(form)} - self._paradigms.keys()
        cells = {reading: _cells(reading) for reading in sorted(readings)}
        asked = dict.fromkeys(cell for own in cells.values() for cell in own)
        if not asked:
            return
        done = subprocess.run(
            ["lt-proc", "-g", str(self._generator)],
            input="".join(f"^{cell}$\n" for cell in asked).encode(),
            stdout=subprocess.PIPE,
            check=False,
        )
        forms_made = done.stdout.decode(errors="replace").split("\n")
        if done.returncode or len(forms_made) != len(asked) + 1:
            raise BabelscopeError(f"lt-proc could not make forms with {self._generator}")
        made = dict(zip(asked, forms_made, strict=False))
        for reading, own in cells.items():
            found = [(made[cell], cell) for cell in own if made[cell] and not set(made[cell]) & set("#*@/^ ")]
            self._paradigms[reading] = tuple(self._entry(form, cell) for form, cell in found)

    def _entry(self, form: str, reading: str) -> Entry:
        lemma, _, rest = reading.partition("<")
        return Entry(form, lemma, *convert(rest.removesuffix(">").split("><"), APERTIUM), reading)


def _cells(reading: str) -> list[str]:
    """A reading of lt-proc with all numbers, genders, cases and persons in the places of its own."""
    lemma, _, rest = reading.partition("<")
    tags = rest.removesuffix(">").split("><")
    choices = [next((cell for cell in (*_CELLS, _CASES) if tag in cell), (tag,)) for tag in tags]
    return [f"{lemma}<{'><'.join(cell)}>" for cell in islice(product(*choices), _MOST_CELLS)]


class _LtProc:
    """A running lt-proc, asked with null bytes between questions and answers."""

    def __init__(self, binary: Path) -> None:
        try:
            self._process = subprocess.Popen(
                ["lt-proc", "-z", str(binary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            raise BabelscopeError(f"lt-proc of the Debian package lttoolbox cannot be run: {error}") from None

    def __call__(self, text: str) -> str:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        answer = bytearray()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(text.encode() + b"\0")
            process.stdin.flush()
            while (byte := process.stdout.read(1)) not in (b"\0", b"") and len(answer) < _ANSWER_BYTES:
                answer += byte
        if process.poll() is not None:
            raise BabelscopeError(f"lt-proc ended with exit code {process.returncode}")
        return answer.decode(errors="replace")

    def __del__(self) -> None:
        if (process := getattr(self, "_process", None)) is not None:
            process.kill()
            process.communicate()


def _binary(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern), key=lambda path: (len(path.name), path.name))
    if not found:
        raise BabelscopeError(
            f"{folder} has no {pattern}; name the folder of an Apertium pair and its language"
        )
    return found[0]


def _import(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise BabelscopeError(f"this lexicon needs {package}: pip install {package}") from None


def open_lexicon(spec: str) -> Lexicon:
    """Open FILE.conllu, a UniMorph file, pymorphy3:LANGUAGE, morfeusz2 or apertium:FOLDER:LANGUAGE."""
    kind, _, rest = spec.partition(":")
    if spec == "morfeusz2":
        return Morfeusz()
    if kind == "pymorphy3":
        return Pymorphy(rest)
    if kind == "apertium" and ":" in rest:
        folder, _, language = rest.rpartition(":")
        return Apertium(Path(folder), language)
    if not Path(spec).is_file():
        raise BabelscopeError(
            f"{shorten(spec)}: no such lexicon; it is FILE.conllu, a UniMorph file, pymorphy3:LANGUAGE, morfeusz2 "
            "or apertium:FOLDER:LANGUAGE"
        )
    if is_treebank(spec):
        trees = (tree for tree in read_trees(spec, skipped={}) if tree is not None)
        return Table(spec, (entry for tree in trees for entry in entries_of(tree)))
    return Table(spec, _unimorph(Path(spec)), complete=True)


def is_treebank(spec: str) -> bool:
    """Whether a lexicon is a CoNLL-U file."""
    return spec.removesuffix(".gz").endswith(".conllu")


class RoundTrip(NamedTuple):
    """How a lexicon fits a text and itself."""

    words: int
    """Distinct words of the text, numbers and punctuation apart."""
    known: int
    fitting: int
    """How many of the known words have a reading that fits the parse."""
    generated: int
    """How many forms of their lemmas were made."""
    lost: int
    """How many of these are not analyzed as what they were made for."""


def round_trip(lexicon: Lexicon, words: Iterable[Entry], most: int = 2_000) -> RoundTrip:
    """Analyze words, make all forms of their lemmas, and analyze these."""
    chosen = list(islice(dict.fromkeys(words), most))
    known = fitting = lost = 0
    made: set[Entry] = set()
    for word in chosen:
        readings = lexicon.analyze(word.form)
        known += bool(readings)
        own = features(word.feats)
        fitting += any(compatible(features(each.feats), own, tuple(own)) for each in readings)
        for reading in readings:
            made.update(islice(lexicon.paradigm(reading), 60))
    for entry in made:
        back = {(each.lemma, each.upos, each.feats) for each in lexicon.analyze(entry.form)}
        lost += (entry.lemma, entry.upos, entry.feats) not in back
    return RoundTrip(len(chosen), known, fitting, len(made), lost)
