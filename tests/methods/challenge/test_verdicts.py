"""Verdicts of whole test sets: what is followed where, what is counted, what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from babelscope.core.results import Estimate
from babelscope.methods.base import check_settings
from babelscope.methods.challenge import verdicts
from babelscope.methods.challenge.method import Challenge
from babelscope.methods.challenge.sets import ChallengeSettings, parser_identity
from babelscope.methods.challenge.verdicts import CHECKS, judge_dependencies, span_of, verdict_rows
from babelscope.metrics.base import allow_only
from babelscope.runs.execute import run_method
from babelscope.testsets.items import ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.lost_dependencies import PHENOMENA, lab_records
from tests.support.toys import Canned

pytest.importorskip("thot")
pytest.importorskip("ufal.udpipe")


PARSER = "udpipe:lab-de"


@pytest.fixture(scope="module")
def made() -> tuple[list[dict[str, Any]], list[tuple[int, str, bool]]]:
    return lab_records(60, 8)


def test_few_pairs_teach_the_aligner_nothing(made: Any) -> None:
    found = judge_dependencies(made[0], PARSER, "de")
    assert [len(own) for own in found] == [len(each["extra"]["dependencies"]) for each in made[0]]
    assert {each["verdict"] for own in found for each in own} == {"undecided"}
    assert {each["why"] for own in found for each in own} == {
        "not aligned: too few sentences, or a sentence too long"
    }


def test_verdicts_are_counted_and_undecided_is_never_right(made: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(verdicts, "FEWEST_PAIRS", 10)
    records, truths = made
    found = judge_dependencies(records, PARSER, "de")
    said = [each["verdict"] for own in found for each in own]
    assert {"kept", "lost", "undecided"} == set(said)
    judged = [{**record, "verdicts": own} for record, own in zip(records, found, strict=True)]
    rows = verdict_rows(judged, (0, 2))
    (whole,) = [row for row in rows if row.labels == {"phenomenon": "all"}]
    assert whole.estimate.n == said.count("kept") + said.count("lost")
    assert whole.estimate.value == said.count("kept") / whole.estimate.n
    assert whole.counts == {name: said.count(name) for name in ("kept", "lost", "undecided")}
    parts = [row for row in rows if row.labels.get("min_distance") == 0]
    assert sum(sum(row.counts.values()) for row in parts) == len(truths)
    far = [row for row in rows if row.labels.get("min_distance") == 2]
    assert 0 < sum(sum(row.counts.values()) for row in far) < len(truths)
    shown = [Challenge().show({**each, "scores": {"chrf": 1.0}, "system": "s"}) for each in judged]
    worst = [each.verdict for each in shown]
    assert worst.count("lost") == sum(any(v["verdict"] == "lost" for v in own) for own in found)
    # The translation, then one line per dependency.
    assert [len(each.answer()) - 1 for each in shown] == [len(each["verdicts"]) for each in judged]


def test_other_phenomena_are_not_counted(made: Any) -> None:
    other = {"phenomenon": "reordering", "side": "source", "distance": 7}
    record = {**made[0][0], "extra": {"dependencies": [other]}}
    (own,) = judge_dependencies([record], PARSER, "de")
    assert own[0]["why"] == "there is no check for this phenomenon"
    assert "reordering" not in CHECKS
    assert verdict_rows([{**record, "verdicts": own}], (0,)) == []
    assert Challenge().show({**record, "verdicts": own, "scores": {"chrf": 1.0}, "system": "s"}).verdict == ""


def test_a_parser_of_another_language_is_refused(made: Any) -> None:
    with pytest.raises(BabelscopeError, match="references are in the language de"):
        judge_dependencies(made[0], "udpipe:lab-en", "en")


@pytest.mark.parametrize(
    ("text", "position", "span"),
    [
        ("er lädt ein Kind ein", 5, (17, 20)),
        ("er lädt ein Kind ein", 3, (8, 11)),
        ("er lädt ein Kind ein", 4, None),  # as near to one as to the other
        ("er lädt ein Kind ein", 30, None),
        ("er lädt ein Kind", 9, (8, 11)),
        ("er lädt Kinder", 2, None),
    ],
)
def test_a_word_without_its_place_is_found_by_its_position(
    text: str, position: int, span: tuple[int, int] | None
) -> None:
    assert span_of({"dependent_form": "ein", "dependent": position}, "dependent", text) == span
    assert span_of({"dependent_at": [0, 2]}, "dependent", text) == (0, 2)


def test_the_method_judges_dependencies_if_asked(made: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(verdicts, "FEWEST_PAIRS", 10)
    plain = ChallengeSettings(metrics=("chrf",))
    asked = ChallengeSettings(metrics=("chrf",), target_parser=PARSER, target_language="de")
    assert asked.is_whole
    assert not plain.is_whole
    some = [{**record, "dependencies": record["extra"]["dependencies"]} for record in made[0][:30]]
    judged = Challenge(asked).judge(some)
    assert all("verdicts" in each and "dependencies" not in each for each in judged)
    assert Challenge(asked).judge(judged) == judged
    assert not any("verdicts" in each for each in Challenge(plain).judge(judged))
    with allow_only([]):  # a stranger's run: its parser is not opened
        other = asked.model_copy(update={"target_parser": "udpipe:/no/such/file"})
        kept = Challenge(other).judge(judged)
    assert [each["verdicts"] for each in kept] == [each["verdicts"] for each in judged]


def test_a_parser_that_is_not_there_is_told_before_anything_is_asked() -> None:
    with pytest.raises(BabelscopeError, match="no such model file"):
        check_settings(Challenge, {"target_parser": "udpipe:nowhere"})
    assert parser_identity(PARSER).startswith("udpipe:sha256:")


def test_a_run_shows_what_it_judged(made: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(verdicts, "FEWEST_PAIRS", 10)
    items = [
        ParallelSentence(each["id"], each["source"], tuple(each["references"]), extra=each["extra"])
        for each in made[0]
    ]
    system = Canned({each["source"]: each["translation"] for each in made[0]})
    result = run_method(
        "challenge",
        system,
        items,
        metrics=("chrf",),
        matched_corpora=2,
        length_corpora=4,
        target_parser=PARSER,
        target_language="de",
    )
    expected = judge_dependencies(made[0], PARSER, "de")
    assert [each["verdicts"] for each in result.records] == expected, "asked as one chunk"
    assert not any("dependencies" in each for each in result.records)
    (comparison,) = result.groups
    first, *others = Challenge(next(iter(result.settings.values()))).tables(comparison)
    lost = [line for line in first.lines if "dependencies lost" in str(line.cells[1])]
    kept = [
        row for row in result.rows if row.name == "dependency_kept" and row.labels.get("min_distance") == 0
    ]
    assert len(lost) == len(kept) > 1
    for line in lost:  # not pooled over phenomena
        (row,) = [each for each in kept if line.query["group"].startswith(str(each.labels["phenomenon"]))]
        share = line.cells[first.labels]
        assert isinstance(share, Estimate)
        assert share.value == pytest.approx(100 * (1 - row.estimate.value))
        assert (line.verdict == "too few items") == (row.estimate.n < 10)
    assert {"error", "not significant"} & {line.verdict for line in lost}
    behind = [Challenge().show(record).matches(lost[0].query) for record in result.records]
    assert any(behind)
    assert any("dependencies are undecided" in note.text for note in first.notes)
    (verdicts_table,) = [table for table in others if table.name == "verdicts"]
    whole = next(row for row in result.rows if row.name == "dependency_kept")
    assert list(verdicts_table.lines[0].cells[-3:]) == list(whole.counts.values())[:3]


Counts = Counter[tuple[bool, str]]
"""(whether the dependency is kept, verdict) -> dependencies."""


def held_against_the_grammar(n: int, seed: int) -> dict[str, Counts]:
    """The counts by phenomenon."""
    records, truths = lab_records(n, seed)
    said = [each["verdict"] for own in judge_dependencies(records, "udpipe:lab-de", "de") for each in own]
    counts: dict[str, Counts] = {name: Counter() for name in PHENOMENA}
    for (_, phenomenon, kept), verdict in zip(truths, said, strict=True):
        counts[phenomenon][kept, verdict] += 1
    return counts


def share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _lost(own: Counts) -> int:
    return sum(count for (kept, _), count in own.items() if not kept)


def figures(own: Counts) -> dict[str, float]:
    """Share decided, and precision and recall of both verdicts where decided."""
    right = {True: own[True, "kept"], False: own[False, "lost"]}
    wrong = {True: own[True, "lost"], False: own[False, "kept"]}  # by the truth
    total = own.total()
    return {
        "n": total,
        "lost": _lost(own),
        "decided": share(total - own[True, "undecided"] - own[False, "undecided"], total),
        "decided of the lost": share(right[False] + wrong[False], _lost(own)),
        "kept precision": share(right[True], right[True] + wrong[False]),
        "kept recall": share(right[True], right[True] + wrong[True]),
        "lost precision": share(right[False], right[False] + wrong[True]),
        "lost recall": share(right[False], right[False] + wrong[False]),
    }


@pytest.mark.slow
def test_verdicts_agree_with_the_grammar() -> None:
    for name, own in held_against_the_grammar(1500, 2024).items():
        found = figures(own)
        assert found.pop("n") >= 100, name
        assert found.pop("lost") >= 30, name
        assert found.pop("decided") >= 0.6, (name, own)
        assert found.pop("decided of the lost") >= 0.4, (name, own)
        assert min(found.values()) >= 0.97, (name, found, own)


if __name__ == "__main__":
    for phenomenon, row in held_against_the_grammar(2000, 77).items():
        found = figures(row)
        shares = " | ".join(
            f"{100 * value:.1f}" for name, value in found.items() if name not in ("n", "lost")
        )
        print(f"| `{phenomenon}` | {found['n']:.0f} | {found['lost']:.0f} | {shares} |")
