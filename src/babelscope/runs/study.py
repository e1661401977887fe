"""A study: systems x test sets x methods, from a TOML file or Python; run in a folder and resumable there."""

from __future__ import annotations

import contextlib
import functools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    ValidationError,
    model_validator,
)

from babelscope.core.comparison import Factor, check_factors, check_kinds_of_factors
from babelscope.core.registry import did_you_mean, resolve, split_options
from babelscope.core.results import Result, record_line
from babelscope.core.settings import explain
from babelscope.core.system import System
from babelscope.making.machine_tests import with_machine_references
from babelscope.making.pairs import make_pairs, report_progress
from babelscope.methods.base import Method, set_up
from babelscope.methods.jobs import check_kinds, config_of, make_jobs
from babelscope.runs.execute import chunk_size, execute
from babelscope.runs.manifest import Shard, manifest_of
from babelscope.systems.cache import forget_unfinished, with_store
from babelscope.systems.prompting.prompts import find_prompt
from babelscope.systems.registry import (
    ByTests,
    find_scheme,
    names_of,
    open_system,
    require,
    split_name,
    with_prompt,
)
from babelscope.testsets import TestSet, load
from babelscope.testsets.loading import spec_for_scores
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import check_folder, replacing
from babelscope.util.progress import progress
from babelscope.util.text import LARGEST_TOML, parse_toml, read_bytes, regular_only, stream_lines


def opener_of(run: RunTable, stack: contextlib.ExitStack) -> Callable[[str], Any]:
    """Opens systems here, or in Ray workers, which start with the first system and end with the stack."""
    if run.engine != "ray":
        return open_system
    from babelscope.systems.ray import Pool, spread

    @functools.cache
    def pool() -> Pool:
        address = run.address or None
        return stack.enter_context(Pool(run.workers, address=address, cpus=run.cpus, gpus=run.gpus))

    def opened(spec: str) -> Any:
        if find_scheme(spec).stored:
            return open_system(spec)
        # A chunk goes to one worker undivided, so that batches and floats are the same as without Ray.
        return spread(spec, pool=pool(), part=None)

    return opened


@contextlib.contextmanager
def errors_located(where: str, place: str = "") -> Iterator[None]:
    """Prefix errors in the block with their place in the study; a command, without `where`, has none."""
    prefix = f"{where}{': ' if where and place else ''}{place}" if where else ""
    try:
        yield
    except SystemFailure as error:
        raise (SystemFailure(f"{prefix}: {error}") if prefix else error) from error
    except BabelscopeError as error:
        raise (BabelscopeError(f"{prefix}: {error}") if prefix else error) from error


_Text = Annotated[str, Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class StudyTable(_Table):
    """`[study]`: what it is called, its seed, and how its figures are split and put together."""

    name: str = "study"
    """What the report and the run folder are called; in a file, its name without `.toml` unless given."""
    seed: int = 0
    """Seed of everything random."""
    by: list[_Text] = []
    """Fields of the items, or `length`: all figures for each of their values, too."""
    seed_groups: list[_Text] = []
    """Patterns of names (`lab:teacher-*`) of systems that differ by their seed only: mean and sd over each."""


class Entry(_Table):
    """One of `[[tests]]`: what it is, what it is called in the results, and who makes machine references for it."""

    spec: _Text
    """What is opened: a system (docs/reference/system-options.md) or a test set (docs/howto/testsets.md)."""
    name: str = ""
    """What it is called in rows and reports; its spec unless given."""
    machine_references: list[_Text] = []
    """Systems that translate the sources of minimal pairs again: pairs are made of their translations, too
    (docs/methods/minimal-pairs.md), each system for an equal share of the sources."""

    @property
    def label(self) -> str:
        return self.name or self.spec


def _check_spec(value: object) -> str | dict[str, str]:
    """Validate the spec of a system; by hand, because pydantic's errors about a union are hard to read."""
    specs = list(value.values()) if isinstance(value, dict) else [value]
    if specs and all(isinstance(each, str) and each for each in specs):
        return cast("str | dict[str, str]", value)
    raise ValueError("must be a system, or a table of test sets and a system for each")


class SystemEntry(_Table):
    """One of `[[systems]]`; a table of specs has one for each test set that it is asked about, by their names."""

    spec: Annotated[str | dict[str, str], PlainValidator(_check_spec)]
    name: str = ""
    """What it is called in rows and reports; unless given, the end of its path or its spec."""
    factors: Annotated[dict[str, Factor], PlainValidator(check_factors)] = {}
    """What is known of it, such as `{ width = 256, distilled = true, seed = 2 }`: labels of its figures, axes of
    pictures, and covariates of `compare`. Systems that differ in `seed` alone are a group of seeds."""
    prompt: list[_Text] = []
    """Of `llm:` and `openai:`: prompts (docs/howto/prompts.md). The system is asked by each, and figures are also
    given over all of them."""

    @model_validator(mode="before")
    @classmethod
    def _name_in_the_spec(cls, given: Any) -> Any:
        """`spec = "NAME=SPEC"` is a spec and a name, as on the command line."""
        spec = given.get("spec") if isinstance(given, Mapping) else None
        name, rest = split_name(spec) if isinstance(spec, str) else ("", spec)
        if name and given.get("name", name) != name:
            raise ValueError(f"two names for one system, {given['name']} and {name}: leave one out")
        return {**given, "spec": rest, "name": name} if name else given

    @model_validator(mode="after")
    def _parts_have_a_name(self) -> Self:
        if not self.name and not isinstance(self.spec, str):
            raise ValueError("a system with a spec for each test set needs a name")
        return self

    def by_prompt(self) -> list[SystemEntry]:
        """An entry for each of its prompts; itself if it has none."""
        if self.prompt and not isinstance(self.spec, str):
            raise BabelscopeError("a system with a spec for each test set names its prompts there (?prompt=)")
        digests: dict[str, str] = {}
        found = []
        for said in self.prompt:
            prompt = find_prompt(said)
            if other := digests.get(prompt.digest):
                raise BabelscopeError(f"two prompts are the same, {other} and {said}: leave one of them out")
            digests[prompt.digest] = said
            called = prompt.name or prompt.digest[:8]
            own = {
                "spec": with_prompt(self.text, said),
                "name": self.name and f"{self.name} [{called}]",
                # A factor, so that systems under two prompts are no group of seeds.
                "factors": {**self.factors, "prompt": called},
                "prompt": [],
            }
            found.append(self.model_copy(update=own))
        return found or [self]

    @property
    def specs(self) -> list[str]:
        return [self.spec] if isinstance(self.spec, str) else list(self.spec.values())

    @property
    def label(self) -> str:
        return self.name or self.text

    @property
    def text(self) -> str:
        """The spec as text, for the manifest."""
        return self.spec if isinstance(self.spec, str) else json.dumps(self.spec, ensure_ascii=False)


class MethodEntry(_Table):
    """One of `[[methods]]`: its name and its settings; a label tells two of one name apart."""

    model_config = ConfigDict(extra="allow")

    name: _Text
    """A method: `babelscope --help` lists them among the commands."""
    label: str = ""
    """What it is called in rows and reports; its name unless given. Two methods of one name need it."""
    tests: list[str] = []
    """Names of the test sets that it is for; all that fit if none is given."""
    systems: list[str] = []
    """Names of the systems that it is for; all of them if none is given."""


class MakeTable(_Table):
    """One of `[[make]]`: minimal pairs made of parallel text, as by `babelscope make pairs`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    """The test set is `made:NAME`, and `tests/NAME.jsonl` in the run folder."""
    type: Annotated[list[_Text], Field(min_length=1)]
    """Error types, see `babelscope make pairs --list-types`."""
    source: Path
    """Sources, one per line."""
    reference: Path
    """References in the language of the error types, one per line."""
    kind: Literal["human", "machine"] = "human"
    """Who wrote the references."""
    mode: str | None = None
    """For types with several: strict (the default), clean, as-released."""
    all_variants: StrictBool = False
    """All variants of a sentence, not one chosen at random."""


Show = Literal["table", "figure", "rows", "records"]
FORMATS: Mapping[Show, Mapping[str, str]] = {
    "table": {".tex": "latex", ".md": "markdown", ".csv": "csv", ".txt": "text", ".html": "html"},
    "figure": {".pdf": "pdf", ".svg": "svg", ".png": "png"},
    "rows": {".csv": "csv"},
    "records": {".csv": "csv"},
}
"""What an output shows -> suffix of its file -> format."""


class OutputTable(_Table):
    """One of `[[outputs]]`: a file in the run folder, written when the run is finished."""

    file: Path
    """Its path in the run folder. The suffix names the format: .tex, .md, .csv, .txt or .html of tables, .pdf, .svg
    or .png of figures, .csv of rows and records."""
    show: Show = "table"
    """table, figure, rows (every figure, one line each) or records (every item, one line each)."""
    name: str = ""
    """Which table or figure. Unless given, the first of every method and test set, or the first figure."""
    method: str = ""
    """Only tables and figures of the method of this label."""
    tests: str = ""
    """Only tables and figures of the test set of this name."""

    @model_validator(mode="after")
    def _is_a_file_of_the_run(self) -> Self:
        if self.file.is_absolute() or ".." in self.file.parts or "~" in str(self.file):
            raise ValueError(f"{str(self.file)!r} must be a path in the run folder, without .. and ~")
        if self.file.parts[:1] in (("tests",), ("report.html",)):
            raise ValueError(f"{self.file} is a name that run folders use themselves; choose another")
        if self.file.suffix not in FORMATS[self.show]:
            raise ValueError(
                f"a file of {self.show} ends in {', '.join(FORMATS[self.show])}, not {self.file}"
            )
        if self.show in ("rows", "records") and (self.name or self.method or self.tests):
            raise ValueError(f"{self.show} are written whole: leave name, method and tests out")
        return self


class RunTable(_Table):
    """`[run]`: where and how it is run. Only `chunk` can change a number, and only in its last bits."""

    out: Path | None = None
    """The run folder; `runs/NAME` beside the study unless given."""
    cache: StrictBool | Path | None = None
    """Remember answers: in the user's cache folder, or in a file. Unless it is false, those of servers
    are kept in any case until the run has ended."""
    chunk: int | None = Field(default=None, ge=1)
    """How many items are asked, and stored, at once: 128, fewer with slow methods, or all if a system or a method
    must be asked as a whole."""
    data_dir: Path | None = None
    """Folder of the public test sets; `$BABELSCOPE_DATA`, or the user's data folder, unless given."""
    registries: list[_Text] = []
    """Registries of test sets that others published, each a file, a folder or an https:// address
    (docs/howto/publish.md); those of `$BABELSCOPE_REGISTRY` are read, too."""
    engine: Literal["here", "ray"] = "here"
    """Where systems are asked: in this process, or in Ray workers, each with all of them."""
    workers: int | None = Field(default=None, ge=1)
    """How many Ray workers; as many as the cluster has room for unless given."""
    address: str = ""
    """HOST:PORT of the Ray cluster, or auto for your own on this machine; else one is started."""
    cpus: float = Field(default=1, gt=0, allow_inf_nan=False)
    """Processor cores of each worker."""
    gpus: float = Field(default=0, ge=0, allow_inf_nan=False)
    """GPUs of each worker; half a GPU is shared by two."""

    @model_validator(mode="after")
    def _workers_have_an_engine(self) -> Self:
        spare = {"workers", "address", "cpus", "gpus"} & self.model_fields_set
        if spare and self.engine != "ray":
            raise ValueError(f'{min(spare)} only applies to Ray workers; set engine = "ray"')
        return self


class Study(_Table):
    """Every method on every system and every test set whose items it judges."""

    study: StudyTable = StudyTable()
    systems: Annotated[list[SystemEntry], Field(min_length=1)]
    tests: Annotated[list[Entry], Field(min_length=1)]
    methods: Annotated[list[MethodEntry], Field(min_length=1)]
    make: list[MakeTable] = []
    outputs: list[OutputTable] = []
    run: RunTable = RunTable()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        labels = {
            "systems": [entry.label for entry in self.systems],
            "tests": [entry.label for entry in self.tests],
            "methods": [entry.label or entry.name for entry in self.methods],
            "make": [entry.name for entry in self.make],
            "outputs": [str(entry.file) for entry in self.outputs],
        }
        for table, names in labels.items():
            for name, times in Counter(names).items():
                if times > 1:
                    key = {"methods": "label", "outputs": "file"}.get(table, "name")
                    raise ValueError(f"two {table} are called {name!r}; give one another {key}")
        self._check_names(labels)
        check_kinds_of_factors({entry.label: entry.factors for entry in self.systems})
        return self

    def _check_names(self, labels: Mapping[str, list[str]]) -> None:
        """Refuse names of systems and made test sets that the study does not have, and test sets made for nothing."""
        used = {entry.spec.removeprefix(MADE) for entry in self.tests if entry.spec.startswith(MADE)}
        for name in sorted(used - set(labels["make"])):
            raise ValueError(
                f"{MADE}{name} is made by no [[make]]; {did_you_mean(name, labels['make'], 'add one')}"
            )
        for name in labels["make"]:
            if name not in used:
                raise ValueError(
                    f"nothing uses the test set {name}; add [[tests]] with spec = '{MADE}{name}'"
                )
        known_systems = {*labels["systems"], *names_of(labels["systems"]).values()}
        for method in self.methods:
            for name in method.systems:
                if name not in known_systems:
                    known = f"there are {', '.join(labels['systems'])}"
                    hint = did_you_mean(name, labels["systems"], known)
                    raise ValueError(f"{method.label or method.name} is for a system {name!r}; {hint}")


MADE = "made:"
"""What the specs of test sets begin with that the study makes itself."""


def read_study(path: str | Path) -> Study:
    """The study a TOML file describes; errors name the file and the key."""
    return parse_study(read_bytes(path, most=LARGEST_TOML), path)


def parse_study(data: bytes, path: str | Path) -> Study:
    """The study in the bytes of a TOML file."""
    values = parse_toml(data, path)
    if isinstance(head := values.get("study", {}), dict):
        values["study"] = {"name": Path(path).stem, **head}
    try:
        return Study.model_validate(values)
    except ValidationError as error:
        raise BabelscopeError(explain(error, Study, str(path))) from None


def run_study(
    study: Study | str | Path,
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    cache: bool | Path | None = None,
    data_dir: str | Path | None = None,
    shard: Shard | str | None = None,
    ray: str | None = None,
    workers: int | None = None,
    file: Path | None = None,
) -> Result:
    """Run a study into its run folder, or resume it there; arguments override the study.

    Relative paths in a study are relative to its file, whose folder is the working
    folder while it runs. The run folder is `out`, or `runs/NAME` beside the study. With a shard (`3/16`) only
    its share of the items is asked, into a folder of its own; the result has records and no rows.
    With `ray`, an address or "" for none, systems are asked in Ray workers. `file` is what a `Study` was read from.
    """
    shard = Shard.parse(shard) if isinstance(shard, str) else shard
    file = file if isinstance(study, Study) else Path(study)
    where = "the study" if file is None else str(file)
    base = Path.cwd() if file is None else file.absolute().parent
    files = contextlib.nullcontext() if file is None else regular_only()
    study = study if isinstance(study, Study) else read_study(study)
    folder = Path(out).absolute() if out is not None else base / (study.run.out or _default_out(study, where))
    if shard is not None and out is None:
        folder = folder.with_name(f"{folder.name}-shard-{shard.number}-of-{shard.of}")
    check_folder(folder)
    study = _with_overrides(study, seed=seed, cache=cache, data_dir=data_dir, ray=ray, workers=workers)
    with files, contextlib.chdir(base):
        return _open_and_run(study, where, folder, shard)


def judge_study(study: Study, *, out: str | Path | None = None, cache: bool | Path | None = None) -> Result:
    """Run a study into the folder `out`, or in memory without one; every judging command calls this."""
    folder = None if out is None else Path(out).absolute()
    if folder is not None:
        check_folder(folder)
    return _open_and_run(_with_overrides(study, cache=cache), "", folder, None)


def _with_overrides(
    study: Study,
    *,
    seed: int | None = None,
    cache: bool | Path | None = None,
    data_dir: str | Path | None = None,
    ray: str | None = None,
    workers: int | None = None,
) -> Study:
    """The study with the caller's overrides."""
    head = study.study if seed is None else study.study.model_copy(update={"seed": seed})
    given: dict[str, Any] = {"workers": workers} if workers is not None else {}
    if ray is not None:
        given |= {"engine": "ray", **({"address": ray} if ray else {})}
    if cache is not None:
        given["cache"] = cache.absolute() if isinstance(cache, Path) else cache
    if data_dir is not None:
        given["data_dir"] = Path(data_dir).absolute()
    run = study.run.model_copy(update=given)
    if workers is not None and run.engine != "ray":
        raise BabelscopeError("workers only applies with --ray")
    return study.model_copy(update={"study": head, "run": run})


def _open_and_run(study: Study, where: str, folder: Path | None, shard: Shard | None) -> Result:
    """Open test sets, methods and systems, cheapest first, so that mistakes show before models load; then run."""
    study = _as_score_files_count(study, where)
    seed, run = study.study.seed, study.run

    def opened(spec: str) -> Any:
        return with_store(opener(spec), run.cache)

    with contextlib.ExitStack() as stack:
        opener = functools.cache(opener_of(run, stack))
        made = _make_tests(study, where)
        tests = _load_tests(study, made, where)
        entries = _by_prompts(study, where)
        methods = _set_up_methods(study, entries, opened, where)
        with errors_located(where):
            check_kinds(methods, tests)
        systems: dict[str, System] = {}
        for own, _, place in entries:
            with errors_located(where, place):
                system = _open_entry(own, opened, tests)
                if own.name in systems:
                    raise BabelscopeError(f"two systems are called {own.name}")
                systems[own.name] = system
        authors = _make_references(study, tests, opened, where)
        with errors_located(where):
            jobs = make_jobs(methods, systems, tests, seed)
        chunk = chunk_size(methods, systems.values(), tests.values(), run.chunk)
        config = config_of(methods, systems, tests, seed=seed, chunk=chunk)
        manifest = manifest_of(
            study.study.name,
            config,
            methods,
            jobs,
            {
                "systems": dict(zip(systems, (entry.text for entry, *_ in entries), strict=True)),
                "tests": dict(zip(tests, (entry.spec for entry in study.tests), strict=True)),
            },
            authors=authors,
            factors=dict(zip(systems, (entry.factors for entry, *_ in entries), strict=True)),
            by=study.study.by,
            seed_groups=study.study.seed_groups,
            shard=shard,
        )
        result = execute(jobs, manifest, folder)
    forget_unfinished()
    if folder is not None and shard is None:
        _write_files(study, made, result, folder, where)
    return result


def _write_files(study: Study, made: Mapping[str, TestSet], result: Result, folder: Path, where: str) -> None:
    """Write the test sets that were made, and all outputs, into the run folder; the same bytes every time."""
    for name, tests in made.items():
        write_inside(
            folder, Path("tests", f"{name}.jsonl"), b"".join(record_line(i.as_json()) for i in tests)
        )
    for number, output in enumerate(study.outputs):
        with errors_located(where, f"outputs[{number}]"):
            data = resolve("babelscope.report.outputs:as_bytes")(result, output)
            write_inside(folder, output.file, data)


def write_inside(folder: Path, file: Path, data: bytes) -> None:
    """Write a file of a run folder; a link there could lead anywhere, and is refused."""
    path = folder / file
    if path.is_symlink() or not path.parent.resolve().is_relative_to(folder.resolve()):
        raise BabelscopeError(f"{path} is a link or lies behind one: remove it, or choose another file")
    with replacing(path) as out:
        out.write(data)


def _by_prompts(study: Study, where: str) -> list[tuple[SystemEntry, set[str], str]]:
    """The systems, named, one for each prompt, with what methods may call them and their places in the study."""
    found = []
    names = names_of(each.label for each in study.systems)
    for number, asked in enumerate(study.systems):
        called = {asked.label, asked.name or names[asked.label]}
        with errors_located(where, place := f"systems[{number}]"):
            found += [(each, called, place) for each in asked.by_prompt()]
    names = names_of(own.label for own, *_ in found)
    return [
        (own.model_copy(update={"name": own.name or names[own.label]}), called, place)
        for own, called, place in found
    ]


def _set_up_methods(
    study: Study,
    entries: Iterable[tuple[SystemEntry, set[str], str]],
    opened: Callable[[str], Any],
    where: str,
) -> list[Method]:
    """The methods, each with its settings, its other systems, and the systems that it is for."""
    methods = []
    for number, each in enumerate(study.methods):
        with errors_located(where, f"methods[{number}]"):
            only = [own.name for own, called, _ in entries if called & set(each.systems)]
            given = each.model_extra or {}
            methods.append(
                set_up(each.name, given, label=each.label, tests=each.tests, only=only, opener=opened)
            )
    return methods


def _as_score_files_count(study: Study, where: str) -> Study:
    """The study with the items of published test sets that only files of scores count, if it has such files.

    Score files that do not state their layout have the one that the publishers of the test sets define.
    """
    if not any(_is_score_file(spec) for entry in study.systems for spec in entry.specs):
        return study
    found = {entry.label: spec_for_scores(entry.spec) for entry in study.tests}
    tests = [
        entry.model_copy(update={"spec": found[entry.label][0], "name": entry.label if where else entry.name})
        for entry in study.tests
    ]
    layouts = {layout for _, layout in found.values()}
    layout = layouts.pop() if len(layouts) == 1 else ""
    systems = [
        entry.model_copy(update={"spec": _with_layout(entry.spec, layout)})
        if isinstance(entry.spec, str)
        else entry
        for entry in study.systems
    ]
    return study.model_copy(update={"systems": systems, "tests": tests})


def _is_score_file(spec: str) -> bool:
    return spec.startswith("scores:")


def _with_layout(spec: str, layout: str) -> str:
    path, query = split_options(spec)
    if not layout or "lines=" in query or not _is_score_file(spec):
        return spec
    return f"{path}?{query}{'&' if query else ''}lines={layout}"


def _open_entry(entry: SystemEntry, opened: Callable[[str], Any], tests: Mapping[str, TestSet]) -> System:
    """The system of an entry; specs for several test sets make one system."""
    if isinstance(entry.spec, str):
        system: System = opened(entry.spec)
        return system
    return ByTests(entry.label, {each: opened(spec) for each, spec in entry.spec.items()}, tests)


def _make_tests(study: Study, where: str) -> dict[str, TestSet]:
    """The test sets of `[[make]]`, by their names there."""
    made: dict[str, TestSet] = {}
    for number, step in enumerate(study.make):
        with errors_located(where, f"make[{number}]"), progress(f"making {step.name}", 0) as advance:
            pairs = make_pairs(
                step.type,
                report_progress(stream_lines(step.source), advance),
                stream_lines(step.reference),
                kind=step.kind,
                seed=study.study.seed,
                choose="all" if step.all_variants else "one",
                mode=step.mode,
            )
            made[step.name] = TestSet(step.name, tuple(pairs))
    return made


def _load_tests(study: Study, made: Mapping[str, TestSet], where: str) -> dict[str, TestSet]:
    tests: dict[str, TestSet] = {}
    for number, entry in enumerate(study.tests):
        with errors_located(where, f"tests[{number}]"):
            if entry.spec.startswith(MADE):
                loaded = made[entry.spec.removeprefix(MADE)]
            else:
                loaded = load(entry.spec, data_dir=study.run.data_dir, registries=study.run.registries)
            # In a command, which has no place, a test set has the name that it gives itself.
            tests[entry.label if where else entry.name or loaded.name] = loaded
    return tests


def _make_references(
    study: Study, tests: dict[str, TestSet], opened: Callable[[str], Any], where: str
) -> dict[str, dict[str, System]]:
    """Add machine references to the test sets that name systems for that; these systems, by their specs."""
    authors: dict[str, dict[str, System]] = {}
    for number, (name, entry) in enumerate(zip(tests, study.tests, strict=True)):
        if not entry.machine_references:
            continue
        with errors_located(where, f"tests[{number}].machine_references"):
            own = authors[name] = {spec: opened(spec) for spec in entry.machine_references}
            for system in own.values():
                require(system, "translate", what_for="machine references")
            with progress("making machine references", len(tests[name])) as advance:
                tests[name] = with_machine_references(
                    tests[name], list(own.values()), seed=study.study.seed, advance=advance
                )
    return authors


def _default_out(study: Study, where: str) -> Path:
    name = study.study.name
    if name in ("", ".", "..") or not set("/\0").isdisjoint(name):
        raise BabelscopeError(f"{where}: study.name {name!r} cannot name a folder; give one with --out")
    return Path("runs") / name
