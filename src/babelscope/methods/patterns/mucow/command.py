"""`babelscope patterns mucow`: the sense of a translated word, by known words among tokens and lemmas."""

from __future__ import annotations

from babelscope.methods.command import Given, JudgingCommand, Tables
from babelscope.methods.patterns import command
from babelscope.methods.patterns.mucow.settings import MucowSettings
from babelscope.util.errors import BabelscopeError


def _check(given: Given) -> None:
    command.check(given)
    asked = given["system"] or given["translations"] is not None or given["rejudge"] is not None
    if not asked and (given["lemmas"] is not None or given["verdicts"] is None):
        raise BabelscopeError("patterns mucow needs --system or --translations, or --verdicts alone")


def _study(given: Given) -> Tables:
    """All sentences, unless the name of the tests says otherwise: known words need no cue."""
    tests, stored = given["tests"], given["translations"]
    if tests.startswith(("mucow:", "mucow/")) and "?" not in tests:
        tests += "?all=yes"
    if given["system"] or stored is not None:
        return command.tables(given, tests, stored)
    # Verdicts stand with the translations they are of; some items may have none.
    found = command.tables(given, tests, given["verdicts"], skip_missing=True)
    return {**found, "methods": [{"name": COMMAND.method, **given.settings, "word_matching": "stored"}]}


COMMAND = JudgingCommand(
    "patterns mucow",
    "The sense of a translated word, by known words among the tokens, then the lemmas.",
    "patterns_mucow",
    MucowSettings,
    options=command.OPTIONS,
    changed={
        "lemmatise": {"metavar": "LANGUAGE"},
        "compound-mark": {"metavar": "TEXT"},
    },
    check=_check,
    study=_study,
    signed=lambda row: row.labels.get("category") == "all",
)
