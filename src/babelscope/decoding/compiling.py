"""numba without settings from the working folder, and with a cache that only this user can write.

numba reads settings from a file in the working folder and compiled functions from pickles; neither is trusted.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

import platformdirs

from babelscope.util.private_folder import private_folder

_CONFIGURATION = ".numba_config.yaml"
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _WithoutFile(SourceFileLoader):
    """Loads numba.core.config with its settings file replaced by one that is always empty."""

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        return code and code.replace(
            co_consts=tuple(os.devnull if each == _CONFIGURATION else each for each in code.co_consts)
        )


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname == "numba.core.config" else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _WithoutFile(spec.loader.name, spec.loader.path)
        return spec


def _import_numba() -> Any:
    finder = _Finder()
    sys.meta_path.insert(0, finder)  # not a change of folder, which other threads would see
    try:
        import numba
    finally:
        sys.meta_path.remove(finder)
    # The file would be read again at each compilation, also where somebody else imported numba first.
    numba.core.config._config_fname = os.devnull
    return numba


def cache_folder() -> Path | None:
    """Where compiled functions are kept: NUMBA_CACHE_DIR or the user's cache; None if others can write there."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    try:
        return private_folder(
            Path(given) if given else platformdirs.user_cache_path("babelscope") / "compiled"
        )
    except OSError as error:
        warnings.warn(
            f"compiled functions are not kept, and take some seconds each time: {error.filename}: {error.strerror}",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


numba = _import_numba()
_FOLDER = cache_folder()


def inlined(function: _Function) -> _Function:
    """Decorator: compile a function into each of its callers."""
    made: _Function = numba.njit(inline="always")(function)
    return made


def compiled(function: _Function) -> _Function:
    """Decorator: compile a function at its first call and cache it if possible; sums may be reordered."""
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    }
    kept = _FOLDER and _kept(function, options, _FOLDER)
    made: _Function = kept or numba.njit(**options)(function)
    return made


def _kept(function: Callable[..., Any], options: dict[str, Any], folder: Path) -> Any:
    """Compile with a cache in `folder`; None if numba would write the cache elsewhere."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        made = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # there is no place that can be written
        return None
    finally:
        numba.config.CACHE_DIR = before
    return made if Path(made.stats.cache_path).is_relative_to(folder) else None
