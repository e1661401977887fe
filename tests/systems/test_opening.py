"""Systems by name: a plug-in that cannot be loaded stops nobody but those who ask for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from babelscope.cli.systems import systems
from babelscope.runs.study import Study
from babelscope.runs.trust import reach_of
from babelscope.systems.registry import SCHEMES, load_schemes, names_of, open_system, require
from babelscope.testsets.loading import load
from babelscope.util.errors import BabelscopeError

FAULT = "the plug-in that offers the scheme torn fails with RuntimeError: half installed"


@pytest.fixture
def torn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that offers a scheme and a format, and fails when it is imported."""
    info = tmp_path / "torn-1.dist-info"
    info.mkdir()
    (tmp_path / "torn_plug_in.py").write_text("raise RuntimeError('half installed')\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torn\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[babelscope.systems]\ntorn = torn_plug_in:SCHEME\n\n[babelscope.testsets]\ntorn = torn_plug_in:FORMAT\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "torn_plug_in", raising=False)


@pytest.mark.usefixtures("torn")
def test_a_broken_plug_in_stops_no_other_system_and_is_told_when_it_is_asked_for(tmp_path):
    (tmp_path / "out.de").write_text("eins\n")
    assert open_system(f"file:{tmp_path / 'out.de'}").name
    with pytest.raises(BabelscopeError, match=r"'tron:x' names no system.*did you mean torn:"):
        open_system("tron:x")
    with pytest.raises(BabelscopeError, match=FAULT):
        open_system("torn:x")


@pytest.mark.usefixtures("torn")
def test_a_broken_plug_in_is_told_where_systems_are_listed(capsys):
    known, (fault,) = load_schemes()
    assert "torn" in SCHEMES.names()
    assert "torn" not in known
    assert str(fault) == FAULT
    systems()
    out, err = capsys.readouterr()
    assert "hf:  " in out
    assert err == f"babelscope: {FAULT}\n"


@pytest.mark.usefixtures("torn")
def test_a_study_is_asked_about_unless_it_names_the_broken_plug_in(tmp_path):
    def study(spec: str) -> Study:
        tables = {"study": {"name": "s"}, "systems": [{"spec": spec}], "tests": [{"spec": "t.jsonl"}]}
        return Study.model_validate({**tables, "methods": [{"name": "likelihood"}]})

    assert reach_of(study("cmd:cat"), tmp_path).runs == ("systems[0].spec: 'cmd:cat'",)
    with pytest.raises(BabelscopeError, match=FAULT):
        reach_of(study("torn:x"), tmp_path)


@pytest.mark.usefixtures("torn")
def test_a_broken_plug_in_stops_no_other_format(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    assert len(load(f"tsv:{tmp_path / 'pairs.tsv'}")) == 1
    with pytest.raises(BabelscopeError, match="offers the format torn fails with RuntimeError"):
        load("torn:x")


def test_a_refusal_says_which_option_the_refused_scheme_needs():
    system = open_system("openai:http://127.0.0.1:9/v1#model?source=English&target=German")
    with pytest.raises(
        BabelscopeError, match=r"these do: hf:, .*openai: with logprobs=vllm or logprobs=echo, ensemble:"
    ):
        require(system, "score", what_for="contrast")


@pytest.mark.parametrize(
    ("specs", "names"),
    [
        (["file:/a/hyp.old.de", "file:/a/hyp.new.de?source=in.en"], ["hyp.old.de", "hyp.new.de"]),
        (["hf:/data/models/a", "hf:/data/models/b/"], ["a", "b"]),
        (["hf:/x/a", "hf:/y/a", "lab:b"], ["x/a", "y/a", "lab:b"]),
        (["hf:/x/y/a", "hf:/z/y/a"], ["x/y/a", "z/y/a"]),
        (["hf:m?beam=1&n=2", "hf:m?n=2&beam=5"], ["hf:m?beam=1", "hf:m?beam=5"]),
        (["llm:Q/Q3?prompt=a", "llm:Q/Q3"], ["Q3?prompt=a", "Q3"]),
        (["cmd:cat", "cmd:cat /a/b", "cmd:/opt/mt.sh -m a"], ["cmd:cat", "cmd:cat /a/b", "mt.sh -m a"]),
        (["ensemble:hf:m/a,hf:m/b", "items:translations"], ["ensemble:hf:m/a,hf:m/b", "items:translations"]),
        (["openai:http://host/v1#gpt", "http://host/translate"], ["gpt", "http://host/translate"]),
        (["old", "my model: second", "a/b"], ["old", "my model: second", "a/b"]),
        (["x.de", "file:x.de"], ["x.de", "file:x.de"]),
        (["lab:", "file:/"], ["lab:", "file:/"]),
    ],
)
def test_systems_are_called_by_what_tells_them_apart(specs: list[str], names: list[str]) -> None:
    assert names_of(specs) == dict(zip(specs, names, strict=True))
