"""WinoMT's cues: as released, for three genders, and as tags before the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.testsets import AmbiguousSource, TestSet, load
from babelscope.util.errors import BabelscopeError

ROWS = [
    "female\t1\tThe doctor, who slept, woke.\tdoctor\tpro",
    "male\t1\tThe construction worker slept.\tconstruction worker\tanti",
    "neutral\t0\tSomeone slept, they snored.\tsomeone\tnone",
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "test.tsv"
    path.write_text("".join(f"{row}\n" for row in ROWS))
    return path


def items(tests: TestSet) -> tuple[AmbiguousSource, ...]:
    return tests.items_of(AmbiguousSource, what_for="this test")


def test_cues_as_released_replace_the_token(table: Path) -> None:
    first, second = items(load(f"winomt:{table}?paper_cues=yes"))
    assert first.correct_sources == ("The [female] doctor who slept, woke.",)
    assert first.incorrect_sources == ("The [male] doctor who slept, woke.",)
    assert second.correct_sources == ("The [male] construction worker worker slept.",)
    assert items(load(f"winomt:{table}"))[1].correct_sources == ("The [male] construction worker slept.",)


def test_three_genders_are_held_against_each_other(table: Path) -> None:
    tests = load(f"winomt:{table}?genders=three&neutral_cue=nonbinary")
    assert not tests.skipped
    first, _, third = items(tests)
    assert first.incorrect_sources == (
        "The [male] doctor, who slept, woke.",
        "The [nonbinary] doctor, who slept, woke.",
    )
    assert third.correct_sources == ("[nonbinary] Someone slept, they snored.",)
    assert third.incorrect_sources == (
        "[male] Someone slept, they snored.",
        "[female] Someone slept, they snored.",
    )
    assert third.extra["cued"] == {
        "male": "[male] Someone slept, they snored.",
        "female": "[female] Someone slept, they snored.",
        "neutral": "[nonbinary] Someone slept, they snored.",
    }
    # Two genders: neutral rows have no cue, and are left out unless asked for.
    assert load(f"winomt:{table}").skipped == {"neutral gender": 1}
    assert items(load(f"winomt:{table}?neutral=yes"))[2].correct_sources == ()


def test_a_tag_stands_before_the_source_and_changes_nothing_in_it(table: Path) -> None:
    for item in items(load(f"winomt:{table}?tag=<2{{}}>")):
        for source in (*item.correct_sources, *item.incorrect_sources):
            assert source.endswith(item.source)
        assert item.correct_sources == (f"<2{item.gold}> {item.source}",)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("genders=four", "genders=four is not one of two, three"),
        ("tag=<female>", "tag=<female> has no {}, where the gender is put"),
        ("tag=<{}>&paper_cues=yes", "tag and paper_cues are two ways of giving cues"),
        ("genders=three&neutral_cue=", "neutral_cue is empty"),
        ("gender=three", "unknown option 'gender'; did you mean genders"),
    ],
)
def test_options_that_cannot_be(table: Path, options: str, told: str) -> None:
    with pytest.raises(BabelscopeError, match=told):
        load(f"winomt:{table}?{options}")


def test_the_published_table_with_three_genders(shared_data: Path) -> None:
    tests = load(f"winomt:{shared_data}/winomt/test.tsv?genders=three")
    assert len(tests) == 3888
    assert sum(item.category == "neutral" for item in items(tests)) == 240
    released = items(load(f"winomt:{shared_data}/winomt/test.tsv?paper_cues=yes"))
    ours = items(load(f"winomt:{shared_data}/winomt/test.tsv"))
    differ = sum(a.correct_sources != b.correct_sources for a, b in zip(released, ours, strict=True))
    assert (len(released), differ) == (3648, 131)
