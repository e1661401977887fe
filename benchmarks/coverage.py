"""How often 95 % intervals cover the truth, for every kind that a command prints: `make coverage`.

Points that were tried are kept beside the output and not tried again; `--quick` tries a tenth of the draws.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from babelscope.util.seeds import stream
from benchmarks.coverage_kinds import KINDS
from benchmarks.coverage_simple import Point

SEED = 0
NUMBERS = (3, 5, 10, 20, 50, 200, 1000)
# Numbers drawn at once.
_BATCH = 1 << 19

Outcome = dict[str, Any]


def draws_of(n: int) -> int:
    """So many data sets a point."""
    return 5000 if n < 200 else 2000


def outcome_of(kind: str, n: int, point: Point, draws: int, *, seed: int = SEED) -> Outcome:
    """Coverage of one point, over the draws whose interval was not refused, and what else is told of it."""
    label, draw = point
    rng = stream(seed, f"coverage/{kind}/{n}/{label}")
    size = max(1, min(draws, _BATCH // n))
    parts = [draw(rng, min(size, draws - start)) for start in range(0, draws, size)]
    covers, width, refused = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("covers", "width", "refused")
    )
    found: Outcome = {"kind": kind, "n": n, "point": label, "draws": draws, "refused": float(refused.mean())}
    given = ~refused
    found["coverage"] = float(covers[given].mean()) if given.any() else None
    found["width"] = float(np.median(width[given])) if given.any() else None
    for name in ("rejects", "disagrees"):
        if getattr(parts[0], name) is not None:
            values = np.concatenate([getattr(part, name) for part in parts])[given]
            found[name] = float(values.mean()) if given.any() else 0.0
    return found


def run(kinds: Sequence[str], numbers: Sequence[int], kept: Path, share: float) -> list[Outcome]:
    """All points, those that are kept from before as they are."""
    known: dict[tuple[Any, ...], Outcome] = {}
    if kept.exists():
        for line in kept.read_text("utf-8").split("\n"):
            if line.endswith("}"):  # a kill may leave half a line
                found = json.loads(line)
                known[found["kind"], found["n"], found["point"], found["draws"]] = found
    outcomes = []
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a", encoding="utf-8") as file:
        for kind in kinds:
            for n in numbers:
                draws = math.ceil(share * draws_of(n))
                for point in KINDS[kind](n):
                    key = (kind, n, point[0], draws)
                    if key not in known:
                        known[key] = outcome_of(kind, n, point, draws)
                        file.write(f"\n{json.dumps(known[key])}")
                        file.flush()
                    outcomes.append(known[key])
                print(kind, n, file=sys.stderr, flush=True)
    return outcomes


def summary(outcomes: Iterable[Outcome]) -> Mapping[str, Any]:
    """Of one kind and n: mean and least coverage over the points, where that is, refused, width, rejections."""
    found = list(outcomes)
    given = [each for each in found if each["coverage"] is not None]
    worst = min(given, key=lambda each: each["coverage"], default=None)
    return {
        "mean": float(np.mean([each["coverage"] for each in given])) if given else None,
        "least": worst and worst["coverage"],
        "where": worst["point"] if worst else "",
        "refused": max(each["refused"] for each in found),
        "width": float(np.mean([each["width"] for each in given])) if given else None,
        "rejects": max((each["rejects"] for each in found if "rejects" in each), default=None),
        "disagrees": max((each["disagrees"] for each in found if "disagrees" in each), default=None),
        "points": len(found),
    }


def missed(n: int, own: Mapping[str, Any], draws: int) -> list[str]:
    """Which of the bars a kind misses at n."""
    if own["mean"] is None:
        return ["no interval from n = 20"] if n >= 20 else []
    checks = {
        "mean below 93 %": n >= 5 and own["mean"] < 0.93,
        "mean above 98 %": n >= 5 and own["mean"] > 0.98,
        "a point below 88 %": n >= 5 and own["least"] < 0.88,
        "mean below 90 %": n < 5 and own["mean"] < 0.9,
        "over 5 % refused": n >= 20 and own["refused"] > 0.05,
        "interval and p disagree": bool(own["disagrees"]),
        "too many rejections": own["rejects"] is not None
        and own["rejects"] > 0.05 + 3 * math.sqrt(0.05 * 0.95 / draws),
    }
    return [name for name, is_missed in checks.items() if is_missed]


def page(outcomes: Sequence[Outcome], share: float) -> str:
    """The table, in Markdown."""

    def percent(value: float | None) -> str:
        return "–" if value is None else f"{100 * value:.1f}"

    lines = [*_HEAD.format(draws=round(5000 * share), fewer=round(2000 * share), seed=SEED).split("\n")]
    over: list[str] = []
    for kind in dict.fromkeys(each["kind"] for each in outcomes):
        for n in sorted({each["n"] for each in outcomes if each["kind"] == kind}):
            some = [each for each in outcomes if (each["kind"], each["n"]) == (kind, n)]
            own = summary(some)
            if why := missed(n, own, some[0]["draws"]):
                over.append(f"- {kind}, n = {n}: {', '.join(why)}")
            width = "–" if own["width"] is None else f"{own['width']:.3g}"
            cells = [
                kind, n, own["points"], percent(own["mean"]), percent(own["least"]), own["where"],
                percent(own["refused"]), width, percent(own["rejects"]),
            ]  # fmt: skip
            lines.append(f"| {' | '.join(map(str, cells))} |")
    known = {(each["kind"], each["n"]) for each in outcomes}
    untried = [f"- {kind}" for kind in KINDS if any((kind, n) not in known for n in NUMBERS)]
    bars = ["", "## Bars missed", "", *(over or ["None."]), ""]
    if untried:
        bars += ["## Not tried, or not at every n", "", *untried, ""]
    return "\n".join([*lines, *bars])


_HEAD = """# How often intervals cover the truth

Made by `make coverage`; not written by hand. Every kind of interval that a command prints is tried on data
whose truth is known: {draws:,} data sets a point ({fewer:,} from n = 200), seed {seed} (each point has a stream
of its own, named after it). `n` counts what is independent: items, or clusters of items. The truths and the
data are in `benchmarks/coverage_*.py`: proportions from 0.02 to 0.98, kappa and alpha from 0 to 0.9, normal
and exponential values, intra-class correlation from 0 to 0.6, clusters of four
items, of one to seven, or of 1, 2, 4 or 9.

The rules were chosen by simulations on data like these: for means four, for kappa fifteen, for alpha of names
three and of numbers four, for paired verdicts six, for F1 two variants were tried, and the one taken that was
best here. So this table says how the rules do on these truths; it is no independent test of the choice.

The bars: from n = 5 a mean coverage over the points of 93 to 98 % and no point below 88 %; below, a mean of at
least 90 %; from n = 20 at most 5 % of intervals refused at any point; tests reject a true null in at most 5 %
of cases, plus three standard errors of the simulation; an interval and its p-value never disagree. Discrete
data and exact tests allow more than 98 %: where most data sets of a few items are all alike, any interval that
is not empty covers more.

Coverage is over the intervals that were given. *least* is the lowest of all points, *refused* and *rejected*
(of tests, where the truth is no difference) the highest, *width* the mean over points of the median width. In
percent, but for the width.

| kind | n | points | mean | least | at | refused | width | rejected |
|---|---|---|---|---|---|---|---|---|"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/measured/coverage.md"))
    parser.add_argument("--kept", type=Path, default=Path("runs/coverage.jsonl"), help="points tried before")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only these; may be repeated")
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws")
    given = parser.parse_args()
    share = 0.1 if given.quick else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of ranks that are all equal
        outcomes: list[Outcome] = []
        for kind in given.kind or list(KINDS):
            outcomes += run([kind], NUMBERS, given.kept, share)
            given.out.write_text(page(outcomes, share), "utf-8")


if __name__ == "__main__":
    main()
