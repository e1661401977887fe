"""Whose translations of sources with a cue count as known: references decide, and never the evaluator's scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from babelscope import condition
from babelscope.core.answers import Fingerprint
from babelscope.methods.condition.makers import LEAST_BORNE_OUT, find_makers, side_of
from babelscope.methods.condition.preflight import NOISE_LEVEL, known_truths, preflight_of
from babelscope.methods.condition.settings import ConditionSettings
from babelscope.methods.condition.view import caveats
from tests.methods.condition.test_preflight import Judge, Translator, items, of

CHECKED = ConditionSettings()


class Deaf(Translator):
    """Follows one cue in three; else it writes `cash` beside the cue, and forgets a word under one of the cues."""

    name = "deaf"
    fingerprint = Fingerprint("deaf")

    def write(self, source: str) -> str:
        number = int(source.split("number")[1])
        if number % 3 == 0:
            return super().write(source)
        told = "shore" if "shore" in source else "cash"
        words = source.split("bank ")[1].split()
        kept = words[: len(words) - (number // 3 + (told == "shore")) % 2]
        return f"die cashbank ({told}) " + " ".join(kept)


class Scorer(Judge):
    """A judge that cannot translate."""

    translate = None  # type: ignore[assignment]


def test_which_side_a_reference_takes() -> None:
    assert side_of("die Bank am Fluss", "das Ufer am Fluss", "Sie saß auf der Bank.") == "for"
    assert side_of("das Ufer am Fluss", "die Bank am Fluss", "Sie saß auf der Bank.") == "against"
    assert side_of("die alte Bank", "die neue Bank", "Sie saß auf der Bank.") == "neither"
    assert side_of("die Bank", "das Ufer", "") == ""
    # Marks and capitals are no words.
    assert side_of("Die Bank.", "Die Ufer.", "auf der bank, dort") == "for"


def test_a_reference_without_spaces_takes_sides_by_characters() -> None:
    assert side_of("她在银行工作", "她在河岸工作", "他去了银行。") == "for"
    assert side_of("她在河岸工作", "她在银行工作", "他去了银行。") == "against"


def test_the_threshold_is_what_the_noise_leaves_out_of_account() -> None:
    assert pytest.approx(1 - 2 * (1 - NOISE_LEVEL)) == LEAST_BORNE_OUT


def test_a_sound_evaluator_is_not_blamed_for_a_system_that_ignores_cues() -> None:
    result = condition(Deaf(), Judge(), items(90))
    row = of(result, "preflight")
    assert (row.labels["passed"], row.labels["known_by"]) == ("yes", "evaluator")
    assert row.counts["misjudged"] == 0
    assert row.counts["not_known"] > 50
    # What the system made without following the cue is called wrong, and is not.
    stored = [known for record in result.records for known in record["preflight"]["known"]]
    made = [known for known in stored if known.get("maker") == "system" and known["side"] != "for"]
    assert made
    assert not any(find_makers(result.records).count(known) for known in made)


def test_the_evaluator_is_asked_only_where_no_reference_bears_the_system_out() -> None:
    result = condition(Translator(), Judge(), items())
    assert of(result, "preflight").labels["known_by"] == "system"
    assert of(result, "preflight").counts["not_known"] == 0
    makers = {known.get("maker") for record in result.records for known in record["preflight"]["known"]}
    assert makers == {None, "system"}


def test_an_evaluator_that_does_not_follow_cues_cannot_take_over() -> None:
    """It finds its own translations likely, so that its own mistakes would pass for its ability."""

    class DeafJudge(Judge):
        def write(self, source: str) -> str:
            return Deaf().write(source)

    result = condition(Deaf(), DeafJudge(), items(90))
    assert of(result, "preflight").labels["known_by"] == "system"
    sides = {known["side"] for _, known in _counted(result.records) if "side" in known}
    assert sides == {"for"}, "only what references bear out counts"


def _counted(records: Sequence[Any]) -> list[tuple[int, Any]]:
    from babelscope.methods.condition.makers import counted_known

    return counted_known(records)


@pytest.mark.parametrize("look", [lambda _: "nothing", lambda source: source.replace("shore", "cash")])
def test_an_evaluator_at_coin_level_passes_beside_neither_system(look: Any) -> None:
    for system in (Translator(), Deaf()):
        for evaluator in (Judge(look), Scorer(look)):
            assert of(condition(system, evaluator, items(90)), "preflight").labels["passed"] != "yes"


def test_scores_do_not_decide_which_translations_count() -> None:
    """The same translations count, whatever the evaluator thinks of them."""
    chosen = []
    for evaluator in (Judge(), Judge(lambda source: source[::-1])):
        result = condition(Deaf(), evaluator, items(90))
        chosen.append([(number, known["translation"]) for number, known in _counted(result.records)])
    assert chosen[0] == chosen[1]


def test_without_references_all_count_and_that_is_said() -> None:
    alone = [dataclasses.replace(each, extra={}) for each in items()]
    row = of(condition(Translator(), Judge(), alone), "preflight")
    assert (row.labels["passed"], row.counts["not_known"], row.counts["unchecked"]) == ("yes", 0, 60)


def test_where_few_references_take_a_side_all_count() -> None:
    """References in other words tell nothing."""
    other = [dataclasses.replace(each, extra={"reference": f"x{each.id}"}) for each in items()]
    row = of(condition(Translator(), Judge(), other), "preflight")
    assert (row.counts["known_wrong"], row.counts["not_known"], row.counts["unchecked"]) == (60, 0, 60)


def test_too_few_known_translations_are_told_with_what_does_not_count() -> None:
    result = condition(Deaf(), Scorer(), items(12))
    row = of(result, "preflight")
    assert row.labels["passed"] == "unknown"
    (reason, *_) = preflight_of(result.records, CHECKED).reasons
    assert "do not count: no reference bears them out" in reason


def test_runs_of_earlier_versions_count_all_that_they_have() -> None:
    known = {"truth": True, "by": "system", "under_correct": [], "under_incorrect": []}
    scored = [{"source": "s", "total": -1.0, "tokens": 1}]
    known = {**known, "under_correct": scored, "under_incorrect": [{**scored[0], "total": -2.0}]}
    record = {"category": "c", "preflight": {"known": [known, {**known, "by": "exchange"}], "same": False}}
    assert [truth.by for truth in known_truths([record], CHECKED)] == ["system", "exchange"]


def test_the_report_says_what_nothing_tells() -> None:
    alone = [dataclasses.replace(each, extra={}) for each in items(30)]
    for tests, said in ((alone, True), (items(30), False)):
        (group,) = condition(Translator(), Judge(), tests).groups
        assert any("no reference bears out" in caveat.text for caveat in caveats(group)) == said
