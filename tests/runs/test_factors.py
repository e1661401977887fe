"""What a study says of its systems becomes labels, axes of pictures, groups of seeds and covariates."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.core.charts import Lines
from babelscope.core.comparison import but, check_factors, distinguish_groups, with_labels, without_labels
from babelscope.core.results import Estimate, Row
from babelscope.report.page import collect
from babelscope.runs.compare import group_runs, seed_groups
from babelscope.runs.reading import read_run, results_of_run
from babelscope.runs.study import read_study, run_study
from babelscope.testsets.items import MinimalPair, TestSet
from babelscope.util.errors import BabelscopeError

pytestmark = pytest.mark.usefixtures("toy_schemes")

FACTORS: dict[str, dict[str, Any]] = {
    f"{kind}{width}-{seed}": {"width": width, "distilled": kind == "s", "seed": seed}
    for kind in "ts"
    for width in (128, 256)
    for seed in (1, 2)
}


def write_study(folder: Path, factors: dict[str, str]) -> Path:
    """A study of toys, whose systems have these `factors`, as text of TOML."""
    pairs = [MinimalPair(f"p{n}", f"s {n}", "ab ca", ("ab",), "cut", "human") for n in range(12)]
    TestSet("pairs", tuple(pairs)).write(folder / "pairs.jsonl")
    systems = "".join(
        f'[[systems]]\nname = "{name}"\nspec = "toy:{number}"\nfactors = {own}\n'
        for number, (name, own) in enumerate(factors.items())
    )
    rest = '[[tests]]\nspec = "pairs.jsonl"\nname = "pairs"\n[[methods]]\nname = "contrast"\n'
    path = folder / "study.toml"
    path.write_text(systems + rest)
    return path


def as_toml(own: dict[str, Any]) -> str:
    return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in own.items()) + " }"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "made"
    folder.mkdir()
    run_study(write_study(folder, {name: as_toml(own) for name, own in FACTORS.items()}), out=folder / "run")
    return folder / "run"


def test_figures_carry_them_and_comparisons_do_not_trip_over_them(run):
    rows = json.loads((run / "summary.json").read_text())["rows"]
    assert {(row["width"], row["distilled"], row["seed"]) for row in rows} == {
        tuple(own.values()) for own in FACTORS.values()
    }
    read = read_run(run)
    assert {name: part.factors for name, part in read.manifest.systems.items()} == FACTORS
    results = results_of_run(read)
    assert all(not set(row.labels) & {"width", "distilled", "seed"} for each in results for row in each.rows)
    (group,) = group_runs([read])
    assert len(group.results) == 8
    assert {len(column.figures) for column in group.results} == {len(group.results[0].figures)}


def test_systems_alike_but_for_their_seed_are_a_group(run):
    assert seed_groups(FACTORS) == {
        "not distilled, width 128": ["t128-1", "t128-2"],
        "not distilled, width 256": ["t256-1", "t256-2"],
        "distilled, width 128": ["s128-1", "s128-2"],
        "distilled, width 256": ["s256-1", "s256-2"],
    }
    shared = {name: {**own, "languages": "en-de"} for name, own in FACTORS.items() if own["distilled"]}
    assert list(seed_groups(shared)) == ["width 128", "width 256"]
    rows = read_run(run).comparisons
    means = {row.labels["system"]: row.estimate for row in rows if row.name == "mean"}
    assert set(means) == set(seed_groups(FACTORS))
    assert {row.labels["pairing"] for row in rows if row.name == "seed_difference"} == {"by seed"}


def test_names_that_end_in_a_number_are_no_seeds_where_factors_differ():
    assert seed_groups({"deep-6": {"layers": 6}, "deep-12": {"layers": 12}}) == {}
    assert seed_groups({"x": {}, "x-2": {}}) == {"x": ["x", "x-2"]}
    named = {f"x-{n}": {"layers": n % 2} for n in range(2, 6)}
    assert seed_groups(named) == {"x": ["x-2", "x-4"], "x, layers 1": ["x-3", "x-5"]}


def test_words_are_only_of_what_differs():
    groups = [but({"width": 1, "kind": "a", "smoothed": True}), but({"width": 2, "kind": "a"})]
    assert distinguish_groups(groups) == ["smoothed, width 1", "without smoothed, width 2"]
    with pytest.raises(ValueError, match="may have 50 factors, not 51"):
        check_factors({f"f{n}": n for n in range(51)})


def test_two_systems_of_one_seed_are_no_group():
    assert seed_groups({"a": {"width": 1, "seed": 1}, "b": {"width": 1, "seed": 1}}) == {}


def test_a_factor_of_two_kinds_is_refused_with_both_systems(tmp_path):
    path = write_study(tmp_path, {"a": "{ width = 256 }", "b": '{ width = "512" }'})
    with pytest.raises(BabelscopeError, match=r"study\.toml.*'width' is a number of 'a' and a text of 'b'"):
        read_study(path)


def test_a_quantity_is_an_axis_and_each_other_factor_a_curve(run):
    (chapter,) = collect([read_run(run)]).sections
    charts = [drawn.chart for drawn in chapter.parts[0].charts if drawn.chart.title.endswith(" over width")]
    (group,) = group_runs([read_run(run)])
    values = {
        each.name: 1 - next(row.estimate.value for row in each.rows if row.name == "cut")
        for each in group.results
    }
    (chart,) = charts
    assert isinstance(chart.drawing, Lines)
    assert [curve.name for curve in chart.drawing.curves] == ["not distilled", "distilled"]
    for curve, kind in zip(chart.drawing.curves, "ts", strict=True):
        for at, own in curve.points:
            assert own.value == pytest.approx((values[f"{kind}{at:g}-1"] + values[f"{kind}{at:g}-2"]) / 2)


def test_they_can_be_said_after_a_run(run, tmp_path):
    """Factors change no answer, so a study that names others goes on with what is stored."""
    for name in ("study.toml", "pairs.jsonl"):
        shutil.copy(run.parent / name, tmp_path / name)
    shutil.copytree(run, tmp_path / "run")
    path = tmp_path / "study.toml"
    path.write_text(
        path.read_text().replace('"width": 128', '"width": 64').replace("width = 128", "width = 64")
    )
    run_study(path, out=tmp_path / "run")
    widths = {part.factors["width"] for part in read_run(tmp_path / "run").manifest.systems.values()}
    assert widths == {64, 256}
    rows = json.loads((tmp_path / "run" / "summary.json").read_text())["rows"]
    assert {row["width"] for row in rows} == {64, 256}


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ("{ system = 1 }", "a factor cannot be called 'system'"),
        ("{ width = [1] }", "'width' must be a number, true, false or a text"),
        ("{ width = nan }", "'width' must be finite"),
        ('{ "a b" = 1 }', "'a b' is not a valid factor name: use a letter"),
        ("{ width = { encoder = 1 } }", "'width' must be .* not a list or table"),
        ("{ " + "n" * 60 + " = 1 }", "is not a valid factor name: use a letter, then at most 39"),
        ('{ kind = " " }', "'kind' is ' ': use a text"),
        (
            '{ kind = "\\u001b[2Jgone" }',
            r"'kind' is '\\x1b\[2Jgone': use a text, not blank and without control",
        ),
        ('{ kind = "a\\nb" }', r"'kind' is 'a\\nb': use a text, not blank and without control"),
        ("3", "must be a table"),
        ('{ a = "' + "x" * 200 + '" }', "longer than 100"),
    ],
)
def test_what_is_no_factor_is_refused_before_any_work(tmp_path, own, told):
    with pytest.raises(BabelscopeError, match=told):
        read_study(write_study(tmp_path, {"a": own}))


def test_a_label_of_the_method_is_not_overwritten():
    rows = [
        Row("x", Estimate(1, 0, 2, 3), {"region": "top"}, {"ties": 2}),
        Row("x", Estimate(2, 1, 3, 3), {"region": "beam"}, {"ties": 0}),
    ]
    given_factors = check_factors({"region": "top", "ties": 0, "width": 0.5})
    found = with_labels(rows, given_factors)
    assert [row.as_json()["region"] for row in found] == ["top", "beam"]
    assert [row.labels["width"] for row in found] == ["0.5", "0.5"]
    assert without_labels(found, given_factors) == rows


NAMES = st.sampled_from(["width", "seed", "k", "region"])


@given(
    st.lists(st.dictionaries(NAMES, st.sampled_from(["top", "1", 2]), max_size=3), min_size=1, max_size=4),
    st.dictionaries(
        NAMES, st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
    ),
)
def test_labels_are_taken_off_again(labels, factors):
    rows = [Row("x", Estimate(1, 0, 2, 3), own) for own in labels]
    found = without_labels(with_labels(rows, factors), factors)
    # A label that all rows had already, with the factor's value, tells none of them apart.
    same = {name for name in factors if all(row.labels.get(name) == factors[name] for row in rows)}
    assert [row.labels for row in found] == [
        {name: value for name, value in row.labels.items() if name not in same} for row in rows
    ]


def test_the_report_has_means_over_seeds(run):
    (chapter,) = collect([read_run(run)]).sections
    tables = [shown.table for part in chapter.parts for shown in part.tables]
    (over,) = [table for table in tables if table.name == "seeds"]
    headings = [column.heading for column in over.columns]
    systems = {line.cells[headings.index("system")] for line in over.lines}
    assert systems == set(seed_groups(FACTORS))
