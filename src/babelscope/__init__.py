"""Shows what a machine translation model gets wrong where BLEU and COMET look away."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from babelscope.util.version import __version__ as __version__

if TYPE_CHECKING:
    from babelscope.core.results import Estimate as Estimate
    from babelscope.core.results import Result as Result
    from babelscope.core.results import Row as Row
    from babelscope.core.system import Fingerprint as Fingerprint
    from babelscope.core.system import Scored as Scored
    from babelscope.methods.base import Method as Method
    from babelscope.runs.execute import run_method as run_method
    from babelscope.runs.python import MethodFunction
    from babelscope.runs.python import open_run as open_run
    from babelscope.runs.python import records as records
    from babelscope.runs.python import rows as rows
    from babelscope.runs.study import Study as Study
    from babelscope.runs.study import read_study as read_study
    from babelscope.runs.study import run_study as run_study
    from babelscope.systems.cache import cached as cached
    from babelscope.systems.ray import spread as spread
    from babelscope.systems.registry import open_system as open_system
    from babelscope.testsets import TestSet as TestSet
    from babelscope.testsets import load as load
    from babelscope.util.errors import BabelscopeError as BabelscopeError
    from babelscope.util.errors import SystemFailure as SystemFailure

    contrast: MethodFunction
    errors: MethodFunction
    condition: MethodFunction
    prompted_choice: MethodFunction
    space: MethodFunction
    challenge: MethodFunction
    quality: MethodFunction
    likelihood: MethodFunction

# Imported when first used, so that `import babelscope` costs nothing; tested to match the list above.
_HOMES = {
    "BabelscopeError": "util.errors",
    "SystemFailure": "util.errors",
    "Method": "methods.base",
    "Estimate": "core.results",
    "Result": "core.results",
    "Row": "core.results",
    "run_method": "runs.execute",
    "open_run": "runs.python",
    "rows": "runs.python",
    "records": "runs.python",
    "Study": "runs.study",
    "read_study": "runs.study",
    "run_study": "runs.study",
    "Fingerprint": "core.system",
    "Scored": "core.system",
    "cached": "systems.cache",
    "open_system": "systems.registry",
    "spread": "systems.ray",
    "TestSet": "testsets",
    "load": "testsets",
}
_METHODS = (
    "contrast",
    "errors",
    "condition",
    "prompted_choice",
    "space",
    "challenge",
    "quality",
    "likelihood",
)
__all__ = ["__version__", *_HOMES, *_METHODS]


def __getattr__(name: str) -> Any:
    if name in _METHODS:
        return importlib.import_module("babelscope.runs.python").function_of(name)
    if name not in _HOMES:
        raise AttributeError(f"module 'babelscope' has no attribute {name!r}")
    return getattr(importlib.import_module(f"babelscope.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
