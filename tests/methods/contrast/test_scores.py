"""Contrast from stored scores: layouts, ties and directions on small files, and the published figures."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope import contrast, load
from babelscope.core.results import Result, Row
from babelscope.core.system import ItemScores
from babelscope.methods.contrast.method import warn_if_direction_looks_wrong
from babelscope.systems.stored.scores import ScoresFile
from babelscope.testsets.loading import spec_for_scores
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

SUITE = [  # scores below: correct, then contrastive; lower is better
    ("bank", "money", "news", [1.0], [2.0, 3.0]),  # better than both
    ("bank", "money", "subs", [2.0], [2.0, 3.0]),  # a tie with the better one
    ("bank", "river", "subs", [3.0], [1.0]),
    ("bat", "animal", "news", [1.0], [1.5]),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_mucow() -> None:
    entries = [
        {
            "source": f"source {number}",
            "reference": "a reference",
            "ambig word": word,
            "sense": sense,
            "origin": origin,
            "errors": [
                {"contrastive": f"variant {k}", "replacement": "r", "type": "word_sense"}
                for k in range(len(contrastive))
            ],
        }
        for number, (word, sense, origin, _, contrastive) in enumerate(SUITE)
    ]
    Path("suite.json").write_text(json.dumps(entries))


def write(name: str, numbers: Sequence[object]) -> str:
    Path(name).write_text("".join(f"{number}\n" for number in numbers))
    return name


def interleaved() -> str:
    return write("scores", [number for *_, c, w in SUITE for number in (*c, *w)])


def named(result: Result) -> dict[str, Row]:
    return {row.name: row for row in result.rows}


def counted(row: Row) -> tuple[int, int, int]:
    return row.counts["correct"], row.counts["ties"], row.estimate.n


def contrast_scores(
    tests: str,
    scores: str | Path | Sequence[str],
    direction: Any = "higher",
    layout: Any = "auto",
    **chosen: Any,
) -> Result:
    """What a study with stored scores does."""
    spec, lines = spec_for_scores(tests)
    paths = [scores] if isinstance(scores, str | Path) else scores
    files = [ScoresFile(str(each), direction=direction, layout=layout, lines=lines) for each in paths]
    return contrast(files, load(spec), **chosen)


def mucow(scores: str, **chosen: Any) -> Result:
    return contrast_scores("mucow-scoring:suite.json", scores, **{"direction": "lower", **chosen})


def test_an_interleaved_file_and_mucows_groups() -> None:
    write_mucow()
    rows = named(mucow(interleaved(), ties="wrong"))
    assert counted(rows["all"]) == (2, 1, 4)
    assert rows["all"].estimate.value == 0.5
    assert {
        name: counted(rows[name]) for name in ("news", "subs", "bank:money", "bank:river", "bat:animal")
    } == {
        "news": (2, 0, 2),
        "subs": (0, 1, 2),
        "bank:money": (1, 1, 2),
        "bank:river": (0, 0, 1),
        "bat:animal": (1, 0, 1),
    }
    assert rows["bank:river"].labels["sense"] == "river"
    assert counted(rows["word_sense"]) == (2, 1, 4)
    assert named(mucow("scores", ties="half"))["all"].estimate.value == 0.625
    assert counted(named(mucow("scores", ties="correct"))["all"]) == (3, 1, 4)


def test_all_layouts_say_the_same() -> None:
    write_mucow()
    blocks = [n for *_, c, _w in SUITE for n in c] + [n for *_, w in SUITE for n in w]
    columns = ["\t".join(str(n) for n in (*c, *w)) for *_, c, w in SUITE]
    right = [row.as_json() for row in mucow(interleaved()).rows]
    for result in (
        mucow(write("scores", blocks), layout="blocks"),
        mucow(write("scores", columns)),
        mucow(write("scores", [f"{-n}" for n in blocks]), layout="blocks", direction="higher"),
    ):
        assert [row.as_json() for row in result.rows] == right


def test_a_column_for_the_1_best_gives_the_discrepancy() -> None:
    write_mucow()
    lines = [
        "\t".join(str(n) for n in (*c, *w, best))
        for (*_, c, w), best in zip(SUITE, (0.5, 1, 1.5, 1), strict=True)
    ]
    write("scores", lines)
    rows = named(mucow("scores"))
    assert rows["discrepancy"].estimate.value == pytest.approx((0.5 + 1.0 - 0.5 + 0.0) / 4)
    assert named(mucow("scores", discrepancy="clipped"))["discrepancy"].estimate.value == pytest.approx(
        1.5 / 4
    )
    assert "discrepancy" not in named(mucow("scores", discrepancy="none"))
    with pytest.raises(BabelscopeError, match="scores has no column for the 1-best"):
        mucow(interleaved(), discrepancy="paper")


@pytest.fixture
def distil(tmp_path: Path) -> Path:
    folder = tmp_path / "sets" / "np_agreement.mt"
    folder.mkdir(parents=True)
    (folder / "src.en").write_text("one\n\nthree\n")
    (folder / "tgt.correct.de").write_text("eins\nzwei\ndrei\n")
    (folder / "tgt.incorrect.de").write_text("einz\nzwey\ndray\n")
    return folder


def test_two_blocks_count_pairs_with_an_empty_source_if_the_file_does(distil: Path) -> None:
    write("scores", [-1, -1, -1, -2, -1, 0])
    whole, *_, group = contrast_scores(f"distil-lingeval:{distil}", "scores").rows
    assert (counted(whole), whole.counts["skipped"]) == ((1, 1, 3), 0)
    assert (group.name, group.labels["reference"]) == ("np_agreement", "machine")
    write("fewer", [-1, -1, -2, 0])
    both = contrast_scores(f"distil-lingeval:{distil}", ["scores", "fewer"]).rows
    assert [(row.estimate.value, row.estimate.n) for row in both if row.name == "difference"] == [(0.0, 2)]
    write("scores", [-1, -1, -2, 0])
    whole = contrast_scores(f"distil-lingeval:{distil.parent}", "scores").rows[0]
    assert (counted(whole), whole.counts["skipped"]) == ((1, 0, 2), 1)


def test_a_jsonl_test_set_has_no_layout_of_its_own(tmp_path: Path) -> None:
    pair = {"source": "a", "correct": "b", "phenomenon": "p", "reference": "human"}
    lines = [{"id": "1", **pair, "contrastive": "c"}, {"id": "2", **pair, "contrastive": ["c", "d"]}]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    scores = write("scores", [2, 1, 3, 4, 2])
    with pytest.raises(BabelscopeError, match="scores has no tabs; set layout=blocks"):
        contrast_scores("pairs.jsonl", scores)
    for layout, verdicts in (("interleaved", ["correct", "wrong"]), ("blocks", ["wrong", "wrong"])):
        result = contrast_scores("pairs.jsonl", scores, layout=layout)
        assert [record["verdict"] for record in result.records] == verdicts


def test_the_impossible_is_worse_than_anything_and_counted() -> None:
    write_mucow()
    whole = named(mucow(write("scores", [1, "inf", 3, 2, 2, 3, 3, 1, "inf", "inf"])))["all"]
    assert counted(whole) == (1, 2, 4)
    assert whole.counts["infinite"] == 2


@pytest.mark.parametrize(
    ("pair", "rows", "tied"), [("cs-en", 228, 18), pytest.param("tr-en", 225, 0, marks=pytest.mark.slow)]
)
def test_every_published_mucow_figure(shared: Path, pair: str, rows: int, tied: int) -> None:
    folder = shared / "data" / "mucow-scoring"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    found = {
        ties: named(
            contrast_scores(
                f"mucow-scoring:{folder}/{pair}.json",
                folder / f"{pair}.nematus.scores",
                direction="lower",
                ties=ties,
            )
        )
        for ties in ("wrong", "correct")
    }
    published = 0
    for line in (folder / f"{pair}.nematus.accuracy.txt").read_text("utf-8").split("\n"):
        name, separator, rest = line.rpartition(" : ")
        if separator and name != "total":
            correct, total, ratio = rest.split()
            row = found["wrong"][name]
            assert (row.counts["correct"], row.estimate.n) == (int(correct), int(total)), name
            assert row.estimate.value == pytest.approx(float(ratio), abs=1e-11)
            published += 1
    assert published == rows
    expected = json.loads((folder / "expected.json").read_text())[pair]
    strict, lenient = found["wrong"]["all"], found["correct"]["all"]
    assert counted(strict) == (expected["correct_strict"], tied, expected["items"])
    assert counted(lenient) == (expected["correct_if_ties_counted_correct"], tied, expected["items"])


@pytest.mark.slow
def test_every_distil_lingeval_figure_of_a_scorer_by_length(shared: Path) -> None:
    folder = shared / "data" / "distil-lingeval"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    for name, right in json.loads((folder / "expected.json").read_text())["test_sets"].items():
        texts = [
            line
            for file in ("tgt.correct.de", "tgt.incorrect.de")
            for line in (folder / name / file).read_text("utf-8").split("\n")[:-1]
        ]
        write("scores", [-len(text) for text in texts])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # short is not correct
            result = contrast_scores(f"distil-lingeval:{folder / name}", "scores", ties="correct")
            row = named(result)["all"]
            assert (row.counts["correct"], row.estimate.n) == (
                right["length_scorer_ties_correct"],
                right["pairs"],
            ), name
            assert row.estimate.value == row.counts["correct"] / row.estimate.n
            assert row.counts["correct"] - row.counts["ties"] == right["length_scorer_strict"]
            if row.estimate.n < 1500:  # the larger ones take a while, and count in the same way
                result = contrast_scores(f"distil-lingeval:{folder / name}", "scores", ties="wrong")
                assert named(result)["all"].counts["correct"] == right["length_scorer_strict"]


@pytest.mark.parametrize(
    ("good", "n", "variants", "warned"),
    [
        (900, 2000, 1, False),  # 45 %: unlikely by chance, but not far below the half of guessing
        (800, 2000, 1, False),  # four fifths of it are not yet far below
        (799, 2000, 1, True),
        (1, 4, 1, False),  # a quarter, as chance often has it
        (45, 200, 3, False),  # one of four is right by chance
        (20, 200, 3, True),
    ],
)
def test_a_direction_is_questioned_far_below_chance(good: int, n: int, variants: int, warned: bool) -> None:
    found = [ItemScores(1.0 if k < good else -1.0, (0.0,) * variants) for k in range(n)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_if_direction_looks_wrong(found, "scores", "higher")
    assert len(told) == warned
    assert all("direction=lower" in str(each.message) for each in told)


@pytest.fixture(autouse=True)
def suite(tmp_path: Path) -> None:
    def entry(number: int, *variants: str) -> dict[str, Any]:
        errors = [{"contrastive": text, "replacement": "x", "type": "y"} for text in variants]
        about = {"ambig word": "pen", "sense": "s", "origin": "ted"}
        return {"source": f"a {number}", "reference": "ab", "errors": errors, **about}

    entries = [entry(1, "ba"), entry(2), entry(3, "ca", "cb"), *(entry(4 + n) for n in range(6))]
    (tmp_path / "s.json").write_text(json.dumps(entries))
    scores = [1.0, 2.0, 5.0, 3.0, 1.0, 4.0, *[9.0] * 6]  # lower is better: right, -, wrong, ...
    (tmp_path / "s.scores").write_text("".join(f"{score}\n" for score in scores))


SCORES = "contrast --tests mucow-scoring:s.json --system scores:s.scores?direction=lower"


def first(out: str) -> dict[str, Any]:
    row: dict[str, Any] = next(row for row in map(json.loads, out.splitlines()) if row["name"] == "all")
    return row


def test_a_reader_names_and_counts_them(tmp_path: Path) -> None:
    assert load(f"mucow-scoring:{tmp_path}/s.json").skipped == {
        "no contrastive variant: items 2, 4, 5, 6, 7 and 2 more": 7
    }


def test_nobody_failed_to_answer_about_them(babelscope: Babelscope) -> None:
    ran = babelscope(SCORES)
    assert (ran.code, "did not answer" in ran.out) == (0, False), ran.err
    assert "left out: 7 items, the first being 2: it has no contrastive variant" in " ".join(ran.out.split())
