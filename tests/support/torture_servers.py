"""Studies that ask a server which fails, hangs and dies, killed with -9 at random moments and resumed."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.killing import Killer
from tests.support.stored import unfinished

CONCURRENCY = 3
ITEMS, CHUNK = 24, 6
PRELOADED = (
    "babelscope.methods.contrast",
    "babelscope.testsets.registry",
    "babelscope.systems.servers.openai",
    "babelscope.systems.cache",
)


# What becomes of a request, and how often; a server that dies takes no connection until it is started again.
FATES = {"": 100.0, "500": 3.0, "429": 3.0, "reset": 3.0, "half": 3.0, "hang": 1.0, "die": 1.5}
# Seconds that the client waits for an answer, and less than a hanging request lasts. On a busy machine an answer may
# lie there for a while before the client reads it: one that it did not wait for is given again.
TIMEOUT = 2.0


class Server:
    """Chats and scores as vLLM does; while `faults` is on, requests end as `FATES` says."""

    def __init__(self) -> None:
        self.faults, self.deaths = False, 0
        self.dice = random.Random(4711)
        self.lock = threading.Lock()
        self.asked: list[str] = []
        self.answered: Counter[str] = Counter()
        """Answers that were sent whole, by question."""
        self.failed: Counter[str] = Counter()
        self.port = 0
        self.start()

    def start(self) -> None:
        """Listen, on the same port as before."""
        self._http = _Listener(("127.0.0.1", self.port), _Handler)
        self._http.life, self.alive = self, True
        self.port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def die(self) -> None:
        """Close the port; connections that are open are reset when they are next used."""
        self.alive = False
        self._http.shutdown()
        self._http.server_close()

    def fate(self, question: str) -> str:
        """What becomes of a request."""
        with self.lock:
            self.asked.append(question)
            if not self.alive:
                return "reset"
            fate = self.dice.choices(list(FATES), list(FATES.values()))[0] if self.faults else ""
            self.failed[fate] += 1
            if fate == "die":
                self.alive = False
                self.deaths += 1
            return fate


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    life: Server

    def handle_error(self, *_: object) -> None:
        pass  # clients that are killed hang up


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        life = self.server.life
        question = json.dumps({"url": f"http://127.0.0.1:{life.port}{self.path}", **body}, sort_keys=True)
        fate = life.fate(question)
        time.sleep(4 * TIMEOUT if fate == "hang" else 0.001)
        if fate == "die":
            life.die()
        if fate in ("reset", "die", "hang"):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        data = json.dumps(self._answer(body)).encode()
        self.send_response(int(fate) if fate.isdecimal() else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if fate == "half" else data)
        self.close_connection = self.close_connection or fate == "half"
        if not fate:
            with life.lock:
                life.answered[question] += 1

    def _answer(self, body: dict[str, object]) -> dict[str, object]:
        if "messages" not in body:
            prompt = str(body["prompt"])
            tokens = [{each: {"decoded_token": each, "logprob": -ord(each) / 100}} for each in prompt]
            return {"choices": [{"prompt_logprobs": [None, *tokens[1:]]}]}
        source = body["messages"][0]["content"]  # type: ignore[index]
        if source.endswith("5"):
            return {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}
        return {"choices": [{"message": {"content": source[::-1]}, "finish_reason": "stop"}]}

    def log_message(self, *_: object) -> None:
        pass


@dataclass
class ServerCounts:
    """What was done, and what went wrong."""

    kills: int = 0
    deaths: int = 0
    failures: int = 0
    """Commands that ended with an error because the server had died or failed."""
    rounds: int = 0
    kept: int = 0
    """Answers found in the store after kills and failures."""
    again: int = 0
    """Of these, asked again."""
    in_flight: int = 0
    """Answers that the server gave twice because the first was under way at a kill."""
    most_in_flight: int = 0
    """Of these, the most at one kill."""
    twice: int = 0
    """Answers given twice in runs without kills."""
    different: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        faults = ", ".join(f"{count} {fault}" for fault, count in sorted(self.faults.items()) if fault)
        return (
            f"{self.kills} kills and {self.deaths} deaths of the server ({faults}) in {self.rounds} runs, "
            f"{self.failures} of whose commands failed: {self.kept} answers kept, {self.again} of them asked again, "
            f"{self.twice} given twice without a kill; {self.in_flight} under way at a kill given twice, "
            f"{self.most_in_flight} at most at one; {self.different} files different"
        )

    @property
    def wrong(self) -> bool:
        return bool(self.again or self.twice or self.different or self.most_in_flight > CONCURRENCY)


def torture_servers(folder: Path, kills: int, deaths: int, dice: random.Random) -> ServerCounts:
    """Runs with so many kills, then runs with so many dying servers; each ends as one that nothing happened to."""
    folder.mkdir()
    names = ("source", "correct", "contrastive")
    lines = [
        {"id": str(n), "phenomenon": "toy", "reference": "human", "source": f"source {n % 18}"}
        | {name: f"{name} {n}" for name in names[1:]}
        for n in range(ITEMS)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    os.environ["NO_PROXY"] = "127.0.0.1"
    server, counts = Server(), ServerCounts()
    with Killer("babelscope.runs.study:run_study", [], preload=PRELOADED) as killer:
        begun = time.monotonic()
        assert killer.run(str(_study(folder, "whole", server)))
        most = time.monotonic() - begun
        assert max(server.answered.values()) == 1, "equal questions are asked once"
        assert not unfinished(), "a run that ended well leaves no answers behind"
        server.faults = True
        while counts.kills < kills:
            _round(
                folder,
                server,
                killer,
                counts,
                lambda: dice.uniform(0, most) if counts.kills < kills else None,
            )
        before = server.deaths
        in_flight = counts.in_flight
        while server.deaths < before + deaths:
            _round(folder, server, killer, counts, lambda: None)
        counts.twice, counts.in_flight = counts.in_flight - in_flight, in_flight
    counts.deaths, counts.faults = server.deaths, server.failed
    server.die()
    return counts


def _study(folder: Path, name: str, server: Server) -> Path:
    spec = (
        f"openai:http://127.0.0.1:{server.port}/v1#toy?prompt={{text}}&logprobs=vllm"
        f"&concurrency={CONCURRENCY}&retries=2&backoff=0.001&timeout={TIMEOUT}"
    )
    path = folder / f"{name}.toml"
    path.write_text(
        f"[[systems]]\nname = 'llm'\nspec = '{spec}'\n[[tests]]\nspec = 'pairs.jsonl'\n"
        "[[methods]]\nname = 'contrast'\ndetect_in_output = 'no'\n"
        f"[run]\nchunk = {CHUNK}\nout = '{name}'\n"
    )
    return path


def _round(
    folder: Path, server: Server, killer: Killer, counts: ServerCounts, moment: Callable[[], float | None]
) -> None:
    """One run, resumed until it is done, each command killed after `moment()` seconds."""
    path, finished = _study(folder, f"run{counts.rounds}", server), False
    server.answered.clear()
    twice = 0
    while not finished:
        known, seen = set(unfinished()), len(server.asked)
        finished = killer.run(str(path), kill_after=moment(), may_fail=True)
        counts.failures += killer.code == 1
        counts.kills += killer.code == -9
        counts.kept += 0 if finished else len(set(unfinished()) - known)
        if not server.alive:
            server.start()
        counts.again += len(known & set(server.asked[seen:]))
        # An answer that was under way at a kill is given again by the command after it.
        given_twice = sum(count - 1 for count in server.answered.values()) - twice
        twice += given_twice
        counts.in_flight += given_twice
        counts.most_in_flight = max(counts.most_in_flight, given_twice)
    for file in ("records.jsonl", "summary.json"):
        right = (folder / "whole" / file).read_bytes()
        counts.different += (path.with_suffix("") / file).read_bytes() != right
    counts.rounds += 1
    shutil.rmtree(path.with_suffix(""))
