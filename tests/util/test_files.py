"""Files are replaced as a whole, and stay what they are: links, pipes, devices, permissions."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import check_outputs, check_writable, replacing


def write(path: Path, data: bytes = b"new") -> None:
    with replacing(path) as file:
        file.write(data)


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "twice").symlink_to("link")
    write(tmp_path / "twice")
    assert (tmp_path / "twice").is_symlink()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_what_a_dangling_link_points_to_is_made(tmp_path):
    (tmp_path / "link").symlink_to("folder/target")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "target").read_text() == "new"


def test_links_in_a_circle_are_told(tmp_path):
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(SystemFailure, match="link cannot be written: Too many levels of symbolic links"):
        write(tmp_path / "link")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o777])
def test_permissions_stay(tmp_path, mode):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(mode)
    with replacing(tmp_path / "a"):
        (part,) = tmp_path.glob(".*.part")
        assert stat.S_IMODE(part.stat().st_mode) == mode, "no more open than the file itself"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_new_files_have_the_umask_s(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_pipe_is_written_into(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()), daemon=True)
    assert check_writable(tmp_path / "pipe").is_stream, "checking waits for nobody"
    reader.start()
    write(tmp_path / "pipe")
    reader.join(10)
    assert read == [b"new"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("how", ["/dev/fd/{}", "/proc/self/fd/{}", "link"])
def test_an_open_file_is_written_on_not_replaced(tmp_path, how):
    (tmp_path / "log").write_text("first\n")
    descriptor = os.open(tmp_path / "log", os.O_WRONLY | os.O_APPEND)
    (tmp_path / "link").symlink_to(f"/dev/fd/{descriptor}")
    number = (tmp_path / "log").stat().st_ino
    try:
        write(tmp_path / "link" if how == "link" else Path(how.format(descriptor)), b"second\n")
    finally:
        os.close(descriptor)
    assert (tmp_path / "log").read_text() == "first\nsecond\n"
    assert (tmp_path / "log").stat().st_ino == number


def test_what_is_open_for_reading_only_or_not_at_all_is_refused(tmp_path):
    (tmp_path / "a").write_text("old")
    descriptor = os.open(tmp_path / "a", os.O_RDONLY)
    with pytest.raises(BabelscopeError, match="open for reading only"):
        check_writable(Path(f"/dev/fd/{descriptor}"))
    os.close(descriptor)
    with pytest.raises(SystemFailure, match="Bad file descriptor"):
        check_writable(Path(f"/dev/fd/{descriptor}"))


def test_a_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("", ".", "folder", "folder/.."):
        with pytest.raises(BabelscopeError, match="is a folder; name a file to be written") as told:
            check_writable(Path(name))
        assert told.value.exit_code == 2


def test_checking_leaves_nothing_behind(tmp_path):
    (tmp_path / "a").write_text("old")
    check_writable(tmp_path / "a")
    check_writable(tmp_path / "b" / "c" / "d")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"
    with pytest.raises(SystemFailure, match="a/b cannot be written: Not a directory"):
        check_writable(tmp_path / "a" / "b")


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o400)
    # Root may write everything, so the system's answer is given here.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SystemFailure, match="a cannot be written: Permission denied"):
        check_writable(tmp_path / "a")


def test_the_longest_name_there_is_can_be_written(tmp_path):
    write(tmp_path / ("ä" * 127))
    assert [path.name for path in tmp_path.iterdir()] == ["ä" * 127]
    with pytest.raises(BabelscopeError, match=r"a\\x00b cannot be the name of a file"):
        check_writable(Path("a\0b"))


HOLDER = """
import sys, time
from pathlib import Path
from babelscope.util.files import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"half"); file.flush()
    print("holds it", flush=True)
    time.sleep(60)
"""


def test_a_kill_s_part_is_removed_and_a_living_one_s_is_not(tmp_path):
    target = tmp_path / "out"
    command = [sys.executable, "-c", HOLDER, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        try:
            holder.stdout.readline()
            (part,) = tmp_path.glob(".out.*.part")
            write(target, b"first")
            assert list(tmp_path.glob(".out.*.part")) == [part], "it is in use"
        finally:
            holder.send_signal(signal.SIGKILL)
            holder.wait()
    assert part.exists()
    write(tmp_path / "out2")
    assert part.exists(), "it is another's"
    write(target, b"second")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out2"]
    assert target.read_bytes() == b"second"


def test_a_full_disk_is_noticed_before_the_old_file_goes(tmp_path, monkeypatch):
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemFailure, match="No space left on device"):
        write(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


# -- all outputs of a command --------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("a\n")
    (tmp_path / "link").symlink_to("in")
    return tmp_path


@pytest.mark.parametrize("named", ["in", "./in", "link"])
@pytest.mark.parametrize(
    "read", [Path("in"), "in", "file:in", "file:in?beam=2", "tests:x,in", "a?source=in", "cmd:./in"]
)
@pytest.mark.usefixtures("here")
def test_what_is_read_is_not_overwritten(named, read):
    with pytest.raises(BabelscopeError, match=r"--out .* would overwrite a file which is read"):
        check_outputs({"--out": Path(named)}, inputs=[read])


@pytest.mark.usefixtures("here")
def test_outputs_do_not_overwrite_each_other():
    with pytest.raises(BabelscopeError, match=r"--records o would overwrite a file that --out writes"):
        check_outputs({"--out": Path("o"), "--records": Path("o")})
    check_outputs({"--out": Path("/dev/null"), "--records": Path("/dev/null"), "--svg": None})


@pytest.mark.usefixtures("here")
def test_a_run_folder_s_own_files_are_kept():
    check_outputs({"--records": Path("run/mine.jsonl")}, folder=Path("run"))
    with pytest.raises(BabelscopeError, match="which the run folder keeps for itself"):
        check_outputs({"--records": Path("run/records.jsonl")}, folder=Path("run"))
    with pytest.raises(BabelscopeError, match="in is a file, not a folder"):
        check_outputs({}, folder=Path("in"))
    assert not Path("run").exists()
    Path("run").mkdir()
    with pytest.raises(BabelscopeError, match="which is read"):
        check_outputs({"--out": Path("run/manifest.json")}, inputs=[Path("run")])


def test_the_file_that_stdout_goes_to_is_not_replaced(here, monkeypatch):
    with open(here / "o", "w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        with pytest.raises(BabelscopeError, match="--records o is the file that stdout goes to"):
            check_outputs({"--records": Path("o")})
