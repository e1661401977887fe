"""Files are replaced as a whole and stay what they are; only regular files and private folders are trusted."""

from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from babelscope.util import files as module
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import (
    check_folder,
    check_outputs,
    check_writable,
    open_regular,
    private_folder,
    replacing,
)


def write(path: Path, data: bytes = b"new") -> None:
    with replacing(path) as file:
        file.write(data)


def test_a_link_stays_and_what_it_points_to_is_replaced_or_made(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "twice").symlink_to("link")
    (tmp_path / "dangling").symlink_to("folder/new")
    (tmp_path / "circle").symlink_to("circle")
    for link, target in (("twice", "target"), ("dangling", "folder/new")):
        write(tmp_path / link)
        assert (tmp_path / link).is_symlink()
        assert (tmp_path / target).read_text() == "new"
    assert (tmp_path / "link").is_symlink()
    with pytest.raises(SystemFailure, match="circle cannot be written: Too many levels of symbolic links"):
        write(tmp_path / "circle")


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
        with pytest.raises(BabelscopeError, match="is a folder; choose a file") as told:
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


def test_a_kill_while_a_folder_is_checked_leaves_nothing_in_it(tmp_path, monkeypatch):
    for place in (os, Path):
        monkeypatch.setattr(place, "unlink", lambda *_, **__: None)
    check_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


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
        with pytest.raises(BabelscopeError, match="--records o is the file that stdout is redirected to"):
            check_outputs({"--records": Path("o")})


def test_a_file_is_read_and_written_unbuffered_and_keeps_its_bytes_when_opened(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"one\n")
    with open_regular(path) as file:
        assert file.read() == b"one\n"
        assert file.name == str(path)
        assert not file.writable()
    with open_regular(path, append=True) as file:
        assert file.read() == b"one\n", "opened at its start"
        file.seek(0)
        file.write(b"two\n")
        assert path.read_bytes() == b"one\ntwo\n", "unbuffered, at the end"
    with open_regular(path, create=True) as file:
        file.write(b"ONE")
        assert not os.get_inheritable(file.fileno())
    assert path.read_bytes() == b"ONE\ntwo\n"


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o644)])
def test_a_file_that_is_made(tmp_path, private, mode):
    before = os.umask(0o022)
    try:
        open_regular(tmp_path / "new", create=True, private=private).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == mode


WAYS = [{}, {"create": True}, {"append": True}]


@pytest.mark.parametrize("how", WAYS)
def test_no_link_is_followed(tmp_path, how):
    target, link, dangling, circle = (tmp_path / name for name in ("target", "link", "dangling", "circle"))
    target.write_bytes(b"precious")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "nowhere")
    circle.symlink_to(circle)
    for path in (link, dangling, circle):
        with pytest.raises(BabelscopeError, match="symbolic link, which is not followed"):
            open_regular(path, **how)
    assert target.read_bytes() == b"precious"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("how", WAYS)
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, how, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    os.mkfifo("pipe")
    Path("folder").mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        before = len(os.listdir("/dev/fd"))
        for path in ("pipe", "folder", "socket", "/dev/null"):
            with pytest.raises(BabelscopeError, match=f"{path} is not a regular file"):
                open_regular(path, **how)
        assert len(os.listdir("/dev/fd")) == before


def test_what_is_missing_or_forbidden_is_told(tmp_path):
    with pytest.raises(BabelscopeError, match="missing: no such file"):
        open_regular(tmp_path / "missing", append=True)
    with pytest.raises(BabelscopeError, match="cannot be written: No such file or directory"):
        open_regular(tmp_path / "no" / "folder", create=True)
    with pytest.raises(BabelscopeError, match="no such file"):
        open_regular(f"{tmp_path}/a\0b")
    with pytest.raises(BabelscopeError, match="cannot be read: File name too long"):
        open_regular(tmp_path / ("a" * 300))


def test_it_is_made_for_the_user_alone(tmp_path):
    assert stat.S_IMODE(private_folder(tmp_path / "a" / "b").stat().st_mode) == 0o700
    assert private_folder(tmp_path / "a" / "b") == (tmp_path / "a" / "b").resolve()
    with pytest.raises(PermissionError, match="no absolute path"):
        private_folder(Path("a"))


@pytest.mark.parametrize("opened", ["", ".."])
@pytest.mark.parametrize("bits", [0o777, 0o770, 0o702])
def test_others_could_write_into_it_or_put_another_in_its_place(tmp_path, opened, bits, monkeypatch):
    monkeypatch.setattr(module, "_own_group", lambda _group: False)
    folder = tmp_path / "a" / "b"
    private_folder(folder)
    (folder / opened).chmod(bits)
    with pytest.raises(PermissionError, match="can be written by"):
        private_folder(folder)


def test_a_group_of_one_and_a_sticky_folder_around_it_are_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_own_group", lambda group: group == os.getgid())
    folder = tmp_path / "a" / "b"
    private_folder(folder)
    folder.chmod(0o770)
    folder.parent.chmod(0o1777)
    assert private_folder(folder) == folder.resolve()


def test_another_user_s_folder_is_not_ours(tmp_path, monkeypatch):
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    with pytest.raises(PermissionError, match="another user's"):
        private_folder(tmp_path / "a")


def test_a_link_is_followed_before_it_is_judged(tmp_path):
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open")
    with pytest.raises(PermissionError, match="everybody"):
        private_folder(tmp_path / "link")
