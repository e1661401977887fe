"""Corpus-sized making: time and memory of `make challenge` and `make pairs` as they read n sentence pairs.

The pairs are the lab's, all different, with gold parses and alignments, streamed to disk. Each command runs once, in
a process of its own, and is looked at all the time: how far it has read, its processor time, its memory (RSS).
There is a row for each eighth of the corpus. `memory_ratio` is the memory at the end over that at an eighth, and
`time_ratio` the time of the second half over that of the first, beginning after the first eighth, in which starting
up is: both are 1 where memory is flat and time linear. With --ray each command runs over Ray, too, and outputs are
compared. Linux only (/proc).
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
    parser.add_argument("--command", choices=list(COMMANDS), action="append", help="only this one")
    parser.add_argument(
        "--folder", type=Path, help="a folder for the files, 3 KB per pair; else a temporary one"
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON object per line; the last one has the ratios"
    )
    options = parser.parse_args()
    n = 8000 if options.quick else options.n
    rows: list[Row] = []
    ratios: Row = {"n": n}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        # Not in this process: what it held would count as held by every process it starts.
        write = "import sys; from benchmarks.corpus import write; write(sys.argv[1], int(sys.argv[2]))"
        subprocess.run([sys.executable, "-c", write, str(folder), str(n)], check=True, cwd=_home())
        for command in options.command or COMMANDS:
            found = run(folder, command, n)
            rows += found
            ratios |= ratios_of(command, found)
            for row in found:
                print(json.dumps(row), file=sys.stderr)  # of a large corpus, an hour before the table
            if options.ray:
                run(folder, command, n, "--ray")
                plain, spread = (folder / f"{command}.{n}{more}" for more in ("", "--ray"))
                ratios[f"{command}_same_over_ray"] = filecmp.cmp(plain, spread, shallow=False)
    show(rows, ratios, as_json=options.json)


def write(folder: str, n: int) -> None:
    """The corpus, unless it is there."""
    from babelscope.lab.grammar.corpus import make_corpus

    done = Path(folder, f"{n}.done")
    if not done.exists():
        make_corpus(Path(folder), n, seed=9, name=str(n))
        done.touch()


def run(folder: Path, command: str, n: int, *more: str) -> list[Row]:
    """A command in a process of its own; what it made stands in a file named after it. A row an eighth,
    or none over Ray, where others read."""
    base = folder / str(n)
    out = folder / f"{command}.{n}{''.join(more)}"
    asked = [sys.executable, "-m", "babelscope", "make", command]
    asked += ["--source", f"{base}.en", "--reference", f"{base}.de", "--to", str(out), *more]
    asked += [each.format(base) for each in COMMANDS[command]]
    source = Path(f"{base}.en").resolve()
    size = source.stat().st_size
    looks: list[Row] = []
    with subprocess.Popen(asked, stdout=subprocess.DEVNULL, cwd=_home()) as process:
        while process.poll() is None:
            if (read := _read(process.pid, source)) is not None:
                looks.append(
                    {"name": " ".join([command, *more]), "n": round(n * read / size), **_used(process.pid)}
                )
            time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{' '.join(asked)} ended with {process.returncode}")
    if more:
        return []
    reached = [min(looks, key=lambda look: abs(look["n"] - n * part / 8)) for part in range(1, 8)]
    return [*reached, looks[-1]]


def _read(pid: int, path: Path) -> int | None:
    """Bytes that a process has read of a file; None if it does not have it open."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if Path(os.readlink(link)) == path:
                return int(Path(f"/proc/{pid}/fdinfo/{link.name}").read_text().split()[1])
        except OSError:  # closed meanwhile
            continue
    return None


def _used(pid: int) -> Row:
    """Processor time and resident memory of a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return {
        "seconds": (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK"),
        "memory_mb": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
    }


def ratios_of(command: str, rows: Sequence[Row]) -> Row:
    def seconds_a_pair(begin: int, end: int) -> float:
        seconds: float = rows[end]["seconds"] - rows[begin]["seconds"]
        return seconds / int(rows[end]["n"] - rows[begin]["n"])

    return {
        f"{command}_memory_ratio": rows[7]["memory_mb"] / rows[0]["memory_mb"],
        f"{command}_time_ratio": seconds_a_pair(4, 7) / seconds_a_pair(0, 3),
        f"{command}_pairs_a_second": 1 / seconds_a_pair(0, 7),
    }


def _home() -> Path:
    return Path(__file__).parents[1]


if __name__ == "__main__":
    main()
