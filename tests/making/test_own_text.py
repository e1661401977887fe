"""Senses and occupations counted in one's own text, and given to `condition --by`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from babelscope.testsets.items import AmbiguousSource
from tests.support.toy_fixtures import Babelscope

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


def rows_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.split("\n")[:-1]]


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
    (tmp_path / "labour.tsv").write_text("occupation\twomen\ncook\t38\nnurse\t90\njudge\t30\nmover\t18\n")
    senses = [("pen", ["stift", "füller"]), ("pen", ["gehege"]), ("cup", ["pokal"]), ("hat", ["hut"])]
    (tmp_path / "senses.jsonl").write_text(
        "".join(item(n, "none", extra={"word": word, "lemmas": own}) for n, (word, own) in enumerate(senses))
    )
    wino = [("cook", "male"), ("cook", "female"), ("nurse", "male"), ("nurse", "female"), ("mover", "male")]
    (tmp_path / "wino.jsonl").write_text(
        "".join(item(n, gold, gold=gold, extra={"occupation": name}) for n, (name, gold) in enumerate(wino))
    )


SENSES = ("make", "senses", "--source", "en", "--target", "de", "--lexicon", "lexicon.tsv")


def test_senses_are_counted_and_named(babelscope: Babelscope) -> None:
    saved = ("--to", "counts.json", "--tests", "senses.jsonl", "--save-tests", "told.jsonl")
    done = babelscope(*SENSES, *saved, "--json")
    assert done.code == 0, done.err
    rows = {(row["word"], row["sense"]): row for row in rows_of(done.out)}
    found = {key: (row["count"], row["n"], row["category"]) for key, row in rows.items()}
    assert found == {
        ("pen", "stift füller"): (2, 3, "frequent"),
        ("pen", "gehege"): (1, 3, "infrequent"),
        ("cup", "tasse"): (1, 3, "infrequent"),
        ("cup", "pokal"): (2, 3, "frequent"),
    }
    assert json.loads(Path("counts.json").read_text("utf-8"))["pen - stift füller"] == 2
    told = rows_of(Path("told.jsonl").read_text("utf-8"))
    assert [each["sense_frequency"] for each in told] == ["frequent", "infrequent", "frequent", "unknown"]
    assert [each["category"] for each in told] == ["frequent", "infrequent", "frequent", "none"]
    asked = ("--tests", "told.jsonl", "--system", "toy:1", "--evaluator", "toy:2", "--preflight", "0")
    judged = babelscope("condition", *asked, "--by", "sense_frequency", "--json")
    assert judged.code == 0, judged.err
    parts = {
        row["sense_frequency"]: row["n"]
        for row in rows_of(judged.out)
        if row.get("by") and row["name"] == "all"
    }
    assert parts == {"frequent": 2, "infrequent": 1, "unknown": 1}


def test_lemmas_find_inflected_forms(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "de").write_text(
        GERMAN.replace("Stift", "Stifte").replace("Gehege", "Gehegen"), encoding="utf-8"
    )
    (tmp_path / "lemmas").write_text(GERMAN.lower(), encoding="utf-8")

    def counted(*more: str) -> dict[str, int]:
        done = babelscope(*SENSES, "--json", *more)
        assert done.code == 0, done.err
        return {row["sense"]: row["count"] for row in rows_of(done.out)}

    assert counted()["gehege"] == 0
    assert counted("--lemmas", "lemmas")["gehege"] == 1
    told = babelscope(*SENSES).out
    assert "inflected ones are missed" in " ".join(told.split())


def test_occupations_are_counted_in_both_texts(babelscope: Babelscope) -> None:
    asked = ("make", "occupations", "--source", "work.en", "--target", "work.de", "--words", "q.json")
    more = ("--distilled", "work.t", "--labour", "labour.tsv", "--to", "ratios.tsv")
    done = babelscope(*asked, *more, "--tests", "wino.jsonl", "--save-tests", "told.jsonl", "--json")
    assert done.code == 0, done.err
    rows = rows_of(done.out)
    ratios = {(row["stage"], row["occupation"]): row for row in rows if row["name"] == "female_ratio"}
    assert {key: (row["female"], row["male"], row["neutral"]) for key, row in ratios.items()} == {
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
    told = rows_of(Path("told.jsonl").read_text())
    assert [each["majority_side"] for each in told] == ["with", "against", "against", "with", "unknown"]
    judged = babelscope(
        "condition", "--tests", "told.jsonl", "--system", "toy:1", "--evaluator", "toy:2", "--preflight", "0",
        "--by", "majority_side", "--json",
    )  # fmt: skip
    parts = {
        row["majority_side"]: row["n"]
        for row in rows_of(judged.out)
        if row.get("by") and row["name"] == "all"
    }
    assert parts == {"with": 2, "against": 2, "unknown": 1}


def test_the_published_correlation(shared: Path, babelscope: Babelscope) -> None:
    counts = str(shared / "data" / "occupations" / "counts_en-de.json")
    done = babelscope("make", "occupations", "--counts", counts, "--labour", "zhao-2018", "--json")
    rows = rows_of(done.out)
    (found,) = (row for row in rows if row["name"] == "pearson" and row["stage"] == "original")
    assert (round(found["value"], 6), found["n"]) == (0.68922, 19)
    female = {row["occupation"] for row in rows if row["name"] == "female_ratio" and row["value"] > 0.5}
    assert {"nurse", "cleaner"} <= female


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*SENSES, "--lemmas", "de", "--lemmatise", "de"), "exclude each other"),
        ((*SENSES, "--tests", "senses.jsonl"), "it is about the test set of --save-tests"),
        ((*SENSES[:-1], "de"), "de:1 is neither a word, a tab and lemmas of a sense"),
        ((*SENSES[:4], "--target", "work.de", *SENSES[6:]), "en ends before line 7"),
        ((*SENSES[:4], "--target", "en", *SENSES[6:]), "none of the 4 senses occurs in en and en"),
        (("make", "occupations"), "needs --source, --target and --words, or --counts"),
        (
            ("make", "occupations", "--source", "en", "--target", "de", "--words", "q.json"),
            "en has none of the occupations",
        ),
        (
            ("make", "occupations", "--counts", "q.json", "--labour", "lexicon.tsv"),
            "lexicon.tsv:2 is not an occupation, a tab and a percentage",
        ),
    ],
)
def test_faults_are_told(babelscope: Babelscope, arguments: tuple[str, ...], told: str) -> None:
    done = babelscope(*arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
