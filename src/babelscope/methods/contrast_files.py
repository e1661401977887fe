"""Contrastive evaluation from files of scores, with no system: MuCoW's and DistilLingEval's layouts."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from babelscope.digests import digest_json
from babelscope.errors import BabelscopeError, at
from babelscope.methods.base import Setup, config_of, set_up
from babelscope.methods.contrast import METHOD, ContrastSettings, with_comparisons
from babelscope.methods.contrast_figures import WORTH, Scores, judged
from babelscope.results import Record, Result, Row
from babelscope.systems.base import Fingerprint
from babelscope.testsets import readers
from babelscope.testsets.items import MinimalPair
from babelscope.testsets.loading import load
from babelscope.testsets.sets import parse_json
from babelscope.text import read_bytes, read_lines, shorten

Direction = Literal["higher", "lower"]
Layout = Literal["auto", "blocks", "interleaved", "columns"]
"""blocks: the scores of all correct targets, then those of all contrastive ones (DistilLingEval).
interleaved: item by item, the correct one first (MuCoW). columns: a line an item, tabs between the correct
one, the contrastive ones and, if it is known, the 1-best. auto: columns if there are tabs, else the format's."""

# Below this share of what chance gives, and this unlikely by chance, a direction is called into question.
_FAR_BELOW = 0.8
_UNLIKELY = 0.001


@dataclass(frozen=True, slots=True)
class Tests:
    """What a score file is parallel to: the fields of each item, empty texts included."""

    name: str
    items: tuple[Mapping[str, Any], ...]
    default: Literal["blocks", "interleaved"]
    skipped: int = 0
    """Items left out, which have no scores either."""

    def asked(self) -> Tests:
        """Without the items that no system can be asked, such as those with an empty source."""
        kept = tuple(item for item in self.items if _has_texts(item))
        return Tests(self.name, kept, self.default, self.skipped + len(self.items) - len(kept))


@dataclass(slots=True)
class ScoreFile:
    """A file of scores in a system's place."""

    name: str
    fingerprint: Fingerprint


def contrast_scores(
    tests: str,
    scores: str | Path | Sequence[str | Path],
    *,
    direction: Direction = "higher",
    layout: Layout = "auto",
    seed: int = 0,
    seed_groups: Sequence[str] = (),
    data_dir: str | Path | None = None,
    **settings: Any,
) -> Result:
    """Contrastive evaluation of stored scores, one file a system; `direction` says which scores are better."""
    paths = [scores] if isinstance(scores, str | Path) else scores
    setup = set_up(METHOD, settings)
    wanted = read_tests(tests, data_dir)
    rows: list[Row] = []
    records: list[Record] = []
    files: dict[str, ScoreFile] = {}
    for path in paths:
        if str(path) in files:
            raise BabelscopeError(f"the score file {path} is given twice")
        matched, found = read_scores(path, wanted, direction=direction, layout=layout)
        judged_here = _records(matched, found, setup, str(path))
        _question_direction(judged_here, path, direction)
        rows += _rows(judged_here, matched, setup, str(path), seed)
        records += judged_here
        digest = digest_json([record["scores"] for record in judged_here])
        files[str(path)] = ScoreFile(str(path), Fingerprint("scores", model=digest))
    config = config_of([setup], files.values(), [], seed=seed, chunk=1)
    config["tests"] = [{"kind": "scored", "digest": digest_json([dict(item) for item in wanted.items])}]
    own = cast(ContrastSettings, setup.settings)
    return with_comparisons(Result(config, rows, records), own, seed=seed, seed_groups=seed_groups)


def read_tests(spec: str, data_dir: str | Path | None = None) -> Tests:
    """The items of a test set, with those of empty text where its format counts them in score files."""
    name, _, path = spec.partition(":")
    # The readers leave out what no system can be asked; a score file has a line for it all the same.
    if name == "distil-lingeval" and path:
        items = tuple(_distil_items(Path(path)))
        if not items:
            readers.read_distil_lingeval(path)  # says what is wrong with the folder
        return Tests(Path(path).resolve().name, items, "blocks")
    if name == "mucow-scoring" and path:
        loaded = readers.read_mucow_scoring(path)
        rows = readers.mucow_rows(path, parse_json(read_bytes(path), path))
        return Tests(loaded.name, tuple(fields for _, fields in rows), "interleaved")
    loaded = load(spec, data_dir=data_dir)
    items = tuple(item.as_json() for item in loaded.items_of(MinimalPair, what_for="contrast"))
    blocks = spec.startswith("distil-lingeval/")
    return Tests(loaded.name, items, "blocks" if blocks else "interleaved", sum(loaded.skipped.values()))


def _distil_items(folder: Path) -> Iterator[Mapping[str, Any]]:
    """One set, or those of a folder of sets in the order of their names."""
    if (folder / "src.en").exists():
        folders = [folder]
    else:
        folders = [path for path in sorted(folder.glob("*")) if path.is_dir() and readers.distil_name(path)]
    for each in folders:
        yield from (fields for _, fields in readers.distil_rows(each))


def read_scores(
    path: str | Path, tests: Tests, *, direction: Direction = "higher", layout: Layout = "auto"
) -> tuple[Tests, list[Scores]]:
    """The items a file has scores of, and their scores, higher is better.

    A file may be parallel to all items, or to those that have texts to be scored. Items without a
    contrastive variant have a score, but no choice to make: they are left out, and counted.
    """
    lines = [line.split("\t") for line in read_lines(path)]
    if layout == "auto":
        layout = "columns" if lines and len(lines[0]) > 1 else tests.default
    for candidate in (tests, tests.asked()):
        if _expected_lines(candidate, layout) == len(lines):
            break
    else:
        raise BabelscopeError(_wrong_count(path, len(lines), tests, layout))
    sign = 1.0 if direction == "higher" else -1.0
    numbers = [[_number(cell, at(path, n), sign) for cell in line] for n, line in enumerate(lines, 1)]
    variants = [_variants(item) for item in candidate.items]
    if layout == "columns":
        found = [
            _from_columns(row, count, at(path, n))
            for n, (row, count) in enumerate(zip(numbers, variants, strict=True), 1)
        ]
    else:
        found = _from_lines(path, numbers, variants, layout)
    kept = [(item, scores) for item, scores in zip(candidate.items, found, strict=True) if scores.contrastive]
    skipped = candidate.skipped + len(found) - len(kept)
    return Tests(tests.name, tuple(item for item, _ in kept), tests.default, skipped), [s for _, s in kept]


def _from_lines(
    path: str | Path, numbers: Sequence[Sequence[float]], variants: Sequence[int], layout: str
) -> list[Scores]:
    for n, row in enumerate(numbers, 1):
        if len(row) > 1:
            raise BabelscopeError(f"{at(path, n)} has {len(row)} columns; the layout {layout} has one")
    flat = [row[0] for row in numbers]
    if layout == "blocks":
        correct, rest = iter(flat[: len(variants)]), iter(flat[len(variants) :])
    else:
        correct = rest = iter(flat)
    return [Scores(next(correct), tuple(itertools.islice(rest, count))) for count in variants]


def _variants(item: Mapping[str, Any]) -> int:
    contrastive = item["contrastive"]
    return 1 if isinstance(contrastive, str) else len(contrastive)


def _has_texts(item: Mapping[str, Any]) -> bool:
    contrastive = item["contrastive"]
    texts = [contrastive] if isinstance(contrastive, str) else contrastive
    return bool(texts) and all(text.strip() for text in (item["source"], item["correct"], *texts))


def _expected_lines(tests: Tests, layout: str) -> int:
    items = len(tests.items)
    return items if layout == "columns" else items + sum(_variants(item) for item in tests.items)


def _wrong_count(path: str | Path, found: int, tests: Tests, layout: str) -> str:
    told = [
        f"{_expected_lines(tests, tried)} lines in the layout {tried}"
        for tried in ((layout,) if layout == "columns" else ("blocks", "interleaved", "columns"))
    ]
    kept = tests.asked()
    less = f" ({len(kept.items)} without empty texts)" if len(kept.items) < len(tests.items) else ""
    return f"{path} has {found} lines; {tests.name} has {len(tests.items)} items{less}: {', '.join(told)}"


def _number(text: str, place: str, sign: float) -> float:
    try:
        # To Python, 1_0 is a number too.
        number = math.nan if "_" in text else float(text)
        fault = "is no score" if math.isnan(number) else None
    except ValueError:
        fault = "is not a number"
    if fault:
        raise BabelscopeError(f"{place}: {shorten(text)} {fault}")
    if sign * number == math.inf:
        raise BabelscopeError(f"{place}: {shorten(text)} is better than any score; is the direction right?")
    return sign * number


def _from_columns(row: Sequence[float], variants: int, place: str) -> Scores:
    if len(row) not in (1 + variants, 2 + variants):
        raise BabelscopeError(
            f"{place} has {len(row)} columns; it must have {1 + variants} (correct, contrastive) "
            f"or {2 + variants} (and the 1-best)"
        )
    return Scores(row[0], tuple(row[1 : 1 + variants]), row[-1] if len(row) > 1 + variants else None)


def _records(tests: Tests, found: Sequence[Scores], setup: Setup, system: str) -> list[Record]:
    """Records as a system's would be, without texts and tokens."""
    settings = cast(ContrastSettings, setup.settings)
    return [
        {
            "method": setup.label,
            "system": system,
            "tests": tests.name,
            "item": number,
            **{name: item[name] for name in ("id", "source", "phenomenon", "reference")},
            **judged(_known(scores, settings, system), clipped=settings.discrepancy == "clipped"),
            "extra": {name: value for name, value in item.items() if name not in _OWN},
        }
        for number, (item, scores) in enumerate(zip(tests.items, found, strict=True))
    ]


_OWN = frozenset({"id", "source", "correct", "contrastive", "phenomenon", "reference"})


def _known(scores: Scores, settings: ContrastSettings, path: str) -> Scores:
    if settings.discrepancy == "none":
        return Scores(scores.correct, scores.contrastive)
    if settings.discrepancy != "auto" and scores.best is None:
        raise BabelscopeError(f"{path} has no column for the 1-best, which the discrepancy needs")
    return scores


def _rows(records: list[Record], tests: Tests, setup: Setup, system: str, seed: int) -> list[Row]:
    labels = {"method": setup.label, "system": system, "tests": tests.name}
    return [
        Row(row.name, row.estimate, {**labels, **row.labels}, {**row.counts, "skipped": tests.skipped})
        for row in METHOD.summarise(records, setup.settings, seed)
    ]


def _question_direction(records: Sequence[Record], path: str | Path, direction: Direction) -> None:
    """Warn of a file whose accuracy is far, and not by accident, below what guessing would give."""
    from scipy.stats import binomtest

    if not records:
        return
    # Of one correct and k contrastive variants, chance prefers the correct one once in k + 1 times.
    chance = math.fsum(1 / (1 + len(record["scores"]["contrastive"])) for record in records) / len(records)
    worth = {"correct": 1.0, "tie": WORTH["half"], "wrong": 0.0}
    good = math.fsum(worth[record["verdict"]] for record in records)
    accuracy = good / len(records)
    if accuracy >= _FAR_BELOW * chance:
        return
    if binomtest(math.ceil(good), len(records), chance, alternative="less").pvalue < _UNLIKELY:
        other = "lower" if direction == "higher" else "higher"
        warnings.warn(
            f"{path}: accuracy {accuracy:.3f} is far below chance ({chance:.3f}); the direction looks wrong: "
            f"are {other} scores better in this file (--direction {other})?",
            stacklevel=3,
        )
