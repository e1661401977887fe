"""Folders that only this user can write to."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from babelscope.util import files as module
from babelscope.util.files import private_folder


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
