"""One recipe with several seeds: folders, means, and what is left when the time is up."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from babelscope.lab.training.seeds import seed_rows, train_seeds
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import learn, quick, write_pairs


def command(folder: Path, *more: str) -> Any:
    from babelscope.cli.lab import app

    source, target = map(str, write_pairs(folder / "text"))
    words = ["train", "--source", source, "--target", target, "--shape", "tiny", "--steps", "4"]
    words += ["--vocabulary", "90", "--threads", "1", "--quiet", "--out", str(folder / "models"), *more]
    return CliRunner().invoke(app, [*words, "--dev-source", source, "--dev-target", target])


def test_several_seeds_are_trained_and_averaged(tmp_path: Path) -> None:
    result = command(tmp_path, "--seeds", "3", "--seed", "4", "--json", "--set", "select=chrf")
    assert result.exit_code == 0, result.exception
    told = [json.loads(line) for line in result.stdout.split("\n")[:-1]]
    cards = [
        json.loads((tmp_path / "models" / f"seed-{seed}" / "card.json").read_text()) for seed in (4, 5, 6)
    ]
    assert [card["seed"] for card in cards] == [4, 5, 6]
    rows = {(row["name"], row.get("figure")): row for row in told}
    for figure, values in (
        ("dev_loss", [card["dev_loss"] for card in cards]),
        ("dev_chrf", [card["dev_score"]["value"] for card in cards]),
    ):
        assert len(set(values)) == 3
        mean, sd = rows["mean", figure], rows["sd", figure]
        assert mean["value"] == pytest.approx(statistics.mean(values))
        assert sd["value"] == pytest.approx(statistics.stdev(values))
        assert mean["n"] == 3
        assert mean["low"] < mean["value"] < mean["high"]
        assert mean["seeds"] == [4, 5, 6]
    recipe = quick(steps=4, seed=5, label_smoothing=0.1, dev_every=250, languages="")
    alone = learn(tmp_path, tmp_path / "alone", recipe)
    assert alone["dev_loss"] == cards[1]["dev_loss"], "a seed of several is the same model as that seed alone"
    shown = command(
        tmp_path, "--seeds", "3", "--seed", "4", "--set", "select=chrf"
    )  # nothing is trained again
    assert "dev_chrf" in shown.stdout


def test_seeds_need_one_development_text(tmp_path: Path) -> None:
    from babelscope.cli.lab import app

    source, target = map(str, write_pairs(tmp_path))
    words = ["train", "--source", source, "--target", target, "--out", str(tmp_path / "m"), "--seeds", "2"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, BabelscopeError)
    assert "each seed would hold out another" in str(result.exception)
    assert not (tmp_path / "m").exists()


def test_time_that_is_up_ends_all_seeds(tmp_path: Path) -> None:
    asked = []

    def train(settings: Any, folder: Path, minutes: float | None) -> dict[str, Any]:
        asked.append((settings.seed, folder.name, minutes))
        return {"stopped_by": "steps" if settings.seed < 3 else "time", "dev_loss": 1.0 * settings.seed}

    cards = train_seeds(train, quick(seed=1), tmp_path, 5, max_minutes=7)
    assert list(cards) == [1, 2]
    assert [(seed, name) for seed, name, _ in asked] == [(1, "seed-1"), (2, "seed-2"), (3, "seed-3")]
    left = [minutes for *_, minutes in asked if minutes is not None]
    assert all(6 < minutes <= 7 for minutes in left)
    assert left == sorted(left, reverse=True)
    assert len(left) == 3


def test_rows_say_mean_and_deviation() -> None:
    cards = {
        seed: {"dev_loss": loss, "dev_perplexity": 2.0, "steps": 9} for seed, loss in ((1, 1.0), (2, 3.0))
    }
    found = {(row.name, row.labels["figure"]): row.estimate for row in seed_rows(cards)}
    assert found["mean", "dev_loss"].value == 2
    assert found["sd", "dev_loss"].value == pytest.approx(2**0.5)
    assert found["sd", "dev_perplexity"].value == 0
