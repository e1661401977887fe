"""Models from a hub: a real download, from a small hub on loopback."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import torch
from safetensors.torch import load

COMMITS = {"main": "1" * 40, "v2": "2" * 40, "pickled": "3" * 40}


class Hub(ThreadingHTTPServer):
    """The few calls of the hub's protocol that a download makes, for one model with three revisions."""

    def __init__(self, revisions: dict[str, dict[str, bytes]]) -> None:
        self.files = {COMMITS[name]: files for name, files in revisions.items()}
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = urlsplit(self.path).path
        self.server.asked.append(path)
        parts = path.strip("/").split("/")
        if parts[:4] == ["api", "models", "owner", "tiny"] and parts[4] in ("revision", "tree"):
            commit = COMMITS.get(parts[5], parts[5])
            if commit not in self.server.files:
                return self.send(404, b"{}", {"X-Error-Code": "RevisionNotFound"}, body)
            files = self.server.files[commit]
            if parts[4] == "tree":
                rows = [
                    {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
                    for name, data in files.items()
                ]
                return self.send(200, json.dumps(rows).encode(), {}, body)
            siblings = [{"rfilename": name} for name in files]
            info = {"id": "owner/tiny", "sha": commit, "siblings": siblings, "private": False, "tags": []}
            return self.send(200, json.dumps({**info, "downloads": 0}).encode(), {}, body)
        if parts[:3] == ["owner", "tiny", "resolve"]:
            commit = COMMITS.get(parts[3], parts[3])
            data = self.server.files.get(commit, {}).get("/".join(parts[4:]))
            if data is not None:
                etag = hashlib.sha1(data).hexdigest()
                return self.send(200, data, {"ETag": f'"{etag}"', "X-Repo-Commit": commit}, body)
            return self.send(404, b"", {"X-Error-Code": "EntryNotFound"}, body)
        return self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, body)

    def send(self, status: int, data: bytes, headers: dict[str, str], body: bool) -> None:
        self.send_response(status)
        for name, value in {
            **headers,
            "Content-Length": str(len(data)),
            "Content-Type": "application/json",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)


@pytest.fixture(scope="module")
def hub(checkpoint: Callable[..., Path]) -> Iterator[Hub]:
    def read(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    extra = {"tf_model.h5": b"never wanted", "evil.py": b"raise SystemExit"}
    main, second = read(checkpoint("marian")), read(checkpoint("marian", seed=2))
    pickled = io.BytesIO()
    torch.save(load(second.pop("model.safetensors")), pickled)
    second["pytorch_model.bin"] = pickled.getvalue()
    v2 = read(checkpoint("marian", seed=2))
    server = Hub(
        {"main": main | extra, "v2": v2, "pickled": {**second, "other.safetensors": b"never wanted"}}
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()


def score(name: str, hub: str, home: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """What a new process prints for one score; it must be new, since the hub's address is read at import."""
    code = (
        "import sys\n"
        "from babelscope import BabelscopeError, open_system\n"
        "try: print(open_system(sys.argv[1]).score([('two dogs run', 'zwei Hunde laufen')])[0].total)\n"
        "except BabelscopeError as error: sys.exit(f'{error}')"
    )
    environment = {**os.environ, "HF_ENDPOINT": hub, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", **env}
    if "HF_HUB_OFFLINE" not in env:
        environment.pop("HF_HUB_OFFLINE", None)
    return subprocess.run(
        [sys.executable, "-c", code, name],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_a_hub_model_is_fetched_pinned_and_kept(hub, tmp_path):
    first = score("hf:owner/tiny", hub.url, tmp_path)
    assert first.returncode == 0, first.stderr
    fetched = [path for path in hub.asked if "/resolve/" in path]
    assert any(path.endswith("model.safetensors") for path in fetched)
    assert not any(path.endswith((".h5", ".py")) for path in fetched), "only what is needed, and no code"
    pinned = score("hf:owner/tiny?revision=v2", hub.url, tmp_path)
    assert pinned.returncode == 0, pinned.stderr
    assert float(pinned.stdout) != float(first.stdout)
    other = score("hf:owner/tiny?revision=pickled", hub.url, tmp_path)
    assert other.stdout == pinned.stdout, f"pickled weights, whatever lies beside them: {other.stderr}"
    before = len(hub.asked)
    offline = score("hf:owner/tiny", hub.url, tmp_path, HF_HUB_OFFLINE="1")
    assert offline.stdout == first.stdout, offline.stderr
    assert len(hub.asked) == before, "offline means offline"


def test_what_the_hub_does_not_have(hub, tmp_path):
    missing = score("hf:owner/nothing", hub.url, tmp_path)
    assert (missing.returncode, missing.stderr.strip()) == (
        1,
        "owner/nothing: no such folder here, and no such model on the hub",
    )
    revision = score("hf:owner/tiny?revision=v9", hub.url, tmp_path)
    assert revision.stderr.strip() == "owner/tiny has no revision 'v9' on the hub"
    unreachable = score("hf:owner/tiny", "http://127.0.0.1:9", tmp_path / "empty", HF_HUB_OFFLINE="1")
    assert "the hub cannot be reached (or is switched off)" in unreachable.stderr


@pytest.mark.slow
def test_without_network_one_sentence_and_what_was_fetched_before(hub, tmp_path):
    before = score("hf:owner/tiny", hub.url, tmp_path)
    gone = "http://127.0.0.1:9"
    assert score("hf:owner/tiny", gone, tmp_path).stdout == before.stdout
    unreachable = score("hf:owner/tiny", gone, tmp_path / "empty")
    assert unreachable.returncode == 1
    assert unreachable.stderr.strip() == (
        "owner/tiny: no such folder here, not among the models downloaded before, and the hub cannot be reached "
        "(or is switched off)"
    )
