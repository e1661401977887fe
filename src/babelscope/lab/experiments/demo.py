"""The demo: two lab systems, every method."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

from babelscope.making.occupations import flows_of, occurrences
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
