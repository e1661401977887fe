"""Senses and occupations counted in one's own text, and given to `condition --group-by`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from babelscope.making.counts import (
    FIGURE_4,
    WOMEN_IN_PERCENT,
    Forms,
    GenderCounts,
    flows_of,
    occupation_correlation,
    occurrences,
)
from babelscope.testsets.items import AmbiguousSource
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope, read_rows

LEXICON = "pen\tstift füller\npen\tgehege\ncup\ttasse\ncup\tpokal\n"
ENGLISH = "My pen .\nA pen , a cup .\nThe pen of the pigs .\nOpen it .\nOne cup .\nNo Cup !\n"
GERMAN = "Mein Stift .\nEin Füller , ein Pokal .\nDas Gehege hier .\nÖffne den Stift .\nEine Tasse .\nKein Pokal !\n"
QUERY = {"src_forms": ["cook", "cooks"], "tgt_forms_male": ["Koch"], "tgt_forms_female": ["Köchin"]}
NURSE = {"src_forms": ["nurse"], "tgt_forms_male": ["Pfleger"], "tgt_forms_female": ["Pflegerin"]}
JUDGE = {"src_forms": ["judge"], "tgt_forms_male": ["Richter"], "tgt_forms_female": ["Richterin"]}
WORK = [
    ("The cook ate", "Der Koch aß", "Der Koch aß"),
    ("A cook sang", "Die Köchin sang", "Der Koch sang"),
    ("Two cooks sang", "Ein Koch und eine Köchin sangen", "Ein Koch sang"),
    ("The cook left", "Der Koch ging", "Der Koch ging"),
    ("The nurse ate", "Die Pflegerin aß", "Die Pflegerin aß"),
    ("A nurse left", "Der Pfleger ging", "Die Pflegerin ging"),
    ("The nurse sang", "Die Pflegerin sang", "Die Pflegerin sang"),
    ("The judge sang", "Der Richter sang", "Der Richter sang"),
]


def item(number: int, category: str, **extra: Any) -> str:
    fields = AmbiguousSource(str(number), f"s{number}", (f"r{number}",), (f"w{number}",), category, **extra)
    return json.dumps(fields.as_json()) + "\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "lexicon.tsv").write_text(LEXICON, encoding="utf-8")
    (tmp_path / "en").write_text(ENGLISH)
    (tmp_path / "de").write_text(GERMAN, encoding="utf-8")
    (tmp_path / "q.json").write_text(json.dumps({"cook": QUERY, "nurse": NURSE, "judge": JUDGE}))
    for number, name in enumerate(("work.en", "work.de", "work.t")):
        (tmp_path / name).write_text("".join(f"{line[number]}\n" for line in WORK), encoding="utf-8")
    (tmp_path / "wrong.tsv").write_text("cook\t138\n")
    (tmp_path / "labor.tsv").write_text("occupation\twomen\ncook\t38\nnurse\t90\njudge\t30\nmover\t18\n")
    senses = [("pen", ["stift", "füller"]), ("pen", ["gehege"]), ("cup", ["pokal"]), ("hat", ["hut"])]
    (tmp_path / "senses.jsonl").write_text(
        "".join(item(n, "none", extra={"word": word, "lemmas": own}) for n, (word, own) in enumerate(senses))
    )
    wino = [("cook", "male"), ("cook", "female"), ("nurse", "male"), ("nurse", "female"), ("mover", "male")]
    (tmp_path / "wino.jsonl").write_text(
        "".join(item(n, gold, gold=gold, extra={"occupation": name}) for n, (name, gold) in enumerate(wino))
    )


SENSES = ("make", "counts", "--source", "en", "--target", "de", "--lexicon", "lexicon.tsv")


def test_senses_are_counted_and_named(babelscope: Babelscope) -> None:
    saved = ("--to", "counts.json", "--tests", "senses.jsonl", "--save-tests", "told.jsonl")
    rows = {(row["word"], row["sense"]): row for row in babelscope(*SENSES, *saved, "--json").rows}
    found = {key: (row["count"], row["n"], row["category"]) for key, row in rows.items()}
    assert found == {
        ("pen", "stift füller"): (2, 3, "frequent"),
        ("pen", "gehege"): (1, 3, "infrequent"),
        ("cup", "tasse"): (1, 3, "infrequent"),
        ("cup", "pokal"): (2, 3, "frequent"),
    }
    assert json.loads(Path("counts.json").read_text("utf-8"))["pen - stift füller"] == 2
    told = read_rows("told.jsonl")
    assert [each["sense_frequency"] for each in told] == ["frequent", "infrequent", "frequent", "unknown"]
    assert [each["category"] for each in told] == ["frequent", "infrequent", "frequent", "none"]
    asked = ("--tests", "told.jsonl", "--system", "toy:1", "--evaluator", "toy:2", "--set", "preflight=0")
    judged = babelscope("condition", *asked, "--group-by", "sense_frequency", "--json")
    assert judged.code == 0, judged.err
    parts = {
        row["sense_frequency"]: row["n"] for row in judged.rows if row.get("by") and row["name"] == "all"
    }
    assert parts == {"frequent": 2, "infrequent": 1, "unknown": 1}


def test_lemmas_find_inflected_forms(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "de").write_text(
        GERMAN.replace("Stift", "Stifte").replace("Gehege", "Gehegen"), encoding="utf-8"
    )
    (tmp_path / "lemmas").write_text(GERMAN.lower(), encoding="utf-8")

    def counted(*more: str) -> dict[str, int]:
        return {row["sense"]: row["count"] for row in babelscope(*SENSES, "--json", *more).rows}

    assert counted()["gehege"] == 0
    assert counted("--set", "lemmas=lemmas")["gehege"] == 1
    # A plural in the source is its word, unless the lexicon has it by itself.
    (tmp_path / "en").write_text(ENGLISH.replace("cup", "cups").replace("Cup", "Cups"))
    assert (counted()["tasse"], counted()["pokal"]) == (1, 2)
    (tmp_path / "lexicon.tsv").write_text(f"{LEXICON}cups\tbecher pokal\n", encoding="utf-8")
    assert (counted()["tasse"], counted()["pokal"], counted()["becher pokal"]) == (0, 0, 2)
    told = babelscope(*SENSES).out
    assert "misses inflected ones" in " ".join(told.split())


def test_occupations_are_counted_in_both_texts(babelscope: Babelscope) -> None:
    asked = ("make", "counts", "--source", "work.en", "--target", "work.de", "--words", "q.json")
    more = ("--distilled", "work.t", "--set", "labor=labor.tsv", "--to", "ratios.tsv")
    rows = babelscope(*asked, *more, "--tests", "wino.jsonl", "--save-tests", "told.jsonl", "--json").rows
    ratios = {(row["stage"], row["occupation"]): row for row in rows if row["name"] == "female_ratio"}
    assert {key: (row["female"], row["male"], row["other"]) for key, row in ratios.items()} == {
        ("data", "cook"): (1, 2, 1), ("data", "nurse"): (2, 1, 0), ("data", "judge"): (0, 1, 0),
        ("distilled", "cook"): (0, 4, 0), ("distilled", "nurse"): (3, 0, 0), ("distilled", "judge"): (0, 1, 0),
    }  # fmt: skip
    r = {row["stage"]: row for row in rows if row["name"] == "pearson"}
    women = [38, 90, 30]
    own = [1 / 3, 2 / 3, 0]
    means = sum(women) / 3, sum(own) / 3
    products = sum((a - means[0]) * (b - means[1]) for a, b in zip(women, own, strict=True))
    squares = sum((a - means[0]) ** 2 for a in women) * sum((b - means[1]) ** 2 for b in own)
    assert r["data"]["value"] == pytest.approx(products / squares**0.5)
    assert Path("ratios.tsv").read_text().split("\n")[1].startswith("cook\t0.333333\t1\t2\t1\t0.000000")
    told = read_rows("told.jsonl")
    assert [each["majority_side"] for each in told] == ["with", "against", "against", "with", "unknown"]
    judged = babelscope(
        "condition", "--tests", "told.jsonl", "--system", "toy:1", "--evaluator", "toy:2", "--set", "preflight=0",
        "--group-by", "majority_side", "--json",
    )  # fmt: skip
    parts = {row["majority_side"]: row["n"] for row in judged.rows if row.get("by") and row["name"] == "all"}
    assert parts == {"with": 2, "against": 2, "unknown": 1}


def test_stored_flows_are_counted_again(babelscope: Babelscope) -> None:
    """What `flow --flows` wrote of the same text gives the same ratios."""
    text = ("--source", "work.en", "--words", "q.json", "--distilled", "work.t", "--json")
    assert babelscope("flow", "--target", "work.de", *text, "--flows", "flows.json").code == 0
    stored = babelscope("make", "counts", "--counts", "flows.json", "--json")
    assert stored.code == 0, stored.err
    assert stored.out == babelscope("make", "counts", "--target", "work.de", *text).out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*SENSES, "--set", "lemmas=de", "--lemmatize", "de"), "exclude each other"),
        ((*SENSES, "--tests", "senses.jsonl"), "it only applies to the test set of --save-tests"),
        ((*SENSES[:-1], "de"), "de:1 is neither a word, a tab and lemmas of a sense"),
        ((*SENSES[:4], "--target", "work.de", *SENSES[6:]), "en ends before line 7"),
        ((*SENSES[:4], "--target", "en", *SENSES[6:]), "none of the 4 senses occurs in en and en"),
        (("make", "counts"), "needs --lexicon (senses), --words (occupations) or --counts"),
        (
            ("make", "counts", "--source", "en", "--target", "de", "--words", "q.json"),
            "en has none of the occupations",
        ),
        (
            ("make", "counts", "--counts", "q.json", "--set", "labor=wrong.tsv"),
            "wrong.tsv:1 is not an occupation, a tab and a percentage from 0 to 100",
        ),
        (
            ("make", "counts", "--counts", "q.json", "--set", "labor=lexicon.tsv"),
            "lexicon.tsv:2 is not an occupation, a tab and a percentage",
        ),
    ],
)
def test_faults_are_told(babelscope: Babelscope, arguments: tuple[str, ...], told: str) -> None:
    done = babelscope(*arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


COOK = Forms.from_json(
    {"src_forms": ["cook", "cooks"], "tgt_forms_male": ["Koch", "Kochs"], "tgt_forms_female": ["Köchin"]}
)


def test_genders_move_from_stage_to_stage() -> None:
    lines = [
        ("The cook slept", ("Die Köchin schlief", "Der Koch schlief")),
        ("Two cooks", ("Koch und Köchin", "Koch")),
        ("A cooker", ("Ein Koch", "Ein Koch")),
    ]
    split = [(source.split(), [each.split() for each in versions]) for source, versions in lines]
    flows = flows_of(occurrences(split, {"cook": COOK}), ["original", "student"])
    assert sorted(flows) == [
        ("cook", "cook_original_female", 1),
        ("cook", "cook_original_other", 1),
        ("cook_original_female", "cook_student_male", 1),
        ("cook_original_other", "cook_student_male", 1),
    ]
    counts = GenderCounts.from_flows(flows)
    assert [row.estimate.value for row in counts.shares("student")] == [1, 0, 0]
    assert counts.female_ratios() == {"cook": 1}
    with pytest.raises(BabelscopeError, match="a line has 1 translations for 2 stages"):
        flows_of(occurrences([(["cook"], [["Koch"]])], {"cook": COOK}), ["original", "student"])


def test_bad_counts_are_told() -> None:
    for flow in (["a", "a_original", 1], ["a", "a_original_old", 1], ["a", "a_original_male", "1"], ["a"]):
        with pytest.raises(BabelscopeError, match="is no flow to <occupation>_<stage>_<gender>"):
            GenderCounts.from_flows([flow])
    counts = GenderCounts.from_flows([["a", "a_original_male", 1.0]])
    with pytest.raises(BabelscopeError, match="nothing was counted at the stage 'student'"):
        counts.shares("student")
    with pytest.raises(BabelscopeError, match="at least 3 occupations in common, not 1"):
        occupation_correlation({"a": 1.0}, {"a": 2.0})
    for query, told in (
        ({"src_forms": []}, "a query needs src_forms, and tgt_forms_"),
        (
            {"src_forms": ["a"], "tgt_forms_x": ["b"], "tgt_forms_y": "c"},
            "tgt_forms_y of a query must be a list",
        ),
        (
            {"src_forms": ["a b"], "tgt_forms_x": [], "tgt_forms_y": []},
            "'a b' in src_forms .* more than one word",
        ),
    ):
        with pytest.raises(BabelscopeError, match=told):
            Forms.from_json(query)


def test_the_published_occupations(shared: Path) -> None:
    folder = shared / "data" / "occupations"
    queries = json.loads((folder / "queries_en-de.json").read_text())
    assert Forms.from_json(queries["broker"]).class_of(["Der", "Makler"]) == "male"
    counts = GenderCounts.from_flows(json.loads((folder / "counts_en-de.json").read_text()))
    assert sorted(counts.occupations) == sorted(
        json.loads((folder / "frequent_occupations.json").read_text())
    )
    shown = GenderCounts({key: count for key, count in counts.counts.items() if key[0] in FIGURE_4})
    stages = {stage: shown.shares(stage) for stage in ("original", "teacher", "student")}
    percent = {stage: [round(100 * row.estimate.value, 2) for row in rows] for stage, rows in stages.items()}
    assert percent["original"] == [39.40, 3.59, 57.01]
    assert {row.estimate.n for rows in stages.values() for row in rows} == {868663}
    change = [
        [round(b - a, 1) for a, b in zip(percent[one][:2], percent[other][:2], strict=True)]
        for one, other in (("original", "teacher"), ("teacher", "student"))
    ]
    assert change == [[5.1, -0.2], [0.7, -0.1]]
    everything = counts.shares("original")
    assert [round(100 * row.estimate.value, 2) for row in everything] == [40.13, 3.19, 56.68]
    assert everything[0].estimate.n == 1365155
    ratios = counts.female_ratios()
    assert [occupation for occupation, ratio in ratios.items() if ratio > 0.5] == ["nurse", "cleaner"]
    found, p = occupation_correlation(ratios, {name: women / 100 for name, women in WOMEN_IN_PERCENT.items()})
    assert (round(found.value, 6), found.n, round(p, 6)) == (0.689220, 19, 0.00071)
