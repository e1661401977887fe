"""A stranger's study says what it would run and contact before it does, and is asked about once."""

from __future__ import annotations

import dataclasses
import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from babelscope.runs.study import Study
from babelscope.runs.trust import reach_of
from babelscope.systems import registry
from babelscope.systems.registry import Scheme
from tests.support.serving import App, Server
from tests.support.toy_fixtures import Babelscope, Ran

STUDY = """
[[systems]]
spec = {spec}
[[tests]]
spec = "tests.jsonl"
[[methods]]
name = "challenge"
matched_corpora = 2
length_corpora = 4
"""
ITEM = {"source": "a b", "reference": "b a", "dependencies": []}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    (tmp_path / "tests.jsonl").write_text(
        "".join(json.dumps({"id": str(n), **ITEM}) + "\n" for n in range(4))
    )
    (tmp_path / "mt.sh").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    (tmp_path / "mt.sh").chmod(0o755)
    write(tmp_path, "cmd:./mt.sh")


def write(folder: Path, spec: str, more: str = "") -> None:
    # JSON's strings are TOML's.
    (folder / "study.toml").write_text(STUDY.format(spec=json.dumps(spec)) + more)


def study_of(**tables: object) -> Study:
    usual = {"systems": [{"spec": "lab:teacher"}], "tests": [{"spec": "t.jsonl"}], "methods": [{"name": "m"}]}
    return Study.model_validate({**usual, **tables})


def reach(folder: Path, **tables: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = reach_of(study_of(**tables), folder)
    return found.runs, found.contacts


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, babelscope: Babelscope, answer: str) -> Ran:
    with monkeypatch.context() as patch:
        patch.setattr("babelscope.util.consent.at_a_terminal", lambda: True)
        return babelscope("run", "study.toml", "--no-report", stdin=answer.encode())


def test_without_a_terminal_it_is_refused_with_the_list_and_trust_runs_it(babelscope, tmp_path):
    refused = babelscope("run", "study.toml")
    assert (refused.code, refused.out) == (2, "")
    assert "systems[0].spec: 'cmd:./mt.sh'" in refused.err
    assert "add --trust" in refused.err
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "runs").exists()
    ran = babelscope("run", "study.toml", "--trust", "--no-report", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert (tmp_path / "ran").exists()
    assert babelscope("run", "study.toml").code == 2  # --trust is for once


def test_at_a_terminal_it_is_asked_about_once(babelscope, tmp_path, monkeypatch):
    for answer in ("\n", "n\n", ""):
        refused = at_a_terminal(monkeypatch, babelscope, answer)
        assert (refused.code, refused.out) == (2, "")
        assert "systems[0].spec: 'cmd:./mt.sh'" in refused.err
        assert "study.toml was not run" in refused.err
    assert not (tmp_path / "ran").exists()
    asked = at_a_terminal(monkeypatch, babelscope, "y\n")
    assert (asked.code, "[y/N]" in asked.err, (tmp_path / "ran").exists()) == (0, True, True)
    again = babelscope("run", "study.toml", "--no-report")
    assert (again.code, "[y/N]" in again.err) == (0, False)
    (folder,) = (tmp_path / "state").glob("babelscope/trusted")
    (kept,) = folder.iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, kept)] == [0o700, 0o600]

    folder.chmod(0o777)  # where others can write, nothing is believed
    assert babelscope("run", "study.toml").code == 2
    folder.chmod(0o700)
    assert babelscope("run", "study.toml", "--no-report").code == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("study.toml", "tests.jsonl", "mt.sh"):
        shutil.copy(tmp_path / name, elsewhere / name)
    assert babelscope("run", "elsewhere/study.toml").code == 2  # another mt.sh may be there
    with open(tmp_path / "study.toml", "a") as file:
        file.write("# changed\n")
    assert babelscope("run", "study.toml").code == 2


def test_a_link_to_a_trusted_study_is_asked_about_where_it_lies(babelscope, tmp_path, monkeypatch):
    """It runs in the link's folder, whose programs nobody has allowed."""
    assert at_a_terminal(monkeypatch, babelscope, "y\n").code == 0
    (tmp_path / "ran").unlink()
    other = tmp_path / "other"
    other.mkdir()
    (other / "mt.sh").write_text("#!/bin/sh\ntouch ../ran\ncat\n")
    (other / "mt.sh").chmod(0o755)
    (other / "tests.jsonl").symlink_to("../tests.jsonl")
    (other / "study.toml").symlink_to("../study.toml")
    refused = babelscope("run", "other/study.toml")
    assert (refused.code, "add --trust" in refused.err) == (2, True)
    assert not (tmp_path / "ran").exists()
    # The same folder by another name is the same folder.
    (tmp_path / "again").symlink_to(".")
    assert babelscope("run", "again/study.toml", "--no-report").code == 0


def test_what_is_run_is_what_was_allowed(babelscope, tmp_path, monkeypatch):
    """The file is changed while the user reads the question."""

    def change_file() -> bool:
        write(tmp_path, "cmd:touch changed")
        return True

    monkeypatch.setattr("babelscope.util.consent.at_a_terminal", change_file)
    ran = babelscope("run", "study.toml", "--no-report", stdin=b"y\n")
    assert (ran.code, (tmp_path / "ran").exists()) == (0, True), ran.err
    assert not (tmp_path / "changed").exists()


def test_what_is_not_remembered_is_said(babelscope, tmp_path, monkeypatch):
    (tmp_path / "state").write_text("no folder")
    asked = at_a_terminal(monkeypatch, babelscope, "yes\n")
    assert (asked.code, "could not be stored" in asked.err) == (0, True)


@pytest.mark.parametrize(
    ("tables", "place"),
    [
        ({"systems": [{"spec": "cmd:x"}]}, "systems[0].spec: 'cmd:x'"),
        ({"systems": [{"spec": "lab:teacher"}, {"spec": "cmd:x?shell=yes"}]}, "systems[1].spec"),
        ({"systems": [{"spec": "ensemble:lab:teacher,cmd:x"}]}, "systems[0].spec"),
        ({"systems": [{"spec": "ensemble:ensemble:cmd:x,lab:teacher"}]}, "systems[0].spec"),
        ({"systems": [{"spec": "http://localhost/?next=cmd%3Ax"}]}, "systems[0].spec"),
        ({"systems": [{"spec": "http://localhost/?next=cmd%253Ax"}]}, "systems[0].spec"),
        ({"tests": [{"spec": "made-by|cmd:x"}]}, "tests[0].spec"),
        ({"tests": [{"spec": "t", "machine_references": ["cmd:x"]}]}, "tests[0].machine_references[0]"),
        ({"methods": [{"name": "condition", "evaluator": "cmd:x"}]}, "methods[0].evaluator"),
        ({"methods": [{"name": "space", "metric": "cmd:x"}]}, "methods[0].metric"),
        ({"methods": [{"name": "m", "deep": {"er": [1, ["cmd:x"]]}}]}, "methods[0].deep.er[1][0]"),
        ({"methods": [{"name": "m", "by": {"cmd:x": 1}}]}, "methods[0].by: 'cmd:x'"),
        ({"systems": [{"spec": "hf:a/b?remote_code=yes"}]}, "(the model's own code)"),
        ({"systems": [{"spec": "hf:a/b?remote_code=%79es"}]}, "(the model's own code)"),
        ({"systems": [{"spec": "ensemble:hf:a/b?remote_code=no,hf:c/d?remote_code=yes"}]}, "own code"),
        ({"methods": [{"name": "m", "remote_code": True}]}, "methods[0].remote_code"),
        ({"systems": [{"spec": "http://h/?token_env=HOME"}]}, "the environment variable 'HOME'"),
        ({"run": {"engine": "ray", "address": "h:1"}}, "run.address: 'h:1'"),
        ({"methods": [{"name": "m", "target_parser": "udpipe:x.udpipe"}]}, "can corrupt memory"),
        ({"methods": [{"name": "m", "target_parser": "udpipe:lab-en x"}]}, "can corrupt memory"),
        ({"methods": [{"name": "m", "target_parser": "spacy:."}]}, "a spaCy model in a folder"),
    ],
)
def test_what_runs_code_is_found_wherever_it_stands(tables, place, tmp_path):
    runs, _ = reach(tmp_path, **tables)
    assert len(runs) == 1
    assert place in runs[0]


def test_known_parsers_are_not_asked_about(tmp_path):
    for name in ("udpipe:lab-en", "udpipe:german-gsd", "spacy:fr_core_news_sm", "stanza:de"):
        assert reach(tmp_path, methods=[{"name": "m", "target_parser": name}])[0] == (), name


def test_a_udpipe_model_in_a_file_is_asked_about(babelscope, tmp_path):
    pytest.importorskip("ufal.udpipe")
    (tmp_path / "own.udpipe").write_text("no model")
    write(tmp_path, "lab:teacher", 'target_parser = "udpipe:own.udpipe"\n')
    refused = babelscope("run", "study.toml")
    assert (refused.code, "methods[0].target_parser: 'udpipe:own.udpipe'" in refused.err) == (2, True)
    trusted = babelscope("run", "study.toml", "--trust")
    assert (trusted.code, "own.udpipe is no UDPipe model" in trusted.err) == (2, True)


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"systems": [{"spec": "http://u@mt.example:8080/x"}]}, ("mt.example:8080",)),
        ({"systems": [{"spec": "https://a.example\\@b.example/x"}]}, ("b.example",)),
        ({"systems": [{"spec": "openai:http://llm.example/v1#m?tokenizer=x"}]}, ("llm.example",)),
        ({"systems": [{"spec": "ensemble:http://a,http://b,c/x"}]}, ("a", "b,c")),
        ({"systems": [{"spec": "hf:owner/model"}]}, ("the Hugging Face hub",)),
        ({"systems": [{"spec": "llm:owner/model?source=English"}]}, ("the Hugging Face hub",)),
        ({"systems": [{"spec": "ct2:local?tokenizer=owner/model"}]}, ("the Hugging Face hub",)),
        ({"systems": [{"spec": "ensemble:hf:local,hf:owner/model"}]}, ("the Hugging Face hub",)),
        ({"systems": [{"spec": "ensemble:hf:local,hf:./local?dtype=float32"}]}, ()),
        ({"systems": [{"spec": "ct2:local?tokenizer=local"}, {"spec": "file:http"}]}, ()),
        ({"run": {"engine": "ray", "address": "h:1"}}, ("the Ray cluster at h:1",)),
        ({"run": {"engine": "ray", "address": "auto"}}, ()),
        ({"methods": [{"name": "m", "label": "cmd: this", "tests": []}]}, ()),
    ],
)
def test_who_is_contacted(tables, told, tmp_path):
    (tmp_path / "local").mkdir()
    assert reach(tmp_path, **tables)[1] == told


def test_the_hub_is_not_contacted_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert reach(tmp_path, systems=[{"spec": "hf:owner/model"}]) == ((), ())


def test_who_is_contacted_is_said_before_anybody_is(babelscope, tmp_path):
    write(tmp_path, "http://127.0.0.1:1/?retries=0")
    ran = babelscope("run", "study.toml", "--trust")
    contacts, _, failed = ran.err.partition("\n")
    assert contacts == "babelscope: contacts 127.0.0.1:1"
    assert failed.startswith("babelscope: error: ")
    write(tmp_path, "cmd:./mt.sh", '[run]\nengine = "ray"\naddress = "127.0.0.1:1"\n')
    ran = babelscope("run", "study.toml", "--trust", "--ray", "127.0.0.1:2")
    assert ran.err.startswith("babelscope: contacts the Ray cluster at 127.0.0.1:2\n")


@pytest.fixture
def sending(tmp_path: Path, serve: Callable[[App], Server]) -> tuple[Server, Path]:
    """A server, and a study in a folder of its own that sends a file outside of it there, by a link."""
    server = serve(lambda request: {"translations": request.body["sources"]})
    folder = tmp_path / "theirs"
    folder.mkdir()
    write(folder, f"{server.url}/x")
    (folder / "tests.jsonl").symlink_to("../tests.jsonl")
    return server, folder


def test_a_study_that_sends_texts_is_refused_without_a_terminal(babelscope, sending):
    server, folder = sending
    refused = babelscope("run", "theirs/study.toml")
    assert (refused.code, refused.out, server.seen) == (2, "", [])
    assert f"sends texts of its test sets to: {server.url.removeprefix('http://')}" in refused.err
    assert "names outside of its folder: tests.jsonl -> ../tests.jsonl" in refused.err
    assert "add --trust" in refused.err
    assert not (folder / "runs").exists()
    ran = babelscope("run", "theirs/study.toml", "--trust", "--no-report")
    assert (ran.code, len(server.seen) > 0) == (0, True), ran.err


def test_a_study_that_sends_texts_is_asked_about_once_and_after_a_new_link(babelscope, sending, monkeypatch):
    server, folder = sending
    monkeypatch.setattr("babelscope.util.consent.at_a_terminal", lambda: True)
    study = ("run", "theirs/study.toml", "--no-report")
    refused = babelscope(*study, stdin=b"n\n")
    assert (refused.code, server.seen) == (2, [])
    assert "    tests.jsonl -> ../tests.jsonl\n" in refused.err
    assert babelscope(*study, stdin=b"y\n").code == 0
    again = babelscope(*study)
    assert (again.code, "[y/N]" in again.err) == (0, False)
    (folder / "deep").mkdir()
    (folder / "deep" / "more").symlink_to("/etc")
    assert "    deep/more -> /etc\n" in babelscope(*study).err


@pytest.mark.parametrize(
    "tables",
    [
        {"tests": [{"spec": "/etc/passwd"}]},
        {"tests": [{"spec": "parallel:a.en,/etc/passwd"}]},
        {"tests": [{"spec": "jsonl://etc/passwd"}]},
        {"tests": [{"spec": "jsonl:a/../../b"}]},
        {"systems": [{"spec": "file:../x"}]},
        {"systems": [{"spec": "file:a?source=%2Fetc/passwd"}]},
        {"systems": [{"spec": "hf:~/model"}]},
        {"systems": [{"spec": "llm:x", "prompt": ["../p.toml"]}]},
        {"methods": [{"name": "m", "lexicon": "/etc/passwd"}]},
        {
            "make": [{"name": "n", "type": ["t"], "source": "/etc/passwd", "reference": "r"}],
            "tests": [{"spec": "made:n"}],
        },
        {"run": {"data_dir": "/data"}},
        {"run": {"out": "../other"}},
    ],
)
def test_files_outside_of_the_folder_are_listed(tables, tmp_path):
    systems = [*tables.get("systems", []), {"spec": "http://h/x"}]
    (listed,) = reach_of(study_of(**{**tables, "systems": systems}), tmp_path).outside
    assert listed.startswith(next(iter(tables)))


def test_files_inside_of_the_folder_are_not_listed(tmp_path):
    (tmp_path / "link").symlink_to("tests.jsonl")
    (tmp_path / "round").symlink_to("round")
    prompted = {"spec": "openai:https://h/v1#m?prompt=and/or {text}, ~5 words..."}
    tests = [{"spec": f"parallel:{tmp_path}/a.en,a..b"}, {"spec": "./link"}]
    run = {"out": "runs/x", "cache": True}
    study = study_of(systems=[prompted, {"spec": "file:a/b"}], tests=tests, run=run)
    assert reach_of(study, tmp_path).outside == ()


def test_a_cluster_named_on_the_command_line_is_not_asked_about(tmp_path):
    (tmp_path / "s.toml").write_text("")
    study = study_of(run={"engine": "ray", "address": "h:1"})
    assert reach_of(study, tmp_path, ray="g:2").runs == ()
    assert reach_of(study, tmp_path, ray="g:2").contacts == ("the Ray cluster at g:2",)
    assert len(reach_of(study, tmp_path, ray="").runs) == 1  # --ray alone leaves the study's address


def test_what_is_shown_cannot_steer_the_terminal(babelscope, tmp_path):
    write(tmp_path, "cmd:x \x1b[2J\u202e", '"k\x1b" = 1\n'.replace("\x1b", "\\u001b"))
    ran = babelscope("run", "study.toml")
    assert ran.code == 2
    assert r"'cmd:x \x1b[2J\u202e'" in ran.err
    assert "\x1b" not in ran.err
    runs, contacts = reach(
        tmp_path,
        systems=[{"spec": "http://\x1b/"}],
        methods=[{"name": "m", "k\x1b": "cmd:\x07", "evil\x1b": "hf:x?remote_code=yes"}],
    )
    assert "\x1b" not in "".join((*runs, *contacts))
    assert "\x07" not in "".join(runs)


def test_a_plug_in_says_that_it_runs_programs(tmp_path, monkeypatch):
    wrap = Scheme("wrap", "m:f", "s", "wrap:x", runs=True, contacts="server")
    ours = dataclasses.replace(registry.SCHEMES, built_in={**registry.SCHEMES.built_in, "wrap": wrap})
    monkeypatch.setattr(registry, "SCHEMES", ours)
    runs, contacts = reach(tmp_path, systems=[{"spec": "wrap:host:80/x"}])
    assert (runs, contacts) == (("systems[0].spec: 'wrap:host:80/x'",), ("host:80",))
