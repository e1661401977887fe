"""The gate: its verdicts on systems with known error rates, in a fixed sample and stopped early."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from babelscope.core.results import PairedField, Record
from babelscope.core.system import Fingerprint, Question, Scored, Unanswered
from babelscope.decide.gate import Gate, GateSettings, run_gate
from babelscope.decide.opening import GateFile, open_and_decide
from babelscope.decide.show import as_json, as_junit, as_lines
from babelscope.methods.base import Items, Method
from babelscope.systems.contract import ask_translate
from babelscope.testsets import SourceSentence, TestSet
from tests.support.toy_fixtures import Babelscope


@dataclass
class Translator:
    """Translates every source into itself; sources with certain numbers get a planted error or no answer."""

    name: str
    wrong: frozenset[int] = frozenset()
    silent: frozenset[int] = frozenset()
    asked: int = 0

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint("test", self.name, "0" * 64, str(sorted(self.wrong)))

    def translate(self, questions: Sequence[Question], **_: int) -> list[list[Scored]]:
        self.asked += len(questions)
        numbers = [int(each.source.split()[1]) for each in questions]
        if lost := {place: "no answer" for place, number in enumerate(numbers) if number in self.silent}:
            raise Unanswered(lost)
        return [
            [Scored(f"{each.source}{' <error>' if number in self.wrong else ''}")]
            for each, number in zip(questions, numbers, strict=True)
        ]


class Planted(Method):
    """Finds the planted errors."""

    name = "planted"
    items = (SourceSentence,)

    def ask(self, systems: Any, items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        answers = ask_translate(systems["system"], [item.question for item in items])
        return [
            {"source": item.source, "text": own[0].text} for item, own in zip(items, answers, strict=True)
        ]

    def judge(self, records: Sequence[Record]) -> list[Record]:
        return [{**each, "wrong": "<error>" in each["text"]} for each in records]

    def paired(self) -> list[PairedField]:
        return [PairedField("wrong", measure="planted", higher_is_better=False)]


def sources(n: int) -> dict[str, TestSet]:
    items = tuple(SourceSentence(str(number), f"sentence {number}") for number in range(n))
    return {"news": TestSet("news", items)}


def decided(old: Translator, new: Translator, n: int = 1000, **settings: Any) -> Gate:
    return run_gate(old, new, sources(n), [Planted()], GateSettings(**settings))


def numbers(share: float, n: int, seed: int = 0) -> frozenset[int]:
    return frozenset(np.flatnonzero(np.random.default_rng(seed).random(n) < share).tolist())


SAME = frozenset(range(0, 1000, 20))
VERDICTS = {
    "the same errors": (Translator("a", SAME), Translator("b", SAME), "not worse", 0),
    "three percent more errors": (
        Translator("a", SAME),
        Translator("b", SAME | set(range(1, 1000, 33))),
        "worse",
        3,
    ),
    "fewer errors": (Translator("a", SAME), Translator("b"), "not worse", 0),
    "other errors": (
        Translator("a", numbers(0.2, 1000)),
        Translator("b", numbers(0.2, 1000, 1)),
        "too few items",
        4,
    ),
    "no answers": (Translator("a"), Translator("b", silent=frozenset(range(0, 1000, 25))), "worse", 3),
}


@pytest.mark.parametrize("case", VERDICTS)
@pytest.mark.parametrize("sequential", [False, True])
def test_verdicts(case: str, sequential: bool) -> None:
    old, new, verdict, code = VERDICTS[case]
    found = decided(old, new, sequential=sequential)
    assert (found.verdict, found.exit_code) == (verdict, code)
    if verdict == "worse":
        (worse,) = [each for each in found.checks if each.verdict == "worse"]
        assert worse.check.name == ("unanswered" if new.silent else "planted")
        assert len(worse.examples) == 3
        assert worse.rates.only_new > worse.rates.only_old
    if verdict == "too few items":
        assert all(each.needed for each in found.checks if each.verdict == "too few items")


def test_few_items_are_said_to_be_few_and_more_of_them_decide() -> None:
    few = decided(Translator("a"), Translator("b"), 200)
    assert few.exit_code == 4
    more = max(each.needed or 0 for each in few.checks)
    assert decided(Translator("a"), Translator("b"), 200 + more).exit_code == 0


def test_a_margin_in_percent_is_a_share() -> None:
    assert GateSettings(margin="2.5%").margin == 0.025  # type: ignore[arg-type]


def test_stopping_early_saves_calls() -> None:
    old, new = Translator("a"), Translator("b", frozenset(range(0, 1000, 8)))
    found = decided(old, new, sequential=True)
    assert found.verdict == "worse"
    assert found.asked == old.asked == new.asked < 300


def test_swapping_outputs_at_random_is_rarely_a_regression() -> None:
    # Two systems with different errors; per item it is a coin's toss which of them is "new".
    n, draws = 400, np.random.default_rng(3)
    one, other = numbers(0.2, n, 1), numbers(0.2, n, 2)
    worse = 0
    for _ in range(60):
        swap = set(np.flatnonzero(draws.random(n) < 0.5).tolist())
        a = frozenset({*(one - swap), *(other & swap)})
        b = frozenset({*(other - swap), *(one & swap)})
        worse += decided(Translator("a", a), Translator("b", b), n).verdict == "worse"
    assert worse <= 60 * 0.05 + 3 * (60 * 0.05 * 0.95) ** 0.5


def test_a_source_counts_once_and_every_item_is_asked_once() -> None:
    items = tuple(
        SourceSentence(f"{n}/{k}", f"sentence {n}") for n, k in itertools.product(range(60), range(3))
    )
    wrong = numbers(0.5, 60), numbers(0.5, 60, 4)
    for sequential in (False, True):
        old, new = (Translator("a", own) for own in wrong)
        settings = GateSettings(sequential=sequential, batch=7)
        found = run_gate(old, new, {"news": TestSet("news", items)}, [Planted()], settings)
        check = next(each.check for each in found.checks if each.check.name == "planted")
        assert old.asked == new.asked == found.asked == len(items)
        assert {name: (each.items, each.old, each.new) for name, each in check.sources.items()} == {
            f"sentence {n}": (3, float(n in wrong[0]), float(n in wrong[1])) for n in range(60)
        }


def figures(gate: Gate) -> dict[str, Any]:
    return {each.check.name: (each.rates, each.check.applies) for each in gate.checks}


@pytest.mark.parametrize("form", ["plain", "pairs"])
@pytest.mark.parametrize(("n", "worse"), [(240, 0), (600, 60)])
def test_figures_of_files_do_not_depend_on_the_order(tmp_path: Path, form: str, n: int, worse: int) -> None:
    # Numbers are in every third line; a translation of another line has another number. Some lines are repeated.
    texts = [
        f"They saw {100 + n // 2} cats."
        if n % 3 == 0
        else f"They saw cats {'a' * (n // 2 % 20)}{'b' * (n // 40)}."
        for n in range(n)
    ]
    right = [text.replace("They saw", "Sie sahen") for text in texts]
    old = [text.replace("1", "7") if n % 10 == 0 else text for n, text in enumerate(right)]
    new = [text.replace("1", "9") if n % 15 == 0 or n < worse else text for n, text in enumerate(right)]
    systems = [f"{name}=file:{tmp_path}/{name}?format={form}" for name in ("old", "new")]

    def decide(lines: Sequence[int], **settings: Any) -> Gate:
        for name, own in (("source", texts), ("old", old), ("new", new)):
            rows = [
                f"{texts[line]} ||| {own[line]}" if form == "pairs" and name != "source" else own[line]
                for line in lines
            ]
            (tmp_path / name).write_text("".join(f"{row}\n" for row in rows), "utf-8")
        file = GateFile(gate=GateSettings(margin=0.02, **settings))
        sources = [f"sources:{tmp_path}/source"]
        return open_and_decide(systems[0], systems[1], sources, file, languages=("en", "de"))

    stopped = decide(range(n), sequential=True)
    assert (stopped.asked < n) == bool(worse)
    if not worse:  # how many more are needed, and which
        assert stopped.exit_code == 4
        assert "with a number or date" in as_lines(stopped, 200)
        cases = list(ET.fromstring(as_junit(stopped)).iter("testcase"))
        assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)
        skipped = {case.get("name"): case.find("skipped") for case in cases}
        assert "more items are needed" in str(skipped["number"].get("message"))  # type: ignore[union-attr]
        assert "not tested" in str(skipped["glossary"].get("message"))  # type: ignore[union-attr]
    seen = set(next(each.check.sources for each in stopped.checks if each.check.name == "number"))
    same = decide([place for place, text in enumerate(texts) if text in seen])
    assert figures(stopped) == figures(same)
    assert stopped.checks[0].rates.difference.n == len(seen)


def test_output_in_every_form() -> None:
    hostile = Translator("b\x1b[31m", SAME | set(range(1, 1000, 33)))
    found = run_gate(
        Translator("a"), hostile, sources(1000), [Planted()], GateSettings(), names=("live", "b\x1b[31m")
    )
    text = as_lines(found, 80)
    assert text.startswith("WORSE")
    assert "\x1b" not in text
    assert max(map(len, text.split("\n"))) <= 80
    document = json.loads(json.dumps(as_json(found), allow_nan=False))
    assert (document["verdict"], document["exit_code"], document["checks"][0]["check"]) == (
        "worse",
        3,
        "planted",
    )
    (suite,) = ET.fromstring(as_junit(found))
    assert {name: suite.get(name) for name in ("failures", "tests", "skipped", "errors")} == {
        "failures": "1", "tests": "2", "skipped": "0", "errors": "0"
    }  # fmt: skip
    assert "only b" in (suite.findtext("testcase/failure") or "")


JUDGE = """
import json, random, re, sys
for line in sys.stdin:
    asked = json.loads(line)
    wrong = re.findall("[0-9]+", asked["source"]) != re.findall("[0-9]+", asked["translation"])
    print("yes" if (wrong if sys.argv[1] == "good" else random.random() < 0.5) else "no")
"""
SETTINGS = """
[gate]
margin = "2%"
[[tests]]
spec = "sources:source"
[[methods]]
name = "judged"
judge = "cmd:PYTHON FOLDER/judge.py KIND"
error = ["number"]
known = 60
"""


@pytest.mark.parametrize(("kind", "code"), [("good", 3), ("coin", 4)])
@pytest.mark.parametrize("sequential", [False, True])
def test_a_judge_in_the_settings_counts_if_it_can_be_trusted(
    kind: str, code: int, sequential: bool, babelscope: Babelscope, tmp_path: Path
) -> None:
    folder = tmp_path / "ci"  # files are found beside the settings
    folder.mkdir()
    (folder / "judge.py").write_text(JUDGE, "utf-8")
    settings = SETTINGS.replace("PYTHON", sys.executable).replace("FOLDER", str(folder)).replace("KIND", kind)
    (folder / "gate.toml").write_text(settings, "utf-8")
    texts = [f"They saw {100 + n} cats." for n in range(300)]
    (folder / "source").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    for name, every in (("old", 40), ("new", 6)):
        lines = [text.replace(" 1", " 9") if n % every == 0 else text for n, text in enumerate(texts)]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    more = ["--sequential"] if sequential else []
    ran = babelscope(
        "gate", f"file:{tmp_path}/old", f"file:{tmp_path}/new", "--config", str(folder / "gate.toml"), *more
    )
    assert ran.code == code
    if kind == "coin":
        assert "their judge is not known" in ran.out.replace("\n  ", " ")
    else:
        assert "number: only new is wrong in" in ran.out


def test_two_test_sets_of_one_name_are_refused(babelscope: Babelscope, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.en").write_text("A cat.\n", "utf-8")
    asked = [each for name in ("a", "b") for each in ("--tests", f"sources:{tmp_path}/{name}/x.en")]
    ran = babelscope("gate", "cmd:cat", "cmd:cat", *asked)
    assert (ran.code, "two test sets are called x" in ran.err) == (2, True)


def test_the_examples_for_continuous_integration_run_as_shell(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "gate.md").read_text("utf-8")
    (settings,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    github, gitlab = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    assert gitlab["allow_failure"] == {"exit_codes": 4}
    install, command = (each["run"] for each in github)  # the script of both
    (tmp_path / "gate.toml").write_text(settings, "utf-8")
    for name in ("test.en", "live.es", "candidate.es"):
        texts = (f"{'El' if 'es' in name else 'The'} gato {n}." for n in range(100, 700))
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts), "utf-8")
    babelscope = f'babelscope() {{ {sys.executable} -P -m babelscope "$@"; }}'
    assert install == "pip install babelscope"
    done = subprocess.run(["bash", "-ec", f"{babelscope}\n{command}"], cwd=tmp_path, check=False)
    assert done.returncode == 0
    report = tmp_path / gitlab["artifacts"]["reports"]["junit"]
    assert ET.parse(report).getroot().tag == "testsuites"
