"""Servers over loopback that translate, stumble, hang, lie and die; their answers are kept, and asked for once."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from email.utils import formatdate

import platformdirs
import pytest

import babelscope as bs
from babelscope.core.results import split_unanswered
from babelscope.core.system import Scored, Unanswered, capabilities
from babelscope.runs.reading import read_run
from babelscope.runs.study import run_study
from babelscope.systems.cache import cached, forget_unfinished, with_store
from babelscope.systems.registry import open_system
from babelscope.systems.servers import client
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support.stored import unfinished

SECRET = "sk-very-secret-4711"
QUICK = "backoff=0.01"


def backwards(source):
    return " ".join(source.split()[::-1])


def rotations(source, n):
    words = source.split()
    return [" ".join(words[k:] + words[:k])[::-1] for k in range(n)]


def translating(request):
    n_best = request.body["n_best"]
    return {"translations": [rotations(source, n_best) for source in request.body["sources"]]}


def failing(times, failure):
    """An application that fails the first `times` times it is asked."""
    return lambda request: failure(request) if request.number <= times else translating(request)


def texts(answers):
    return [[scored.text for scored in answer] for answer in answers]


def test_translations_come_in_batches_with_beam_and_n_best(serve):
    server = serve(translating)
    system = open_system(f"{server.url}/translate?batch=2&concurrency=1")
    sources = ["das ist gut", "ja", "süß \u2028 und \U0001f600"]
    assert texts(system.translate(sources, beam=7, n_best=3)) == [rotations(each, 3) for each in sources]
    assert [request.body["sources"] for request in server.seen] == [sources[:2], sources[2:]]
    assert {(r.path, r.body["beam"], r.body["n_best"]) for r in server.seen} == {("/translate", 7, 3)}
    assert system.name == f"{server.url}/translate?batch=2&concurrency=1"
    assert capabilities(system) == {"translate"}
    assert system.translate([]) == []
    with pytest.raises(BabelscopeError, match="source 2 has a lone surrogate"):
        system.translate(["a", "\ud800"])


def test_answers_keep_their_order_and_requests_their_bound(serve):
    rng, under_way, most = random.Random(1), [], []

    def app(request):
        under_way.append(1)
        most.append(len(under_way))
        time.sleep(rng.uniform(0, 0.03))
        under_way.pop()
        return translating(request)

    sources = [f"number {n} of many" for n in range(60)]
    system = open_system(f"{serve(app).url}?batch=1&concurrency=6")
    assert texts(system.translate(sources)) == [rotations(source, 1) for source in sources]
    assert 1 < max(most) <= 6


def short(request):
    """Half of an answer: cut in the middle of its JSON."""
    data = json.dumps(translating(request)).encode()
    return 200, {}, data[: len(data) // 2]


def torn(request):
    """Half of an answer: fewer bytes than announced."""
    data = json.dumps(translating(request)).encode()
    return 200, {"Content-Length": str(len(data))}, data[: len(data) // 2]


def hanging(request):
    request.server.closing.wait(5)
    return translating(request)


def dripping(_):
    return 200, {"Drip": "yes"}, json.dumps({"translations": ["x" * 1000]}).encode()


def status(code, text="overloaded", **headers):
    return lambda _: (code, {k.replace("_", "-"): v for k, v in headers.items()}, text.encode())


FAULTS = {
    "500": (status(500), r"answered 500: 'overloaded'"),
    "503": (status(503, "x" * 900), r"answered 503: 'x{199}…'"),
    "429": (status(429), r"answered 429: 'overloaded'"),
    "half JSON": (short, r"answered 200: '{\"transl.*, which is not JSON"),
    "torn": (torn, r"did not answer: "),
    "hangs": (hanging, r"did not answer within 0\.4 seconds"),
    "drips": (dripping, r"did not answer within 0\.4 seconds"),
    "deep": (status(200, "[" * 100_000), r"answered 200: .*, which is not JSON"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_passing_faults_are_tried_again_and_lasting_ones_told(serve, name):
    failure, told = FAULTS[name]
    slow = name in ("hangs", "drips")
    timeout, times = (0.4, 1) if slow else (20, 2)
    server = serve(failing(times, failure))
    system = open_system(f"{server.url}/mt?retries=2&timeout={timeout}&{QUICK}")
    assert texts(system.translate(["a b"])) == [rotations("a b", 1)]
    assert len(server.seen) == times + 1

    server = serve(failure)
    start = time.monotonic()
    with pytest.raises(SystemFailure, match=rf"^{server.url}/mt {told}.* \(tried 2 times\)$"):
        open_system(f"{server.url}/mt?retries=1&timeout={timeout}&{QUICK}").translate(["a b"])
    assert len(server.seen) == 2
    assert time.monotonic() - start < 4


@pytest.mark.parametrize("code", [400, 401, 404, 307])
def test_other_refusals_are_final(serve, code):
    server = serve(status(code, "your fault", Location="http://elsewhere.invalid"))
    with pytest.raises(SystemFailure, match=rf"^{server.url} answered {code}: 'your fault'$"):
        open_system(f"{server.url}?{QUICK}").translate(["a"])
    assert len(server.seen) == 1


@pytest.mark.parametrize("said", ["1", "date"])
def test_retry_after_is_honored(serve, said):
    # Dates have whole seconds, so that two ahead are more than one.
    server = serve(
        failing(
            1,
            lambda request: status(
                429, Retry_After=said if said == "1" else formatdate(time.time() + 2, usegmt=True)
            )(request),
        )
    )
    assert texts(open_system(f"{server.url}?{QUICK}").translate(["a b"])) == [rotations("a b", 1)]
    first, second = server.seen
    assert second.at - first.at >= 0.95


def test_a_server_that_wants_too_much_patience_is_an_error_at_once(serve):
    server = serve(status(503, Retry_After="3600"))
    with pytest.raises(SystemFailure, match="asks to be tried again in 3600 seconds"):
        open_system(f"{server.url}?{QUICK}").translate(["a"])
    assert len(server.seen) == 1


@pytest.mark.parametrize("terminal", [True, False])
def test_a_retry_is_told_once_on_a_terminal(serve, capsys, monkeypatch, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    server = serve(failing(2, status(503)))
    open_system(f"{server.url}/mt?retries=2&{QUICK}").translate(["a b"])
    told = f"babelscope: {server.url}/mt answered 503: 'overloaded'; trying again in 0 s\n"
    assert capsys.readouterr().err == (told if terminal else "")


def test_answers_under_way_at_a_failure_are_kept(serve):
    """They are paid for, however late they come."""
    failed = threading.Event()

    def answer(request):
        if request.body["sources"] == ["s 0"]:
            while len(request.server.seen) < 3:
                time.sleep(0.01)
            failed.set()
            return 403, {}, b"no"
        failed.wait()
        time.sleep(0.5)
        return translating(request)

    server = serve(answer)
    system = with_store(open_system(f"{server.url}?batch=1&concurrency=3"), None)
    sources = [f"s {n}" for n in range(9)]
    with pytest.raises(SystemFailure, match="answered 403"):
        system.translate(sources)
    assert len(server.seen) == 3
    assert len(unfinished()) == 2
    server.app = translating
    system.translate(sources)
    assert sorted(each.body["sources"][0] for each in server.seen[3:]) == ["s 0", *sources[3:]]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"translations": ["a"]}, r"was asked 2 sources but gave translations of 1: "),
        ({"result": []}, r"answered without 'translations\.\*': .*result"),
        (["a", "b"], r"answered JSON that is not an object"),
        ({"translations": ["a", 7]}, r"gave of 'y' is not a text: '7'"),
        ({"translations": [[None], "b"]}, r"gave of 'x' is not a text: 'null'"),
        ({"translations": [[], "b"]}, r"has 0 translations of 'x'"),
        ({"translations": ["a\nb", "c"]}, r"gave of 'x' has a line break inside; newlines=space would"),
        ({"translations": ["a", "\ud800"]}, r"gave of 'y' has a lone surrogate"),
        ({"translations": ["a", "b\0"]}, r"gave of 'y' has a NUL"),
    ],
)
def test_answers_that_are_not_translations(serve, answer, fault):
    server = serve(lambda _: answer)
    with pytest.raises(BabelscopeError, match=fault) as raised:
        open_system(f"{server.url}?{QUICK}").translate(["x", "y"])
    str(raised.value).encode()  # can be printed, whatever the server said
    assert len(server.seen) == 1


def test_the_token_is_sent_and_never_shown(serve, monkeypatch):
    monkeypatch.setenv("MT_TOKEN", SECRET)

    def app(request):
        sent = request.headers["Authorization"]
        return translating(request) if request.path == "/good" else (403, {}, f"you are {sent}".encode())

    server = serve(app)
    system = open_system(f"{server.url}/good?token_env=MT_TOKEN")
    system.translate(["a"])
    assert server.seen[0].headers["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in json.dumps([system.name, system.fingerprint.as_json()])
    assert system.fingerprint == open_system(f"{server.url}/good?concurrency=2&timeout=9").fingerprint
    with pytest.raises(SystemFailure, match=r"answered 403: 'you are Bearer \*\*\*'"):
        open_system(f"{server.url}/bad?token_env=MT_TOKEN").translate(["a"])


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (f"https://me:{SECRET}@host/x", "must hold no secret"),
        (f"https://host/x?api_key={SECRET}", "must hold no secret"),
        (f"openai:https://me:{SECRET}@host/v1", "must hold no secret"),
        ("http://host/x?token_env=NOWHERE", r"environment variable NOWHERE \(token_env=\) is not set"),
        ("http://host/x?token_env=TWO", r"TWO \(token_env=\) is no usable token"),
        ("http:host", "'http:host' is not a URL such as"),
        ("http://", "'http://' is not a URL such as"),
        ("http://host:port/", "is not a URL such as"),
        ("openai:http://host/v1", "use URL#MODEL"),
        ("openai:host/v1#m", "'host/v1' is not a URL"),
        ("openai:http://host/v1#m?target=German", "set source=LANGUAGE, which the prompt needs"),
        ("openai:http://host/v1#m?prompt=Hello", "prompt has no {text}"),
        ("openai:http://host/v1#m?prompt={text}&eos=x", "unknown option 'eos'"),
        ("http://host/x?format=libretranslate", "needs target=LANGUAGE"),
        ("http://host/x?retires=2", "did you mean retries"),
    ],
)
def test_names_that_cannot_be_opened(monkeypatch, spec, fault):
    monkeypatch.setenv("TWO", f"{SECRET}\nX-Evil: 1")
    with pytest.raises(BabelscopeError, match=fault) as raised:
        open_system(spec)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("batch", [1, 2])
def test_libretranslate(serve, monkeypatch, batch):
    monkeypatch.setenv("MT_TOKEN", SECRET)

    def app(request):
        q = request.body["q"]
        return {"translatedText": backwards(q) if isinstance(q, str) else [backwards(each) for each in q]}

    server = serve(app)
    system = open_system(
        f"{server.url}/translate?format=libretranslate&source=en&target=de&batch={batch}&token_env=MT_TOKEN"
    )
    assert texts(system.translate(["a b", "c d", "e f"])) == [["b a"], ["d c"], ["f e"]]
    body = server.seen[-1].body
    assert (body["source"], body["target"], body["format"], body["api_key"]) == ("en", "de", "text", SECRET)
    assert isinstance(body["q"], str if batch == 1 else list)
    with pytest.raises(BabelscopeError, match="gives one translation, but n_best=2"):
        system.translate(["a"], n_best=2)


def test_an_interrupt_does_not_wait_for_the_server(serve):
    server = serve(hanging)
    code = (
        "from babelscope.systems.registry import open_system\n"
        f"open_system('{server.url}?batch=1').translate(['a', 'b'])"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    while len(server.seen) < 2 and process.poll() is None:
        time.sleep(0.01)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=4)[1]
    assert time.monotonic() - start < 2


# What was answered is kept as it came.


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
    assert (ran.code, ran.out, "no line was answered" in ran.err) == (1, "\n", True)
    rows = babelscope("translate", "--system", llm(server), "in", "--json").rows
    assert [len(row["translations"]) for row in rows] == [1] * 7 + [0, 1]


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


@pytest.mark.parametrize(
    "body",
    [
        lambda: itertools.repeat(b" " * 65536),
        # Blocks of deflate that are empty, and what follows the end of gzip.
        lambda: itertools.chain([gzip.compress(b"")[:10]], itertools.repeat(b"\0\0\0\xff\xff" * 10_000)),
        lambda: itertools.chain([gzip.compress(b"{}")], itertools.repeat(b" " * 65536)),
    ],
    ids=["plain", "empty blocks", "after the end"],
)
def test_an_endless_answer_is_refused(body, monkeypatch):
    coding = b"" if next(body()).startswith(b" ") else b"Content-Encoding: gzip\r\n"

    def talk(connection):
        connection.recv(65536)
        with contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + coding + b"\r\n")
            for part in body():
                connection.sendall(part)

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(client, "_LARGEST_ANSWER", 1_000_000)
    listening, url = raw_server(talk)
    with listening, pytest.raises(SystemFailure, match="answered with more than 1000000 bytes"):
        open_system(f"{url}?timeout=20&retries=0").translate(["a"])


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
