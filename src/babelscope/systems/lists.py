"""Regions of hypothesis spaces as lists made elsewhere: `lists:?top=FILE&beam=FILE`, sentence by sentence."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from babelscope.core.answers import Fingerprint, Regions, Scored
from babelscope.core.specs import Options
from babelscope.systems.list_files import FORMATS, Entry, ListFile, list_files, read_entries
from babelscope.systems.list_specs import REGIONS
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.extras import install_hint
from babelscope.util.text import shorten, whole_number

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
