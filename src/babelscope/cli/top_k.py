"""`babelscope top-k`: the exact search by itself, with its proof; no references needed."""

from __future__ import annotations

import functools
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Form,
    Systems,
    ToFile,
    as_line,
    ask_lines,
    open_systems,
    output,
    read_sources,
)
from babelscope.cli.shell import going_on
from babelscope.cli.translate import described, one_line, tell_notes
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs
from babelscope.util.terminal import terminal_width

if TYPE_CHECKING:
    from babelscope.core.results import Result, Row
    from babelscope.core.system import LengthRule, TopK

# Sources searched between two writes to the store: enough to share forward passes, and a kill loses these.
_AT_ONCE = 64
_MOST_LENGTHS = 1000
# Lines of figures in the summary, so that all of it has at most 40.
_MOST_FIGURES = 30
_VERSION = 1
_CERTIFICATE = ("proven", "bound", "mass", "expansions", "seconds")


def top_k(
    system: Systems,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Sources, one per line; - is stdin.")] = Path(
        "-"
    ),
    k: Annotated[int, typer.Option("--k", min=1, help="Hypotheses per source.")] = 10,
    length: Annotated[
        int, typer.Option(min=0, help="Only hypotheses of so many tokens, EOS included; 0: of all lengths.")
    ] = 0,
    lengths: Annotated[
        str, typer.Option(metavar="A..B", help="Search each of these lengths by itself.")
    ] = "",
    max_length: Annotated[int, typer.Option(min=0, help="Tokens at most; 0: the system's own limit.")] = 0,
    length_penalty: Annotated[
        float, typer.Option(help="Rank by log-probability / length to this power; 0: by log-probability.")
    ] = 0,
    budget_expansions: Annotated[
        int | None, typer.Option(min=1, help="Prefixes a search may expand for a source.")
    ] = None,
    budget_seconds: Annotated[
        float | None, typer.Option(help="Seconds a search may take for a source; not reproducible.")
    ] = None,
    budget_bytes: Annotated[int | None, typer.Option(min=1, help="Memory a search may hold at once.")] = None,
    as_json: AsJson = False,
    to: ToFile = None,
    cache: Cache = None,
) -> None:
    """Search for the most probable translations, with proof. No references are needed.

    One line per hypothesis, with the proof: whether nothing unseen is better, and the bound that nothing unseen
    exceeds; the probability mass of all hypotheses seen; prefixes expanded; seconds. A search that was stopped goes
    on where it was.
    """
    from babelscope.core.system import Budget
    from babelscope.systems.contract import ask_top_k
    from babelscope.util.digests import digest_json
    from babelscope.util.progress import progress

    if budget_seconds is not None and not budget_seconds > 0:
        raise BabelscopeError(f"--budget-seconds {budget_seconds}: a search needs some time")
    limits = Budget(budget_expansions, budget_seconds, budget_bytes)
    rules = _rules(length, lengths, max_length, length_penalty)
    check_outputs({"--to": to}, inputs=[file, *system])
    sources = read_sources(file)
    opened = open_systems(system, "top_k", cache=cache, what_for="top-k")
    stated = {
        "length": length,
        "lengths": lengths,
        "max_length": max_length,
        "length_penalty": length_penalty,
    }
    stated |= {f"budget_{name}": value for name, value in asdict(limits).items()}
    settings = {"k": k, **{name: value for name, value in stated.items() if value}}
    searches = [_Searches(name, {rule: [] for rule in rules}) for name in opened]
    form = Form.JSON if as_json else Form.LINES
    with (
        going_on("top-k", to, list(opened.values()), sources=digest_json(sources), **settings) as (_, asked),
        output(to, form) as write,
        progress("searching", len(opened) * len(rules) * len(sources)) as advance,
    ):
        if not as_json:
            write("\t".join(_heading(opened, length_penalty)))
        for own, each in zip(searches, asked, strict=True):
            # The greatest length first: if the model cannot have it, that is said before any work.
            for rule in reversed(rules):
                ask = functools.partial(ask_top_k, each, k=k, budget=limits, lengths=rule)
                for found in ask_lines(sources, ask, {"source": file}, at_once=_AT_ONCE):
                    own.found[rule].append(found)
                    advance(1)
                    if rule == rules[0]:  # the last to be searched
                        for line in own.lines(len(own.found[rule]), k, as_json, len(opened) > 1):
                            write(line)
        result = _summarize(opened, sources, settings, searches)
        for row in result.rows if as_json else ():
            write(as_line({**row.as_json(), "signature": result.signature}))
    answers = [answer for own in searches for answer in own.answers]
    tell_notes("hypotheses", Counter(note for each in answers for own in each.found for note in own.notes))
    if not as_json:
        print(_summary(result, sum(each.seconds or 0.0 for each in answers)), file=sys.stderr)


def _rules(length: int, lengths: str, max_length: int, penalty: float) -> list[LengthRule]:
    """What each source is searched by, in the order of lengths."""
    from babelscope.core.system import LengthRule

    if not lengths:
        return [LengthRule(length, max_length, penalty)]
    if length or max_length:
        raise BabelscopeError(
            "--lengths says which lengths are searched; leave out --length and --max-length"
        )
    found = re.fullmatch(r"([0-9]{1,4})\.\.([0-9]{1,4})", lengths, re.ASCII)
    first, last = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= first <= last <= _MOST_LENGTHS:
        raise BabelscopeError(
            f"--lengths {lengths}: say the least and the greatest length, as in 1..20; at most {_MOST_LENGTHS}"
        )
    return [LengthRule(each, penalty=penalty) for each in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class _Searches:
    """All searches of one system: by rule, each source with its answer, or with the reason why there is none."""

    system: str
    found: Mapping[LengthRule, list[tuple[str, TopK | str]]]

    @property
    def answers(self) -> list[TopK]:
        return [each for own in self.found.values() for _, each in own if not isinstance(each, str)]

    def lines(self, number: int, k: int, as_json: bool, named: bool) -> Iterator[str]:
        """What is written of the source of that number, from 1."""
        for rule, own in self.found.items():
            source, answer = own[number - 1]
            if as_json:
                names = {"length": rule.exactly, "max_length": rule.at_most, "length_penalty": rule.penalty}
                asked = {name: value for name, value in names.items() if value}
                head = {"system": self.system, "line": number, "source": source, "k": k, **asked}
                yield as_line({**head, **_as_json(answer, rule)})
            else:
                for cells in _cells(answer, rule):
                    yield "\t".join([*([self.system] if named else []), str(number), *cells])


def _as_json(answer: TopK | str, rule: LengthRule) -> dict[str, Any]:
    from babelscope.core.results import finite_or_none

    if isinstance(answer, str):
        return {"found": [], "unanswered": answer}
    sure = answer.proven(rule)
    hypotheses = [{**described(each), "proven": rank < sure} for rank, each in enumerate(answer.found)]
    if rule.penalty:
        for own, each in zip(hypotheses, answer.found, strict=True):
            own["normalized"] = rule.rank(each.total, len(each.tokens))
    proof = {"exact": answer.exact, "bound": finite_or_none(answer.bound), "mass": answer.mass}
    effort = {name: getattr(answer, name) for name in ("expansions", "minimum", "seconds")}
    return {"found": hypotheses, **proof, **effort}


def _heading(opened: Mapping[str, Any], penalty: float) -> list[str]:
    named = ["system"] if len(opened) > 1 else []
    score = ["logprob", "normalized"] if penalty else ["logprob"]
    return [*named, "source", "rank", *score, "tokens", *_CERTIFICATE, "translation"]


def _cells(answer: TopK | str, rule: LengthRule) -> Iterator[list[str]]:
    """One line per hypothesis; one with dashes where there is none."""
    absent = ["-"] * (2 if rule.penalty else 1)
    if isinstance(answer, str):
        yield ["-", *absent, "-", *("-" for _ in _CERTIFICATE), ""]
        return
    seconds = "-" if answer.seconds is None else f"{answer.seconds:.3f}"
    proof = [f"{answer.bound:.4f}", f"{answer.mass:.4g}", str(answer.expansions), seconds]
    sure = answer.proven(rule)
    for rank, each in enumerate(answer.found, 1):
        score = [f"{each.total:.4f}"]
        score += [f"{rule.rank(each.total, len(each.tokens)):.4f}"] if rule.penalty else []
        proven = "yes" if rank <= sure else "no"
        yield [str(rank), *score, str(len(each.tokens)), proven, *proof, one_line(each)]
    if not answer.found:
        yield ["-", *absent, str(rule.exactly or "-"), "yes" if answer.exact else "no", *proof, ""]


def _summarize(
    opened: Mapping[str, Any],
    sources: Sequence[str],
    settings: Mapping[str, Any],
    searches: Sequence[_Searches],
) -> Result:
    """For each system, and each length searched by itself: what was proven, and what the best hypotheses are."""
    from babelscope.core.results import Result
    from babelscope.util.digests import digest_json
    from babelscope.util.version import __version__

    config = {
        "methods": [{"name": "top-k", "version": _VERSION, "settings": dict(settings), "roles": {}}],
        "systems": [each.fingerprint.as_json() for each in opened.values()],
        "tests": [{"kind": "sources", "digest": digest_json(sources)}],
        "seed": 0,
        "chunk": _AT_ONCE,
        "version": __version__,
    }
    rows: list[Row] = []
    for own in searches:
        for rule, some in own.found.items():
            label = {"length": rule.exactly} if rule.exactly else {}
            rows += _rows(some, {"system": own.system, **label}, rule)
    return Result(config, rows)


def _rows(
    some: Sequence[tuple[str, TopK | str]], labels: Mapping[str, str | int], rule: LengthRule
) -> Iterator[Row]:
    from babelscope.core.results import Row
    from babelscope.stats.intervals import clustered_mean, clustered_proportion

    searched = [(source, answer) for source, answer in some if not isinstance(answer, str)]
    skipped = {"skipped": len(some) - len(searched)} if len(some) > len(searched) else {}
    sources = [source for source, _ in searched]
    values = [float(each.exact) for _, each in searched]
    yield Row("proven", clustered_proportion(values, sources), labels, skipped)
    # A best hypothesis without proof may not be the best, so that it counts in no figure about that.
    proven = [(source, each) for source, each in searched if each.exact or each.proven(rule)]
    left_out = {"unresolved": len(searched) - len(proven), **skipped}
    best = [(source, each.found[0]) for source, each in proven if each.found]
    of = [source for source, _ in best]
    if not rule.exactly:
        empty = [float(len(each.tokens) == 1) for _, each in best]
        counts = {"empty": int(sum(empty)), **left_out}
        yield Row("empty_mode", clustered_proportion(empty, of), labels, counts)
    none = {"none": len(proven) - len(best)} if len(proven) > len(best) else {}
    negative, positive = (-math.inf, 0.0), (0.0, math.inf)
    totals = [each.total for _, each in best]
    yield Row("logprob", clustered_mean(totals, of, within=negative), labels, {**left_out, **none})
    if rule.penalty:
        ranks = [rule.rank(each.total, len(each.tokens)) for _, each in best]
        yield Row("normalized", clustered_mean(ranks, of, within=negative), labels, {**left_out, **none})
    if not rule.exactly:
        tokens = [float(len(each.tokens)) for _, each in best]
        yield Row("tokens", clustered_mean(tokens, of, within=positive), labels, left_out)
    for name, scale in (("mass", (0.0, 1.0)), ("expansions", positive)):
        effort = [float(getattr(each, name)) for _, each in searched]
        yield Row(name, clustered_mean(effort, sources, within=scale), labels, skipped)


def _summary(result: Result, seconds: float) -> str:
    """The figures for people, in at most 40 lines."""
    from babelscope.core.tables import rows_text

    shown, more = result.rows[:_MOST_FIGURES], len(result.rows) - _MOST_FIGURES
    lines = [rows_text(shown, terminal_width())]
    lines += [f"{more} more rows with --json"] if more > 0 else []
    lines += [f"searching took {seconds:.1f} s", result.signature]
    return "\n".join(lines)
