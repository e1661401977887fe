"""`lab prepare` on multi30k with planted noise: what each filter finds; and memory over a long stream.

python -m benchmarks.preparing --data ../shared/data/multi30k
python -m benchmarks.preparing --data ../shared/data/multi30k --stream 1000000 --skip language --skip alignment
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path

from babelscope.lab.training.preparing import REMOVED, Preparation, prepare

OWN = {"ratio": ("truncated",), "duplicate": ("duplicate",), "language": ("copied", "french")}
OWN |= {"alignment": ("misaligned",)}


def read(data: Path, code: str) -> list[str]:
    with gzip.open(data / f"train.{code}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def plant(data: Path) -> list[list[str]]:
    """Rows of source, target and kind; a 25th of the pairs of each kind of noise."""
    english, german, french = (read(data, code) for code in ("en", "de", "fr"))
    draw = random.Random(7)
    order = list(range(len(english)))
    draw.shuffle(order)
    share = len(order) // 25
    wrong, cut, copied, foreign, twice = (order[n * share : (n + 1) * share] for n in range(5))
    rows = [[one, other, "clean"] for one, other in zip(english, german, strict=True)]
    for number, other in zip(wrong, wrong[1:] + wrong[:1], strict=True):
        rows[number][1:] = [german[other], "misaligned"]
    for number in cut:
        words = german[number].split()
        rows[number][1:] = [" ".join(words[: max(1, len(words) // 2)]), "truncated"]
    for number in copied:
        rows[number][1:] = [english[number], "copied"]
    for number in foreign:
        rows[number][1:] = [french[number], "french"]
    repeated = {(rows[number][0], rows[number][1]) for number in twice}
    rows += [[rows[number][0], rows[number][1], "duplicate"] for number in twice]
    draw.shuffle(rows)
    seen: set[tuple[str, str]] = set()
    for row in rows:  # of two equal pairs, the later one is the duplicate
        if (pair := (row[0], row[1])) in repeated:
            row[2] = "duplicate" if pair in seen else "clean"
            seen.add(pair)
    return rows


def write(folder: Path, rows: list[list[str]]) -> tuple[Path, Path]:
    files = folder / "a.en", folder / "a.de"
    for side, path in enumerate(files):
        path.write_text("".join(f"{row[side]}\n" for row in rows), encoding="utf-8")
    return files


def noise(data: Path, folder: Path, plan: Preparation) -> None:
    rows = plant(data)
    prepare(*write(folder, rows), folder / "out", plan)
    removed = (json.loads(line) for line in (folder / "out" / REMOVED).open(encoding="utf-8"))
    by = Counter((row["filter"], rows[row["line"] - 1][2]) for row in removed)
    reached = Counter(row[2] for row in rows)
    print(f"planted: {dict(reached)}")
    for name, kinds in OWN.items():
        all_removed = sum(count for (each, _), count in by.items() if each == name)
        if not all_removed:
            continue
        found = sum(by[name, kind] for kind in kinds)
        there = sum(reached[kind] for kind in kinds)
        print(
            f"{name}: removed {all_removed:,}; planted {1 - by[name, 'clean'] / all_removed:.1%}; "
            f"of its own kind that came so far {found / there:.1%}; of clean pairs {by[name, 'clean']:,}"
        )
        for (each, kind), count in by.items():  # what later filters meet
            reached[kind] -= count if each == name else 0


def stream(data: Path, folder: Path, plan: Preparation, count: int) -> None:
    english, german = read(data, "en"), read(data, "de")
    files = folder / "a.en", folder / "a.de"
    for path, lines in zip(files, (english, german), strict=True):
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{lines[number % len(lines)]} {number}\n" for number in range(count))
    del english, german
    began = time.process_time()
    report = prepare(*files, folder / "out", plan)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count:,} pairs, {report['kept']:,} kept: {time.process_time() - began:.0f} s of processor time, peak "
        f"{peak:,.0f} MB, of which {report['duplicate_bytes'] / 2**20:.0f} MB for duplicates"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--stream", type=int, default=0)
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--align-pairs", type=int, default=100_000)
    parser.add_argument("--alignment", type=float, default=-6.0)
    given = parser.parse_args()
    plan = Preparation(
        languages="en-de",
        skip=tuple(given.skip),
        alignment=given.alignment,
        align_pairs=given.align_pairs,
    )
    with tempfile.TemporaryDirectory() as folder:
        if given.stream:
            stream(given.data, Path(folder), plan, given.stream)
        else:
            noise(given.data, Path(folder), plan)


if __name__ == "__main__":
    main()
