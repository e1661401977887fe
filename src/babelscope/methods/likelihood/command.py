"""`babelscope likelihood`: how probable systems find the references."""

from __future__ import annotations

from babelscope.methods.command import JudgingCommand
from babelscope.methods.likelihood.settings import LikelihoodSettings

COMMAND = JudgingCommand(
    "likelihood",
    "Log-probability a token, and perplexity, of the references of a test set.",
    "likelihood",
    LikelihoodSettings,
    changed={"tests": {"help": "Sentences with references."}},
)
