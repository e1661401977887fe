"""`babelscope translate` and `babelscope score`: ask systems about lines of text."""

from __future__ import annotations

import functools
import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import typer

from babelscope.cli.common import (
    ABOUT_TOKENIZERS,
    LINES_AT_ONCE,
    AsJson,
    Cache,
    Form,
    Seed,
    Systems,
    ToFile,
    as_line,
    ask_lines,
    check_beam,
    file_option,
    open_systems,
    option,
    output,
    read_sources,
    setting,
)
from babelscope.cli.shell import (
    answers_kept,
    going_on,
    refuse_unused,
    telling_what_is_kept,
    typed_options,
)
from babelscope.systems.exact import SOURCES_AT_ONCE
from babelscope.systems.mbr import SAMPLES_AT_ONCE, Decision, Sources, Weights
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs
from babelscope.util.terminal import terminal_width
from babelscope.util.text import read_lines, require_equal_counts, shorten, text_fault

if TYPE_CHECKING:
    from babelscope.core.results import Result, Row
    from babelscope.core.system import (
        Budget,
        Capability,
        Diversity,
        Drawing,
        LengthRule,
        Scored,
        Segmented,
        TopK,
    )
    from babelscope.systems.mbr import Decoding

_MOST_LENGTHS = 1000
_N = {"beam": 1, "sample": 200, "exact": 10, "mbr": 100, "rerank": 10}
# What options have an effect on, beside those on all.
_OF_DRAWING = ("seed", "temperature", "top_k", "top_p", "epsilon")
_OF_SEARCH = ("length", "length_penalty", "budget_expansions", "budget_seconds", "budget_bytes")
# Columns of the sum over segmentations.
_SUMMED = ("summed", "segmentations", "share")
_OF_RISK = ("tokenize", "aggregate", "weights")

File = Annotated[Path | None, typer.Argument(metavar="FILE", help="Sources, one per line; - is stdin.")]


def translate(
    context: typer.Context,
    system: Systems,
    file: File = None,
    tests: Annotated[str, option("Translate the sources of this test set instead.", metavar="TESTS")] = "",
    decode: Annotated[
        Literal["beam", "sample", "exact", "mbr", "rerank"],
        option(
            "Beam search, sampling, exact search (with proof), minimum Bayes risk decoding of samples or "
            "given lists (lists:, file:), or reranking of a beam, samples or lists by a metric."
        ),
    ] = "beam",
    n: Annotated[
        int | None,
        option(
            "Translations per source. [default: beam 1, sample 200, exact 10; candidates: mbr 100, "
            "rerank 10]",
            "--n",
            min=1,
        ),
    ] = None,
    beam: Annotated[int, option("Beam size.", min=1)] = 5,
    groups: Annotated[int, setting("Beam: diverse beam search in this many groups.", min=1)] = 1,
    diversity: Annotated[
        float, setting("Beam: price of a token for each prefix of an earlier group that has it.", min=0)
    ] = 0.5,
    seed: Seed = 0,
    temperature: Annotated[float, option("Sampling temperature; 1 samples from the model itself.")] = 1,
    top_k: Annotated[int, setting("Sample from this many most probable tokens; 0: all.")] = 0,
    top_p: Annotated[
        float, setting("Sample from the most probable tokens of this total probability; 1: all.")
    ] = 1,
    epsilon: Annotated[float, setting("Sample from tokens of at least this probability.")] = 0,
    max_length: Annotated[int, setting("Maximum number of tokens; 0: the system's own limit.", min=0)] = 0,
    length: Annotated[
        str,
        setting("Exact: only translations of this many tokens, EOS included; A..B: separately for each."),
    ] = "",
    length_penalty: Annotated[float, setting("Exact: rank by log-probability / length ** this power.")] = 0,
    budget_expansions: Annotated[
        int | None, option("Exact: maximum number of prefixes expanded per source.", min=1)
    ] = None,
    budget_seconds: Annotated[
        float | None,
        setting("Maximum time per source, in seconds; not reproducible."),
    ] = None,
    budget_bytes: Annotated[int | None, setting("Maximum memory of a search, in bytes.", min=1)] = None,
    metric: Annotated[
        list[str] | None,
        option(
            "Utility of mbr (default chrf), or what rerank chooses by (cometkiwi, cmd:COMMAND?reference=no: no "
            "references); repeatable.",
            metavar="METRIC",
        ),
    ] = None,
    tokenize: Annotated[str, setting(ABOUT_TOKENIZERS)] = "",
    aggregate: Annotated[
        int,
        setting(
            "mbr: compare with the mean n-gram counts of this many parts of the candidates, in linear "
            "time (chrf, chrf++); 0: with each candidate.",
            min=0,
        ),
    ] = 0,
    weights: Annotated[
        Weights | None,
        setting(
            "mbr: weight of a candidate as reference: its number of samples, or its probability "
            "within the list."
        ),
    ] = None,
    candidates: Annotated[
        Literal["beam", "sample"], setting("rerank: what is reranked, the best of a beam or samples.")
    ] = "beam",
    as_json: AsJson = False,
    to: ToFile = None,
    cache: Cache = None,
) -> None:
    """Translate lines of text.

    Writes one line per source with `--n` translations separated by tabs, after the system's name if there are
    several. `--decode exact` writes one line per translation, with its proof or bound.
    """
    from babelscope.core.system import Budget, Diversity, Drawing

    source = candidates if decode == "rerank" else decode
    drawn = source in ("sample", "mbr")
    refuse_unused(
        context,
        {
            **dict.fromkeys(("beam", "groups"), None if source == "beam" else "--decode beam or rerank"),
            "diversity": None if groups > 1 else "--set groups=N",
            "max_length": "--decode sample, exact or mbr" if source == "beam" else None,
            "candidates": None if decode == "rerank" else "--decode rerank",
            "metric": None if decode in ("mbr", "rerank") else "--decode mbr or rerank",
            **dict.fromkeys(_OF_DRAWING, None if drawn else "--decode sample or mbr"),
            **dict.fromkeys(_OF_SEARCH, None if decode == "exact" else "--decode exact"),
            **dict.fromkeys(_OF_RISK, None if decode == "mbr" else "--decode mbr"),
        },
    )
    if "beam" in typed_options(context):
        check_beam(system)
    if decode == "rerank" and not metric:
        raise BabelscopeError("--decode rerank needs --metric, one without references, such as cometkiwi")
    metrics = list(dict.fromkeys(metric or ["chrf"])) if decode in ("mbr", "rerank") else []
    check_outputs({"--to": to}, inputs=[file, tests, *system, *metrics, tokenize])
    number = n or _N[decode]
    drawing = Drawing(temperature, top_k, top_p, epsilon, max_length if decode != "exact" else 0)
    decoder: _Decoder
    diverse = Diversity(groups, diversity) if groups > 1 else None
    if decode == "beam":
        decoder = _Beam(_sources(file, tests), number, _beam_for(system, beam, number), diverse)
    elif decode == "sample":
        decoder = _Samples(_sources(file, tests), number, seed, drawing)
    elif decode in ("mbr", "rerank"):
        how: dict[str, Any] = {"n": number, "seed": seed, "drawing": drawing}
        if decode == "mbr":
            how |= {"parts": aggregate, "weights": weights}
        elif source == "beam":
            size = beam if "beam" in typed_options(context) else number
            how |= {"beam": _beam_for(system, size, number), "diversity": diverse}
        decoder = _ByMetric.of(file, tests, metrics, tokenize, decode, **how)
    else:
        if budget_seconds is not None and not budget_seconds > 0:
            raise BabelscopeError(f"--budget-seconds {budget_seconds}: must be greater than 0")
        budget = Budget(budget_expansions, budget_seconds, budget_bytes)
        rules = _rules(length, max_length, length_penalty)
        decoder = _Exact(_sources(file, tests), number, budget, rules, length)
    decoder.write_answers(system, to, cache, as_json=as_json)


def score(
    system: Systems,
    target: Annotated[Path, file_option("Translations of the sources, one per line.")],
    file: File = None,
    segmentations: Annotated[
        int,
        setting(
            "Also the probability of the text, summed over segmentations into tokens: stop after this many; 0: "
            "of its own tokens only.",
            min=0,
        ),
    ] = 0,
    as_json: AsJson = False,
    to: ToFile = None,
    cache: Cache = None,
) -> None:
    """Score given translations: how probable a system finds them. Natural logs, end of sentence included."""
    source = file or Path("-")
    check_outputs({"--to": to}, inputs=[source, target, *system])
    sources, targets = Sources.of_lines(source, read_sources(source)), read_lines(target)
    require_equal_counts({str(source): len(sources.texts), str(target): len(targets)})
    _Scores(sources, target, targets, segmentations).write_answers(system, to, cache, as_json=as_json)


def _sources(file: Path | None, tests: str, reader: str = "a system") -> Sources:
    """The lines of a file, or the sources of a test set, refused if `reader` needs sources that are unknown."""
    from babelscope.testsets import Dependency, load
    from babelscope.testsets.items import NO_SOURCE

    if file is not None and tests:
        raise BabelscopeError("give FILE or --tests, not both")
    if not tests:
        return Sources.of_lines(file or Path("-"), read_sources(file or Path("-")))
    items = [item for item in load(tests) if not isinstance(item, Dependency)]
    if reader and any(NO_SOURCE in item.extra for item in items):
        raise BabelscopeError(f"{reader} may need the sources, and {tests} has none; give a FILE of sources")
    languages = frozenset(item.target_language or "" for item in items)
    return Sources(Path(tests), [item.source for item in items], [item.id for item in items], languages)


def _beam_for(specs: Sequence[str], beam: int, n: int) -> int:
    from babelscope.systems.registry import find_scheme

    if n > beam and any(find_scheme(spec).beam for spec in specs):
        raise BabelscopeError(f"a beam of {beam} has no {n} best translations; use --beam {n}")
    return max(beam, n)


def _rules(length: str, max_length: int, penalty: float) -> list[LengthRule]:
    """The length rules of the searches, shortest first."""
    from babelscope.core.system import LengthRule

    if not length:
        return [LengthRule(0, max_length, penalty)]
    found = re.fullmatch(r"([0-9]{1,4})(?:\.\.([0-9]{1,4}))?", length, re.ASCII)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last:
        raise BabelscopeError(f"--set length={length}: give a length or a range, such as 1..20")
    if last - first >= _MOST_LENGTHS:
        raise BabelscopeError(f"--set length={length}: at most {_MOST_LENGTHS} lengths can be searched")
    return [LengthRule(each, max_length, penalty) for each in range(first, last + 1)]


class _Answer(NamedTuple):
    """The output for one source, made only when it is written."""

    rows: Iterable[Mapping[str, Any]]
    """As JSON, without the system."""
    lines: Iterable[Sequence[str]]
    """As text: fields, without the system."""
    notes: Sequence[str] = ()
    is_missing: bool = False


@dataclass
class _Decoder:
    """Finds and writes answers; one subclass per kind of question."""

    sources: Sources
    command: ClassVar[str] = "translate"
    kind: ClassVar[str] = "translations"
    doing: ClassVar[str] = "translating"
    needs: ClassVar[tuple[Capability, ...]] = ()
    heading: ClassVar[Sequence[str]] = ()

    @property
    def passes(self) -> int:
        """The number of searches per source."""
        return 1

    def answers(self, name: str, system: Any, advance: Callable[[int], object]) -> Iterator[_Answer]:
        """The answers of a system of that name, in the order of the sources."""
        raise NotImplementedError

    def result(self, opened: Mapping[str, Any]) -> Result | None:  # noqa: ARG002
        """Figures over all answers, if there are any."""
        return None

    def rows(self, result: Result) -> Sequence[Row]:
        """The rows printed as JSON."""
        return result.rows

    def kept(self, opened: Mapping[str, Any], to: Path | None) -> Any:  # noqa: ARG002
        """A context that stores answers for resuming; None: only --cache stores them."""
        return None

    def close(self) -> None:
        """Print further warnings on stderr."""

    def write_answers(
        self, specs: Sequence[str], to: Path | None, cache: bool | None, *, as_json: bool
    ) -> None:
        """Ask each system about each source and write its answers, then figures, notes and what is missing."""
        from babelscope.core.tables import rows_text
        from babelscope.util.progress import progress

        opened = open_systems(specs, *self.needs, cache=cache, what_for=self.command)
        several = len(opened) > 1
        notes: Counter[str] = Counter()
        missing = 0
        total = len(opened) * len(self.sources.texts) * self.passes
        kept = self.kept(opened, to) or telling_what_is_kept(answers_kept(cache))
        with (
            kept as resumed,
            output(to, Form.JSON if as_json else Form.LINES) as write,
            progress(self.doing, total) as advance,
        ):
            if self.heading and not as_json:
                write("\t".join([*(["system"] if several else []), *self.heading]))
            systems = opened.values() if resumed is None else resumed[1]
            for name, system in zip(opened, systems, strict=True):
                for answer in self.answers(name, system, advance):
                    notes.update(answer.notes)
                    missing += answer.is_missing
                    for row in answer.rows if as_json else ():
                        write(as_line({"system": name, **row}))
                    for line in answer.lines if not as_json else ():
                        write("\t".join([*([name] if several else []), *line]))
            result = self.result(opened)
            if result is not None and as_json:
                for figure in self.rows(result):
                    write(as_line({**figure.as_json(), "signature": result.signature}))
        if notes:
            told = ", ".join(f"{count} {note}" for note, count in sorted(notes.items()))
            print(f"babelscope: {self.kind} with notes: {told}", file=sys.stderr)
        self.close()
        if result is not None and not as_json:
            print(f"{rows_text(result.rows, terminal_width())}\n{result.signature}", file=sys.stderr)
        elif result is None and sys.stderr.isatty():
            count = len(self.sources.texts)
            lines = f"{count:,} {'line' if count == 1 else 'lines'}"
            lacking = f"; {missing:,} answers are missing" if missing else ""
            print(f"babelscope: {lines} translated by {', '.join(opened)}{lacking}", file=sys.stderr)

    def ask(
        self, ask: Callable[..., Any], advance: Callable[[int], object], at_once: int = LINES_AT_ONCE
    ) -> Any:
        """Each source with its answer, or with the reason for no answer."""
        for each in ask_lines(self.sources.texts, ask, {"source": self.sources.path}, at_once=at_once):
            yield each
            advance(1)

    def listed(self, source: str, answers: list[Scored] | str, **more: Any) -> _Answer:
        """All answers to a source on one line."""
        if isinstance(answers, str):
            row = {"source": source, self.kind: [], "unanswered": answers}
            return _Answer([row], [[""]], is_missing=True)
        rows = ({"source": source, self.kind: [_described(own) for own in answers], **more} for _ in (1,))
        lines = ([_one_line(own) for own in answers] for _ in (1,))
        return _Answer(rows, lines, [note for own in answers for note in own.notes])


@dataclass
class _Beam(_Decoder):
    """The best translations of a beam."""

    n: int
    beam: int
    diversity: Diversity | None
    needs = ("translate",)

    def answers(self, name: str, system: Any, advance: Callable[[int], object]) -> Iterator[_Answer]:  # noqa: ARG002
        from babelscope.systems.contract import ask_translate
        from babelscope.systems.stored.alignment import align_to_sources

        aligned = align_to_sources(system, str(self.sources.path), self.sources.texts)
        ask = functools.partial(
            ask_translate, aligned, beam=self.beam, n_best=self.n, diversity=self.diversity
        )
        for source, found in self.ask(ask, advance):
            yield self.listed(source, found)


@dataclass
class _Samples(_Decoder):
    """Samples; those of a source depend only on the source and the seed."""

    n: int
    seed: int
    drawing: Drawing
    command = "--decode sample"
    kind = "samples"
    doing = "sampling"
    needs = ("sample",)

    def answers(self, name: str, system: Any, advance: Callable[[int], object]) -> Iterator[_Answer]:  # noqa: ARG002
        from babelscope.systems.contract import ask_sample

        ask = functools.partial(ask_sample, system, n=self.n, seed=self.seed, drawing=self.drawing)
        for source, drawn in self.ask(ask, advance, at_once=max(1, SAMPLES_AT_ONCE // self.n)):
            unfinished = sum("unfinished" in each.notes for each in drawn if not isinstance(each, str))
            yield self.listed(source, drawn, n=self.n, seed=self.seed, unfinished=unfinished)


@dataclass
class _ByMetric(_Decoder):
    """The candidate of highest expected utility, or of highest quality, by each metric."""

    decoding: Decoding
    decided: dict[str, list[tuple[str, Mapping[str, Decision]]]] = field(default_factory=dict)
    kind = "candidates"
    doing = "decoding"

    @classmethod
    def of(
        cls, file: Path | None, tests: str, metrics: list[str], tokenize: str, decode: str, **how: Any
    ) -> _ByMetric:
        """Decoding by these metrics, of sources that they can read."""
        from babelscope.systems.mbr import Decoding, Reranking, decoding_by

        kind = Reranking if decode == "rerank" else Decoding
        decoding = decoding_by(metrics, tokenize=tokenize, kind=kind, **how)
        read = [metric.name for metric in decoding.metrics if metric.reads_sources]
        sources = _sources(file, tests, reader=read[0] if read else "")
        return cls(sources, decoding if tokenize else decoding.for_languages(sources.languages))

    def answers(self, name: str, system: Any, advance: Callable[[int], object]) -> Iterator[_Answer]:
        ask_batches: Any = functools.partial(ask_lines, files={"source": self.sources.path})
        own = self.decided.setdefault(name, [])
        asked = self.decoding.candidates(system, self.sources, ask_batches)
        for (source, candidates), found in self.decoding.decisions(system, asked):
            notes: list[str] = []
            if not isinstance(candidates, str):
                notes = [note for each in candidates for note in each.notes if note != "whole"]
                own.append((source, found))
            metrics = [metric.name for metric in self.decoding.metrics]
            chosen = [(metric, found.get(metric) or str(candidates)) for metric in metrics]
            rows = ({"source": source, "metric": by, **self._as_json(each)} for by, each in chosen)
            named = [[by] if len(metrics) > 1 else [] for by in metrics]
            lines = (
                [*leading, "" if isinstance(each, str) else _one_line(each.answer)]
                for leading, (_, each) in zip(named, chosen, strict=True)
            )
            yield _Answer(rows, lines, notes)
            advance(1)

    def _as_json(self, found: Decision | str) -> dict[str, Any]:
        if isinstance(found, str):
            return {"translation": None, "unanswered": found}
        choice = found.choice
        how = {"weights": found.weights.value, "aggregate": self.decoding.parts} if found.weights else {}
        best = {"utility" if found.weights else "quality": choice.utility}
        figures = {name: getattr(choice, name) for name in ("n", "distinct", "tied")}
        return {"translation": _described(found.answer), **best, **figures, **how}

    def result(self, opened: Mapping[str, Any]) -> Result:
        from babelscope.systems.mbr import result_of

        return result_of(self.decoding, opened, self.sources.texts, self.decided)

    def close(self) -> None:
        """Warn about sources with a single candidate, which is compared with itself."""
        for name, answers in self.decided.items():
            alone = sum(
                any(found.weights and found.choice.n == 1 for found in own.values()) for _, own in answers
            )
            if alone:
                print(
                    f"babelscope: {name} has a single candidate for {alone} of {len(answers)} sources, "
                    f"whose expected utility is that of a text compared with itself",
                    file=sys.stderr,
                )


@dataclass
class _Exact(_Decoder):
    """The most probable translations, with proof; an interrupted search is resumed."""

    n: int
    budget: Budget
    rules: list[LengthRule]
    length: str
    searched: dict[str, dict[LengthRule, list[tuple[str, TopK | str]]]] = field(default_factory=dict)
    command = "--decode exact"
    kind = "hypotheses"
    doing = "searching"
    needs = ("top_k",)

    @property
    def passes(self) -> int:
        return len(self.rules)

    @property
    def heading(self) -> list[str]:  # type: ignore[override]
        rank = ["source", "rank", "logprob", *(["normalized"] if self.rules[0].penalty else []), "tokens"]
        return [*rank, "proven", "bound", "mass", "expansions", "seconds", "translation"]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings in the signature."""
        rule = self.rules[0]
        lengths = {"lengths": self.length} if ".." in self.length else {"length": rule.exactly}
        limits = {f"budget_{name}": value for name, value in asdict(self.budget).items()}
        stated = {**lengths, "max_length": rule.at_most, "length_penalty": rule.penalty, **limits}
        return {"k": self.n, **{name: value for name, value in stated.items() if value}}

    def kept(self, opened: Mapping[str, Any], to: Path | None) -> Any:
        from babelscope.util.digests import digest_json

        sources = digest_json(list(self.sources.texts))
        return going_on("translate", to, list(opened.values()), sources=sources, **self.settings)

    def answers(self, name: str, system: Any, advance: Callable[[int], object]) -> Iterator[_Answer]:
        from babelscope.systems.contract import ask_top_k

        own = self.searched[name] = {rule: [] for rule in self.rules}
        # The greatest length first, so that a model that cannot produce it is refused before any work.
        for rule in reversed(self.rules):
            ask = functools.partial(ask_top_k, system, k=self.n, budget=self.budget, lengths=rule)
            for found in self.ask(ask, advance, at_once=SOURCES_AT_ONCE):
                own[rule].append(found)
                if rule == self.rules[0]:  # the last to be searched
                    yield self._answer(
                        len(own[rule]), [(each, own[each][len(own[rule]) - 1]) for each in own]
                    )

    def _answer(self, number: int, found: Sequence[tuple[LengthRule, tuple[str, TopK | str]]]) -> _Answer:
        """The output for a source by its number, from 1."""
        rows = (
            {"line": number, "source": source, "k": self.n, **_search_as_json(answer, rule)}
            for rule, (source, answer) in found
        )
        lines = ([str(number), *cells] for rule, (_, answer) in found for cells in _cells(answer, rule))
        answers = [answer.found for _, (_, answer) in found if not isinstance(answer, str)]
        return _Answer(rows, lines, [note for own in itertools.chain(*answers) for note in own.notes])

    def result(self, opened: Mapping[str, Any]) -> Result:
        from babelscope.systems.exact import result_of

        return result_of(opened, self.sources.texts, self.settings, self.searched)


def _search_as_json(answer: TopK | str, rule: LengthRule) -> dict[str, Any]:
    from babelscope.core.results import finite_or_none

    names = {"length": rule.exactly, "max_length": rule.at_most, "length_penalty": rule.penalty}
    asked = {name: value for name, value in names.items() if value}
    if isinstance(answer, str):
        return {**asked, "found": [], "unanswered": answer}
    sure = answer.proven(rule)
    found = [{**_described(each), "proven": rank < sure} for rank, each in enumerate(answer.found)]
    if rule.penalty:
        for own, each in zip(found, answer.found, strict=True):
            own["normalized"] = rule.rank(each.total, len(each.tokens))
    proof = {"exact": answer.exact, "bound": finite_or_none(answer.bound), "mass": answer.mass}
    effort = {name: getattr(answer, name) for name in ("expansions", "minimum", "seconds")}
    return {**asked, "found": found, **proof, **effort}


def _cells(answer: TopK | str, rule: LengthRule) -> Iterator[list[str]]:
    """One line per hypothesis; one with dashes where there is none."""
    absent = ["-"] * (2 if rule.penalty else 1)
    if isinstance(answer, str):
        yield ["-", *absent, *"------", ""]
        return
    seconds = "-" if answer.seconds is None else f"{answer.seconds:.3f}"
    proof = [f"{answer.bound:.4f}", f"{answer.mass:.4g}", str(answer.expansions), seconds]
    sure = answer.proven(rule)
    for rank, each in enumerate(answer.found, 1):
        score = [f"{each.total:.4f}"]
        score += [f"{rule.rank(each.total, len(each.tokens)):.4f}"] if rule.penalty else []
        proven = "yes" if rank <= sure else "no"
        yield [str(rank), *score, str(len(each.tokens)), proven, *proof, _one_line(each)]
    if not answer.found:
        yield ["-", *absent, str(rule.exactly or "-"), "yes" if answer.exact else "no", *proof, ""]


@dataclass
class _Scores(_Decoder):
    """Log-probabilities of given translations."""

    target: Path
    targets: list[str]
    segmentations: int
    """After how many of a target its sum stops; 0 for no sum."""
    answered: dict[str, list[tuple[str, Scored]]] = field(default_factory=dict)
    summed: dict[str, list[tuple[str, Segmented]]] = field(default_factory=dict)
    command = "score"
    doing = "scoring"
    needs = ("score",)

    @property
    def heading(self) -> list[str]:  # type: ignore[override]
        return ["mean", "total", "tokens", *(_SUMMED if self.segmentations else ()), "target"]

    def answers(self, name: str, system: Any, advance: Callable[[int], object]) -> Iterator[_Answer]:
        from babelscope.core.system import Segmented
        from babelscope.systems.contract import ask_score, ask_segmentations, segmented_as_json

        sums, own = self.summed.setdefault(name, []), self.answered.setdefault(name, [])
        pairs = list(zip(self.sources.texts, self.targets, strict=True))
        files = {"source": self.sources.path, "target": self.target}
        n = self.segmentations
        ask: Any = (
            functools.partial(ask_segmentations, system, n=n) if n else functools.partial(ask_score, system)
        )
        for (source, target), answer in ask_lines(pairs, ask, files):
            scored = answer.usual if isinstance(answer, Segmented) else answer
            row: dict[str, Any] = {"source": source, "target": target}
            if isinstance(scored, str):
                yield _Answer([{**row, "unanswered": scored}], [[*"-" * (len(self.heading) - 1), target]])
            else:
                own.append((source, scored))
                figures = [f"{scored.mean:.4f}", f"{scored.total:.4f}", str(len(scored.tokens))]
                found = _described(scored)
                if isinstance(answer, Segmented):
                    sums.append((source, answer))
                    found |= segmented_as_json(answer)
                    at_least = "" if answer.exact else ">="
                    figures += [f"{at_least}{answer.total:.4f}", str(answer.count), f"{answer.share:.8f}"]
                yield _Answer([row | {"target": found.pop("text"), **found}], [[*figures, scored.text]])
            advance(1)

    def rows(self, result: Result) -> Sequence[Row]:
        return [row for row in result.rows if row.name in ("all", "usual_segmentation")]

    def result(self, opened: Mapping[str, Any]) -> Result:
        """Log-probability per token and perplexity of each system over all pairs."""
        from babelscope.core.results import Result, Row
        from babelscope.core.system import properties
        from babelscope.methods.base import set_up
        from babelscope.methods.jobs import config_of
        from babelscope.stats.intervals import clustered_mean
        from babelscope.systems.contract import scored_as_json
        from babelscope.util.digests import digest_json

        method = set_up("likelihood", {})
        config = config_of([method], opened, {}, seed=0, chunk=LINES_AT_ONCE)
        pairs = list(zip(self.sources.texts, self.targets, strict=True))
        config["tests"] = [{"kind": "pairs", "digest": digest_json(pairs)}]
        if self.segmentations:
            config["methods"][0]["settings"]["segmentations"] = self.segmentations
        skipped = {name: len(pairs) - len(own) for name, own in self.answered.items()}
        told = [
            [skipped[name], *(scored_as_json(each) for _, each in own)]
            for name, own in self.answered.items()
            if not properties(opened[name]).reproducible
        ]
        config |= {"answers": digest_json(told)} if told else {}
        rows = []
        for name, own in self.answered.items():
            records = [{"source": source, "references": [scored_as_json(each)]} for source, each in own]
            unanswered = {"skipped": skipped[name]} if skipped[name] else {}
            for row in method.summarize(records, 0):
                figure = "all" if row.name == "logprob" else row.name
                rows.append(Row(figure, row.estimate, {"system": name}, {**row.counts, **unanswered}))
            if own_sums := [(source, each) for source, each in self.summed[name] if each.total > -math.inf]:
                share = clustered_mean(
                    [each.share for _, each in own_sums], [source for source, _ in own_sums]
                )
                counts = {"lower_bounds": sum(not each.exact for _, each in own_sums)}
                rows.append(Row("usual_segmentation", share, {"system": name}, counts))
        return Result(config, rows)


def _one_line(answer: Scored) -> str:
    """A translation as a line; a line break in it would shift all later lines."""
    if fault := text_fault(answer.text):
        raise BabelscopeError(f"a translation {fault}: {shorten(answer.text)}; use --json")
    return answer.text


def _described(answer: Scored) -> dict[str, Any]:
    """An answer as JSON, with total and mean of its log-probabilities."""
    from babelscope.core.results import finite_or_none
    from babelscope.systems.contract import scored_as_json

    sums = {"total": answer.total, "mean": answer.mean} if answer.has_total else {}
    return {**scored_as_json(answer), **{key: finite_or_none(value) for key, value in sums.items()}}
