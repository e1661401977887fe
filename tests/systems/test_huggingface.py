"""`hf:` on tiny random checkpoints of every family: scores do not depend on company, tokens are those generated."""

from __future__ import annotations

import functools
import math
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import babelscope as bs
from babelscope.core.system import Drawing, Scored, count_flags
from babelscope.systems.cache import cached
from babelscope.systems.contract import ask_sample
from babelscope.systems.models.hf import HuggingFace
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support.models import FAMILIES, OPTIONS, SOURCES, TARGETS, build, build_causal, spec
from tests.support.toys import ToySystem

Build = Callable[..., Path]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture(scope="module")
def opened(checkpoint: Build) -> Callable[[str], HuggingFace]:
    return functools.cache(lambda family: open_system(spec(family, checkpoint(family))))


def plain(system: HuggingFace, source: str, target_ids: list[int]) -> list[float]:
    """The same scores straight from transformers, one pair, no batch, no padding, no cache."""
    [source_ids] = system.tokens.encode_sources([system.prefix + source])
    fed = [*system.vocabulary.prefix, *target_ids[:-1]]
    with torch.inference_mode():
        logits = system.network(
            input_ids=torch.tensor([source_ids]), decoder_input_ids=torch.tensor([fed]), use_cache=False
        ).logits[0, len(system.vocabulary.prefix) - 1 :]
    logits = logits.double()
    logits[:, list(system.vocabulary.masked)] = -torch.inf
    return logits.log_softmax(-1)[range(len(target_ids)), target_ids].tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_those_of_transformers(family, opened):
    system = opened(family)
    for (source, target), scored in zip(PAIRS, system.score(PAIRS), strict=True):
        assert scored.text == target
        assert scored.tokens[-1] == "</s>"
        expected = plain(system, source, system.tokens.ids_of(scored))
        assert scored.logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("penalty", [-0.5, 0.0, 0.6, 1.0, 2.0])
def test_beam_search_is_that_of_transformers(penalty, checkpoint, monkeypatch):
    """With the same length penalty, the best hypothesis is the one that `generate` finds."""
    # The checkpoint masks pad itself, since `generate` would take it out only after the softmax.
    system = open_system(spec("marian", checkpoint("marian", masked_pad=True), length_penalty=penalty))
    monkeypatch.setattr(system.network.generation_config, "length_penalty", penalty)
    for source, [scored] in zip(SOURCES, system.translate(SOURCES, beam=3), strict=True):
        ids = torch.tensor(system.tokens.encode_sources([system.prefix + source]))
        output = system.network.generate(
            input_ids=ids,
            decoder_input_ids=torch.tensor([system.vocabulary.prefix]),
            num_beams=3,
            do_sample=False,
            early_stopping=False,
            max_new_tokens=system.vocabulary.target_limit,
            bad_words_ids=[list(system.vocabulary.masked)],
        )[0, len(system.vocabulary.prefix) :].tolist()
        assert system.tokens.ids_of(scored) == output[: len(scored.tokens)]


def test_texts_that_do_not_survive_tokenization_are_noted(opened):
    kept, spaces, unknown = opened("marian").score(
        [(SOURCES[0], TARGETS[0]), (SOURCES[0], "der  alte Mann"), (SOURCES[0], "der Ω")]
    )
    assert kept.notes == ()
    assert spaces.notes == ("changed",)
    assert unknown.notes == ("changed",)
    assert "<unk>" in unknown.tokens


def test_fsmt_reads_targets_with_the_target_vocabulary(opened):
    system = opened("fsmt")
    [scored] = system.score([(SOURCES[0], "öffnet")])
    assert "<unk>" not in scored.tokens, "ö is in the target vocabulary only"
    assert scored.text == "öffnet"
    assert scored.notes == ()


SPECIAL = [
    "the </s> letter",
    "<pad>",
    ">>de<< the letter",
    "a <unk> b",
    "",
    " leading",
    "trailing ",
    "ﬁ ½ 👩‍🚒",
]


@pytest.mark.parametrize("text", SPECIAL)
def test_raw_sentencepiece_gives_marian_tokenizers_ids(text, opened):
    tokens = opened("marian").tokens
    assert tokens.encode_sources([text])[0] == tokens.tokenizer(text)["input_ids"]
    assert tokens.encode_targets([text], eos=0)[0] == tokens.tokenizer(text_target=text)["input_ids"]


def test_what_is_too_long_is_refused_or_counted(checkpoint):
    long = " ".join(["dog"] * 10_000)
    system = open_system(spec("marian", checkpoint("marian")))
    with pytest.raises(
        BabelscopeError, match=r"source 1 has \d+ tokens, .* takes 64: 'dog dog.*truncate=yes"
    ):
        system.score([(long, TARGETS[0])])
    cutting = open_system(spec("marian", checkpoint("marian"), truncate="yes"))
    [scored] = cutting.score([(long, long)])
    assert scored.notes == ("changed", "truncated") or scored.notes == ("truncated",)
    assert len(scored.tokens) == 48
    assert scored.tokens[-1] == "</s>"
    [drawn] = ask_sample(cutting, [long], n=3, seed=1)
    assert all("truncated" in each.notes for each in drawn)


def test_a_model_that_gives_nan_is_refused(checkpoint):
    system = open_system(spec("marian", checkpoint("marian")))
    with torch.inference_mode():
        system.model._output_bias[:] = float("nan")
    with pytest.raises(BabelscopeError, match="nan as the log-probability"):
        system.score(PAIRS)


def test_out_of_memory_on_one_sentence_is_told(checkpoint, monkeypatch):
    system = open_system(spec("marian", checkpoint("marian")))

    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("no")

    monkeypatch.setattr(system.model, "force", full)
    with pytest.raises(SystemFailure, match="out of memory on a single sentence"):
        system.score(PAIRS)
    monkeypatch.setattr(system.model, "encode", full)
    with pytest.raises(SystemFailure, match="out of memory on a single sentence"):
        system.translate(SOURCES)


@pytest.mark.parametrize("family", ["m2m100", "nllb", "mbart50"])
def test_languages_must_be_known(family, checkpoint):
    folder = checkpoint(family)
    with pytest.raises(BabelscopeError, match=r"needs a source and a target language; set \?source="):
        open_system(f"hf:{folder}")
    with pytest.raises(BabelscopeError, match="target=xx is not one of them"):
        open_system(f"hf:{folder}?{OPTIONS[family].partition('&')[0]}&target=xx")


def test_the_target_language_changes_scores(checkpoint):
    german = open_system(spec("nllb", checkpoint("nllb")))
    french = open_system(f"hf:{checkpoint('nllb')}?source=eng_Latn&target=fra_Latn")
    assert german.score(PAIRS)[0].total != pytest.approx(french.score(PAIRS)[0].total, abs=1e-3)
    assert german.fingerprint.digest != french.fingerprint.digest


def test_languages_are_refused_where_they_do_nothing(checkpoint):
    with pytest.raises(BabelscopeError, match="no language tokens"):
        open_system(f"hf:{checkpoint('marian')}?source=en&target=de")
    prefixed = open_system(
        f"hf:{checkpoint('t5')}?source=English&target=German&prefix=translate {{source}} to {{target}}: "
    )
    assert prefixed.prefix == "translate English to German: "


@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "vocab.json", "source.spm"])
def test_configuration_and_tokenizer_are_in_the_fingerprint(name, checkpoint, tmp_path):
    folder = shutil.copytree(checkpoint("marian"), tmp_path / "copy")
    before = open_system(f"hf:{folder}").fingerprint
    path = folder / name
    # A sentencepiece file ends in a field that its reader does not know.
    path.write_bytes(path.read_bytes() + (b"\x98\x06\x00" if path.suffix == ".spm" else b" "))
    assert open_system(f"hf:{folder}").fingerprint.digest != before.digest
    for option in ("truncate=yes", "prefix=x: ", "dtype=float64"):
        changed = open_system(f"hf:{checkpoint('marian')}?{option}").fingerprint
        assert changed.digest != before.digest


def test_what_is_no_model_is_refused(checkpoint, tmp_path):
    folder = shutil.copytree(checkpoint("marian"), tmp_path / "copy")
    (folder / "model.safetensors").unlink()
    for name, told in (
        ("nothing", "no such folder"),
        ("copy/vocab.json", "is a file"),
        ("copy", "has no weights"),
    ):
        with pytest.raises(BabelscopeError, match=told):
            open_system(f"hf:{tmp_path / name}")


def test_different_samples_come_with_their_threshold(checkpoint):
    system = open_system(spec("marian", checkpoint("marian")))
    for drawn, threshold in system.sample_distinct(SOURCES[:2], n=12, seed=1, max_length=5):
        assert len({each.tokens for each in drawn}) == 12
        assert math.isfinite(threshold)


def test_a_system_that_cannot_is_not_asked_for_a_temperature():
    toy: Any = ToySystem()  # which takes no `drawing`
    right = toy.sample(["a"], n=3, seed=1)
    assert ask_sample(toy, ["a"], n=3, seed=1, drawing=Drawing()) == right
    with pytest.raises(BabelscopeError, match="toy draws from its whole distribution only"):
        ask_sample(toy, ["a"], n=3, seed=1, drawing=Drawing(temperature=0.5))


def test_what_is_remembered_was_drawn_in_the_same_way(tmp_path):
    asked: list[Drawing | None] = []

    class Warm(ToySystem):
        def sample(  # type: ignore[override]
            self, sources: Sequence[str], *, n: int, seed: int, drawing: Drawing | None = None
        ) -> list[list[Scored]]:
            asked.append(drawing)
            return super().sample(sources, n=n, seed=seed + 1000 * (drawing is not None))

    system = cached(Warm(), tmp_path / "answers.sqlite")
    plain = ask_sample(system, ["a"], n=4, seed=1)
    warm = ask_sample(system, ["a"], n=4, seed=1, drawing=Drawing(temperature=2))
    assert plain != warm
    for _ in range(2):
        assert ask_sample(system, ["a"], n=4, seed=1, drawing=Drawing(temperature=2)) == warm
        assert ask_sample(system, ["a"], n=4, seed=1, drawing=Drawing()) == plain
    ask_sample(system, ["a"], n=4, seed=1, drawing=Drawing(temperature=2, top_k=3))
    assert asked == [None, Drawing(temperature=2), Drawing(temperature=2, top_k=3)]


MORE = 7
KINDS = ("llama", "gpt2", "marian", "t5", "m2m100")


def padded(kind: str, folder: Path) -> tuple[str, int]:
    """A tiny model with rows that no token has, and how many rows it had before."""
    import transformers as t

    causal = kind in ("llama", "gpt2")
    build_causal(folder, kind=kind) if causal else build(kind, folder)
    loader: Any = t.AutoModelForCausalLM if causal else t.AutoModelForSeq2SeqLM
    network = loader.from_pretrained(folder)
    before = network.get_output_embeddings().weight.shape[0]
    torch.manual_seed(5)
    network.resize_token_embeddings(before + MORE, mean_resizing=False)
    with torch.no_grad():
        network.get_output_embeddings().weight[before:].normal_(0, 1.5)
    network.save_pretrained(folder)
    name = f"llm:{folder}?source=English&target=German&max_length=8&end=eos" if causal else spec(kind, folder)
    return name, before


@pytest.fixture(scope="module", params=KINDS)
def padded_system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, int]:
    name, before = padded(request.param, tmp_path_factory.mktemp("padded") / request.param)
    return bs.open_system(name), before


def unnamed_in(answers: list[list[Scored]]) -> list[Scored]:
    return [each for group in answers for each in group if "unnamed" in each.notes]


def test_what_has_no_name_is_shown_noted_and_scored_as_it_was_drawn(padded_system):
    model, before = padded_system
    drawn = model.sample(SOURCES[:2], n=30, seed=1)
    found = unnamed_in(drawn)
    assert found, "the rows were drawn"
    for each in found:
        ids = [int(number) for token in each.tokens for number in re.findall(r"^<id (\d+)>$", token)]
        assert ids
        assert "<id" not in each.text
        assert "None" not in each.text
        assert "unfinished" in each.notes or "changed" in each.notes, "its text is not its tokens"
    named = [each for group in drawn for each in group if "unnamed" not in each.notes]
    assert not any(token.startswith("<id ") for each in named for token in each.tokens)
    for source, group in zip(SOURCES, drawn, strict=False):
        for one, again in zip(group, model.score([(source, each) for each in group]), strict=True):
            assert again.tokens == one.tokens
            assert again.logprobs == pytest.approx(one.logprobs, abs=1e-4)
    assert count_flags({"unnamed": len(found)}) == {"unnamed": len(found)}
    assert model.vocabulary.size >= before + MORE


def test_tokens_of_another_vocabulary_are_refused_in_a_sentence(padded_system):
    model, _ = padded_system
    for token in ("no such token", "<id 3>", "<id 3", "<id 999999999999>"):
        with pytest.raises(BabelscopeError, match="is not in the vocabulary"):
            model.score([(SOURCES[0], Scored("x", (token,), (0.0,)))])
