"""Shows what a machine translation model gets wrong where BLEU and COMET look away."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from babelscope.util.version import __version__ as __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from babelscope.core.results import Estimate as Estimate
    from babelscope.core.results import Result as Result
    from babelscope.core.results import Row as Row
    from babelscope.core.system import Fingerprint as Fingerprint
    from babelscope.core.system import Scored as Scored
    from babelscope.core.system import System
    from babelscope.methods.base import Method as Method
    from babelscope.runs.execute import run_method as run_method
    from babelscope.runs.study import Study as Study
    from babelscope.runs.study import read_study as read_study
    from babelscope.runs.study import run_study as run_study
    from babelscope.systems.cache import cached as cached
    from babelscope.systems.ray import spread as spread
    from babelscope.systems.registry import open_system as open_system
    from babelscope.testsets import TestSet as TestSet
    from babelscope.testsets import load as load
    from babelscope.testsets.items import Item
    from babelscope.util.errors import BabelscopeError as BabelscopeError
    from babelscope.util.errors import SystemFailure as SystemFailure

    Systems = System | Sequence[System]
    Tests = TestSet | Iterable[Item]

# Imported when first used, so that `import babelscope` costs nothing; tested to match the list above.
_HOMES = {
    "BabelscopeError": "util.errors",
    "SystemFailure": "util.errors",
    "Method": "methods.base",
    "run_method": "runs.execute",
    "Estimate": "core.results",
    "Result": "core.results",
    "Row": "core.results",
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

_METHODS = ("contrast", "errors", "condition", "space", "challenge", "quality", "likelihood")
__all__ = ["__version__", *_HOMES, *_METHODS]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'babelscope' has no attribute {name!r}")
    return getattr(importlib.import_module(f"babelscope.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__


# --- The methods as functions: systems and items in, a result out, no files ----------------------------------------


def _run(method: str, systems: Systems, tests: Tests, **settings: Any) -> Result:
    from babelscope.runs.execute import run_method

    return run_method(method, systems, tests, **settings)


def contrast(systems: Systems, pairs: Tests, **settings: Any) -> Result:
    """Contrastive evaluation of systems on minimal pairs, compared with each other and over reference kinds.

    Each of `seed_groups` is a pattern of names (`lab:teacher-*`) of systems that differ by their seed only.
    """
    return _run("contrast", systems, pairs, **settings)


def errors(systems: Systems, tests: Tests, **settings: Any) -> Result:
    """Errors in the systems' own translations of minimal pairs or parallel sentences, found by detectors."""
    return _run("errors", systems, tests, **settings)


def condition(
    system: Systems | None,
    evaluator: System | str,
    items: Tests,
    *,
    skip_missing: bool = False,
    **settings: Any,
) -> Result:
    """Judge how systems disambiguate; without a system, judge the translations that the items have.

    An item without a translation is then an error; with `skip_missing` it is left out and counted.
    """
    if system is None:
        from babelscope.systems.stored.translations import ItemTranslations

        system = ItemTranslations(skip_missing=skip_missing)
    return _run("condition", system, items, evaluator=evaluator, **settings)


def space(systems: Systems, tests: Tests, **settings: Any) -> Result:
    """Evaluate hypothesis spaces; with three systems or more, also the correlation with MBR decoding."""
    return _run("space", systems, tests, **settings)


def challenge(systems: Systems, tests: Tests, **settings: Any) -> Result:
    """Quality of systems on a challenge set and its parts, and the differences between systems."""
    return _run("challenge", systems, tests, **settings)


def quality(systems: Systems, tests: Tests, **settings: Any) -> Result:
    """Corpus scores of each system's translations by metrics, against a test set's references."""
    return _run("quality", systems, tests, **settings)


def likelihood(systems: Systems, tests: Tests, **settings: Any) -> Result:
    """Log-probability per token, and perplexity, of a test set's references under each system."""
    return _run("likelihood", systems, tests, **settings)
