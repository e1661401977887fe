"""`python -m tests.fuzz`: a million broken inputs, or as many as wanted, and what came of them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.fuzz import commands, targets_runs
from tests.fuzz.fuzzing import LONGEST, MOST_MEMORY, draw, fuzz
from tests.fuzz.targets import READERS
from tests.support import toys

_MEMORY = Path("/dev/shm")  # since a million inputs are written


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    arguments.add_argument("--inputs", type=int, default=1_000_000, help="how many, over all targets")
    arguments.add_argument("--seed", type=int, default=0, help="other seeds make other inputs")
    arguments.add_argument("--only", default="", help="targets whose name has this in it")
    arguments.add_argument(
        "--keep", type=Path, default=Path("runs/fuzz"), help="a folder for the inputs that crashed"
    )
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        return _fuzz_all(asked, Path(folder))


def _fuzz_all(asked: argparse.Namespace, folder: Path) -> int:
    sys.path[:0] = toys.install(folder / "toys")
    runs = targets_runs.finished_runs()
    everything = [*READERS, *targets_runs.targets(runs), *commands.targets(runs)]
    targets = [each for each in everything if asked.only in each.name]
    shares = sum(target.share for target in targets)
    tried = refused = places = 0
    started = time.monotonic()
    print(f"{'target':28}{'inputs':>9}{'refused':>9}{'crashes':>9}")
    for target in targets:
        inputs = -int(-asked.inputs * target.share // shares)  # rounded up, so that none are missing
        with tempfile.TemporaryDirectory(dir=folder) as own:
            found = fuzz(target, Path(own), range(inputs), asked.seed)
        crashed = sum(map(len, found.crashes.values()))
        print(f"{target.name:28}{found.tried:9}{found.refused:9}{crashed:9}", flush=True)
        for fault, numbers in found.crashes.items():
            drawn = [draw(target, asked.seed, number) for number in numbers]
            smallest = min(drawn, key=lambda files: sum(map(len, files.values())))
            kept = asked.keep / f"{target.name} {places}.json".replace(" ", "-")
            asked.keep.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps({name: data.hex() for name, data in smallest.items()}))
            print(f"    {len(numbers)} x {fault}: {kept}", flush=True)
            places += 1
        tried += found.tried
        refused += found.refused
    print(
        f"{tried} inputs to {len(targets)} targets in {time.monotonic() - started:.0f} s: {refused} refused in a "
        f"sentence, crashes at {places} places; none of the others took {LONGEST:g} s of a processor or "
        f"{MOST_MEMORY // 10**6} MB"
    )
    return 1 if places else 0


if __name__ == "__main__":
    sys.exit(main())
