"""Loading by name, and the named sets and models: found, downloaded from a server on loopback, checked."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import http.server
import json
import re
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from babelscope.language import parsers
from babelscope.language.parsers import open_parser, parser_language
from babelscope.testsets import AmbiguousSource, load, registry
from babelscope.util import published
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.published import (
    MODELS,
    SETS,
    NamedSet,
    Project,
    PublishedFile,
    SetPart,
    data_folder,
    fetch,
    read_origin,
)
from tests.support.toy_fixtures import Babelscope

CONTENT = {"src.en": b"a\nb\n", "tgt.correct.de": b"A\nB\n", "tgt.incorrect.de": b"1\n2\n"}
PROJECT = Project("owner/toy", ("en", "de"), "CC0", "Nobody. 2025. Toy.")


def toy_file(folder: str, name: str, *, known: bool = True) -> PublishedFile:
    sha256 = hashlib.sha256(CONTENT[name]).hexdigest() if known else ""
    return PublishedFile(
        f"toy/{folder}/{name}", f"owner/toy/revision/some data/{name}", len(CONTENT[name]), sha256
    )


def toy_part(folder: str, *, known: bool = True) -> SetPart:
    files = tuple(toy_file(folder, name, known=known) for name in CONTENT)
    return SetPart(f"toy/{folder}", "distil-lingeval", f"toy/{folder}", 2, files)


@pytest.fixture(autouse=True)
def toy_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BABELSCOPE_DATA", raising=False)
    human, machine = toy_part("toy.human"), toy_part("toy.mt", known=False)
    toys = (
        NamedSet("toy", "both", PROJECT, (human, machine)),
        NamedSet("toy.human", "one", PROJECT, (human,)),
        NamedSet("toy.mt", "one without a checksum", PROJECT, (machine,)),
    )
    monkeypatch.setattr(registry, "SETS", {**registry.SETS, **{toy.name: toy for toy in toys}})


def place(folder: Path, name: str) -> None:
    for file, content in CONTENT.items():
        path = folder / "toy" / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def serve(server: Any) -> None:
    server.answers = [
        lambda handler: server.body(CONTENT[urllib.parse.unquote(handler.path).rpartition("/")[2]])(handler)
    ]


def files(folder: Path) -> dict[str, bytes]:
    """The files of a folder but for the notes of where they came from."""
    found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {name: content for name, content in found.items() if not name.endswith(".origin.json")}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("distil-lingeval/clause_ommission", "did you mean distil-lingeval/clause_omission?"),
        ("winmt", "did you mean winomt?"),
        ("mucow-scorin:cs-en.json", "did you mean mucow-scoring:?"),
        ("z" * 4000, "is neither a registered test set"),
        ("zzzz", "'zzzz' is neither a registered test set (see babelscope data list), nor a file"),
        ("nowhere/pairs.jsonl", "nowhere/pairs.jsonl: no such file"),
        ("jsonl:nowhere", "nowhere: no such file"),
        ("tsv:", "says nothing after the colon; example: tsv:test.tsv"),
        ("winomt:test.tsv?neutrl=yes", "unknown option 'neutrl'; did you mean neutral?"),
        ("winomt:test.tsv?neutral=perhaps", "neutral=perhaps is not one of yes, no"),
        (".", "is a folder; if it holds DistilLingEval sets, say distil-lingeval:."),
    ],
)
def test_a_wrong_name_is_told(spec: str, sentence: str) -> None:
    with pytest.raises(BabelscopeError) as caught:
        load(spec)
    assert sentence in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_question_mark_may_be_in_a_file_name(tmp_path: Path) -> None:
    path = tmp_path / "why?.tsv"
    path.write_text("a\tb\n")
    assert len(load(f"tsv:{path}")) == 1


def test_a_named_set_says_which_version_of_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path, "toy.human")
    first = load("toy.human", data_dir=tmp_path)
    raised = dataclasses.replace(vars(registry)["SETS"]["toy.human"], version=2)
    monkeypatch.setattr(registry, "SETS", {"toy.human": raised})
    second = load("toy.human", data_dir=tmp_path)
    assert first.identity == {"kind": "MinimalPair", "digest": first.digest, "version": 1}
    assert second.identity == {**first.identity, "version": 2}


def test_missing_files_are_downloaded_once(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(server)
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path))
    made = load("toy.human")
    assert [item.id for item in made] == ["toy.human:1", "toy.human:2"]
    assert sorted(server.asked) == sorted(f"/owner/toy/revision/some%20data/{name}" for name in CONTENT)
    assert files(tmp_path) == {f"toy/toy.human/{name}": content for name, content in CONTENT.items()}
    assert load("toy.human").digest == made.digest
    assert len(server.asked) == 3
    assert {fetched.status for fetched in fetch(registry.find_set("toy.human"))} == {"present"}
    assert {fetched.status for fetched in fetch(registry.find_set("toy.human"), refresh=True)} == {"present"}
    assert len(server.asked) == 3


def test_two_downloads_at_once_end_with_the_published_files(tmp_path: Path, server: Any) -> None:
    both = threading.Barrier(2, timeout=10)

    def slow(handler: Any) -> None:
        name = handler.path.rpartition("/")[2]
        content = CONTENT[name]
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:2])
        handler.wfile.flush()
        both.wait()  # both are in the middle of the same file
        handler.wfile.write(content[2:])

    server.answers = [slow]
    with ThreadPoolExecutor(2) as threads:
        made = [threads.submit(load, "toy.human", data_dir=tmp_path) for _ in range(2)]
        assert {each.result().digest for each in made} == {load("toy.human", data_dir=tmp_path).digest}
    assert files(tmp_path) == {f"toy/toy.human/{name}": content for name, content in CONTENT.items()}


@pytest.mark.parametrize(
    ("answer", "asked", "sentence"),
    [
        (lambda server: server.status(404), 4, "the server says 404 Not Found"),
        (lambda server: server.status(503), 4, "the server says 503 Service Unavailable"),
        (lambda server: server.body(b"a\n", promised=4), 4, "IncompleteRead"),
    ],
)
def test_a_failing_server_leaves_nothing_behind(
    tmp_path: Path, server: Any, answer: Any, asked: int, sentence: str
) -> None:
    server.answers = [answer(server)]
    with pytest.raises(SystemFailure) as caught:
        load("toy.human", data_dir=tmp_path / "data")
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"{server.url}/owner/toy/revision/some%20data/src.en cannot be")
    assert len(server.asked) == asked
    assert files(tmp_path) == {}


@pytest.mark.parametrize(
    ("content", "sentence"), [(b"x\nb\n", "its SHA-256 is "), (b"a\nb\nc\n", "it has more than 4 bytes")]
)
def test_a_wrong_checksum_keeps_the_good_file(
    tmp_path: Path, server: Any, content: bytes, sentence: str
) -> None:
    server.answers = [server.body(content)]
    with pytest.raises(BabelscopeError) as caught:
        load("toy.human", data_dir=tmp_path)
    assert "is not the published file" in str(caught.value)
    assert sentence in str(caught.value)
    assert caught.value.exit_code == 2
    assert len(server.asked) == 1
    assert files(tmp_path) == {}
    place(tmp_path, "toy.human")
    fetch(registry.find_set("toy.human"), tmp_path, refresh=True)
    assert len(server.asked) == 1


def test_a_changed_local_file_is_told_and_kept(tmp_path: Path, server: Any) -> None:
    serve(server)
    place(tmp_path, "toy.human")
    changed = tmp_path / "toy" / "toy.human" / "src.en"
    changed.write_bytes(b"a\nmine\n")
    with pytest.raises(BabelscopeError, match=r"is not the published file.*data get --refresh toy.human"):
        load("toy.human", data_dir=tmp_path)
    assert changed.read_bytes() == b"a\nmine\n"
    assert server.asked == []
    fetch(registry.find_set("toy.human"), tmp_path, refresh=True)
    assert changed.read_bytes() == CONTENT["src.en"]


def test_a_set_without_checksum_is_used_but_never_downloaded(tmp_path: Path, server: Any) -> None:
    serve(server)
    with pytest.raises(BabelscopeError, match="its checksum is not known to us; put its files in"):
        load("toy.mt", data_dir=tmp_path)
    partly = load("toy", data_dir=tmp_path)
    assert [item.id for item in partly] == ["toy.human:1", "toy.human:2"]
    assert list(partly.skipped.values()) == [2]
    place(tmp_path, "toy.mt")
    assert len(load("toy", data_dir=tmp_path)) == 4
    assert {fetched.status for fetched in fetch(registry.find_set("toy.mt"), tmp_path)} == {"unchecked"}
    for path in (tmp_path / "toy" / "toy.mt").iterdir():
        path.write_bytes(path.read_bytes() + b"more\n")
    with pytest.raises(BabelscopeError, match=r"toy/toy\.mt has 3 items in the data folder, but 2 are"):
        load("toy.mt", data_dir=tmp_path)


def test_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_folder().name == "babelscope"
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder("other") == Path("other")


def test_every_published_file_is_pinned() -> None:
    seen = {file.local: file for named in SETS.values() for file in named.files}
    assert len({file.remote for file in seen.values()}) == len(seen) == 16 * 3 + 2 + 2 * 6 + 1
    for file in seen.values():
        assert len(file.sha256) in (0, 64)
        assert bool(file.sha256) == bool(file.bytes)
        assert len(file.remote.split("/")[2]) == 40
    assert sum(not file.sha256 for file in seen.values()) == 2 * 3 + 1


def test_the_published_sets_by_name(shared: Path, server: Any) -> None:
    for name, size, skipped in (
        ("distil-lingeval/clause_omission", 1104 + 1025, 0),
        ("distil-lingeval/clause_omission.human", 1104, 0),
        ("distil-lingeval/hypercorrect_genitive.human", 3403, 1),
        ("distil-lingeval/polarity_particle_kein_del", 554 + 201, 0),
        ("mucow-scoring/cs-en", 3771, 20),
        ("mucow-scoring/tr-en", 3723, 0),
        ("mucow/en-de", 3334, 3),
        ("mucow/en-ru", 1810, 4),
        ("mucow/en-de?all=yes", 3337, 0),
        ("winomt", 3648, 240),
        ("winomt?genders=three", 3888, 0),
    ):
        made = load(name, data_dir=shared / "data")
        assert (made.name, len(made), sum(made.skipped.values())) == (name.partition("?")[0], size, skipped)
    # Every other file that is there is the published one, too.
    there = [
        named
        for named in SETS.values()
        if all((shared / "data" / file.local).exists() for file in named.files)
    ]
    assert {fetched.status for named in there for fetched in fetch(named, shared / "data")} <= {
        "present",
        "unchecked",
    }
    assert server.asked == []


HERE = {
    "discevalmt/anaphora": ("context/discevalmt", 200),
    "discevalmt/lexical-choice": ("context/discevalmt", 200),
    "en-fr-pronouns": ("context/en-fr-pronouns", 14_000),
    "voita/ellipsis_infl": ("context/voita", 499),
    "voita/lex_cohesion_dev": ("context/voita", 500),
    "contracat/contrapro": ("context/contracat", 12_000),
    "contracat/subset": ("context/contracat", 1_531),
    "ctxpro/gender/en-es/dev": ("context/ctxpro", 3_501),
    "mt-geneval/sentences/en-es": ("gender/mt-geneval/sentences", 572),
    "mt-geneval/context/en-de": ("gender/mt-geneval/context", 1_100),
    "demetr/critical_id11_gender": ("demetr", 113),
}
"""Sets of releases with the folder of their files in the shared data, and how many of their items are used."""


@pytest.mark.parametrize("name", HERE)
def test_sets_of_releases_are_verified_and_read(name: str, shared: Path, tmp_path: Path, server: Any) -> None:
    folder, items = HERE[name]
    named = registry.find_set(name)
    for file in named.files:
        path = tmp_path / file.local
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(shared / "data" / folder / path.name)
    loaded = load(name, data_dir=tmp_path)
    assert (loaded.name, len(loaded)) == (name, items)
    assert {each.status for each in fetch(named, tmp_path)} == {"present"}
    assert server.asked == []


def test_the_parts_of_a_language_of_gate_are_one_set(shared: Path, tmp_path: Path) -> None:
    assert [Path(file.local).name for file in registry.SETS["gate/es"].files] == [
        f"ES_{count}_variants.tsv" for count in (2, 4, 8)
    ]
    for file in registry.SETS["gate/es"].files:
        path = tmp_path / file.local
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(shared / "data/gender/gate" / path.name)
    loaded = load("gate/es", data_dir=tmp_path)
    assert loaded.version == 1
    assert {item.target_language for item in loaded if isinstance(item, AmbiguousSource)} == {"es"}


def test_releases_are_the_listed_files(shared: Path) -> None:
    lines = (shared / "data" / "public-files.tsv").read_text("utf-8").splitlines()
    listed = {tuple(line.split("\t")) for line in lines if not line.startswith("#")}
    ours = [file for release in registry.RELEASES.values() for file in release.files]
    found = {
        (f"{owner}/{repository}", commit, path, str(file.bytes), file.sha256)
        for file in ours
        for owner, repository, commit, path in [file.remote.split("/", 3)]
    }
    assert found <= listed
    # DistilLingEval's parts are listed in published.toml; the others are markers of empty folders.
    missing = {(repository, path) for repository, _, path, *_ in listed - found}
    assert {repository for repository, path in missing if not path.endswith(".gitkeep")} == {
        "ZurichNLP/distil-lingeval"
    }
    assert len(found) == 1542


def test_a_release_is_downloaded_by_name(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"labels\tsource\n"
    file = PublishedFile(
        "toys/a.tsv", "o/toys/commit/data/a b.tsv", len(content), hashlib.sha256(content).hexdigest()
    )
    part = SetPart("toys", "", "toys", 0, (file,))
    monkeypatch.setattr(registry, "RELEASES", {"toys": NamedSet("toys", "toys", PROJECT, (part,))})
    server.answers = [server.body(content)]
    for name in ("toys", "toys/data", "toys/data/a b.tsv"):
        assert [each.path.read_bytes() for each in fetch(registry.find_download(name), tmp_path)] == [content]
    assert server.asked == ["/o/toys/commit/data/a%20b.tsv"]
    with pytest.raises(BabelscopeError, match="'toys' is a release, not a test set; it has no sets"):
        load("toys", data_dir=tmp_path)
    with pytest.raises(BabelscopeError, match="'toys/dat' is no registered test set"):
        registry.find_download("toys/dat")


def test_loading_imports_nothing_heavy() -> None:
    code = "import sys, babelscope.testsets as t; t.formats(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"httpx", "tenacity", "torch", "numpy", "pydantic", "rich"} & set(loaded.split())


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
    for module in (parsers, registry):
        monkeypatch.setattr(module, "MODELS", {**MODELS, TOY: made})
    return made


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
    whole = path.read_bytes()
    server.answers = [server.body(whole[:1_500_000], promised=len(whole)), server.body(whole)]
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path))
    done = babelscope("data", "get", f"udpipe/{FRENCH}", "--json")
    got = json.loads(done.out)
    assert (got["status"], got["license"]) == ("downloaded", "CC BY-NC-SA 4.0")
    assert "license: CC BY-NC-SA 4.0" in done.err
    assert len(server.asked) == 2  # the first connection breaks
    here = Path(got["path"])
    assert here.read_bytes() == whole
    origin = read_origin(here)
    assert origin["license"] == "CC BY-NC-SA 4.0"
    assert origin["url"].startswith(server.url)
    assert origin["digest"] == f"git blob SHA-1 {got['git_blob']}"
    assert origin["url"] in babelscope("data", "show", f"udpipe/{FRENCH}").out
    assert json.loads(babelscope("data", "get", f"udpipe/{FRENCH}", "--json").out)["status"] == "present"
    assert len(server.asked) == 2
    (tree,) = open_parser(f"udpipe:{FRENCH}")(["Elle se lave les mains au jardin."])
    assert tree is not None
    assert [(word.upos, word.lemma) for word in tree.words if word.form == "se"] == [("PRON", "se")]
    assert any(token.form == "au" for token in tree.multiword)
    # A copy under another name is still known by its bytes.
    copy = tmp_path / "mine"
    copy.write_bytes(whole)
    assert parser_language(f"udpipe:{copy}") == "fr"
    found = parsers.find_model(copy)
    assert found is not None
    assert found.name == f"udpipe/{FRENCH}"


def test_wrong_bytes_are_refused_and_not_kept(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = known(monkeypatch)
    server.answers = [server.body(MODEL[:-1] + b"x")]
    with pytest.raises(BabelscopeError, match=f"its git blob SHA-1 is {git_blob(MODEL[:-1] + b'x')}"):
        fetch(model, tmp_path / "data")
    assert files(tmp_path) == {}


def test_a_file_that_grows_without_end_is_given_up(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = known(monkeypatch)
    monkeypatch.setattr(published, "LARGEST", 1000)
    server.answers = [server.body(MODEL)]
    with pytest.raises(BabelscopeError, match="it has more than 1000 bytes; nothing was kept"):
        fetch(model, tmp_path / "data")
    assert files(tmp_path) == {}


def test_without_a_network_one_sentence_says_what_is_missing(
    tmp_path: Path, server: Any, babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [server.status(404)]
    server.http.socket.close()
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path / "data"))
    done = babelscope("data", "get", "udpipe/german-gsd")
    assert done.code == 1
    license, error = done.err.splitlines()
    assert license == "udpipe/german-gsd (jwijffels/udpipe.models.ud.2.5); license: CC BY-NC-SA 4.0"
    assert error.startswith(f"babelscope: error: {server.url}/jwijffels/udpipe.models.ud.2.5/17d6bbfb")
    missing = tmp_path / "data" / "udpipe" / "german-gsd-ud-2.5-191206.udpipe"
    assert error.endswith(f"put the file at {missing} yourself, or try again with a connection")
    assert files(tmp_path) == {}


def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = known(monkeypatch)
    server.answers = [server.body(MODEL)]

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(published._Limited, "write", full)
    with pytest.raises(SystemFailure) as caught:
        fetch(model, tmp_path / "data")
    path = tmp_path / "data" / "udpipe" / "toy.udpipe"
    assert str(caught.value) == f"{path} cannot be written: No space left on device"
    assert len(server.asked) == 1  # a full disk is not tried again
    assert files(tmp_path) == {}
