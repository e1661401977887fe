"""One recipe with several seeds, in a folder each: mean and standard deviation of their development figures."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.core.results import Row
from babelscope.lab.training.settings import TrainingSettings
from babelscope.stats.intervals import mean_and_sd

Train = Callable[[TrainingSettings, Path, float | None], dict[str, Any]]
"""Trains with some settings in a folder, for so many minutes at the most, and returns the card."""


def train_seeds(
    train: Train, settings: TrainingSettings, out: Path, count: int, *, max_minutes: float | None
) -> dict[int, dict[str, Any]]:
    """The cards of `count` models by seed, from the seed of `settings` up, in folders `out/seed-N`.

    A model that ran out of time is not among them; the same call goes on with it.
    """
    cards: dict[int, dict[str, Any]] = {}
    end = None if max_minutes is None else time.monotonic() + 60 * max_minutes
    for seed in range(settings.seed, settings.seed + count):
        left = None if end is None else max(0.0, end - time.monotonic()) / 60
        card = train(dataclasses.replace(settings, seed=seed), out / f"seed-{seed}", left)
        if card["stopped_by"] == "time":
            break
        cards[seed] = card
    return cards


def seed_rows(cards: Mapping[int, Mapping[str, Any]]) -> list[Row]:
    """Mean and standard deviation of the development figures; intervals cover other seeds, not other text."""
    figures: dict[str, list[float]] = {"dev_loss": [], "dev_perplexity": [], "steps": []}
    for card in cards.values():
        for name in figures:
            figures[name].append(card[name])
    scores = [card["dev_score"] for card in cards.values() if "dev_score" in card]
    if scores:
        figures[f"dev_{scores[0]['metric']}"] = [score["value"] for score in scores]
    return [row for name, values in figures.items() for row in _rows(name, values)]


def _rows(figure: str, values: Sequence[float]) -> list[Row]:
    mean, sd = mean_and_sd(values, "seeds")
    return [Row("mean", mean, {"figure": figure}), Row("sd", sd, {"figure": figure})]
