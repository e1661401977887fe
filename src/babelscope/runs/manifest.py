"""manifest.json of a run folder (`format: 3`): what was run, as a typed document."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, model_validator

from babelscope.core.comparison import Factor, Factors, check_factors
from babelscope.core.results import PairedField, Record, signature
from babelscope.core.settings import explain
from babelscope.core.system import System, properties
from babelscope.methods.base import Method, restore_settings, title_of
from babelscope.methods.jobs import Job, drops_context, identity_of
from babelscope.methods.registry import find_method
from babelscope.runs.folder import FORMAT, read_object, require_format
from babelscope.testsets.items import TestSet
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.version import __version__

Json = dict[str, Any]
JOB_LABELS = ("method", "system", "tests")
"""Labels of rows, and fields of records, that name a job."""
_Text = Annotated[str, Field(strict=True)]
_Count = Annotated[int, Field(strict=True, ge=0, le=10**12)]


class _ManifestModel(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class MethodPart(_ManifestModel):
    """A method of the run."""

    name: _Text
    version: int = 1
    """Raised when the method's numbers change."""
    summary: str = ""
    settings: Json = {}
    """As they were given, with defaults."""
    identity: Json = {}
    """What some of them resolved to: versions of analyzers, digests of programs."""
    roles: dict[str, Json] = {}
    """Fingerprints of its other systems, such as an evaluator."""
    paired: list[PairedField] = []
    """Which fields of its records can be compared between systems."""


class SystemPart(_ManifestModel):
    """A system of the run."""

    spec: _Text
    fingerprint: Json
    factors: Annotated[dict[str, Factor], PlainValidator(check_factors)] = {}
    """What the study says of it: its width, its seed."""
    drops_context: bool = False
    """Whether it is asked without the context that items may have."""


class TestsPart(_ManifestModel):
    """A test set of the run."""

    __test__ = False

    spec: _Text
    kind: _Text
    """What its items are."""
    digest: _Text
    version: int = 1
    """Raised when a named set's figures change."""
    machine_references: dict[str, Json] = {}
    """Fingerprints of the systems whose translations pairs were made of for the run, by their specs."""


class JobPart(_ManifestModel):
    """One method on one system and one test set, by what the study calls them."""

    method: _Text
    system: _Text
    tests: _Text
    items: _Count
    skipped: dict[str, int] = {}
    """How many items of the test set's files were left out when it was read, by reason."""
    reproducible: bool = True
    """False if one of its systems, a server, may answer otherwise another time."""

    @property
    def labels(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in JOB_LABELS}


class Shard(_ManifestModel):
    """Which share of a study a folder has: shard `number`, from 1, of `of`."""

    number: Annotated[int, Field(strict=True, ge=1)]
    of: Annotated[int, Field(strict=True, ge=1)]

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        if self.number > self.of:
            raise ValueError(f"there is no shard {self}")
        return self

    @classmethod
    def parse(cls, text: str) -> Shard:
        """A shard as it is written: `3/16`."""
        found = re.fullmatch(r"([0-9]{1,9})/([1-9][0-9]{0,8})", text)
        if found is None:
            raise BabelscopeError(f"a shard is written as 3/16 (the third of sixteen), not {text!r}")
        number, of = map(int, found.groups())
        if not 1 <= number <= of:
            raise BabelscopeError(f"there is no shard {text}; shards of {of} are 1/{of} and so on")
        return cls(number=number, of=of)


class RecordsPart(_ManifestModel):
    """records.jsonl as a finished run or shard left it, so that damage is noticed."""

    count: _Count
    sha256: _Text


class Cost(_ManifestModel):
    """What asking cost, over all times the run was worked on; what a kill cut short is not counted."""

    seconds: float = 0.0
    tokens: int = 0
    """Of the answers, end of sentence included."""
    retries: int = 0
    """Questions to servers that had to be asked again."""


def total_cost(costs: Iterable[Cost]) -> Cost:
    """The sum of costs."""
    costs = list(costs)
    return Cost(
        seconds=round(sum(each.seconds for each in costs), 3),
        tokens=sum(each.tokens for each in costs),
        retries=sum(each.retries for each in costs),
    )


class Manifest(_ManifestModel):
    """manifest.json of a run folder."""

    format: Literal[3]
    study: str
    status: Literal["unfinished", "finished"] = "unfinished"
    signature: str
    sha256: str
    """Of `config`, with `answers` in it where there are."""
    answers: str | None = None
    """SHA-256 of what systems that are not reproducible answered, written when the run is finished."""
    config: Json
    """Everything the figures depend on, and nothing else: what the signature is made of."""
    by: list[str] = []
    """Fields of items by which figures are split, too."""
    seed_groups: list[str] = []
    """Patterns of names of systems that differ by their seed only."""
    methods: dict[str, MethodPart]
    systems: dict[str, SystemPart]
    tests: dict[str, TestsPart]
    jobs: list[JobPart]
    shard: Shard | None = None
    records: RecordsPart | None = None
    """Written when the run is finished."""
    software: dict[str, str] = {}
    cost: Cost = Cost()
    notes: list[str] = []
    """What readers must know beside the figures, such as what `check` could not test."""

    @property
    def seed(self) -> int:
        return int(self.config["seed"])

    @model_validator(mode="after")
    def _config_is_whole(self) -> Self:
        for name in ("seed", "chunk"):
            if type(self.config.get(name)) is not int:
                raise ValueError(f"config.{name} is not a whole number")
        for name, kind in (("methods", list), ("systems", list), ("tests", list)):
            if not isinstance(self.config.get(name), kind):
                raise ValueError(f"config.{name} is not a list")
        return self

    def by_job(self, records: Sequence[Record]) -> Iterator[tuple[JobPart, Sequence[Record]]]:
        """Each job with its records, from all records of the run in order."""
        start = 0
        for job in self.jobs:
            yield job, records[start : start + job.items]
            start += job.items

    def as_json(self) -> Json:
        found = self.model_dump(mode="json")
        for name in ("shard", "records", "answers", "notes"):
            if not found[name]:
                del found[name]
        return found

    def method_of(self, label: str) -> Method:
        """A method of the run, with its settings as stored."""
        part = self.methods[label]
        method = find_method(part.name)
        return method(restore_settings(method, part.settings), label=label)


def manifest_of(
    name: str,
    config: Json,
    methods: Iterable[Method],
    jobs: Iterable[Job],
    specs: Mapping[Literal["systems", "tests"], Mapping[str, str]],
    *,
    authors: Mapping[str, Mapping[str, System]] = MappingProxyType({}),
    factors: Mapping[str, Factors] = MappingProxyType({}),
    by: Iterable[str] = (),
    seed_groups: Iterable[str] = (),
    shard: Shard | None = None,
    notes: Iterable[str] = (),
) -> Manifest:
    """The manifest of a run that is about to be asked."""
    jobs = list(jobs)
    systems = {job.system_name: job.system for job in jobs}
    tests = {job.tests_name: job.tests for job in jobs}
    return Manifest(
        format=FORMAT,
        study=name,
        signature=signature(config),
        sha256=digest_json(config),
        config=config,
        by=list(by),
        seed_groups=list(seed_groups),
        methods={method.label: describe_method(method, tests) for method in methods},
        systems={
            label: SystemPart(
                spec=spec,
                fingerprint=systems[label].fingerprint.as_json(),
                factors=dict(factors.get(label, {})),
                drops_context=drops_context(systems[label]),
            )
            for label, spec in specs["systems"].items()
            if label in systems
        },
        tests={
            label: _tests_part(spec, tests[label], authors.get(label, {}))
            for label, spec in specs["tests"].items()
            if label in tests
        },
        jobs=[
            JobPart(
                **job.labels,
                items=len(job.tests),
                skipped=dict(job.tests.skipped),
                reproducible=all(properties(each).reproducible for each in job.systems.values()),
            )
            for job in jobs
        ],
        shard=shard,
        notes=list(notes),
        software={
            "babelscope": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
        },
    )


def _tests_part(spec: str, tests: TestSet, authors: Mapping[str, System]) -> TestsPart:
    made = {each: system.fingerprint.as_json() for each, system in authors.items()}
    return TestsPart.model_validate({"spec": spec, **tests.identity, "machine_references": made})


def describe_method(method: Method, tests: Mapping[str, TestSet]) -> MethodPart:
    """The entry of a method in a manifest."""
    return MethodPart(
        name=method.name,
        version=method.version,
        summary=title_of(type(method)),
        settings=method.settings.model_dump(mode="json"),
        identity=identity_of(method, tests),
        roles={role: system.fingerprint.as_json() for role, system in method.roles.items()},
        paired=list(method.paired()),
    )


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run folder, finished or not."""
    path = folder / "manifest.json"
    if not path.is_file():
        raise BabelscopeError(f"{folder} is not a run folder: it has no manifest.json")
    return parse_manifest(read_object(path), path)


def parse_manifest(found: Json, path: Path) -> Manifest:
    """A manifest read as JSON."""
    require_format(found, path)
    try:
        manifest = Manifest.model_validate(found)
    except ValidationError as error:
        raise BabelscopeError(explain(error, Manifest, f"{path} is damaged")) from None
    for number, job in enumerate(manifest.jobs):
        for table in ("method", "system", "tests"):
            known = getattr(manifest, table if table == "tests" else f"{table}s")
            if getattr(job, table) not in known:
                raise BabelscopeError(f"{path} is damaged: jobs[{number}] has a {table} that is not there")
    return manifest
