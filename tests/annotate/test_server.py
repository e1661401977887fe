"""The annotation server: who may ask, what it gives away, and that answers arrive."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from babelscope.annotate import server
from babelscope.annotate.queue import read_tasks
from babelscope.annotate.server import Desk, build_app, listen_locally
from babelscope.util.errors import BabelscopeError
from tests.annotate.annotating import ITEMS, Server, item, lines, write_items
from tests.support.toy_fixtures import Babelscope

PORT, TOKEN, OTHER = 8123, "a-secret-token", "another-token"
OWN = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return write_items(tmp_path / "queue.jsonl", [item(kind, kind) for kind in ITEMS])


@pytest.fixture
def client(items: Path) -> Iterator[TestClient]:
    desk = Desk(items, read_tasks(items), ["anna", "bert"], seed=0)
    app = build_app(desk, tokens={"anna": TOKEN, "bert": OTHER}, port=PORT)
    with TestClient(app, base_url=OWN, headers={"origin": OWN}) as made:
        yield made
    desk.close()


def session(client: TestClient, token: str = TOKEN) -> dict[str, Any]:
    found = client.get(f"/{token}/session")
    assert found.status_code == 200
    return dict(found.json())


def send(client: TestClient, key: Any, answer: Any, token: str = TOKEN, **more: Any) -> Any:
    return client.post(f"/{token}/answers", json={"item": key, "answer": answer, **more})


def of_kind(found: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(each for each in found["items"] if each["kind"] == kind)


def test_the_secret_alone_says_who_judges(client: TestClient, items: Path) -> None:
    """Nothing in a request names an annotator: none reads or writes another's answers."""
    key = of_kind(session(client), "mucow")["key"]
    assert send(client, key, {"label": "Wrong Sense"}, OTHER).json() == {"saved": True}
    assert session(client)["answers"] == {}
    assert session(client, OTHER)["answers"] == {key: {"label": "Wrong Sense"}}
    assert (session(client)["annotator"], session(client, OTHER)["annotator"]) == ("anna", "bert")
    for path in ("", "session", "page.js"):
        found = client.get(f"/{TOKEN}/{path}", params={"annotator": "bert"})
        assert (found.status_code, "no parameters" in found.text) == (403, True)
    found = client.post(
        f"/{TOKEN}/answers?annotator=bert", json={"item": key, "answer": {"label": "Wrong Sense"}}
    )
    assert found.status_code == 403
    for name in ("bert", "anna", "carl"):
        found = send(client, key, {"label": "Wrong Sense"}, annotator=name)
        assert (found.status_code, "nothing else" in found.json()["error"]) == (400, True)
    (line,) = lines(items.with_name("queue.answers.bert.jsonl"))
    given = line["id"], line["answer"], line["annotator"]
    assert given == ("SECRET-mucow", {"label": "Wrong Sense"}, "bert")
    assert not items.with_name("queue.answers.anna.jsonl").read_bytes()
    assert not items.with_name("queue.answers.carl.jsonl").exists()


def test_the_page_knows_nothing_that_must_stay_hidden(client: TestClient) -> None:
    found = session(client)
    assert len(found["items"]) == len(ITEMS)
    assert "SECRET" not in json.dumps(found)
    assert "gold" not in json.dumps(found["items"])


def test_each_annotator_has_an_order_of_their_own(items: Path) -> None:
    write_items(items, [item("assessment", n, translation=f"Es regnet {n}.") for n in range(30)])
    tasks = read_tasks(items)

    def order(annotator: str, seed: int = 0) -> list[str]:
        desk = Desk(items, tasks, [annotator], seed=seed)
        keys = [each["key"] for each in desk.session(annotator)["items"]]
        desk.close()
        return keys

    assert order("anna") == order("anna")
    assert sorted(order("anna")) == sorted(order("bert"))
    assert len({tuple(order("anna")), tuple(order("bert")), tuple(order("anna", 1))}) == 3


def test_each_annotator_has_their_own_items(tmp_path: Path) -> None:
    records = [
        item("winomt", 1),
        item("winomt", 2, annotators=["anna"]),
        item("winomt", 3, annotators=["bert"]),
        item("winomt", 4, annotators=["anna", "bert"]),
    ]
    path = write_items(tmp_path / "queue.jsonl", records)
    tasks = read_tasks(path)
    desk = Desk(path, tasks, ["anna", "bert"], seed=0)
    try:
        anna, bert = ({each["key"] for each in desk.session(name)["items"]} for name in ("anna", "bert"))
        assert (len(anna), len(bert)) == (3, 3)
        (key,) = bert - anna
        desk.save("bert", key, {"label": "Male"})
        with pytest.raises(BabelscopeError, match="no such item"):
            desk.save("anna", key, {"label": "Male"})
    finally:
        desk.close()
    with pytest.raises(BabelscopeError, match="no item is for 'carl'; they are for anna, bert"):
        Desk(path, tasks[1:], ["carl"], seed=0)
    write_items(path, [item("winomt", 1, annotators="anna")])
    with pytest.raises(BabelscopeError, match="field 'annotators' must be a list of names"):
        read_tasks(path)


@pytest.mark.parametrize(
    ("path", "headers", "why"),
    [
        ("/wrong-token/session", {}, "open the address"),
        ("/", {}, "open the address"),
        ("//session", {}, "open the address"),
        ("/session", {"authorization": f"Bearer {TOKEN}"}, "open the address"),
        (f"/x/{TOKEN}/session", {"cookie": f"token={TOKEN}"}, "open the address"),
        (f"/session?token={TOKEN}", {}, "open the address"),
        (f"/{TOKEN[:-1]}/session", {}, "open the address"),
        (f"/{TOKEN.upper()}/session", {}, "open the address"),
        (f"/{TOKEN}%00/session", {}, "open the address"),
        (f"/{TOKEN}x/session", {}, "open the address"),
        (f"/{TOKEN}/session", {"host": "evil.example"}, "its own address only"),
        (f"/{TOKEN}/session", {"host": f"evil.example:{PORT}"}, "its own address only"),
        (f"/{TOKEN}/session", {"host": "127.0.0.1:80"}, "its own address only"),
        (f"/{TOKEN}/session", {"host": "127.0.0.1"}, "its own address only"),
        (f"/{TOKEN}/session", {"host": f"127.0.0.1.evil.example:{PORT}"}, "its own address only"),
        (f"/{TOKEN}/session", {"host": f"127.0.0.1:{PORT}, evil.example"}, "its own address only"),
        (f"/{TOKEN}/session", {"host": ""}, "its own address only"),
        (f"/{TOKEN}/session", {"host": "evil.example", "x-forwarded-host": OWN[7:]}, "its own address only"),
        (f"/{TOKEN}/session", {"origin": "http://evil.example"}, "from another page"),
        (f"/{TOKEN}/session", {"origin": "null"}, "from another page"),
        (f"/{TOKEN}/session", {"origin": f"https://127.0.0.1:{PORT}"}, "from another page"),
        (f"/{TOKEN}/session", {"origin": "http://127.0.0.1:9999"}, "from another page"),
        (f"/{TOKEN}/session", {"origin": f"{OWN}.evil.example"}, "from another page"),
        (f"/{TOKEN}/session", {"origin": f"{OWN} http://evil.example"}, "from another page"),
        # Each name is its own origin: one page must not act for the other.
        (f"/{TOKEN}/session", {"origin": f"http://localhost:{PORT}"}, "from another page"),
    ],
)
def test_strangers_are_refused(client: TestClient, path: str, headers: dict[str, str], why: str) -> None:
    for method in ("GET", "POST"):
        found = client.request(method, path, headers=headers)
        assert found.status_code == 403
        assert why in found.text
        assert TOKEN not in found.text


def test_a_path_leads_to_no_file_and_a_header_is_not_sent_twice(client: TestClient) -> None:
    files = ("../../queue.jsonl", "..%2f..%2fqueue.jsonl", "queue.answers.anna.jsonl")
    for path in (*files, "session/", "SESSION"):
        assert client.get(f"/{TOKEN}/{path}").status_code in (403, 404)
    for name, value in {"host": "evil.example", "origin": "http://evil.example"}.items():
        own = {"host": OWN[7:], "origin": OWN}
        found = client.get(f"/{TOKEN}/session", headers=[*own.items(), (name, value)])
        assert found.status_code == 403
    assert client.put(f"/{TOKEN}/answers", json={}).status_code == 405


def test_an_answer_must_say_where_it_comes_from(client: TestClient) -> None:
    key = of_kind(session(client), "winomt")["key"]
    bare = TestClient(client.app, base_url=OWN)
    assert send(bare, key, {"label": "Male"}).status_code == 403
    assert bare.get(f"/{TOKEN}/").status_code == 200  # a plain visit names no origin
    local = TestClient(
        client.app, base_url=f"http://localhost:{PORT}", headers={"origin": f"http://localhost:{PORT}"}
    )
    assert send(local, key, {"label": "Male"}).status_code == 200


def test_bad_answers_are_told(client: TestClient, items: Path) -> None:
    key = of_kind(session(client), "winomt")["key"]
    cases: list[tuple[Any, str]] = [
        (send(client, "nothing", {"label": "Male"}), "there is no such item"),
        (send(client, ["a"], {"label": "Male"}), "there is no such item"),
        (send(client, key, {"label": "Maybe"}), "is no label"),
        (client.post(f"/{TOKEN}/answers", content=b"[]"), "must be sent as application/json"),
        (client.post(f"/{TOKEN}/answers", json=[]), "must be a JSON object"),
        (client.post(f"/{TOKEN}/answers", json={"item": key}), "with `item` and `answer`"),
        (client.post(f"/{TOKEN}/answers", json={"x": "y" * 70_000}), "too long"),
    ]
    broken = client.post(f"/{TOKEN}/answers", content=b"{", headers={"content-type": "application/json"})
    for found, told in [*cases, (broken, "not JSON")]:
        assert (found.status_code, told in found.json()["error"]) == (400, True)
    assert not items.with_name("queue.answers.anna.jsonl").read_bytes()


def test_every_answer_carries_the_policy(client: TestClient) -> None:
    for path in (f"/{TOKEN}/", f"/{TOKEN}/page.js", f"/{TOKEN}/page.css", f"/{TOKEN}/nothing", "/refused"):
        found = client.get(path)
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert found.headers["referrer-policy"] == "no-referrer"
        assert found.headers["x-content-type-options"] == "nosniff"
    page = client.get(f"/{TOKEN}/").text
    assert "<style" not in page
    assert "<script>" not in page
    assert " on" not in page.replace(" one", "")


def test_it_listens_on_this_machine_only(items: Path) -> None:
    started = Server(items)
    try:
        port = int(started.url.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass
        with open("/proc/net/tcp") as table:
            listening_at = [row.split()[1] for row in table if row.split()[1].endswith(f":{port:04X}")]
        assert "0100007F" in {address.split(":")[0] for address in listening_at}
        assert "00000000" not in {address.split(":")[0] for address in listening_at}
    finally:
        started.kill()


def test_a_taken_port_is_told(items: Path, babelscope: Babelscope) -> None:
    with listen_locally(0) as taken:
        port = str(taken.getsockname()[1])
        ran = babelscope("annotate", str(items), "--port", port, "--no-open")
    assert ran.code == 2
    assert f"port {port} cannot be used" in ran.err
    assert "choose another with --port" in ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing.jsonl"], "nothing.jsonl: no such file"),
        (["queue.jsonl", "--annotator", "a/b"], "an annotator's name has up to 40 letters"),
        (["queue.jsonl", "--annotator", "a", "--annotator", "A"], "names that are too much alike"),
        (["queue.jsonl", "--annotator", "a", "--annotator", "a"], "names that are too much alike"),
        (["bare.jsonl"], "bare.jsonl:1: field 'task' is missing; give one with --task"),
    ],
)
def test_bad_usage_is_told(items: Path, babelscope: Babelscope, arguments: list[str], told: str) -> None:
    bare = {name: value for name, value in item("mucow").items() if name != "task"}
    write_items(items.with_name("bare.jsonl"), [bare])
    ran = babelscope("annotate", *arguments, "--no-open")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_every_annotator_gets_an_address_of_their_own(items: Path) -> None:
    names = ("anna", "bert", "carl")
    first = Server(items, "anna", "--annotator", "bert", "--annotator", "carl")
    again = None
    try:
        assert first.process.stdout is not None
        starts = [first.start, *(json.loads(first.process.stdout.readline()) for _ in range(2))]
        assert [start["annotator"] for start in starts] == [*names]
        files = [Path(start["answers"]).name for start in starts]
        assert files == [f"queue.answers.{name}.jsonl" for name in names]
        tokens = {start["url"].split("/")[3] for start in starts}
        assert len(tokens) == 3
        assert {len(token) for token in tokens} == {32}, "192 bits, six a character"
        # A person who came later: started again with one more, and all tokens are new.
        first.kill()
        again = Server(items, "anna", "--annotator", "dora")
        assert again.url.split("/")[3] not in tokens
    finally:
        first.kill()
        if again:
            again.kill()


def test_what_is_cut_off_is_said(
    items: Path, babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "serve", lambda _app, _listener: None)
    path = items.with_name("queue.answers.anna.jsonl")
    path.write_bytes(b'{"id": "1", "item": "12')
    ran = babelscope("annotate", str(items), "--annotator", "anna", "--no-open")
    assert "incomplete answer (the process was killed); it is removed" in ran.err
    assert not path.exists(), "there is no other answer in it"
