"""`hf:` on tiny random checkpoints of every family: scores do not depend on company, tokens are those generated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from babelscope.core.answers import Scored, capabilities
from babelscope.systems.huggingface import HuggingFace
from babelscope.systems.opening import open_system
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support.models import FAMILIES, OPTIONS, SOURCES, TARGETS, spec

Build = Callable[..., Path]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture(scope="module")
def opened(checkpoint: Build) -> Callable[[str], HuggingFace]:
    systems: dict[str, HuggingFace] = {}

    def open_family(family: str) -> HuggingFace:
        if family not in systems:
            systems[family] = open_system(spec(family, checkpoint(family)))
        return systems[family]

    return open_family


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
def test_scores_are_those_of_transformers(family: str, opened: Callable[[str], HuggingFace]) -> None:
    system = opened(family)
    for (source, target), scored in zip(PAIRS, system.score(PAIRS), strict=True):
        assert scored.text == target
        assert scored.tokens[-1] == "</s>"
        expected = plain(system, source, system.tokens.ids_of(scored))
        assert scored.logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_company_does_not_change_a_score(
    family: str, opened: Callable[[str], HuggingFace], data: st.DataObject
) -> None:
    """Batch size, order, padding, repeated sources and repeated targets change nothing beyond 1e-4 a token."""
    system = opened(family)
    numbers = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
    system._budget = data.draw(st.sampled_from([1, 40, 200, 4096]))
    asked = [(SOURCES[i], TARGETS[j]) for i, j in numbers]
    for pair, scored in zip(asked, system.score(asked), strict=True):
        [alone] = system.score([pair])
        assert scored.tokens == alone.tokens
        assert scored.logprobs == pytest.approx(alone.logprobs, abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_translations_carry_the_tokens_generated(family: str, opened: Callable[[str], HuggingFace]) -> None:
    system = opened(family)
    answers = system.translate(SOURCES[:3], beam=3, n_best=2)
    assert [len(group) for group in answers] == [2, 2, 2]
    for source, group in zip(SOURCES, answers, strict=False):
        assert len({scored.tokens for scored in group}) == 2
        for scored in group:
            [again] = system.score([(source, scored)])
            assert again == scored or again.logprobs == pytest.approx(scored.logprobs, abs=1e-4)
            assert ("unfinished" in scored.notes) == (scored.tokens[-1] != "</s>")
            expected = plain(system, source, system.tokens.ids_of(scored))
            assert scored.logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_search_takes_the_most_probable_token(
    family: str, opened: Callable[[str], HuggingFace]
) -> None:
    """With a beam of 1 every token is the argmax of its row, whatever else is in the batch."""
    system = opened(family)
    for source, [scored] in zip(SOURCES, system.translate(SOURCES, beam=1), strict=True):
        ids = system.tokens.ids_of(scored)
        memory = system.encode([source])
        node = 0
        for position, token in enumerate([*system.vocabulary.prefix, *ids[:-1]]):
            row = system.step(memory, [node], [token])[0]
            node = memory.size - 1
            if position >= len(system.vocabulary.prefix) - 1:
                chosen = ids[position - len(system.vocabulary.prefix) + 1]
                assert row[chosen] >= row.max() - 1e-5


@pytest.mark.parametrize("penalty", [-0.5, 0.0, 0.6, 1.0, 2.0])
def test_beam_search_is_that_of_transformers(
    penalty: float, checkpoint: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_an_empty_target_is_a_target(opened: Callable[[str], HuggingFace]) -> None:
    [scored] = opened("marian").score([(SOURCES[0], "")])
    assert scored.tokens == ("</s>",)
    assert scored.logprobs[0] < 0


def test_texts_that_do_not_survive_tokenisation_are_noted(opened: Callable[[str], HuggingFace]) -> None:
    kept, spaces, unknown = opened("marian").score(
        [(SOURCES[0], TARGETS[0]), (SOURCES[0], "der  alte Mann"), (SOURCES[0], "der Ω")]
    )
    assert kept.notes == ()
    assert spaces.notes == ("changed",)
    assert unknown.notes == ("changed",)
    assert "<unk>" in unknown.tokens


def test_fsmt_reads_targets_with_the_target_vocabulary(opened: Callable[[str], HuggingFace]) -> None:
    system = opened("fsmt")
    [scored] = system.score([(SOURCES[0], "öffnet")])
    assert "<unk>" not in scored.tokens, "ö is in the target vocabulary only"
    assert scored.text == "öffnet"
    assert scored.notes == ()


@pytest.mark.parametrize(
    "text",
    [
        "the </s> letter",
        "<pad>",
        ">>de<< the letter",
        "a <unk> b",
        "",
        " leading",
        "trailing ",
        "ﬁ ½ …",
        "👩‍🚒",
    ],
)
def test_raw_sentencepiece_gives_marian_tokenizers_ids(
    text: str, opened: Callable[[str], HuggingFace]
) -> None:
    tokens = opened("marian").tokens
    assert tokens.encode_sources([text])[0] == tokens.tokenizer(text)["input_ids"]
    assert tokens.encode_targets([text], eos=0)[0] == tokens.tokenizer(text_target=text)["input_ids"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(text=st.text(max_size=40))
def test_raw_sentencepiece_gives_marian_tokenizers_ids_always(
    text: str, opened: Callable[[str], HuggingFace]
) -> None:
    tokens = opened("marian").tokens
    text = text.encode("utf-8", "ignore").decode().replace("\0", "")
    assert tokens.encode_sources([text])[0] == tokens.tokenizer(text)["input_ids"]
    assert tokens.decode([tokens.encode_targets([text], eos=0)[0]])[0] == tokens.tokenizer.decode(
        tokens.tokenizer(text_target=text)["input_ids"], skip_special_tokens=True
    )


def test_what_is_too_long_is_refused_or_counted(checkpoint: Build) -> None:
    long = " ".join(["dog"] * 10_000)
    system = open_system(spec("marian", checkpoint("marian")))
    with pytest.raises(
        BabelscopeError, match=r"source 2 has \d+ tokens, but .* takes 64: 'dog dog.*truncate=yes"
    ):
        system.score([(SOURCES[0], TARGETS[0]), (long, TARGETS[0])])
    with pytest.raises(BabelscopeError, match=r"target 1 has \d+ tokens, but .* takes 48"):
        system.score([(SOURCES[0], long)])
    with pytest.raises(BabelscopeError, match=r"source 1 has \d+ tokens"):
        system.translate([long])
    cutting = open_system(spec("marian", checkpoint("marian"), truncate="yes"))
    [scored] = cutting.score([(long, long)])
    assert scored.notes == ("changed", "truncated") or scored.notes == ("truncated",)
    assert len(scored.tokens) == 48
    assert scored.tokens[-1] == "</s>"
    assert cutting.fingerprint != system.fingerprint


@pytest.mark.parametrize("source", ["", "  ", "a\nb", "a\rb", "a\0b", "a\ud800b"])
def test_what_is_no_line_of_text_is_refused(source: str, opened: Callable[[str], HuggingFace]) -> None:
    system = opened("marian")
    for ask in (
        lambda: system.translate([SOURCES[0], source]),
        lambda: system.score([(SOURCES[0], ""), (source, "")]),
    ):
        with pytest.raises(BabelscopeError, match=r"^source 2 "):
            ask()


def test_a_model_that_gives_nan_is_refused(checkpoint: Build) -> None:
    system = open_system(spec("marian", checkpoint("marian")))
    with torch.inference_mode():
        system.model._output_bias[:] = float("nan")
    with pytest.raises(BabelscopeError, match="nan as the log-probability"):
        system.score(PAIRS)


def test_out_of_memory_on_one_sentence_is_told(checkpoint: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    system = open_system(spec("marian", checkpoint("marian")))

    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("no")

    monkeypatch.setattr(system.model, "force", full)
    with pytest.raises(SystemFailure, match="out of memory on a single sentence"):
        system.score(PAIRS)
    monkeypatch.setattr(system.model, "encode", full)
    with pytest.raises(SystemFailure, match="out of memory on a single sentence"):
        system.translate(SOURCES)


def test_tokens_of_another_vocabulary_are_refused(opened: Callable[[str], HuggingFace]) -> None:
    foreign = Scored("x", ("no such piece", "</s>"), (-1.0, -1.0))
    with pytest.raises(BabelscopeError, match="not in the vocabulary"):
        opened("marian").score([(SOURCES[0], foreign)])
    with pytest.raises(BabelscopeError, match="has no tokens"):
        opened("marian").score([(SOURCES[0], Scored("x"))])


@pytest.mark.parametrize("family", ["m2m100", "nllb", "mbart50"])
def test_languages_must_be_known(family: str, checkpoint: Build) -> None:
    folder = checkpoint(family)
    with pytest.raises(BabelscopeError, match=r"needs a source and a target language; say \?source="):
        open_system(f"hf:{folder}")
    with pytest.raises(BabelscopeError, match="target=xx is not one of them"):
        open_system(f"hf:{folder}?{OPTIONS[family].partition('&')[0]}&target=xx")


def test_the_target_language_changes_scores(checkpoint: Build) -> None:
    german = open_system(spec("nllb", checkpoint("nllb")))
    french = open_system(f"hf:{checkpoint('nllb')}?source=eng_Latn&target=fra_Latn")
    assert german.score(PAIRS)[0].total != pytest.approx(french.score(PAIRS)[0].total, abs=1e-3)
    assert german.fingerprint.digest != french.fingerprint.digest


def test_languages_are_refused_where_they_do_nothing(checkpoint: Build) -> None:
    with pytest.raises(BabelscopeError, match="no language tokens"):
        open_system(f"hf:{checkpoint('marian')}?source=en&target=de")
    prefixed = open_system(
        f"hf:{checkpoint('t5')}?source=English&target=German&prefix=translate {{source}} to {{target}}: "
    )
    assert prefixed.prefix == "translate English to German: "


def test_a_beam_gives_no_more_than_it_holds(opened: Callable[[str], HuggingFace]) -> None:
    with pytest.raises(BabelscopeError, match="beam of 2 cannot give 3"):
        opened("marian").translate(SOURCES, beam=2, n_best=3)


def test_capabilities(opened: Callable[[str], HuggingFace]) -> None:
    assert capabilities(opened("marian")) == {"translate", "score", "sample", "top_k", "next_tokens"}


class TestFingerprint:
    def copy(self, folder: Path, to: Path) -> Path:
        to.mkdir()
        for path in folder.iterdir():
            (to / path.name).write_bytes(path.read_bytes())
        return to

    def test_the_place_does_not_matter(self, checkpoint: Build, tmp_path: Path) -> None:
        here = open_system(spec("marian", checkpoint("marian")))
        there = open_system(spec("marian", self.copy(checkpoint("marian"), tmp_path / "copy")))
        assert here.fingerprint == there.fingerprint
        assert here.fingerprint.digest == there.fingerprint.digest

    @settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_one_byte_of_a_weight_matters(
        self, checkpoint: Build, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        folder = self.copy(checkpoint("marian"), tmp_path_factory.mktemp("bytes") / "copy")
        weights = bytearray((folder / "model.safetensors").read_bytes())
        header = 8 + int.from_bytes(weights[:8], "little")
        weights[data.draw(st.integers(header, len(weights) - 1))] ^= 1 << data.draw(st.integers(0, 6))
        before = open_system(spec("marian", folder)).fingerprint.digest
        (folder / "model.safetensors").write_bytes(weights)
        assert open_system(spec("marian", folder)).fingerprint.digest != before

    @pytest.mark.parametrize("name", ["config.json", "generation_config.json", "vocab.json", "source.spm"])
    def test_configuration_and_tokenizer_matter(self, name: str, checkpoint: Build, tmp_path: Path) -> None:
        folder = self.copy(checkpoint("marian"), tmp_path / "copy")
        path = folder / name
        # A sentencepiece file ends in a field that its reader does not know.
        path.write_bytes(path.read_bytes() + (b"\x98\x06\x00" if path.suffix == ".spm" else b" "))
        assert (
            open_system(spec("marian", checkpoint("marian"))).fingerprint.digest
            != open_system(spec("marian", folder)).fingerprint.digest
        )

    @pytest.mark.parametrize("option", ["max_length=20", "truncate=yes", "prefix=x: ", "dtype=float64"])
    def test_options_matter(self, option: str, checkpoint: Build) -> None:
        folder = checkpoint("marian")
        assert (
            open_system(f"hf:{folder}").fingerprint.digest
            != open_system(f"hf:{folder}?{option}").fingerprint.digest
        )


class TestBadFolders:
    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(BabelscopeError, match="no such folder"):
            open_system(f"hf:{tmp_path}/nothing")

    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "x").touch()
        with pytest.raises(BabelscopeError, match="is a file"):
            open_system(f"hf:{tmp_path}/x")

    def test_empty(self, tmp_path: Path) -> None:
        with pytest.raises(BabelscopeError, match=r"tokenizer cannot be loaded|no config\.json"):
            open_system(f"hf:{tmp_path}")

    def test_no_weights(self, checkpoint: Build, tmp_path: Path) -> None:
        for path in checkpoint("marian").iterdir():
            if path.suffix != ".safetensors":
                (tmp_path / path.name).write_bytes(path.read_bytes())
        with pytest.raises(BabelscopeError, match="has no weights"):
            open_system(f"hf:{tmp_path}")

    def test_cut_weights(self, checkpoint: Build, tmp_path: Path) -> None:
        for path in checkpoint("marian").iterdir():
            (tmp_path / path.name).write_bytes(
                path.read_bytes()[: 3000 if path.suffix == ".safetensors" else None]
            )
        with pytest.raises(BabelscopeError, match="cannot be loaded as a model"):
            open_system(f"hf:{tmp_path}")

    def test_unknown_option(self, checkpoint: Build) -> None:
        with pytest.raises(BabelscopeError, match="unknown option 'devise'; did you mean device"):
            open_system(f"hf:{checkpoint('marian')}?devise=cpu")


def test_a_pickled_checkpoint_is_loaded_without_running_it(checkpoint: Build, tmp_path: Path) -> None:
    """Old OPUS-MT and FSMT repositories have only pytorch_model.bin: read as tensors, never as code."""
    from safetensors.torch import load_file

    for path in checkpoint("marian").iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save(load_file(checkpoint("marian") / "model.safetensors"), tmp_path / "pytorch_model.bin")
    ours = open_system(spec("marian", tmp_path)).score(PAIRS)
    assert ours == open_system(spec("marian", checkpoint("marian"))).score(PAIRS)

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "owned",))

    torch.save({"model.shared.weight": Evil()}, tmp_path / "pytorch_model.bin")
    with pytest.raises(BabelscopeError, match="cannot be loaded"):
        open_system(spec("marian", tmp_path))
    assert not (tmp_path / "owned").exists()
