"""Ray clusters: join one, or start one that is closed to other users and other machines."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import ipaddress
import logging
import math
import os
import secrets
import shutil
import socket
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from babelscope.util.errors import BabelscopeError, SystemFailure, explain_missing
from babelscope.util.files import open_regular

# Answers pass through shared memory, of which a container often has little.
_STORE_BYTES = 128 * 2**20
# Ray's sockets have names of up to 65 characters in its folder, and a socket's path at most 107.
_LONGEST_FOLDER = 40
_QUIET = {"log_to_driver": False, "logging_level": logging.ERROR}

_cleanups: list[contextlib.ExitStack] = []
"""Clean-up for the cluster that this process started."""
_users: set[object] = set()
"""Open blocks of `connected` that share the connection that one of them opened."""


def import_ray() -> Any:
    """Ray, or an error that names the extra to install."""
    with explain_missing("spreading work over processes", "ray"):
        import ray
    return ray


@contextlib.contextmanager
def connected(workers: int | None, address: str | None, cpus: float) -> Iterator[Any]:
    """Ray, connected as `connect` does; a connection that is already there is used, and left as it is."""
    ray = import_ray()
    user = object()
    if not ray.is_initialized():
        _users.clear()
        connect(workers, address, cpus)
        _users.add(user)
    else:
        here = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", here):
            raise BabelscopeError(
                f"this process uses the Ray cluster at {here}, so it cannot join {address} too"
            )
        if _users:
            _users.add(user)
    try:
        yield ray
    finally:
        if user in _users:
            _users.remove(user)
            if not _users:
                disconnect()


def connect(workers: int | None, address: str | None, cpus: float) -> None:
    """Join the cluster at `address` ("auto": this user's own on this machine), or start one for ourselves."""
    ray = import_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not ray.is_initialized():
        _clean_up()  # somebody else has ended what was started here before
    # Ray puts the working folder on the import path of its workers; code in a study's folder must not get there.
    with contextlib.chdir(Path(__file__).parents[2]):
        if address:
            _join(ray, address)
        else:
            _start(ray, math.ceil(workers * cpus) if workers else len(os.sched_getaffinity(0)))
    # A worker's death is announced on stdout, where only results belong, and there is no public switch.
    ray._private.worker._worker_logs_enabled = False


def disconnect() -> None:
    """Leave the cluster; one that was started here ends, and its files are removed."""
    import_ray().shutdown()
    _clean_up()


def _clean_up() -> None:
    while _cleanups:
        _cleanups.pop().close()


@atexit.register
def _disconnect_at_exit() -> None:
    if _cleanups:
        disconnect()


def reason(error: Exception) -> str:
    """The first line of an error of Ray, which has many."""
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def _join(ray: Any, address: str) -> None:
    found = _own_cluster(ray) if address == "auto" else address
    try:
        _check_reachable(found)
        ray.init(address=found, **_QUIET)
    except (OSError, RuntimeError, ValueError) as error:
        raise BabelscopeError(
            f"no Ray cluster can be joined at {found} ({reason(error)}); start one with: ray start --head; where it "
            "has a token, set RAY_AUTH_MODE=token"
        ) from error


def _check_reachable(address: str) -> None:
    """Raise OSError at once if nothing listens at `address`; Ray would retry for minutes."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def _own_cluster(ray: Any) -> str:
    """The address of this user's cluster on this machine: RAY_ADDRESS, or what `ray start` noted.

    Ray would take any note, and any process that looks like its own; but everybody can write into its folder.
    """
    if stated := os.environ.get("RAY_ADDRESS"):
        return stated
    note = Path(ray._common.utils.get_ray_address_file(None))
    try:
        with open_regular(note) as file:
            owner, found = os.fstat(file.fileno()).st_uid, file.read(1000).decode("utf-8", "replace").strip()
    except BabelscopeError:
        raise BabelscopeError(
            "auto: no Ray cluster of yours is known on this machine; start one with: ray start --head, or give its "
            "address (HOST:PORT)"
        ) from None
    if owner not in (os.getuid(), 0):
        raise BabelscopeError(
            f"{note} was written by another user of this machine (number {owner}), so the cluster that it names is "
            "not joined; if you trust it, give its address (HOST:PORT)"
        )
    # As Ray does for a cluster that it found by itself.
    with contextlib.suppress(ImportError, AttributeError):
        ray._private.authentication.authentication_token_setup.maybe_enable_token_auth_if_token_available(
            warn_if_disabled=False
        )
    return found


def _start(ray: Any, cores: int) -> None:
    with contextlib.ExitStack() as stack:
        folder = _private_folder()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        token = folder / "token"
        with open_regular(token, create=True, private=True) as file:
            file.write(secrets.token_hex(32).encode())
        stack.enter_context(_loopback_only(ray, token))
        try:
            ray.init(
                address="local",  # and nothing that a file or the environment names
                _node_ip_address="127.0.0.1",
                _temp_dir=str(folder / "r"),  # Ray gives its folder mode 0777, so it lies in ours
                num_cpus=cores,
                include_dashboard=False,
                object_store_memory=_STORE_BYTES,
                **_QUIET,
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise SystemFailure(f"Ray cannot be started here: {reason(error)}") from error
        _cleanups.append(stack.pop_all())
    host = ray.get_runtime_context().gcs_address.rpartition(":")[0].strip("[]")
    if not ipaddress.ip_address(host).is_loopback:
        warnings.warn(
            f"this version of Ray ({ray.__version__}) listens on {host}, which other machines may reach; only its "
            "token keeps them out",
            RuntimeWarning,
            stacklevel=2,
        )


def _private_folder() -> Path:
    """A new folder with mode 0700, with a path that is short enough for sockets."""
    prefix = "babelscope-ray-"
    above = tempfile.gettempdir()
    if len(above) + 1 + len(prefix) + 8 > _LONGEST_FOLDER:
        above = "/tmp"
    return Path(tempfile.mkdtemp(prefix=prefix, dir=above))


@contextlib.contextmanager
def _loopback_only(ray: Any, token: Path) -> Iterator[None]:
    """Environment and switches under which Ray binds to loopback and asks for our token, until the block ends."""
    # The constant does more than its name says: when False, Ray binds nodes to the loopback address.
    constants = ray._private.ray_constants
    clusters = constants.ENABLE_RAY_CLUSTER
    stated = {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_AUTH_TOKEN": None,
        "RAY_ADDRESS": None,
    }
    before = {name: os.environ.get(name) for name in stated}
    try:
        constants.ENABLE_RAY_CLUSTER = False
        _set_environment(stated)
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = clusters
        _set_environment(before)


def _set_environment(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    # Ray remembers how it authenticates from when it was imported.
    with contextlib.suppress(ImportError, AttributeError):
        raylet: Any = importlib.import_module("ray._raylet")
        raylet.Config.initialize("")
        raylet.AuthenticationTokenLoader.instance().reset_cache()


def room_for(needs: Mapping[str, float]) -> int:
    """How many workers with these needs the cluster could hold at this moment."""
    nodes = [node["Resources"] for node in import_ray().nodes() if node["Alive"]]
    room = sum(int(min(node.get(name, 0) // count for name, count in needs.items())) for node in nodes)
    if not room:
        raise BabelscopeError(
            f"a worker needs {describe(needs)}, which no machine of the Ray cluster has; ask for less, or set the "
            "number of workers that there will be when machines have joined"
        )
    return room


def describe(resources: Mapping[str, float]) -> str:
    """CPUs and GPUs in words."""
    known = [f"{resources[name]:g} {name}" for name in ("CPU", "GPU") if name in resources]
    return " and ".join(known) or "nothing"
