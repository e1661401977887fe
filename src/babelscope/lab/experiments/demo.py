"""The demo: two lab systems, every method, and a summary for a newcomer."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path

from babelscope.core.results import Estimate, Result, Row
from babelscope.methods.patterns.counts import flows_of, occurrences
from babelscope.methods.patterns.flow import STAGES, read_queries
from babelscope.report.flows import FILE as FLOWS
from babelscope.runs.study import Entry, MethodEntry, Study, StudyTable, SystemEntry
from babelscope.systems.asking import ask_translate
from babelscope.systems.opening import open_system
from babelscope.util.files import replacing

SYSTEMS = ("teacher", "student")


def demo_study(n: int = 200, seed: int = 0) -> Study:
    """Teacher and student on the lab's own test sets, n items each (minimal pairs spread over the error types)."""
    return Study(
        study=StudyTable(name="demo", seed=seed),
        systems=[SystemEntry(name=name, spec=f"lab:{name}") for name in SYSTEMS],
        tests=[
            Entry(name="sentences", spec=f"lab:parallel?n={n}&seed=2026"),
            Entry(name="minimal pairs", spec=f"lab:pairs?n={max(1, n // 8)}&seed=2026"),
            Entry(name="he and she", spec=f"lab:gender?n={n}&seed=2026"),
            Entry(name="word senses", spec=f"lab:senses?n={n}&seed=2026"),
            Entry(name="far apart", spec=f"lab:challenge?n={n}&seed=2026"),
            Entry(name="some sentences", spec=f"lab:parallel?n={max(10, n // 4)}&seed=2026"),
        ],
        methods=[
            MethodEntry(name="likelihood", tests=["sentences"]),
            MethodEntry(name="contrast"),
            MethodEntry.model_validate({"name": "condition", "evaluator": "lab:teacher"}),
            MethodEntry.model_validate({"name": "challenge", "tests": ["far apart"]}),
            MethodEntry.model_validate(
                {"name": "space", "tests": ["some sentences"], "samples": 100, "curves": True}
            ),
        ],
    )


def write_flows(folder: Path, n: int = 200) -> None:
    """Write how the gender of occupations flows from training data to teacher to student, for the report.

    Counted in the first n training pairs with an occupation whose gender the source does not show.
    """
    from babelscope.lab.grammar.corpus import generate
    from babelscope.lab.training.recipe import CORPUS_SEED, PAIRS

    if (folder / FLOWS).exists():
        return
    corpus = generate(PAIRS, CORPUS_SEED)
    found = (pair for pair in corpus if any(not each.told for each in pair.labels.occupations))
    pairs = list(itertools.islice(found, n))
    sources = [pair.source for pair in pairs]
    versions = [[pair.target for pair in pairs]]
    for name in SYSTEMS:
        answers = ask_translate(open_system(f"lab:{name}"), sources, beam=5)
        versions.append([answer[0].text for answer in answers])
    split = ([re.findall(r"\w+", text) for text in texts] for texts in zip(sources, *versions, strict=True))
    counted = occurrences(((first, rest) for first, *rest in split), read_queries("lab:occupations"))
    with replacing(folder / FLOWS) as file:
        file.write(json.dumps(flows_of(counted, STAGES)).encode("utf-8"))


def summary_text(result: Result) -> str:
    """The results in plain words, a paragraph a method."""
    parts = (_likelihood, _contrast, _conditioning, _challenge, _space)
    return "\n\n".join(filter(None, [part(result.rows) for part in parts]))


def _likelihood(rows: Sequence[Row]) -> str:
    found = {row.labels["system"]: row.estimate for row in rows if row.name == "perplexity"}
    return _paragraph(
        "How surprised is each model by what a person would write? Perplexity of the references: among how many\n"
        "equally good words it wavers at each step; 1 is not at all.",
        [f"{system}: {_shown(estimate)}" for system, estimate in found.items()],
    )


def _contrast(rows: Sequence[Row]) -> str:
    mine = [row for row in rows if row.labels.get("method") == "contrast"]
    lines = []
    for system in dict.fromkeys(row.labels["system"] for row in mine):
        of_system = [row for row in mine if row.labels["system"] == system]
        overall = next(row for row in of_system if row.name == "all")
        types = [row for row in of_system if row.name == row.labels.get("phenomenon")]
        worst = min(types, key=lambda row: row.estimate.value)
        far = next(row for row in of_system if row.name == "discrepancy" and "phenomenon" not in row.labels)
        lines += [
            f"{system}: right in {_shown(overall.estimate, percent=True)}; worst is {worst.name}, "
            f"{_shown(worst.estimate, percent=True)}",
            f"{'':{len(str(system))}}  the pairs are {_shown(far.estimate)} nats a token from what it would write "
            "itself; the farther, the less this says",
        ]
    return _paragraph(
        "Forced to choose, does each model prefer the right translation to one with a small error (a dropped\n"
        "'nicht', a wrong article...)?",
        lines,
    )


def _conditioning(rows: Sequence[Row]) -> str:
    mine = [row for row in rows if row.labels.get("method") == "condition"]
    lines = []
    for row in mine:
        if row.name == "weighted":
            cell = {key: row.labels[key] for key in ("system", "tests")}
            of_cell = [each for each in mine if cell.items() <= each.labels.items()]
            tested = next(each for each in of_cell if each.name == "preflight")
            if tested.labels["passed"] != "yes":
                lines.append(f"{cell['system']}, {cell['tests']}: the evaluator did not pass its test")
                continue
            lowest = next(each for each in of_cell if each.name == "minimum")
            lines.append(
                f"{cell['system']}, {cell['tests']}: {_shown(row.estimate, percent=True)}; "
                f"lowest for {lowest.labels['lowest']}, {_shown(lowest.estimate, percent=True)}"
            )
    return _paragraph(
        "Does each model translate the gender and the sense that was meant? Judged without references, by which\n"
        "cue in the source ('he' or 'she', 'rich bank' or 'steep bank') makes its translation likelier.",
        lines,
    )


def _challenge(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        if row.labels.get("method") == "challenge" and row.name == "minus_all":
            about = (row.labels["phenomenon"], row.labels["side"], row.labels["metric"])
            if about == ("particle", "target", "chrf") and row.labels.get("min_distance") in (1, 3):
                lines.append(
                    f"{row.labels['system']}, at least {row.labels['min_distance']} words in between: "
                    f"{_shown(row.estimate)} points of chrF against all sentences"
                )
    return _paragraph(
        "Are sentences harder whose verb particle stands far from its verb ('er gibt ... auf')?", lines
    )


def _space(rows: Sequence[Row]) -> str:
    mine = [row for row in rows if row.labels.get("method") == "space"]
    lines = []
    for system in dict.fromkeys(row.labels["system"] for row in mine):
        found = {
            (row.name, row.labels.get("region", "")): row.estimate
            for row in mine
            if row.labels["system"] == system and row.labels.get("view") == "tokens"
        }
        lines.append(
            f"{system}: the most probable translation of all is empty for "
            f"{_shown(found['empty_mode', ''], percent=True)}"
        )
        for region, which in (("top", "its ten most probable"), ("samples", "its samples")):
            better = found["krg_above_random", region]
            lines.append(
                f"{'':{len(str(system))}}  it ranks {which} better than chance by {_shown(better, percent=True)}"
            )
    return _paragraph(
        "Does each model find better translations more probable? The ten best over the whole space, by exact\n"
        "search, and samples; the order by probability held against the order by quality (chrF).",
        lines,
    )


def _paragraph(question: str, answers: Sequence[str]) -> str:
    return "\n".join([question, *(f"  {answer}" for answer in answers)]) if answers else ""


def _shown(estimate: Estimate, *, percent: bool = False) -> str:
    """A figure with its interval and n."""
    value, low, high = (
        f"{100 * number:.1f} %" if percent else f"{number:.3g}"
        for number in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} [{low}, {high}] (n = {estimate.n})"
