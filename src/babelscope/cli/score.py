"""`babelscope score`: how probable a system finds given translations."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from babelscope.cli.common import (
    LINES_AT_ONCE,
    AsJson,
    Cache,
    Form,
    Systems,
    ToFile,
    as_line,
    ask_lines,
    file_option,
    open_systems,
    output,
    read_sources,
)
from babelscope.cli.shell import answers_kept, telling_what_is_kept
from babelscope.cli.translate import described
from babelscope.util.files import check_outputs
from babelscope.util.text import read_lines, require_equal_counts

if TYPE_CHECKING:
    from babelscope.core.results import Result
    from babelscope.core.system import Scored

_HEADING = "mean\ttotal\ttokens\ttarget"


def score(
    system: Systems,
    source: Annotated[Path, file_option("Sources, one per line.")],
    target: Annotated[Path, file_option("Their translations; a line may be empty.")],
    as_json: AsJson = False,
    to: ToFile = None,
    cache: Cache = None,
) -> None:
    """Score given translations: how probable a system finds them. In natural logs, with the end of the sentence."""
    from babelscope.systems.contract import ask_score
    from babelscope.util.progress import progress

    check_outputs({"--to": to}, inputs=[source, target, *system])
    sources, targets = read_sources(source), read_lines(target)
    require_equal_counts({str(source): len(sources), str(target): len(targets)})
    pairs = list(zip(sources, targets, strict=True))
    opened = open_systems(system, "score", cache=cache, what_for="score")
    answers: dict[str, list[tuple[str, Scored]]] = {name: [] for name in opened}
    skipped: Counter[str] = Counter()
    with (
        telling_what_is_kept(answers_kept(cache)),
        output(to, Form.JSON if as_json else Form.LINES) as write,
    ):
        if not as_json:
            write(_HEADING if len(opened) == 1 else f"system\t{_HEADING}")
        with progress("scoring", len(opened) * len(pairs)) as advance:
            for name, each in opened.items():
                ask = functools.partial(ask_score, each)
                for (asked, text), scored in ask_lines(pairs, ask, {"source": source, "target": target}):
                    if isinstance(scored, str):
                        skipped[name] += 1
                        told = {"system": name, "source": asked, "target": text, "unanswered": scored}
                        write(as_line(told) if as_json else _line(name, opened, ["-", "-", "-", text]))
                    elif as_json:
                        found = described(scored)
                        write(
                            as_line({"system": name, "source": asked, "target": found.pop("text"), **found})
                        )
                    else:
                        figures = [f"{scored.mean:.4f}", f"{scored.total:.4f}", str(len(scored.tokens))]
                        write(_line(name, opened, [*figures, scored.text]))
                    if not isinstance(scored, str):
                        answers[name].append((asked, scored))
                    advance(1)
        result = _summarize(opened, pairs, answers, skipped)
        if as_json:
            for row in result.rows:
                if row.name == "all":
                    write(as_line({**row.as_json(), "signature": result.signature}))
    if not as_json:
        print(result, file=sys.stderr)


def _summarize(
    opened: dict[str, Any],
    pairs: list[tuple[str, str]],
    answers: dict[str, list[tuple[str, Scored]]],
    skipped: Mapping[str, int],
) -> Result:
    """For each system the log-probability per token over all pairs, and the perplexity it makes."""
    from babelscope.core.results import Result, Row
    from babelscope.core.system import properties
    from babelscope.methods.base import set_up
    from babelscope.methods.jobs import config_of
    from babelscope.systems.contract import scored_as_json
    from babelscope.util.digests import digest_json

    method = set_up("likelihood", {})
    config = config_of([method], opened.values(), {}, seed=0, chunk=LINES_AT_ONCE)
    config["tests"] = [{"kind": "pairs", "digest": digest_json(pairs)}]
    told = [
        [skipped[name], *(scored_as_json(each) for _, each in scored)]
        for name, scored in answers.items()
        if not properties(opened[name]).reproducible
    ]
    config |= {"answers": digest_json(told)} if told else {}
    rows = []
    for name, scored in answers.items():
        records = [{"source": source, "references": [scored_as_json(each)]} for source, each in scored]
        for row in method.summarize(records, 0):
            figure = "all" if row.name == "logprob" else row.name
            unanswered = {"skipped": skipped[name]} if skipped[name] else {}
            rows.append(Row(figure, row.estimate, {"system": name}, {**row.counts, **unanswered}))
    return Result(config, rows)


def _line(system: str, opened: Mapping[str, Any], fields: list[str]) -> str:
    """Fields with tabs between, after the system's name where there are several."""
    return "\t".join([*([system] if len(opened) > 1 else []), *fields])
