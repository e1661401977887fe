"""Regions of hypothesis spaces as lists made elsewhere: `lists:?top=FILE&beam=FILE`, sentence by sentence."""

from __future__ import annotations

import html
import io
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import IO, Any

from babelscope.core.registry import Options
from babelscope.core.system import Fingerprint, Regions, Scored
from babelscope.systems.stored.reading import moses_entries
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, at, install_hint
from babelscope.util.files import open_regular
from babelscope.util.text import (
    LONGEST_RECORD,
    LocatedRecord,
    bounded_lines,
    json_lines,
    open_to_read,
    parse_lines,
    shorten,
    text_fault,
    whole_number,
)

LARGEST_LISTS = 1 << 28
"""Bytes of all lists together, unpacked: a zip of a few kilobytes can hold many gigabytes."""
MOST_FILES = 100_000
"""Files of a folder or zip."""
# ValueError: a name that is not the UTF-8 that it says it is. NotImplementedError is a RuntimeError.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OSError, ValueError)
_MOSES = re.compile(rb"[0-9]{1,18} *\|\|\|")
_FAIRSEQ = re.compile(rb"^H-[0-9]+\t", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ListFile:
    """A file with lists: its name (in its folder or zip), where it lies, and its bytes."""

    name: str
    place: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """A hypothesis of a list."""

    place: str
    identity: str
    """The sentence's id, as it stands there."""
    text: str
    logprob: float
    """Natural log of the whole hypothesis's probability."""


def list_files(path: str) -> list[ListFile]:
    """The file, or those of a folder or zip in the order of their names; hidden ones are passed over."""
    if os.path.isdir(path):
        return _of_folder(path)
    with open_to_read(path) as file:
        if file.seekable() and zipfile.is_zipfile(file):
            file.seek(0)
            return _of_zip(file, path)
        if file.seekable():
            file.seek(0)
        return [ListFile(PurePosixPath(path).name, path, _bounded(file, path, LARGEST_LISTS))]


def _of_folder(path: str) -> list[ListFile]:
    names = sorted(entry.name for entry in os.scandir(path) if not entry.name.startswith("."))
    found: list[ListFile] = []
    for name in _few(names, path):
        place = os.path.join(path, name)
        with open_regular(place) as raw:
            found.append(ListFile(name, place, _bounded(io.BufferedReader(raw), place, _left(found))))
    return found


def _of_zip(file: IO[bytes], path: str) -> list[ListFile]:
    """Its members are read where they lie: none is unpacked, so that no name of theirs is a path here."""
    found: list[ListFile] = []
    try:
        with zipfile.ZipFile(file) as archive:
            listed = {each.filename: each for each in archive.infolist() if not _is_hidden(each.filename)}
            for name in _few(sorted(listed), path):
                place = f"{path}/{name}"
                # zipfile unpacks other methods without a bound: 2 kB of bzip2 took gigabytes.
                if listed[name].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise BabelscopeError(
                        f"{place} is compressed by another method than deflate; pack it with plain zip"
                    )
                with archive.open(listed[name]) as member:
                    found.append(
                        ListFile(PurePosixPath(name).name, place, _bounded(member, place, _left(found)))
                    )
    except _ZIP_ERRORS as error:
        raise BabelscopeError(f"{path} cannot be read as a zip: {error}") from None
    return found


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return name.endswith("/") or any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _few(names: list[str], path: str) -> list[str]:
    if not names:
        raise BabelscopeError(f"{path} has no files of lists")
    if len(names) > MOST_FILES:
        raise BabelscopeError(f"{path} has {len(names)} files; {MOST_FILES} are the most")
    return names


def _left(found: Sequence[ListFile]) -> int:
    return LARGEST_LISTS - sum(len(each.data) for each in found)


def _bounded(file: IO[bytes], place: str, most: int) -> bytes:
    return b"".join(bounded_lines(file, place, longest=LONGEST_RECORD, most=most))


def read_entries(file: ListFile, form: str, scores: str) -> list[Entry]:
    """The hypotheses of a file, in its order; `form` is a format or `auto`, `scores` what CTranslate2's are."""
    if not file.data:
        return []
    entries = list(_READERS[_recognized(file) if form == "auto" else form](file, scores))
    for entry in entries:
        if not math.isfinite(entry.logprob) or entry.logprob > 0:
            raise BabelscopeError(
                f"{entry.place}: {entry.logprob} is no log-probability of {shorten(entry.text)}: a natural log, "
                "finite and at most 0"
            )
    return entries


def _recognized(file: ListFile) -> str:
    """The one format that the file fits; none is an error, and so is more than one."""
    first = file.data.partition(b"\n")[0]
    fits = []
    if first.startswith(b"{"):
        record = next(_objects(file))[1]
        fits = [name for name, needed in _KEYS.items() if needed <= record.keys()]
    elif _MOSES.match(first):
        fits = ["moses"]
    elif _FAIRSEQ.search(file.data):
        fits = ["fairseq"]
    if len(fits) != 1:
        what = f"could be {' or '.join(fits)}" if fits else "is in no format of lists that is known"
        shown = shorten(first.decode("utf-8", "replace"))
        raise BabelscopeError(
            f"{at(file.place, 1)} {what}: {shown}; say format= and one of {', '.join(FORMATS)}"
        )
    return fits[0]


def _lines(file: ListFile) -> list[str]:
    return parse_lines(file.data, file.place, keep_separators=True)


def _objects(file: ListFile) -> Iterator[LocatedRecord]:
    return json_lines(io.BytesIO(file.data), file.place)


def _moses(file: ListFile, _scores: str) -> Iterator[Entry]:
    for each in moses_entries(_lines(file), file.place):
        if "=" in each.features:
            raise BabelscopeError(
                f"{each.place}: a score beside features is their weighted sum, not a log-probability; write the "
                "log-probability of each translation, `id ||| text ||| log-probability`"
            )
        yield Entry(each.place, str(each.identity), each.text, _number(each.score, each.place))


def _jsonl(file: ListFile, _scores: str) -> Iterator[Entry]:
    for place, record in _objects(file):
        identity = record.get("id")
        if isinstance(identity, bool) or not isinstance(identity, int | str):
            raise BabelscopeError(f"{place} has no id, a text or a whole number")
        yield Entry(
            place, str(identity), _text(record.get("text"), place), _number(record.get("logprob"), place)
        )


def _vllm(file: ListFile, _scores: str) -> Iterator[Entry]:
    """vLLM's RequestOutput as JSON, one per sentence in the order of the test set."""
    for number, (place, record) in enumerate(_objects(file)):
        for output in _list(record, "outputs", place):
            if not isinstance(output, dict):
                raise BabelscopeError(f"{place}: an output is no JSON object")
            if output.get("finish_reason") == "length":
                raise BabelscopeError(
                    f"{place}: an output was cut at its length limit, so that it is no whole translation; leave it "
                    "out, or raise max_tokens"
                )
            score = _number(output.get("cumulative_logprob"), place)
            yield Entry(place, str(number), _text(output.get("text"), place), score)


def _ctranslate2(file: ListFile, scores: str) -> Iterator[Entry]:
    """CTranslate2's TranslationResult as JSON, one per sentence in the order of the test set."""
    if scores != "total":
        raise BabelscopeError(
            f"{file.place}: CTranslate2 divides its scores by the length unless it is told length_penalty=0; say "
            "scores=total if it was"
        )
    for number, (place, record) in enumerate(_objects(file)):
        hypotheses, given = _list(record, "hypotheses", place), _list(record, "scores", place)
        if len(hypotheses) != len(given):
            raise BabelscopeError(f"{place} has {len(hypotheses)} hypotheses but {len(given)} scores")
        for hypothesis, score in zip(hypotheses, given, strict=True):
            if not isinstance(hypothesis, str):
                raise BabelscopeError(
                    f"{place}: a hypothesis must be text; join CTranslate2's tokens with its tokenizer first"
                )
            yield Entry(place, str(number), _text(hypothesis, place), _number(score, place))


def _fairseq(file: ListFile, _scores: str) -> Iterator[Entry]:
    """fairseq-generate's log: H- (or D-, detokenized) with the text, P- with log-probabilities to base 2."""
    hypothesis: Entry | None = None
    for number, line in enumerate(_lines(file), 1):
        place = at(file.place, number)
        if not (found := re.fullmatch(r"([HDP])-([0-9]+)\t(.*)", line)):
            continue
        kind, identity, rest = found.groups()
        if kind == "H" and hypothesis is not None:
            break
        if kind != "H" and (hypothesis is None or hypothesis.identity != identity):
            raise BabelscopeError(
                f"{place}: {kind}-{identity} does not follow the H-{identity} that it is of"
            )
        if kind in "HD":
            hypothesis = Entry(place, identity, rest.partition("\t")[2].strip(), 0.0)
        elif hypothesis is not None:
            # H's own score is divided by the length; P has the tokens', end of sentence included.
            nats = math.fsum(_number(each, place) for each in rest.split()) * math.log(2)
            yield replace(hypothesis, logprob=nats)
            hypothesis = None
    if hypothesis is not None:
        raise BabelscopeError(
            f"{hypothesis.place}: H-{hypothesis.identity} has no P- line, and its own score is divided by the "
            "length; keep the P- lines"
        )


def _list(record: Mapping[str, Any], name: str, where: str) -> list[Any]:
    value = record.get(name)
    if not isinstance(value, list):
        raise BabelscopeError(f"{where}: field {name!r} must be a list")
    return value


def _text(text: object, place: str) -> str:
    if not isinstance(text, str):
        raise BabelscopeError(f"{place}: the text of a hypothesis must be text")
    if fault := text_fault(text.strip()):
        raise BabelscopeError(f"{place} {fault}: {shorten(text)}")
    return text.strip()


def _number(value: object, where: str) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        return float(value)
    except (ValueError, OverflowError):
        raise BabelscopeError(
            f"{where}: {shorten(json.dumps(value))} is no log-probability; every hypothesis needs one"
        ) from None


_KEYS: Mapping[str, frozenset[str]] = {
    "jsonl": frozenset({"id", "text"}),
    "vllm": frozenset({"outputs"}),
    "ctranslate2": frozenset({"hypotheses", "scores"}),
}
"""Format of JSON lines -> the fields by which it is known."""
_READERS: Mapping[str, Callable[[ListFile, str], Iterator[Entry]]] = {
    "moses": _moses,
    "jsonl": _jsonl,
    "fairseq": _fairseq,
    "vllm": _vllm,
    "ctranslate2": _ctranslate2,
}
FORMATS = tuple(_READERS)


REGIONS = ("top", "beam")
"""What a list can be of: the most probable hypotheses of the whole space, or those that beam search found."""


LIST_OPTIONS = ("format", "scores", "per_file", "detokenize", "exact")
"""Options of a list; before them stands `top_` or `beam_` where they are for one of the two only."""
_END = "</s>"
_FILE_NUMBER = re.compile(r"([0-9]{1,9})(?:\.[A-Za-z]+)?$")


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The lists of one region: by the number of the sentence (from 0), or by the id of its item."""

    path: str
    by_number: Mapping[int, tuple[Scored, ...]]
    by_id: Mapping[str, tuple[Scored, ...]]
    last_begins: int = 0
    """Number of the first sentence of the last file, which may have sentences beyond the last one as padding."""

    def of(self, ids: Sequence[str]) -> list[tuple[Scored, ...] | None]:
        """The list of each item; an error if a list is of none."""
        if self.by_id:
            known = set(ids)
            if strange := [name for name in self.by_id if name not in known]:
                raise BabelscopeError(
                    f"{self.path} has a list of {shorten(strange[0])}, but no item has that id"
                )
            return [self.by_id.get(name) for name in ids]
        last = max(self.by_number, default=0)
        if last >= len(ids) and not 0 < self.last_begins < len(ids):
            raise BabelscopeError(
                f"{self.path} has a list of sentence {last}, counted from 0, but there are {len(ids)} sentences; "
                "see to per_file=, and that it is the same test set"
            )
        return [self.by_number.get(number) for number in range(len(ids))]


class RegionLists:
    """Stored lists of regions; nothing else can be asked of them."""

    stored = True
    asked_as_a_whole = True  # a list is found by the place of its sentence

    def __init__(self, name: str, regions: Mapping[str, Hypotheses], *, exact: bool) -> None:
        self.name = name
        self._regions, self._exact = regions, exact
        content = {
            region: [
                [str(key), *([each.text, repr(each.total)] for each in own)]
                for key, own in (own.by_id or own.by_number).items()
            ]
            for region, own in regions.items()
        }
        # By content, not by name: a moved or renamed file gives the same answers.
        self.fingerprint = Fingerprint("lists", digest_json(content), settings={"exact": exact})

    def regions(self, ids: Sequence[str], *, k: int) -> list[Regions]:
        """The lists of each item, at most `k` a region; the most probable ones, though beam's in its own order."""
        found = {region: own.of(ids) for region, own in self._regions.items()}
        nothing: list[tuple[Scored, ...] | None] = [None] * len(ids)
        return [
            Regions(
                top=None if top is None else tuple(sorted(top, key=lambda each: -each.total)[:k]),
                exact=self._exact and top is not None,
                beam=beam,
            )
            for top, beam in zip(found.get("top", nothing), found.get("beam", nothing), strict=True)
        ]


def open_regions(options: Options) -> RegionLists:
    """`lists:?top=FILE&beam=FILE&per_file=N&detokenize=LANG&format=FORMAT&scores=total&exact=yes|no`."""
    paths = {region: path for region in REGIONS if (path := options.text(region))}
    regions, exact = {}, False
    for region, path in paths.items():
        given = {name: options.text(f"{region}_{name}", options.text(name)) for name in LIST_OPTIONS}
        own = Options(options.spec, {name: value for name, value in given.items() if value})
        stated = own.choice("exact", ("yes", "no"), "yes" if region == "top" else "no") == "yes"
        if region == "top":
            exact = stated
        elif stated and options.text("beam_exact"):
            raise BabelscopeError(
                f"{options.spec}: a list of beam search is not exact; name it top= if it is"
            )
        regions[region] = _read_region(path, own)
    return RegionLists(options.spec, regions, exact=exact)


def _read_region(path: str, options: Options) -> Hypotheses:
    form = options.choice("format", ("auto", *FORMATS), "auto")
    scores = options.choice("scores", ("", "total"), "")
    per_file = options.integer("per_file", 0, least=0)
    readable = _detokenizer(options.text("detokenize"))
    numbered: dict[int, list[Scored]] = {}
    named: dict[str, list[Scored]] = {}
    came_from: dict[str | int, ListFile] = {}
    last_begins = 0
    for file in list_files(path):
        begins = _number_of(file) * per_file if per_file else 0
        last_begins = max(last_begins, begins)
        for entry in read_entries(file, form, scores):
            number = whole_number(entry.identity)
            if number is not None and per_file and number >= per_file:
                raise BabelscopeError(
                    f"{entry.place} has id {number}, but with per_file={per_file} ids end at {per_file - 1} in "
                    "each file"
                )
            key = entry.identity if number is None else begins + number
            if came_from.setdefault(key, file) is not file:
                raise BabelscopeError(
                    f"{entry.place} has a list of sentence {key}, and so has {came_from[key].place}; say "
                    "per_file=N if ids count from 0 in each file of N sentences"
                )
            own = numbered.setdefault(key, []) if isinstance(key, int) else named.setdefault(key, [])
            own.append(_hypothesis(entry, readable))
    if not came_from:
        raise BabelscopeError(f"{path} has no lists")
    if numbered and named:
        raise BabelscopeError(
            f"{path} has ids that are numbers ({min(numbered)}) and others ({shorten(min(named))}): numbers count "
            "the sentences from 0, others are those of the items, and all must be of one kind"
        )
    return Hypotheses(
        path,
        {number: tuple(numbered[number]) for number in sorted(numbered)},
        {name: tuple(own) for name, own in named.items()},
        last_begins,
    )


def _number_of(file: ListFile) -> int:
    found = _FILE_NUMBER.search(file.name)
    if found is None:
        raise BabelscopeError(
            f"{file.place}: with per_file=, the name of a file ends in its number, counted from 0, as in out.3"
        )
    return int(found[1])


def _hypothesis(entry: Entry, readable: Callable[[str], str]) -> Scored:
    """One token, the text as it stood there, has the log-probability of the whole."""
    text = entry.text.removesuffix(_END).rstrip() if entry.text.endswith((f" {_END}", _END)) else entry.text
    return Scored(readable(text) if text else "", (text,), (entry.logprob,), ("whole",))


def _detokenizer(language: str) -> Callable[[str], str]:
    """Moses's rules for joining tokens, with `&quot;` and the like turned back; no language: as it stands."""
    if not language:
        return lambda text: text
    try:
        from sacremoses import MosesDetokenizer
    except ModuleNotFoundError as error:
        raise BabelscopeError(
            f"detokenize={language}: needs sacremoses; install it with: {install_hint('fsmt')}"
        ) from error
    detokenizer = MosesDetokenizer(lang=language)
    return lambda text: html.unescape(str(detokenizer.detokenize(text.split())))
