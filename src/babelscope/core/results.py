"""Figures with intervals, results, and the signature that identifies them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from babelscope.core.registry import resolve
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from babelscope.core.comparison import Comparison
    from babelscope.core.tables import Format


Key = TypeVar("Key")
Value = TypeVar("Value")
Record = dict[str, Any]
"""What a method stores about one item, as JSON values."""

Config = Mapping[str, Any]
"""Everything a result depends on, and nothing else (no names, no paths): the signature is made from it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval, from `n` items; all three are NaN if there were none."""

    value: float
    low: float
    high: float
    n: int
    no_interval: str = ""
    """Why there is no interval; `low` and `high` are then NaN."""

    def __post_init__(self) -> None:
        if self.n < 0:
            raise BabelscopeError(f"an estimate cannot be made from {self.n} items")
        if self.no_interval:
            if not (math.isnan(self.low) and math.isnan(self.high)):
                raise BabelscopeError("an estimate without an interval cannot have bounds")
        # NaN fails every comparison, so this refuses it too.
        elif self.n and not self.low <= self.value <= self.high:
            raise BabelscopeError(
                f"the value must be within its interval, but {self.value} is not in [{self.low}, {self.high}]"
            )

    @classmethod
    def empty(cls) -> Estimate:
        """The estimate when there was no item to make it from."""
        return cls(math.nan, math.nan, math.nan, 0)

    @classmethod
    def around(cls, value: float, low: Any, high: Any, n: int) -> Estimate:
        """An estimate whose interval is widened to contain the value, if rounding or shrinkage moved it out."""
        return cls(value, min(value, float(low)), max(value, float(high)), n)

    @classmethod
    def without_interval(cls, value: float, n: int, why: str) -> Estimate:
        """An estimate without an interval, with the reason in a few words: "1 sentence"."""
        return cls(value, math.nan, math.nan, n, why)

    def converted(self, convert: Callable[[float], float]) -> Estimate:
        """The estimate on another scale; `convert` must be monotonic."""
        if not self.n:
            return self
        if self.no_interval:
            return replace(self, value=convert(self.value))
        low, high = sorted((convert(self.low), convert(self.high)))
        return replace(self, value=convert(self.value), low=low, high=high)

    def interval(self, form: Callable[[float], str]) -> str:
        """The interval in brackets, each end by `form`, or why there is none."""
        if self.no_interval:
            return f"no interval: {self.no_interval}"
        return f"[{form(self.low)}, {form(self.high)}]"

    def text(self, form: Callable[[float], str]) -> str:
        """Value and interval; a dash for nothing."""
        if not self.n:
            return "–"
        interval = self.interval(form)
        return f"{form(self.value)} {f'({interval})' if self.no_interval else interval}"

    def as_json(self) -> dict[str, float | int | str | None]:
        """As JSON, which knows neither NaN nor infinity: they become null."""
        why = {"no_interval": self.no_interval} if self.no_interval else {}
        return {
            "value": finite_or_none(self.value),
            "low": finite_or_none(self.low),
            "high": finite_or_none(self.high),
            **why,
            "n": self.n,
        }


def finite_or_none(number: float) -> float | None:
    """A number as JSON: null for what is not finite, such as the log-probability of the impossible."""
    return float(number) if math.isfinite(number) else None


def minus_inf_if_none(stored: float | None) -> float:
    """A log-probability or score read from JSON, where `finite_or_none` wrote null for minus infinity."""
    return -math.inf if stored is None else stored


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its name, its estimate, the labels that distinguish it, and counts to report with it."""

    name: str
    estimate: Estimate
    labels: Mapping[str, str | float] = field(default_factory=dict)
    """System, phenomenon, reference...: what distinguishes this figure from others of its name; also p-values."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Ties, skipped, truncated...: numbers of items."""
    part: bool = field(default=False, compare=False, repr=False)
    """Whether it covers only some of the items. Unanswered items are counted on the other rows."""

    def __post_init__(self) -> None:
        fields = ["name", "value", "low", "high", "no_interval", "n", *self.labels, *self.counts]
        if len(set(fields)) < len(fields):
            raise BabelscopeError(
                f"the row {self.name!r} has two fields with the same name: {', '.join(fields)}"
            )

    @property
    def is_part(self) -> bool:
        """Whether it covers only the items with one value of the field that `by` names."""
        return "by" in self.labels

    def as_json(self) -> dict[str, Any]:
        """One flat object, the stable form that scripts build on."""
        labels = {
            name: finite_or_none(value) if isinstance(value, float) else value
            for name, value in self.labels.items()
        }
        return {"name": self.name, **labels, **self.estimate.as_json(), **self.counts}

    def told(self, label: str) -> str:
        """A label as people read it, p-values to two digits; empty if the row does not have it."""
        value = self.labels.get(label, "")
        return p_text(value) if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Result:
    """Rows of figures, one record per item, and the configuration they depend on."""

    config: Config
    rows: Sequence[Row]
    records: Sequence[Record] = field(default=(), repr=False)
    """Records of answered items."""
    folder: Path | None = None
    """The run folder, if it is stored."""
    unanswered: Sequence[Record] = field(default=(), repr=False)
    """Records of unanswered items, with the reason in `unanswered`."""
    comparisons: Sequence[Row] = field(default=(), repr=False)
    """The rows that are about several systems together; they are the last of `rows`."""
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Of each method, by what its records call it."""
    groups: Sequence[Comparison] = field(default=(), repr=False, compare=False)
    """The same figures and records by method and test set, for reports."""

    @property
    def signature(self) -> str:
        return signature(self.config)

    @property
    def short_signature(self) -> str:
        return shorten_signature(self.signature)

    def __str__(self) -> str:
        """The summary that commands print."""
        text: str = resolve("babelscope.report.summary:as_summary")(self)
        return text

    def describe_unanswered(self) -> str:
        """One line about items that were not asked or not answered; empty if there are none."""
        if not self.unanswered:
            return ""
        first = self.unanswered[0]
        why = f"{visible(str(first['id']))}: {visible(str(first['unanswered']))}"
        return f"left out: {len(self.unanswered)} items, the first being {why}\n"

    def _repr_html_(self) -> str:
        """The summary's tables for a notebook; every text is escaped."""
        html: str = resolve("babelscope.report.summary:as_html")(self)
        return html

    def table(self, format: Format = "text", *names: str, every: bool = False) -> str:
        """The tables of these names, else the first of every method and test set, or `every` table."""
        text: str = resolve("babelscope.report.summary:tables_as")(self, format, names, every=every)
        return text

    def plot(self, name: str = "") -> Figure:
        """A chart of the report as a figure of matplotlib: that of the name, else the first."""
        found: Figure = resolve("babelscope.report.page:plot")(self, name)
        return found

    def to_pandas(self) -> DataFrame:
        """The rows as a data frame, with the columns of the JSON rows."""
        return data_frame(row.as_json() for row in self.rows)

    def to_json(self) -> str:
        """Signature and rows as one JSON document, the same bytes for the same result."""
        rows = [row.as_json() for row in self.rows]
        own = len(rows) - len(self.comparisons)
        summary = {
            "signature": self.signature,
            "sha256": digest_json(self.config),
            "rows": rows[:own],
            "comparisons": rows[own:],
        }
        return json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def data_frame(rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """JSON objects as a data frame of pandas, which is imported here alone."""
    try:
        import pandas
    except ImportError:
        raise BabelscopeError("data frames need pandas, which is not installed: pip install pandas") from None
    return pandas.DataFrame(list(rows))


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, in order of appearance."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def split_unanswered(records: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """Split records into answered and unanswered ones."""
    sides: tuple[list[Record], list[Record]] = [], []
    for record in records:
        sides["unanswered" in record].append(record)
    return sides


def record_line(record: Record) -> bytes:
    """A record as a line of JSON; an error if it is not valid JSON."""
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"
    except (TypeError, ValueError) as error:  # no JSON type, NaN or infinity, a lone surrogate
        raise BabelscopeError(f"the record of item {record.get('id')!r} is not JSON text: {error}") from error


def signature(config: Config) -> str:
    """One line that identifies a result: short settings in readable form, and a hash of the configuration."""
    parts: list[str] = []
    for method in config["methods"]:
        parts.append(method["name"])
        parts += [f"{name}:{_brief(value)}" for name, value in sorted(method["settings"].items())]
        parts += [f"{role}:{_brief_system(system)}" for role, system in sorted(method["roles"].items())]
    parts.append("sys:" + ",".join(map(_brief_system, config["systems"])))
    parts.append("tests:" + ",".join(tests["digest"][:8] for tests in config["tests"]))
    parts += [f"answers:{config['answers'][:8]}"] if "answers" in config else []
    parts += [f"seed:{config['seed']}", f"v:{config['version']}", f"sha:{digest_json(config)[:16]}"]
    return "|".join(parts)


def shorten_signature(whole: str) -> str:
    """The end of a signature, which identifies a result: seed, version and hash."""
    return "|".join(whole.split("|")[-3:])


def _brief_system(fingerprint: object) -> str:
    """A system in a signature; also its prompt, and how files of scores were read: layout and direction."""
    settings = _settings_in(fingerprint)
    read = dict.fromkeys(
        f"{each['layout']}.{each['direction']}" for each in settings if {"layout", "direction"} <= each.keys()
    )
    prompts = [each["prompt"] for each in settings if isinstance(each.get("prompt"), Mapping)]
    read |= dict.fromkeys(f"prompt.{str(each.get('digest'))[:8]}" for each in prompts)
    return "/".join([_brief(fingerprint), *read])


def _settings_in(fingerprint: object) -> list[Mapping[str, Any]]:
    """The settings of a fingerprint, and of its parts, if it has one for each test set."""
    settings = fingerprint.get("settings") if isinstance(fingerprint, Mapping) else None
    if not isinstance(settings, Mapping):
        return []
    parts = settings.get("parts")
    inner = parts if isinstance(parts, list) else []
    return [settings, *(own for part in inner for own in _settings_in(part))]


def _brief(value: object) -> str:
    """A setting in a signature: its text if that is short and plain, else the first 8 digits of its SHA-256."""
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        text = ",".join(value)
    else:
        text = value if isinstance(value, str) else json.dumps(value)
    plain = not isinstance(value, Mapping) and len(text) <= 16 and text.isprintable()
    return text if plain and not set("|: ") & set(text) else digest_json(value)[:8]


def differences(old: object, new: object, where: str = "") -> list[str]:
    """The leaves in which two JSON values differ, each as `where: old there, new here`."""
    places: list[tuple[str, object, object]]
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = dict.fromkeys([*old, *new])
        dot = "." if where else ""
        places = [(f"{where}{dot}{key}", old.get(key, _NOTHING), new.get(key, _NOTHING)) for key in keys]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        places = [(f"{where}[{number}]", *pair) for number, pair in enumerate(zip(old, new, strict=True))]
    elif isinstance(old, list) and isinstance(new, list):
        return [f"{where}: {len(old)} there, {len(new)} here"]
    else:
        # Compared as JSON: to Python, True equals 1.
        there, here = _told(old), _told(new)
        return [] if there == here else [f"{where}: {_cut(there)} there, {_cut(here)} here"]
    return [found for place, a, b in places for found in differences(a, b, place)]


_NOTHING = object()


def _told(value: object) -> str:
    return "nothing" if value is _NOTHING else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def number(value: float, decimals: int | None = None) -> str:
    """A number with three significant digits, or with `digits` decimals; a dash if it is unknown."""
    if math.isnan(value):
        return "–"
    if decimals is None:
        # Large numbers are whole, and have no exponent.
        return f"{value:,.0f}" if 999.5 <= abs(value) < math.inf else f"{value:.3g}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"  # no minus before a zero


def p_text(value: float) -> str:
    """A p-value with two significant digits; of a small one, only how small it is."""
    return "< 0.0001" if 0 <= value < 0.0001 else f"{value:.2g}"


def even_decimals(values: Iterable[float]) -> int:
    """Decimals for a column of a paper's table: three digits of its smallest number, but from 1 to 4 decimals."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    return min(4, max([1, *(2 - math.floor(math.log10(size)) for size in sizes)])) if sizes else 1


# --- Which fields of a record can be compared between systems: data, so that it can be stored with a run -----------

PartLabels = tuple[tuple[str, str], ...]
"""The labels of the items that are compared (category, phenomenon, measure); empty for all items."""

_SHARE = "share of items"


@dataclass(frozen=True, slots=True)
class PairedField:
    """A field of records whose values can be compared: numbers, or verdicts with values."""

    field: str | tuple[str, ...]
    """Field of the record; ("scores", "bleu") is the field `bleu` inside the field `scores`."""
    unit: str = _SHARE
    """Unit of differences; values of a share are from 0 to 1, or booleans."""
    measure: str = ""
    """A label to distinguish it from other comparable fields of the method."""
    of: str = ""
    """The figure whose difference the mean difference of the field is: the name of a row, `{LABEL}` standing for the
    value of a field of `by`, and labels that distinguish it, as `compare --figure` has them."""
    by: tuple[str, ...] = ()
    """Fields of the record by whose values items are compared separately."""
    worth: Mapping[str, float] | None = None
    """Value of each verdict, if the field is a verdict; records with other verdicts are left out."""
    higher_is_better: bool = True
    cluster: str = "source"
    """Items with the same value of this field are resampled together: those of one source are not independent."""
    worst_of: str = ""
    """Compare only the groups by this field in which either system is worst, not all items."""
    weight: str = ""
    """Field of the record that says what it counts there; each system has its own."""
    unranked: tuple[str, ...] = ()
    """Values of `worst_of`, or of fields of `by`, that are no group."""

    def value(self, record: Record) -> float | None:
        """The number that is compared; None if the record has none."""
        found: Any = record
        for name in (self.field,) if isinstance(self.field, str) else self.field:
            found = found.get(name) if isinstance(found, Mapping) else None
        if found is None:
            return None
        if self.worth is not None and isinstance(found, str):
            return self.worth.get(found)
        if self.worth is None and isinstance(found, int | float):
            return float(found) if math.isfinite(found) else None
        raise TypeError(f"the field {self.field!r} of a record cannot be {found!r}")

    @property
    def is_verdict(self) -> bool:
        """Whether its values are those of verdicts, each worth 0 to 1."""
        if self.worth is None:
            return self.unit == _SHARE
        return all(0 <= each <= 1 for each in self.worth.values())

    def part(self, record: Record) -> PartLabels:
        """The labels of the part that the record belongs to."""
        measure = (("measure", self.measure),) if self.measure else ()
        own = {name: str(record.get(name, "")) for name in self.by}
        return (*measure, *own.items(), *((("of", self.figure(own)),) if self.of else ()))

    def figure(self, part: Mapping[str, str]) -> str:
        """The name of the figure of a part."""
        found = self.of
        for name, value in part.items():
            found = found.replace(f"{{{name}}}", value)
        return found


Ties = Literal["half", "correct", "wrong"]
"""half: counts 0.5. correct: counts 1, as in the released code of contrastive conditioning. wrong: counts 0."""


def credit(ties: Ties) -> Mapping[str, float]:
    """The credit of each verdict (correct, tie, wrong), from 0 to 1."""
    return {"correct": 1.0, "tie": {"half": 0.5, "correct": 1.0, "wrong": 0.0}[ties], "wrong": 0.0}
