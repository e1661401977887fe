"""The figures: how many translations are echoes, and how much is repeated on the whole."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import PairedField, Record, Row
from babelscope.stats.intervals import clustered_mean, proportion
from babelscope_parrot.echo.settings import EchoSettings


def summarize(records: Sequence[Record], _settings: EchoSettings, _seed: int) -> list[Row]:
    """The share of echoes as `all`, and the mean share of repeated words."""
    echoes = sum(record["verdict"] == "echo" for record in records)
    shares = [record["share"] for record in records]
    sources = [record["source"] for record in records]
    mean = clustered_mean(shares, sources)
    empty = sum(not record["translation"] for record in records)
    return [Row("all", proportion(echoes, len(records))), Row("repeated", mean, counts={"empty": empty})]


def comparable(_settings: EchoSettings) -> list[PairedField]:
    """What is paired between systems: translations of their own, and the share of repeated words."""
    return [
        PairedField("verdict", worth={"own": 1.0, "echo": 0.0}),
        PairedField("share", "share of words", "share", higher_is_better=False),
    ]
