"""Toys that tell which process they are in, and die in it: for tests of what happens to Ray workers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from babelscope.core.registry import Options
from babelscope.core.system import Asked, Scored, Target, sources_of
from babelscope.systems.registry import Scheme
from babelscope.util.errors import SystemFailure
from tests.support.toys import ToySystem


class MortalToy(ToySystem):
    """Writes its process id into a file at every question; some sources it does not survive, or refuses.

    `die` kills the process as often as it is asked, `die once` one process, `fail` and `bug` raise errors. It takes
    its time while there is a file `slow` in its folder.
    """

    def __init__(self, name: str, folder: Path, salt: str = "") -> None:
        super().__init__(name, salt=salt)
        self.folder = folder

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        with open(self.folder / "processes", "a") as file:
            file.write(f"{os.getpid()}\n")
        for source in sources_of(asked for asked, _ in pairs):
            if (self.folder / "slow").exists():
                time.sleep(0.05)
            if source == "die" or (source == "die once" and not (self.folder / "died").exists()):
                (self.folder / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if source == "fail":
                raise SystemFailure("the server is down")
            if source == "bug":
                raise ZeroDivisionError("a bug")
        return super().score(pairs)

    def processes(self) -> list[int]:
        """Who was asked, in order."""
        return [int(line) for line in (self.folder / "processes").read_text().split()]


def open_mortal(rest: str, options: Options) -> MortalToy:
    """`mortal:FOLDER?salt=1`."""
    return MortalToy(f"mortal:{rest}", Path(rest), options.text("salt"))


MORTAL = Scheme("mortal", f"{__name__}:open_mortal", "may die", "mortal:.", frozenset({"score"}))


def install(folder: Path) -> None:
    """Make `mortal:` known to processes with this folder on their Python path."""
    info = folder / "mortal_toys-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mortal-toys\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[babelscope.systems]\nmortal = {__name__}:MORTAL\n")
