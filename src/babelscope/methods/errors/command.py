"""`babelscope errors`: which errors does a system make when it translates?"""

from __future__ import annotations

from babelscope.methods.command import JudgingCommand
from babelscope.methods.errors.settings import ErrorsSettings

COMMAND = JudgingCommand(
    "errors",
    "Find errors in what systems write themselves. Detectors of error types read the translations of any system, "
    "files and servers too; their figures are corrected for errors that they miss and for false alarms.",
    "errors",
    ErrorsSettings,
    changed={
        "tests": {"help": "A test set of minimal pairs, or sentences with references."},
        "types": {
            "name": "type",
            "metavar": "TYPE",
            "help": "An error type to look for; may be repeated. Else all that have a detector.",
        },
        "controls": {
            "name": "control",
            "metavar": "TYPE",
            "help": "An implausible error type; may be repeated. Else placeholder_ding and hypercorrect_genitive.",
        },
    },
)
