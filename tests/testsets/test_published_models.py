"""Models got from a server on loopback: right and wrong bytes, broken connections, no network, full disks."""

from __future__ import annotations

import errno
import hashlib
import http.server
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from babelscope.language import published_models
from babelscope.language.parsers import open_parser, parser_language
from babelscope.language.published_models import MODELS, find_model
from babelscope.testsets import registry
from babelscope.util import download as downloading
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.published import NamedSet, PublishedFile, fetch, read_origin
from tests.support.toy_fixtures import Babelscope

MODEL = bytes(range(256)) * 40
TOY = "udpipe/toy-toy"
FRENCH = "french-partut"
Handler = http.server.BaseHTTPRequestHandler
Answer = Callable[[Handler], None]


def git_blob(content: bytes) -> str:
    """What `git hash-object` prints."""
    return hashlib.sha1(b"blob " + str(len(content)).encode() + b"\0" + content).hexdigest()


def known(monkeypatch: pytest.MonkeyPatch, content: bytes = MODEL) -> NamedSet:
    """A model that is published with the digest of these bytes."""
    like = MODELS[f"udpipe/{FRENCH}"]
    file = PublishedFile("udpipe/toy.udpipe", "owner/repository/commit/toy.udpipe", 0, "", git_blob(content))
    made = replace(like, name=TOY, parts=(replace(like.parts[0], files=(file,), path=file.local),))
    for module in (published_models, registry):
        monkeypatch.setattr(module, "MODELS", {**MODELS, TOY: made})
    return made


def in_pieces(
    content: bytes, first: int, asked: list[str], *, etag: str = '"one"', honours: bool = True
) -> Answer:
    """Breaks after `first` bytes of each answer, and sends the rest where asked for it by Range."""

    def answer(handler: Handler) -> None:
        wanted = handler.headers.get("Range", "")
        asked.append(wanted)
        found = re.fullmatch(r"bytes=(\d+)-", wanted)
        begin = int(found[1]) if found and honours else 0
        handler.send_response(206 if begin else 200)
        handler.send_header("ETag", etag)
        handler.send_header("Content-Length", str(len(content) - begin))
        if begin:
            handler.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        handler.end_headers()
        end = len(content) if not honours and len(asked) > 1 else begin + first
        handler.wfile.write(content[begin:end])

    return answer


def test_every_model_has_a_digest_and_a_language() -> None:
    assert len(MODELS) == 94
    files = [file for model in MODELS.values() for file in model.files]
    assert len({file.git_blob for file in files}) == len({file.local for file in files}) == 94
    assert all(re.fullmatch("[0-9a-f]{40}", file.digest) for file in files)
    assert all(model.project.languages[0] for model in MODELS.values())
    assert MODELS["udpipe/norwegian-bokmaal"].project.languages[0] == "nb"


def test_they_are_the_listed_ones(shared: Path) -> None:
    _, *lines = (shared / "models" / "udpipe" / "ud-2.5-models.tsv").read_text().splitlines()
    ours = {
        model.files[0].local.removeprefix("udpipe/"): model.files[0].git_blob for model in MODELS.values()
    }
    assert ours == dict(line.split("\t") for line in lines)


def test_the_real_french_model_is_downloaded_and_parses(
    shared: Path, tmp_path: Path, server: Any, babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ufal.udpipe")
    path = shared / "models" / "udpipe" / f"{FRENCH}-ud-2.5-191206.udpipe"
    asked: list[str] = []
    server.answers = [in_pieces(path.read_bytes(), 1_500_000, asked)]  # three pieces
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path))
    done = babelscope("data", "get", f"udpipe/{FRENCH}", "--json")
    got = json.loads(done.out)
    assert (got["status"], got["licence"]) == ("downloaded", "CC BY-NC-SA 4.0")
    assert "licence: CC BY-NC-SA 4.0" in done.err
    assert asked == ["", "bytes=1500000-", "bytes=3000000-"]
    here = Path(got["path"])
    assert here.read_bytes() == path.read_bytes()
    origin = read_origin(here)
    assert origin["licence"] == "CC BY-NC-SA 4.0"
    assert origin["url"].startswith(server.url)
    assert origin["digest"] == f"git blob SHA-1 {got['git_blob']}"
    assert origin["url"] in babelscope("data", "show", f"udpipe/{FRENCH}").out
    assert json.loads(babelscope("data", "get", f"udpipe/{FRENCH}", "--json").out)["status"] == "present"
    assert len(asked) == 3
    (tree,) = open_parser(f"udpipe:{FRENCH}")(["Elle se lave les mains au jardin."])
    assert tree is not None
    assert [word.form for word in tree.words if "Reflex=Yes" in word.feats or word.form == "se"] == ["se"]
    assert any(token.form == "au" for token in tree.multiword)
    # A copy under another name is still known by its bytes.
    copy = tmp_path / "mine"
    copy.write_bytes(path.read_bytes())
    assert parser_language(f"udpipe:{copy}") == "fr"
    found = find_model(copy)
    assert found is not None
    assert found.name == f"udpipe/{FRENCH}"


def test_wrong_bytes_are_refused_and_not_kept(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = known(monkeypatch)
    server.answers = [server.body(MODEL[:-1] + b"x")]
    with pytest.raises(BabelscopeError) as caught:
        fetch(model, tmp_path / "data")
    told = str(caught.value)
    assert f"is not the published file: its git blob SHA-1 is {git_blob(MODEL[:-1] + b'x')}" in told
    assert f"expected {git_blob(MODEL)}; nothing was kept" in told
    assert list(tmp_path.iterdir()) == []
    # A cut file has another digest, too, even where the server promised no more.
    server.answers = [server.body(MODEL[:-1])]
    with pytest.raises(BabelscopeError, match="is not the published file"):
        fetch(model, tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_grows_without_end_is_given_up(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = known(monkeypatch)
    monkeypatch.setattr(downloading, "LARGEST", 1000)
    server.answers = [server.body(MODEL)]
    with pytest.raises(BabelscopeError, match="it has more than 1000 bytes; nothing was kept"):
        fetch(model, tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_a_local_file_of_other_bytes_is_told(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = known(monkeypatch)
    path = tmp_path / "udpipe" / "toy.udpipe"
    path.parent.mkdir()
    path.write_bytes(b"another model")
    with pytest.raises(BabelscopeError, match=f"replace it with: babelscope data get --refresh {TOY}"):
        fetch(model, tmp_path)
    server.answers = [server.body(MODEL)]
    assert [each.status for each in fetch(model, tmp_path, refresh=True)] == ["downloaded"]
    assert path.read_bytes() == MODEL


@pytest.mark.parametrize("honours", [True, False])
def test_a_dropped_connection_is_gone_on_with(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch, honours: bool
) -> None:
    """Where the server knows no ranges, the file is begun again."""
    model = known(monkeypatch)
    asked: list[str] = []
    server.answers = [in_pieces(MODEL, 4000, asked, honours=honours)]
    (fetched,) = fetch(model, tmp_path)
    assert fetched.path.read_bytes() == MODEL
    assert asked == ["", "bytes=4000-", "bytes=8000-"][: 3 if honours else 2]


def test_the_rest_is_asked_for_only_of_the_same_file(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = known(monkeypatch)
    conditions: list[str | None] = []
    pieces = in_pieces(MODEL, 6000, [])

    def answer(handler: Handler) -> None:
        conditions.append(handler.headers.get("If-Range"))
        pieces(handler)

    server.answers = [answer]
    fetch(model, tmp_path)
    assert conditions == [None, '"one"']


def test_a_connection_that_never_holds_leaves_nothing(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = known(monkeypatch)
    server.answers = [in_pieces(MODEL, 10, [])]
    with pytest.raises(SystemFailure, match="cannot be downloaded: peer closed connection"):
        fetch(model, tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_one_sentence_says_what_is_missing(
    tmp_path: Path, server: Any, babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [server.status(404)]
    server.http.socket.close()
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path / "data"))
    done = babelscope("data", "get", "udpipe/german-gsd")
    assert done.code == 1
    licence, error = done.err.splitlines()
    assert licence == "udpipe/german-gsd (jwijffels/udpipe.models.ud.2.5); licence: CC BY-NC-SA 4.0"
    assert error.startswith(f"babelscope: error: {server.url}/jwijffels/udpipe.models.ud.2.5/17d6bbfb")
    missing = tmp_path / "data" / "udpipe" / "german-gsd-ud-2.5-191206.udpipe"
    assert error.endswith(f"put the file at {missing} yourself, or try again with a connection")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = known(monkeypatch)
    server.answers = [server.body(MODEL)]

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("babelscope.util.files.os.fsync", full)
    with pytest.raises(SystemFailure) as caught:
        fetch(model, tmp_path / "data")
    path = tmp_path / "data" / "udpipe" / "toy.udpipe"
    assert str(caught.value) == f"{path} cannot be written: No space left on device"
    assert len(server.asked) == 1  # a full disk is not tried again
    assert list(tmp_path.iterdir()) == []
