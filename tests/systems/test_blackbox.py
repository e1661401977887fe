"""Translations from files and commands: found by source, counted, and never quietly wrong."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from babelscope.core.registry import split_options
from babelscope.core.system import capabilities
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError, SystemFailure

PYTHON = shlex.quote(sys.executable)


def texts(answers):
    return [[scored.text for scored in answer] for answer in answers]


def write(path: Path, *lines: str) -> str:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return str(path)


def python(code: str) -> str:
    return f"cmd:{PYTHON} -c {shlex.quote(code)}"


# file:

line_text = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r\0\t\v\f\x1c\x1d\x1e\x85\u2028\u2029")
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    said=st.dictionaries(
        line_text.filter(str.strip), st.lists(line_text, min_size=1, max_size=3), min_size=1
    ),
    data=st.data(),
)
def test_any_subset_in_any_order_gets_what_the_file_says(tmp_path, said, data):
    source = write(tmp_path / "source", *said)
    output = write(tmp_path / "output", *("\t".join(each) for each in said.values()))
    asked = data.draw(st.lists(st.sampled_from(list(said))))
    system = open_system(f"file:{output}?source={source}&format=tsv")
    assert texts(system.translate(asked)) == [[said[source][0]] for source in asked]
    for source in asked:
        n_best = len(said[source])
        assert texts(system.translate([source], n_best=n_best)) == [said[source]]
        with pytest.raises(BabelscopeError, match=f"has {n_best} translations? of .*n_best={n_best + 1}"):
            system.translate([source], n_best=n_best + 1)


def test_without_sources_the_file_is_asked_whole_and_empty_lines_are_translations(tmp_path):
    system = open_system(f"file:{write(tmp_path / 'out', 'eins', '', 'drei')}")
    assert texts(system.translate(["one", "two", "three"])) == [["eins"], [""], ["drei"]]
    assert not system.translate(["one", "two", "three"])[0][0].has_scores
    assert capabilities(system) == {"translate"}
    with pytest.raises(BabelscopeError, match=r"2 sources were asked for, but .* translations of 3"):
        system.translate(["one", "two"])
    with pytest.raises(BabelscopeError, match="source 2 is empty"):
        system.translate(["one", "", "three"])


@pytest.mark.parametrize(
    ("lines", "form", "fault"),
    [
        (["a\tb"], "", r"out:1 has a tab inside: .*format=tsv.*format=plain"),
        (
            ["0 ||| a", "0 ||| b", "1 ||| c"],
            "",
            r"out:1 is an n-best list of Moses.*format=moses.*format=plain",
        ),
        (["0 ||| a ||| F= -1 ||| -2"], "auto", r"out:1 is an n-best list of Moses"),
        (["S-0\ta", "H-0\t-1\tb", "P-0\t-1"], "", r"out:1 is a log of fairseq.*lists:\?beam=FILE"),
        (['{"id": 0, "text": "a"}'], "", r"out:1 is JSON, no translation.*lists:FILE"),
        (['["a", "b"]'], "auto", r"out:1 is JSON, no translation"),
        (['{"id": 0, "text": "a"}'], "log", r"out:1: field 'source' must be text; .*lists:FILE"),
        (["0 ||| a", "2 ||| b"], "moses", r"out:2 has id 2, .* 0 or 1 was expected"),
        (["a ||| b"], "moses", r"out:1 is not `id \|\|\| text"),
        (["a\u2028b"], "", r"out:1 has the line separator U\+2028"),
        (["ok", "a\rb"], "", r"out:2 has a line break inside"),
        (["a"], "json", "format=json is not one of plain, tsv, moses"),
        (["a", "b"], "plain&source=SRC", r"out has 2, .*src has 1"),
        (["a"], "plain&source=nowhere", "nowhere: no such file"),
    ],
)
def test_files_that_are_not_what_they_should_be(tmp_path, lines, form, fault):
    source = write(tmp_path / "src", "x")
    option = f"?format={form.replace('SRC', source)}" if form else ""
    with pytest.raises(BabelscopeError, match=fault):
        open_system(f"file:{write(tmp_path / 'out', *lines)}{option}")


def test_a_file_s_fingerprint_is_its_content(tmp_path):
    (tmp_path / "moved").mkdir()
    out, moved = write(tmp_path / "out", "a", "b"), write(tmp_path / "moved/elsewhere", "a", "b")
    other = write(tmp_path / "other", "a", "c")
    digest = {
        spec: open_system(f"file:{spec}").fingerprint.digest
        for spec in (out, moved, other, f"{out}?source={other}", f"{other}?source={out}", f"{out}?format=tsv")
    }
    assert digest[out] == digest[moved]
    assert len(set(digest.values())) == 5


# cmd:


def test_a_command_s_n_best_lists():
    code = "import sys\nfor line in sys.stdin: print(line.strip().upper(), line.strip(), sep='\\t')"
    assert texts(open_system(python(code) + "?format=tsv").translate(["a", "b"], n_best=2)) == [
        ["A", "a"],
        ["B", "b"],
    ]


def test_megabytes_in_and_out_do_not_deadlock():
    # It writes before it has read all, and more than any pipe holds.
    code = "import sys\nfor line in sys.stdin: print(line.strip() * 2); print('note ' * 20, file=sys.stderr)"
    sources = [f"{number} " + "x" * 500 for number in range(5000)]
    system = open_system(python(code) + "?batch=5000&timeout=15")
    assert texts(system.translate(sources)) == [[source * 2] for source in sources]


def test_question_marks_can_be_part_of_a_command():
    system = open_system(r"cmd:sed s/what\?/was?/")
    assert system.name == r"cmd:sed s/what\?/was?/"
    assert texts(system.translate(["what?"])) == [["was?"]]
    assert texts(open_system("cmd:tr ? !?batch=1").translate(["what?", "a?"])) == [["what!"], ["a!"]]
    assert split_options("//host/path?lang=de?batch=2") == ("//host/path?lang=de", "batch=2")
    assert split_options("m?prompt=Is it {text}?&a=1") == ("m", "prompt=Is it {text}?&a=1")
    assert split_options("m?x") == ("m?x", "")


def test_a_shell_only_if_asked_for():
    assert texts(open_system("cmd:tr a b | tr b c?shell=yes").translate(["aa"])) == [["cc"]]
    with pytest.raises(SystemFailure, match="failed with exit code"):
        open_system("cmd:tr a b | tr b c").translate(["aa"])


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("print('one')", r"given 2 lines but wrote translations of 1$"),
        (
            "import sys; print('bad luck\\nat last', file=sys.stderr)",
            r"given 2 lines .* of 0; its standard error ends: 'bad luck \| at last'",
        ),
        (
            "import sys; sys.exit('no such model')",
            r"failed with exit code 1; its standard error ends: 'no such model'",
        ),
        ("import os; os.write(1, b'ok\\n\\xff\\n')", r"output of cmd:.*:2: not UTF-8"),
        ("import os; os.write(1, b'a\\r\\nb\\r\\n')", r"output of cmd:.*:1 has a line break inside"),
    ],
    ids=["too few", "none", "exit code", "not UTF-8", "carriage return"],
)
def test_commands_that_fail(code, fault):
    with pytest.raises(BabelscopeError, match=fault):
        open_system(python(code)).translate(["a", "b"])


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path):
    mark = tmp_path / "mark"
    start = time.monotonic()
    told = r"did not finish within 0.5 seconds \(timeout=\) on 2 lines; its standard error ends: 'loading'"
    spec = f"cmd:echo loading >&2; (sleep 1.2; touch {mark}) & sleep 60?shell=yes&timeout=0.5"
    with pytest.raises(SystemFailure, match=told):
        open_system(spec).translate(["a", "b"])
    assert time.monotonic() - start < 10
    time.sleep(1)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("file:?source=x", "names no file"),
        ("file:/", "/ is a folder, not a file"),
        ("cmd:no-such-command --x", "'no-such-command' is not found or not executable"),
        ("cmd:tr 'a", "cannot be split into words"),
        ("cmd: ", "the command is empty"),
        ("cmd:cat?bach=3", "unknown option 'bach'; did you mean batch"),
        ("cmd:cat?timeout=soon", "timeout=soon is not a number"),
        ("cmd:cat?batch=0", "batch=0 is not a whole number of at least 1"),
    ],
)
def test_names_that_cannot_be_opened(spec, fault):
    with pytest.raises(BabelscopeError, match=fault):
        open_system(spec)


def test_a_command_s_fingerprint_has_its_words_and_its_files(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    script, config = tmp_path / "translate", tmp_path / "model.yml"
    digests = []
    for content, setting in [("cat", "a"), ("cat -u", "a"), ("cat -u", "b")]:
        script.write_text(f"#!/bin/sh\n{content}\n")
        script.chmod(0o755)
        config.write_text(setting)
        digests.append(open_system(f"cmd:translate --config={config}").fingerprint.digest)
    digests += [open_system(f"cmd:cat{end}").fingerprint.digest for end in ("", " -", "?shell=yes")]
    assert len(set(digests)) == 6
    # A program may answer otherwise in other batches; how long it may take changes no answer.
    assert open_system("cmd:cat?batch=9").fingerprint != open_system("cmd:cat").fingerprint
    assert open_system("cmd:cat?timeout=9").fingerprint == open_system("cmd:cat").fingerprint


def test_an_interrupt_ends_the_command(tmp_path):
    mark = tmp_path / "mark"
    spec = f"cmd:touch {mark}; sleep 20; rm {mark}?shell=yes"
    code = f"from babelscope.systems.registry import open_system; open_system({spec!r}).translate(['a'])"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    while not mark.exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=5)[1]
