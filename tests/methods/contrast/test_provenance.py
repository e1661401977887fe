"""Who wrote the references: own ones are found by name and by output, and machine references made in one go."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from babelscope import contrast, load
from babelscope.core.answers import Fingerprint, Scored, Target
from babelscope.core.question import Asked, sources_of
from babelscope.core.results import Record, Result
from babelscope.making.machine_tests import FIELD, rows_of_making, with_machine_references
from babelscope.methods.contrast.by_type import figures_by_type
from babelscope.methods.contrast.provenance import is_own
from babelscope.methods.contrast.view import VIEW
from babelscope.methods.view import section_of
from babelscope.runs.study import Study
from babelscope.runs.trust import reach_of
from babelscope.testsets import MinimalPair, TestSet
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

NICHT = "polarity_particle_nicht_del"
NAMES = ["Anna", "Bert", "Clara", "David", "Emil", "Frida", "Georg", "Hanna", "Ida", "Jan", "Karl", "Lena"]


class Writer:
    """Translates as it is told, and finds a text the less probable the longer it is."""

    def __init__(self, name: str, pattern: str) -> None:
        self.name, self.pattern = name, pattern

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint("writer", self.pattern)

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:  # noqa: ARG002
        texts = [self.pattern.format(source.split()[0]) for source in sources_of(questions)]
        return [[Scored(text, (text,), (-0.1,))] for text in texts]

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        texts = [target if isinstance(target, str) else target.text for _, target in pairs]
        return [Scored(text, (text,), (-len(text) / 100,)) for text in texts]


HUMAN = TestSet(
    "human",
    tuple(
        MinimalPair(
            str(n), f"{name} does not come.", f"{name} kommt nicht.", (f"{name} kommt.",), NICHT, "human"
        )
        for n, name in enumerate(NAMES)
    ),
)
SAME, OTHER = Writer("same", "{} kommt heute nicht."), Writer("other", "{} will nicht kommen.")


def caveats(result: Result) -> list[str]:
    (group,) = result.groups
    return [each.text for each in section_of(group, VIEW).caveats]


def test_machine_references_are_made_kept_and_counted() -> None:
    made = with_machine_references(HUMAN, [SAME, OTHER], seed=1)
    human, machine = ([i for i in made.items if i.reference == kind] for kind in ("human", "machine"))  # type: ignore[union-attr]
    assert len(human) == len(NAMES)
    told = [item.extra[FIELD] for item in human]
    assert {each["system"] for each in told} == {"same", "other"}
    assert len(machine) == sum(each["verdict"] == "kept" for each in told) > 0
    assert {item.extra["human"] for item in machine} <= {item.id for item in human}
    result = contrast(Writer("judged", "{} kommt wohl nicht."), made, spread=0)
    (kept,) = (
        row
        for row in result.rows
        if row.name == "kept" and len(row.labels) == 4 and row.labels["phenomenon"] == "all"
    )
    assert (kept.estimate.value, kept.estimate.n) == (pytest.approx(len(machine) / len(NAMES)), len(NAMES))
    shifts = {
        row.labels["shift"] for row in result.rows if row.name == "bias_discrepancy" and "shift" in row.labels
    }
    assert shifts == {"selection", "translation"}
    assert any("human pairs got a validated machine reference" in text for text in caveats(result))
    with pytest.raises(BabelscopeError, match="has machine references already"):
        with_machine_references(made, [SAME], seed=1)


def test_a_system_on_its_own_references_is_found_by_name_and_by_output() -> None:
    made = with_machine_references(HUMAN, [SAME], seed=1)
    n = sum(item.reference == "machine" for item in made.items)  # type: ignore[union-attr]
    by_output = contrast(Writer("renamed", SAME.pattern), made, spread=0)
    by_name = contrast(Writer("same", "{} kommt wohl nicht."), made, spread=0)
    neither = contrast(OTHER, made, spread=0)
    for result, own in ((by_output, n), (by_name, n), (neither, 0)):
        (machine,) = (each for each in figures_by_type(result.rows) if each.reference == "machine")
        assert (machine.own, machine.is_own) == (own, bool(own))
        assert any("judged on its own output" in text for text in caveats(result)) == bool(own)
        (group,) = result.groups
        assert VIEW.overview is not None
        assert any("†" in cell for line in VIEW.overview(group).rows for cell in line) == bool(own)
    record: Record = {**by_output.records[-1], "reference": "human"}
    assert is_own(by_output.records[-1])
    assert not is_own(record)


def test_human_references_alone_lead_to_the_recommendation() -> None:
    lacking = caveats(contrast(OTHER, HUMAN, spread=0))
    assert any("--machine-references" in text and "--control" in text for text in lacking)
    controls = [
        MinimalPair(
            f"c{n}", f"{name} sleeps.", f"{name} schläft.", ("Ding schläft.",), "placeholder_ding", "human"
        )
        for n, name in enumerate(NAMES)
    ]
    whole = TestSet("whole", (*HUMAN.items, *controls))
    assert not any("no controls" in text for text in caveats(contrast(OTHER, whole, spread=0)))


@pytest.mark.parametrize("told", ["kept", {"verdict": "lost"}, {"verdict": "kept", "reason": 1}, [], None])
def test_a_strangers_field_of_that_name_is_left_alone(told: object) -> None:
    record: Mapping[str, object] = {
        "id": "1",
        "reference": "human",
        "phenomenon": NICHT,
        "extra": {FIELD: told},
    }
    assert rows_of_making([dict(record)]) == []


def test_by_command_they_are_stored_in_the_run(babelscope: Babelscope, tmp_path: Path) -> None:
    ran = babelscope(
        "contrast", "--tests", "lab:pairs?n=3&seed=1", "--system", "lab:student", "--machine-references",
        "lab:control", "--spread", "0", "--out", "run",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "got a validated machine reference" in " ".join(ran.out.split())
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (tests,) = manifest["tests"].values()
    assert list(tests["machine_references"]) == ["lab:control"]
    assert tests["machine_references"]["lab:control"]["model"]
    assert manifest["cells"][0]["items"] > len(load("lab:pairs?n=3&seed=1"))
    refused = babelscope("contrast", "--rejudge", "run", "--machine-references", "lab:control")
    assert refused.code == 2


def test_a_strangers_study_cannot_start_a_program_unasked_by_them() -> None:
    study = Study.model_validate(
        {
            "systems": [{"spec": "lab:student"}],
            "tests": [{"spec": "pairs.jsonl", "machine_references": ["cmd:rm"]}],
            "methods": [{"name": "contrast"}],
        }
    )
    (found,) = reach_of(study, Path()).runs
    assert found == "tests[0].machine_references[0]: 'cmd:rm'"
