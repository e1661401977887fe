"""Seconds from a command to the first byte that it prints, for the commands that a new user types first.

Each command runs in a process of its own; wall seconds are to the first byte on stdout, processor seconds (user and
system) are of the whole process. With `--against CHECKOUT`, the commands of that checkout's src take turns with ours,
so that a machine's slow moments hit both, and the ratios are medians over rounds, each compared within itself.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import ratio, shared, show

_SRC = Path(__file__).parents[1] / "src"
_SOURCE, _TARGET = "The old man reads a letter.", "Der alte Mann liest einen Brief."


@dataclass(frozen=True)
class Start:
    """One start of a command, in seconds: to its first byte, and of the processor until its end."""

    first_output: float
    processor: float


def start(src: Path, arguments: Sequence[str], folder: Path) -> Start:
    """Run a command of the package in `src`; it must print something and end well."""
    environment = {**os.environ, "PYTHONPATH": str(src), "BABELSCOPE_CACHE": str(folder / "cache")}
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "babelscope", *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env=environment,
        )
        assert process.stdout is not None
        first = process.stdout.read(1)
        seconds = time.perf_counter() - began
        process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        if process.returncode or not first:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip()
            raise SystemExit(f"babelscope {' '.join(arguments)} failed or printed nothing: {said}")
    return Start(seconds, used.ru_utime + used.ru_stime)


def commands(folder: Path) -> dict[str, list[str]]:
    """What is started, by name; the files that the commands read are put into `folder`."""
    from babelscope import load

    (folder / "source.txt").write_text(_SOURCE + "\n", encoding="utf-8")
    (folder / "target.txt").write_text(_TARGET + "\n", encoding="utf-8")
    pairs = [json.dumps(item.as_json(), ensure_ascii=False) for item in load("lab:pairs").items[:10]]
    (folder / "pairs.jsonl").write_text("".join(f"{line}\n" for line in pairs), encoding="utf-8")
    score = ["score", "--source", "source.txt", "--target", "target.txt", "--system"]
    contrast = ["contrast", "--tests", "pairs.jsonl", "--system", "lab:student"]
    found = {
        "--help": ["--help"],
        "systems": ["systems"],
        "score, lab:teacher": [*score, "lab:teacher"],
        "contrast of ten pairs, lab:student": contrast,
        "report": ["report", "run", "--to", "report.html"],
    }
    if model := shared("models", "m30k-ende"):
        found["score, multi30k"] = [*score, f"hf:{model.resolve()}"]
    start(_SRC, [*contrast, "--out", "run"], folder)
    return found


def measure(sides: Mapping[str, Path], repeats: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows of seconds, one per command and side, and the ratios of the other side to ours."""
    rows: list[dict[str, Any]] = []
    ratios: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, arguments in commands(folder).items():
            starts: dict[str, list[Start]] = {side: [] for side in sides}
            for _ in range(repeats):
                for side, src in sides.items():
                    starts[side].append(start(src, arguments, folder))
            for side, found in starts.items():
                first = [each.first_output for each in found]
                rows.append(
                    {
                        "command": name,
                        "side": side,
                        "first output (s)": round(statistics.median(first), 3),
                        "least": round(min(first), 3),
                        "most": round(max(first), 3),
                        "processor (s)": round(statistics.median(each.processor for each in found), 3),
                        "n": repeats,
                    }
                )
            if "against" in starts:
                for what in ("first_output", "processor"):
                    other, ours = ([getattr(s, what) for s in starts[side]] for side in ("against", "here"))
                    ratios[f"{name}: {what}"] = round(ratio(other, ours), 3)
    return rows, ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument(
        "--json", action="store_true", help="one JSON object per line; the last has the ratios"
    )
    parser.add_argument("--against", type=Path, help="another checkout: its src takes turns with ours")
    parser.add_argument("--repeats", type=int, default=5, help="starts of each command, default 5")
    options = parser.parse_args()
    sides = {"here": _SRC}
    if options.against:
        if not (src := options.against.resolve() / "src").is_dir():
            parser.error(f"{options.against} is no checkout: it has no folder src")
        sides = {"against": src, **sides}
    rows, ratios = measure(sides, max(1, options.repeats))
    show(rows, ratios, as_json=options.json)


if __name__ == "__main__":
    main()
