"""Quality by metrics: sacreBLEU's own numbers, for any system, read by `compare` in the place of a table."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from babelscope import likelihood
from babelscope.core.system import Asked, Scored, Target
from babelscope.runs.execute import run_method
from babelscope.testsets import ParallelSentence
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import EOS, ToySystem

SENTENCES = [
    ("The cat sat on the mat.", "Die Katze saß auf der Matte.", "Die Katze saß auf einer Matte."),
    ("It is raining again today.", "Heute regnet es schon wieder.", "Es regnet heute wieder."),
    ("Nobody has seen the letter.", "Niemand hat den Brief gesehen.", "Keiner sah den Brief."),
    ("They walked home at night.", "Sie gingen nachts nach Hause.", "In der Nacht gingen sie heim."),
]


@pytest.fixture
def files(tmp_path: Path) -> None:
    items = [
        {"id": str(n), "source": source, "reference": [first, second]}
        for n, (source, first, second) in enumerate(SENTENCES)
    ]
    (tmp_path / "tests.jsonl").write_text("".join(json.dumps(each) + "\n" for each in items))


def test_the_interval_is_that_of_leaving_each_sentence_out() -> None:
    items = [ParallelSentence(str(n), f"s{n}", (f"ab{'ab' * n}",)) for n in range(9)]
    result = run_method("quality", ToySystem("toy:1", salt="1"), TestSet("t", tuple(items)), metric=("chrf",))
    texts = [record["translation"] for record in result.records]
    references = [item.references[0] for item in items]
    whole = sacrebleu.corpus_chrf(texts, [references]).score
    left = [
        sacrebleu.corpus_chrf(texts[:n] + texts[n + 1 :], [references[:n] + references[n + 1 :]]).score
        for n in range(9)
    ]
    (row,) = result.rows
    assert row.estimate.value == pytest.approx(whole)
    error = np.sqrt(8 / 9 * np.sum((np.array(left) - np.mean(left)) ** 2))
    assert row.estimate.low < whole - error < whole + error < row.estimate.high


@pytest.mark.usefixtures("files")
def test_figures_of_a_run_stand_for_a_table(babelscope: Babelscope, tmp_path: Path) -> None:
    cued = [
        {
            "id": str(n),
            "source": f"s{n}",
            "correct_sources": [f"r{n}"],
            "incorrect_sources": [f"w{n}"],
            "category": ("male", "female")[n % 2],
        }
        for n in range(12)
    ]
    (tmp_path / "cued.jsonl").write_text("".join(json.dumps(each) + "\n" for each in cued))
    names = ["toy:1", "toy:1-2", "toy:2", "toy:2-2", "toy:3"]
    systems = [word for name in names for word in ("--system", name)]
    evaluated = ("--evaluator", "toy:9", "--set", "preflight=0", "--protocol", "paper", "--out", "judged")
    for command in (
        ("condition", "--tests", "cued.jsonl", *evaluated),
        ("quality", "--tests", "tests.jsonl", "--metric", "chrf", "--out", "measured"),
    ):
        done = babelscope(command[0], *systems, *command[1:], "--json")
        assert done.code == 0, done.err
    lines = [f"{name}\t{'yes' if number % 2 else 'no'}\tt{number % 2}" for number, name in enumerate(names)]
    (tmp_path / "t.tsv").write_text("\n".join(["system\tdistilled\tteacher", *lines]) + "\n")
    asked = ("--on", "chrf", "--on", "distilled", "--factors", "measured", "--factors", "t.tsv")
    drawn = ("--svg", "figure.svg", "--set", "lines=teacher")
    rows = babelscope("compare", "judged", *asked, *drawn, "--json").rows
    found = {row["variable"]: row["value"] for row in rows if row["table"] == "regression"}
    least = [row["value"] for row in rows if row["table"] == "figures" and row["name"] == "minimum"]
    measured = babelscope("quality", "--rejudge", "measured", "--json").rows
    chrf = [row["value"] for row in measured if row["name"] == "chrf"]
    columns = np.column_stack([np.ones(5), chrf, [n % 2 for n in range(5)]])
    right = np.linalg.lstsq(columns, 100 * np.array(least), rcond=None)[0]
    assert [found[name] for name in ("intercept", "chrf", "distilled")] == pytest.approx(list(right))
    picture = (tmp_path / "figure.svg").read_text("utf-8")
    for name, x, y in zip(names, chrf, least, strict=True):
        assert f"<title>{name}: {x:.4g}, {100 * y:.4g}</title>" in picture
    assert [picture.count(f"<title>{teacher}</title>") for teacher in ("t0", "t1")] == [1, 1], "a line each"
    assert "toy:1, mean of 2" in picture

    (tmp_path / "u.tsv").write_text("system\tchrf\ntoy:1\t3\n")
    twice = babelscope("compare", "judged", "--factors", "measured", "--factors", "u.tsv", "--on", "chrf")
    assert "both measured and u.tsv have a column 'chrf'" in twice.err
    alone = babelscope("compare", "--factors", "measured", "--figure", "chrf")
    assert "without runs, --factors must be one table that also has the figure" in alone.err


ITEMS = [
    ParallelSentence("1", "a b", ("ab", "c")),
    ParallelSentence("2", "b c", ("abc a",)),
    ParallelSentence("3", "c", ("b", "bb", "bbb")),
]


def by_hand(references: int | None) -> float:
    """Sum of all token log-probabilities over their number, EOS included."""
    toy = ToySystem()
    logs = []
    for item in ITEMS:
        for text in item.references[:references]:
            symbols = ["", *text, EOS]
            for previous, symbol in itertools.pairwise(symbols):
                logs.append(math.log(toy.next_probabilities(item.source, previous)[symbol]))
    return sum(logs) / len(logs)


@pytest.mark.parametrize(("references", "count", "tokens"), [("all", None, 20), ("first", 1, 11)])
def test_the_figures_are_those_computed_by_hand(references: str, count: int | None, tokens: int) -> None:
    logprob, perplexity = likelihood(ToySystem(), ITEMS, references=references, chunk=2).rows
    assert logprob.estimate.value == pytest.approx(by_hand(count), abs=1e-12)
    assert perplexity.estimate.value == pytest.approx(math.exp(-by_hand(count)), abs=1e-9)
    assert perplexity.estimate.low == pytest.approx(math.exp(-logprob.estimate.high))
    assert logprob.counts["tokens"] == tokens
    assert logprob.estimate.n == 3


def test_notes_and_impossible_references_are_counted() -> None:
    class Noting(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            return [
                Scored(s.text, s.tokens, s.logprobs, ("changed", "truncated")) for s in super().score(pairs)
            ]

    items = [*ITEMS, ParallelSentence("4", "a", ("xyz", "a")), ParallelSentence("5", "a", ("x",))]
    (row, _) = likelihood(Noting(), items).rows
    assert row.counts == {"tokens": 22, "infinite": 2, "truncated": 9, "changed": 9, "skipped": 0}
    assert row.estimate.n == 4


def test_no_interval_holds_a_probability_above_one() -> None:
    class Sure(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            logs = iter((-0.01, -1.0))
            return [Scored(str(target), ("x",), (next(logs),)) for _, target in pairs]

    logprob, perplexity = likelihood(Sure(), ITEMS[1:], references="first").rows
    assert logprob.estimate.low < -1 < logprob.estimate.high == 0
    assert perplexity.estimate.low == 1


def test_if_all_is_impossible_there_is_no_figure() -> None:
    (row, _) = likelihood(ToySystem(), [ParallelSentence("1", "a", ("x",))]).rows
    assert row.as_json()["value"] is None
    assert (row.estimate.n, row.counts["infinite"]) == (0, 1)


def test_a_system_that_gives_no_scores_is_told() -> None:
    class Silent(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            return [Scored(str(target)) for _, target in pairs]

    with pytest.raises(BabelscopeError, match="toy gave no log-probabilities for 'ab'"):
        likelihood(Silent(), ITEMS)
