"""`python -m tests.torture`: studies killed with -9 and servers that die at random moments; the runs are resumed."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from babelscope.util.progress import progress
from tests.runs.test_resume import asked, stored, write_study
from tests.support import toys
from tests.support.killing import Killer
from tests.support.torture_servers import torture_servers

# Of every hundred kills so many hit a process of its own, started as users start it, which takes seconds.
PLAIN = 2
LAB_KILLS = 15  # in the round with a real model
PRELOADED = (
    "babelscope.methods.likelihood",
    "babelscope.testsets.registry",
    "babelscope.systems.cache",
    "tests.support.toys",
)

Run = Callable[[Path, float | None], bool]
"""Runs a study, killed after so many seconds; whether it came to its end."""


@dataclass
class Counts:
    """What was done, and what went wrong."""

    kills: int = 0
    at_work: int = 0
    """Kills after which the folder had more than before."""
    rounds: int = 0
    lost: int = 0
    """Records that a finished run does not have."""
    doubled: int = 0
    """Records that it has twice, and stored answers that were asked for again."""
    different: int = 0
    """Files that differ from those of a run that was never killed, at its end or at any kill before."""
    kinds: dict[str, int] = field(default_factory=dict)
    """Kills by how the study was run."""

    def compare(self, place: str, same: bool) -> None:
        """Count a difference, and print where it is."""
        self.different += not same
        if not same:
            print(f"{place} is different", flush=True)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())
        return (
            f"{self.kills} kills ({kinds}), {self.at_work} of them after new records, in {self.rounds} runs: "
            f"{self.lost} lost, {self.doubled} doubled, {self.different} different"
        )


def torture(
    study: Path,
    right: Path,
    run: Run,
    counts: Counts,
    kind: str,
    most: float,
    kills: int,
    dice: random.Random,
) -> None:
    """One run into the folder of the study's name, killed up to so many times; `right` is a whole one's folder."""
    out = study.with_suffix("")
    records = out / "records.jsonl"
    expected = (right / "records.jsonl").read_bytes()
    left, finished = kills, False
    while not finished:
        before = stored(records)
        seen = {salt: len(questions) for salt, questions in asked(out.parent, out.name).items()}
        finished = run(study, dice.uniform(0, most) if left else None)
        left -= not finished
        counts.kills += not finished
        counts.kinds[kind] = counts.kinds.get(kind, 0) + (not finished)
        progressed = len(stored(records)) > len(before)
        counts.at_work += not finished and progressed
        # On a busy machine a command takes longer than the first one did: kill so late that something was done.
        most *= 1.0 if progressed else 1.1
        for salt, questions in asked(out.parent, out.name).items():
            counts.doubled += len(before & set(questions[seen[salt] :]))
        # What is there so far is the beginning of what there will be; the last line may be torn.
        there = records.read_bytes() if records.exists() else b""
        begun = expected.startswith(there[: there.rfind(b"\n") + 1])
        counts.compare(f"{records} ({kind}, after {kills - left} kills)", begun)
    keys = [_key(line) for line in records.read_bytes().splitlines()]
    wanted = [_key(line) for line in expected.splitlines()]
    counts.lost += len(set(wanted) - set(keys))
    counts.doubled += len(keys) - len(set(keys))
    for name in ("summary.json", "records.jsonl"):
        counts.compare(f"{out / name} ({kind})", (out / name).read_bytes() == (right / name).read_bytes())
    counts.rounds += 1


def _key(line: bytes) -> tuple[str, ...]:
    record = json.loads(line)
    return tuple(str(record[name]) for name in ("method", "system", "tests", "item"))


def _toys(folder: Path, paths: list[str], kills: int, dice: random.Random, counts: Counts) -> None:
    """A light study, most times in forks of one process, sometimes in processes of their own."""

    def plainly(study: Path, seconds: float | None) -> bool:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *filter(None, sys.path)])}
        command = [sys.executable, "-m", "babelscope", "run", str(study), "--no-report", "--json"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                return False
        assert code == 0, f"{study} ended with {code}"
        return True

    with (
        Killer("babelscope.runs.study:run_study", paths, preload=PRELOADED) as killer,
        progress("kills", kills) as advance,
    ):
        whole = write_study(folder, "whole")
        begun = time.monotonic()
        assert killer.run(str(whole))
        forked = time.monotonic() - begun
        begun = time.monotonic()
        assert plainly(write_study(folder, "plain"), None)
        plain = time.monotonic() - begun
        while counts.kills < kills:
            number = counts.rounds
            study = write_study(folder, f"killed{number}")
            cached = number % 2 == 1
            if cached:  # an answer may be in the cache and not yet in the folder
                study.write_text(study.read_text() + f'cache = "{study.stem}.sqlite"\n')
            before = counts.kills
            if number % 10 == 9 and counts.kinds.get("plain", 0) * 100 < PLAIN * max(kills, 100):
                run: Run = plainly
                kind, most = "plain", plain
            else:
                run = _forked(killer)
                kind, most = "with a cache" if cached else "without", forked / 2
            torture(study, folder / "whole", run, counts, kind, most, kills - before, dice)
            advance(counts.kills - before)
            if not sys.stderr.isatty() and number % 20 == 19:
                print(counts, flush=True)


def _forked(killer: Killer) -> Run:
    return lambda study, seconds: killer.run(str(study), kill_after=seconds)


def _lab(folder: Path, paths: list[str], kills: int, dice: random.Random, counts: Counts) -> None:
    """The same with a real model."""
    folder.mkdir()
    for name in ("whole", "killed"):
        (folder / f"{name}.toml").write_text(
            '[[systems]]\nspec = "lab:student"\n[[tests]]\nspec = "lab:parallel?n=24&seed=3"\n'
            f'[[methods]]\nname = "likelihood"\n[run]\nchunk = 3\nout = "{name}"\n'
        )
    preload = (*PRELOADED, "babelscope.lab.shipped", "babelscope.systems.models.hf", "transformers")
    with Killer("babelscope.runs.study:run_study", paths, preload=preload) as killer:
        begun = time.monotonic()
        assert killer.run(str(folder / "whole.toml"))
        most = time.monotonic() - begun
        study = folder / "killed.toml"
        torture(study, folder / "whole", _forked(killer), counts, "of a real model", most, kills, dice)


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    arguments.add_argument("--kills", type=int, default=1000, help="how many, over all runs")
    arguments.add_argument("--servers", type=int, default=100, help="how many servers die, over all runs")
    arguments.add_argument("--seed", type=int, default=0, help="of the moments")
    asked_for = arguments.parse_args()
    dice = random.Random(asked_for.seed)
    counts = Counts()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        paths = toys.install(folder / "toys")
        begun = time.monotonic()
        _lab(folder / "lab", paths, min(LAB_KILLS, asked_for.kills // 4), dice, counts)
        _toys(folder, paths, asked_for.kills, dice, counts)
        print(f"{counts} ({time.monotonic() - begun:.0f} s)", flush=True)
        begun = time.monotonic()
        servers = torture_servers(folder / "servers", asked_for.kills, asked_for.servers, dice)
        print(f"{servers} ({time.monotonic() - begun:.0f} s)")
    return 1 if counts.lost or counts.doubled or counts.different or servers.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
