"""The fingerprint is of the files that were loaded, whatever else lies beside them, and they stay as they were."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from babelscope.systems.cache import cached
from babelscope.systems.models.ensemble import Ensemble
from babelscope.systems.registry import open_system
from babelscope.util.digests import SealedFiles
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support.models import SOURCES, TARGETS, build_causal, spec

Build = Callable[..., Path]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))


def opened(folder: Path) -> Any:
    return open_system(spec("marian", folder))


def copied(folder: Path, to: Path, *without: str) -> Path:
    return Path(shutil.copytree(folder, to, ignore=shutil.ignore_patterns(*without)))


def shard(folder: Path, weights: dict[str, torch.Tensor], *names: str) -> None:
    """Weights in several files, and the index that names them."""
    parts: dict[str, dict[str, torch.Tensor]] = {name: {} for name in names}
    for number, (key, tensor) in enumerate(sorted(weights.items())):
        parts[names[number % len(names)]][key] = tensor
    for name, part in parts.items():
        save_file(part, folder / name, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": {key: name for name, part in parts.items() for key in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_pickled_weights_beside_other_safetensors(checkpoint, tmp_path):
    """transformers loads pytorch_model.bin where no model.safetensors is, whatever other file there is."""
    systems = []
    for seed in (1, 2):
        weights = load_file(checkpoint("marian", seed=seed) / "model.safetensors")
        folder = copied(checkpoint("marian"), tmp_path / str(seed), "*.safetensors")
        torch.save(weights, folder / "pytorch_model.bin")
        save_file({"x": torch.zeros(3)}, folder / "other.safetensors")
        systems.append(opened(folder))
    one, two = (cached(system, tmp_path / "answers.sqlite") for system in systems)
    assert one.fingerprint != two.fingerprint
    assert one.score(PAIRS) == opened(checkpoint("marian")).score(PAIRS)
    assert two.score(PAIRS) == opened(checkpoint("marian", seed=2)).score(PAIRS)
    save_file({"x": torch.ones(3)}, tmp_path / "1" / "other.safetensors")
    assert opened(tmp_path / "1").fingerprint == one.fingerprint, "what is not loaded does not count"


def test_an_index_that_names_other_shards(checkpoint, tmp_path):
    folder = copied(checkpoint("marian"), tmp_path / "m", "*.safetensors")
    weights = {seed: load_file(checkpoint("marian", seed=seed) / "model.safetensors") for seed in (1, 2)}
    shard(folder, weights[2], "b-1.safetensors", "b-2.safetensors")
    second = (folder / "model.safetensors.index.json").read_bytes()
    shard(folder, weights[1], "a-1.safetensors", "a-2.safetensors")
    one = opened(folder)
    assert one.score(PAIRS) == opened(checkpoint("marian")).score(PAIRS)
    first = one.fingerprint
    (folder / "model.safetensors.index.json").write_bytes(second)
    two = opened(folder)
    assert two.fingerprint != first
    assert two.score(PAIRS) == opened(checkpoint("marian", seed=2)).score(PAIRS)
    # Where there is one file, transformers does not look at the index.
    save_file(weights[1], folder / "model.safetensors", metadata={"format": "pt"})
    assert opened(folder).fingerprint.model == opened(checkpoint("marian")).fingerprint.model


def test_weights_that_the_configuration_names(checkpoint, tmp_path):
    folder = copied(checkpoint("marian"), tmp_path / "m")
    shutil.copy(checkpoint("marian", seed=2) / "model.safetensors", folder / "mine.safetensors")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "transformers_weights": "mine.safetensors"}))
    assert opened(folder).score(PAIRS) == opened(checkpoint("marian", seed=2)).score(PAIRS)
    before = opened(folder).fingerprint
    shutil.copy(checkpoint("marian") / "model.safetensors", folder / "mine.safetensors")
    assert opened(folder).fingerprint != before


@pytest.mark.parametrize("shared_store", [False, True])
def test_a_snapshot_in_the_hub_s_cache(shared_store, checkpoint, tmp_path):
    """Links from a snapshot to the blobs beside it are as good as the files themselves."""
    blobs = tmp_path / "hub" / "models--owner--tiny" / "blobs"
    snapshot = blobs.parent / "snapshots" / ("1" * 40)
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, path in enumerate(sorted(checkpoint("marian").iterdir())):
        blob = blobs / f"{number:040}"
        if shared_store:
            store = tmp_path / "hub" / "blobs" / "ab" / f"{number:064}"
            store.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, store)
            blob.symlink_to(store)
        else:
            shutil.copy(path, blob)
        (snapshot / path.name).symlink_to(f"../../blobs/{blob.name}")
    assert opened(snapshot).fingerprint == opened(checkpoint("marian")).fingerprint
    (tmp_path / "link").symlink_to(snapshot)
    assert opened(tmp_path / "link").fingerprint == opened(checkpoint("marian")).fingerprint


def test_links_that_stay_in_the_folder(checkpoint, tmp_path):
    folder = copied(checkpoint("marian"), tmp_path / "m")
    (folder / "real").mkdir()
    (folder / "model.safetensors").rename(folder / "real" / "weights")
    (folder / "model.safetensors").symlink_to("real/weights")
    assert opened(folder).fingerprint == opened(checkpoint("marian")).fingerprint


def overwrite(path: Path) -> None:
    """Write into a file where it lies, and give it back the time that it had."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.seek(before.st_size - 4000)
        file.write(b"\0\0\0\x40" * 1000)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    new = path.with_name("new")
    new.write_bytes(path.read_bytes())
    os.replace(new, path)


@pytest.mark.parametrize("harm", [overwrite, replace, Path.unlink])
def test_weights_that_change_during_a_run_are_noticed(harm, checkpoint, tmp_path):
    """Weights are mapped into memory: written into, they would change the scores of a network in use."""
    folder = copied(checkpoint("marian"), tmp_path / "m")
    system = open_system(spec("marian", folder, forward="transformers"))
    ensemble = Ensemble("ensemble", [system, opened(checkpoint("marian"))])
    asked = cached(system, tmp_path / "answers.sqlite")
    before = asked.score(PAIRS[:1])
    harm(folder / "model.safetensors")
    said = r"m/model\.safetensors (changed while it was|is gone, although it was) in use"
    for ask in (
        lambda: asked.score(PAIRS[1:]),
        lambda: system.translate(SOURCES[:1]),
        lambda: system.sample(SOURCES[:1], n=1, seed=0),
        lambda: system.top_k(SOURCES[:1], k=1),
        lambda: system.encode(SOURCES[:1]),
        lambda: system.fingerprint,
        lambda: ensemble.score(PAIRS[1:]),
        lambda: ensemble.fingerprint,
    ):
        with pytest.raises(SystemFailure, match=said):
            ask()
    assert asked.score(PAIRS[:1]) == before, "what was answered before stays known"


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "source.spm", "model.bin"])
def test_other_files_that_change_during_a_run_are_noticed(name, checkpoint, tmp_path):
    folder = copied(checkpoint("marian"), tmp_path / "m")
    if name == "model.bin":
        system = open_system(f"ct2:{converted(folder, tmp_path)}?tokenizer={folder}&max_length=48")
        folder = tmp_path / "ct2"
    else:
        system = opened(folder)
    system.score(PAIRS)
    (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    for ask in (lambda: system.score(PAIRS), lambda: system.fingerprint):
        with pytest.raises(SystemFailure, match=f"{name} changed while it was in use"):
            ask()


def test_files_that_change_while_they_are_read(tmp_path):
    (tmp_path / "a").write_text("a")
    files = SealedFiles(tmp_path, ["a"])
    view = files.view()
    folder = view.__enter__()
    assert [path.name for path in folder.iterdir()] == ["a"]
    (tmp_path / "a").write_text("bb")
    with pytest.raises(SystemFailure, match="a changed while it was in use"):
        view.__exit__(None, None, None)
    assert not folder.exists()


def test_a_new_link_or_new_permissions_are_no_change(tmp_path):
    (tmp_path / "a").write_text("a")
    files = SealedFiles(tmp_path, ["a"])
    digest = files.digest()
    os.link(tmp_path / "a", tmp_path / "b")
    (tmp_path / "a").chmod(0o600)
    assert files.digest() == digest
    sent = pickle.loads(pickle.dumps(files))
    (tmp_path / "a").unlink()
    assert sent.digest() == digest, "another machine has what was sent, and no such file"


def test_what_an_llm_says_depends_on_all_its_templates(tmp_path):
    folder = build_causal(tmp_path / "m", chat=True)

    def ask() -> Any:
        return open_system(f"llm:{folder}?source=English&target=German&max_length=60").fingerprint

    plain = ask()
    assert plain == ask()
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "tools.jinja").write_text("{{ messages }}")
    assert ask() != plain


def test_code_that_is_trusted_counts(checkpoint, tmp_path):
    folder = copied(checkpoint("marian"), tmp_path / "m")
    (folder / "own.py").write_text("x = 1\n")

    def ask(more: str) -> Any:
        return open_system(f"{spec('marian', folder)}{more}").fingerprint

    one = ask("&remote_code=yes")
    (folder / "own.py").write_text("x = 2\n")
    assert ask("&remote_code=yes") != one
    assert ask("") == opened(checkpoint("marian")).fingerprint, "it is not read, so it does not count"


def test_code_of_another_place_is_refused_where_code_is_trusted(checkpoint, tmp_path):
    folder = copied(checkpoint("marian"), tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    own = {"AutoModelForSeq2SeqLM": "other/place--own.Model"}
    (folder / "config.json").write_text(json.dumps({**config, "auto_map": own}))
    with pytest.raises(BabelscopeError, match="wants code of another place"):
        open_system(f"{spec('marian', folder)}&remote_code=yes")


def converted(folder: Path, tmp_path: Path) -> Path:
    converters = pytest.importorskip("ctranslate2").converters
    converters.TransformersConverter(str(folder)).convert(str(tmp_path / "ct2"))
    return tmp_path / "ct2"


def test_of_a_converted_folder_only_what_is_read_counts(checkpoint, tmp_path):
    folder = converted(checkpoint("marian"), tmp_path)
    tokenizer = copied(checkpoint("marian"), tmp_path / "t", "*.safetensors")
    before = open_system(f"ct2:{folder}?tokenizer={tokenizer}").fingerprint
    (folder / "README.md").write_text("new")
    moved = Path(shutil.move(folder, tmp_path / "moved"))
    name = f"ct2:{moved}?tokenizer={tokenizer}"
    assert open_system(name).fingerprint == before
    # It chooses the class of the tokenizer.
    (tokenizer / "config.json").write_bytes((tokenizer / "config.json").read_bytes() + b" ")
    assert open_system(name).fingerprint.tokenizer != before.tokenizer
    [vocabulary] = moved.glob("*vocabulary.json")
    vocabulary.write_bytes(vocabulary.read_bytes() + b" ")
    assert open_system(name).fingerprint.model != before.model
