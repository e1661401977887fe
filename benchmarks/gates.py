"""How often `gate` is right: planted faults, systems whose outputs are swapped, and simulated null hypotheses.

python -m benchmarks.gates --source SRC --old FILE --new FILE --source-language de --target-language en
python -m benchmarks.gates --simulate
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from babelscope.decide.gate import GateSettings, Sequential, decide, look
from babelscope.decide.opening import GateFile, open_and_decide
from babelscope.decide.outcomes import Check, Source

CODES = {"worse": "exit 3", "not worse": "exit 0", "too few items": "exit 4"}


def drawn(checks: Sequence[Check], draws: np.random.Generator) -> list[Check]:
    """The same checks on sources drawn with replacement."""
    n = len(checks[0].sources)
    places = draws.integers(0, n, n).tolist()
    return [_at(check, places) for check in checks]


def _at(check: Check, places: Sequence[int]) -> Check:
    sources = list(check.sources.values())
    return _with(check, [sources[place] for place in places])


def _with(check: Check, sources: Sequence[Source]) -> Check:
    return dataclasses.replace(check, sources={str(number): each for number, each in enumerate(sources)})


def with_fault(check: Check, share: float, draws: np.random.Generator) -> Check:
    """The check with errors put into this share of all sources, where the new system was right."""
    sources = list(check.sources.values())
    right = [place for place, each in enumerate(sources) if each.new == 0]
    count = min(len(right), round(share * len(sources)))
    for place in draws.choice(right, size=count, replace=False).tolist():
        sources[place] = dataclasses.replace(sources[place], new=1.0)
    return _with(check, sources)


def swapped(checks: Sequence[Check], draws: np.random.Generator) -> list[Check]:
    """The checks with the two systems exchanged at random, source by source."""
    swap = (draws.random(len(checks[0].sources)) < 0.5).tolist()
    return [
        _with(
            check,
            [
                dataclasses.replace(each, old=each.new, new=each.old) if exchange else each
                for each, exchange in zip(check.sources.values(), swap, strict=True)
            ],
        )
        for check in checks
    ]


def verdict(checks: Sequence[Check], settings: GateSettings) -> str:
    """The gate's decision on these checks."""
    found = {each.verdict for each in decide(checks, settings, family=len(checks))}
    return CODES[
        "worse" if "worse" in found else "too few items" if "too few items" in found else "not worse"
    ]


def on_outputs(arguments: argparse.Namespace) -> None:
    """Print how often the gate decides how, on outputs of two real systems."""
    settings = GateSettings(margin=arguments.margin)
    gate = open_and_decide(
        f"file:{arguments.old}",
        f"file:{arguments.new}",
        [f"sources:{arguments.source}"],
        GateFile(gate=settings),
        languages=(arguments.source_language, arguments.target_language),
    )
    checks = [each.check for each in gate.tested if not each.check.skipped]
    print(f"as they are: {gate.verdict}; {len(checks)} checks, {gate.items} items")
    draws = np.random.default_rng(arguments.seed)
    counts: dict[str, Counter[str]] = {"swapped at random": Counter()}
    for _ in range(arguments.draws):
        counts["swapped at random"][verdict(drawn(swapped(checks, draws), draws), settings)] += 1
    for number, check in enumerate(checks):
        name = f"fault of {200 * settings.margin:.3g} % in {check.name}"
        counts[name] = Counter()
        same = [
            _with(each, [dataclasses.replace(own, new=own.old) for own in each.sources.values()])
            for each in checks
        ]
        for _ in range(arguments.draws):
            sample = drawn(same, draws)
            sample[number] = with_fault(sample[number], 2 * settings.margin, draws)
            counts[name][verdict(sample, settings)] += 1
    print_counts(counts, arguments.draws)


def simulated(arguments: argparse.Namespace) -> None:
    """Print the decisions over 20 checks of which one or none is worse, and the calls that stopping early saves."""
    draws = np.random.default_rng(arguments.seed)
    n, checks = 1000, 20
    counts: dict[str, Counter[str]] = {}
    saved: dict[str, list[float]] = {}
    for discordant in (0.005, 0.02, 0.1):
        for worse in (0.0, 0.02, 0.05):
            for sequential in (False, True):
                design = "sequential" if sequential else "fixed"
                name = f"{design}, {discordant:.1%} discordant, one worse by {worse:.0%}"
                counts[name], saved[name] = Counter(), []
                for _ in range(arguments.draws):
                    code, asked = _simulate(draws, n, checks, discordant, worse, sequential=sequential)
                    counts[name][code] += 1
                    saved[name].append(1 - asked / n)
    print_counts(counts, arguments.draws, {name: float(np.mean(each)) for name, each in saved.items()})


def _simulate(
    draws: np.random.Generator, n: int, count: int, discordant: float, worse: float, *, sequential: bool
) -> tuple[str, int]:
    settings = GateSettings(sequential=sequential)
    values = draws.random((count, n))
    old = (values < discordant / 2).astype(float)
    new = ((values >= discordant / 2) & (values < discordant)).astype(float)
    new[0] = np.maximum(new[0], (draws.random(n) < worse) & (old[0] == 0))
    checks = [
        Check(
            "simulated",
            "none",
            str(number),
            {
                str(place): Source(
                    str(place), 1.0, float(old[number, place]), float(new[number, place]), True
                )
                for place in range(n)
            },
        )
        for number in range(count)
    ]
    if not sequential:
        return verdict(checks, settings), n
    looks = {each.key: Sequential(settings.margin) for each in checks}
    seen = [dataclasses.replace(each, sources={}) for each in checks]
    for stop in range(settings.batch, n + 1, settings.batch):
        for each, whole in zip(seen, checks, strict=True):
            each.sources |= dict(itertools.islice(whole.sources.items(), stop - settings.batch, stop))
            looks[each.key].update(each)
        found, _ = look(seen, settings, count, looks)
        if "worse" in found:
            return CODES["worse"], stop
        if "too few items" not in found:
            return CODES["not worse"], stop
    return CODES["too few items"], n


def print_counts(counts: dict[str, Counter[str]], draws: int, saved: dict[str, float] | None = None) -> None:
    """A Markdown table of shares."""
    codes = list(CODES.values())
    more = ["calls saved"] if saved else []
    print(f"\n| case ({draws} draws) | {' | '.join([*codes, *more])} |\n|---|{'---|' * len([*codes, *more])}")
    for name, own in counts.items():
        cells: list[Any] = [f"{own[code] / draws:.1%}" for code in codes]
        cells += [f"{saved[name]:.0%}"] if saved else []
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("source", "old", "new"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--source-language", default="")
    parser.add_argument("--target-language", default="")
    parser.add_argument("--margin", type=float, default=0.01)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--simulate", action="store_true")
    arguments = parser.parse_args()
    if arguments.simulate:
        simulated(arguments)
    else:
        on_outputs(arguments)


if __name__ == "__main__":
    main()
