"""Shards: merged, they are the plain run to the byte; what is not all of one study is refused by name."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.runs.folder import chunks_of, plan_chunks
from babelscope.runs.manifest import Shard
from babelscope.runs.reading import read_run, results_of_run
from babelscope.runs.shards import merge
from babelscope.runs.study import run_study
from babelscope.util.errors import BabelscopeError
from tests.runs.test_study import STUDY
from tests.support.same_runs import assert_same, contents


def write_study(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    study = STUDY.replace('name = "first"\n', "").replace("?log=questions.log", "")
    (folder / "study.toml").write_text(study)
    (folder / "source.txt").write_text("".join(f"a{number}\n" for number in range(7)))
    (folder / "reference.txt").write_text("".join(f"{'abc'[number % 3]}a\n" for number in range(7)))
    return folder / "study.toml"


def run_shards(study: Path, of: int) -> list[Path]:
    """The folders of all shards, the last one first."""
    results = [run_study(study, shard=f"{number}/{of}") for number in range(of, 0, -1)]
    return [result.folder for result in results if result.folder is not None]


@pytest.fixture
def study(tmp_path: Path, toy_schemes: None) -> Path:  # noqa: ARG001
    return write_study(tmp_path / "study")


@given(st.lists(st.integers(1, 300), min_size=1, max_size=8), st.integers(1, 40), st.integers(1, 40))
def test_shards_are_a_partition(items, size, of):
    """Every chunk is in one shard, and shards differ by one chunk at most, in all and in every job."""
    jobs = [{"items": count} for count in items]
    manifest = {"config": {"chunk": size}, "jobs": jobs}
    shards = [
        list(chunks_of({**manifest, "shard": {"number": number, "of": of}})) for number in range(1, of + 1)
    ]
    assert sorted(
        (chunk for own in shards for chunk in own), key=lambda chunk: (chunk.job, chunk.start)
    ) == list(plan_chunks(jobs, size))
    for job in (None, *range(len(jobs))):
        counts = [sum(job in (None, chunk.job) for chunk in own) for own in shards]
        assert max(counts) - min(counts) <= 1
    for own in shards:
        assert own == sorted(own, key=lambda chunk: (chunk.job, chunk.start))


@pytest.mark.parametrize("of", [1, 5, pytest.param(2, marks=pytest.mark.slow), 20])
def test_any_number_of_shards_even_more_than_chunks(study, tmp_path, of):
    plain = run_study(study)
    folders = run_shards(study, of)
    assert not any((folder / "summary.json").exists() for folder in folders)
    merge(folders, tmp_path / "merged")
    assert plain.folder is not None
    assert_same(tmp_path / "merged", plain.folder)


@pytest.mark.usefixtures("toy_schemes")
def test_a_file_that_judges_need_not_be_there_to_merge(tmp_path):
    """Settings that name files are in the signature by content; a merge needs neither."""
    (tmp_path / "judge.py").write_text("import sys\nfor line in sys.stdin: print(len(line) % 7)\n")
    (tmp_path / "study.toml").write_text(
        "[[systems]]\nspec = 'lab:student'\n[[tests]]\nspec = 'lab:parallel?n=3'\n[[methods]]\n"
        "name = 'space'\nmetric = 'cmd:python judge.py?bound=7'\nk = 2\nsamples = 2\nbudget_expansions = 20\n"
        "[run]\nchunk = 2\n"
    )
    plain = run_study(tmp_path / "study.toml")
    folders = run_shards(tmp_path / "study.toml", 2)
    (tmp_path / "judge.py").unlink()
    assert merge(folders, tmp_path / "merged").to_json() == plain.to_json()


def test_a_merged_run_is_a_run_like_any_other(study, tmp_path):
    merge(run_shards(study, 3), tmp_path / "merged")
    run = read_run(tmp_path / "merged")
    assert [result.method for result in results_of_run(run)] == ["likelihood", "coarse"] * 2
    before = contents(tmp_path / "merged")
    # It goes on as the study's own, also where the merge itself was cut off.
    (tmp_path / "merged" / "summary.json").unlink()
    (tmp_path / "merged" / "records.jsonl").write_bytes(before["records.jsonl"][:-30])
    assert run_study(study, out=tmp_path / "merged").to_json().encode() == before["summary.json"]
    assert contents(tmp_path / "merged") == before


def test_a_merge_that_was_killed_goes_on(study, tmp_path):
    folders = run_shards(study, 3)
    merge(folders, tmp_path / "whole")
    merge(folders, tmp_path / "cut")
    (tmp_path / "cut" / "summary.json").unlink()
    records = (tmp_path / "cut" / "records.jsonl").read_bytes()
    (tmp_path / "cut" / "records.jsonl").write_bytes(records[: len(records) // 2])
    merge(folders, tmp_path / "cut")
    assert_same(tmp_path / "cut", tmp_path / "whole")


def test_what_is_not_each_shard_once_is_refused(study, tmp_path):
    third, second, first = run_shards(study, 3)
    out = tmp_path / "merged"

    def refused(told: str, *folders: Path) -> None:
        with pytest.raises(BabelscopeError, match=told):
            merge(folders, out)
        assert not out.exists()

    refused("there is no shard")
    refused(r"shard 2/3 is missing; run the study with --shard 2/3", first, third)
    refused(r"shard 1/3 is missing \(and 1 more\)", third)
    refused(r"shard 2/3 is given twice: .*2-of-3 and .*2-of-3", first, second, third, second)
    other = run_study(study, shard="1/2").folder
    assert other is not None
    refused(r"1-of-2 is shard 1/2, but .* is 2/3", second, other, third)
    foreign = run_study(study, shard="2/3", seed=5, out=tmp_path / "foreign").folder
    assert foreign is not None
    refused(r"foreign is a shard of another study \(config\.seed: 4 in .*1-of-3, 5 here\)", first, foreign)
    plain = run_study(study).folder
    assert plain is not None
    refused("study is a whole run, not a shard", first, plain)
    refused(r"nowhere is not a run folder", first, tmp_path / "nowhere")


def test_an_unfinished_or_damaged_shard_is_refused_by_name(study, tmp_path):
    folders = run_shards(study, 2)
    records = folders[0] / "records.jsonl"
    whole = records.read_bytes()
    records.write_bytes(whole[:-1])
    with pytest.raises(BabelscopeError, match=r"shard 2/2 in .* is not finished: it has 11 of 12 records"):
        merge(folders, tmp_path / "merged")
    assert records.read_bytes() == whole[:-1], "a merge changes no shard"
    records.write_bytes(whole.replace(b'"item": 2', b'"item": 3', 1))
    with pytest.raises(BabelscopeError, match=r"records\.jsonl:1 is not the record that belongs there"):
        merge(folders, tmp_path / "merged")
    place = whole.index(b'"logprob": -') + 12
    records.write_bytes(
        whole[:place] + (b"2" if whole[place : place + 1] == b"1" else b"1") + whole[place + 1 :]
    )
    with pytest.raises(BabelscopeError, match="is not as the run left it"):
        merge(folders, tmp_path / "merged")
    records.write_bytes(whole)
    manifest = folders[0] / "manifest.json"
    sound = manifest.read_text()
    for old, new in (
        ('"number": 2', '"nummer": 2'),
        ('"of": 2', '"of": "2"'),
        ('"chunk": 2', '"chunk": 0'),
        ('"methods": {', '"manners": {'),
        ('"references": "all"', '"references": "some"'),
        ('"jobs"', '"sells"'),
    ):
        assert old in sound
        head, _, tail = sound.rpartition(old)
        manifest.write_text(head + new + tail)
        with pytest.raises(BabelscopeError, match=r"manifest\.json is damaged"):
            merge(folders, tmp_path / "merged")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"items": 7', '"items": 1000000000000', r"it has 1\d of 5000000000\d\d records"),
        ('"items": 7', '"items": 1' + "0" * 30, r"manifest\.json is damaged"),
        ('"items": 7', '"items": 1e12', r"manifest\.json is damaged"),
        ('"items": 7', '"items": NaN', "NaN is not a JSON value"),
        ('"items": 7', '"items": -7', r"manifest\.json is damaged"),
        ('"items": 7', '"items": true', r"manifest\.json is damaged"),
        ('"chunk": 2', '"chunk": 1000000000000', "is not finished|is not the record"),
        ('"chunk": 2', '"chunk": 1' + "0" * 30, "is not finished|is not the record"),
        ('"of": 2', '"of": 1000000000', "is not the record|is not finished"),
    ],
)
def test_a_manifest_that_counts_what_is_not_there_takes_no_memory(study, tmp_path, old, new, told):
    folders = run_shards(study, 2)
    path = folders[0] / "manifest.json"
    head, found, tail = path.read_text().rpartition(old)
    assert found
    path.write_text(head + new + tail)
    tracemalloc.start()
    try:
        with pytest.raises(BabelscopeError, match=told):
            merge(folders, tmp_path / "merged")
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()


def test_another_version_is_refused(study, tmp_path, monkeypatch):
    folders = run_shards(study, 2)
    monkeypatch.setattr("babelscope.runs.shards.__version__", "99")
    with pytest.raises(BabelscopeError, match=r"were run with Babelscope .*, and this is 99"):
        merge(folders, tmp_path / "merged")


def test_a_shard_is_never_taken_for_a_whole(study):
    shard = run_study(study, shard="1/2")
    assert shard.rows == ()
    with pytest.raises(BabelscopeError, match=r"1-of-2 is one shard of a study; .* babelscope run --merge"):
        read_run(shard.folder or "")
    for wrong in ({}, {"shard": "2/2"}, {"shard": "1/3"}):
        with pytest.raises(BabelscopeError, match=r"holds another run.*shard"):
            run_study(study, out=shard.folder, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "1/0", "-1/2", "a/b", "1/2/3", "", "٣/٤"])
def test_no_shard(study, text):
    with pytest.raises(BabelscopeError, match=r"there is no shard|written as 3/16"):
        run_study(study, shard=text)
    assert str(Shard.parse("3/16")) == "3/16"


def test_commands(babelscope, tmp_path):
    write_study(tmp_path)
    plain = babelscope("run", "study.toml", "--json", "--no-report")
    for number in (1, 2):
        ran = babelscope("run", "study.toml", "--json", "--shard", f"{number}/2")
        row = json.loads(ran.out)
        assert (ran.code, row["shard"], row["of"], row["records"]) == (
            0,
            number,
            2,
            16 if number == 1 else 12,
        )
        assert Path(row["folder"]) == tmp_path / "runs" / f"study-shard-{number}-of-2"
    ran = babelscope("run", "study.toml", "--shard", "2/2")
    assert ran.err == "shard 2 of 2: 12 records in runs/study-shard-2-of-2\n"
    shards = [f"runs/study-shard-{number}-of-2" for number in (1, 2)]
    ran = babelscope("run", "--merge", *shards, "--out", "merged", "--json")
    assert (ran.code, ran.out) == (0, plain.out)
    assert (tmp_path / "merged" / "report.html").exists()
    ran = babelscope("run", "--merge", shards[0], "--out", "again")
    assert (ran.code, ran.out) == (2, "")
    assert "shard 2/2 is missing" in ran.err
