"""Hypothesis space: figures are those of the listed space, computed apart from the method."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope import space
from babelscope.core.results import Record, Result
from babelscope.core.system import Asked, Note, Scored, TopK
from babelscope.methods.base import Items
from babelscope.methods.space.method import Space, _hypothesis, _misses
from babelscope.methods.space.regions import (
    SpaceSettings,
    is_empty,
    ranking_gains,
)
from babelscope.metrics.base import Segment, allow_only, sentence_qualities
from babelscope.metrics.ranking import kqrg, krg
from babelscope.runs.execute import run_method
from babelscope.testsets import ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.enumerated import Enumerated
from tests.support.results import only_row as row
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import EOS, ToySystem

ITEMS = [
    ParallelSentence(str(number), f"source {number}", references)
    for number, references in enumerate([("ab",), ("ba", "aab"), ("b",), ("abab",), ("aa",), ("bb", "a")])
]
K, SAMPLES = 4, 12


@pytest.fixture(scope="module")
def toy() -> Enumerated:
    return Enumerated()


@pytest.fixture(scope="module")
def result(toy: Enumerated) -> Result:
    return space(toy, ITEMS, k=K, samples=SAMPLES, mbr_samples=5, curves=True, chunk=4)


def quality(item: ParallelSentence, texts: Sequence[str]) -> list[float]:
    return sentence_qualities("chrf", [Segment(item.source, text, item.references) for text in texts])


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def test_the_top_region_is_that_of_the_listed_space(toy: Enumerated, result: Result) -> None:
    for k in (2, 3, K):
        lists = [quality(item, [each.text for each in toy.space(item.source)[:k]]) for item in ITEMS]
        found: dict[str, str | int] = {"region": "top", "k": k, "view": "tokens"}
        assert row(result.rows, "krg", **found).estimate.value == pytest.approx(mean([krg(q) for q in lists]))
        assert row(result.rows, "kqrg", **found).estimate.value == pytest.approx(
            mean([kqrg(q) for q in lists])
        )
        assert row(result.rows, "krg", **found).estimate.n == len(ITEMS)


def test_a_narrow_beam_misses_modes_by_the_nats_it_is_short_of() -> None:
    toy = Enumerated(symbols="abc", limit=5, salt="narrow")
    items = [ParallelSentence(str(number), f"s{number}", ("abc",)) for number in range(30)]
    rows = space(toy, items, k=2, samples=0, beam=1).rows
    gaps = []
    for item in items:
        best, mode = toy.translate([item.source], beam=1)[0][0], toy.space(item.source)[0]
        if "unfinished" not in best.notes:
            gaps.append(mode.total - best.total)
    missed = [gap for gap in gaps if gap > 1e-9]
    assert missed
    found = row(rows, "search_error", decoding="beam")
    assert (found.counts["missed"], found.estimate.n) == (len(missed), len(gaps))
    gap = row(rows, "search_gap", decoding="beam")
    assert gap.estimate.value == pytest.approx(mean(missed))
    assert gap.estimate.n == len(missed)


def test_empty_modes_are_counted(toy: Enumerated, result: Result) -> None:
    empty = sum(toy.space(item.source)[0].text == "" for item in ITEMS)
    assert empty > 0
    found = row(result.rows, "empty_mode", region="top", view="tokens")
    assert (found.counts["empty"], found.estimate.value) == (empty, pytest.approx(empty / len(ITEMS)))


# The share of a translation's letters that a reference has, which is not what chrF says.
LETTERS = """
import json, sys
print("ready", flush=True)
for line in sys.stdin:
    shares = []
    for each in json.loads(line):
        text, other = each["hypothesis"], each["reference"]
        shares.append(sum(letter in other for letter in text) / max(1, len(text)))
    print(json.dumps(shares), flush=True)
"""


def letters(text: str, other: str) -> float:
    return sum(letter in other for letter in text) / max(1, len(text))


def chrf(text: str, other: str) -> float:
    return sentence_qualities("chrf", [Segment("", text, (other,))])[0]


@pytest.mark.parametrize(("utility", "by"), [("chrf", chrf), ("cmd", letters), ("ter", None)])
def test_decoding_rows_hold_what_was_decoded(toy: Enumerated, tmp_path: Path, utility: str, by: Any) -> None:
    (tmp_path / "letters.py").write_text(LETTERS)
    if utility == "cmd":
        utility = f"cmd:{sys.executable} {tmp_path / 'letters.py'}?open=yes"
    result = space(toy, ITEMS, k=K, samples=SAMPLES, mbr_samples=5, utility=utility)
    best = [toy.translate([item.source], beam=5)[0][0].text for item in ITEMS]
    modes = [toy.space(item.source)[0].text for item in ITEMS]
    chosen = []
    for record in result.records:
        drawn = [record["samples"]["hypotheses"][number]["text"] for number in record["samples"]["drawn"][:5]]
        if by is None:  # texts without words are refused as references of TER only if all are
            chosen.append(record["mbr"]["text"])
            assert record["mbr"]["text"] in drawn
            continue
        utilities = {one: mean([by(one, other) for other in drawn]) for one in drawn}
        chosen.append(next(one for one in drawn if utilities[one] > max(utilities.values()) - 1e-9))
    for decoding, texts in (("beam", best), ("mode", modes), ("mbr", chosen)):
        expected = mean([quality(item, [text])[0] for item, text in zip(ITEMS, texts, strict=True)])
        assert row(result.rows, "quality", decoding=decoding).estimate.value == pytest.approx(expected)


def test_a_run_that_names_a_program_as_utility_starts_none(toy: Enumerated, tmp_path: Path) -> None:
    (tmp_path / "letters.py").write_text(LETTERS)
    settings = SpaceSettings(
        k=2, samples=9, mbr_samples=5, utility=f"cmd:{sys.executable} {tmp_path / 'letters.py'}?open=yes"
    )
    judged = asked_and_judged({"system": toy}, ITEMS, settings)
    with (
        allow_only(["chrf"]),
        pytest.warns(RuntimeWarning, match="are those stored in the run; use --set utility="),
    ):
        assert Space(settings).judge(judged) == judged
    with pytest.raises(BabelscopeError, match="reads no reference, so it cannot compare"):
        SpaceSettings(utility="cometkiwi")


def asked_and_judged(systems: dict[str, Any], items: list[Any], settings: SpaceSettings) -> list[Record]:
    method = Space(settings)
    return method.judge(method.ask(systems, Items(items), 0))


def test_sampled_kqrg_converges_to_its_expectation_over_the_space() -> None:
    """Must show 3: the mean over many sets of n samples is the sum over all sets, weighted by probability."""
    toy = Enumerated(symbols="ab", limit=3, salt="few")
    item, n, sets = ITEMS[0], 3, 1200
    outcomes = [
        toy._finished(item.source, tokens)
        for length in range(1, toy.limit + 1)
        for tokens in itertools.product(toy.symbols, repeat=length)
        if EOS not in tokens[:-1] and (tokens[-1] == EOS or length == toy.limit)
    ]
    probabilities = [math.exp(each.total) for each in outcomes]
    assert math.fsum(probabilities) == pytest.approx(1)
    qualities = quality(item, [each.text for each in outcomes])
    expected = {}
    for name, measure in (("krg", krg), ("kqrg", kqrg)):
        expected[name] = math.fsum(
            math.prod(probabilities[i] for i in chosen)
            * measure([qualities[i] for i in chosen], [outcomes[i].total for i in chosen])
            for chosen in itertools.product(range(len(outcomes)), repeat=n)
        )
    settings = SpaceSettings(samples=n)
    (drawn,) = toy.sample([item.source], n=n * sets, seed=11)
    records = asked_and_judged(
        {"system": _Given(toy, drawn)}, [item], SpaceSettings(samples=n * sets, mbr_samples=1)
    )
    samples = records[0]["samples"]
    values: dict[str, list[float]] = {"krg": [], "kqrg": []}
    for start in range(0, n * sets, n):
        some = {**records[0], "samples": {**samples, "drawn": samples["drawn"][start : start + n]}}
        found = ranking_gains(some, "samples", n, "tokens", settings)
        assert found is not None
        for name, own in values.items():
            own.append(found[name])
    for name, many in values.items():
        for count in (250, sets):
            some_mean = mean(many[:count])
            spread = math.sqrt(mean([(each - some_mean) ** 2 for each in many[:count]]) / count)
            assert some_mean == pytest.approx(expected[name], abs=4 * spread)
        assert mean(many) == pytest.approx(expected[name], abs=0.02)


class _Given(ToySystem):
    """The toy, with samples drawn before."""

    def __init__(self, toy: Enumerated, drawn: list[Scored]) -> None:
        self.__dict__.update(toy.__dict__)
        self.top_k = toy.top_k
        self._drawn = drawn

    def sample(self, sources: Sequence[Asked], *, n: int, seed: int) -> list[list[Scored]]:  # noqa: ARG002
        return [self._drawn[:n] for _ in sources]


def test_the_order_of_items_changes_no_figure(toy: Enumerated, result: Result) -> None:
    turned = space(toy, ITEMS[::-1], k=K, samples=SAMPLES, mbr_samples=5, curves=True)
    for before, after in zip(result.rows, turned.rows, strict=True):
        assert after.estimate.value == pytest.approx(before.estimate.value, nan_ok=True)
        if before.name not in ("bleu", "chrf"):  # those are resampled by place
            assert after.estimate.low == pytest.approx(before.estimate.low, nan_ok=True)


def test_both_views_are_reported() -> None:
    toy = Enumerated(symbols=("a", "b", "ab"), limit=4, salt="twins")
    rows = space(toy, ITEMS, k=8, samples=20).rows
    with_twins = 0
    by_tokens, by_texts = [], []
    for item in ITEMS:
        listed = toy.space(item.source)[:8]
        sums: dict[str, float] = {}
        for each in listed:
            sums[each.text] = sums.get(each.text, 0.0) + math.exp(each.total)
        with_twins += len(sums) < 8
        order = sorted(sums, key=lambda text: -sums[text])
        by_tokens.append(kqrg(quality(item, [each.text for each in listed]), [each.total for each in listed]))
        by_texts.append(kqrg(quality(item, order), [sums[text] for text in order]))
    assert with_twins > 0
    tokens, texts = (row(rows, "kqrg", region="top", view=view) for view in ("tokens", "text"))
    assert tokens.estimate.value == pytest.approx(mean(by_tokens))
    assert texts.estimate.value == pytest.approx(mean(by_texts))
    assert (tokens.counts["twins"], tokens.counts["short"], texts.counts["short"]) == (
        with_twins,
        0,
        with_twins,
    )


def test_a_space_smaller_than_k_is_measured_as_it_is_and_counted() -> None:
    toy = Enumerated(symbols="a", limit=3)  # "", "a" and "aa"
    rows = space(toy, ITEMS, k=5, samples=0).rows
    found = row(rows, "krg", region="top", view="tokens")
    lists = [quality(item, [each.text for each in toy.space(item.source)]) for item in ITEMS]
    assert (found.counts["short"], found.counts["unresolved"]) == (len(ITEMS), 0)
    assert found.estimate.value == pytest.approx(mean([krg(each) for each in lists]))
    assert not [each for each in rows if each.labels.get("region") == "samples"]


def test_unresolved_searches_count_with_what_they_proved(toy: Enumerated) -> None:
    budget: dict[str, Any] = {"k": 4, "samples": 0, "budget_expansions": 2}
    left_out = space(toy, ITEMS, **budget, curves=True, unresolved="leave-out").rows
    assert row(left_out, "krg", region="top", k=2).counts["unresolved"] == 0
    whole = row(left_out, "krg", region="top", k=4, view="tokens")
    assert (whole.estimate.n, whole.counts["unresolved"]) == (0, len(ITEMS))
    assert whole.as_json()["value"] is None
    assert row(left_out, "empty_mode", region="top", view="tokens").counts["unresolved"] == 0
    assert row(left_out, "empty_mode", region="top", view="text").counts["unresolved"] == len(ITEMS)
    kept = row(space(toy, ITEMS, **budget, unresolved="keep").rows, "krg", region="top", view="tokens")
    # What beam search found completes them, and they are still counted as unresolved.
    assert (kept.estimate.n, kept.counts["unresolved"]) == (6, 6)
    assert kept.counts["short"] < 6


def test_unfinished_samples_are_kept_and_counted(toy: Enumerated, result: Result) -> None:
    unfinished = sum(
        "unfinished" in each.notes
        for item in ITEMS
        for each in toy.sample([item.source], n=SAMPLES, seed=0)[0]
    )
    assert unfinished > 0
    found = row(result.rows, "kqrg", region="samples", k=SAMPLES, view="tokens")
    assert (found.counts["unfinished"], found.estimate.n) == (unfinished, len(ITEMS))


def test_several_metrics_say_what_each_says_alone() -> None:
    toy = Enumerated()
    alone = {name: space(toy, ITEMS, k=3, samples=6, metric=name) for name in ("chrf", "ter", "bleu")}
    together = space(toy, ITEMS, k=3, samples=6, metric=("chrf", "ter", "bleu"))
    for name, result in alone.items():
        for each in result.rows:
            if each.name in ("quality", "krg", "krg_random", "krg_above_random", "kqrg", "beam_minus_exact"):
                (same,) = (
                    other
                    for other in together.rows
                    if (other.name, other.labels) == (each.name, {**each.labels, "metric": name})
                )
                assert (same.estimate, same.counts) == (each.estimate, each.counts)
    plain = [each for each in alone["chrf"].rows if each.name in ("empty_mode", "expansions", "bleu")]
    assert all(each in together.rows for each in plain)
    with pytest.raises(BabelscopeError, match="each may be given once"):
        space(toy, ITEMS, metric=("chrf", "chrf"))


def test_kqrg_takes_its_bound_from_the_metric(tmp_path: Path) -> None:
    script = tmp_path / "judge.py"
    script.write_text("import sys\nfor line in sys.stdin: print(len(line) % 7)\n")
    named = f"cmd:{sys.executable} {script}"
    with pytest.raises(BabelscopeError, match="name it, as in cmd:COMMAND"):
        space(Enumerated(), ITEMS, k=3, samples=0, metric=named)
    one, ten = (space(Enumerated(), ITEMS, k=3, samples=0, metric=f"{named}?bound={n}") for n in (1, 10))
    found = [row(each.rows, "kqrg", region="top", view="tokens").estimate.value for each in (one, ten)]
    assert found[0] == pytest.approx(10 * found[1])
    assert space(Enumerated(), ITEMS, k=3, samples=0, metric=named, normalize="ideal").rows


def scored(text: str, logprob: float, *notes: Note) -> Scored:
    return Scored(text, (*text, "</s>"), (*[0.0] * len(text), logprob), notes)


def top(*found: Scored, exact: bool, bound: float) -> TopK:
    return TopK(found, exact=exact, bound=bound, mass=0.5, expansions=9, minimum=5)


MODE, NEXT, LAST = scored("ab", -1.0), scored("b", -1.5), scored("a", -2.0)
CUT = scored("bbb", -0.5, "unfinished")
NONE = {"beam": None, "beam-list": None}


@pytest.mark.parametrize(
    ("search", "best", "wide", "missed"),
    [
        (top(MODE, NEXT, exact=True, bound=-1.5), MODE, [MODE, LAST], {"beam": 0.0, "beam-list": 0.0}),
        (top(MODE, NEXT, exact=True, bound=-1.5), LAST, [NEXT, LAST], {"beam": 1.0, "beam-list": 0.5}),
        # The budget ended, but what is unseen is at most as probable as the mode.
        (top(MODE, exact=False, bound=-1.25), LAST, [MODE], {"beam": 1.0, "beam-list": 0.0}),
        (top(MODE, exact=False, bound=-1.0), LAST, [MODE], {"beam": 1.0, "beam-list": 0.0}),
        (top(MODE, exact=False, bound=-0.75), LAST, [MODE], NONE),
        (top(exact=False, bound=-0.75), LAST, [MODE], NONE),
        (top(exact=True, bound=-math.inf), LAST, [MODE], NONE),
        # What hit the length limit is no hypothesis.
        (top(MODE, exact=True, bound=-1.0), CUT, [LAST], {"beam": None, "beam-list": 1.0}),
        # By rounding, what was generated may seem more probable than the mode.
        (top(MODE, exact=True, bound=-1.0), scored("x", -0.875), [LAST], {"beam": 0.0, "beam-list": 1.0}),
    ],
)  # fmt: skip
def test_the_mode_is_missed_only_where_it_is_proven(
    search: TopK, best: Scored, wide: list[Scored], missed: dict[str, float | None]
) -> None:
    assert _misses(search, [best], wide)["missed_by"] == missed


"""Nats; batches of other sizes round otherwise."""


def test_listed_spaces_do_not_depend_on_the_chunk() -> None:
    items = [ParallelSentence(str(n), f"source {n}", ("ab",)) for n in range(6)]
    runs = [run_method("space", Enumerated(), items, k=3, samples=6, chunk=chunk) for chunk in (1, 4, 6)]
    assert runs[0].records == runs[1].records == runs[2].records
    assert [row.as_json() for row in runs[0].rows] == [row.as_json() for row in runs[2].rows]


@pytest.mark.parametrize(
    ("text", "tokens", "empty"),
    [
        ("", ("</s>",), True),
        (" ", ("▁", "</s>"), True),
        ("", ("<unk>", "</s>"), False),
        ("<unk>", ("<unk>",), False),
        ("a", ("a", "</s>"), False),
    ],
)
def test_unknown_words_are_not_the_empty_hypothesis(text: str, tokens: tuple[str, ...], empty: bool) -> None:
    stored = _hypothesis(Scored(text, tokens, (-1.0,) * len(tokens)))
    assert is_empty(stored) == empty


def listed(path: Path, lists: Sequence[Sequence[str]]) -> str:
    """The path of a file of lists, each hypothesis a nat less probable than the one before it."""
    lines = [
        json.dumps({"id": number, "text": text, "logprob": -1.0 - place})
        for number, texts in enumerate(lists)
        for place, text in enumerate(texts)
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_lists_of_several_beams_are_judged_in_one_run(tmp_path: Path, babelscope: Babelscope) -> None:
    (tmp_path / "ref.de").write_text("ein Hund\neine Katze\n", encoding="utf-8")
    narrow = listed(tmp_path / "b1", [["ein Rind"], ["eine Katze"]])
    wide = listed(tmp_path / "b4", [["ein Hund", "ein Rind"], ["Katze", "eine Katze"]])
    spec = f"lists:?beam={wide}&beam1={narrow}&beam4={wide}"
    asked = ("space", "--tests", f"references:{tmp_path / 'ref.de'}", "--system", spec, "--samples", "0")
    rows = {(row.get("name"), row.get("beam")): row for row in babelscope(*asked, "--k", "2", "--json").rows}
    for size, texts in ((1, ["ein Rind", "eine Katze"]), (4, ["ein Hund", "Katze"])):
        expected = mean(
            [chrf(text, own) for text, own in zip(texts, ["ein Hund", "eine Katze"], strict=True)]
        )
        assert rows["beam_quality", size]["value"] == pytest.approx(expected)
        assert rows["beam_logprob", size]["value"] == -1
    assert ("misses_mode", 1) not in rows, "nothing is known of the mode"
    shown = babelscope(*asked, "--k", "2", "--table", "beam-sizes", "--table", "cases", "--cases", "1").out
    assert "item 2" in shown, "the worst ranked by beam search's list"
    assert "Sizes of the beam" in shown
    ran = babelscope(*asked, "--set", "beams=1,4")
    assert (ran.code, "use beam5=FILE&beam20=FILE" in ran.err) == (2, True)


def test_a_model_whose_modes_are_full_stops_is_told_of(tmp_path: Path, babelscope: Babelscope) -> None:
    """Without it, a model that has nothing to say but a full stop has no empty mode, and nothing to be warned of."""
    lists = [[".", "Ein Hund."], [" … ", "Eine Katze."], ["", "Ein Tier."], ["3.", "."]]
    top = listed(tmp_path / "top.jsonl", lists)
    (tmp_path / "ref.de").write_text("Ein Hund.\nEine Katze.\nEin Tier.\nEin Tier.\n", encoding="utf-8")
    tests, system = f"references:{tmp_path / 'ref.de'}", f"lists:?top={top}"
    given = ("space", "--tests", tests, "--system", system, "--samples", "0")
    told = babelscope(*given, "--json").rows
    (row,) = [each for each in told if each.get("name") == "empty_mode" and each.get("view") == "tokens"]
    assert (row["value"], row["empty"], row["wordless"]) == (0.25, 1, 2)
    assert "2 items have a most probable translation of marks alone" in " ".join(
        babelscope(*given).out.split()
    )
