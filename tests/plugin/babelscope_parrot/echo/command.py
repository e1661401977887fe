"""`babelscope echo`: its options are those of every judging command, and the fields of its settings."""

from __future__ import annotations

from babelscope.methods.command import JudgingCommand
from babelscope_parrot.echo.settings import EchoSettings

COMMAND = JudgingCommand(
    "echo",
    "How often systems repeat the source instead of translating it.",
    "echo",
    EchoSettings,
    changed={"tests": {"help": "Sentences with references."}},
)
