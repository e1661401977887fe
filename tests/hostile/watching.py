"""Runs commands in a folder and writes down what was read or run from there, by whatever process.

A program of its own, copied into a folder of its own: as for the installed `babelscope`, that folder is the first on
the import path, and the working folder is not on it.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import signal
import struct
import sys
import threading
import time
import traceback
import urllib.request
from typing import Any

# Whatever these name under the folder is written down; what a program, socket or library is, wherever it is.
_PATHS = {
    *("open", "exec", "import", "ctypes.dlopen", "sqlite3.connect", "glob.glob", "os.listdir"),
    *("os.scandir", "os.chdir", "shutil.copyfile", "shutil.unpack_archive", "mmap.__new__"),
}
_STARTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile"}
_CONNECTS = {"socket.connect", "socket.getaddrinfo", "socket.sendto"}
_IN_OPEN = 0x20
_IN_ISDIR = 0x40000000
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Watch:
    """What happens: by audit events in this process, and by the kernel's word (inotify) in any."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        self.seen: set[str] = set()
        self._names: dict[int, str] = {}
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)

    def begin(self) -> None:
        """Look at all folders that are there now."""
        for folder, _, _ in os.walk(self.folder):
            number = self._libc.inotify_add_watch(self._fd, os.fsencode(folder), _IN_OPEN)
            self._names[number] = os.path.relpath(folder, self.folder)
        self.drain()
        self.seen.clear()

    def drain(self) -> None:
        while True:
            try:
                data = os.read(self._fd, 65536)
            except BlockingIOError:
                return
            place = 0
            while place < len(data):
                number, mask, _, size = struct.unpack_from("iIII", data, place)
                name = data[place + 16 : place + 16 + size].rstrip(b"\0").decode()
                place += 16 + size
                path = os.path.normpath(os.path.join(self._names.get(number, "?"), name))
                self.seen.add(f"{'listed' if mask & _IN_ISDIR else 'opened'} {path}")

    def hear(self, event: str, values: tuple[object, ...]) -> None:
        if event in _STARTS:
            self.seen.add(f"started {_words(values)}")
        elif event in _CONNECTS:
            if not any(each in repr(values) for each in _LOOPBACK) and "AF_UNIX" not in repr(values):
                self.seen.add(f"connected {event} {values!r}")
        elif event in _PATHS:
            for value in values[1:2] if event == "import" else values[:1]:
                value = getattr(value, "co_filename", value)
                if not isinstance(value, str | bytes | os.PathLike):
                    continue
                name = os.fsdecode(value)
                # A library's bare name is looked for in the system's folders only.
                if (event != "ctypes.dlopen" or os.sep in name) and (path := self._inside(name)):
                    self.seen.add(f"{event} {path}")

    def _inside(self, path: str) -> str:
        """Its path in the folder, or nothing if it is elsewhere."""
        try:
            whole = os.path.realpath(os.path.join(os.getcwd(), path))
        except (OSError, ValueError):
            return ""
        inside = whole == self.folder or whole.startswith(self.folder + os.sep)
        return os.path.relpath(whole, self.folder) if inside and os.path.lexists(whole) else ""


def _words(values: tuple[Any, ...]) -> str:
    return " ".join(str(each) for each in (values[1] if len(values) > 1 and values[1] else values[:1]))


def _stop_serving(stdout: io.BytesIO) -> None:
    """Look at the page of `annotate` when it is served, then press Ctrl-C."""
    for _ in range(600):
        time.sleep(0.05)
        words = stdout.getvalue().decode(errors="replace").replace('"', " ").split()
        if found := [word for word in words if word.startswith("http://127.0.0.1")]:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(found[0], timeout=10).read()
            break
    os.kill(os.getpid(), signal.SIGINT)


def run(arguments: list[str]) -> tuple[object, str]:
    """The exit code and the end of stderr of a command in this process."""
    from babelscope.cli import main

    out, err = io.BytesIO(), io.BytesIO()
    sys.argv = ["babelscope", *arguments]
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"A cat sleeps.\n"))
    wrapped = [io.TextIOWrapper(each, write_through=True) for each in (out, err)]  # closes them when it goes
    sys.stdout, sys.stderr = wrapped
    if arguments[0] == "annotate":
        threading.Thread(target=_stop_serving, args=(out,), daemon=True).start()
    code: object = 0
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code or 0
    except KeyboardInterrupt:
        code = 0 if arguments[0] == "annotate" else 130
    except BaseException:
        code = traceback.format_exc()
    finally:
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    return code, err.getvalue().decode(errors="replace")[-2000:]


def main() -> None:
    """`watching.py FOLDER COMMANDS.json FOUND.json`: each command is a list of arguments."""
    folder, commands, found = sys.argv[1:]
    with open(commands) as file:
        asked = json.load(file)
    os.chdir(folder)
    watch = Watch(folder)
    sys.addaudithook(lambda event, values: watch.hear(event, values))
    told = []
    for arguments in asked:
        watch.begin()
        began = time.monotonic()
        code, err = run(arguments)
        seconds = time.monotonic() - began
        watch.drain()
        told.append([code, err, sorted(watch.seen), round(seconds, 1)])
    with open(found, "w") as file:
        json.dump(told, file)


if __name__ == "__main__":
    main()
