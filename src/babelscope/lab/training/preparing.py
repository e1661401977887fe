"""Prepares parallel text for training: filters that count and show what they remove, as a stream."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import random
import re
import statistics
import tempfile
import unicodedata
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from babelscope.core.tokenizers import AT_SPACES, SCRIPTS, unsplit_script
from babelscope.lab.training.checkpoints import write_json
from babelscope.lab.training.text import find_special_token, save_tokenizer, train_both, train_pieces
from babelscope.language.align import alignment_scorer, longest_sentence
from babelscope.language.fitness import identifier_version, identify, is_known
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_folder, missing_folders, remove_empty, replacing
from babelscope.util.progress import progress
from babelscope.util.seeds import stream
from babelscope.util.text import bounded_lines, open_at, parallel_rows, text_fault
from babelscope.util.version import __version__

_PLAIN = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")
_JOINERS = "\u00ad\u200c\u200d"  # inside words of Persian, Hindi and others
_ALONE = "".join(SCRIPTS.values())
_BEYOND = re.compile("[\U00010000-\U0010ffff]")


def split_words(text: str) -> list[str]:
    """Words and marks of punctuation; each character of a script without spaces is a word."""
    if text.isascii():
        return _PLAIN.findall(text)
    unusual, pattern = _patterns()
    return (pattern if unusual.search(text) or _BEYOND.search(text) else _PLAIN).findall(text)


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What the plain pattern splits wrongly, and the pattern for it.

    To Python, the vowel signs of Hindi and the accents of decomposed text are no part of a word.
    """
    marks = _as_ranges([n for n in range(0x300, 0x20000) if unicodedata.category(chr(n))[0] == "M"])
    letters = rf"(?:(?![{_ALONE}])[\w{marks}{_JOINERS}])+"
    pattern = re.compile(rf"[{_ALONE}]|{letters}(?:[-'’]{letters})*|[^\w\s]")
    # Of 16 bits alone, for which `re` has a table.
    ranges = re.findall(r".-.|.", f"{_ALONE}{marks}", flags=re.DOTALL)
    near = "".join(each for each in ranges if max(each) <= "\uffff")
    return re.compile(rf"[{near}{_JOINERS}]"), pattern


def _as_ranges(numbers: Sequence[int]) -> str:
    """Code points as part of a character class."""
    found = []
    for _, run in itertools.groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        points = [number for _, number in run]
        found.append(f"{chr(points[0])}-{chr(points[-1])}")
    return "".join(found)


def usual_ratio(pairs: Sequence[tuple[str, str]], counts: Sequence[tuple[int, int]]) -> float:
    """Target words per source word, in the median of some pairs; 1 where both sides have spaces between words.

    Characters of one language are no words of another, so that their numbers are not alike in any good pair.
    """
    sides = ([side[place] for side in pairs] for place in (0, 1))
    if not any(unsplit_script(AT_SPACES, texts) for texts in sides):
        return 1.0
    return statistics.median([other / one for one, other in counts if one and other] or [1.0])


# --- The filters that parallel text for training goes through, and what they counted -------------------------------


Filter = Literal["unusable", "length", "ratio", "duplicate", "language", "alignment", "sample"]
FILTERS: tuple[Filter, ...] = ("unusable", "length", "ratio", "duplicate", "language", "alignment", "sample")
"""In the order in which a pair meets them: the first that refuses a pair is the one that removes it."""
Unit = Literal["words", "characters"]
Key = Literal["pair", "source", "target"]

_EXAMPLES = 3  # kept of each filter
# Pairs from which the usual ratio of lengths is taken, and their characters, so that memory is bounded.
_LOOKED_AT, _CHARACTERS = 10_000, 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What is filtered, and how."""

    languages: str
    """Such as en-de."""
    ratio: float = 1.5
    """Most words of the longer side for each of the shorter, beyond what is usual between these languages."""
    longest: int = 250
    """Most words on a side."""
    alignment: float = -6.0
    """Least mean log-probability of a pair's best alignment, in nats per word, over both directions."""
    align_pairs: int = 100_000
    """Pairs that alignments are learned from, drawn evenly from those that passed the filters before."""
    duplicates: Key = "pair"
    """What may occur only once."""
    unit: Unit = "words"
    """What lengths count and alignments link."""
    sample: int = 0
    """Pairs drawn at the end; 0 for all."""
    skip: tuple[Filter, ...] = ()
    """Filters left out, for an ablation."""
    vocabulary: int = 0
    """Pieces of a vocabulary to make of the result; 0 for none."""
    separate: bool = False
    """A vocabulary a language, instead of one for both."""
    seed: int = 1

    def __post_init__(self) -> None:
        source, _, target = self.languages.partition("-")
        if not source or not target or not self.languages.replace("-", "").isalnum():
            raise BabelscopeError(f"languages are {self.languages!r}; they must be two codes such as en-de")
        if unknown := [name for name in self.skip if name not in FILTERS or name == "unusable"]:
            raise BabelscopeError(f"{unknown[0]!r} cannot be skipped; there are {', '.join(FILTERS[1:])}")
        if self.ratio < 1:
            raise BabelscopeError(f"ratio is {self.ratio:g}; it must be at least 1")
        for code in (source, target):
            if "language" not in self.skip and not is_known(code):
                raise BabelscopeError(
                    f"{identifier_version()} does not know the language {code!r}: --set skip=language"
                )

    @property
    def codes(self) -> tuple[str, str]:
        source, _, target = self.languages.partition("-")
        return source, target

    @property
    def files(self) -> tuple[str, str]:
        """Names of the filtered text."""
        source, target = self.codes if len(set(self.codes)) == 2 else ("source", "target")
        return f"train.{source}", f"train.{target}"

    def words(self, text: str) -> list[str]:
        return split_words(text) if self.unit == "words" else list(text.replace(" ", ""))


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence pair with the number of its line, from 1; spaces are single ones."""

    line: int
    source: str
    target: str


@dataclass(slots=True)
class Count:
    """What a filter did."""

    entered: int = 0
    removed: int = 0
    undecided: int = 0
    """Kept because the filter could not tell."""
    examples: list[dict[str, Any]] = field(default_factory=list)


class Seen:
    """A set of 64-bit digests in one array: 12 to 24 bytes per member, half as much again while it grows."""

    def __init__(self) -> None:
        self._table = array("Q", bytes(8 * 1024))
        self._count = 0

    def add(self, text: str) -> bool:
        """Whether the text is new; of a million texts, one in 37 million is taken for another by mistake."""
        digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") or 1
        if 3 * self._count > 2 * len(self._table):
            old, self._table = self._table, array("Q", bytes(16 * len(self._table)))
            for each in old:
                if each:
                    self._put(each)
        new = self._put(digest)
        self._count += new
        return new

    def _put(self, digest: int) -> bool:
        table, last = self._table, len(self._table) - 1
        place = digest & last
        while held := table[place]:
            if held == digest:
                return False
            place = (place + 1) & last
        table[place] = digest
        return True

    @property
    def bytes(self) -> int:
        return 8 * len(self._table)


class Tally:
    """Counts what each filter removes, keeps some examples, and writes everything removed to a file."""

    def __init__(self, plan: Preparation, removed: IO[bytes]) -> None:
        self.counts = {name: Count() for name in FILTERS if name not in plan.skip}
        self._removed = removed
        self._draw = random.Random(plan.seed)
        self.usual = 1.0
        """Target words per source word that are usual."""

    def remove(self, name: Filter, pair: Pair, why: str) -> None:
        count = self.counts[name]
        count.removed += 1
        row = {"line": pair.line, "filter": name, "why": why, "source": pair.source, "target": pair.target}
        self._removed.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        place = len(count.examples) if count.removed <= _EXAMPLES else self._draw.randrange(count.removed)
        if place < _EXAMPLES:  # a reservoir: each removed pair is as likely to be an example as any other
            count.examples[place : place + 1] = [row]


def filter_pairs(
    pairs: Iterable[tuple[Pair, str]], plan: Preparation, tally: Tally, seen: Seen
) -> Iterator[Pair]:
    """The pairs that pass the filters that need one look at a pair; each comes with what is wrong with its bytes."""
    pairs = iter(pairs)
    first = _look_at(pairs)
    texts = [(pair.source, pair.target) for pair, broken in first if not broken]
    counts = [(len(plan.words(one)), len(plan.words(other))) for one, other in texts]
    tally.usual = usual = usual_ratio(texts, counts)
    checks = [(name, check) for name, check in _checks(plan, tally, seen, usual) if name not in plan.skip]
    for pair, broken in itertools.chain(first, pairs):
        tally.counts["unusable"].entered += 1
        if why := broken or _unusable(pair):
            tally.remove("unusable", pair, why)
            continue
        for name, check in checks:
            tally.counts[name].entered += 1
            if why := check(pair):
                tally.remove(name, pair, why)
                break
        else:
            yield pair


def _look_at(pairs: Iterator[tuple[Pair, str]]) -> list[tuple[Pair, str]]:
    """The first pairs, which are held in memory."""
    first: list[tuple[Pair, str]] = []
    left = _CHARACTERS
    for each in itertools.islice(pairs, _LOOKED_AT):
        first.append(each)
        left -= len(each[0].source) + len(each[0].target)
        if left < 0:
            break
    return first


def _checks(
    plan: Preparation, tally: Tally, seen: Seen, usual: float
) -> list[tuple[Filter, Callable[[Pair], str]]]:
    """Functions that say why a pair is removed, "" if it is not."""
    longest = plan.longest if "alignment" in plan.skip else min(plan.longest, longest_sentence())

    @functools.lru_cache(maxsize=1)  # two filters ask, one after the other
    def lengths(pair: Pair) -> tuple[int, int]:
        return len(plan.words(pair.source)), len(plan.words(pair.target))

    def too_long(pair: Pair) -> str:
        most = max(lengths(pair))
        return f"{most} {plan.unit}" if most > longest else ""

    def uneven(pair: Pair) -> str:
        one, other = lengths(pair)
        if max(one * usual, other) <= plan.ratio * min(one * usual, other):
            return ""
        return f"{one} {plan.unit} to {other}" + (f", usual are 1 to {usual:.2f}" if usual != 1 else "")

    def repeated(pair: Pair) -> str:
        keys = {"pair": f"{pair.source}\t{pair.target}", "source": pair.source, "target": pair.target}
        return "" if seen.add(keys[plan.duplicates]) else f"the {plan.duplicates} was there before"

    def elsewhere(pair: Pair) -> str:
        unknown = False
        for side, text, code in zip(
            ("source", "target"), (pair.source, pair.target), plan.codes, strict=True
        ):
            found = identify(text, code)
            if found.verdict == "no":
                return f"the {side} is in {found.language}, not {code}"
            unknown |= found.verdict == "unknown"
        tally.counts["language"].undecided += unknown
        return ""

    return [("length", too_long), ("ratio", uneven), ("duplicate", repeated), ("language", elsewhere)]


def _unusable(pair: Pair) -> str:
    """Why no model can be trained on a pair."""
    for side, text in (("source", pair.source), ("target", pair.target)):
        if not text:
            return f"the {side} is empty"
        if found := find_special_token(text):
            return f"the {side} has the special token {found}"
    return ""


COUNTS, REMOVED = "counts.json", "removed.jsonl"
_MOST_FOR_PIECES = 500_000  # pairs that a vocabulary is made of, which are held in memory
_CONTROLS = 2_000  # pairs that are scored with another pair's target, too
_MUCH = 1 / 3  # of the pairs that entered a filter: more than is usually noise


def prepare(source: Path, target: Path, out: Path, plan: Preparation) -> dict[str, Any]:
    """Filter two line-parallel files (gzipped if they end in .gz) into the folder `out`; returns the counts.

    Memory does not grow with the text but for `Seen`. Between filters, pairs are in unnamed files in `out`.
    """
    if out.is_dir() and any(out.iterdir()):
        raise BabelscopeError(f"{out} is not empty; prepared text needs a folder of its own")
    check_folder(out)
    made = missing_folders(out / "file")
    out.mkdir(parents=True, exist_ok=True)
    try:
        with contextlib.ExitStack() as stack:
            tally = Tally(plan, stack.enter_context(replacing(out / REMOVED)))
            digests = hashlib.sha256(), hashlib.sha256()
            seen = Seen()
            with _Spool(out) as first, _Spool(out) as second:
                for pair in filter_pairs(_read(source, target, digests), plan, tally, seen):
                    first.write(pair)
                learned = Learned()
                if "alignment" in tally.counts:
                    learned = _move_aligned(first, second, plan, tally)
                kept = second if "alignment" in tally.counts else first
                _warn_of_much(tally, learned)
                finished = _write(kept, out, plan, tally)
                report = {
                    "pairs": tally.counts["unusable"].entered,
                    "kept": finished,
                    "filters": {name: dataclasses.asdict(count) for name, count in tally.counts.items()},
                    "alignment": dataclasses.asdict(learned),
                    "usual_ratio": tally.usual,
                    "settings": {**dataclasses.asdict(plan), "skip": list(plan.skip)},
                    "source_sha256": digests[0].hexdigest(),
                    "target_sha256": digests[1].hexdigest(),
                    "duplicate_bytes": seen.bytes,
                    "versions": {"babelscope": __version__, "identifier": identifier_version()},
                }
        write_json(out / COUNTS, report)  # marks the text as complete
    finally:
        remove_empty([out, *made])
    if plan.vocabulary:
        _make_vocabulary(out, plan, finished)
    return report


def _warn_of_much(tally: Tally, learned: Learned) -> None:
    """Warn of filters that removed more than noise usually is, and of an aligner that cannot tell noise."""
    for name, count in tally.counts.items():
        share = count.removed / max(1, count.entered)
        if name == "alignment" and learned.controls and max(0.5, 2 * share) > learned.controls_share:
            warnings.warn(
                f"alignment removed {share:.0%} of the pairs, and would remove {learned.controls_share:.0%} of pairs "
                f"with another pair's target: it tells them apart badly (it learned from {min(learned.pairs):,} "
                "pairs); choose another threshold with --set alignment=N, or leave it out with --set skip=alignment",
                stacklevel=3,
            )
        elif name != "sample" and _MUCH < share < 1:  # after a whole, nothing is left, which is an error
            warnings.warn(
                f"{name} removed {share:.0%} of the pairs, more than is usually noise; read some in {REMOVED}",
                stacklevel=3,
            )


def _read(source: Path, target: Path, digests: Sequence[Any]) -> Iterator[tuple[Pair, str]]:
    """Each pair, and what is wrong with its bytes ("" if nothing)."""

    def column(path: Path, digest: Any) -> Iterator[tuple[str, str]]:
        with open_at(path) as file:
            for number, raw in enumerate(bounded_lines(file, path), 1):
                digest.update(raw)
                own = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                try:
                    text = own.rstrip(b"\r\n").decode("utf-8")
                except UnicodeDecodeError:
                    yield raw.decode("utf-8", "replace").strip(), "not UTF-8"
                    continue
                yield " ".join(text.split()), text_fault(text) or ""

    columns = [
        (str(path), column(path, digest)) for path, digest in zip((source, target), digests, strict=True)
    ]
    with progress("filtering", None) as advance:
        for line, ((left, broken), (right, also)) in parallel_rows(columns, 1):
            advance(1)
            yield Pair(line, left, right), broken or also


class _Spool:
    """Pairs in an unnamed file, which a kill leaves nothing of."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self.count = 0

    def __enter__(self) -> _Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, pair: Pair) -> None:
        self._file.write(f"{pair.line}\t{pair.source}\t{pair.target}\n".encode())
        self.count += 1

    def __iter__(self) -> Iterator[Pair]:
        self._file.seek(0)
        for raw in self._file:
            line, source, target = raw.decode()[:-1].split("\t")
            yield Pair(int(line), source, target)


def choose(count: int, wanted: int, seed: int, name: str) -> Iterator[bool]:
    """For each of `count` things in turn, whether it is among the `wanted`; all choices are equally likely."""
    draw = stream(seed, name)
    left = min(wanted, count)
    for place in range(count):
        taken = float(draw.random()) * (count - place) < left
        left -= taken
        yield taken


@dataclass(slots=True)
class Learned:
    """What alignments were learned from, and how well they tell a translation from another pair's target."""

    pairs: tuple[int, int] = (0, 0)
    """In each half."""
    controls: int = 0
    """Sources scored with the target of another pair."""
    controls_removed: int = 0
    """How many of these are below the threshold, as all should be."""

    @property
    def controls_share(self) -> float:
        return self.controls_removed / self.controls if self.controls else 1.0


def _move_aligned(spool: _Spool, kept: _Spool, plan: Preparation, tally: Tally) -> Learned:
    """Move the pairs that are aligned well enough to another spool.

    Pairs at even places are scored by a model of those at odd places and the other way round: a model gives the
    pairs that it has learned from, wrong ones too, a much better score than others.
    """
    count = tally.counts["alignment"]
    taken = choose(spool.count, plan.align_pairs, plan.seed, "prepare/alignment")
    halves: tuple[list[Any], list[Any]] = ([], [])
    for place, (pair, use) in enumerate(zip(spool, taken, strict=True)):
        if use:
            halves[place % 2].append((plan.words(pair.source), plan.words(pair.target)))
    learned = Learned((len(halves[0]), len(halves[1])))
    scorers = alignment_scorer(halves[1]), alignment_scorer(halves[0])
    controls = choose(spool.count, _CONTROLS, plan.seed, "prepare/controls")
    before: list[list[str]] = [[], []]
    with progress("scoring alignments", spool.count) as advance:
        for place, (pair, control) in enumerate(zip(spool, controls, strict=True)):
            advance(1)
            count.entered += 1
            source, target = plan.words(pair.source), plan.words(pair.target)
            score, other = scorers[place % 2], before[place % 2]
            found = score(source, target)
            count.undecided += found is None
            if found is not None and found < plan.alignment:
                tally.remove("alignment", pair, f"mean {found:.2f}")
            else:
                kept.write(pair)
            if control and other and other != target:
                wrong = score(source, other)
                learned.controls += 1
                learned.controls_removed += wrong is not None and wrong < plan.alignment
            before[place % 2] = target
    return learned


def _write(spool: _Spool, out: Path, plan: Preparation, tally: Tally) -> int:
    """Write the pairs that are left, or a sample of them; returns how many."""
    written = 0
    sampled = bool(plan.sample) and "sample" in tally.counts
    taken = choose(spool.count, plan.sample if sampled else spool.count, plan.seed, "prepare/sample")
    if not tally.counts["unusable"].entered:
        raise BabelscopeError("the files are empty")
    if not spool.count:
        raise BabelscopeError(
            "no pair is left: "
            + ", ".join(
                f"{name} removed {count.removed:,}" for name, count in tally.counts.items() if count.removed
            )
            + "; are the files parallel, and --languages the right way round?"
        )
    with (
        replacing(out / plan.files[0]) as left,
        replacing(out / plan.files[1]) as right,
    ):
        for pair, use in zip(spool, taken, strict=True):
            if "sample" in tally.counts:
                tally.counts["sample"].entered += sampled
            if not use:
                tally.remove("sample", pair, "not drawn")
                continue
            left.write(pair.source.encode() + b"\n")
            right.write(pair.target.encode() + b"\n")
            written += 1
    return written


def _make_vocabulary(out: Path, plan: Preparation, count: int) -> None:
    """A tokenizer for `lab train --tokenizer`, from at most `_MOST_FOR_PIECES` pairs."""

    def texts(name: str) -> Iterator[str]:
        taken = choose(count, _MOST_FOR_PIECES, plan.seed, "prepare/vocabulary")
        with open_at(out / name) as file:
            for raw, use in zip(file, taken, strict=True):
                if use:
                    yield raw.decode()[:-1]

    source, target = plan.files
    try:
        if plan.separate:
            pieces = train_both(lambda: texts(source), lambda: texts(target), plan.vocabulary)
        else:
            both = (text for name in (source, target) for text in texts(name))
            pieces = train_pieces(both, plan.vocabulary)
    except BabelscopeError as error:
        raise BabelscopeError(
            f"{error}; the text is finished in {out}, and `lab train --vocabulary` can make another of it"
        ) from None
    folder = out / "tokenizer"
    folder.mkdir()
    save_tokenizer(pieces, folder, languages=plan.languages)
