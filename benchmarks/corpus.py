"""Corpus-sized making: time and memory of `make challenge` and `make pairs` at n/4, n/2 and n sentence pairs.

The pairs are the lab's, all different, with gold parses and alignments, streamed to disk. Each command runs in a
process of its own; its row has its processor time and its peak memory (RSS). `memory_ratio` is the peak at n over
that at n/4, and `time_ratio` the time from n/2 to n over twice that from n/4 to n/2, in which starting up cancels
out: both are 1 where memory is flat and time linear. With --ray each command is run at n over Ray, too, and outputs
are compared.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import show

COMMANDS = {
    "challenge": ["--parses", "{}.en.conllu", "--alignments", "{}.align"],
    "pairs": ["--type", "polarity_particle_nicht_del"],
}
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=2_000_000, help="pairs of the largest corpus")
    parser.add_argument("--quick", action="store_true", help="8,000 pairs: a minute or two on two cores")
    parser.add_argument("--ray", action="store_true", help="run each command over Ray, too")
    parser.add_argument(
        "--folder", type=Path, help="a folder for the files, 3 KB a pair; else a temporary one"
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON object a line; the last one has the ratios"
    )
    options = parser.parse_args()
    quarter = max(1, (8000 if options.quick else options.n) // 4)
    sizes = (quarter, 2 * quarter, 4 * quarter)
    rows: list[Row] = []
    ratios: Row = {"n": sizes[-1]}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        # Not in this process: what it held would count as held by every process it starts.
        write = "import sys; from benchmarks.corpus import write; write(sys.argv[1], *map(int, sys.argv[2:]))"
        subprocess.run([sys.executable, "-c", write, folder, *map(str, sizes)], check=True, cwd=_home())
        for command in COMMANDS:
            for size in sizes:
                rows.append(run(Path(folder), command, size))
                print(json.dumps(rows[-1]), file=sys.stderr)  # of a large corpus, hours before the table
            ratios |= ratios_of(command, rows[-3:])
            if options.ray:
                rows.append(run(Path(folder), command, sizes[-1], "--ray"))
                plain, spread = (Path(folder, f"{command}.{sizes[-1]}{more}") for more in ("", "--ray"))
                ratios[f"{command}_same_over_ray"] = filecmp.cmp(plain, spread, shallow=False)
    show(rows, ratios, as_json=options.json)


def write(folder: str, *sizes: int) -> None:
    """The largest corpus, pair by pair, and the heads of it."""
    from babelscope.lab.corpus import generate, written
    from babelscope.language.ud import tree_stretches
    from babelscope.stretches import line_stretches

    quarter, _, whole = sizes
    for _ in written(generate(whole, seed=9), folder, str(whole)):
        pass
    for ending in ("en", "de", "en.conllu", "align"):
        path = Path(folder, f"{whole}.{ending}")
        places = (tree_stretches if ending == "en.conllu" else line_stretches)(path, quarter)
        for size, stretch in zip(sizes[:-1], (places[1], places[2]), strict=True):
            copy_head(path, Path(folder, f"{size}.{ending}"), stretch.byte)


def copy_head(path: Path, to: Path, size: int) -> None:
    with open(path, "rb") as old, open(to, "wb") as new:
        while size:
            size -= new.write(old.read(min(size, 1 << 20)))


def run(folder: Path, command: str, size: int, *more: str) -> Row:
    """A command in a process of its own; what it made stands in a file named after it."""
    base = folder / str(size)
    out = folder / f"{command}.{size}{''.join(more)}"
    asked = [sys.executable, "-m", "babelscope", "make", command]
    asked += ["--source", f"{base}.en", "--reference", f"{base}.de", "--out", str(out), *more]
    asked += [each.format(base) for each in COMMANDS[command]]
    began = time.perf_counter()
    with subprocess.Popen(asked, stdout=subprocess.DEVNULL, cwd=_home()) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(asked)} ended with {process.returncode}")
    return {
        "name": " ".join([command, *more]),
        "n": size,
        "seconds": used.ru_utime + used.ru_stime,
        "wall_seconds": time.perf_counter() - began,
        "memory_mb": used.ru_maxrss / 1024,
        "output_mb": out.stat().st_size / 2**20,
    }


def ratios_of(command: str, rows: Sequence[Row]) -> Row:
    quarter, half, whole = rows
    return {
        f"{command}_memory_ratio": whole["memory_mb"] / quarter["memory_mb"],
        f"{command}_time_ratio": (whole["seconds"] - half["seconds"])
        / (2 * (half["seconds"] - quarter["seconds"])),
        f"{command}_pairs_a_second": (whole["n"] - half["n"]) / (whole["seconds"] - half["seconds"]),
    }


def _home() -> Path:
    return Path(__file__).parents[1]


if __name__ == "__main__":
    main()
