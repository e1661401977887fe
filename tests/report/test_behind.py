"""Every number on the page that links to items is their count: random records of every method."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from babelscope.core.comparison import Comparison, StoredRun, SystemResult
from babelscope.core.results import Estimate, Record
from babelscope.core.tables import Line
from babelscope.methods.base import check_settings
from babelscope.methods.registry import find_method, method_names
from babelscope.methods.reporting import NOT_RIGHT
from babelscope.report.items import items_of
from babelscope.report.page import collect
from babelscope.report.sections import Section
from babelscope.runs.reading import read_run
from tests.report.synthetic import contrast_run

WORDS = ("ein", "Haus", "steht", "", "nicht", "hier")


def item_of(number: int) -> random.Random:
    """What is random about an item, the same for every system."""
    return random.Random(f"item {number}")


def text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randrange(6))).strip()


def hypothesis(rng: random.Random) -> Record:
    return {"text": rng.choice(("", text(rng))), "logprob": -9 * rng.random()}


def contrast(rng: random.Random, number: int) -> Record:
    phenomenon = item_of(number).choice(("np_agreement", "clause_omission", "placeholder_ding"))
    right, wrong = (rng.choice((-1.0, -0.5, -0.25)) for _ in range(2))
    scored = {"text": "x", "tokens": ["x"], "logprobs": [-1.0], "notes": []}
    return {
        "phenomenon": phenomenon,
        "reference": item_of(2 * number).choice(("human", "machine")),
        "scores": {"correct": right, "contrastive": [wrong]},
        "verdict": "tie" if right == wrong else "correct" if right > wrong else "wrong",
        "correct": scored,
        "contrastive": [{**scored, "at": 0}],
        "best": scored,
        "detected": {
            "best": rng.random() < 0.4,
            "contrastive": [True],
            "reference": {phenomenon: False, "np_agreement": False},
        },
    }


def condition(rng: random.Random, number: int) -> Record:
    logs = [rng.choice((None, -1.0, -1.0, -2.0 * rng.random())) for _ in range(2)]
    return {
        "category": item_of(number).choice(("female", "male", "none")),
        "gold": None,
        "translation": text(rng),
        "evaluator": "judge",
        "notes": [],
        "given": False,
        "correct_logprob": logs[0],
        "incorrect_logprob": logs[1],
    }


def space(rng: random.Random, number: int) -> Record:
    found = sorted((hypothesis(rng) for _ in range(rng.choice((0, 3)))), key=lambda each: -each["logprob"])
    exact = bool(found) and rng.random() < 0.6
    gap = rng.choice((0.0, 0.4, None)) if exact else None
    return {
        "references": [f"ein Haus {number}"],
        "reference_logprob": -1.0,
        "best": hypothesis(rng),
        "beam": [hypothesis(rng) for _ in range(3)],
        "top": {
            "found": found,
            "exact": exact,
            "bound": None if exact else 0.0,
            "mass": 0.1,
            "expansions": 3,
            "minimum": 2,
        },
        "samples": {"hypotheses": [hypothesis(rng)], "drawn": [0, 0]},
        "missed_by": {"beam": gap, "beam-list": gap},
    }


def challenge(rng: random.Random, number: int) -> Record:
    own = item_of(number)
    found = [{"phenomenon": own.choice(("particle", "relative")), "distance": own.randrange(9)}]
    return {
        "references": ["ein Haus steht hier"],
        "translation": rng.choice(("ein Haus", "hier steht ein Haus", "nicht")),
        "notes": [],
        "extra": {"dependencies": found * own.randrange(2)},
    }


def likelihood(rng: random.Random, _number: int) -> Record:
    logs = [rng.choice((None, -1.0, -0.5, -0.1)) for _ in range(3)]
    return {"references": [{"tokens": ["a", "b", "c"], "logprobs": logs, "notes": []}]}


def quality(rng: random.Random, number: int) -> Record:
    return {**challenge(rng, number), "extra": {}}


def errors(rng: random.Random, number: int) -> Record:
    pair = contrast(rng, number)
    alarm = pair["detected"]["best"]
    own = {"alarms": {pair["phenomenon"]: alarm}, "verdict": "error" if alarm else "none"}
    kept = ("phenomenon", "reference", "correct", "best", "detected")
    return {
        **{name: pair[name] for name in kept},
        **own,
        "notes": [],
        "texts": {"correct": "x", "contrastive": ["y"]},
    }


def answered(rng: random.Random, label: str, number: int) -> Record:
    replies = [
        [{"text": rng.choice("AB?"), "ended": "whole"} for _ in range(2)] for _ in range(rng.choice((1, 2)))
    ]
    asked = [{"right": "x", "wrong": "y", "replies": each} for each in replies]
    return {label: item_of(number).choice("pq"), "asked": asked}


MADE: dict[str, tuple[Callable[[random.Random, int], Record], Sequence[Mapping[str, Any]]]] = {
    "contrast": (contrast, [{"ties": each} for each in ("half", "correct", "wrong")]),
    "condition": (condition, [{"ties": each} for each in ("half", "correct", "wrong")]),
    "space": (space, [{"k": 3, "samples": 2, "unresolved": each} for each in ("leave-out", "keep")]),
    "challenge": (
        challenge,
        [
            {
                "metrics": ("chrf",),
                "matched_corpora": 2,
                "length_corpora": 4,
                "min_sentences": 5,
                "controls": "all",
            }
        ],
    ),
    "likelihood": (likelihood, [{}]),
    "errors": (errors, [{}]),
    "prompted_choice": (
        lambda rng, number: {**answered(rng, "phenomenon", number), "reference": "human"},
        [{"undecided": each} for each in ("half", "correct", "wrong")],
    ),
    "quality": (quality, [{"metric": ("chrf",)}, {"metric": ("bleu", "chrf")}]),
}


def random_section(name: str, given: Mapping[str, Any], seed: int, size: int) -> Section:
    """Two systems with random answers to the same items, judged and summarized by the method itself."""
    found, make = find_method(name), MADE[name][0]
    method = found(check_settings(found, given))
    manifest = SimpleNamespace(method_of=lambda _label: method, jobs=(), seed_groups=())
    run = cast(StoredRun, SimpleNamespace(path=Path("run"), name="run", manifest=manifest))
    rng = random.Random(f"{name}{given}{seed}")
    results = []
    for system in ("one", "two"):
        keys = {"method": name, "system": system, "tests": "tests"}
        asked = [
            {**keys, "item": item, "id": str(item), "source": f"source {item}", **make(rng, item)}
            for item in range(size)
        ]
        judged = asked if name in ("contrast", "errors") else method.judge(asked)
        records = method.complete(judged)
        rows = method.summarize(records, 0)
        own = SystemResult(system, run, name, name, 1, {}, {}, system, {}, "tests", "", all_rows=rows)
        results.append(dataclasses.replace(own, paired=method.paired(), load=partial(tuple, records)))
    return Section(Comparison(name, "tests", tuple(results)), [])


def errors_behind(line: Line, section: Section, data: Mapping[str, Any]) -> float:
    """The errors among the items that a line links to, by what the page says of them; a tie is half of one."""
    series = {"one": 0, "two": 1}[line.system]
    group, verdict = line.query.get("group"), line.query["verdict"]
    total = 0.0
    for item in data["items"]:
        if group and group not in item["g"]:
            continue
        for each in item["a"]:
            if each["s"] == series and (
                each["c"] in ("errors", "some")
                if verdict == NOT_RIGHT
                else verdict in (each["v"], *each.get("w", ()))
            ):
                half = section.method.name != "space" and each["c"] == "some"
                total += 0.5 if half else 1.0
    return total


def test_every_method_is_tried():
    # Records of patterns and of rules are not made at random here.
    ours = {name for name in method_names() if find_method(name).__module__.startswith("babelscope.methods.")}
    assert ours - {"patterns_winomt", "patterns_mucow", "rules", "judged"} == set(MADE)


PLAIN = {
    "contrast": "",
    "condition": "unweighted",
    "space": "",
    "prompted_choice": "",
}
"""Methods with error rates that are neither weighted nor corrected, and a part of what these are called."""


@pytest.mark.parametrize("name", PLAIN)
def test_an_error_rate_is_that_of_the_items_behind_it(name):
    checked = 0
    for given in MADE[name][1]:
        for seed, size in enumerate((2, 20, 20, 40)):
            section = random_section(name, given, seed, size)
            table = section.tables[0]
            data = items_of([section], {"one": 0, "two": 1})
            for line in table.lines:
                label, estimate = str(line.cells[table.labels - 1]), line.cells[table.labels]
                if line.verdict and PLAIN[name] in label and "verdict" in line.query:
                    assert isinstance(estimate, Estimate)
                    rate = estimate.value / (100 if label.endswith("(%)") else 1)
                    assert errors_behind(line, section, data) == pytest.approx(rate * estimate.n), line
                    checked += 1
    assert checked


@pytest.mark.parametrize("name", MADE)
def test_two_items_make_no_error_and_can_be_shown(name):
    for seed in range(2):
        section = random_section(name, MADE[name][1][0], seed, 2)
        assert all(line.verdict != "error" for line in section.tables[0].lines)
        assert len(items_of([section], {"one": 0, "two": 1})["items"]) == 2
        assert all(chart.title for chart in section.charts)


def test_a_capped_page_says_how_many_of_the_items_it_holds(tmp_path):
    run = read_run(contrast_run(tmp_path / "run", 600))
    whole = [each for own in collect([run]).findings.values() for each in own]
    some = [each for own in collect([run], cap=20).findings.values() for each in own]
    assert all(each.on_page == each.behind for each in whole)
    capped = [each for each in some if each.on_page != each.behind]
    assert capped
    assert all(each.link[1] == f"{each.on_page} of {each.behind} items" for each in capped if each.behind > 1)
