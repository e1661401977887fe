"""`babelscope patterns winomt`: the gender of a translated occupation, by alignment and morphology."""

from __future__ import annotations

from babelscope.methods.command import Given, JudgingCommand, Tables
from babelscope.methods.patterns import command
from babelscope.methods.patterns.winomt.settings import WinomtSettings
from babelscope.util.errors import BabelscopeError


def _check(given: Given) -> None:
    command.check(given)
    if given["rejudge"] is None and given["target"] is None:
        raise BabelscopeError("patterns winomt needs --target, the language of the translations")
    if given["rejudge"] is None and not given["system"] and given["translations"] is None:
        raise BabelscopeError("patterns winomt needs --system or --translations")


def _study(given: Given) -> Tables:
    """Neutral rows too, unless the name of the tests says otherwise: the published figures have them."""
    tests = given["tests"]
    if ":" not in tests and tests.endswith((".tsv", ".txt")):
        tests = f"winomt:{tests}"
    if (tests == "winomt" or tests.startswith("winomt:")) and "?" not in tests:
        tests += "?neutral=yes"
    return command.tables(given, tests, given["translations"])


COMMAND = JudgingCommand(
    "patterns winomt",
    "The gender of a translated occupation, by alignment and morphology.",
    "patterns_winomt",
    WinomtSettings,
    options=command.OPTIONS,
    changed={"target": {"required": False, "metavar": "LANGUAGE"}},
    check=_check,
    study=_study,
    signed=lambda row: row.labels.get("category") == "all",
)
