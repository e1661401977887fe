"""`babelscope quality`: how good are translations, by metrics?"""

from __future__ import annotations

from babelscope.methods.command import JudgingCommand
from babelscope.methods.quality.settings import QualitySettings

COMMAND = JudgingCommand(
    "quality",
    "Measure translations of any system by BLEU, chrF or other metrics. Files, programs and servers too; `compare "
    "--table RUN` reads the figures of a run.",
    "quality",
    QualitySettings,
    changed={
        "tests": {"help": "Sentences with references."},
        "tokenize": {"metavar": "TOKENISER", "role": "read"},
        "metric": {
            "metavar": "METRIC",
            "help": "bleu, chrf, chrf++, ter, ribes, cmd:COMMAND or file:NUMBERS; may be repeated (chrf, bleu).",
        },
    },
)
