"""The main job on the lab: two systems, every method there is, a summary for someone new to it."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.results import Result, Row
from babelscope.study import Entry, MethodEntry, Study, StudyTable

SYSTEMS = ("teacher", "student")


def demo_study(n: int = 200, seed: int = 0) -> Study:
    """Teacher and student on the lab's own test sets, n items each."""
    return Study(
        study=StudyTable(name="demo", seed=seed),
        systems=[Entry(name=name, spec=f"lab:{name}") for name in SYSTEMS],
        tests=[Entry(name="held-out sentences", spec=f"lab:parallel?n={n}&seed=2026")],
        methods=[MethodEntry(name="likelihood")],
    )


def tell(result: Result) -> str:
    """What came out, in plain words, a paragraph a method."""
    return "\n\n".join(filter(None, [_likelihood(result.rows)]))


def _likelihood(rows: Sequence[Row]) -> str:
    found = {row.labels["system"]: row.estimate for row in rows if row.name == "perplexity"}
    if not found:
        return ""
    shown = ", ".join(
        f"{system} {estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
        for system, estimate in found.items()
    )
    return (
        "How surprised is each model by what a person would write? (perplexity of the references: between how many\n"
        f"words it is torn on average; 1 is none)\n  {shown}"
    )
