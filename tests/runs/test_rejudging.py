"""Every method in shards and judged again: the same bytes; under other settings, those of a run under them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from babelscope.methods.registry import METHODS
from babelscope.runs.compare import group_runs, paired_differences
from babelscope.runs.folder import FORMAT
from babelscope.runs.reading import read_run
from babelscope.runs.rejudging import rejudge
from babelscope.runs.shards import merge
from babelscope.runs.study import Study, run_study
from babelscope.util.errors import BabelscopeError
from babelscope.util.version import __version__
from tests.support.same_runs import assert_same

# Method: test set, settings that keep it quick, and others that only judging depends on.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "challenge": (
        "lab:challenge?n=12",
        {"matched_corpora": 4, "length_corpora": 8, "length_sizes": [2]},
        {"metrics": ("ter", "bleu"), "distances": (0, 1)},
    ),
    "condition": (
        "lab:gender?n=12",
        {"evaluator": "lab:teacher"},
        {"likelihood": "total", "ties": "wrong", "score_base": "2", "tied_weights": "order"},
    ),
    "contrast": (
        "lab:pairs?n=2",
        {},
        {"score": "total", "ties": "wrong", "discrepancy": "clipped", "controls": ("np_agreement",)},
    ),
    "errors": ("lab:parallel?n=6", {}, {"types": ("np_agreement",), "controls": ("np_agreement",)}),
    "likelihood": ("lab:parallel?n=6", {}, {}),
    "quality": ("lab:parallel?n=6", {}, {"metric": ("ter", "ribes")}),
    "space": (
        "lab:parallel?n=4",
        {"k": 2, "samples": 4, "budget_expansions": 50},
        {"metric": ("ter", "chrf"), "normalize": "ideal", "mbr_samples": 2, "unresolved": "keep"},
    ),
    "patterns_mucow": ("mucow:FOLDER/en-de?all=yes", {}, {}),
    "patterns_winomt": ("winomt:FOLDER/jobs.tsv", {"target": "de", "alignments": "none.align"}, {}),
}
IN_THE_CONTRACT = {"rules", "judged"}
"""Tried by tests/methods/test_contract.py alone."""
FILES = {
    "en-de.text.txt": "The man sees the bat.\nThe bat sleeps.\n",
    "en-de.key.tsv": "1\tted\tbat\tschläger\tfledermaus\n2\tted\tbat\tfledermaus\tschläger\n",
    "jobs.tsv": "male\t1\tThe doctor sleeps.\tdoctor\tpro\nfemale\t1\tThe nurse sleeps.\tnurse\tpro\n",
    "none.align": "\n\n",
}


def study_of(method: str, folder: Path, **changed: Any) -> Study:
    tests, settings, _ = CASES[method]
    for name, content in FILES.items():
        (folder / name).write_text(content)
    if "alignments" in settings:
        settings = {**settings, "alignments": str(folder / "none.align")}
    return Study.model_validate(
        {
            "study": {"name": method, "seed": 3},
            "systems": [{"spec": "lab:student"}, {"spec": "lab:teacher"}],
            "tests": [{"spec": tests.replace("FOLDER", str(folder))}],
            "methods": [{"name": method, **settings, **changed}],
            "run": {"chunk": 3} if "patterns" not in method else {},
        }
    )


def run(method: str, folder: Path, **changed: Any) -> Path:
    run_study(study_of(method, folder.parent, **changed), out=folder)
    return folder


def test_there_is_a_case_for_every_built_in_method():
    # No lab system answers in words: that method has the same tests in tests/methods/answers.
    assert CASES.keys() == METHODS.built_in.keys() - {"prompted_choice", *IN_THE_CONTRACT}


@pytest.mark.parametrize("method", sorted(CASES))
def test_in_shards_and_judged_again_a_run_is_the_same(tmp_path, method):
    first = run(method, tmp_path / "first")
    rejudge(first, {}, out=tmp_path / "same")
    assert_same(first, tmp_path / "same")
    shards = [tmp_path / f"shard-{number}" for number in (3, 1, 2)]
    for shard in shards:
        run_study(study_of(method, tmp_path), out=shard, shard=f"{shard.name[-1]}/3")
    merge(shards, tmp_path / "merged")
    assert_same(first, tmp_path / "merged")
    if changed := CASES[method][2]:
        other = run(method, tmp_path / "other", **changed)
        again = rejudge(first, changed, method=method, out=tmp_path / "again")
        assert again.signature == json.loads((other / "manifest.json").read_text())["signature"]
        assert_same(other, tmp_path / "again")
        assert [row.as_json() for row in again.rows] == [row.as_json() for row in rejudge(other, {}).rows]


def test_what_was_asked_cannot_be_changed(tmp_path):
    folder = run("contrast", tmp_path / "run")
    with pytest.raises(
        BabelscopeError, match="beam cannot be changed after a run, because answers depend on it"
    ):
        rejudge(folder, {"beam": 3})
    with pytest.raises(BabelscopeError, match="contrast has no setting 'k'"):
        rejudge(folder, {"k": 3})
    with pytest.raises(BabelscopeError, match="is a run of contrast, not of space alone"):
        rejudge(folder, {}, method="space")
    with pytest.raises(BabelscopeError, match="ties: input should be"):
        rejudge(folder, {"ties": "often"})


def test_the_manifest_says_what_each_job_is_and_what_it_cost(tmp_path):
    manifest = read_run(run("condition", tmp_path / "run")).manifest
    assert (manifest.format, manifest.status) == (FORMAT, "finished")
    (part,) = manifest.methods.values()
    assert (part.name, part.version, part.settings["likelihood"]) == ("condition", 1, "mean")
    assert [each.by for each in part.paired] == [(), (), ("category",)]
    assert [each.worst_of for each in part.paired] == ["category", "", ""]
    assert {"babelscope", "python", "platform"} == manifest.software.keys()
    assert manifest.cost.seconds > 0
    assert manifest.cost.tokens > 12


@pytest.mark.parametrize(
    ("method", "setting", "changed"),
    [("space", "metric", {"curves": True}), ("challenge", "metrics", {"exact": True})],
)
def test_other_settings_change_without_the_program_that_judged(tmp_path, method, setting, changed):
    script = tmp_path / "judge.py"
    script.write_text("import sys\nfor line in sys.stdin: print(len(line) % 7)\n")
    named = ("chrf", f"cmd:{sys.executable} {script}?bound=7")
    first = run(method, tmp_path / "first", **{setting: named})
    other = run(method, tmp_path / "other", **{setting: named}, **changed)
    script.unlink()
    with pytest.warns(RuntimeWarning, match="those stored in the run"):
        rejudge(first, changed, out=tmp_path / "again")
    assert_same(other, tmp_path / "again")
    (group,) = group_runs([read_run(other)])
    assert any(script.name in str(row.labels["measure"]) for row in paired_differences(group))


def test_what_is_made_of_old_answers_is_of_this_version(tmp_path):
    folder = run("likelihood", tmp_path / "run")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["config"]["version"] = "0.0.1"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    again = rejudge(folder, {})
    assert again.config["version"] == __version__
