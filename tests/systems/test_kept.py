"""What servers answered is kept as it came, asked for once, and one bad answer ends nothing."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import sqlite3
import threading
import time
import warnings
from collections import Counter
from typing import Any

import platformdirs
import pytest

import babelscope as bs
from babelscope.core.results import split_unanswered
from babelscope.core.system import Scored, Unanswered
from babelscope.runs.reading import read_run
from babelscope.runs.study import run_study
from babelscope.systems.cache import cached, forget_unfinished, with_store
from babelscope.systems.registry import open_system
from babelscope.systems.servers import client
from babelscope.systems.servers.openai import tokens_match_text
from babelscope.util.errors import BabelscopeError, SystemFailure

QUICK = "backoff=0.01"


def chat(text, finish="stop"):
    return {"choices": [{"message": {"content": text}, "finish_reason": finish}]}


def said(request):
    """What the model is asked to translate."""
    return request.body["messages"][0]["content"]


def scoring(request):
    """A vLLM-like server: chats, and gives each character of a prompt the same probability."""
    if request.path.endswith("chat/completions"):
        return chat(said(request)[::-1])
    tokens = [
        {character: {"decoded_token": character, "logprob": -1.0}} for character in request.body["prompt"]
    ]
    return {"choices": [{"prompt_logprobs": [None, *tokens[1:]]}]}


def llm(server, *options):
    more = "".join(f"&{each}" for each in options)
    return f"openai:{server.url}/v1#toy?prompt={{text}}&concurrency=2&{QUICK}{more}"


def asked(server):
    return Counter((request.path, json.dumps(request.body, sort_keys=True)) for request in server.seen)


# Answers are kept as they come.


@pytest.mark.parametrize("scheme", ["http", "openai"])
def test_what_was_answered_before_a_server_died_is_not_asked_again(serve, scheme):
    sources = [f"source {n % 25}" for n in range(40)]
    dead = threading.Event()

    def app(request):
        if request.number > 13 and not dead.is_set():
            return 403, {}, b"out of money"
        return (
            chat(said(request)[::-1])
            if scheme == "openai"
            else {"translations": [each[::-1] for each in request.body["sources"]]}
        )

    server = serve(app)
    spec = llm(server) if scheme == "openai" else f"{server.url}?batch=1&concurrency=2&{QUICK}"
    with pytest.raises(SystemFailure, match="out of money"):
        with_store(open_system(spec), None).translate(sources)
    answered = set(list(asked(server))[:13])
    dead.set()
    before = len(server.seen)
    system = with_store(open_system(spec), None)
    assert [each.text for (each,) in system.translate(sources)] == [each[::-1] for each in sources]
    again = {(r.path, json.dumps(r.body, sort_keys=True)) for r in server.seen[before:]}
    assert not again & answered
    assert len(server.seen) - before == 25 - 13  # each different source once
    with pytest.warns(RuntimeWarning, match="13 answers kept from an earlier command"):
        forget_unfinished()
    before = len(server.seen)
    with_store(open_system(spec), None).translate(sources[:5])
    assert len(server.seen) == before + 5  # it had ended well, so that nothing is remembered


def test_the_store_is_private_and_empty_after_a_good_end(serve):
    server = serve(lambda request: chat(said(request)))
    with_store(open_system(llm(server)), None).translate(["a secret sentence"])
    path = platformdirs.user_state_path("babelscope") / "unfinished.sqlite"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM answers").fetchone() == (1,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forget_unfinished()
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM answers").fetchone() == (0,)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"secret sentence" not in path.read_bytes()


def test_nothing_is_kept_if_that_is_said(serve):
    server = serve(lambda request: chat(said(request)))
    for _ in range(2):
        with_store(open_system(llm(server)), False).translate(["a", "a"])
    assert len(server.seen) == 2
    assert not (platformdirs.user_state_path("babelscope") / "unfinished.sqlite").exists()


def test_an_option_that_cleans_answers_does_not_ask_again(serve, tmp_path):
    server = serve(lambda request: chat("two\nlines" if "1" in said(request) else said(request)))
    sources = [f"s {n}" for n in range(3)]
    with pytest.raises(Unanswered, match="has a line break inside; newlines=space") as caught:
        cached(open_system(llm(server)), tmp_path / "cache").translate(sources)
    assert list(caught.value.reasons) == [1]
    system = cached(open_system(llm(server, "newlines=space")), tmp_path / "cache")
    assert [each.text for (each,) in system.translate(sources)] == ["s 0", "two lines", "s 2"]
    assert len(server.seen) == 3


# One bad answer ends nothing.


def test_a_refused_source_is_found_in_its_batch(serve):
    def app(request):
        if "bad" in request.body["sources"]:
            return 400, {}, b"not that one"
        return {"translations": request.body["sources"]}

    server = serve(app)
    system = open_system(f"{server.url}?batch=8&concurrency=1&{QUICK}")
    sources = [*"abcde", "bad", *"fgh"]
    with pytest.raises(Unanswered, match="answered 400: 'not that one'") as caught:
        system.translate(sources)
    assert list(caught.value.reasons) == [sources.index("bad")]
    before = len(server.seen)
    assert [each.text for (each,) in system.translate([*"abcdefgh"])] == [*"abcdefgh"]
    assert len(server.seen) == before
    with pytest.raises(Unanswered, match="answered 400"):
        system.translate(["bad"])


def test_a_server_that_refuses_all_it_is_asked_has_failed(serve):
    server = serve(lambda _: (400, {}, b"no such model"))
    system = open_system(f"{server.url}?batch=1&{QUICK}")
    with pytest.raises(Unanswered):
        system.translate(["a"])
    with pytest.raises(SystemFailure, match=r"no such model' \(so were all \d+ questions\)") as caught:
        system.translate([f"s {n}" for n in range(40)])
    assert not isinstance(caught.value, Unanswered)


def test_reasons_to_end_are_notes(serve):
    ends = {"a": "stop", "b": "length", "c": "content_filter", "d": "tool_calls", "e": None}
    server = serve(lambda request: chat("x", ends[said(request)]))
    found = open_system(llm(server)).translate(list(ends))
    assert [each.notes for (each,) in found] == [(), ("unfinished",), ("filtered",), ("stopped",), ()]
    server = serve(lambda request: chat("" if said(request) == "a" else "x"))
    assert open_system(llm(server)).translate(["a", "b"]) == [[Scored("", notes=("empty",))], [Scored("x")]]


def filtering(request):
    """Refuses to translate one sentence, and answers another on two lines."""
    if not request.path.endswith("chat/completions"):
        return scoring(request)
    source = said(request)
    if source == "source 7":
        return chat(None, "content_filter")
    return chat("a\nb" if source == "source 11" else source[::-1])


def pairs_file(folder, n):
    lines = [
        {
            "id": f"item {number}",
            "source": f"source {number % 16}",
            "correct": f"right {number}",
            "contrastive": f"wrong one {number}",
            "phenomenon": "toy",
            "reference": "human",
        }
        for number in range(n)
    ]
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def contrast_study(folder, server, name, more=""):
    path = folder / f"{name}.toml"
    path.write_text(
        f"[[systems]]\nname = 'llm'\nspec = '{llm(server, 'logprobs=vllm')}'\n"
        "[[tests]]\nspec = 'pairs.jsonl'\n[[methods]]\nname = 'contrast'\ndetect_in_output = 'no'\n"
        f"[run]\nchunk = 8\nout = '{name}'\n{more}"
    )
    return path


def test_items_that_are_not_answered_are_left_out_counted_and_shown(serve, tmp_path):
    server = serve(filtering)
    pairs_file(tmp_path, 24)
    result = run_study(contrast_study(tmp_path, server, "run"))
    lost = {record["id"]: record["unanswered"] for record in result.unanswered}
    assert set(lost) == {"item 7", "item 11", "item 23"}  # items 7 and 23 have one source
    assert "is empty (finish_reason: content_filter)" in lost["item 7"] == lost["item 23"]
    assert "has a line break inside" in lost["item 11"]
    assert len(result.records) == 21
    whole = next(row for row in result.rows if row.name == "all")
    assert whole.estimate.n == 21
    assert whole.counts["skipped"] == 3
    assert "left out: 3 items, the first being item 7" in str(result)
    assert max(asked(server).values()) == 1
    stored = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()]
    assert [record["item"] for record in stored] == list(range(24))
    assert split_unanswered(stored)[1] == result.unanswered
    assert len(read_run(tmp_path / "run").records) == 21
    # The same in memory, and a report of it.
    items = bs.load(str(tmp_path / "pairs.jsonl"))
    again = bs.contrast(open_system(llm(server, "logprobs=vllm")), items, detect_in_output="no", chunk=8)
    assert [row.estimate for row in again.rows] == [row.estimate for row in result.rows]
    from babelscope.report.page import write_report

    write_report([tmp_path / "run"], tmp_path / "page.html")
    assert "item 7" not in (tmp_path / "page.html").read_text()


def test_a_server_that_answers_nothing_leaves_no_figure(serve, tmp_path):
    pairs_file(tmp_path, 8)
    silent = chat(None, "content_filter")
    server = serve(lambda request: silent if request.path.endswith("chat/completions") else scoring(request))
    result = run_study(contrast_study(tmp_path, server, "none"))
    assert [(row.name, row.estimate.n, row.counts["skipped"]) for row in result.rows] == [("all", 0, 8)]


@pytest.mark.parametrize("name", ["likelihood", "contrast", "condition", "challenge"])
def test_no_method_ends_with_one_question(name, tmp_path):
    """Whatever it asks, of whichever system: all questions about one source are left unanswered."""
    from tests.support.toys import ToySystem

    class Silent(ToySystem):
        def _check(self, texts, what):
            if what == "source" and (lost := [index for index, text in enumerate(texts) if "lost" in text]):
                raise Unanswered(dict.fromkeys(lost, "no answer"))
            super()._check(texts, what)

    lines = []
    for number in range(6):
        source = "lost" if number == 3 else f"a{number}"
        item: dict[str, Any] = {"id": str(number), "source": source}
        if name == "contrast":
            item |= {"correct": "ab", "contrastive": "ba", "phenomenon": "p", "reference": "human"}
        elif name == "condition":
            item |= {
                "correct_sources": [f"{source} b"],
                "incorrect_sources": [f"{source} c"],
                "category": "x",
            }
        else:
            item |= {"reference": "ab", "dependencies": []}
        lines.append(json.dumps(item))
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
    items = bs.load(str(tmp_path / "t.jsonl"))
    settings: Any = {
        "condition": {"evaluator": Silent("judge")},
        "contrast": {"detect_in_output": "no"},
        "challenge": {"matched_corpora": 2, "length_corpora": 4},
    }.get(name, {})
    from babelscope.runs.execute import run_method

    result = run_method(name, [Silent("one"), ToySystem("two")], items, **settings)
    assert [record["id"] for record in result.unanswered if record["system"] == "one"] == ["3"]
    skipped = [
        row.counts["skipped"]
        for row in result.rows
        if row.labels.get("system") == "one" and "skipped" in row.counts
    ]
    # It is counted beside what is over all items; nobody knows which part it would be of.
    assert skipped[0] == max(skipped) == 1


def test_commands_go_on_around_a_line_that_is_not_answered(serve, babelscope, tmp_path):
    server = serve(filtering)
    (tmp_path / "in").write_text("".join(f"source {n}\n" for n in range(9)))
    right = [f"source {n}"[::-1] for n in range(9)]
    ran = babelscope("translate", "--system", llm(server), "in", "--to", "out")
    assert ran.code == 0
    assert (tmp_path / "out").read_text().split("\n")[:-1] == [*right[:7], "", right[8]]
    assert "in:8 was not answered: " in ran.err
    assert "(finish_reason: content_filter)" in ran.err
    assert "1 of 9 lines were not answered" in ran.err
    (tmp_path / "one").write_text("source 7\n")
    ran = babelscope("translate", "--system", llm(server), "one")
    assert (ran.code, ran.out) == (1, "\n")
    assert "none of 1 lines was answered" in ran.err
    rows = babelscope("translate", "--system", llm(server), "in", "--json").rows
    assert [len(row["translations"]) for row in rows] == [1] * 7 + [0, 1]
    assert "content_filter" in rows[7]["unanswered"]
    (tmp_path / "bad").write_text("".join("Ã¼\n" if n == 4 else f"t {n}\n" for n in range(9)))

    def refusing(request):
        return (422, {}, b"no") if "Ã" in request.body["prompt"] else scoring(request)

    server = serve(refusing)
    arguments = ("score", "in", "--system", llm(server, "logprobs=vllm"), "--target", "bad")
    ran = babelscope(*arguments)
    assert ran.code == 0
    assert ran.out.split("\n")[5] == "-\t-\t-\tÃ¼"
    assert "in:5 was not answered" in ran.err
    ran = babelscope(*arguments, "--json")
    whole = json.loads(ran.out.splitlines()[-1])
    assert (whole["n"], whole["skipped"]) == (8, 1)


# Servers that take their time, or more than there is.


def raw_server(talk):
    """A server on loopback that gives its one connection to `talk`, in a thread, and its address."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            talk(connection)

    threading.Thread(target=serve, daemon=True).start()
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}/"


@pytest.mark.parametrize(
    ("first", "drop"), [(b"HTTP/1.1 200 OK\r\n", b"X-Drop: y\r\n"), (b"", b"HTTP/1.1 102 Processing\r\n\r\n")]
)
def test_a_server_that_drips_is_left_in_time(first, drop, monkeypatch):
    def talk(connection):
        connection.recv(65536)
        with contextlib.suppress(OSError):
            connection.sendall(first)
            for _ in range(100):
                connection.sendall(drop)
                time.sleep(0.1)

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    listening, url = raw_server(talk)
    start = time.monotonic()
    with listening, pytest.raises(SystemFailure, match=r"did not answer within 0\.5 seconds"):
        open_system(f"{url}?timeout=0.5&retries=0").translate(["a"])
    assert time.monotonic() - start < 3


def test_an_answer_is_unzipped_once_and_within_bounds(serve, monkeypatch):
    monkeypatch.setattr(client, "_LARGEST_ANSWER", 100_000)
    right = json.dumps({"translations": ["b"]}).encode()
    bomb = gzip.compress(gzip.compress(b"[" + b" " * 50_000_000))
    answers = {
        "one": ({"Content-Encoding": "gzip"}, gzip.compress(right)),
        "two": ({"Content-Encoding": "gzip, gzip"}, gzip.compress(gzip.compress(right))),
        "bomb": ({"Content-Encoding": "gzip"}, gzip.compress(b" " * 50_000_000)),
        "nested": ({"Content-Encoding": "gzip"}, bomb),
        "torn": ({"Content-Encoding": "gzip"}, gzip.compress(right)[:-9]),
    }
    server = serve(lambda request: (200, *answers[request.path[1:]]))

    def ask(name):
        return open_system(f"{server.url}/{name}?retries=0&{QUICK}").translate(["a"])

    assert ask("one") == [[Scored("b")]]
    for name, told in (
        ("two", "in the encoding 'gzip, gzip'"),
        ("bomb", "more than 100000 bytes"),
        ("nested", "which is not JSON"),
        ("torn", "ends too soon"),
    ):
        with pytest.raises(SystemFailure, match=told):
            ask(name)


def test_odd_echoes_are_compared_in_no_time():
    start = time.monotonic()
    assert tokens_match_text("a\ufffdb", "aäb")
    assert tokens_match_text("\ufffd\ufffd\ufffd", "日")
    assert not tokens_match_text("a\ufffdb", "ab")
    assert not tokens_match_text("\ufffd", "")
    for many in (300, 3_000, 300_000):
        tokens_match_text("a\ufffd" * many + "b", "a" * 3 * many)
        tokens_match_text("\ufffda" * many, "a" * 2 * many)
    assert time.monotonic() - start < 5


# Secrets.


@pytest.mark.parametrize("name", ["code", "auth", "sig", "pwd", "api_key", "X-Amz-Signature", "whatever"])
def test_a_name_with_a_parameter_is_refused_without_showing_it(name):
    for spec in (
        f"https://host/x?{name}=VALUE",
        f"https://host/x?{name}=VALUE?batch=2",
        f"openai:https://host/v1?{name}=VALUE#model?source=a&target=b",
    ):
        with pytest.raises(
            BabelscopeError, match=r"token_env=NAME|unknown option|known: .*token_env"
        ) as caught:
            open_system(spec)
        assert "VALUE" not in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [
        "env MY_API_KEY=VALUE cat",
        "env -i MY_KEY=VALUE cat",
        "MY_KEY=VALUE cat?shell=yes",
        "export A=VALUE; cat?shell=yes",
        "true && A=VALUE cat?shell=yes",
        "cat --api-key=VALUE",
        "cat --token VALUE",
        "curl api_key=VALUE",
    ],
)
def test_a_command_with_a_secret_is_refused_without_showing_it(command):
    with pytest.raises(BabelscopeError, match="must hold no secret") as caught:
        open_system(f"cmd:{command}")
    assert "VALUE" not in str(caught.value)


def test_ordinary_commands_are_not_taken_for_secrets():
    for command in ("cat", "tr a=b c", "sed s/a=b/c/", "python3 -c x=1 beam=5", "cat a=b?shell=yes"):
        assert open_system(f"cmd:{command}").name == f"cmd:{command}"


def test_a_key_that_a_server_puts_into_a_translation_is_struck_out(serve, monkeypatch, tmp_path):
    monkeypatch.setenv("MT_KEY", "sesame-4711/x")
    server = serve(
        lambda request: (
            200,
            {},
            json.dumps(chat(f"you are {request.headers['Authorization']}")).replace("/", "\\/").encode(),
        )
    )
    system = cached(open_system(llm(server, "token_env=MT_KEY")), tmp_path / "cache")
    with pytest.warns(RuntimeWarning, match="sent its key back"):
        ((answer,),) = system.translate(["a"])
    assert answer.text == "you are Bearer ***"
    with sqlite3.connect(tmp_path / "cache") as database:
        assert "sesame" not in str(database.execute("SELECT * FROM answers").fetchall())
