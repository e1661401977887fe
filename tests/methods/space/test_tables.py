"""Layouts and comparisons of hypothesis spaces, from rows made by hand."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope import space
from babelscope.annotate.answers import answer_path
from babelscope.annotate.queue import read_tasks
from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Result, Row
from babelscope.core.system import Asked, Budget, TopK, sources_of
from babelscope.core.tables import Table
from babelscope.methods.space.figures import budget_bounds
from babelscope.methods.space.method import Space
from babelscope.testsets import ParallelSentence
from tests.support.enumerated import Enumerated
from tests.support.results import result_of
from tests.support.toy_fixtures import Babelscope, read_rows

WHERE: dict[str, str | int] = {"method": "space", "tests": "news"}
REGIONS = {"top": 0.4, "samples": 0.6, "beam": 0.8}


def row(name: str, value: float, system: str = "one", n: int = 9, **labels: str | int) -> Row:
    """A row whose interval reaches a quarter to both sides."""
    return Row(name, Estimate(value, value - 0.25, value + 0.25, n), {**WHERE, "system": system, **labels})


def comparison(rows: list[Row]) -> Comparison:
    systems = dict.fromkeys(str(each.labels["system"]) for each in rows)
    own = {name: [each for each in rows if each.labels["system"] == name] for name in systems}
    return Comparison("space", "news", tuple(result_of(name, rows=some) for name, some in own.items()))


def tables(group: Comparison, **settings: Any) -> dict[str, Table]:
    return {table.name: table for table in Space(Space.Settings(**settings)).tables(group)}


def values(cells: Sequence[object]) -> list[Any]:
    return [each.value if isinstance(each, Estimate) else each for each in cells]


TOKENS: dict[str, Any] = {"view": "tokens"}
ROWS = [
    row("bleu", 31.0, decoding="beam"),
    row("bleu", 1.0, decoding="mode"),
    row("chrf", 55.5, decoding="beam"),
    dataclasses.replace(row("empty_mode", 0.5, region="top", **TOKENS), counts={"unresolved": 3}),
    row("empty_mode", 0.75, region="top", view="text"),
    row("search_error", 0.25, decoding="beam"),
    *(row("krg", value, region=name, k=4, **TOKENS) for name, value in REGIONS.items()),
    *(row("kqrg", value / 2, region=name, k=4, **TOKENS) for name, value in REGIONS.items()),
    *(row("krg", value, region=name, k=4, view="paired") for name, value in REGIONS.items()),
    *(row("kqrg", value / 2, region=name, k=4, view="paired") for name, value in REGIONS.items()),
    row("krg", 1.0, region="top", k=2, **TOKENS),  # a smaller region, of curves
    row("krg", 2.0, region="top", k=8, view="text"),
    row("beam_minus_exact", -0.125, measure="krg"),
    row("beam_minus_exact", 0.375, measure="kqrg"),
    row("bleu", 7.0, "two", decoding="beam"),
    Row("chrf", Estimate.empty(), {**WHERE, "system": "two", "decoding": "beam"}),
]


def test_every_column_of_the_papers_tables_shows_its_own_row() -> None:
    found = tables(comparison(ROWS))
    models, biases = found["paper-1"], found["paper-2"]
    headings = ["BLEU", "chrF", "empty modes", "kRG top", "kQRG top", "kRG samples", "kQRG samples"]
    assert [each.heading for each in models.columns] == ["system", "unresolved", *headings]
    assert [each.unit for each in models.columns[2:]] == ["plain"] * 2 + ["percent"] * 5
    one, two = (line.cells for line in models.lines)
    assert values(one) == ["one", 3, 31.0, 55.5, 0.5, 0.4, 0.2, 0.6, 0.3]
    assert values(two)[:3] == ["two", 0, 7.0]
    assert [each for each in two[4:] if each is not None] == []
    headings = ["kRG top", "kQRG top", "kRG beam", "kQRG beam", "kRG beam - top", "kQRG beam - top"]
    assert [each.heading for each in biases.columns] == ["system", "unresolved", *headings]
    assert values(biases.lines[0].cells) == ["one", 0, 0.4, 0.2, 0.8, 0.4, -0.125, 0.375]


def test_the_summary_has_a_verdict_on_empty_modes_and_links_to_their_items() -> None:
    summary = next(iter(tables(comparison(ROWS)).values()))
    assert summary.name == "summary"
    found = {str(line.cells[1]).removesuffix(" (%)"): line for line in summary.lines if line.system == "one"}
    empty = found["empty modes"]
    assert (values(empty.cells)[2], empty.query["verdict"]) == (50.0, "empty")
    missed = found["search errors"]
    assert (values(missed.cells)[2], missed.query["verdict"]) == (25.0, "missed by beam search")
    assert values(found["kQRG, top"].cells)[2] == 0.2
    assert (empty.verdict, missed.verdict) == ("too few items", "")
    many = [
        Row(
            "empty_mode",
            Estimate(0.6, 0.5, 0.7, 100),
            {**WHERE, "system": "one", "region": "top", "view": "tokens"},
        )
    ]
    (line,) = tables(comparison(many))["summary"].lines
    assert line.verdict == "error"
    (line,) = tables(comparison(many), error_threshold=0.9)["summary"].lines
    assert line.verdict == "not significant"


@pytest.mark.parametrize(("above", "is_said"), [(-0.5, True), (-0.2, False), (0.1, False)])
def test_a_ranking_worse_than_chance_is_reported(above: float, is_said: bool) -> None:
    rows = [row("krg_above_random", above, region="top", k=4, **TOKENS)]
    notes = [note.text for note in tables(comparison(rows))["summary"].notes]
    said = "the most probable translations are ranked worse than by chance: kRG above random is −0.5 [−0.75, −0.25]."
    assert (said in notes) is is_said


def listed(*texts: str, exact: bool = True, kqrg: float | None = 0.5, **more: Any) -> Record:
    found = [{"text": text, "logprob": -float(n), "quality": 0.1} for n, text in enumerate(texts)]
    return {
        "id": "1", "system": "one", "tests": "t", "source": "A pen.", "references": ["Ein Stift."],
        "top": {"found": found, "exact": exact, "bound": -0.5}, "top_kqrg": kqrg, "top_krg": 1.0,
        "best": None, "mbr": None, "missed_by": {"beam": None}, "empty_mode": False, "search_error": None,
        **more,
    }  # fmt: skip


def test_people_are_asked_about_a_list_as_it_is_ranked() -> None:
    def questions(record: Record, **settings: Any) -> list[list[str]]:
        shown = Space(Space.Settings(**settings)).show(record)
        assert {each.line["task"] for each in shown.questions} <= {"ranking"}
        return [each.line["translations"] for each in shown.questions]

    assert questions(listed("b", "", "a"), k=3) == [["b", "", "a"]]
    # Of a run with a larger k, the first few: what a smaller k would have been.
    assert questions(listed("b", "", "a"), k=2) == [["b", ""]]
    assert questions(listed("b"), k=3) == []
    assert questions(listed("b", "a", exact=False, kqrg=None), k=2) == []
    assert len(questions(listed("b", "a", exact=False), k=2, unresolved="keep")) == 1
    assert questions(listed("b", "a"), k=27) == []  # too long for people


@pytest.mark.parametrize(
    ("empty", "missed", "verdict", "also", "tone"),
    [
        (True, True, "empty", ["missed by beam search"], "errors"),
        (False, True, "missed by beam search", [], "some"),
        (False, False, "found by beam search", [], "none"),
        (False, None, "not known if beam search finds it", [], "none"),
        (None, None, "not resolved", [], "note"),
    ],
)
def test_an_item_has_the_worst_verdict_first(
    empty: bool | None, missed: bool | None, verdict: str, also: list[str], tone: str
) -> None:
    gap = {"beam": 0.5 if missed else None}
    shown = Space().show(listed("a", "b", empty_mode=empty, search_error=missed, missed_by=gap))
    assert (shown.verdict, list(shown.also), shown.tone) == (verdict, also, tone)
    assert ("missed by 0.50 nats" in shown.facts) == bool(missed)


def correlations(rows: list[Row], metric: str = "ter") -> list[Row]:
    return Space(Space.Settings(metric=(metric,))).compare(comparison(rows), 0)


def test_correlations_are_over_the_systems_that_have_both_figures() -> None:
    mbr = {"a": 0.1, "b": 0.4, "c": 0.35, "d": 0.8}
    beam = {"a": 0.3, "b": 0.2, "c": 0.5, "d": 0.6}
    top = {"b": 0.5, "c": 0.2, "d": 0.3}  # nothing of a was resolved
    rows = [
        *(row("quality", value, system, decoding="mbr") for system, value in mbr.items()),
        *(row("quality", value, system, decoding="beam") for system, value in beam.items()),
        *(row("kqrg", value, system, region="top", view="tokens", k=4) for system, value in top.items()),
        # Smaller regions, of curves, and another view; the whole one counts.
        *(row("kqrg", 1 - value, system, region="top", view="tokens", k=2) for system, value in top.items()),
        *(row("kqrg", 1 - value, system, region="top", view="text", k=4) for system, value in top.items()),
        Row("kqrg", Estimate.empty(), {**WHERE, "system": "a", "region": "top", "view": "tokens", "k": 4}),
    ]
    found = {(each.labels["measure"], each.labels["statistic"]): each.estimate for each in correlations(rows)}
    both = [(mbr[system], value) for system, value in top.items()]
    for measure, pairs in (("beam", [(mbr[system], beam[system]) for system in mbr]), ("top_kqrg", both)):
        columns = [list(column) for column in zip(*pairs, strict=True)]
        ranks = [[sorted(column).index(value) for value in column] for column in columns]
        for statistic, of in (("pearson", columns), ("spearman", ranks)):
            assert found[measure, statistic].value == pytest.approx(statistics.correlation(*of))
            assert found[measure, statistic].n == len(pairs)
    # Of three pairs in (0.35, 0.2), (0.4, 0.5), (0.8, 0.3), two are in the same order and one is not.
    assert found["top_kqrg", "kendall"].value == pytest.approx(1 / 3)
    assert found["sampling", "pearson"].n == 0
    third = tables(comparison(rows), metric="ter")["paper-3"]
    assert [each.heading for each in third.columns] == ["measure", "pearson", "spearman", "kendall"]
    assert list(third.lines[0].cells)[1:] == [found["beam", each.heading] for each in third.columns[1:]]
    # What MBR decoding maximizes and what judges it must differ.
    circular = correlations(rows, "chrf")
    assert {each.estimate.n for each in circular} == {0}
    assert {each.labels["utility"] for each in circular} == {"chrf"}
    third = tables(comparison(rows))["paper-3"]
    assert {cell for line in third.lines for cell in list(line.cells)[1:]} == {"not tested"}
    assert "choose another --set utility= or --metric" in third.notes[0].text


@pytest.mark.parametrize(("systems", "told"), [(2, False), (3, True)])
def test_two_points_are_always_on_a_line(systems: int, told: bool) -> None:
    rows = [
        row("quality", value, str(number), decoding=decoding)
        for number, value in enumerate([0.1, 0.3, 0.2][:systems])
        for decoding in ("mbr", "beam")
    ]
    assert bool(correlations(rows)) is told


ITEMS = [
    ParallelSentence(str(number), f"s {number}", (text,))
    for number, text in enumerate(["ab", "ba", "b", "aab", "abab", "a"] * 4)
]
K = 4


class Hasty(Enumerated):
    """A toy whose budget is spent on the shortest translations; its bound is true, and loose."""

    slack = 0.2

    def top_k(self, questions: Sequence[Asked], *, k: int, budget: Budget | None = None) -> list[TopK]:
        answers = []
        for source in sources_of(questions):
            listed = self.space(source)
            seen = (budget.expansions if budget else None) or len(listed)
            short = sorted(listed, key=lambda each: len(each.tokens))[:seen]
            found = sorted(short, key=lambda each: (-each.total, each.tokens))[:k]
            rest = [each.total for each in listed if each not in found]
            exact = found == listed[:k]
            bound = max(rest, default=-math.inf) + (0.0 if exact else self.slack)
            answers.append(TopK(tuple(found), exact, bound, mass=0.1, expansions=seen, minimum=1))
        return answers


def judged(toy: Enumerated, budget: int | None = None, **settings: Any) -> Result:
    return space(toy, ITEMS, **{"k": K, "samples": 0, "budget_expansions": budget, **settings})


def full_values(rows: Sequence[Row]) -> dict[str, float]:
    """The measures of a full search."""
    found = {}
    for row in rows:
        if row.name == "beam_minus_exact":
            found[f"{row.labels['measure']}_beam_minus_exact"] = row.estimate.value
        elif row.labels.get("region") == "top" and row.labels.get("view") == "tokens":
            found[row.name] = row.estimate.value
        elif row.labels.get("decoding") in ("beam", "mode") and row.name in ("search_error", "quality"):
            found["mode_quality" if row.name == "quality" else row.name] = row.estimate.value
    return found


@pytest.mark.parametrize("salt", ["", "one", "two"])
@pytest.mark.parametrize("budget", [1, 3, 7])
def test_the_full_search_lies_between_the_bounds(salt: str, budget: int) -> None:
    toy = Hasty(limit=5, salt=salt)
    full, treated = full_values(judged(toy).rows), budget_bounds(judged(toy, budget).rows)
    assert set(treated) == {*full} - {"krg_random", "krg_above_random"}
    widths = {}
    for measure, own in treated.items():
        low, high = (own[name].estimate.value for name in ("at-least", "at-most"))
        assert low - 1e-9 <= full[measure] <= high + 1e-9, measure
        assert low - 1e-9 <= own["keep"].estimate.value <= high + 1e-9, measure
        assert own["at-least"].estimate.n >= own["keep"].estimate.n  # a list of one has no rank yet
        widths[measure] = high - low
        assert (own["at-least"].counts["undecided"] > 0) == (widths[measure] > 0)
    assert widths["kqrg"] < 1  # what is proven counts as it is


def test_an_empty_mode_is_ruled_out_by_anything_more_probable() -> None:
    toy = Hasty(limit=5, salt="one")
    own = budget_bounds(judged(toy, 1).rows)["empty_mode"]
    open_ones, undecided = (own["at-least"].counts[name] for name in ("unresolved", "undecided"))
    # Beam search found something more probable than the empty hypothesis, though nobody knows the mode.
    assert 0 < undecided < open_ones
    assert not budget_bounds(judged(toy).rows)  # nothing is open


def test_what_open_searches_could_have_found_is_in_the_interval_and_no_verdict_of_an_item() -> None:
    toy = Hasty(limit=5, salt="one")
    result = judged(toy, 1)
    for measure, labels in (("empty_mode", {"region": "top"}), ("search_error", {"decoding": "beam"})):
        wanted = {**labels, **(TOKENS if measure == "empty_mode" else {})}
        (found,) = [r for r in result.rows if r.name == measure and wanted.items() <= r.labels.items()]
        own = budget_bounds(result.rows)[measure]
        low, high = (own[name].estimate for name in ("at-least", "at-most"))
        assert found.counts["undecided"] == own["at-least"].counts["undecided"] > 0
        assert found.estimate.low <= low.low < high.high <= found.estimate.high
    (group,) = result.groups
    notes = [note.text for note in tables(group)["summary"].notes]
    assert any("the intervals of these cover both" in text for text in notes)
    shown = Counter(Space(Space.Settings(k=2)).show(record).verdict for record in result.records)
    assert shown["not resolved"] == budget_bounds(result.rows)["empty_mode"]["at-least"].counts["undecided"]


@pytest.mark.parametrize("settings", [{"metric": "ter"}, {"normalize": "ideal"}])
def test_a_scale_without_ends_has_no_bounds(settings: dict[str, Any]) -> None:
    treated = budget_bounds(judged(Hasty(limit=5), 3, **settings).rows)
    assert set(treated["kqrg"]) == {"leave-out", "keep"}
    assert set(treated["krg"]) == {"leave-out", "keep", "at-least", "at-most"}
    assert set(treated["empty_mode"]) == {"leave-out", "keep", "at-least", "at-most"}


def test_treatments_are_the_figures_of_each_setting() -> None:
    toy = Hasty(limit=5)
    treated = budget_bounds(judged(toy, 7).rows)
    for name in ("leave-out", "keep"):
        rows = judged(toy, 7, unresolved=name).rows
        (expected,) = [
            row
            for row in rows
            if (row.name, row.labels.get("region"), row.labels.get("view")) == ("kqrg", "top", "tokens")
        ]
        assert treated["kqrg"][name].estimate == expected.estimate
        assert treated["kqrg"][name].counts["unresolved"] == expected.counts["unresolved"] > 0
    assert treated["kqrg"]["keep"].estimate.n == len(ITEMS) > treated["kqrg"]["leave-out"].estimate.n


@pytest.mark.parametrize("unresolved", ["leave-out", "keep"])
def test_a_printed_difference_is_that_of_what_is_printed(unresolved: str) -> None:
    result = judged(Hasty(limit=5), 7, unresolved=unresolved)
    rows = result.rows
    for measure in ("krg", "kqrg"):
        (apart,) = [
            row for row in rows if row.name == "beam_minus_exact" and row.labels["measure"] == measure
        ]
        top, beam = (row for row in rows if row.name == measure and row.labels["view"] == "paired")
        assert (top.labels["region"], beam.labels["region"]) == ("top", "beam")
        assert top.estimate.n == beam.estimate.n == apart.estimate.n > 0
        assert beam.estimate.value - top.estimate.value == pytest.approx(apart.estimate.value)
    (group,) = result.groups
    bias = tables(group, unresolved=unresolved)["paper-2"]
    (line,) = bias.lines
    cells = dict(zip([each.heading for each in bias.columns], values(line.cells), strict=True))
    assert cells["unresolved"] == apart.counts["unresolved"] > 0
    for measure in ("kRG", "kQRG"):
        difference = cells[f"{measure} beam"] - cells[f"{measure} top"]
        assert cells[f"{measure} beam - top"] == pytest.approx(difference)


def test_who_is_left_out_is_warned_of_where_it_matters() -> None:
    result = judged(Hasty(limit=5), 4)
    own = budget_bounds(result.rows)["kqrg"]
    kept, left_out = own["keep"].estimate, own["leave-out"].estimate
    assert abs(kept.value - left_out.value) > 0.01
    (group,) = result.groups
    found = tables(group)
    assert any("leaving out unresolved searches changes" in note.text for note in found["summary"].notes)
    lines = {line.cells[1]: line.cells for line in found["unresolved"].lines}
    assert list(lines["kQRG top"])[3:5] == [left_out, kept]
    (group,) = judged(Hasty(limit=5)).groups
    assert "unresolved" not in tables(group)
    assert not any("left out" in note.text for note in tables(group)["summary"].notes)


# A stand-in for a reference-free metric: it fails if it is shown a reference.
LENGTHS = """
import json, sys
for line in sys.stdin:
    given = json.loads(line)
    assert given.keys() == {"source", "hypothesis"}, given
    print(1 / (1 + abs(len(given["source"]) - len(given["hypothesis"]))))
"""
SPACE = ("space", "--system", "lab:student", "--k", "3", "--samples", "4", "--set", "mbr_samples=4")


@pytest.fixture
def metric(tmp_path: Path) -> str:
    (tmp_path / "lengths.py").write_text(LENGTHS)
    (tmp_path / "a.en").write_text("The old man reads a book.\nA dog sleeps.\n")
    return f"cmd:{sys.executable} lengths.py?bound=1&reference=no"


@pytest.mark.parametrize("form", ["sources:a.en", "a.jsonl"])
def test_a_metric_that_reads_none_judges_sources_alone(
    babelscope: Babelscope, tmp_path: Path, metric: str, form: str
) -> None:
    lines = (tmp_path / "a.en").read_text().splitlines()
    items = [{"id": str(n), "source": source} for n, source in enumerate(lines, 1)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    rows = babelscope(*SPACE, "--tests", form, "--metric", metric, "--out", "r", "--json").rows
    assert {"kqrg", "krg", "quality", "empty_mode"} <= {row["name"] for row in rows}
    assert not {"bleu", "chrf"} & {row["name"] for row in rows}
    ratios = [row for row in rows if row["name"] == "length_ratio"]
    assert {(row["n"], row["undefined"]) for row in ratios} == {(0, 2)}, "there is nothing to compare with"
    for line in (tmp_path / "r" / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert (record["references"], record["reference_logprob"]) == ([], None)
        best = record["best"]
        gap = abs(len(record["source"]) - len(best["text"]))
        assert best["quality"] == pytest.approx(1 / (1 + gap))


def test_a_metric_that_reads_references_is_refused(babelscope: Babelscope, metric: str) -> None:
    asked = (*SPACE, "--tests", "sources:a.en")
    for more in ((), ("--metric", metric, "--metric", "bleu")):
        ran = babelscope(*asked, *more)
        assert ran.code == 2
        assert "needs references, and item 1 has none; choose a metric that reads none" in ran.err


TESTS = "lab:parallel?n=6&seed=1"
LOWERED = ("space", "--system", "lab:student", "--tests", TESTS, "--samples", "0")
BOTH = ("--metric", "chrf", "--metric", "ter")


@pytest.fixture
def run(babelscope: Babelscope, tmp_path: Path) -> Path:
    """A run with k = 4, and what people said of lists of 3 from it."""
    assert babelscope(*LOWERED, *BOTH, "--k", "4", "--out", "run").code == 0
    ran = babelscope("space --rejudge run --k 3 --out r3")
    assert ran.code == 0, ran.err
    assert babelscope("annotate r3 --queue queue.jsonl --queue-only").code == 0
    for name, folder in (("r4", "run"), ("r3", "r3")):
        shutil.copy(tmp_path / folder / "records.jsonl", tmp_path / f"{name}.jsonl")
    queue = tmp_path / "queue.jsonl"
    for annotator, step in (("anna", 1), ("bert", 2)):
        lines = [
            {
                "id": task.id,
                "item": task.digest,
                "task": task.kind,
                "system": task.system,
                "answer": {"scores": [90, 50, 10], "overall": 1 + (number * step) % 5},
                "annotator": annotator,
            }
            for number, task in enumerate(sorted(read_tasks(queue, None), key=lambda task: task.id))
        ]
        answer_path(queue, annotator).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_the_queue_and_the_figures_are_those_of_the_smaller_k(run: Path, babelscope: Babelscope) -> None:
    assert babelscope(*LOWERED, *BOTH, "--k", "3", "--out", "right").code == 0
    lowered, right = read_rows(run / "r3" / "records.jsonl"), read_rows(run / "right" / "records.jsonl")
    for ours, theirs in zip(lowered, right, strict=True):
        assert [each["text"] for each in ours["top"]["found"]] == [
            each["text"] for each in theirs["top"]["found"]
        ]
        for measure in ("top_krg", "top_kqrg"):
            assert ours[measure] == pytest.approx(theirs[measure])
            assert ours["gains"]["ter"][measure] == pytest.approx(theirs["gains"]["ter"][measure])
        # Beam search of another width would have found other lists: nothing is said about them.
        assert (ours["beam"], ours["beam_kqrg"], ours["missed_by"]["beam-list"]) == ([], None, None)
    queue = {line["id"]: line for line in read_rows(run / "queue.jsonl")}
    for record in right:
        assert queue[record["id"]]["translations"] == [each["text"] for each in record["top"]["found"]]
    # Its signature is not that of a run with this k.
    shown = babelscope("space", "--rejudge", "run", "--k", "3", "--json").out
    asked = babelscope(*LOWERED, *BOTH, "--k", "3", "--json").out
    again = babelscope("space", "--rejudge", "run", "--k", "4", "--json").out
    first = [json.loads(out.splitlines()[0])["signature"] for out in (shown, asked, again)]
    assert len({signature.rpartition("|")[2] for signature in first}) == 3
    rows = [json.loads(line) for line in shown.splitlines()]
    assert not {"expansions", "beam_minus_exact"} & {row["name"] for row in rows}
    # The 1-best has the beam that it had; beam search's list would have been of another width.
    assert {row["decoding"] for row in rows if row["name"] == "search_error"} == {"beam"}
    ran = babelscope("space", "--rejudge", "run", "--k", "5")
    assert (ran.code, "k can be lowered after a run, and not raised from 4 to 5" in ran.err) == (2, True)
    ran = babelscope("space", "--rejudge", "run", "--beam", "4")
    assert "beam cannot be changed after a run" in ran.err


def test_correlate_reads_the_answers_for_each_metric(run: Path, babelscope: Babelscope) -> None:
    asked = ("agreement", "r3.jsonl", "--set", "field=top_kqrg", "--json")
    rows = babelscope(*asked, "--human", "queue.jsonl").rows
    assert {row["metric"] for row in rows} == {"r3 chrf", "r3 ter"}
    # By hand: the mean of both annotators against kQRG by TER.
    by_id = {record["id"]: record["gains"]["ter"]["top_kqrg"] for record in read_rows(run / "r3.jsonl")}
    judged = sorted(line["id"] for line in read_rows(run / "queue.jsonl"))
    human = [((1 + number % 5) + (1 + 2 * number % 5)) / 2 for number in range(len(judged))]
    scores = [by_id[name] for name in judged]
    [row] = [r for r in rows if (r["metric"], r["name"], r["level"]) == ("r3 ter", "pearson", "sentence")]
    assert row["value"] == pytest.approx(statistics.correlation(human, scores))
    assert row["n"] == len(judged)
    alone = babelscope(*asked, "--human", "queue.answers.anna.jsonl")
    assert alone.code == 0, alone.err

    # A Pearson between lists of 5 and verdicts at k = 10 was given before without a word.
    for command in (
        ("agreement", "r4.jsonl", "--set", "field=top_kqrg", "--human", "queue.jsonl"),
        ("agreement", "queue.jsonl", "--verdicts", "r4.jsonl"),
    ):
        ran = babelscope(*command)
        assert (ran.code, ran.out) == (2, "")
        assert "people judged a list of 3 translations, but the score at" in ran.err
        assert "--rejudge RUN --k 3" in ran.err
    path = run / "queue.answers.anna.jsonl"
    lines = read_rows(path)
    lines[0]["answer"]["overall"] = None
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = babelscope("agreement", "r3.jsonl", "--set", "field=top_kqrg", "--human", path.name)
    assert "1 unfinished answers are left out" in ran.err
    lines[0] |= {"task": "winomt", "answer": {"label": "Male"}}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = babelscope("agreement", "r3.jsonl", "--set", "field=top_kqrg", "--human", path.name)
    assert (ran.code, "answered with labels, not with scores" in ran.err) == (2, True)
