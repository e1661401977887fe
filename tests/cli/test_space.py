"""`babelscope space`: one JSON object per row, a run folder that goes on, and judging again without asking."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.support.sealing import seal
from tests.support.toy_fixtures import Babelscope, read_rows

pytestmark = pytest.mark.usefixtures("exact_toys")

TESTS = [
    {"id": str(n), "source": f"s {n}", "reference": text} for n, text in enumerate(["ab", "ba", "b", "aab"])
]
SYSTEM = "toy:1?alphabet=ab&limit=5"


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """Arguments for a test set."""
    tests = tmp_path / "tests.jsonl"
    tests.write_text("".join(json.dumps(each) + "\n" for each in TESTS))
    return ["space", "--tests", str(tests), "--k", "3", "--samples", "8"]


def test_a_case_by_its_id_is_shown_or_refused_before_anybody_is_asked(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    shown = babelscope(*asked, "--system", SYSTEM, "--cases", "id=2", "--table", "cases")
    assert (shown.code, "item 2" in shown.out, "s 2" in shown.out) == (0, True, True)
    log = tmp_path / "log"
    refused = babelscope(*asked, "--system", f"{SYSTEM}&log={log}", "--cases", "nobody")
    assert (refused.code, "no item has the id 'nobody'" in refused.err, log.exists()) == (2, True, False)


def test_a_summary_of_samples_alone_has_their_figures(babelscope: Babelscope, asked: list[str]) -> None:
    samples = [*asked[:3], "--k", "0", "--samples", "8", "--system", SYSTEM]
    [quality] = [
        row
        for row in babelscope(*samples, "--json").rows
        if (row["name"], row.get("decoding")) == ("quality", "samples")
    ]
    shown = babelscope(*samples).out
    assert "quality, samples" in shown
    assert f"{quality['value']:.2f}" in shown


def test_several_sizes_and_several_metrics(babelscope: Babelscope, asked: list[str]) -> None:
    """Qualities are by each metric, what needs none is there once, and the summary has the first one's figures."""
    options = (*asked, "--system", SYSTEM, "--beams", "1,4", "--metric", "chrf", "--metric", "bleu")
    rows = babelscope(*options, "--json", "--out", "run").rows
    swept = [row for row in rows if row["name"].startswith("beam_") and "beam" in row]
    named = [(row["name"], row["beam"], row.get("metric")) for row in swept]
    assert len(set(named)) == len(named)
    assert [each for each in named if each[0] == "beam_quality"] == [
        ("beam_quality", size, metric) for metric in ("chrf", "bleu") for size in (1, 4)
    ]
    assert [each for each in named if each[0] == "beam_logprob"] == [
        ("beam_logprob", size, None) for size in (1, 4)
    ]
    quality = {
        row["decoding"]: row["value"] for row in rows if row["name"] == "quality" and row["metric"] == "chrf"
    }
    printed = babelscope("space", "--rejudge", "run", "--table", "quality", "--format", "csv").out
    lines = csv.DictReader(line for line in printed.splitlines() if not line.startswith("#"))
    shown = {line["decoding"]: float(line["mean quality"]) for line in lines}
    assert shown == {name: pytest.approx(value) for name, value in quality.items()}
    assert babelscope("report", "run", "--to", "page.html").code == 0


def test_what_was_asked_is_timed_where_it_was_asked(babelscope: Babelscope, asked: list[str]) -> None:
    told = babelscope(*asked, "--system", SYSTEM, "--table", "cost", "--format", "csv").out
    assert all(what in told for what in ("exact top-3", "8 samples", "beam search of width 5"))


def test_segments_are_scored_elsewhere_and_come_back(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    run, segments, numbers = (tmp_path / name for name in ("run", "segments.jsonl", "numbers"))
    assert babelscope(*asked, "--system", SYSTEM, "--out", str(run), "--segments", str(segments)).code == 0
    lines = read_rows(segments)
    assert {"source", "hypothesis", "reference"} == set(lines[0])
    assert len({json.dumps(line) for line in lines}) == len(lines)
    numbers.write_text("".join(f"{len(line['hypothesis']) / 10}\n" for line in lines))
    metric = f"file:{numbers}?source={segments}&bound=10"
    rows = babelscope("space", "--rejudge", str(run), "--metric", metric, "--json").rows
    records = read_rows(run / "records.jsonl")
    lengths = [len(record["best"]["text"]) / 10 for record in records]
    (found,) = [row for row in rows if row["name"] == "quality" and row["decoding"] == "beam"]
    assert found["value"] == pytest.approx(sum(lengths) / len(lengths))


def test_a_run_folder_starts_no_program_and_reads_no_file_that_it_names(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    run, segments, mark = tmp_path / "run", tmp_path / "segments.jsonl", tmp_path / "ran"
    assert babelscope(*asked, "--system", SYSTEM, "--out", str(run)).code == 0
    manifest, records = (run / name for name in ("manifest.json", "records.jsonl"))
    told, complete = json.loads(manifest.read_text()), records.read_text()
    again = ("space", "--rejudge", str(run), "--segments", str(segments))
    for named in (f"cmd:touch {mark}?shell=yes", f"cmd:touch {mark}", "file:/no/such?source=/no/such"):
        told["config"]["methods"][0]["settings"]["metric"] = [named]
        told["methods"]["space"]["settings"]["metric"] = [named]
        manifest.write_text(json.dumps(told))
        records.write_text(complete)
        # Its records were judged by another metric, or do not have what they should.
        for changed in (complete, complete.replace('"quality":', '"other":')):
            records.write_text(changed)
            seal(run)
            refused = babelscope(*again)
            assert (refused.code, named in refused.err, "say --metric" in refused.err) == (2, True, True)
        records.write_text(complete.replace('"chrf":', f"{json.dumps(named)}:"))
        seal(run)
        used = babelscope(*again, "--json")
        assert (used.code, named in used.err, "say --metric" in used.err) == (0, True, True)
        anew = babelscope(*again, "--metric", "bleu")
        assert (anew.code, named in anew.err) == (0, False)
    assert not mark.exists()


def test_a_shard_starts_no_program_that_it_names(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    mark, named = tmp_path / "ran", f"cmd:touch {tmp_path / 'ran'}?shell=yes"
    (tmp_path / "study.toml").write_text(
        f'[[systems]]\nspec = "{SYSTEM}"\n[[tests]]\nspec = "{asked[2]}"\n'
        '[[methods]]\nname = "space"\nk = 3\nsamples = 8\n[run]\nchunk = 2\n'
    )
    for number in (1, 2):
        assert babelscope("run", "study.toml", "--shard", f"{number}/2", "--out", f"s{number}").code == 0
        manifest = tmp_path / f"s{number}" / "manifest.json"
        told = json.loads(manifest.read_text())
        told["methods"]["space"]["settings"]["metric"] = [named]
        told["config"]["methods"][0]["settings"]["metric"] = [named]
        for part in (*told["systems"].values(), *told["tests"].values()):
            part["spec"] = named
        manifest.write_text(json.dumps(told))
    assert babelscope("run", "--merge", "s1", "s2", "--out", "merged").code == 0
    assert babelscope("report", "merged", "-o", "page.html").code == 0
    assert babelscope("compare", "merged").code == 0
    assert babelscope("space", "--rejudge", "merged").code == 2
    assert not mark.exists()


def test_qualities_from_outside_are_used_again_without_the_program(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    run, log = tmp_path / "run", tmp_path / "log"
    judge = tmp_path / "judge.sh"
    judge.write_text(f"#!/bin/sh\necho asked >> {log}\nawk '{{ print length($0) }}'\n")
    judge.chmod(0o755)
    quality = ("--metric", f"cmd:{judge}?bound=100")
    first = babelscope(*asked, "--system", SYSTEM, *quality, "--out", str(run), "--json").rows
    before = log.read_text()
    assert babelscope("space", "--rejudge", str(run), "--json").rows == first
    assert log.read_text() == before
    assert babelscope("space", "--rejudge", str(run), *quality, "--json").rows == first
    assert log.read_text() != before


def test_records_feed_correlate(babelscope: Babelscope, asked: list[str], tmp_path: Path) -> None:
    records, human = tmp_path / "records.jsonl", tmp_path / "human.jsonl"
    systems = [argument for salt in "123" for argument in ("--system", f"toy:{salt}?alphabet=ab&limit=5")]
    assert babelscope(*asked, *systems, "--records", str(records)).code == 0
    lines = read_rows(records)
    assert len(lines) == 3 * len(TESTS)
    human.write_text(
        "".join(
            json.dumps({"system": each["system"], "id": each["id"], "score": 2 * each["top_kqrg"] + 1}) + "\n"
            for each in lines
        )
    )
    rows = babelscope("agreement", str(records), "--human", str(human), "--field", "top_kqrg", "--json").rows
    assert [(row["name"], row["level"], row["value"]) for row in rows] == [
        ("pearson", "sentence", pytest.approx(1)),
        ("pearson", "system", pytest.approx(1)),
        ("spearman", "sentence", pytest.approx(1)),
        ("spearman", "system", pytest.approx(1)),
    ]
    assert [row["n"] for row in rows] == [12, 3, 12, 3]


def test_what_is_wrong_is_told(babelscope: Babelscope, asked: list[str], tmp_path: Path) -> None:
    for arguments, message in [
        (["space", "--system", SYSTEM], "space needs --tests, or --rejudge and a finished run"),
        ([*asked, "--system", SYSTEM, "--rejudge", str(tmp_path)], "--tests has no effect beside --rejudge"),
        (
            [*asked, "--system", SYSTEM, "--metric", "cmd:cat"],
            "kQRG needs the highest quality that cmd:cat can",
        ),
        (["space", "--rejudge", str(tmp_path)], "no manifest.json"),
        ([*asked, "--system", SYSTEM, "--metric", "chff"], "did you mean chrf?"),
        ([*asked, "--system", "cmd:cat"], "space needs a system that"),
    ]:
        ran = babelscope(*arguments)
        assert ran.code == 2
        assert message in ran.err
        assert ran.out == ""
