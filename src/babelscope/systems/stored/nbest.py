"""Regions of hypothesis spaces as lists made elsewhere: `lists:?top=FILE&beam=FILE&beam20=FILE`, by sentence."""

from __future__ import annotations

import html
import io
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import IO

from babelscope.core.registry import Options
from babelscope.core.system import Fingerprint, Regions, Scored
from babelscope.systems.stored.formats import Given, ctranslate2, fairseq, json_translations, moses, vllm
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, at, explain_missing
from babelscope.util.files import open_regular
from babelscope.util.text import (
    LONGEST_RECORD,
    bounded_lines,
    json_lines,
    open_to_read,
    parse_lines,
    shorten,
    whole_number,
)

LARGEST_LISTS = 1 << 28
"""Bytes of all lists together, unpacked: a zip of a few kilobytes can hold many gigabytes."""
MOST_FILES = 100_000
"""Files of a folder or zip."""
REGIONS = ("top", "beam")
"""What a list can be of: the most probable hypotheses of the whole space, or those that beam search found."""
# ValueError: a name that is not the UTF-8 that it says it is. NotImplementedError is a RuntimeError.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OSError, ValueError)
_BEAM = re.compile(r"beam([1-9][0-9]{0,3})")
"""An option for the lists of a beam of this size."""
_END = "</s>"
_FILE_NUMBER = re.compile(r"([0-9]{1,9})(?:\.[A-Za-z]+)?$")
# Formats of lines, by what is known of their text; formats of JSON lines, by fields that only they have.
_TEXT: Mapping[str, tuple[Callable[..., Iterator[Given]], re.Pattern[bytes]]] = {
    "moses": (partial(moses, features=False), re.compile(rb"\A[0-9]{1,18} *\|\|\|")),
    "fairseq": (fairseq, re.compile(rb"(?m)^H-[0-9]+\t")),
}
_JSON: Mapping[str, tuple[Callable[..., Iterator[Given]], frozenset[str]]] = {
    "jsonl": (json_translations, frozenset({"id", "text"})),
    "vllm": (vllm, frozenset({"outputs"})),
    "ctranslate2": (ctranslate2, frozenset({"hypotheses", "scores"})),
}
FORMATS = ("moses", "jsonl", "fairseq", "vllm", "ctranslate2")


@dataclass(frozen=True, slots=True)
class ListFile:
    """A file with lists: its name (in its folder or zip), where it lies, and its bytes."""

    name: str
    place: str
    data: bytes


def list_files(path: str) -> Iterator[ListFile]:
    """The file, or those of a folder or zip in the order of their names; hidden ones are passed over."""
    if os.path.isdir(path):
        names = sorted(entry.name for entry in os.scandir(path) if not entry.name.startswith("."))
        left = LARGEST_LISTS
        for name in _few(names, path):
            place = os.path.join(path, name)
            with open_regular(place) as raw:
                data = _bounded(io.BufferedReader(raw), place, left)
            left -= len(data)
            yield ListFile(name, place, data)
        return
    with open_to_read(path) as file:
        packed = file.seekable() and zipfile.is_zipfile(file)
        if file.seekable():
            file.seek(0)
        if packed:
            yield from _of_zip(file, path)
        else:
            yield ListFile(PurePosixPath(path).name, path, _bounded(file, path, LARGEST_LISTS))


def _of_zip(file: IO[bytes], path: str) -> list[ListFile]:
    """Its members are read where they lie: none is unpacked, so that no name of theirs is a path here."""
    found: list[ListFile] = []
    left = LARGEST_LISTS
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
                    data = _bounded(member, place, left)
                left -= len(data)
                found.append(ListFile(PurePosixPath(name).name, place, data))
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


def _bounded(file: IO[bytes], place: str, most: int) -> bytes:
    return b"".join(bounded_lines(file, place, longest=LONGEST_RECORD, most=most))


def _read(file: ListFile, form: str, *, totals: bool) -> Iterator[Given]:
    """The hypotheses of a file, in its order; `totals` says that CTranslate2's scores are not divided by length."""
    if not file.data:
        return iter(())
    form = _recognized(file) if form == "auto" else form
    if form == "ctranslate2" and not totals:
        raise BabelscopeError(
            f"{file.place}: CTranslate2 divides its scores by the length unless it is given length_penalty=0; set "
            "scores=total if it was"
        )
    if form in _JSON:
        return _JSON[form][0](json_lines(io.BytesIO(file.data), file.place))
    return _TEXT[form][0](parse_lines(file.data, file.place, keep_separators=True), file.place)


def _recognized(file: ListFile) -> str:
    """The one format that the file fits; none is an error, and so is more than one."""
    if file.data.startswith(b"{"):
        _, record = next(json_lines(io.BytesIO(file.data), file.place))
        fits = [name for name, (_, fields) in _JSON.items() if fields <= record.keys()]
    else:
        fits = [name for name, (_, known) in _TEXT.items() if known.search(file.data)][:1]
    if len(fits) != 1:
        what = f"could be {' or '.join(fits)}" if fits else "is in no format of lists that is known"
        shown = shorten(file.data.partition(b"\n")[0].decode("utf-8", "replace"))
        raise BabelscopeError(
            f"{at(file.place, 1)} {what}: {shown}; set format= to one of {', '.join(FORMATS)}"
        )
    return fits[0]


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The lists of one region."""

    path: str
    lists: Mapping[int | str, Sequence[Scored]]
    """By the number of the sentence, from 0, or by the id of its item."""
    last_begins: int
    """Number of the first sentence of the last file, which may have sentences beyond the last one as padding."""

    def of(self, ids: Sequence[str]) -> list[Sequence[Scored] | None]:
        """The list of each item; an error if a list is of none."""
        named = {key for key in self.lists if isinstance(key, str)}
        if strange := sorted(named - set(ids)):
            raise BabelscopeError(f"{self.path} has a list of {shorten(strange[0])}, but no item has that id")
        if named:
            return [self.lists.get(name) for name in ids]
        last = max(self.lists)
        if int(last) >= len(ids) and not 0 < self.last_begins < len(ids):
            raise BabelscopeError(
                f"{self.path} has a list of sentence {last}, counted from 0, but there are {len(ids)} sentences; "
                "see to per_file=, and that it is the same test set"
            )
        return [self.lists.get(number) for number in range(len(ids))]


class RegionLists:
    """Stored lists of regions; nothing else can be asked of them."""

    stored = True
    asked_as_a_whole = True  # a list is found by the place of its sentence

    def __init__(self, name: str, regions: Mapping[str, Hypotheses], *, exact: bool) -> None:
        self.name = name
        self._regions, self._exact = regions, exact
        content = {
            region: [
                [str(key), *([each.text, repr(each.total)] for each in own)] for key, own in own.lists.items()
            ]
            for region, own in regions.items()
        }
        # By content, not by name: a moved or renamed file gives the same answers.
        self.fingerprint = Fingerprint("lists", digest_json(content), settings={"exact": exact})

    def regions(self, ids: Sequence[str], *, k: int) -> list[Regions]:
        """The lists of each item, at most `k` a region; the most probable ones, though beam's in its own order."""
        found = {region: own.of(ids) for region, own in self._regions.items()}
        nothing: list[Sequence[Scored] | None] = [None] * len(ids)
        tops, beams = found.pop("top", nothing), found.pop("beam", nothing)
        sizes = [int(region.removeprefix("beam")) for region in found]
        others = zip(*found.values(), strict=True) if found else [()] * len(ids)
        return [
            Regions(
                top=None if top is None else tuple(sorted(top, key=lambda each: -each.total)[:k]),
                exact=self._exact and top is not None,
                beam=None if beam is None else tuple(beam),
                beams={size: tuple(each) for size, each in zip(sizes, own, strict=True) if all(own)},
            )
            for top, beam, own in zip(tops, beams, others, strict=True)
        ]


def open_regions(options: Options) -> RegionLists:
    """`lists:?top=FILE&beam=FILE&beam20=FILE&per_file=N&detokenize=LANG&format=FORMAT&scores=total&exact=yes|no`."""
    sizes = sorted(int(found[1]) for name in options.names if (found := _BEAM.fullmatch(name)))
    names = (*REGIONS, *(f"beam{size}" for size in sizes))
    regions = {region: _read_region(path, options) for region in names if (path := options.text(region))}
    exact = "top" in regions and options.choice("exact", ("yes", "no"), "yes") == "yes"
    return RegionLists(options.spec, regions, exact=exact)


def _read_region(path: str, options: Options) -> Hypotheses:
    form = options.choice("format", ("auto", *FORMATS), "auto")
    totals = options.choice("scores", ("", "total"), "") == "total"
    per_file = options.integer("per_file", 0, least=0)
    readable = _detokenizer(options.text("detokenize"))
    found: dict[int | str, list[Scored]] = {}
    came_from: dict[int | str, str] = {}
    last_begins = 0
    for file in list_files(path):
        begins = _number_of(file) * per_file if per_file else 0
        last_begins = max(last_begins, begins)
        for entry in _read(file, form, totals=totals):
            number = whole_number(entry.sentence)
            if number is not None and per_file and number >= per_file:
                raise BabelscopeError(
                    f"{entry.place} has id {number}, but with per_file={per_file} ids end at {per_file - 1} in "
                    "each file"
                )
            key = entry.sentence if number is None else begins + number
            if came_from.setdefault(key, file.place) != file.place:
                raise BabelscopeError(
                    f"{entry.place} has a list of sentence {key}, and so has {came_from[key]}; set per_file=N if "
                    "ids count from 0 in each file of N sentences"
                )
            found.setdefault(key, []).append(_hypothesis(entry, readable))
    if not found:
        raise BabelscopeError(f"{path} has no lists")
    numbered = sorted(key for key in found if isinstance(key, int))
    named = [key for key in found if isinstance(key, str)]
    if numbered and named:
        raise BabelscopeError(
            f"{path} has ids that are numbers ({numbered[0]}) and others ({shorten(min(named))}): numbers count "
            "the sentences from 0, others are those of the items, and all must be of one kind"
        )
    return Hypotheses(path, {key: found[key] for key in numbered or named}, last_begins)


def _number_of(file: ListFile) -> int:
    found = _FILE_NUMBER.search(file.name)
    if found is None:
        raise BabelscopeError(
            f"{file.place}: with per_file=, the name of a file ends in its number, counted from 0, as in out.3"
        )
    return int(found[1])


def _hypothesis(entry: Given, readable: Callable[[str], str]) -> Scored:
    """One token, the text as it stood there, has the log-probability of the whole."""
    text = entry.translation
    text = text.removesuffix(_END).rstrip() if text.endswith(_END) else text
    found = replace(entry, translation=text).scored()
    if math.isinf(found.total):
        raise BabelscopeError(
            f"{entry.place}: {entry.score} is no log-probability of a hypothesis that was found"
        )
    return replace(found, text=readable(text) if text else "")


def _detokenizer(language: str) -> Callable[[str], str]:
    """Moses's rules for joining tokens, with `&quot;` and the like turned back; no language: as it stands."""
    if not language:
        return lambda text: text
    with explain_missing(f"detokenize={language}:", "fsmt"):
        from sacremoses import MosesDetokenizer
    detokenizer = MosesDetokenizer(lang=language)
    return lambda text: html.unescape(str(detokenizer.detokenize(text.split())))
