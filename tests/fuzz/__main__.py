"""`python -m tests.fuzz`: a million broken inputs, or as many as wanted, and what came of them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from babelscope.util.progress import progress
from tests.fuzz.apart import fuzz_apart
from tests.fuzz.everything import all_targets, scratch
from tests.fuzz.fuzzing import LONGEST, MOST_MEMORY, Files, Outcome, Target
from tests.support import toys


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    arguments.add_argument("--inputs", type=int, default=1_000_000, help="how many, over all targets")
    arguments.add_argument("--seed", type=int, default=0, help="other seeds make other inputs")
    arguments.add_argument("--only", default="", help="targets whose name has this in it")
    arguments.add_argument(
        "--keep", type=Path, default=Path("runs/fuzz"), help="a folder for the inputs that crashed"
    )
    asked = arguments.parse_args()
    with scratch() as folder:
        sys.path[:0] = toys.install(folder / "toys")
        targets = [each for each in all_targets() if asked.only in each.name]
        return _report(targets, folder, asked)


def _report(targets: Sequence[Target], folder: Path, asked: argparse.Namespace) -> int:
    shares = sum(target.share for target in targets)
    started = time.monotonic()
    outcomes: list[Outcome] = []
    print(f"{'target':28}{'inputs':>9}{'refused':>9}{'crashes':>9}{'us each':>9}")
    for target in targets:
        inputs = -int(-asked.inputs * target.share // shares)  # rounded up, so that none are missing
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(dir=folder) as own, progress(target.name, inputs) as advance:
            found = fuzz_apart(target, Path(own), inputs, seed=asked.seed, advance=advance)
        each = 1e6 * (time.monotonic() - begun) / max(1, inputs)
        crashed = sum(map(len, found.crashes.values()))
        print(f"{target.name:28}{found.tried:9}{found.refused:9}{crashed:9}{each:9.0f}", flush=True)
        for place, inputs_there in found.crashes.items():
            smallest = min(inputs_there, key=lambda files: sum(map(len, files.values())))
            print(f"    {len(inputs_there)} x {place}: {_shown(target, smallest)}", flush=True)
            _keep(asked.keep, target, place, smallest)
        outcomes.append(found)
    places = sum(len(found.crashes) for found in outcomes)
    print(
        f"{sum(found.tried for found in outcomes)} inputs to {len(outcomes)} targets in "
        f"{time.monotonic() - started:.0f} s: {sum(found.refused for found in outcomes)} refused in a sentence, "
        f"{sum(len(each) for found in outcomes for each in found.crashes.values())} crashes at {places} places; "
        f"none took {LONGEST:g} s of a processor or {MOST_MEMORY // 10**6} MB, or it is among them"
    )
    return 1 if places else 0


def _shown(target: Target, files: Files) -> str:
    """What was broken, cut."""
    good = {data for seed in target.seeds for data in seed.values()}
    return ", ".join(f"{name} = {data[:200]!r}" for name, data in files.items() if data not in good)


def _keep(folder: Path, target: Target, place: str, files: Files) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = "".join(char if char.isalnum() else "-" for char in f"{target.name} {place}")[:100]
    content = {"target": target.name, "files": {name: data.hex() for name, data in files.items()}}
    (folder / f"{name}.json").write_text(json.dumps(content))


if __name__ == "__main__":
    sys.exit(main())
