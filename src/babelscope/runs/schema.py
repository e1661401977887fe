"""The JSON Schema of a run folder's manifest, records and rows: `python -m babelscope.runs.schema > FILE`."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema

from babelscope.runs.manifest import Manifest


class Row(BaseModel):
    """One figure: of `--json`, of `rows` and `comparisons` in summary.json, and of data frames.

    Other fields are labels, which tell it from other figures of its name, and counts. Null stands for a number that
    is not finite or not known.
    """

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)
    __pydantic_extra__: dict[str, str | float | bool | None]

    name: str
    value: float | None
    """Proportions as 0 to 1."""
    low: float | None
    """Low end of the 95 % interval."""
    high: float | None
    n: int
    """Items, or systems, that the figure is of."""
    no_interval: str = ""
    """Why there is no interval, where that is so."""


class Record(BaseModel):
    """One line of records.jsonl: one item of a job. Other fields are those of the method."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    method: str
    system: str
    tests: str
    item: int
    """Its place in the test set, from 0."""
    id: str
    unanswered: str = ""
    """Why there is no answer, where that is so; such a record has no fields of the method."""
    extra: dict[str, Any] = {}
    """Fields of the item that the method does not use."""


def schema() -> str:
    """The document, whose definitions are Manifest, Record and Row."""
    _, found = models_json_schema([(each, "validation") for each in (Manifest, Record, Row)])
    named = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Babelscope run folder"}
    return json.dumps({**named, **found}, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema(), end="")
