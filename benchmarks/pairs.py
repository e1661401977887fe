"""Making minimal pairs: how many of the released variants are among ours, how many we make, and how good they are."""

from __future__ import annotations

import argparse
import json
import re
import resource
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.language.base import ErrorType, Variant
from babelscope.language.fitness import other_language
from babelscope.language.german.analysis import ABBREVIATIONS, Analyzed, default_analyzer
from babelscope.language.registry import PAPER_TYPES, can_detect, error_type, error_types, language
from babelscope.making.pairs import make_pairs
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_lines
from benchmarks.common import shared
from benchmarks.pairs_ud import ud_rows

Row = dict[str, Any]
QUICK = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=shared("data", "distil-lingeval"), help="released test sets"
    )
    parser.add_argument(
        "--ud", type=Path, default=shared("data", "ud"), help="Universal Dependencies treebanks"
    )
    parser.add_argument("--newstest", type=Path, default=shared("data", "newstest", "text"))
    parser.add_argument("--only", default="", help="folders whose name has this text")
    parser.add_argument("--quick", action="store_true", help=f"about {QUICK} pairs a folder, spread over it")
    parser.add_argument("--misses", type=int, default=0, help="show so many released variants we do not make")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    options = parser.parse_args()
    for row in rows(options):
        print(json.dumps(row, ensure_ascii=False) if options.json else _as_text(row), flush=True)


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Speed first, while nothing is remembered; then a row for each folder, and one for each figure elsewhere."""
    newstest = options.newstest is not None and options.newstest.is_dir() and not options.only
    if newstest:
        yield speed_row(options.newstest, 300 if options.quick else 3000)
    if options.data is not None:
        for folder in sorted(options.data.iterdir()):
            if folder.is_dir() and options.only in folder.name:
                yield folder_row(folder, limit=QUICK if options.quick else None, misses=options.misses)
    if options.ud is not None and options.ud.is_dir() and not options.only:
        yield from ud_rows(options.ud, step=4 if options.quick else 1)
    if newstest and options.data is not None:
        yield plural_filter_row(options.newstest, options.data)


def folder_row(folder: Path, *, limit: int | None = None, misses: int = 0) -> Row:
    """Recall of the released variants of a folder among ours, and how many we make."""
    name, _, kind = folder.name.rpartition(".")
    made = error_type(name)
    correct, incorrect, source = (
        read_lines(folder / file, keep_separators=True)
        for file in ("tgt.correct.de", "tgt.incorrect.de", "src.en")
    )
    sources = dict(zip(correct, source, strict=True))
    step = max(1, len(correct) // limit) if limit else 1
    pairs = list(zip(correct, incorrect, strict=True))[::step]
    row: Row = {
        "name": folder.name,
        "type": name,
        "kind": "machine" if kind == "mt" else kind,
        "n": len(pairs),
    }
    # Where a type has modes, the last one is made to be compared with the release.
    row |= _counted(made, pairs, sources, made.modes[-1] if made.modes else None, misses)
    if made.modes:
        default = _counted(made, pairs, sources, made.modes[0], 0)
        row |= {f"{made.modes[0]}_{key}": default[key] for key in ("recall", "variants_per_sentence")}
    if name == "clause_omission":
        real = [(a, b) for a, b in pairs if not is_accident(a, b)]
        clean = _counted(made, real, sources, "clean", misses)
        row |= {
            "accidents_in_release": 1 - len(real) / len(pairs),
            "clean_recall": clean["recall"],
            "clean_variants_per_sentence": clean["variants_per_sentence"],
        }
    return row


def _counted(
    made: ErrorType, pairs: list[tuple[str, str]], sources: dict[str, str], mode: str | None, misses: int
) -> Row:
    analyzer = default_analyzer()
    found = first = variants = positions = sentences = 0
    last: tuple[str, list[Variant]] = ("", [])
    seen: set[int] = set()
    for reference, released in pairs:
        if reference != last[0]:
            last = (reference, made.variants(analyzer.analyze(reference), mode, source=sources[reference]))
        ours = last[1]
        if hash(reference) not in seen:
            seen.add(hash(reference))
            sentences += 1
            variants += len(ours)
            positions += len({variant.start for variant in ours})
        hit = any(variant.text == released for variant in ours)
        found += hit
        likeliest = {variant.start: variant.text for variant in reversed(ours)}
        first += released in likeliest.values()
        if not hit and misses:
            misses -= 1
            print(f"- {reference}\n+ {released}\n  {[(v.word, v.changed) for v in ours]}")
    row: Row = {
        "recall": found / len(pairs),
        "variants_per_sentence": variants / sentences,
        "variants_per_position": variants / max(1, positions),
        "recall_one_form": first / len(pairs),
    }
    return {**row, "mode": mode} if mode else row


def is_accident(reference: str, released: str) -> bool:
    """Whether a released omission was cut where no clause ends: "am 19. | September"."""
    if reference.startswith(released):
        edges = [len(released)]
    elif reference.endswith(released):
        edges = [len(reference) - len(released)]
    else:
        start = next(i for i, (a, b) in enumerate(zip(reference, released, strict=False)) if a != b)
        edges = [start, start + len(reference) - len(released)]
    return any(_cut_inside(reference[:edge].rstrip(), reference[edge:].lstrip()) for edge in edges)


def _cut_inside(left: str, right: str) -> bool:
    word = re.split(r"[\s(„\"]", left)[-1]
    if (
        re.fullmatch(r"(?:\d{1,3}|[IVXL]+|\w|(?:\w\.)+\w*)\.", word)
        or word.rstrip(".").lower() in ABBREVIATIONS
    ):
        return True
    if not re.search(r"[.!?…:;][\"'“”»«’`)\]]*\.?$", left):
        return True
    return left.endswith(".") and right[:1].islower()


def plural_filter_row(newstest: Path, data: Path) -> Row:
    """Of the kein- that we leave out as plural, how many the release of human references leaves out too."""
    folder = data / "polarity_particle_kein_del.human"
    released = (
        set(read_lines(folder / "tgt.incorrect.de", keep_separators=True)) if folder.is_dir() else set()
    )
    made = error_type("polarity_particle_kein_del")
    analyzer = default_analyzer()
    skipped = agreed = 0
    for path in sorted(newstest.glob("wmt*.de")):
        for line in read_lines(path, keep_separators=True):
            ours = None
            for match in re.finditer(r"\b([Kk])(ein(?:e[nmrs]?)?)\b", line):
                ours = made.variants(analyzer.analyze(line), made.modes[-1]) if ours is None else ours
                if all(variant.start != match.start() for variant in ours):
                    skipped += 1
                    new = "E" + match[2][1:] if match[1] == "K" else match[2]
                    agreed += line[: match.start()] + new + line[match.end() :] not in released
    return {"name": "kein plural filter against the release", "value": agreed / max(1, skipped), "n": skipped}


def speed_row(newstest: Path, count: int) -> Row:
    """Seconds to make all variants of all types, for references as they come."""
    lines = (
        line for path in sorted(newstest.glob("wmt1*.de")) for line in read_lines(path, keep_separators=True)
    )
    types = list(error_types().values())
    began, cpu = time.perf_counter(), time.process_time()
    analyzer = default_analyzer()  # loading is part of it
    loaded = halfway = _megabytes()
    made = done = 0
    for done, line in enumerate(lines, 1):
        sentence: Analyzed = analyzer.analyze(line)
        made += sum(len(each.variants(sentence)) for each in types)
        if done == count // 2:
            halfway = _megabytes()
        if done == count:
            break
    return {
        "name": f"all {len(types)} types ({len(PAPER_TYPES)} of the paper)",
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - cpu,
        "n": done,
        "variants": made,
        "megabytes_loaded": loaded,
        "megabytes_halfway": halfway,
        "megabytes": _megabytes(),
    }


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _as_text(row: Row) -> str:
    shown = (f"{value:.4f}" if isinstance(value, float) else str(value) for value in row.values())
    figures = [f"{key} {text}" for key, text in zip(row, shown, strict=True) if key not in ("name", "type")]
    return f"{row['name']:<40} " + "  ".join(figures)


@dataclass(frozen=True, slots=True)
class DetectorCounts:
    """Alarms of a detector on translations of the sources for which it can raise any."""

    alarms: int
    """References, assumed to be right, that it reported as wrong."""
    references: int
    found: int
    """Variants with the error that it reported."""
    variants: int


def measure_detector(
    type: str,
    sources: Iterable[str],
    references: Iterable[str],
    *,
    seed: int = 0,
) -> DetectorCounts:
    """Run the detector of `type` on each reference, and on one variant of each that has the phenomenon."""
    made = error_type(type)
    if (detect := made.detect) is None:
        raise BabelscopeError(f"error type {type} has no detector")
    analyzer = language(made.language).analyzer()
    alarms = asked = found = variants = 0
    for number, (source, reference) in enumerate(zip(sources, references, strict=True), 1):
        if not source.strip() or not reference.strip() or not can_detect(type, source):
            continue
        if other_language(reference, made.language):
            continue
        asked += 1
        alarms += detect(source, analyzer.analyze(reference))
        for pair in make_pairs(type, [source], [reference], seed=seed + number):
            variants += 1
            found += detect(source, analyzer.analyze(pair.contrastive[0]))
    return DetectorCounts(alarms, asked, found, variants)


if __name__ == "__main__":
    main()
