"""Upgrades manifests from before `format: 1`, so that such runs can still be reported and compared."""

from __future__ import annotations

from typing import Any

from babelscope.methods.base import find_method, restore_settings


def upgrade_manifest(old: dict[str, Any]) -> dict[str, Any]:
    """The same run as a manifest of format 1.

    Old manifests did not link labels to methods: the labels of a test set belong, in the study's order, to the
    methods that judge its kind of items. The comparable fields are those of the installed method.
    """
    config, cells = old["config"], old["cells"]
    systems = dict(zip(old["systems"], config["systems"], strict=True))
    tests = dict(zip(old["tests"], config["tests"], strict=True))
    labels: dict[str, list[str]] = {}
    for cell in cells:
        own = labels.setdefault(cell["tests"], [])
        if cell["method"] not in own:
            own.append(cell["method"])
    methods: dict[str, Any] = {}
    for name, own in labels.items():
        fitting = [
            method
            for method in config["methods"]
            if tests[name]["kind"] in [kind.__name__ for kind in find_method(method["name"]).kinds]
            and list(tests).index(name) in method.get("tests", range(len(tests)))
        ]
        for label, method in zip(own, fitting, strict=True):
            methods[label] = _method_entry(method)
    return {
        "format": 1,
        "study": old.get("study", ""),
        "status": "finished",
        "signature": old["signature"],
        "sha256": old.get("sha256", ""),
        "config": config,
        "methods": methods,
        "systems": {
            label: {"spec": old["systems"][label], "fingerprint": own} for label, own in systems.items()
        },
        "tests": {label: {"spec": old["tests"][label], **own} for label, own in tests.items()},
        "cells": cells,
        "shard": old.get("shard"),
        "software": {"babelscope": config["version"], **old.get("made_with", {})},
    }


def _method_entry(stored: dict[str, Any]) -> dict[str, Any]:
    method = find_method(stored["name"])
    settings = restore_settings(method, stored["settings"])
    return {
        "name": method.name,
        "summary": method.summary,
        "settings": stored["settings"],
        "roles": stored["roles"],
        "comparable": [each.as_json() for each in method.comparable(settings)],
    }
