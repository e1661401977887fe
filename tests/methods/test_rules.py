"""Rules per item: what decides, what is refused, and the DFKI test suite's own translations."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from babelscope.methods.rules import rules_of, verdict_of
from babelscope.testsets import SourceSentence, load
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

TABLE = """id\tsource\trequire\tban\tright\twrong\tregex\tseverity\tcomment\tcategory
1\tThe bank is closed.\tBank\t\t\t\t\tmajor\tmoney\tterms
1\tThe bank is closed.\t\tUfer\t\t\t\tcritical\tnot the river\tterms
2\tThe bat flies.\t\t\tFledermaus\t\tyes\t\t\tsenses
2\tThe bat flies.\t\t\t\tSchläger|Keule\tyes\t\t\tsenses
3\tHe runs.\t\t\t\t\t\t\t\tsenses
"""


def item(*rules: dict[str, Any]) -> SourceSentence:
    return SourceSentence("1", "x", extra={"rules": list(rules)})


@pytest.mark.parametrize(
    ("rules", "translation", "verdict"),
    [
        ([{"require": "Bank"}], "Die Bank ist zu.", "right"),
        ([{"require": "Bank"}], "Die Banken sind zu.", "wrong"),
        ([{"require": "bank", "ignore_case": True}], "Die Bank ist zu.", "right"),
        ([{"require": "Banke?n?", "regex": True}], "Die Banken sind zu.", "right"),
        ([{"require": "Bank"}, {"ban": "Ufer"}], "Die Bank am Ufer.", "wrong"),
        ([{"right": "Die Maus."}], " Die  Maus.", "right"),
        ([{"right": "Die Maus."}], "Die Maus. Ja.", "undecided"),
        ([{"right": "Maus", "regex": True}, {"wrong": "Die Maus."}], "Die Maus.", "wrong"),
        ([{"right": "Maus", "regex": True}, {"wrong": "Ratte", "regex": True}], "Maus, Ratte", "wrong"),
        ([{"right": "Maus", "regex": True}], "Katze", "undecided"),
        ([], "Katze", "undecided"),
    ],
)
def test_what_rules_decide(rules: list[dict[str, Any]], translation: str, verdict: str) -> None:
    assert verdict_of(rules_of(item(*rules)), translation)[0] == verdict


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"require": "a", "ban": "b"}, "rule 1 must have one of"),
        ({}, "rule 1 must have one of"),
        ({"require": "(", "regex": True}, "is no regular expression"),
        ({"requires": "a"}, "rule 1: requires"),
        ({"require": "a" * 20_001}, "has more than 20,000 characters"),
        ("a", "item '1', rule 1"),
    ],
)
def test_what_is_refused(rule: Any, message: str) -> None:
    with pytest.raises(BabelscopeError, match=r".*") as error:
        rules_of(item(rule))
    assert message in str(error.value)


@pytest.mark.parametrize("costly", ["(a|aa)+$", "((a{1000}){1000}){1000}|a$"])
def test_an_expression_without_end_leaves_its_item_undecided(
    costly: str, babelscope: Babelscope, tmp_path: Path
) -> None:
    items = [
        {"id": each, "source": each, "target_language": "de", "rules": [{"require": each, "regex": True}]}
        for each in (costly, "a+$")
    ]
    (tmp_path / "t.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in items), "utf-8")
    (tmp_path / "out").write_text(f"{'a' * 60}b\naaa\n", "utf-8")
    began = time.process_time()
    rows = babelscope(
        "rules", "--system", f"file:{tmp_path}/out", "--tests", str(tmp_path / "t.jsonl"), "--json"
    ).rows
    assert time.process_time() - began < 20
    assert (rows[0]["n"], rows[0]["timeout"], rows[0]["value"]) == (1, 1, 0.0)


def test_a_table_of_ones_own(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text(TABLE, "utf-8")
    (tmp_path / "out").write_text("Das Ufer der Bank.\nDie Fledermaus.\nEr rennt.\n", "utf-8")
    asked = ("--system", f"file:{tmp_path}/out", "--tests", f"rules:{tmp_path}/rules.tsv")
    rows = babelscope("rules", *asked, "--json").rows
    figures = {row.get("group", ""): (row["value"], row["n"], row["undecided"]) for row in rows}
    assert figures == {"": (0.5, 2, 1), "terms": (1.0, 1, 0), "senses": (0.0, 1, 1)}
    assert rows[0]["severity_critical"] == 1
    assert "Broken rules" in babelscope("rules", *asked).out


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("source\tx\n", "the first line must name source"),
        ("source\tban\tx\n", "column 'x' is not known"),
        ("source\tban\na\tb\tc\n", ":2 has 3 columns"),
        ("id\tsource\tban\n1\ta\tb\n1\tc\td\n", "has another source"),
    ],
)
def test_tables_that_are_refused(table: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text(table, "utf-8")
    with pytest.raises(BabelscopeError) as error:
        load(f"rules:{tmp_path}/rules.tsv")
    assert message in str(error.value)


def test_translations_of_the_dfki_suite_are_judged_as_it_says(shared: Path) -> None:
    exceptions = []
    for each in load(f"dfki:{shared}/data/dfki/en-de.items.json"):
        rules = rules_of(each)
        for rule in rules:
            if not rule.regex and verdict_of(rules, rule.text)[0] != ("right" if rule.right else "wrong"):
                exceptions.append(rule.text)
                # The release has these four in both of its lists.
                assert {"right", "wrong"} == {
                    "right" if other.right else "wrong" for other in rules if other.text == rule.text
                }
    assert len(exceptions) == 4
