"""Methods as functions, and finished runs, for Python: nothing here prints, and only `out` writes files."""

from __future__ import annotations

import functools
import inspect
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from babelscope.core.results import Result, data_frame, split_unanswered
from babelscope.methods.base import Method
from babelscope.methods.registry import find_method
from babelscope.runs.compare import group_runs
from babelscope.runs.execute import Systems, Tests, run_method
from babelscope.runs.reading import read_records, read_run

if TYPE_CHECKING:
    from pandas import DataFrame


class MethodFunction(Protocol):
    """A method as a function; `help` shows its settings."""

    def __call__(self, systems: Systems, tests: Tests, **settings: Any) -> Result:
        """Run the method."""


# --- Functions made from settings ----------------------------------------------------------------------------------

_SHARED = {
    "systems": "One system or several: specs such as `lab:student`, objects, or either by name in a dict.",
    "tests": "A test set: a spec or file, a loaded one, or items; several by name in a dict.",
}
_RUN = {
    "seed": "Seed of everything random.",
    "chunk": "How many items are asked, and stored, at once.",
    "by": "Fields of the items, or `length`: all figures also for each of their values.",
    "seed_groups": "Patterns of names (`lab:teacher-*`) of systems that differ by their seed only.",
    "out": "Run folder: stores the run, or resumes it.",
}


@functools.cache
def function_of(name: str) -> MethodFunction:
    """The method of a name as a function whose signature and documentation are those of its settings."""
    method = find_method(name)

    def judge(systems: Systems, tests: Tests, **settings: Any) -> Result:
        return run_method(method, systems, tests, **settings)

    judge.__name__ = judge.__qualname__ = name
    judge.__module__ = "babelscope"
    judge.__doc__ = _documentation(method)
    judge.__signature__ = _signature(method)  # type: ignore[attr-defined]
    return judge


def _signature(method: type[Method]) -> inspect.Signature:
    """Systems and tests, other systems by role, the settings, and what all methods take."""
    shared = inspect.signature(run_method).parameters.values()
    _, systems, tests, *others, _ = shared
    roles = [
        _keyword(role, "str | System", required=bool(needed), default=None)
        for role, needed in method.requires.items()
        if role != "system"
    ]
    settings = [
        _keyword(
            name,
            field.annotation,
            required=field.is_required(),
            default=field.get_default(call_default_factory=True),
        )
        for name, field in method.Settings.model_fields.items()
    ]
    return inspect.Signature([systems, tests, *roles, *settings, *others], return_annotation="Result")


def _keyword(name: str, annotation: Any, *, required: bool, default: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if required else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _documentation(method: type[Method]) -> str:
    """The docstring of a method, then what each parameter of its function is."""
    roles = {
        role: "A spec or object: the system that judges." for role in method.requires if role != "system"
    }
    fields = method.Settings.model_fields.items()
    settings = {name: " ".join((field.description or "").split()) for name, field in fields}
    lines = [inspect.getdoc(method) or method.name, ""]
    for name, told in {**_SHARED, **roles, **settings, **_RUN}.items():
        lines += textwrap.wrap(f"{name}: {told}", 100, subsequent_indent="    ")
    return "\n".join(lines)


# --- Finished runs -------------------------------------------------------------------------------------------------


def open_run(folder: str | Path) -> Result:
    """The result of a finished run folder, as stored: rows, records and comparisons, nothing computed again."""
    run = read_run(folder)
    answered, unanswered = split_unanswered(read_records(run.path))
    methods = run.manifest.methods
    config = dict(run.manifest.config)
    if run.manifest.answers is not None:
        config["answers"] = run.manifest.answers
    return Result(
        config,
        [*run.rows, *run.comparisons],
        answered,
        run.path,
        unanswered,
        comparisons=run.comparisons,
        settings={label: part.settings for label, part in methods.items()},
        groups=group_runs([run], summary_only=True),
    )


def rows(run: Result | str | Path) -> DataFrame:
    """The figures of a result or a run folder as a data frame, with the columns of the JSON rows."""
    return (run if isinstance(run, Result) else open_run(run)).to_pandas()


def records(run: Result | str | Path) -> DataFrame:
    """The records of a result or a run folder as a data frame, one line per item, unanswered ones last."""
    found = run if isinstance(run, Result) else open_run(run)
    return data_frame([*found.records, *found.unanswered])
