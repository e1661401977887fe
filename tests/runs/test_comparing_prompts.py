"""Figures over prompts: one system per prompt, the spread between them, in commands, studies, reports and compare."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import pytest

from babelscope.runs.compare import common_name
from babelscope.systems.registry import open_system, takes_prompts, with_prompt
from babelscope.util.errors import BabelscopeError
from tests.support.models import SOURCES, TARGETS, build_causal

PROMPTS = ("lines", "instruction", "question")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_causal(tmp_path_factory.mktemp("m"))


@pytest.fixture
def tests(tmp_path: Path) -> str:
    lines = [f"{source}\t{target}" for source, target in zip(SOURCES, TARGETS, strict=True)]
    (tmp_path / "t.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "tsv:t.tsv"


def spec(folder: Path) -> str:
    return f"llm:{folder}?source=English&target=German&max_length=90"


def test_a_command_gives_each_prompt_and_the_spread_between_them(babelscope, folder, tests):
    chosen = [part for name in PROMPTS for part in ("--set", f"prompt={name}")]
    asked = ("likelihood", "--tests", tests, "--system", spec(folder), *chosen, "--system", "toy:model")
    rows = babelscope(*asked, "--json").rows
    own = {
        row["system"]: row["value"] for row in rows if row["name"] == "logprob" and "prompt=" in row["system"]
    }
    assert [name.rpartition("prompt=")[2] for name in own] == list(PROMPTS)
    over = {row["name"]: row for row in rows if row.get("over") == "prompts" and row["of"] == "logprob"}
    values = list(own.values())
    expected = {
        "mean": statistics.fmean(values),
        "sd": statistics.stdev(values),
        "min": min(values),
        "max": max(values),
    }
    assert {name: row["value"] for name, row in over.items()} == pytest.approx(expected)
    assert over["sd"]["value"] > 0
    for row in over.values():
        assert (row["n"], row["low"], row["high"]) == (3, None, None)
        assert row["system"] == folder.name
    signature = next(row["signature"] for row in rows if "signature" in row)
    assert len(set(re.findall(r"/prompt\.[0-9a-f]{8}", signature))) == 3


def test_a_prompt_that_the_model_was_not_trained_with_is_in_the_mean(babelscope):
    """Answers to such a prompt are noted, which is no other system."""
    Path("t.tsv").write_text("the dog sees the cat .\tder Hund sieht die Katze .\n", encoding="utf-8")
    chosen = [part for name in PROMPTS for part in ("--set", f"prompt={name}")]
    ran = babelscope("likelihood", "--tests", "tsv:t.tsv", "--system", "lab:llm", *chosen, "--json")
    rows = [row for row in ran.rows if row.get("of", row["name"]) == "logprob"]
    values = {row["system"]: row["value"] for row in rows if row["name"] == "logprob"}
    (mean,) = (row for row in rows if row["name"] == "mean")
    assert (mean["n"], len(values)) == (3, 3)
    assert mean["value"] == pytest.approx(statistics.fmean(values.values()))


def test_the_summary_of_a_method_with_a_table_of_its_own_shows_the_spread(babelscope, folder, tmp_path):
    pair = {"source": SOURCES[2], "phenomenon": "number", "reference": "human"}
    pair |= {"correct": TARGETS[2], "contrastive": "zwei Hund laufen"}
    (tmp_path / "p.jsonl").write_text(json.dumps({"id": "1", **pair}) + "\n")
    asked = ("contrast", "--tests", "p.jsonl", "--system", spec(folder), "--set", "spread=0", "--beam", "1")
    ran = babelscope(*asked, "--set", "prompt=lines", "--set", "prompt=question")
    assert ran.code == 0, ran.err
    assert "Over prompts (chosen, not drawn: no interval)" in ran.out
    assert len(ran.out.splitlines()) <= 40


def test_a_study_asks_by_each_prompt_and_its_report_shows_the_spread(babelscope, folder, tests, tmp_path):
    (tmp_path / "mine.toml").write_text('template = "{text} =>"\n')
    (tmp_path / "study.toml").write_text(
        f'[[systems]]\nname = "tiny"\nspec = "{spec(folder)}"\nprompt = ["lines", "mine.toml"]\n'
        "factors = { width = 16, seed = 1 }\n"
        f'[[tests]]\nspec = "{tests}"\n[[methods]]\nname = "likelihood"\n'
    )
    ran = babelscope("run", "study.toml", "--out", "run")
    assert ran.code == 0, ran.err
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert list(manifest["systems"]) == ["tiny [lines]", "tiny [mine]"]
    assert manifest["systems"]["tiny [mine]"]["spec"] == f"{spec(folder)}&prompt=mine.toml"
    assert [part["factors"] for part in manifest["systems"].values()] == [
        {"width": 16, "seed": 1, "prompt": "lines"},
        {"width": 16, "seed": 1, "prompt": "mine"},
    ]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    over = [row for row in summary["comparisons"] if row.get("over") == "prompts"]
    assert {row["system"] for row in over} == {"tiny"}
    # Two prompts are no two seeds.
    spread = [row for row in summary["comparisons"] if row["name"] in ("mean", "sd")]
    assert all(row.get("over") == "prompts" for row in spread)
    assert babelscope("report", "run", "--to", "r.html").code == 0
    assert "Over prompts" in (tmp_path / "r.html").read_text()
    compared = babelscope("compare", "run")
    assert compared.code == 0
    assert "Over prompts" in compared.out


def test_prompts_that_cannot_be_asked_are_refused_before_models_load(babelscope, folder, tests):
    def told(*more: str) -> str:
        ran = babelscope("likelihood", "--tests", tests, *more)
        assert ran.code == 2
        return ran.err

    assert "there is none" in told("--system", "toy:model", "--set", "prompt=lines")
    assert "did you mean lines?" in told("--system", "llm:nobody/nothing", "--set", "prompt=line")
    twice = ("--set", "prompt=lines", "--set", "prompt={source}: {text}\n{target}:")
    assert "two prompts are the same" in told("--system", spec(folder), *twice)
    named = f"{spec(folder)}&prompt=lines"
    assert "names its prompt" in told("--system", named, "--set", "prompt=question")
    assert (
        "--prompt has no effect with --rejudge"
        in babelscope("likelihood", "--rejudge", "run", "--set", "prompt=lines").err
    )


def test_a_prompt_of_any_text_survives_in_a_spec(folder):
    odd = "100 % {text}? a=b&c=d #1\n{target}: "
    system = open_system(with_prompt(spec(folder), odd))
    assert system.prompt.template == odd
    assert takes_prompts("openai:http://localhost:1/v1#m")
    assert not takes_prompts("hf:some/model")
    with pytest.raises(BabelscopeError, match="is not asked by a prompt"):
        with_prompt("hf:some/model", "lines")


def test_one_model_under_several_prompts_is_in_memory_once(folder):
    one, two = (open_system(with_prompt(spec(folder), name)) for name in PROMPTS[:2])
    assert one.network is two.network
    assert one.model.weights is two.model.weights
    assert open_system(f"{spec(folder)}&dtype=float64").network is not one.network


@pytest.mark.parametrize(
    ("names", "common"),
    [
        (["llm:x?source=a&prompt=lines", "llm:x?source=a&prompt=l.toml"], "llm:x?source=a"),
        (["x [lines]", "x [list]"], "x"),
        (["llm:x?prompt=a", "llm:x?prompt=b"], "llm:x"),
        (["mine-one", "mine-two"], "mine"),
        (["a", "b"], "a, b"),
    ],
)
def test_common_name(names, common):
    assert common_name(names) == common
