"""A Ray cluster that is started here is this user's alone: loopback, a token, no stranger's cluster joined."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from babelscope.systems.clusters import connect, disconnect
from babelscope.util.errors import BabelscopeError

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A note in Ray's folder that names a place of somebody else's; says how often anybody called there."""
    folder = tmp_path_factory.mktemp("tmp")
    calls: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.MonkeyPatch.context() as patch:
        note = folder / "ray" / "ray_current_cluster"
        note.parent.mkdir()
        note.write_text(f"127.0.0.1:{server.getsockname()[1]}")
        patch.setenv("RAY_TMPDIR", str(folder))
        patch.delenv("RAY_ADDRESS", raising=False)

        def listen() -> None:
            with contextlib.suppress(OSError):
                while True:
                    calls.append(server.accept()[0].close())

        threading.Thread(target=listen, daemon=True).start()
        yield note, calls
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def cluster(stranger: Any) -> Iterator[Any]:  # noqa: ARG001
    import ray

    connect(1, None, 1)
    assert ray.get(ray.remote(lambda: 1).remote()) == 1
    yield ray
    disconnect()


@pytest.mark.slow
def test_a_stranger_s_cluster_is_not_joined(cluster, stranger):
    note, calls = stranger
    assert cluster.get_runtime_context().gcs_address != note.read_text()
    assert calls == []


@pytest.mark.slow
def test_its_files_are_private_and_its_token_is_asked_for(cluster):
    token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert stat.S_IMODE(token.parent.stat().st_mode) == 0o700
    assert token.parent.stat().st_uid == os.getuid()
    session = Path(cluster._private.worker._global_node.get_session_dir_path())
    assert token.parent in session.parents, "sockets and logs lie in the private folder too"
    ask = "import ray, sys; ray.init(address=sys.argv[1], log_to_driver=False); print('joined')"
    joins = [sys.executable, "-c", ask, cluster.get_runtime_context().gcs_address]
    for key, welcome in (("wrong" * 12, False), (token.read_text(), True)):
        own = {name: value for name, value in os.environ.items() if name != "RAY_AUTH_TOKEN_PATH"}
        ran = subprocess.run(
            joins, env={**own, "RAY_AUTH_TOKEN": key}, capture_output=True, text=True, timeout=60, check=False
        )
        assert ("joined" in ran.stdout) == welcome, ran.stderr


@pytest.mark.slow
def test_what_was_set_for_it_is_undone(stranger):  # noqa: ARG001
    import ray

    if ray.is_initialized():
        disconnect()
    before = dict(os.environ)
    connect(1, None, 1)
    folder = Path(os.environ["RAY_AUTH_TOKEN_PATH"]).parent
    disconnect()
    assert {k: v for k, v in os.environ.items() if k != "RAY_USAGE_STATS_ENABLED"} == {
        k: v for k, v in before.items() if k != "RAY_USAGE_STATS_ENABLED"
    }
    assert not folder.exists()


def test_auto_joins_a_cluster_of_this_user_only(stranger, monkeypatch):
    note, calls = stranger
    if uid := os.getuid():
        monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    else:
        os.chown(note, 12345, -1)
    with pytest.raises(BabelscopeError, match="was written by another user of this machine"):
        connect(1, "auto", 1)
    assert calls == []
    note.unlink()
    note.symlink_to(note.with_name("elsewhere"))
    with pytest.raises(BabelscopeError, match="no Ray cluster of yours is known on this machine"):
        connect(1, "auto", 1)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(BabelscopeError, match=r"no Ray cluster can be joined at 127\.0\.0\.1:1 .*refused"):
        connect(1, "auto", 1)
