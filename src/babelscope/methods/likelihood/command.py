"""`babelscope likelihood`: how probable systems find the references."""

from __future__ import annotations

from babelscope.methods.command import JudgingCommand
from babelscope.methods.likelihood.settings import LikelihoodSettings

COMMAND = JudgingCommand(
    "likelihood",
    "Measure how probable systems find the references of a test set. Log-probability per token, and perplexity.",
    "likelihood",
    LikelihoodSettings,
    changed={"tests": {"help": "Sentences with references."}},
)
