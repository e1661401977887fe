"""The JSON Schema of manifest.json that the docs publish is that of the code."""

from __future__ import annotations

import json
from pathlib import Path

from babelscope.runs.manifest import Manifest

PUBLISHED = Path(__file__).parents[2] / "docs" / "manifest.schema.json"


def schema() -> str:
    return json.dumps(Manifest.model_json_schema(), indent=1, ensure_ascii=False) + "\n"


def test_the_published_schema_is_current() -> None:
    assert PUBLISHED.read_text() == schema(), "run: python tests/runs/test_manifest_schema.py"


if __name__ == "__main__":
    PUBLISHED.write_text(schema())
