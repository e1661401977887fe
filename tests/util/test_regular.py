"""Opening plain files: what is a link, a pipe or a folder is refused, and nothing is changed by being opened."""

import os
import socket
import stat
from pathlib import Path

import pytest

from babelscope.util.errors import BabelscopeError
from babelscope.util.files import open_regular


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
