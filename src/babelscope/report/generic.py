"""The view of methods that have none: all figures, and the fields of their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.columns import Group, figure_key
from babelscope.core.page import About, Answer, Headline, Line, Section, Tone, View
from babelscope.core.results import Record, Row
from babelscope.methods.view import every_figure

_KEYS = ("method", "system", "tests", "item", "id", "source", "extra")
_FEW = 3
"""Figures of a cell in a summary."""
_TONES: Mapping[str, Tone] = {"correct": "none", "right": "none", "wrong": "errors", "tie": "some"}


def about(record: Record) -> About:
    groups = [str(record[name]) for name in ("phenomenon", "category", "reference") if name in record]
    return About(str(record.get("source", "")), tuple(groups), ", ".join(groups))


def answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    verdict = record.get("verdict")
    known = verdict if isinstance(verdict, str) else ""
    score = next(
        (record[name] for name in ("margin", "score") if isinstance(record.get(name), int | float)), None
    )
    return Answer(known, _TONES.get(known, "note"), score, lines=lambda: _lines(record))


def _lines(record: Record) -> list[Line]:
    """Every field that is text or a number, or a list of such, by its name."""
    found: list[Line] = []
    for name, value in record.items():
        if name not in _KEYS:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, str | int | float):
                    found.append((name, f"{each:.4g}" if isinstance(each, float) else str(each)))
    return found


def section(group: Group) -> Section:
    """Every figure, a line each."""
    cell = group.columns[0].cell
    summary = cell.run.manifest.methods[cell.method].summary
    return Section(
        title=cell.kind.replace("_", " ").capitalize(),
        question=f"{summary[:1].upper()}{summary[1:]}." if summary else "",
        tables=every_figure(group),
    )


def headline(rows: Sequence[Row]) -> list[Headline]:
    """The first figures over all items: those without a label of their own, or whose labels say `all`."""
    labels = [dict(figure_key(row)[1]) for row in rows]
    names = dict.fromkeys(name for own in labels for name in own)
    varying = [name for name in names if len({own.get(name) for own in labels}) > 1]
    told = [[str(own[name]) for name in varying if name in own and own[name] != "all"] for own in labels]
    named = []
    for row, said in zip(rows, told, strict=True):
        name = row.name.replace("_", " ")
        named.append(Headline(f"{name} ({', '.join(said)})" if said else name, row))
    whole = [headline for headline, said in zip(named, told, strict=True) if not said]
    return (whole or named)[:_FEW]


VIEW = View(section, about, answer, headline)
