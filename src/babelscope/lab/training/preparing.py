"""Prepares parallel text for training: filters that count and show what they remove, as a stream."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import hashlib
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.lab.training.checkpoints import write_json
from babelscope.lab.training.pair_filters import Pair, Preparation, Seen, Tally, filter_pairs
from babelscope.lab.training.tokenizer import save_tokenizer, train_both, train_pieces
from babelscope.language.align import alignment_scorer
from babelscope.language.fitness import identifier_version
from babelscope.util.errors import BabelscopeError
from babelscope.util.file_ranges import open_at, parallel_rows
from babelscope.util.files import check_folder, replacing
from babelscope.util.locks import missing_folders, remove_empty
from babelscope.util.progress import progress
from babelscope.util.seeds import stream
from babelscope.util.text import bounded_lines, text_fault
from babelscope.util.version import __version__

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
                "pairs); choose another threshold with --alignment, or leave it out with --skip alignment",
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
