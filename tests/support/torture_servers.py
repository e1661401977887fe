"""Studies that ask a server which dies, resets and filters, killed with -9 at random moments and gone on with."""

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
from dataclasses import dataclass
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


class Server(ThreadingHTTPServer):
    """Chats and scores as vLLM does; while `faults` is on, it also fails, resets connections, and dies."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults = False
        self.dead = 0  # so many requests more
        self.dice = random.Random(4711)
        self.lock = threading.Lock()
        self.asked: list[str] = []
        self.answered: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        pass  # clients that are killed hang up

    def fate(self) -> str:
        """What becomes of the next request."""
        with self.lock:
            if not self.faults:
                return ""
            if self.dead:
                self.dead -= 1
                return "reset"
            fate = self.dice.choices(["", "500", "reset", "dies"], [100, 4, 4, 1.5])[0]
            if fate == "dies":
                self.dead = 12
                return "reset"
            return fate


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        url = f"http://127.0.0.1:{self.server.server_port}{self.path}"
        question = json.dumps({"url": url, **body}, sort_keys=True)
        with self.server.lock:
            self.server.asked.append(question)
        fate = self.server.fate()
        time.sleep(0.001)
        if fate == "reset":
            self.server.failed["reset"] += 1
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        data = json.dumps(self._answer(body)).encode()
        self.send_response(500 if fate else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        with self.server.lock:
            if fate:
                self.server.failed[fate] += 1
            else:
                self.server.answered[question] += 1

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
    """Commands that ended because the server had died."""
    rounds: int = 0
    kept: int = 0
    """Answers found in the store after kills and deaths."""
    again: int = 0
    """Of these, asked again."""
    in_flight: int = 0
    """Answers that the server gave twice: those under way at a kill."""
    most_in_flight: int = 0
    different: int = 0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills and {self.deaths} deaths of the server in {self.rounds} runs: {self.kept} answers "
            f"kept, {self.again} of them asked again; {self.in_flight} answers under way at a kill given twice, "
            f"{self.most_in_flight} at most at one; {self.different} files different"
        )

    @property
    def wrong(self) -> bool:
        return bool(self.again or self.different or self.most_in_flight > CONCURRENCY)


def torture_servers(folder: Path, kills: int, dice: random.Random) -> ServerCounts:
    """So many kills, over as many runs as that takes; each is compared with one that nothing happened to."""
    folder.mkdir()
    lines = [
        {
            "id": str(n),
            "source": f"source {n % 18}",
            "correct": f"right {n}",
            "contrastive": f"wrong {n}",
            "phenomenon": "toy",
            "reference": "human",
        }
        for n in range(ITEMS)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    os.environ["NO_PROXY"] = "127.0.0.1"
    server, counts = Server(), ServerCounts()
    spec = (
        f"openai:http://127.0.0.1:{server.server_port}/v1#toy?prompt={{text}}&logprobs=vllm"
        f"&concurrency={CONCURRENCY}&retries=2&backoff=0.001"
    )

    def study(name: str) -> Path:
        path = folder / f"{name}.toml"
        path.write_text(
            f"[[systems]]\nname = 'llm'\nspec = '{spec}'\n[[tests]]\nspec = 'pairs.jsonl'\n"
            "[[methods]]\nname = 'contrast'\ndetect_in_output = 'no'\n"
            f"[run]\nchunk = {CHUNK}\nout = '{name}'\n"
        )
        return path

    with Killer("babelscope.runs.study:run_study", [], preload=PRELOADED) as killer:
        whole = study("whole")
        begun = time.monotonic()
        assert killer.run(str(whole))
        most = time.monotonic() - begun
        assert max(server.answered.values()) == 1, "equal questions are asked once"
        assert not unfinished(), "a run that ended well leaves no answers behind"
        server.faults = True
        while counts.kills < kills:
            name = f"run{counts.rounds}"
            path, finished = study(name), False
            server.answered.clear()
            twice = 0
            while not finished:
                known = set(unfinished())
                seen = len(server.asked)
                moment = dice.uniform(0, most) if counts.kills < kills else None
                finished = killer.run(str(path), kill_after=moment, may_fail=True)
                if not finished:
                    counts.deaths += killer.code == 1
                    counts.kills += killer.code == -9
                    counts.kept += len(set(unfinished()) - known)
                server.dead = 0  # it is started again
                counts.again += len(known & set(server.asked[seen:]))
                given_twice = sum(count - 1 for count in server.answered.values())
                counts.in_flight += given_twice - twice
                counts.most_in_flight = max(counts.most_in_flight, given_twice - twice)
                twice = given_twice
            for file in ("records.jsonl", "summary.json"):
                counts.different += (folder / name / file).read_bytes() != (
                    folder / "whole" / file
                ).read_bytes()
            counts.rounds += 1
            shutil.rmtree(folder / name)
    server.shutdown()
    server.server_close()
    return counts
