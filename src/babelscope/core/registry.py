"""Registries: our own objects and those of plug-ins by name, imported only when used."""

from __future__ import annotations

import difflib
import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from babelscope.util.errors import BabelscopeError

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
    """What plug-ins offer in a group; read again only where the import path or a folder on it has changed."""
    from importlib.metadata import entry_points

    places = [each or "." for each in sys.path]
    changed = tuple(os.path.exists(each) and os.stat(each).st_mtime_ns for each in places)
    return _read_entries(entry_points, group, (tuple(places), changed))


@functools.lru_cache(maxsize=32)
def _read_entries(read: Callable[..., Any], group: str, _path: object) -> tuple[Any, ...]:
    return tuple(read(group=group))


@dataclass(frozen=True)
class Registry(Generic[Thing]):
    """Objects of one kind by name: our own, given directly or as `module:attribute`, and those of plug-ins."""

    kind: str
    """What messages call one of them: `method`, `scheme`..."""
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
        """All objects by their own names; imports every plug-in, and raises if one of them fails."""
        found, faults = self.load_all()
        if faults:
            raise faults[0]
        return found

    def load_all(self) -> tuple[dict[str, Thing], list[BabelscopeError]]:
        """All objects by their own names, and one error for each plug-in that cannot be used."""
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
        if not isinstance(thing, wanted):
            raise BabelscopeError(
                f"the plug-in {entry.name} ({entry.value}) offers {thing!r}, not a {wanted.__name__}"
            )
        return cast(Thing, thing)

    def _taken(self, plugin: str, name: str) -> BabelscopeError:
        return BabelscopeError(f"the plug-in {plugin} offers the {self.kind} {name}, which is taken")
