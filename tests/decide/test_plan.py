"""Plans: samples of a pool whose weighted rates are those of the pool, and the items that checks need."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.decide.plan import allocate, draw_sample
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

POOL = [
    f"Sentence {n} has a number." if n % 10 == 0 else f"Dogs bark {'a' * (n % 25 + 1)} {'b' * (n // 25)}."
    for n in range(500)
]


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 80), min_size=1), st.integers(1, 400))
def test_allocation_takes_all_that_is_asked_for(sizes: dict[str, int], n: int) -> None:
    n = min(n, sum(sizes.values()))
    if n < len(sizes):
        with pytest.raises(BabelscopeError):
            allocate(sizes, n)
        return
    found = allocate(sizes, n)
    assert sum(found.values()) == n
    assert all(0 < found[name] <= sizes[name] for name in sizes)
    # No stratum has more than another one that could have had more.
    assert all(a - 1 <= b or b == sizes[name] for name, b in found.items() for a in found.values())


def test_weighted_rates_of_samples_are_those_of_the_pool() -> None:
    # Errors are five times as frequent where there is a number.
    draws = np.random.default_rng(4)
    wrong = {text: draws.random() < (0.5 if "number" in text else 0.1) for text in POOL}
    truth = np.mean(list(wrong.values()))
    rates, plain = [], []
    for seed in range(400):
        lines = draw_sample(POOL + POOL[:30], 60, seed=seed).lines
        assert sum(line["weight"] for line in lines) == pytest.approx(60)
        assert len({line["id"] for line in lines}) == len({line["source"] for line in lines}) == 60
        rates.append(np.mean([line["weight"] * wrong[line["source"]] for line in lines]))
        plain.append(np.mean([wrong[line["source"]] for line in lines]))
    assert abs(np.mean(rates) - truth) < 3 * np.std(rates) / 20
    assert abs(np.mean(plain) - truth) > 3 * np.std(plain) / 20


def test_sentences_are_drawn_by_what_checks_look_for() -> None:
    pool = ["She left.", "It is not here.", "Call {name}.", "Is it?", "It is (so) here.", "It costs 3 $."]
    pool += [f"Nothing {'more ' * n}here" for n in range(1, 20)]
    strata = draw_sample(pool, 8, languages={"source_language": "en"}).strata
    found = {"gender", "negation", "copy", "question", "punctuation", "none of these"}
    assert found <= set(strata) <= found | {"number", "unit"}
    assert "negation" not in draw_sample(pool, 8).strata


def test_samples_have_more_of_what_is_rare(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "pool").write_text("".join(f"{text}\n" for text in POOL), "utf-8")
    ran = babelscope("plan", "--pool", str(tmp_path / "pool"), "--n", "100", "--source-language", "en")
    assert ran.code == 0
    lines = [json.loads(line) for line in ran.out.split("\n")[:-1]]
    assert sum("number" in line["source"] for line in lines) == 50
    assert {line["source_language"] for line in lines} == {"en"}
    assert "number: 50 of 50" in ran.err


def test_what_checks_need(babelscope: Babelscope, tmp_path: Path) -> None:
    (row,) = babelscope("plan", "--margin", "2%", "--discordant", "0.1", "--json").rows
    assert row["difference"] == 0.04
    more = babelscope("plan", "--margin", "1%", "--discordant", "0.1", "--json").rows[0]
    assert more["to_clear"] > 3 * row["to_clear"]
    checks = [
        {"check": name, "only_old": 3, "only_new": only, "difference": {"n": 100}}
        for name, only in [("a", 0), ("b", 9)]
    ]
    (tmp_path / "gate.json").write_text(json.dumps({"checks": checks}), "utf-8")
    a, b = babelscope("plan", "--gate", str(tmp_path / "gate.json"), "--json").rows
    assert (a["discordant"], b["discordant"]) == (0.03, 0.12)
    assert a["to_clear"] < b["to_clear"]
    assert "to clear (margin 1 %)" in babelscope("plan").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--margin", "much"], "--margin must be a share"),
        (["--margin", "120%"], "--margin must be a share"),
        (["--n", "5"], "name a --pool"),
        (["--set", "power=1"], "--set power must be between 0 and 1"),
        (["--gate", "FILE"], "is not what `babelscope gate --format json` prints"),
    ],
)
def test_what_is_refused(arguments: list[str], message: str, babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "FILE").write_text("{}", "utf-8")
    ran = babelscope("plan", *(str(tmp_path / each) if each == "FILE" else each for each in arguments))
    assert ran.code == 2
    assert message in ran.err
