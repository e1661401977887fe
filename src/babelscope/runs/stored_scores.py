"""Contrastive evaluation of stored scores, with no system to ask."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from babelscope.core.answers import Fingerprint
from babelscope.core.results import Record, Result, signature
from babelscope.core.ties import credit
from babelscope.methods.base import Setup, set_up
from babelscope.methods.cells import config_of
from babelscope.methods.contrast.figures import Scores, judged
from babelscope.methods.contrast.method import METHOD
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.runs.execute import conclude
from babelscope.runs.manifest import CellPart, Manifest, SystemPart, TestsPart, method_part
from babelscope.testsets.score_files import Direction, Layout, Stored, Tests, read_scores, read_tests
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError

# Below this share of what chance gives, and this unlikely by chance, a direction is called into question.
_FAR_BELOW = 0.8
_UNLIKELY = 0.001


def contrast_scores(
    tests: str,
    scores: str | Path | Sequence[str | Path],
    *,
    direction: Direction = "higher",
    layout: Layout = "auto",
    seed: int = 0,
    seed_groups: Sequence[str] = (),
    data_dir: str | Path | None = None,
    **settings: Any,
) -> Result:
    """Contrastive evaluation of stored scores, one file a system; `direction` says which scores are better."""
    paths = [scores] if isinstance(scores, str | Path) else scores
    if settings.setdefault("free", "no") == "yes":
        raise BabelscopeError("score files have no translations to look for errors in; free must be no")
    setup = set_up(METHOD, {**settings, "free": "no"})
    wanted = read_tests(tests, data_dir)
    records: list[Record] = []
    cells: list[CellPart] = []
    files: dict[str, Fingerprint] = {}
    for path in map(str, paths):
        if path in files:
            raise BabelscopeError(f"the score file {path} is given twice")
        matched, found = read_scores(path, wanted, direction=direction, layout=layout)
        judged_here = _records(matched, found, setup, path)
        _question_direction(judged_here, path, direction)
        records += judged_here
        skipped = {"no scores": matched.skipped} if matched.skipped else {}
        labels = {"method": setup.label, "system": path, "tests": wanted.name}
        cells.append(CellPart(**labels, items=len(judged_here), skipped=skipped))
        files[path] = Fingerprint("scores", model=digest_json([record["scores"] for record in judged_here]))
    digest = digest_json([dict(item) for item in wanted.items])
    config = config_of([setup], [], {}, seed=seed, chunk=1)
    config["systems"] = [each.as_json() for each in files.values()]
    config["tests"] = [{"kind": "scored", "digest": digest}]
    manifest = Manifest(
        format=1,
        study=setup.label,
        signature=signature(config),
        sha256=digest_json(config),
        config=config,
        seed_groups=list(seed_groups),
        methods={setup.label: method_part(setup)},
        systems={
            path: SystemPart(spec=path, fingerprint=fingerprint.as_json())
            for path, fingerprint in files.items()
        },
        tests={wanted.name: TestsPart(spec=tests, kind="scored", digest=digest)},
        cells=cells,
    )
    return conclude(manifest, records, {setup.label: (METHOD, setup.settings)})


def _records(tests: Tests, found: Sequence[Stored], setup: Setup, system: str) -> list[Record]:
    """Records as a system's would be, without texts and tokens."""
    settings = cast(ContrastSettings, setup.settings)
    return [
        {
            "method": setup.label,
            "system": system,
            "tests": tests.name,
            "item": number,
            **{name: item[name] for name in ("id", "source", "phenomenon", "reference")},
            **judged(_known(scores, settings, system), clipped=settings.discrepancy == "clipped"),
            "extra": {name: value for name, value in item.items() if name not in _OWN},
        }
        for number, (item, scores) in enumerate(zip(tests.items, found, strict=True))
    ]


_OWN = frozenset({"id", "source", "correct", "contrastive", "phenomenon", "reference"})


def _known(scores: Stored, settings: ContrastSettings, path: str) -> Scores:
    if settings.discrepancy == "none":
        return Scores(scores.correct, scores.contrastive)
    if settings.discrepancy != "auto" and scores.best is None:
        raise BabelscopeError(f"{path} has no column for the 1-best, which the discrepancy needs")
    return Scores(*scores)


def _question_direction(records: Sequence[Record], path: str | Path, direction: Direction) -> None:
    """Warn of a file whose accuracy is far, and not by accident, below what guessing would give."""
    from scipy.stats import binomtest

    if not records:
        return
    # Of one correct and k contrastive variants, chance prefers the correct one once in k + 1 times.
    chance = math.fsum(1 / (1 + len(record["scores"]["contrastive"])) for record in records) / len(records)
    worth = credit("half")
    good = math.fsum(worth[record["verdict"]] for record in records)
    accuracy = good / len(records)
    if accuracy >= _FAR_BELOW * chance:
        return
    if binomtest(math.ceil(good), len(records), chance, alternative="less").pvalue < _UNLIKELY:
        other = "lower" if direction == "higher" else "higher"
        warnings.warn(
            f"{path}: accuracy {accuracy:.3f} is far below chance ({chance:.3f}); the direction looks wrong: "
            f"are {other} scores better in this file (--direction {other})?",
            stacklevel=3,
        )
