"""Run folders made without a model: as many items as wanted, and texts as bad as they come."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from babelscope.core.results import Row, signature
from babelscope.methods.base import Method, title_of
from babelscope.methods.contrast.method import Contrast
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.runs.folder import FORMAT
from babelscope.util.digests import digest_json
from tests.support.sealing import seal

HOSTILE = (
    "</script><script>document.title='owned'</script>",
    '<img src="x" onerror="document.title=\'owned\'">',
    "\"quotes\" and 'quotes' & &amp; <b>bold</b>",
    "שלום עולם: ימין לשמאל",
    "emoji \N{FACE WITH TEARS OF JOY}\N{WOMAN}\u200d\N{ROCKET} and <!-- a comment -->",
    "{{ 7 * 7 }} {% raw %} \\u003cscript\\u003e",
)
NAMES = ("one", "two")


class Plain(Contrast):
    """A method that does not say how it is shown."""

    name = "politeness"
    tables, charts, show = Method.tables, Method.charts, Method.show


def contrast_run(
    folder: Path,
    items: int,
    *,
    texts: Sequence[str] = ("a house", "two cats"),
    systems: Sequence[str] = NAMES,
    phenomena: Sequence[str] = ("np_agreement", "clause_omission"),
    tests: str = "pairs",
    salt: str = "",
) -> Path:
    """A finished run of `contrast`; verdicts are random, but the same every time."""
    rng = random.Random(f"synthetic{salt}")
    settings = ContrastSettings(detect_in_output="no")
    method = Contrast(settings)
    config: dict[str, Any] = {
        "methods": [{"name": "contrast", "settings": settings.model_dump(mode="json"), "roles": {}}],
        "systems": [{"weights": f"{system}{salt}"} for system in systems],
        "tests": [{"kind": "MinimalPair", "digest": digest_json([items, tests])}],
        "seed": 0,
        "chunk": 128,
        "version": "0",
    }
    records: list[dict[str, Any]] = []
    rows: list[Row] = []
    for system in systems:
        own = [_record(number, system, tests, texts, phenomena, rng) for number in range(items)]
        labels = {"method": "contrast", "system": system, "tests": tests}
        rows += [
            Row(row.name, row.estimate, {**labels, **row.labels}, row.counts)
            for row in method.summarize(own, 0)
        ]
        records += own
    manifest = {
        "format": FORMAT,
        "study": "synthetic",
        "status": "finished",
        "signature": signature(config),
        "sha256": digest_json(config),
        "config": config,
        "jobs": [
            {"method": "contrast", "system": system, "tests": tests, "items": items, "skipped": {}}
            for system in systems
        ],
        "methods": {
            "contrast": {
                "name": "contrast",
                "summary": title_of(type(method)),
                "settings": settings.model_dump(mode="json"),
                "paired": [dataclasses.asdict(each) for each in method.paired()],
            }
        },
        "systems": {
            system: {"spec": f"toy:{system}", "fingerprint": own}
            for system, own in zip(systems, config["systems"], strict=True)
        },
        "tests": {tests: {"spec": f"{tests}.jsonl", **config["tests"][0]}},
    }
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (folder / "records.jsonl").write_text("".join(lines), encoding="utf-8")
    summary = {"signature": "", "rows": [row.as_json() for row in rows]}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    seal(folder)
    return folder


def _record(
    number: int, system: str, tests: str, texts: Sequence[str], phenomena: Sequence[str], rng: random.Random
) -> dict[str, Any]:
    text = texts[number % len(texts)]
    tokens = [f"▁{word}" for word in text.split(" ")]
    margin = rng.gauss(0.8, 0.6)
    right = {
        "text": f"{text} ja",
        "tokens": [*tokens, "▁ja", "</s>"],
        "logprobs": [-0.1] * len(tokens) + [-0.2, -0.1],
        "notes": [],
    }
    wrong = {
        "text": f"{text} nein",
        "tokens": ["▁nein", "</s>"],
        "logprobs": [-0.2 - margin, -0.3],
        "notes": [],
        "at": len(tokens),
    }
    return {
        "method": "contrast",
        "system": system,
        "tests": tests,
        "item": number,
        "id": f"{number}-{text}" if number < len(texts) else str(number),
        "source": f"{text} {number}",
        "phenomenon": phenomena[number % len(phenomena)],
        "reference": "human",
        "scores": {"correct": -0.2, "contrastive": [-0.2 - margin], "best": -0.1},
        "verdict": "correct" if margin > 0 else "wrong",
        "discrepancy": 0.1,
        "correct": right,
        "contrastive": [wrong],
        "best": {**right, "text": f"{text} doch"},
    }
