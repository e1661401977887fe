"""Specs: names with options, `scheme:rest?option=value&option=value`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from babelscope.core.registry import did_you_mean
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import whole_number

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
            raise BabelscopeError(f"the option {name!r} is said twice after the question mark; say it once")
        found[name] = unquote(value)
    return found


class Options:
    """The options of a spec; `refuse_unused` raises for those that the opener has not asked for."""

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
        """A time-out in seconds: above 0, and at most what the operating system can wait."""
        return min(self.number(name, default, least=0.001), _MAX_SECONDS)

    def flag(self, name: str) -> bool:
        return self.choice(name, ("yes", "no"), "no") == "yes"

    @property
    def names(self) -> list[str]:
        return list(self._values)

    def with_defaults(self, **values: str) -> Options:
        """The same options with values for those that were not given."""
        found = Options(self.spec, {**values, **self._values})
        found._known = self._known
        return found

    def take_all(self) -> None:
        """Count all options as used: the opener passes them on."""
        self._known |= self._values.keys()

    def refuse_unused(self) -> None:
        """Raise if an option was given that nobody asked for."""
        for name in self._values.keys() - self._known:
            known = did_you_mean(name, self._known, f"known: {', '.join(sorted(self._known)) or 'none'}")
            # The value is left out of the message, since it may be a secret.
            where = self.spec.partition("?")[0]
            raise BabelscopeError(f"{where}: unknown option {name!r}; {known}")


def split_spec(spec: str, rest: str) -> tuple[str, Options]:
    """Split `rest`, the part of `spec` after its scheme, into the name and its options."""
    name, query = split_options(rest)
    return name, Options(spec, parse_options(query))
