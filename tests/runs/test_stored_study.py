"""Stored answers in a study: a file a test set, beside live systems, in shards, merged and reported."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from babelscope.core.results import Row
from babelscope.report.page import write_report
from babelscope.runs.study import Study, read_study, run_study
from babelscope.runs.trust import reach_of
from babelscope.util.errors import BabelscopeError

STUDY = """
[[systems]]
name = "stored"
spec = {news = "scores:news.scores?layout=blocks", law = "scores:law.scores?layout=blocks&direction=lower"}
[[systems]]
name = "law only"
spec = {law = "scores:law.tsv"}
[[systems]]
spec = "toy:1"
[[tests]]
name = "news"
spec = "distil-lingeval:news/np_agreement.human?empty=yes"
[[tests]]
name = "law"
spec = "distil-lingeval:law/np_agreement.mt?empty=yes"
[[methods]]
name = "contrast"
detect_in_output = "no"
"""
JOBS = [
    ("stored", "news"), ("stored", "law"), ("law only", "law"), ("toy:1", "news"), ("toy:1", "law"),
]  # fmt: skip


@pytest.fixture
def study(tmp_path: Path, toy_schemes: None) -> Path:  # noqa: ARG001
    for name, kind, sources in (("news", "human", ["a", "", "c"]), ("law", "mt", ["a", "b"])):
        folder = tmp_path / name / f"np_agreement.{kind}"
        folder.mkdir(parents=True)
        texts = {"src.en": sources, "tgt.correct.de": ["ab", "ca", "b"][: len(sources)]}
        texts["tgt.incorrect.de"] = ["ba", "ac", "c"][: len(sources)]
        for file, lines in texts.items():
            (folder / file).write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "news.scores").write_text("-1\n-2\n-3\n-2\n-1\n-3\n")
    (tmp_path / "law.scores").write_text("1\n1\n2\n2\n")
    (tmp_path / "law.tsv").write_text("-1\t-2\t-0.5\n-2\t-1\t-0.5\n")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"


def wholes(rows: object) -> dict[tuple[str, str], Row]:
    return {
        (str(row.labels["system"]), str(row.labels["tests"])): row
        for row in rows  # type: ignore[attr-defined]
        if row.name == "all"
    }


def test_a_system_is_asked_the_test_sets_that_it_has_answers_for(study, tmp_path):
    result = run_study(study, out=tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert [(job["system"], job["tests"]) for job in manifest["jobs"]] == JOBS
    assert json.loads(manifest["systems"]["stored"]["spec"]).keys() == {"news", "law"}
    rows = wholes(result.rows)
    assert [(name, rows[name].estimate.value) for name in JOBS[:3]] == [
        (JOBS[0], 0.5),  # right, wrong, a tie
        (JOBS[1], 1.0),
        (JOBS[2], 0.5),
    ]
    # An empty source has a stored score, but nobody can be asked about it.
    assert [(rows[name].estimate.n, rows[name].counts["skipped"]) for name in (JOBS[0], JOBS[3])] == [
        (3, 0),
        (2, 1),
    ]
    assert [(record["system"], record["id"]) for record in result.unanswered] == [
        ("toy:1", "np_agreement.human:2")
    ]
    write_report([tmp_path / "run"], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert all(text in page for text in ("law only", "(empty)"))


def test_another_part_is_another_study(study, tmp_path):
    first = run_study(study, out=tmp_path / "one").signature
    study.write_text(STUDY.replace('name = "law"', 'name = "courts"').replace("law = ", "courts = "))
    renamed = run_study(study, out=tmp_path / "two").signature
    assert renamed == first  # names are no part of it
    (tmp_path / "law.scores").write_text("1\n1\n2\n3\n")
    assert run_study(study, out=tmp_path / "three").signature != first


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("{law = ", "{laws = ", r"systems\[1\]: there is no test set 'laws', only news, law"),
        ('name = "law only"\n', "", r"systems\.1: .*needs a name"),
        ('{law = "scores:law.tsv"}', "{}", r"systems\.1\.spec: must be a system"),
        ("scores:law.tsv", "file:law.tsv?format=plain", "gives log-probabilities"),
        ('"no"', '"yes"', "score files have no translations to look for errors in"),
        (
            'detect_in_output = "no"',
            'detect_in_output = "no"\ndiscrepancy = "paper"',
            "news.scores has no column for the 1-best",
        ),
    ],
)
def test_what_is_wrong_is_told(study, tmp_path, old, new, told):
    study.write_text(STUDY.replace(old, new))
    with pytest.raises(BabelscopeError, match=told):
        run_study(study, out=tmp_path / "run")


def test_a_direction_is_questioned_in_a_study_too(study, tmp_path):
    folder = tmp_path / "law" / "np_agreement.mt"
    for file in folder.iterdir():
        file.write_text("a\n" * 40)
    (tmp_path / "law.scores").write_text("2\n" * 40 + "1\n" * 40)
    (tmp_path / "law.tsv").write_text("2\t1\n" * 40)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run_study(study, out=tmp_path / "run")
    assert [str(each.message).split(":")[0] for each in told] == ["law.scores"]


def test_trust_looks_at_all_parts(study, tmp_path):
    study.write_text(STUDY.replace("scores:law.tsv", "cmd:rm -r x"))
    assert reach_of(read_study(study), tmp_path).runs == ("systems[1].spec.law: 'cmd:rm -r x'",)
    given = Study.model_validate(
        {
            "systems": [{"name": "s", "spec": {"a": "http://mt.example/x"}}],
            "tests": [{"spec": "t"}],
            "methods": [{"name": "m"}],
        }
    )
    assert reach_of(given, tmp_path).contacts == ("mt.example",)
