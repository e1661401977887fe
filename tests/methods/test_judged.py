"""Judges of errors: what is planted, how answers are read, what is corrected, and who gets no headline."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from babelscope.core.results import Record, Result, Row
from babelscope.core.system import Fingerprint, Reply
from babelscope.language.checks.registry import CHECKS, Setting
from babelscope.methods.judged.method import Verdicts, corrected, says
from babelscope.methods.judged.planting import ERRORS, without_part
from babelscope.methods.reporting import find_row
from babelscope.runs.execute import run_method
from babelscope.systems.registry import open_system
from babelscope.testsets import MinimalPair, ParallelSentence, SourceSentence
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream
from tests.support.toys import Canned

EN_DE = Setting("en", "de")
SOURCE = "Yesterday Anna Weber did not pay the 350 euros, because the office was closed again."
TEXT = "Gestern hat Anna Weber die 350 Euro nicht bezahlt, weil das Büro wieder geschlossen war."


# -- what is planted ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["negation", "number", "name"])
def test_a_check_finds_what_is_planted(name: str) -> None:
    for seed in range(20):
        plant = ERRORS[name].plant
        assert plant is not None
        planted = plant(SOURCE, TEXT, EN_DE, stream(seed, name))
        assert planted is not None
        assert planted[0] == SOURCE
        assert CHECKS[name].find(*planted, EN_DE)
        assert not CHECKS[name].find(SOURCE, TEXT, EN_DE)


def test_what_is_cut_left_or_added() -> None:
    draw = stream(0, "")
    plant = {name: each.plant(SOURCE, TEXT, EN_DE, draw) for name, each in ERRORS.items() if each.plant}
    assert plant["omission"] == (SOURCE, "weil das Büro wieder geschlossen war.")
    assert plant["addition"] == ("because the office was closed again.", TEXT)
    left = plant["untranslated"]
    assert left is not None
    assert (left[1][:25], left[1][-18:]) == (TEXT[:25], "was closed again.".rjust(18))


@pytest.mark.parametrize("text", ["eins zwei drei vier fünf sechs sieben", "今日は天気がとてもいいですね"])
def test_a_third_is_cut_where_there_is_no_clause(text: str) -> None:
    cut = without_part(text, stream(1, ""))
    assert cut is not None
    assert len(cut) < len(text) - 2
    assert (cut[:2], cut[-2:]) == (text[:2], text[-2:])


@pytest.mark.parametrize(
    ("name", "source", "text", "languages"),
    [
        ("negation", "I do not know.", "Keine Ahnung.", ("en", "fi")),
        ("negation", "I do not know.", "Ich weiß es.", ("en", "de")),
        ("number", "He has 350 euros.", "Er hat dreihundert Euro.", ("en", "de")),
        ("name", "So did Anna Weber.", "Sie tat es auch.", ("en", "de")),
        ("omission", "Hello.", "Hallo.", ("en", "de")),
        ("untranslated", "Hello.", "Hallo.", ("en", "de")),
    ],
)
def test_what_cannot_be_planted(name: str, source: str, text: str, languages: tuple[str, str]) -> None:
    plant = ERRORS[name].plant
    assert plant is not None
    assert plant(source, text, Setting(*languages), stream(0, "")) is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("yes", "yes"), (" **No.**", "no"), ("Answer: Yes, a negation is lost. No more.", "yes"), ("NO\n", "no"),
        ("No error", "unread"), ("yes and no", "unread"), ("", "unread"), ("nobody", "unread"), ("A", "unread"),
    ],
)  # fmt: skip
def test_answers(reply: str, expected: str) -> None:
    assert says(reply) == expected


# -- what is corrected -------------------------------------------------------------------------------------


def draw_verdicts(draw: np.random.Generator, wrong: np.ndarray[Any, Any], right: float) -> Verdicts:
    """Verdicts of a judge that is right with this probability."""
    alarms = wrong ^ (draw.random(len(wrong)) >= right)
    return [(str(place), bool(alarm)) for place, alarm in enumerate(alarms)]


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_corrected_rates_of_a_judge_that_is_right_in_four_of_five_cases_cover_the_truth(rate: float) -> None:
    draw, covered, draws = np.random.default_rng(5), 0, 600
    for _ in range(draws):
        own = draw_verdicts(draw, draw.random(300) < rate, 0.8)
        planted, clean = (draw_verdicts(draw, np.full(100, each), 0.8) for each in (True, False))
        estimate, _ = corrected(own, planted, clean, tests=6)
        covered += bool(estimate.n) and estimate.low <= rate <= estimate.high
    assert covered / draws >= 0.93


@pytest.mark.parametrize("known", [5, 30, 100])
def test_a_coin_gets_no_headline(known: int) -> None:
    draw, draws, level = np.random.default_rng(6), 2000, 0.005
    headlines = 0
    for _ in range(draws):
        own, planted, clean = (draw_verdicts(draw, np.full(known, False), 0.5) for _ in range(3))
        headlines += corrected(own, planted, clean)[0].n > 0
    assert headlines / draws <= level + 3 * (level / draws) ** 0.5


def test_a_rate_that_cannot_be_is_none() -> None:
    own, planted, clean = ([(str(n), n < alarms) for n in range(200)] for alarms in (0, 190, 60))
    estimate, note = corrected(own, planted, clean)
    assert (estimate.n, "the correction is wrong" in note) == (0, True)


# -- the method --------------------------------------------------------------------------------------------

JUDGE = """
import hashlib, json, re, sys
right = float(sys.argv[1])
for line in sys.stdin:
    open(sys.argv[2], "a").write(line)
    asked = json.loads(line)
    wrong = re.findall("[0-9]+", asked["source"]) != re.findall("[0-9]+", asked["translation"])
    drawn = int(hashlib.sha256(line.encode()).hexdigest()[:8], 16) / 2**32
    print("yes" if wrong == (drawn < right) else "no")
"""
SOURCES = [f"They paid {100 + n} euros for the old house." for n in range(200)]
RIGHT = [f"Sie zahlten {100 + n} Euro für das alte Haus." for n in range(200)]
OWN = [text.replace("1", "7") if n % 5 == 0 else text for n, text in enumerate(RIGHT)]
LANGUAGES = {"source_language": "en", "target_language": "de"}
PARALLEL = [ParallelSentence(str(n), SOURCES[n], (RIGHT[n],), **LANGUAGES) for n in range(200)]  # type: ignore[arg-type]
ALONE = [SourceSentence(str(n), SOURCES[n], **LANGUAGES) for n in range(200)]  # type: ignore[arg-type]
WRONG_RATE = sum(own != right for own, right in zip(OWN, RIGHT, strict=True)) / 200


class Program:
    """A judge of numbers as a program, and what it was given."""

    def __init__(self, folder: Path, right: float) -> None:
        (folder / "judge.py").write_text(JUDGE, "utf-8")
        self.log = folder / f"log-{right}"
        self.system = open_system(f"cmd:{sys.executable} {folder / 'judge.py'} {right} {self.log}")

    def run(self, items: Sequence[Any], *systems: Any, **settings: Any) -> Result:
        tested = systems or (Canned(dict(zip(SOURCES, OWN, strict=True))),)
        return run_method(
            "judged", list(tested), items, judge=self.system, **{"error": ("number",), **settings}
        )

    @property
    def asked(self) -> list[Record]:
        return [json.loads(line) for line in self.log.read_text("utf-8").split("\n") if line]


def figure(result: Result, name: str = "judged_errors", **labels: str) -> Row:
    row = find_row(result.rows, name, **labels)
    assert row is not None
    return row


@pytest.mark.parametrize("items", [PARALLEL, ALONE], ids=["references", "own translations"])
def test_a_good_judge_is_corrected_and_asked_blindly(items: Sequence[Any], tmp_path: Path) -> None:
    judge = Program(tmp_path, 0.8)
    result = judge.run(items)
    row = figure(result)
    assert row.estimate.low <= WRONG_RATE <= row.estimate.high
    assert figure(result, "alarm_rate").estimate.value > WRONG_RATE + 0.05
    for name in ("sensitivity", "specificity"):
        known = figure(result, name).estimate
        assert (known.low <= 0.8 <= known.high, known.n > 60) == (True, True)
    assert figure(result, "flip_rate").estimate.n == 50
    assert figure(result, "flip_rate").estimate.low > 0
    assert {tuple(each) for each in judge.asked} == {("source", "translation", "error")}
    numbers = [each["source"].split()[2] for each in judge.asked]
    assert numbers[:60] != sorted(numbers[:60])


def test_a_coin_is_unknown_and_compares_nothing(tmp_path: Path) -> None:
    others = [
        Canned(dict(zip(SOURCES, texts, strict=True)), name) for name, texts in (("a", OWN), ("b", RIGHT))
    ]
    coin, judge = (Program(tmp_path, right).run(PARALLEL, *others) for right in (0.5, 1.0))
    assert figure(coin).estimate.n == 0
    assert "not known to tell planted errors" in str(figure(coin).labels["note"])
    assert "unknown" in str(coin)
    assert not [row for row in coin.comparisons if row.estimate.n]
    found = [row.estimate for row in judge.comparisons if row.estimate.n]
    assert [round(abs(each.value), 3) for each in found] == [WRONG_RATE]


def test_what_has_no_known_texts_gets_no_headline(tmp_path: Path) -> None:
    result = Program(tmp_path, 1.0).run(ALONE, error=("omission", "number=Another amount."))
    assert "give references" in str(figure(result, error="omission").labels["note"])
    assert "can be planted" in str(figure(result, error="number").labels["note"])


class Talker:
    """Answers prompts: yes if the translation is rude, and nothing of use about the dog."""

    name, fingerprint = "talker", Fingerprint("talker")

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        assert all("It is impolite." in each and "{translation}" not in each for each in prompts)
        return [Reply("?" if "dog" in each else "Yes." if "damn" in each else "No.") for each in prompts]


def test_an_error_of_ones_own_is_validated_on_pairs() -> None:
    pairs = [
        MinimalPair(f"{n}", f"s {n}", f"{{x}} {n}", (f"damn {n}", f"damn it {n}"), "rude", "human")
        for n in range(30)
    ]
    own = {f"s {n}": ("damn", "dog", "{source}")[n % 3] for n in range(30)}
    result = run_method("judged", Canned(own), pairs, judge=Talker(), error=("rude=It is impolite.",))
    row = figure(result)
    assert (row.estimate.value, row.estimate.n) == (0.5, 20)
    assert {**row.counts, "skipped": 0} == {
        "alarms": 10, "found": 60, "planted": 60, "false_alarms": 0, "clean": 30, "unread": 10,
        "skipped": 0,
    }  # fmt: skip
    assert figure(result, "answered").counts["unread"] == 20


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs judge"),
        ({"judge": Canned({})}, "if it is no cmd: program"),
        ({"judge": Talker(), "error": ("rude",)}, "needs a definition"),
        (
            {"judge": Talker(), "source_language": "en", "error": ("negation",)},
            "without the languages",
        ),
        ({"judge": Talker(), "error": ("name", "name=x")}, "each once"),
    ],
)
def test_what_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BabelscopeError) as error:
        run_method(
            "judged", Canned({"s": "t"}), [SourceSentence("1", "s")], **{"error": ("number",), **settings}
        )
    assert message in str(error.value)
