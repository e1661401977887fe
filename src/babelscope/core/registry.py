"""Registries: built-in objects and those of plug-ins by name, imported only when used."""

from __future__ import annotations

import difflib
import functools
import importlib
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast
from urllib.parse import unquote

from babelscope.util.errors import BabelscopeError
from babelscope.util.text import whole_number

Thing = TypeVar("Thing")


def resolve(place: str) -> Any:
    """Import `module:attribute`; the only way for a lower layer to name something of a higher one."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", *, cutoff: float = 0.6) -> str:
    """A hint for an unknown name: the closest known one, or the text `otherwise`."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"did you mean {close[0]}?" if close else otherwise


def _entries(group: str) -> tuple[Any, ...]:
    """Entry points of plug-ins in a group; reread only if the import path or a folder on it has changed."""
    from importlib.metadata import entry_points

    places = [each or "." for each in sys.path]
    changed = tuple(os.path.exists(each) and os.stat(each).st_mtime_ns for each in places)
    return _read_entries(entry_points, group, (tuple(places), changed))


@functools.lru_cache(maxsize=32)
def _read_entries(read: Callable[..., Any], group: str, _path: object) -> tuple[Any, ...]:
    return tuple(read(group=group))


@dataclass(frozen=True)
class Registry(Generic[Thing]):
    """Objects of one kind by name: built-in ones, given directly or as `module:attribute`, and those of plug-ins."""

    kind: str
    """The kind in messages: `method`, `scheme`..."""
    place: str
    """`module:class` that every one of them must be an instance of."""
    group: str
    """Entry-point group in which plug-ins offer more."""
    built_in: Mapping[str, Thing | str]

    def names(self) -> list[str]:
        """All names, sorted; nothing is imported."""
        return sorted({*self.built_in, *(entry.name for entry in _entries(self.group))})

    def find(self, name: str) -> Thing:
        """The object of this name; only its own module is imported."""
        plugins = [entry for entry in _entries(self.group) if entry.name == name]
        if name not in self.built_in and not plugins:
            hint = did_you_mean(name, self.names(), f"known: {', '.join(self.names())}")
            raise BabelscopeError(f"there is no {self.kind} {name!r}; {hint}")
        if len(plugins) + (name in self.built_in) > 1:
            raise self._taken(plugins[-1].value, name)
        if plugins:
            return self._loaded(plugins[0])
        return self._built_in(name)

    def all(self) -> dict[str, Thing]:
        """All objects by name; imports every plug-in and raises if one fails."""
        found, faults = self.load_all()
        if faults:
            raise faults[0]
        return found

    def load_all(self) -> tuple[dict[str, Thing], list[BabelscopeError]]:
        """All objects by name, and an error for each plug-in that cannot be used."""
        found = {name: self._built_in(name) for name in self.built_in}
        faults: list[BabelscopeError] = []
        for entry in _entries(self.group):
            try:
                thing = self._loaded(entry)
            except BabelscopeError as error:
                faults.append(error)
                continue
            name: str = getattr(thing, "name", entry.name)
            if name in found:
                faults.append(self._taken(entry.value, name))
            else:
                found[name] = thing
        return found, faults

    def _built_in(self, name: str) -> Thing:
        found = self.built_in[name]
        return cast(Thing, resolve(found)) if isinstance(found, str) else found

    def _loaded(self, entry: Any) -> Thing:
        """Load an entry point; whatever the plug-in raises becomes an error that names it."""
        try:
            return self._checked(entry.load(), entry)
        except BabelscopeError:
            raise
        except (Exception, SystemExit) as error:
            fault = f"{type(error).__name__}: {error}"
            raise BabelscopeError(
                f"the plug-in that offers the {self.kind} {entry.name} fails with {fault}"
            ) from error

    def _checked(self, thing: Any, entry: Any) -> Thing:
        wanted: type = resolve(self.place)
        if not (isinstance(thing, wanted) or (isinstance(thing, type) and issubclass(thing, wanted))):
            raise BabelscopeError(
                f"the plug-in {entry.name} ({entry.value}) offers {thing!r}, not a {wanted.__name__}"
            )
        return cast(Thing, thing)

    def _taken(self, plugin: str, name: str) -> BabelscopeError:
        return BabelscopeError(f"the plug-in {plugin} offers the {self.kind} {name}, but the name is taken")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, its summary in the list, and what it runs."""

    name: str
    summary: str
    place: Any
    """What it runs: a function with typer's annotations, a `typer.Typer` group or a method; or the
    `module:attribute` of one of these."""


# --- Specs: names with options, `scheme:rest?option=value&option=value` --------------------------------------------

_OPTIONS = re.compile(r"[A-Za-z]\w*=[^&]*(?:&[A-Za-z]\w*=[^&]*)*")
_MAX_SECONDS = 1e6  # poll() cannot wait longer than an int of milliseconds


def split_options(rest: str) -> tuple[str, str]:
    """Split off the options after the last "?" that is followed by `option=value` pairs; other "?" are text."""
    start = len(rest)
    while (start := rest.rfind("?", 0, start)) >= 0:
        if _OPTIONS.fullmatch(rest, start + 1):
            return rest[:start], rest[start + 1 :]
    return rest, ""


def parse_options(query: str) -> dict[str, str]:
    """`option=value&option=value`, percent-decoded; a plus stays a plus, as in file names."""
    found: dict[str, str] = {}
    for name, _, value in (part.partition("=") for part in query.split("&") if part):
        if name in found:
            raise BabelscopeError(f"the option {name!r} is given twice after the question mark; give it once")
        found[name] = unquote(value)
    return found


class Options:
    """The options of a spec; `refuse_unused` raises for those that the opener has not read."""

    def __init__(self, spec: str, values: Mapping[str, str]) -> None:
        self.spec = spec
        self._values = dict(values)
        self._known: set[str] = set()

    def text(self, name: str, default: str = "") -> str:
        self._known.add(name)
        return self._values.get(name, default)

    def choice(self, name: str, choices: Iterable[str], default: str) -> str:
        value = self.text(name, default)
        if value not in (allowed := list(choices)):
            raise BabelscopeError(f"{self.spec}: {name}={value} is not one of {', '.join(allowed)}")
        return value

    def integer(self, name: str, default: int, *, least: int = 1) -> int:
        value = self.text(name, str(default))
        number = whole_number(value)
        if number is None or number < least:
            raise BabelscopeError(f"{self.spec}: {name}={value} is not a whole number of at least {least}")
        return number

    def number(self, name: str, default: float, *, least: float = 0.0) -> float:
        value = self.text(name, str(default))
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not number >= least:
            raise BabelscopeError(f"{self.spec}: {name}={value} is not a number of at least {least}")
        return number

    def seconds(self, name: str, default: float) -> float:
        """A time-out in seconds: above 0, at most what the operating system supports."""
        return min(self.number(name, default, least=0.001), _MAX_SECONDS)

    def flag(self, name: str) -> bool:
        return self.choice(name, ("yes", "no"), "no") == "yes"

    @property
    def names(self) -> list[str]:
        return list(self._values)

    def with_defaults(self, **values: str) -> Options:
        """The same options with defaults for those that were not given."""
        found = Options(self.spec, {**values, **self._values})
        found._known = self._known
        return found

    def take_all(self) -> None:
        """Mark all options as used, because the opener passes them on."""
        self._known |= self._values.keys()

    def refuse_unused(self) -> None:
        """Raise if an option was given that the opener has not read."""
        for name in self._values.keys() - self._known:
            known = did_you_mean(name, self._known, f"known: {', '.join(sorted(self._known)) or 'none'}")
            # The value is left out of the message, since it may be a secret.
            where = self.spec.partition("?")[0]
            raise BabelscopeError(f"{where}: unknown option {name!r}; {known}")


def split_spec(spec: str, rest: str) -> tuple[str, Options]:
    """Split `rest`, the part of `spec` after its scheme, into the name and its options."""
    name, query = split_options(rest)
    return name, Options(spec, parse_options(query))
