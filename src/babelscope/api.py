"""The methods as functions: systems and items in, a result out, no files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from babelscope.core.results import Result
from babelscope.core.system import System
from babelscope.runs.execute import run_method
from babelscope.systems.files import ItemTranslations
from babelscope.testsets.items import Item, TestSet

Systems = System | Sequence[System]
Tests = TestSet | Iterable[Item]


def contrast(systems: Systems, pairs: Tests, **settings: Any) -> Result:
    """Contrastive evaluation of systems on minimal pairs, compared with each other and over reference kinds.

    Each of `seed_groups` is a pattern of names (`lab:teacher-*`) of systems that differ by their seed only.
    """
    return run_method("contrast", systems, pairs, **settings)


def errors(systems: Systems, tests: Tests, **settings: Any) -> Result:
    """Errors in the systems' own translations of minimal pairs or parallel sentences, found by detectors."""
    return run_method("errors", systems, tests, **settings)


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
    system = ItemTranslations(skip_missing=skip_missing) if system is None else system
    return run_method("condition", system, items, evaluator=evaluator, **settings)


def space(systems: Systems, tests: Tests, **settings: Any) -> Result:
    """Evaluate hypothesis spaces; with three systems or more, also the correlation with MBR decoding."""
    return run_method("space", systems, tests, **settings)


def challenge(systems: Systems, tests: Tests, **settings: Any) -> Result:
    """Quality of systems on a challenge set and its parts, and the differences between systems."""
    return run_method("challenge", systems, tests, **settings)


def quality(systems: Systems, tests: Tests, **settings: Any) -> Result:
    """Corpus scores of each system's translations by metrics, against a test set's references."""
    return run_method("quality", systems, tests, **settings)


def likelihood(systems: Systems, tests: Tests, **settings: Any) -> Result:
    """Log-probability per token, and perplexity, of a test set's references under each system."""
    return run_method("likelihood", systems, tests, **settings)
