"""`babelscope doctor` finds each fault put into a tiny trained model, and none in sound ones."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from babelscope import BabelscopeError, open_system
from babelscope.core.system import Scored
from babelscope.systems.doctor import doctor, examine
from tests.support import models
from tests.support.models import FAMILIES, SOURCES, TARGETS

Sound = Callable[[str], tuple[str, Path]]
LANGUAGES = "source=English&target=German&max_length=48&end=eos"


def fit(system: Any, folder: Path) -> None:
    """Train a network on the pairs until it knows them, and save it."""
    torch.manual_seed(1)
    network, prefix = system.network, list(system.vocabulary.prefix)
    sources, targets = system._source_ids(SOURCES)[0], system._target_ids(TARGETS)[0]
    causal = hasattr(system, "languages")
    starts = [list(source) if causal else prefix for source in sources]
    fed, real = pad_rows([[*start, *target[:-1]] for start, target in zip(starts, targets, strict=True)])
    wanted, counted = pad_rows([[0] * (len(s) - 1) + list(t) for s, t in zip(starts, targets, strict=True)])
    for row, start in zip(counted, starts, strict=True):
        row[: len(start) - 1] = False
    given: dict[str, Any] = {"input_ids": fed, "attention_mask": real}
    if not causal:
        ids, there = pad_rows(sources)
        given = {
            "input_ids": ids,
            "attention_mask": there,
            "decoder_input_ids": fed,
            "decoder_attention_mask": real,
        }
    network.train().requires_grad_(True)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(300):
        loss = torch.nn.functional.cross_entropy(
            network(**given, use_cache=False).logits[counted], wanted[counted]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if float(loss.detach()) < 0.05:
            break
    network.save_pretrained(folder)


def pad_rows(rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows as a matrix, and where they are."""
    longest = max(map(len, rows))
    real = torch.tensor([[place < len(row) for place in range(longest)] for row in rows])
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows]), real


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    @functools.cache
    def build(family: str) -> tuple[str, Path]:
        folder = tmp_path_factory.mktemp(family) / "model"
        if family in FAMILIES:
            models.build(family, folder)
            spec = models.spec(family, folder)
        else:
            models.build_causal(folder, kind=family, chat=True)
            spec = f"llm:{folder}?{LANGUAGES}"
        fit(open_system(f"{spec}&forward=transformers"), folder)
        return spec, folder

    return build


def faults(spec: str) -> dict[str, str]:
    return {each.check: each.fault for each in doctor(spec, SOURCES, TARGETS) if each.fault}


@pytest.mark.parametrize("family", [*FAMILIES, "llama", "gpt2"])
def test_a_sound_model_has_no_fault(sound: Sound, family: str) -> None:
    spec, _ = sound(family)
    assert faults(spec) == {}


def change(path: Path, **settings: Any) -> None:
    path.write_text(
        json.dumps({**json.loads(path.read_text(encoding="utf-8")), **settings}), encoding="utf-8"
    )


def reweigh(folder: Path, **changed: Callable[[torch.Tensor], torch.Tensor] | None) -> None:
    """Change tensors or, with None, remove them; names have __ in place of dots."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    for key, how in changed.items():
        name = key.replace("__", ".")
        if how is None:
            del weights[name]
        else:
            weights[name] = how(weights[name]).contiguous()
    save_file(weights, path, metadata={"format": "pt"})


def missing(folder: Path) -> None:
    reweigh(folder, model__decoder__layers__1__fc1__weight=None)


def other_start(folder: Path) -> None:
    for name in ("config.json", "generation_config.json"):
        change(folder / name, decoder_start_token_id=0)


def no_end(folder: Path) -> None:
    reweigh(folder, final_logits_bias=lambda bias: bias.index_fill(1, torch.tensor([0]), -1e9))


def unapplied(folder: Path) -> None:
    change(folder / "generation_config.json", no_repeat_ngram_size=3)


def other_tokenizer(folder: Path) -> None:
    words = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    ordinary = [word for word in words if word not in ("</s>", "<unk>", "<pad>")]
    ids = [words[word] for word in ordinary]
    moved = dict(zip(ordinary, ids[7:] + ids[:7], strict=True))
    (folder / "vocab.json").write_text(json.dumps({**words, **moved}), encoding="utf-8")


def overflow(folder: Path) -> None:
    """The same logits in float32; in float16 the last norm's weights are infinite."""
    reweigh(
        folder,
        model__norm__weight=lambda weight: weight * 1e6,
        lm_head__weight=lambda weight: weight * 1e-6,
    )


def untrained_languages(folder: Path) -> None:
    size = len(json.loads((folder / "vocab.json").read_text(encoding="utf-8")))

    def same(weight: torch.Tensor) -> torch.Tensor:
        return torch.cat([weight[:size], weight[size:].mean(0, keepdim=True).expand(len(weight) - size, -1)])

    reweigh(folder, model__shared__weight=same)


def no_template(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()


FAULTS: dict[str, tuple[str, Callable[[Path], None], str, str, str]] = {
    # family, what is spoiled, options, check, words of the finding
    "a missing tensor": ("marian", missing, "", "opens", "lack 'model.decoder.layers.1.fc1.weight'"),
    "another decoder start": (
        "marian",
        other_start,
        "",
        "decoder start",
        "trained to start with their pad token",
    ),
    "an end that is never likely": ("marian", no_end, "", "end of sentence", "never likely"),
    "settings not applied": ("marian", unapplied, "", "generation settings", "no_repeat_ngram_size = 3"),
    "another tokenizer": ("marian", other_tokenizer, "", "references", "no better than chance"),
    "languages without effect": ("m2m100", untrained_languages, "", "language effect", "changes nothing"),
    "float16 that overflows": ("llama", overflow, "&dtype=float16", "precision", "say dtype=float32"),
    "a chat without a template": ("llama", no_template, "", "chat template", "no chat template"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_files_is_found(sound: Sound, tmp_path: Path, fault: str) -> None:
    family, spoil, options, check, words = FAULTS[fault]
    spec, folder = sound(family)
    shutil.copytree(folder, tmp_path / "model")
    spoil(tmp_path / "model")
    found = faults(spec.replace(str(folder), str(tmp_path / "model")) + options)
    assert words in found[check]


def test_a_chat_template_that_is_not_used(sound: Sound) -> None:
    spec, _ = sound("llama")
    assert "asked without it" in faults(f"{spec}&chat=no")["chat template"]


def in_memory(spec: str, spoil: Callable[[Any], None]) -> dict[str, str]:
    system = open_system(spec)
    spoil(system)

    def reopen(**options: str) -> Any:
        return open_system(f"{spec}&" + "&".join(f"{name}={value}" for name, value in options.items()))

    return {each.check: each.fault for each in examine(system, SOURCES, TARGETS, reopen) if each.fault}


def test_probabilities_that_do_not_sum_to_one(sound: Sound) -> None:
    def spoil(system: Any) -> None:
        step = system.step
        system.step = lambda *asked: step(*asked) + 0.1

    assert "sum to 1.105" in in_memory(sound("marian")[0], spoil)["probabilities"]


def test_a_forward_pass_of_ours_that_differs(sound: Sound) -> None:
    def spoil(system: Any) -> None:
        system.model._target_embedding = 1.2 * system.model._target_embedding

    assert "than transformers' own forward pass" in in_memory(sound("marian")[0], spoil)["forward pass"]


def test_scores_that_depend_on_the_batch(sound: Sound) -> None:
    def spoil(system: Any) -> None:
        score = system.score

        def padded(pairs: Sequence[tuple[Any, Any]]) -> list[Scored]:
            answers = score(pairs)
            return answers if len(pairs) == 1 else [
                Scored(each.text, each.tokens, tuple(2 * p for p in each.logprobs)) for each in answers
            ]  # fmt: skip

        system.score = padded

    assert "padding is read as text" in in_memory(sound("marian")[0], spoil)["batches"]


def test_a_text_without_its_beginning(tmp_path: Path) -> None:
    folder = models.build_causal(tmp_path / "model")
    change(folder / "tokenizer_config.json", bos_token="<|user|>")
    spec = f"llm:{folder}?{LANGUAGES}&prompt={{text}}"
    system = open_system(f"{spec}&forward=transformers")
    begin = system.tokens.tokenizer.bos_token_id
    assert begin is not None
    source_ids = system._source_ids

    def with_beginning(asked: Sequence[Any]) -> Any:
        ids, notes = source_ids(asked)
        return [(begin, *row) for row in ids], notes

    system._source_ids = with_beginning
    fit(system, folder)
    found = {each.check: each.fault for each in doctor(spec, TARGETS) if each.fault}
    assert "prompts begin without <|user|>" in found["beginning of text"]


def test_opening_warns_of_what_is_seen_without_asking(sound: Sound, tmp_path: Path) -> None:
    spec, folder = sound("marian")
    shutil.copytree(folder, tmp_path / "model")
    unapplied(tmp_path / "model")
    with pytest.warns(RuntimeWarning, match="no_repeat_ngram_size = 3, which is not applied"):
        open_system(spec.replace(str(folder), str(tmp_path / "model")))


def test_a_name_that_is_none() -> None:
    with pytest.raises(BabelscopeError, match="names no system"):
        open_system("nothing")
    assert "names no system" in faults("nothing")["opens"]


def test_an_output_layer_that_is_not_used(sound: Sound, tmp_path: Path) -> None:
    """transformers unties what is stored twice and differs, unless the configuration forbids it."""
    spec, folder = sound("llama")
    shutil.copytree(folder, tmp_path / "model")
    change(tmp_path / "model" / "config.json", tie_word_embeddings=True)
    assert "output layer" in faults(spec.replace(str(folder), str(tmp_path / "model")))["weights"]


def test_systems_without_an_open_network_are_examined_as_far_as_they_go(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("eins\n", encoding="utf-8")
    found = {each.check: each for each in doctor(f"file:{tmp_path / 'out'}")}
    assert {each.state for each in found.values()} == {"fine", "skipped"}
    found = {each.check: each for each in doctor("ensemble:lab:teacher,lab:control")}
    assert {each.state for each in found.values()} == {"fine", "skipped"}
    assert found["batches"].state == "fine"
