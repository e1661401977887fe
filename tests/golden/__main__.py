"""`python -m tests.golden [NAME...]`: record the values of all cases, or of those whose names begin so."""

from __future__ import annotations

import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.golden.harness import HERE, environment
from tests.golden.running import CASES_BY_FILE, Workshop, read_golden, write_golden


def main(begins: list[str]) -> None:
    with Workshop() as workshop:
        for file, cases in CASES_BY_FILE.items():
            known = read_golden(file)
            for name in cases:
                if begins and not name.startswith(tuple(begins)):
                    continue
                begun = time.monotonic()
                known[name] = workshop.run(name)
                print(f"{name}: {len(known[name])} facts, {time.monotonic() - begun:.1f} s", flush=True)
            write_golden(file, {name: known[name] for name in cases if name in known})
    (HERE / "environment.json").write_text(json.dumps(environment(), indent=1) + "\n")


main(sys.argv[1:])
