"""Publishing a test set, and loading it by name from a registry: verified, and refused if anything is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from babelscope.runs.study import read_study
from babelscope.runs.trust import reach_of
from babelscope.testsets import load
from babelscope.testsets.publishing import Entry, publish
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.published import LARGEST, data_folder
from tests.support.toy_fixtures import Babelscope

PAIR = {
    "source": "The car runs.",
    "correct": "Elle roule.",
    "contrastive": "Il roule.",
    "phenomenon": "pronoun",
    "reference": "human",
    "source_language": "en",
    "target_language": "fr",
    "context_source": ["A car."],
}
ABOUT = {"license": "CC-BY-4.0", "about": "Pronouns.", "made": "By hand.", "citation": "Nobody. 2026."}


@pytest.fixture(autouse=True)
def no_registries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BABELSCOPE_REGISTRY", raising=False)
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path / "user"))


def published(folder: Path, *sources: str, version: int = 1) -> Entry:
    """Publish pairs with these sources."""
    items = folder.parent / "items.jsonl"
    items.parent.mkdir(exist_ok=True)
    rows = [{"id": str(number), **PAIR, "source": source} for number, source in enumerate(sources)]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return publish(load(items), folder, name="fr-pronouns", version=version, **ABOUT)


def serve(server: Any, folder: Path) -> str:
    """Serve the files of a folder; the address of its registry."""
    server.answers = [lambda handler: server.body((folder / handler.path.lstrip("/")).read_bytes())(handler)]
    return f"{server.url}/registry.json"


def test_another_user_loads_a_published_set_by_name(
    tmp_path: Path, server: Any, babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = published(tmp_path / "reg", "A.", "B.")
    url = serve(server, tmp_path / "reg")
    made = load("fr-pronouns", registries=[url])
    assert made.digest == load(tmp_path / "items.jsonl").digest
    assert (made.name, made.version) == ("fr-pronouns@1", 1)
    monkeypatch.setenv("BABELSCOPE_REGISTRY", f"{tmp_path / 'reg'} ")
    assert load("fr-pronouns@1").digest == made.digest
    monkeypatch.delenv("BABELSCOPE_REGISTRY")
    asked = ["data", "echo", "fr-pronouns", "reference", "--registry", url]
    assert babelscope(*asked).out == "Elle roule.\nElle roule.\n"
    # Once it is there, only the registry is asked.
    items = [path for path in server.asked if path.endswith("items.jsonl")]
    assert items == ["/fr-pronouns/1/items.jsonl"]
    shown = json.loads(babelscope("data", "show", "fr-pronouns", "--registry", url, "--json").out)
    assert (shown["license"], shown["files"][0]["sha256"]) == ("CC-BY-4.0", entry.sha256)


def test_one_changed_byte_is_refused(tmp_path: Path, server: Any) -> None:
    entry = published(tmp_path / "reg", "A.")
    url = serve(server, tmp_path / "reg")
    items = tmp_path / "reg" / entry.file
    good = items.read_bytes()
    items.write_bytes(good.replace(b"Elle", b"Ella"))
    for place in (url, str(tmp_path / "reg"), str(tmp_path / "reg" / "registry.json")):
        with pytest.raises(BabelscopeError, match="is not the published file: its SHA-256 is"):
            load("fr-pronouns", registries=[place])
    assert not list((tmp_path / "user").rglob("*.jsonl"))
    # A publisher who changes the items behind one version is noticed by those who have them.
    items.write_bytes(good)
    load("fr-pronouns", registries=[url])
    items.write_bytes(good.replace(b"Elle", b"Ella"))
    (tmp_path / "reg" / "registry.json").unlink()
    published(tmp_path / "reg", "Z.")
    with pytest.raises(BabelscopeError, match="is not the published file"):
        load("fr-pronouns", registries=[url])


def test_a_change_needs_a_new_version_and_old_ones_stay(tmp_path: Path) -> None:
    folder = tmp_path / "reg"
    published(folder, "A.")
    assert published(folder, "A.").version == 1
    with pytest.raises(BabelscopeError, match="a change needs a new version, --version 2"):
        published(folder, "B.")
    published(folder, "B.", version=2)
    found = [load(name, registries=[str(folder)]) for name in ("fr-pronouns", "fr-pronouns@1")]
    assert [(each.version, each.items[0].source) for each in found] == [(2, "B."), (1, "A.")]  # type: ignore[union-attr]


def test_the_card_and_the_checksums(tmp_path: Path, babelscope: Babelscope) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(json.dumps({"id": "1", **PAIR}) + "\n")
    options = ["--license", "CC0", "--about", "Pronouns.", "--made", "By hand.", "--version", "3"]
    done = babelscope("data", "publish", str(tmp_path), "--name", "fr/pronouns", *options)
    assert done.out.startswith("fr/pronouns@3: 1 items, SHA-256 ")
    card = (tmp_path / "fr/pronouns/3/README.md").read_text()
    for line in (
        "Pronouns.",
        "By phenomenon: pronoun 1",
        "With context: 1",
        "source en, target fr",
        "License: CC0",
    ):
        assert line in card
    sums = (tmp_path / "fr/pronouns/3/SHA256SUMS").read_text().splitlines()
    assert [line.split()[1] for line in sums] == ["README.md", "items.jsonl"]


def test_a_study_and_a_command_name_registries(tmp_path: Path, babelscope: Babelscope) -> None:
    for name, text in {"src": "A car.\nA dog.\n", "ref": "Une voiture.\nUn chien.\n"}.items():
        (tmp_path / name).write_text(text)
    tests = load(f"parallel:{tmp_path / 'src'},{tmp_path / 'ref'}")
    publish(tests, tmp_path / "reg", name="toys", version=4, **ABOUT)
    study = tmp_path / "study.toml"
    study.write_text(
        '[[systems]]\nspec = "file:ref"\n[[tests]]\nspec = "toys"\n[[methods]]\nname = "quality"\n'
        'metric = ["chrf"]\n[run]\nregistries = ["reg"]\nout = "run"\n'
    )
    done = babelscope("run", str(study), "--json")
    (row,) = (json.loads(line) for line in done.out.splitlines() if '"chrf"' in line)
    assert (row["value"], row["tests"]) == (100, "toys")
    asked = ["quality", "--system", f"file:{tmp_path / 'ref'}", "--metric", "chrf", "--json"]
    done = babelscope(*asked, "--tests", "toys", "--registry", str(tmp_path / "reg"))
    (row,) = (json.loads(line) for line in done.out.splitlines() if '"chrf"' in line)
    assert (row["value"], row["tests"]) == (100, "toys@4")
    study.write_text(study.read_text().replace('["reg"]', '["https://example.org/registry.json"]'))
    reach = reach_of(read_study(study), tmp_path)
    assert reach.contacts == reach.servers == ("the registry https://example.org/registry.json",)


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda entry: entry.update(file="../items.jsonl"), "sets.0.file: string should match"),
        (lambda entry: entry.update(file="/etc/passwd"), "sets.0.file: string should match"),
        (lambda entry: entry.update(name="../../x"), "sets.0.name: string should match"),
        (lambda entry: entry.update(name="winomt"), "winomt is the name of a public test set"),
        (lambda entry: entry.update(name="gate"), "gate is the name of a public test set, release"),
        (lambda entry: entry.update(bytes=LARGEST), "sets.0.bytes: input should be less than"),
        (lambda entry: entry.update(about="\x1b[2J"), "sets.0.about: must be one line of visible text"),
        (lambda entry: entry.update(license="a\nb"), "sets.0.license: must be one line"),
        (lambda entry: entry.update(run="rm"), "unknown key 'sets.0.run'"),
        (lambda entry: entry.update(items=3), "has 1 items in the data folder, but 3 are published"),
        (lambda entry: entry.update(bytes=1), "is not the published file: it has"),
        (
            lambda entry: entry.update(file="link/items.jsonl"),
            "names link/items.jsonl, which is no file beside it",
        ),
    ],
)
def test_a_strangers_registry_is_refused(tmp_path: Path, change: Change, sentence: str) -> None:
    published(tmp_path / "reg", "A.")
    (tmp_path / "reg" / "link").symlink_to(tmp_path)
    registry = tmp_path / "reg" / "registry.json"
    listing = json.loads(registry.read_text())
    change(listing["sets"][0])
    registry.write_text(json.dumps(listing))
    with pytest.raises(BabelscopeError) as caught:
        load("fr-pronouns", registries=[str(registry)])
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://example.org/registry.json", "must be a file, a folder or an https:// address"),
        ("ftp://127.0.0.1/registry.json", "must be a file, a folder or an https:// address"),
        ("https:///registry.json", "must be a file, a folder or an https:// address"),
        ("https://example.org/?x", "must end in .json"),
    ],
)
def test_a_registry_comes_from_https_or_this_machine(url: str, sentence: str) -> None:
    with pytest.raises(BabelscopeError) as caught:
        load("fr-pronouns", registries=[url])
    assert sentence in str(caught.value)


def test_a_server_of_registries_is_not_trusted(tmp_path: Path, server: Any) -> None:
    def redirect(handler: Any) -> None:
        handler.send_response(302)
        handler.send_header("Location", f"{server.url}/elsewhere")
        handler.end_headers()

    url = f"{server.url}/registry.json"
    server.answers = [redirect]
    with pytest.raises(SystemFailure, match="the server says 302"):
        load("fr-pronouns", registries=[url])
    server.answers = [server.body(b" " * (2 << 20))]
    with pytest.raises(BabelscopeError, match="has more than 1048576 bytes"):
        load("fr-pronouns", registries=[url])
    server.answers = [server.body(b"not json")]
    with pytest.raises(BabelscopeError, match=r"registry\.json"):
        load("fr-pronouns", registries=[url])
    # The items may not come from elsewhere, either.
    published(tmp_path / "reg", "A.")
    server.answers = [server.body((tmp_path / "reg" / "registry.json").read_bytes()), redirect]
    with pytest.raises(BabelscopeError, match="is not the published file"):
        load("fr-pronouns", registries=[url])
    assert "/elsewhere" not in server.asked
    assert not list(data_folder().rglob("*.jsonl"))


def test_two_registries_with_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        published(tmp_path / name / "reg", "A.")
    with pytest.raises(BabelscopeError, match="both have a test set fr-pronouns: name one"):
        load("fr-pronouns", registries=[str(tmp_path / name / "reg") for name in ("a", "b")])
