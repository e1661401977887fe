"""Errors in free translations: by hand on sentences of our own, and against the lab's grammar as the truth."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope import contrast
from babelscope.annotate.agreement import agreement_with_method
from babelscope.annotate.answers import items_of, read_annotators
from babelscope.core.results import Record, Result, Row
from babelscope.core.system import Asked, Fingerprint, Scored, Target, sources_of
from babelscope.core.tables import Table
from babelscope.lab.grammar.corpus import generate
from babelscope.lab.grammar.oracle import SentenceChecker, Verdict
from babelscope.lab.grammar.sentences import SentencePair, realize
from babelscope.lab.grammar.suites import CONTRASTS
from babelscope.making.machine_tests import FIELD, question_of, rows_of_making, with_machine_references
from babelscope.methods.contrast.figures import figures_by_type, is_own
from babelscope.methods.contrast.method import Contrast
from babelscope.methods.errors.figures import NOT_MEASURABLE
from babelscope.methods.queue import draw_queue
from babelscope.report.sections import method_of
from babelscope.stats.detection import rogan_gladen
from babelscope.testsets import MinimalPair, TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_json_lines
from tests.annotate.annotating import answer_all, write_items
from tests.support.toys import Canned

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")


NICHT, KEIN, DING = "polarity_particle_nicht_del", "polarity_particle_kein_del", "placeholder_ding"


class Scripted(Canned):
    """Translates each source as it is told; the longer a text, the less probable."""

    def score(self, pairs: Sequence[tuple[str, Target]]) -> list[Scored]:
        return [Scored(str(text), (str(text),), (-len(str(text)) / 100,)) for _, text in pairs]


def pair(
    number: object, phenomenon: str, source: str, correct: str, *contrastive: str, kind: Any = "human"
) -> MinimalPair:
    return MinimalPair(f"{phenomenon}/{number}", source, correct, contrastive, phenomenon, kind)


ITEMS = [
    pair(1, DING, "The dog barks.", "Der Hund bellt.", "Der Ding bellt."),
    pair(2, DING, "She does not see a cat.", "Sie sieht keine Katze.", "Sie sieht keine Ding."),
    pair(1, NICHT, "He does not come.", "Er kommt nicht.", "Er kommt."),
    pair(2, NICHT, "He never comes.", "Er kommt nicht.", "Er kommt."),
    pair(3, NICHT, "The cook did not sing.", "Der Koch sang nicht.", "Der Koch sang."),
]
FREE = {
    "The dog barks.": "Der Ding bellt.",
    "She does not see a cat.": "Sie sieht die Katze nicht.",
    "He does not come.": "Er kommt.",
    "He never comes.": "Er kommt.",
    "The cook did not sing.": "Der Koch hat nicht gesungen.",
    "a": "a",
}


def row(result: Result, name: str, phenomenon: str) -> Row:
    (found,) = (r for r in result.rows if r.name == name and r.labels.get("phenomenon") == phenomenon)
    return found


def run(items: Sequence[MinimalPair] = ITEMS, **chosen: Any) -> Result:
    return contrast(Scripted(FREE), items, **chosen)


def test_alarms_are_corrected_by_what_the_same_test_set_shows_of_the_detector() -> None:
    result = run()
    ding = row(result, "generated_errors", DING)
    assert ding.estimate == rogan_gladen(1, 2, found=2, wrong=2, false_alarms=0, right=2)
    assert ding.labels["control"] == "yes"
    nicht = row(result, "generated_errors", NICHT)
    # "never" is not what its detector looks for; its own references cannot raise an alarm, so others must do.
    assert nicht.counts["untold"] == 1
    assert (nicht.counts["alarms"], nicht.counts["references"], nicht.counts["false_alarms"]) == (1, 1, 0)
    assert nicht.estimate == rogan_gladen(1, 2, found=2, wrong=2, false_alarms=0, right=1)
    assert nicht.labels["note"] == NOT_MEASURABLE
    forced, accuracy = row(result, "forced_errors", NICHT), row(result, NICHT, NICHT)
    assert forced.estimate.value == pytest.approx(1 - accuracy.estimate.value)


def test_a_detector_that_looks_at_the_source_needs_other_references() -> None:
    alone = row(run([item for item in ITEMS if item.phenomenon == NICHT]), "generated_errors", NICHT)
    assert alone.estimate.n == 0
    assert "give other error types" in str(alone.labels["note"])
    untold = row(run([ITEMS[0], ITEMS[3]]), "generated_errors", NICHT)
    assert "no source" in str(untold.labels["note"])


def test_free_translations_are_looked_at_if_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "forced_errors" not in [each.name for each in run(detect_in_output="no").rows]
    # Without 1-bests there is nothing to look at, unless it is asked for.
    assert "forced_errors" not in [each.name for each in run(discrepancy="none").rows]
    asked = run(discrepancy="none", detect_in_output="yes")
    assert row(asked, "generated_errors", DING).counts["alarms"] == 1
    assert "discrepancy" not in [each.name for each in asked.rows]
    assert run().signature != run(detect_in_output="no").signature
    for name in ("method", "settings"):  # as if nothing were installed
        module = sys.modules[f"babelscope.methods.contrast.{name}"]
        monkeypatch.setattr(module, "analysis_version", str)
    assert "forced_errors" not in [each.name for each in run().rows]
    with pytest.raises(BabelscopeError, match=r"pip install '\.\[german\]'"):
        run(detect_in_output="yes")


def _problem(*beginnings: str) -> Callable[[Verdict], bool]:
    return lambda verdict: any(problem.startswith(beginnings) for problem in verdict.problems)


# What the grammar says of a translation with the error.
TRUTH = {
    NICHT: _problem("polarity: nicht"),
    KEIN: _problem("polarity: kein"),
    "polarity_affix_del": _problem("polarity: un"),
    "hypercorrect_genitive": _problem("case"),
    "subj_verb_agreement": _problem("agreement: subject and verb"),
}


def test_the_corrected_rate_agrees_with_the_grammar_on_injected_errors() -> None:
    rng = random.Random(5)
    wanted, share = 80, 0.4
    items: list[MinimalPair] = []
    by_source: dict[str, tuple[SentencePair, str]] = {}
    counts = dict.fromkeys(TRUTH, 0)
    for made in generate(20_000, 5, "all"):
        for name in TRUTH:
            variants = list(CONTRASTS[name](made, rng)) if counts[name] < wanted else []
            if variants:
                counts[name] += 1
                items.append(pair(counts[name], name, made.source, made.target, rng.choice(variants)))
                by_source.setdefault(made.source, (made, name))
        if min(counts.values()) == wanted:
            break
    free: dict[str, str] = {}
    for source, (made, name) in by_source.items():
        # Another translation than the reference, some with an error of one of the types.
        other = realize(made.meaning, rng)
        variants = list(CONTRASTS[name](other, rng)) if rng.random() < share else []
        free[source] = rng.choice(variants) if variants else other.target
    result = contrast(Scripted(free), items)
    verdicts = {
        source: SentenceChecker(made.meaning, free[source]).verdict((), ())
        for source, (made, _) in by_source.items()
    }
    for name, wrong in TRUTH.items():
        of_type = {item.source for item in items if item.phenomenon == name}
        truth = sum(wrong(verdicts[source]) for source in of_type) / len(of_type)
        found = row(result, "generated_errors", name).estimate
        assert truth > 0.1, (name, truth)
        assert found.low <= truth <= found.high, (name, truth, found)
        # The detector of verbs finds a tenth of the errors here, and its interval says so.
        assert found.high - found.low < 0.5 or name == "subj_verb_agreement", (name, found)
    # And with no error injected, none is found.
    clean = {source: realize(made.meaning, rng).target for source, (made, _) in by_source.items()}
    result = contrast(Scripted(clean), items)
    for name in TRUTH:
        assert str(row(result, "generated_errors", name).labels["note"]).startswith(NOT_MEASURABLE)


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
            str(n),
            f"{name} does not come.",
            f"{name} kommt nicht.",
            (f"{name} kommt.",),
            NICHT,
            "human",
        )
        for n, name in enumerate(NAMES)
    ),
)
SAME, OTHER = Writer("same", "{} kommt heute nicht."), Writer("other", "{} will nicht kommen.")


def first_table(result: Result) -> Table:
    (comparison,) = result.groups
    return Contrast().tables(comparison)[0]


def warnings_of(result: Result) -> list[str]:
    return [each.text for each in first_table(result).notes]


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
    assert any("human pairs got a validated machine reference" in text for text in warnings_of(result))
    with pytest.raises(BabelscopeError, match="has machine references already"):
        with_machine_references(made, [SAME], seed=1)


def test_people_validate_every_kind_of_machine_reference(tmp_path: Path) -> None:
    some = {"Anna": "Anna kommt nicht.", "Bert": "Bert kommt.", "Clara": "Clara bleibt fern.", "David": ""}
    tests = TestSet("t", HUMAN.items[:4])
    free = {
        item.source: some[item.source.split()[0]] for item in tests.items_of(MinimalPair, what_for="a test")
    }
    made = with_machine_references(tests, [Scripted(free)], seed=1)
    result = contrast(Scripted(free), made, spread=0, ask_people="machine-references")
    method = method_of(result.groups[0].results[0])
    lines = draw_queue(method, result.records, n=9, seed=0).lines
    verdicts = {line["translation"]: (line["verdict"], line["reason"]) for line in lines}
    assert verdicts == {
        "Anna kommt nicht.": ("correct", "as in the human reference"),
        "Bert kommt.": ("wrong", "contrastive word"),
        "Clara bleibt fern.": ("undecided", "no variant"),
    }
    queue = write_items(tmp_path / "queue.jsonl", lines)
    answer_all(queue, "ann", lambda task: "Wrong" if task.id.startswith("1") else "Right")
    answered = [tmp_path / "queue.answers.ann.jsonl"]
    told = agreement_with_method(
        read_annotators(answered), items_of(answered), [*read_json_lines(queue)], name="validation"
    )
    (share,) = (row for row in told if row.name == "agreement")
    # Right and wrong as a person says; the third was left undecided.
    assert (share.estimate.value, share.estimate.n, share.counts["undecided"]) == (1.0, 2, 1)


def test_a_system_on_its_own_references_is_found_by_name_and_by_output() -> None:
    made = with_machine_references(HUMAN, [SAME], seed=1)
    n = sum(item.reference == "machine" for item in made.items)  # type: ignore[union-attr]
    by_output = contrast(Writer("renamed", SAME.pattern), made, spread=0)
    by_name = contrast(Writer("same", "{} kommt wohl nicht."), made, spread=0)
    neither = contrast(OTHER, made, spread=0)
    for result, own in ((by_output, n), (by_name, n), (neither, 0)):
        (machine,) = (each for each in figures_by_type(result.rows) if each.reference == "machine")
        assert (machine.own, machine.is_own) == (own, bool(own))
        assert any("judged on its own output" in text for text in warnings_of(result)) == bool(own)
        assert any(line.marks == "†" for line in first_table(result).lines) == bool(own)
    record: Record = {**by_output.records[-1], "reference": "human"}
    assert is_own(by_output.records[-1])
    assert not is_own(record)


def test_human_references_alone_lead_to_the_recommendation() -> None:
    lacking = warnings_of(contrast(OTHER, HUMAN, spread=0))
    assert any("--machine-references" in text and "--control" in text for text in lacking)
    controls = [
        MinimalPair(
            f"c{n}", f"{name} sleeps.", f"{name} schläft.", ("Ding schläft.",), "placeholder_ding", "human"
        )
        for n, name in enumerate(NAMES)
    ]
    whole = TestSet("whole", (*HUMAN.items, *controls))
    assert not any("no controls" in text for text in warnings_of(contrast(OTHER, whole, spread=0)))


@pytest.mark.parametrize("told", ["kept", {"verdict": "lost"}, {"verdict": "kept", "reason": 1}, [], None])
def test_a_strangers_field_of_that_name_is_left_alone(told: object) -> None:
    record: Mapping[str, object] = {
        "id": "1",
        "reference": "human",
        "phenomenon": NICHT,
        "extra": {FIELD: told},
    }
    assert rows_of_making([dict(record)]) == []
    assert question_of(dict(record)) is None
